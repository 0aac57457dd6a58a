// A manifest written whole, by those who make a database out of files: checkpoints and repair.
#ifndef WINNOW_ENGINE_VERSION_MANIFEST_FILE_H_
#define WINNOW_ENGINE_VERSION_MANIFEST_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"

namespace winnow {

// Writes a manifest that holds the whole state, durably with everything else in the directory;
// CURRENT does not name it yet.
absl::Status WriteManifest(FileSystem& file_system, const std::string& directory, uint64_t number,
                           const VersionEdit& state);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_MANIFEST_FILE_H_
