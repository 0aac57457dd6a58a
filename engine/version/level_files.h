// The files of all levels of one version: their order, and what must hold between them.
#ifndef WINNOW_ENGINE_VERSION_LEVEL_FILES_H_
#define WINNOW_ENGINE_VERSION_LEVEL_FILES_H_

#include <array>

#include "absl/status/status.h"
#include "engine/version/version.h"

namespace winnow {

using LevelFiles = std::array<Version::Files, kNumLevels>;

// Level 0 newest first, by epoch number; deeper levels by key.
void SortLevels(const InternalKeyComparator& comparator, LevelFiles* levels);

// Internal unless each file ends behind its beginning, no two files of a level below 0 overlap, and
// those of level 0 have epoch numbers that differ.
absl::Status CheckLevels(const InternalKeyComparator& comparator, const LevelFiles& levels);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_LEVEL_FILES_H_
