// winnow put, winnow delete: single updates.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

absl::StatusOr<ExitCode> RunPut(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(const std::string value, BytesOfPositional(arguments, 1));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));
  WINNOW_RETURN_IF_ERROR(opened.db->Put(WriteOptions(), opened.family, key, value));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintDone(arguments, output);
}

absl::StatusOr<ExitCode> RunDelete(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  WINNOW_RETURN_IF_ERROR(opened.db->Delete(WriteOptions(), opened.family, key));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintDone(arguments, output);
}

}  // namespace

Command PutCommand() {
  return {
      .name = "put",
      .positionals = {"KEY VALUE", 2, 2},
      .database = DatabaseUse::kWrite,
      .summary = "set the value of a key",
      .details = R"(
Creates the database if it is missing. On exit code 0 the value survives a power failure.
Keys hold up to 1 MiB, values up to 1 GiB; the empty key is a key.)",
      .json = R"({"ok":true})",
      .examples = R"(
  winnow put --db=/tmp/fruit apple red
  winnow put --db=/tmp/fruit -- --odd-key value
  winnow put --db=/tmp/fruit --hex 00ff 01)",
      .run = RunPut,
  };
}

Command DeleteCommand() {
  return {
      .name = "delete",
      .positionals = {"KEY", 1, 1},
      .database = DatabaseUse::kWrite,
      .summary = "remove a key",
      .details = "An absent key is not an error.",
      .json = R"({"ok":true})",
      .examples = "  winnow delete --db=/tmp/fruit apple",
      .run = RunDelete,
  };
}

}  // namespace winnow::cli
