// From a command line to an open database.
#ifndef WINNOW_TOOLS_WINNOW_DATABASE_H_
#define WINNOW_TOOLS_WINNOW_DATABASE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/db.h"
#include "winnow/file_system.h"

namespace winnow::cli {

enum class Access {
  kRead,           // nothing on disk is touched, no lock taken, nothing created
  kWriteExisting,  // NotFound if there is no database
  kWriteOrCreate,
};

struct OpenedDatabase {
  std::unique_ptr<DB> db;
  ColumnFamily* family = nullptr;  // of --family, else "default"
};

// The value of --db; InvalidArgument if it is missing.
absl::StatusOr<std::string> DatabasePath(const Arguments& arguments);
// The same; NotFound if it holds no database.
absl::StatusOr<std::string> ExistingDatabasePath(const Arguments& arguments);

// The system's files, which errors name as the user has named the database: this program does not
// change its working directory.
FileSystem* FileSystemAsTyped();

// InvalidArgument: --filter or --filter-key is none. Before anything is opened, so that a mistake
// costs no half-opened database.
absl::Status CheckFilterFlags(const Arguments& arguments);

// Options as --set, --filter and --filter-key say, for a command that needs this access; what they
// leave open has its default. InvalidArgument names the flag, also where --set contradicts what the
// command does.
absl::StatusOr<Options> DatabaseOptions(const Arguments& arguments, Access access);

// The same for opening --db: what they leave open is as the database was last opened, if the
// command writes. So that what this program writes and records is what the database's own would.
// Settings of a column family are those of --family. For a merge operator that only the program has
// which wrote the database there is a stand-in: operands are kept as they are, and keys that have
// some cannot be read.
absl::StatusOr<Options> OptionsToOpen(const Arguments& arguments, Access access);

// The same without any setting of a column family, as for tables, whose schemas have them.
absl::StatusOr<Options> OptionsOfAllFamilies(const Arguments& arguments, Access access);

// DB::Open, with one message for a directory that holds no database.
absl::StatusOr<std::unique_ptr<DB>> OpenDirectory(const Options& options, const std::string& path);

// Opens --db as the shared flags say. NotFound: no database, or no such column family.
absl::StatusOr<OpenedDatabase> OpenDatabase(const Arguments& arguments, Access access);

// The family of this name. NotFound, with a hint: the database in `path` has none.
absl::StatusOr<ColumnFamily*> FindFamily(DB& db, const std::string& path, const std::string& name);

// True if `path` is a directory that holds a database, sound or not.
absl::StatusOr<bool> HoldsDatabase(const std::string& path);

// What to print of the problems that a check found: a line each.
std::vector<std::string> Messages(const std::vector<VerifyProblem>& problems);

// The bytes of a key or value given as a word: as it stands, or as --hex or --escaped say.
absl::StatusOr<std::string> BytesFromWord(const Arguments& arguments, const std::string& word);
absl::StatusOr<std::string> BytesOfPositional(const Arguments& arguments, size_t position);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_DATABASE_H_
