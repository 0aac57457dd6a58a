// Files that recovery does not use and does not throw away either. What they are shows in their
// names:
//
//   000012.log.damaged   replayed up to its first damage; intact records lie behind it
//   000012.log.unread    not replayed, since records before it are missing
//   *.sst.orphan         not known to the manifest that an opening in mode salvage read; likewise
//                        MANIFEST-*.orphan
//   lost/000012.log      nothing in it is left to replay, or it may hold entries of an SSTable that
//                        is lost and was not replayed for them
#ifndef WINNOW_ENGINE_RECOVERY_SET_ASIDE_H_
#define WINNOW_ENGINE_RECOVERY_SET_ASIDE_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/file_system.h"
#include "winnow/verify.h"

namespace winnow {

inline constexpr std::string_view kDamagedLogSuffix = ".damaged";
inline constexpr std::string_view kUnreadLogSuffix = ".unread";
inline constexpr std::string_view kOrphanSuffix = ".orphan";
inline constexpr std::string_view kLostDirectory = "lost";

// Whether `name` (without directory) is a log that was set aside with this suffix.
bool IsLogSetAside(std::string_view name, std::string_view suffix);

// One problem for each file of `directory` that holds what the database may lack, with the command
// that brings it back. What is in lost/ is not among them.
absl::StatusOr<std::vector<VerifyProblem>> FindFilesSetAside(FileSystem& file_system,
                                                             const std::string& directory);

// A path in `directory`/lost, which is created, that nothing has yet: that of `name`, or with ".2",
// ".3" ... behind it.
absl::StatusOr<std::string> FreePathInLost(FileSystem& file_system, const std::string& directory,
                                           const std::string& name);

// Gives the file `name` of `directory` such a path besides its own, which it keeps, and returns it.
absl::StatusOr<std::string> LinkIntoLost(FileSystem& file_system, const std::string& directory,
                                         const std::string& name);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_SET_ASIDE_H_
