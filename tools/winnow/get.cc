// winnow get, winnow mget: values by key.
#include <algorithm>
#include <string>
#include <vector>

#include "engine/base/status.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

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

  if (arguments.Has("json")) {
    const std::string_view view = value;
    PrintAnswerAsJson(key, found ? &view : nullptr, hex, output);
  } else if (found) {
    output.Line(ToText(value, hex ? TextForm::kHex : TextForm::kRaw));
  } else {
    Complain("get", "no such key");
  }
  return found ? ExitCode::kOk : ExitCode::kNo;
}

// Asks for the keys in groups, so that the values of one group only are held at a time.
constexpr size_t kKeysPerMultiGet = 256;

absl::StatusOr<ExitCode> RunMultiGet(const Arguments& arguments, Output& output) {
  std::vector<std::string> keys;
  for (const std::string& word : arguments.positionals()) {
    WINNOW_ASSIGN_OR_RETURN(std::string key, BytesFromWord(arguments, word));
    keys.push_back(std::move(key));
  }
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  const bool hex = arguments.Has("hex");
  const PairFormat format{.form = PrintedForm(arguments)};
  bool all_found = true;
  absl::Status failed;
  for (size_t begin = 0; begin < keys.size(); begin += kKeysPerMultiGet) {
    const size_t count = std::min(kKeysPerMultiGet, keys.size() - begin);
    const std::vector<std::string_view> views(keys.begin() + begin, keys.begin() + begin + count);
    std::vector<PinnedValue> values(count);
    std::vector<absl::Status> statuses(count);
    opened.db->MultiGet(ReadOptions(), opened.family, views, values, statuses);
    for (size_t i = 0; i < count; i++) {
      const bool found = statuses[i].ok();
      if (!found && !absl::IsNotFound(statuses[i])) {
        // It fails no other key. The first is the command's error, at its end.
        if (!failed.ok()) Complain("mget", ToStd(statuses[i].message()));
        failed.Update(statuses[i]);
        continue;
      }
      all_found = all_found && found;
      const std::string_view value = values[i].view();
      if (arguments.Has("json")) {
        PrintAnswerAsJson(views[i], found ? &value : nullptr, hex, output);
      } else if (found) {
        PrintPair(views[i], value, format, output);
      }
    }
  }
  WINNOW_RETURN_IF_ERROR(failed);
  return all_found ? ExitCode::kOk : ExitCode::kNo;
}

}  // namespace

Command GetCommand() {
  return {
      .name = "get",
      .positionals = {"KEY", 1, 1},
      .summary = "print the value of a key",
      .details =
          "Prints the value's bytes as they are, and a newline. Exit code 1 if the key is absent.",
      .json = R"({"key":K,"found":true,"value":V} or {"key":K,"found":false})",
      .examples = R"(
  winnow get --db=/tmp/fruit apple
  winnow get --db=/tmp/fruit --hex 6170706c65)",
      .run = RunGet,
  };
}

Command MultiGetCommand() {
  return {
      .name = "mget",
      .positionals = {"KEY...", 1, kAnyNumber},
      .summary = "print keys and values of several keys",
      .details = R"(
Prints KEY<TAB>VALUE, escaped as in `winnow scan`, for each key that exists, in the order
given. Exit code 1 if any is absent. A key that cannot be read, as one whose operands make
no value, is left out and told of, and the others are printed; then the exit code is that
of the first such error.)",
      .json =
          R"(one line per key: {"key":K,"found":true,"value":V} or {"key":K,"found":false}; none for a
key that cannot be read)",
      .examples = "  winnow mget --db=/tmp/fruit apple pear plum",
      .run = RunMultiGet,
  };
}

}  // namespace winnow::cli
