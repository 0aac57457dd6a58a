// Whether a directory holds a database.
#ifndef WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
#define WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_

#include <string>

#include "absl/status/status.h"
#include "winnow/file_system.h"

namespace winnow {

// NotFound if the directory holds no database; InvalidArgument if the path is a file.
absl::Status CheckIsDatabase(FileSystem& file_system, const std::string& path);

// DataLoss if there is no CURRENT but data: a directory that has lost it. Creating a database there
// would bury the data. What a crash leaves while a database is being created holds none.
absl::Status CheckNothingWouldBeBuried(FileSystem& file_system, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_DATABASE_DIRECTORY_H_
