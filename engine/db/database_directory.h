// Whether a directory holds a database, and reading one that others may be writing to.
#ifndef WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
#define WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "winnow/file_system.h"

namespace winnow {

// NotFound if the directory holds no database; InvalidArgument if the path is a file;
// FailedPrecondition if it holds one of LevelDB or RocksDB.
absl::Status CheckIsDatabase(FileSystem& file_system, const std::string& path);

// DataLoss if there is no CURRENT but data: a directory that has lost it. Creating a database there
// would bury the data. What a crash leaves while a database is being created holds none.
absl::Status CheckNothingWouldBeBuried(FileSystem& file_system, const std::string& path);

// Calls `read`, which takes no lock, and calls it again while it fails with NotFound or DataLoss
// because a process that has the database open has replaced files meanwhile.
absl::Status ReadBesideWriter(FileSystem& file_system, const std::string& path,
                              absl::FunctionRef<absl::Status()> read);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
