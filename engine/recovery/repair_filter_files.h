// The filter files of a database under repair. SSTables have filters of their own besides, and
// `winnow refilter` makes another such file: what cannot be used is given up, not rescued.
#ifndef WINNOW_ENGINE_RECOVERY_REPAIR_FILTER_FILES_H_
#define WINNOW_ENGINE_RECOVERY_REPAIR_FILTER_FILES_H_

#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/version/version_edit.h"
#include "winnow/file_system.h"
#include "winnow/repair.h"

namespace winnow {

// Takes files that are missing, damaged or of another SSTable out of the edits of `state`; each is
// noted. True: there were some. A file of a newer version stays named, as it does at an opening.
// Errors that say nothing about a file, after which nothing has been given up.
absl::StatusOr<bool> GiveUpDamagedFilterFiles(FileSystem& file_system, const std::string& directory,
                                              VersionEdit* state, RepairReport* report);

// Of the files `found`, by name, those that the edits of `state` do not name.
std::vector<std::string> UnusedFilterFiles(std::span<const std::string> found,
                                           const VersionEdit& state);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_REPAIR_FILTER_FILES_H_
