// Directories of LevelDB and RocksDB, whose files have the names of Winnow's: CURRENT,
// MANIFEST-000005, 000012.log, 000013.sst.
#ifndef WINNOW_ENGINE_VERSION_FOREIGN_DATABASE_H_
#define WINNOW_ENGINE_VERSION_FOREIGN_DATABASE_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/file_system.h"

namespace winnow {

// Whose files a directory holds; kNone where there is no database, or no file tells. Nothing is
// written and no lock taken. What is in the files counts: one of Winnow's makes a directory
// Winnow's.
enum class DatabaseMaker { kNone, kWinnow, kLevelDb, kRocksDb };
DatabaseMaker MakerOfDatabase(FileSystem& file_system, const std::string& path);
std::string_view MakerName(DatabaseMaker maker);  // "RocksDB"

// FailedPrecondition, with the command that copies the data, if the directory holds a database of
// LevelDB or RocksDB; OK for every other and where there is none.
absl::Status RefuseForeignDatabase(FileSystem& file_system, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FOREIGN_DATABASE_H_
