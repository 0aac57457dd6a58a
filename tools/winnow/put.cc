// winnow put, winnow merge, winnow delete: single updates.
#include <string>

#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/merge_operand.h"

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

absl::Status NoMergeOperator() {
  return absl::FailedPreconditionError(
      "the column family has no merge operator: name one with --set=merge_operator=uint64_add "
      "(or int64_add, max, min, append:TEXT), which it keeps from then on");
}

absl::StatusOr<ExitCode> RunMerge(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(const std::string path, DatabasePath(arguments));
  WINNOW_ASSIGN_OR_RETURN(const Options options,
                          DatabaseOptions(arguments, Access::kWriteOrCreate));
  WINNOW_ASSIGN_OR_RETURN(const bool exists, HoldsDatabase(path));
  // Before a database is made that would be left empty.
  if (!exists && options.merge_operator == nullptr) return NoMergeOperator();
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));
  WINNOW_ASSIGN_OR_RETURN(const std::string merge_operator,
                          opened.db->GetProperty(opened.family, "winnow.merge-operator"));
  if (merge_operator.empty()) return NoMergeOperator();
  WINNOW_ASSIGN_OR_RETURN(const std::string word, BytesOfPositional(arguments, 1));
  WINNOW_ASSIGN_OR_RETURN(const std::string operand,
                          MergeOperandOf(merge_operator, word, arguments.Has("hex")));
  WINNOW_RETURN_IF_ERROR(opened.db->Merge(WriteOptions(), opened.family, key, operand));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintDone(arguments, output);
}

absl::StatusOr<ExitCode> RunDelete(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteExisting));
  if (const auto word = arguments.Text("to")) {
    WINNOW_ASSIGN_OR_RETURN(const std::string end, BytesFromWord(arguments, *word));
    WINNOW_RETURN_IF_ERROR(opened.db->DeleteRange(WriteOptions(), opened.family, key, end));
  } else {
    WINNOW_RETURN_IF_ERROR(opened.db->Delete(WriteOptions(), opened.family, key));
  }
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
  winnow put --db=/tmp/fruit --hex 00ff 01
  winnow put --db=/tmp/fruit --escaped '\x00\xff' '\x01')",
      .flags = {kEscapedFlag},
      .run = RunPut,
  };
}

Command MergeCommand() {
  return {
      .name = "merge",
      .positionals = {"KEY OPERAND", 2, 2},
      .database = DatabaseUse::kWrite,
      .summary = "add an operand to a key: count, append, keep the greatest",
      .details = R"(
The column family's merge operator makes the key's value of its operands and of the value before
them, when somebody reads. The family gets it with --set=merge_operator=NAME, once, and keeps it:

  uint64_add, int64_add  sums of 8 bytes, little-endian; OPERAND is a decimal number, and wraps
                         around at 2^64. `winnow get --hex` shows the bytes
  max, min               the greatest or smallest, as bytes compare
  append:TEXT            all, one after the other, with TEXT between two of them)",
      .json = R"({"ok":true})",
      .examples = R"(
  winnow merge --db=/tmp/visits --set=merge_operator=uint64_add front-page 1
  winnow merge --db=/tmp/visits front-page 2
  winnow merge --db=/tmp/log --set=merge_operator=append:, alice login)",
      .flags = {kEscapedFlag},
      .run = RunMerge,
  };
}

Command DeleteCommand() {
  return {
      .name = "delete",
      .positionals = {"KEY", 1, 1},
      .database = DatabaseUse::kWrite,
      .summary = "remove a key, or a range of keys",
      .details = R"(
An absent key is not an error. A range, all keys from KEY to before the one that --to names, is
removed by one record, however many keys it has. `winnow transact` deletes many keys at once.)",
      .json = R"({"ok":true})",
      .examples = R"(
  winnow delete --db=/tmp/fruit apple
  winnow delete --db=/tmp/fruit b --to=d)",
      .flags = {{"to", "KEY", "remove all keys from KEY to before this one"}, kEscapedFlag},
      .run = RunDelete,
  };
}

}  // namespace winnow::cli
