// CURRENT: the one small file that names the manifest in force.
#ifndef WINNOW_ENGINE_VERSION_CURRENT_FILE_H_
#define WINNOW_ENGINE_VERSION_CURRENT_FILE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/file_system.h"

namespace winnow {

// Durably and atomically names MANIFEST-<number>.
absl::Status WriteCurrentFile(FileSystem& file_system, const std::string& directory,
                              uint64_t manifest_number);

// The number it names. NotFound if there is no CURRENT; DataLoss if its text is damaged.
absl::StatusOr<uint64_t> ReadCurrentFile(FileSystem& file_system, const std::string& directory);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_CURRENT_FILE_H_
