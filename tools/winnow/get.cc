// winnow get, mget, has: values by key, and which keys there are.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"
#include "tools/winnow/key_groups.h"

namespace winnow::cli {
namespace {

// Prints what was found for a key: {"key","found","value"}.
void PrintAnswerAsJson(std::string_view key, const std::string_view* value, bool hex,
                       Output& output) {
  Json answer = Json::object();
  AddBytes(&answer, "key", key, hex);
  answer["found"] = value != nullptr;
  if (value != nullptr) AddBytes(&answer, "value", *value, hex);
  output.Write(ToLine(answer));
}

absl::StatusOr<ExitCode> RunGet(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const std::string key, BytesOfPositional(arguments, 0));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  const bool hex = arguments.Has("hex");
  std::string value;
  const absl::Status read = opened.db->Get(ReadOptions(), opened.family, key, &value);
  const bool found = read.ok();
  if (!found && !absl::IsNotFound(read)) return read;

  const bool has_form = hex || arguments.Has("escaped");
  if (arguments.Has("json")) {
    const std::string_view view = value;
    PrintAnswerAsJson(key, found ? &view : nullptr, hex, output);
  } else if (found) {
    output.Line(ToText(value, has_form ? PrintedForm(arguments) : TextForm::kRaw));
  } else {
    Complain("get", "no such key");
  }
  return found ? ExitCode::kOk : ExitCode::kNo;
}

// Of a key that could be looked up: its value, or null.
using Visit = std::function<void(std::string_view key, const std::string_view* value)>;

// Looks up all keys that `arguments` name. False: not all are there.
absl::StatusOr<bool> LookUp(std::string_view command, const Arguments& arguments,
                            const Output& output, const Visit& visit) {
  WINNOW_ASSIGN_OR_RETURN(KeyGroups groups, KeyGroups::Open(arguments));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  bool all_found = true;
  absl::Status failed;
  while (output.ok()) {
    WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> keys, groups.Next());
    if (keys.empty()) break;
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    opened.db->MultiGet(ReadOptions(), opened.family, views, values, statuses);
    for (size_t i = 0; i < keys.size(); i++) {
      const bool found = statuses[i].ok();
      if (!found && !absl::IsNotFound(statuses[i])) {
        // It fails no other key. The first is the command's error, at its end.
        if (!failed.ok()) Complain(command, ToStd(statuses[i].message()));
        failed.Update(statuses[i]);
        continue;
      }
      all_found = all_found && found;
      const std::string_view value = values[i].view();
      visit(views[i], found ? &value : nullptr);
    }
  }
  WINNOW_RETURN_IF_ERROR(failed);
  return all_found;
}

absl::StatusOr<ExitCode> RunMultiGet(const Arguments& arguments, Output& output) {
  const bool hex = arguments.Has("hex");
  const PairFormat format{.form = PrintedForm(arguments)};
  const auto print = [&](std::string_view key, const std::string_view* value) {
    if (arguments.Has("json")) {
      PrintAnswerAsJson(key, value, hex, output);
    } else if (value != nullptr) {
      PrintPair(key, *value, format, output);
    }
  };
  WINNOW_ASSIGN_OR_RETURN(const bool all_found, LookUp("mget", arguments, output, print));
  return all_found ? ExitCode::kOk : ExitCode::kNo;
}

absl::StatusOr<ExitCode> RunHas(const Arguments& arguments, Output& output) {
  const bool count = arguments.Has("count");
  const bool hex = arguments.Has("hex");
  uint64_t num_found = 0;
  uint64_t num_absent = 0;
  const auto print = [&](std::string_view key, const std::string_view* value) {
    ++(value != nullptr ? num_found : num_absent);
    if (count) return;
    if (arguments.Has("json")) {
      Json answer = Json::object();
      AddBytes(&answer, "key", key, hex);
      answer["found"] = value != nullptr;
      return output.Write(ToLine(answer));
    }
    std::string line(value != nullptr ? "found\t" : "absent\t");
    AppendText(&line, key, PrintedForm(arguments));
    output.Line(line);
  };
  WINNOW_ASSIGN_OR_RETURN(const bool all_found, LookUp("has", arguments, output, print));
  if (count) {
    PrintAnswer(arguments, Json{{"found", num_found}, {"absent", num_absent}},
                absl::StrCat("found\t", num_found, "\nabsent\t", num_absent), output);
  }
  return all_found ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace

Command GetCommand() {
  return {
      .name = "get",
      .positionals = {"KEY", 1, 1},
      .summary = "print the value of a key",
      .details = R"(
Prints the value's bytes as they are, or as --hex or --escaped say, and a newline. Exit code 1
if the key is absent.)",
      .json = R"({"key":K,"found":true,"value":V} or {"key":K,"found":false})",
      .examples = R"(
  winnow get --db=/tmp/fruit apple
  winnow get --db=/tmp/fruit --hex 6170706c65
  winnow get --db=/tmp/fruit --escaped 'caf\xe9')",
      .flags = {kEscapedFlag},
      .run = RunGet,
  };
}

Command MultiGetCommand() {
  return {
      .name = "mget",
      .positionals = {"[KEY...]", 0, kAnyNumber},
      .summary = "print keys and values of several keys",
      .details = R"(
Prints KEY<TAB>VALUE, escaped as in `winnow scan`, for each key that exists, in the order
given. Exit code 1 if any is absent. A key that cannot be read, as one whose operands make
no value, is left out and told of, and the others are printed; then the exit code is that
of the first such error.)",
      .json =
          R"(one line per key: {"key":K,"found":true,"value":V} or {"key":K,"found":false}; none for a
key that cannot be read)",
      .examples = R"(
  winnow mget --db=/tmp/fruit apple pear plum
  winnow mget --db=/tmp/fruit --from-file=keys.txt)",
      .flags = {KeyGroups::kFileFlag, kEscapedFlag},
      .run = RunMultiGet,
  };
}

Command HasCommand() {
  return {
      .name = "has",
      .positionals = {"[KEY...]", 0, kAnyNumber},
      .summary = "say which of several keys exist",
      .details = R"(
Prints found<TAB>KEY or absent<TAB>KEY for each key, escaped as in `winnow scan`, in the order
given. Exit code 1 if any is absent. A key that cannot be read is told of as by `winnow mget`.)",
      .json = R"(one line per key: {"key":K,"found":B}; with --count {"found":N,"absent":N})",
      .examples = R"(
  winnow has --db=/tmp/fruit apple pear plum
  winnow scan --db=/tmp/old --keys-only | winnow has --db=/tmp/fruit --from-file=- --count)",
      .flags = {KeyGroups::kFileFlag,
                {"count", "", "print only how many keys there were of each answer"},
                kEscapedFlag},
      .run = RunHas,
  };
}

}  // namespace winnow::cli
