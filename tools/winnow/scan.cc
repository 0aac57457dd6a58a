// winnow scan, winnow count: walks over key ranges.
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/byte_ranges.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

const FlagSpec kFromFlag = {"from", "KEY", "begin at this key"};
const FlagSpec kToFlag = {"to", "KEY", "end before this key"};
const FlagSpec kPrefixFlag = {"prefix", "BYTES",
                              "only keys with this prefix; not with --from, --to"};

absl::StatusOr<ReadOptions> RangeOptions(const Arguments& arguments) {
  ReadOptions options;
  options.fill_cache = false;
  if (const auto word = arguments.Text("prefix")) {
    if (arguments.Has("from") || arguments.Has("to")) {
      return absl::InvalidArgumentError("give --prefix, or --from and --to, not both");
    }
    WINNOW_ASSIGN_OR_RETURN(options.lower_bound, BytesFromWord(arguments, *word));
    std::string behind = BehindPrefix(*options.lower_bound);
    if (!behind.empty()) options.upper_bound = std::move(behind);
  }
  if (const auto word = arguments.Text("from")) {
    WINNOW_ASSIGN_OR_RETURN(options.lower_bound, BytesFromWord(arguments, *word));
  }
  if (const auto word = arguments.Text("to")) {
    WINNOW_ASSIGN_OR_RETURN(options.upper_bound, BytesFromWord(arguments, *word));
  }
  return options;
}

absl::StatusOr<ExitCode> RunScan(const Arguments& arguments, Output& output) {
  PairFormat format;
  format.json = arguments.Has("json");
  format.keys_only = arguments.Has("keys-only");
  WINNOW_ASSIGN_OR_RETURN(format.form, FormOfFlags(arguments));
  WINNOW_ASSIGN_OR_RETURN(const std::optional<uint64_t> limit, arguments.Number("limit"));
  WINNOW_ASSIGN_OR_RETURN(const ReadOptions range, RangeOptions(arguments));
  WINNOW_ASSIGN_OR_RETURN(OpenedDatabase opened, OpenDatabase(arguments, Access::kRead));

  const bool reverse = arguments.Has("reverse");
  const std::unique_ptr<Iterator> entry = opened.db->NewIterator(range, opened.family);
  uint64_t left = limit.value_or(std::numeric_limits<uint64_t>::max());
  reverse ? entry->SeekToLast() : entry->SeekToFirst();
  for (; left > 0 && entry->Valid() && output.ok(); left--) {
    PrintPair(entry->key(), entry->value(), format, output);
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
  return PrintAnswer(arguments, Json{{"count", count}}, absl::StrCat(count), output);
}

}  // namespace

Command ScanCommand() {
  return {
      .name = "scan",
      .summary = "print keys and values in key order",
      .details = R"(
Prints KEY<TAB>VALUE lines that `winnow load` reads back: a tab is written \t, a newline
\n, a backslash \\, and every byte that is not printable UTF-8 \xNN. --raw prints the
bytes themselves, --hex two digits per byte.)",
      .json = R"(one line per entry: {"key":K,"value":V}; read back by `load --format=jsonl`)",
      .examples = R"(
  winnow scan --db=/tmp/fruit --limit=10
  winnow scan --db=/tmp/fruit --from=apple --to=pear --reverse --keys-only
  winnow scan --db=/tmp/fruit | winnow load --db=/tmp/copy)",
      .flags = {kFromFlag,
                kToFlag,
                kPrefixFlag,
                {"limit", "N", "stop after N entries (default: no limit)"},
                {"reverse", "", "from the last key to the first"},
                {"keys-only", "", "leave the values out"},
                kEscapedFlag,
                {"raw", "", "no escapes: for data known to be plain text"}},
      .run = RunScan,
  };
}

Command CountCommand() {
  return {
      .name = "count",
      .summary = "count the keys, exactly",
      .details = "Reads every entry; `winnow property estimate-num-keys` is quick and rough.",
      .json = R"({"count":N})",
      .examples = "  winnow count --db=/tmp/fruit --prefix=app",
      .flags = {kFromFlag, kToFlag, kPrefixFlag, kEscapedFlag},
      .run = RunCount,
  };
}

}  // namespace winnow::cli
