// Which files of a version may hold keys that begin with a prefix.
#ifndef WINNOW_ENGINE_VERSION_FILES_WITH_PREFIX_H_
#define WINNOW_ENGINE_VERSION_FILES_WITH_PREFIX_H_

#include <cstddef>
#include <string_view>

#include "engine/version/version.h"

namespace winnow {

// Calls visit(file, level) for each, those of level 0 first, until one call returns false; true if
// none does. Of versions whose keys are in bytewise order only. A template, because look-ups of
// columns begin with it.
template <typename Visit>
bool VisitFilesWithPrefix(const Version& version, std::string_view prefix, Visit visit) {
  // Level 0 is in no order of keys, and is looked through whole.
  for (const auto& file : version.files(0)) {
    // All its keys are greater, or all are less.
    const bool begins_behind = file->smallest_user_key().substr(0, prefix.size()) > prefix;
    if (begins_behind || file->EndsBefore(prefix, version.comparator())) continue;
    if (!visit(*file, 0)) return false;
  }
  for (const auto& [level, index, tombstones] : version.sorted_levels()) {
    const Version::Files& files = version.files(level);
    const LevelIndex::FileRange range = index.FilesWithPrefix(prefix);
    for (size_t i = range.begin; i < range.end; i++) {
      if (!visit(*files[i], level)) return false;
    }
  }
  return true;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FILES_WITH_PREFIX_H_
