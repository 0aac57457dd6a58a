// Whether a directory holds a database, and reading one that others may be writing to.
#ifndef WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
#define WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/file_system.h"
#include "winnow/options.h"

namespace winnow {

// NotFound if the directory holds no database; InvalidArgument if the path is a file;
// FailedPrecondition if it holds one of LevelDB or RocksDB.
absl::Status CheckIsDatabase(FileSystem& file_system, const std::string& path);

// The path by which an open database names its files: absolute, so that the process may change its
// working directory. As it is on a program's own file system, which may have no such directory.
absl::StatusOr<std::string> LastingPath(const Options& options, const std::string& path);

// Whether a file of the user's may be made there. AlreadyExists: there is one. InvalidArgument: the
// directory is a database's and the name one that its own files have.
absl::Status CheckNewFile(FileSystem& file_system, const std::string& path);
// The latter alone, for who replaces a file that may be there.
absl::Status CheckIsNoFileOfDatabase(FileSystem& file_system, const std::string& path);

// DataLoss if there is no CURRENT but data: a directory that has lost it. Creating a database there
// would bury the data. What a crash leaves while a database is being created holds none.
absl::Status CheckNothingWouldBeBuried(FileSystem& file_system, const std::string& path);

// Calls `read`, which takes no lock, and calls it again while it fails with NotFound or DataLoss
// because a process that has the database open has replaced files meanwhile.
absl::Status ReadBesideWriter(FileSystem& file_system, const std::string& path,
                              absl::FunctionRef<absl::Status()> read);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
