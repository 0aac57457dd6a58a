// winnow put, winnow delete: single updates.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

// What is reported once the update is on disk.
absl::StatusOr<ExitCode> Finish(const Arguments& arguments, DB& db, Output& output) {
  WINNOW_RETURN_IF_ERROR(db.Close());
  if (arguments.Has("json")) output.Write(ToLine(Json{{"ok", true}}));
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunPut(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key,
                          BytesFromWord(arguments, arguments.positionals()[0]));
  WINNOW_ASSIGN_OR_RETURN(const std::string value,
                          BytesFromWord(arguments, arguments.positionals()[1]));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));
  WINNOW_RETURN_IF_ERROR(opened.db->Put(WriteOptions(), opened.family, key, value));
  return Finish(arguments, *opened.db, output);
}

absl::StatusOr<ExitCode> RunDelete(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key,
                          BytesFromWord(arguments, arguments.positionals()[0]));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  WINNOW_RETURN_IF_ERROR(opened.db->Delete(WriteOptions(), opened.family, key));
  return Finish(arguments, *opened.db, output);
}

}  // namespace

Command PutCommand() {
  Command command;
  command.name = "put";
  command.positionals = "KEY VALUE";
  command.min_positionals = command.max_positionals = 2;
  command.database = DatabaseUse::kWrite;
  command.summary = "set the value of a key";
  command.details =
      "Creates the database if it is missing. On exit code 0 the value survives a power failure.\n"
      "Keys hold up to 1 MiB, values up to 1 GiB; the empty key is a key.";
  command.json = R"({"ok":true})";
  command.examples =
      "  winnow put --db=/tmp/fruit apple red\n"
      "  winnow put --db=/tmp/fruit -- --odd-key value\n"
      "  winnow put --db=/tmp/fruit --hex 00ff 01";
  command.run = RunPut;
  return command;
}

Command DeleteCommand() {
  Command command;
  command.name = "delete";
  command.positionals = "KEY";
  command.min_positionals = command.max_positionals = 1;
  command.database = DatabaseUse::kWrite;
  command.summary = "remove a key";
  command.details = "A key that is absent is no error.";
  command.json = R"({"ok":true})";
  command.examples = "  winnow delete --db=/tmp/fruit apple";
  command.run = RunDelete;
  return command;
}

}  // namespace winnow::cli
