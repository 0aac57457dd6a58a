// winnow scan, winnow count: walks over key ranges.
#include <limits>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

const FlagSpec kFromFlag = {"from", "KEY", "begin at this key"};
const FlagSpec kToFlag = {"to", "KEY", "end before this key"};
const FlagSpec kPrefixFlag = {"prefix", "BYTES", "only keys that begin so; not with --from, --to"};

// The first key in bytewise order behind all that begin with `prefix`; none if there is no such.
std::optional<std::string> EndOfPrefix(std::string prefix) {
  while (!prefix.empty() && static_cast<uint8_t>(prefix.back()) == 0xff) prefix.pop_back();
  if (prefix.empty()) return std::nullopt;
  prefix.back() = static_cast<char>(static_cast<uint8_t>(prefix.back()) + 1);
  return prefix;
}

absl::StatusOr<ReadOptions> RangeOptions(const Arguments& arguments) {
  ReadOptions options;
  options.fill_cache = false;
  if (const auto word = arguments.Text("prefix")) {
    if (arguments.Has("from") || arguments.Has("to")) {
      return absl::InvalidArgumentError("give --prefix, or --from and --to, not both");
    }
    WINNOW_ASSIGN_OR_RETURN(options.lower_bound, BytesFromWord(arguments, *word));
    options.upper_bound = EndOfPrefix(*options.lower_bound);
  }
  if (const auto word = arguments.Text("from")) {
    WINNOW_ASSIGN_OR_RETURN(options.lower_bound, BytesFromWord(arguments, *word));
  }
  if (const auto word = arguments.Text("to")) {
    WINNOW_ASSIGN_OR_RETURN(options.upper_bound, BytesFromWord(arguments, *word));
  }
  return options;
}

struct EntryFormat {
  bool json = false;
  bool hex = false;
  bool keys_only = false;
  TextForm text = TextForm::kEscaped;
};

void AppendEntry(std::string* line, const Iterator& entry, const EntryFormat& format) {
  if (format.json) {
    Json json = Json::object();
    AddBytes(&json, "key", entry.key(), format.hex);
    if (!format.keys_only) AddBytes(&json, "value", entry.value(), format.hex);
    line->append(ToLine(json));
    return;
  }
  AppendText(line, entry.key(), format.text);
  if (!format.keys_only) {
    line->push_back('\t');
    AppendText(line, entry.value(), format.text);
  }
  line->push_back('\n');
}

absl::StatusOr<ExitCode> RunScan(const Arguments& arguments, Output& output) {
  if (arguments.Has("raw") && arguments.Has("hex")) {
    return absl::InvalidArgumentError("give --raw or --hex, not both");
  }
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, arguments.Number("limit"));
  WINNOW_ASSIGN_OR_RETURN(const ReadOptions range, RangeOptions(arguments));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));

  EntryFormat format;
  format.json = arguments.Has("json");
  format.hex = arguments.Has("hex");
  format.keys_only = arguments.Has("keys-only");
  if (format.hex) format.text = TextForm::kHex;
  if (arguments.Has("raw")) format.text = TextForm::kRaw;

  const bool reverse = arguments.Has("reverse");
  const std::unique_ptr<Iterator> entry = opened.db->NewIterator(range, opened.family);
  uint64_t left = limit.value_or(std::numeric_limits<uint64_t>::max());
  std::string line;
  reverse ? entry->SeekToLast() : entry->SeekToFirst();
  for (; left > 0 && entry->Valid() && output.ok(); left--) {
    line.clear();
    AppendEntry(&line, *entry, format);
    output.Write(line);
    reverse ? entry->Prev() : entry->Next();
  }
  WINNOW_RETURN_IF_ERROR(entry->status());
  return ExitCode::kOk;
}

absl::StatusOr<ExitCode> RunCount(const Arguments& arguments, Output& output) {
  WINNOW_ASSIGN_OR_RETURN(const ReadOptions range, RangeOptions(arguments));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));
  const std::unique_ptr<Iterator> entry = opened.db->NewIterator(range, opened.family);
  uint64_t count = 0;
  for (entry->SeekToFirst(); entry->Valid(); entry->Next()) count++;
  WINNOW_RETURN_IF_ERROR(entry->status());
  if (arguments.Has("json")) {
    output.Write(ToLine(Json{{"count", count}}));
  } else {
    output.Line(absl::StrCat(count));
  }
  return ExitCode::kOk;
}

}  // namespace

Command ScanCommand() {
  Command command;
  command.name = "scan";
  command.summary = "print keys and values in key order";
  command.details =
      "Prints KEY<TAB>VALUE lines that `winnow load` reads back: a tab is written \\t, a newline\n"
      "\\n, a backslash \\\\, and every byte that is not printable UTF-8 \\xNN. --raw prints the\n"
      "bytes themselves, --hex two digits a byte.";
  command.json = R"(one line an entry: {"key":K,"value":V}; read back by `load --format=jsonl`)";
  command.examples =
      "  winnow scan --db=/tmp/fruit --limit=10\n"
      "  winnow scan --db=/tmp/fruit --from=apple --to=pear --reverse --keys-only\n"
      "  winnow scan --db=/tmp/fruit | winnow load --db=/tmp/copy";
  command.flags = {kFromFlag,
                   kToFlag,
                   kPrefixFlag,
                   {"limit", "N", "stop after N entries (default: no limit)"},
                   {"reverse", "", "from the last key to the first"},
                   {"keys-only", "", "leave the values out"},
                   {"raw", "", "no escapes: for data known to be plain text"}};
  command.run = RunScan;
  return command;
}

Command CountCommand() {
  Command command;
  command.name = "count";
  command.summary = "count the keys, exactly";
  command.details = "Reads every entry; `winnow property estimate-num-keys` is quick and rough.";
  command.json = R"({"count":N})";
  command.examples = "  winnow count --db=/tmp/fruit --prefix=app";
  command.flags = {kFromFlag, kToFlag, kPrefixFlag};
  command.run = RunCount;
  return command;
}

}  // namespace winnow::cli
