// winnow transact: several reads and changes that take effect together or not at all.
#include <array>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/merge_operand.h"
#include "tools/winnow/output.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/text_encoding.h"
#include "winnow/transaction.h"

namespace winnow::cli {
namespace {

struct Verb {
  std::string_view name;
  size_t num_fields;  // behind it
  std::string_view fields;
};
constexpr std::array kVerbs = {
    Verb{"get", 1, "KEY"},
    Verb{"expect", 2, "KEY<TAB>VALUE"},
    Verb{"absent", 1, "KEY"},
    Verb{"put", 2, "KEY<TAB>VALUE"},
    Verb{"delete", 1, "KEY"},
    Verb{"delete-range", 2, "FROM<TAB>TO"},
    Verb{"merge", 2, "KEY<TAB>OPERAND"},
};

// Runs lines in one transaction of one column family.
class Script {
 public:
  Script(Transaction& transaction, ColumnFamily* family, std::string merge_operator,
         const Arguments& arguments, TextForm form, Output& output)
      : transaction_(transaction),
        family_(family),
        merge_operator_(std::move(merge_operator)),
        form_(form),
        printed_{arguments.Has("json"), /*keys_only=*/false, PrintedForm(arguments)},
        output_(output) {}

  // Aborted: what is expected of a key does not hold. DataLoss: a bad line.
  absl::Status Run(std::string_view line) {
    if (line.empty() || line.front() == '#') return absl::OkStatus();
    const std::vector<absl::string_view> parts = absl::StrSplit(ToAbsl(line), '\t');
    const Verb* verb = nullptr;
    for (const Verb& known : kVerbs) {
      if (known.name == ToStd(parts[0])) verb = &known;
    }
    if (verb == nullptr) {
      return absl::DataLossError(absl::StrCat("unknown verb '", Printable(ToStd(parts[0])),
                                              "': fields are separated by tabs, and the first is "
                                              "get, expect, absent, put, delete, delete-range or "
                                              "merge"));
    }
    if (parts.size() != verb->num_fields + 1) {
      return absl::DataLossError(
          absl::StrCat("write ", ToAbsl(verb->name), "<TAB>", ToAbsl(verb->fields)));
    }
    std::array<std::string, 2> fields;
    for (size_t i = 0; i < verb->num_fields; i++) {
      WINNOW_ASSIGN_OR_RETURN(fields[i], FromInputText(ToStd(parts[i + 1]), form_));
    }
    absl::Status done = Do(verb->name, fields[0], fields[1]);
    // Of the input, and not of the command line.
    return absl::IsInvalidArgument(done) ? absl::DataLossError(done.message()) : done;
  }

 private:
  absl::Status Do(std::string_view verb, const std::string& key, const std::string& value) {
    if (verb == "put") return transaction_.Put(family_, key, value);
    if (verb == "delete") return transaction_.Delete(family_, key);
    if (verb == "delete-range") return transaction_.DeleteRange(family_, key, value);
    if (verb == "merge") {
      WINNOW_ASSIGN_OR_RETURN(const std::string operand,
                              MergeOperandOf(merge_operator_, value, form_ == TextForm::kHex));
      return transaction_.Merge(family_, key, operand);
    }
    WINNOW_ASSIGN_OR_RETURN(const std::optional<std::string> found, Find(key));
    if (verb == "get") {
      Print(key, found);
      return absl::OkStatus();
    }
    const bool holds = verb == "absent" ? !found.has_value() : found == value;
    if (holds) return absl::OkStatus();
    return absl::AbortedError(
        absl::StrCat("key '", ToText(key, printed_.form), "' ",
                     found.has_value() ? absl::StrCat("is '", ToText(*found, printed_.form), "'")
                                       : std::string("is absent"),
                     ", not ", verb == "absent" ? "absent" : "'",
                     verb == "absent" ? "" : absl::StrCat(ToText(value, printed_.form), "'")));
  }

  // With what the transaction itself has written.
  absl::StatusOr<std::optional<std::string>> Find(const std::string& key) {
    PinnedValue value;
    const absl::Status found = transaction_.GetForUpdate(ReadOptions(), family_, key, &value);
    if (absl::IsNotFound(found)) return std::optional<std::string>();
    WINNOW_RETURN_IF_ERROR(found);
    return std::optional<std::string>(value.view());
  }

  void Print(const std::string& key, const std::optional<std::string>& value) {
    if (value.has_value()) return PrintPair(key, *value, printed_, output_);
    if (printed_.json) {
      Json absent = Json::object();
      AddBytes(&absent, "key", key, printed_.form == TextForm::kHex);
      absent["value"] = nullptr;
      output_.Write(ToLine(absent));
    } else {
      output_.Line(absl::StrCat(ToText(key, printed_.form), ": absent"));
    }
  }

  Transaction& transaction_;
  ColumnFamily* const family_;
  const std::string merge_operator_;  // its name
  const TextForm form_;
  const PairFormat printed_;
  Output& output_;
};

absl::StatusOr<ExitCode> RunTransact(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const TextForm form, FormOfFlags(arguments));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> files, OpenInputs(arguments.positionals()));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kWriteOrCreate));
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<Transaction> transaction,
                          opened.db->BeginTransaction(TransactionOptions()));
  WINNOW_ASSIGN_OR_RETURN(const std::string merge_operator,
                          opened.db->GetProperty(opened.family, "winnow.merge-operator"));
  Script script(*transaction, opened.family, merge_operator, arguments, form, output);
  for (const InputFile& file : files) {
    LineReader lines(file.descriptor(), file.name());
    const absl::Status done =
        lines.ForEach([&](std::string_view line) { return lines.InContext(script.Run(line)); });
    if (absl::IsAborted(done)) {
      std::fprintf(stderr, "winnow: transact: %s; nothing was written\n",
                   std::string(ToStd(done.message())).c_str());
      return ExitCode::kNo;
    }
    WINNOW_RETURN_IF_ERROR(done);
  }
  const size_t num_updates = transaction->writes().num_updates();
  WriteOptions write;
  write.sync = true;
  WINNOW_RETURN_IF_ERROR(transaction->Commit(write));
  WINNOW_RETURN_IF_ERROR(opened.db->Close());
  return PrintDone(arguments, Json{{"ok", true}, {"updates", num_updates}}, output);
}

}  // namespace

Command TransactCommand() {
  return {
      .name = "transact",
      .positionals = {"[FILE...]", 0, kAnyNumber},
      .database = DatabaseUse::kWrite,
      .summary = "read and change several keys, all or nothing, if conditions hold",
      .details = R"(
Reads lines of files, or of standard input, whose fields are separated by tabs:
  expect KEY VALUE     go on only if the key has this value
  absent KEY           go on only if there is no such key
  get KEY              print KEY<TAB>VALUE, as the lines before have left it
  put KEY VALUE        delete KEY        delete-range FROM TO
  merge KEY OPERAND    as `winnow merge` takes it
Lines that are empty or begin with # are passed over. When all lines are through, what they
write is written in one piece and synced. At a condition that does not hold (exit code 1), a
bad line or an error nothing is.
The database is created if it is missing.)",
      .json = R"(a line for each get, {"key":..,"value":..}, and {"ok":true,"updates":N})",
      .examples = R"(
  printf 'expect\talice\t100\nput\talice\t70\nput\tbob\t30\n' | winnow transact --db=/tmp/bank)",
      .flags = {{"raw", "", "fields without escapes: a backslash is a backslash"}},
      .run = RunTransact,
  };
}

}  // namespace winnow::cli
