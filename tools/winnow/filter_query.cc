// winnow filter query and info: asks a filter file, and shows what it is.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/commands.h"
#include "tools/winnow/fields.h"
#include "tools/winnow/filter_file.h"
#include "tools/winnow/input_file.h"
#include "tools/winnow/record_reader.h"

namespace winnow::cli {
namespace {

struct Totals {
  uint64_t maybe = 0;
  uint64_t no = 0;
};

class Asker {
 public:
  Asker(const Arguments& arguments, const AnyFilter& filter, Output& output)
      : hex_(arguments.Has("hex")),
        json_(arguments.Has("json")),
        count_(arguments.Has("count")),
        filter_(filter),
        output_(output) {}

  // `line` as it was read.
  absl::Status Ask(std::string_view line) {
    std::string decoded;
    std::string_view key = line;
    if (hex_) {
      WINNOW_ASSIGN_OR_RETURN(decoded, FromInputText(line, TextForm::kHex));
      key = decoded;
    }
    const bool maybe =
        std::visit([key](const auto& filter) { return filter.Contains(key); }, filter_);
    ++(maybe ? totals_.maybe : totals_.no);
    if (count_) return absl::OkStatus();
    const std::string_view answer = maybe ? "maybe" : "no";
    if (json_) {
      Json json = {{"answer", answer}};
      AddBytes(&json, "key", key, hex_);
      output_.Write(ToLine(json));
    } else {
      output_.Write(answer);
      output_.Write("\t");
      output_.Line(line);
    }
    return absl::OkStatus();
  }

  ExitCode Finish() {
    if (count_ && json_) {
      output_.Write(ToLine(Json{{"maybe", totals_.maybe}, {"no", totals_.no}}));
    } else if (count_) {
      output_.Line(absl::StrCat("maybe\t", totals_.maybe));
      output_.Line(absl::StrCat("no\t", totals_.no));
    }
    return totals_.maybe > 0 ? ExitCode::kOk : ExitCode::kNo;
  }

 private:
  const bool hex_;
  const bool json_;
  const bool count_;
  const AnyFilter& filter_;
  Output& output_;
  Totals totals_;
};

absl::StatusOr<ExitCode> RunQuery(const Arguments& arguments, Output& output) {
  const std::vector<std::string>& words = arguments.positionals();
  WINNOW_ASSIGN_OR_RETURN(const FilterFile file, ReadFilterFile(words[0]));
  WINNOW_ASSIGN_OR_RETURN(const std::vector<InputFile> inputs,
                          OpenInputs(std::vector<std::string>(words.begin() + 1, words.end())));
  Asker asker(arguments, file.filter, output);
  for (const InputFile& input : inputs) {
    LineReader lines(input.descriptor(), input.name());
    std::string_view line;
    while (output.ok()) {
      WINNOW_ASSIGN_OR_RETURN(const bool has_line, lines.Next(&line));
      if (!has_line) break;
      WINNOW_RETURN_IF_ERROR(lines.InContext(asker.Ask(line)));
    }
  }
  return asker.Finish();
}

absl::StatusOr<ExitCode> RunInfo(const Arguments& arguments, Output& output) {
  for (size_t i = 0; i < arguments.positionals().size(); ++i) {
    const std::string& path = arguments.positionals()[i];
    WINNOW_ASSIGN_OR_RETURN(const FilterFile file, ReadFilterFile(path));
    const Json info = DescribeFilter(file);
    if (arguments.Has("json")) {
      Json json = {{"file", path}};
      json.update(info);
      output.Write(ToLine(json));
      continue;
    }
    if (i > 0) output.Line("");
    output.Line(path);
    PrintFields(info, "  ", output);
  }
  return ExitCode::kOk;
}

}  // namespace

Command FilterQueryCommand() {
  return {
      .name = "filter query",
      .positionals = {"FILE [KEYFILE...]", 1, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "query a filter for keys, one per line",
      .details = R"(
Reads keys from the key files, or from standard input, and prints for each, in their order,
maybe<TAB>KEY or no<TAB>KEY. "no" is certain; "maybe" is wrong about as many keys that were
never added as `winnow filter info` gives as expected_fpr. FILE may also be what Guava's
BloomFilter.writeTo wrote. The exit code is 0 if any key may be in the filter, 1 if none.)",
      .json =
          R"(one line per key: {"answer":"maybe" or "no","key":K}; with --count {"maybe":N,"no":N})",
      .examples = R"(
  printf 'apple\nqwxyz\n' | winnow filter query words.filter
  winnow filter query words.filter suspects.txt --count)",
      .flags = {{"count", "", "print only how many keys there were of each answer"},
                {"hex", "", "keys as hexadecimal digits, in and out"}},
      .run = RunQuery,
  };
}

Command FilterInfoCommand() {
  return {
      .name = "filter info",
      .positionals = {"FILE...", 1, kAnyNumber},
      .database = DatabaseUse::kNone,
      .summary = "show what a filter file holds, after checking every byte",
      .details = R"(
Says kind, keys, size, parameters, and the false-positive rate that theory gives for the
filter as it is. (Guava's bytes have no checksum: damage in them cannot be seen.))",
      .json = "one line per file: file, format, file_bytes, kind, and what the kind knows",
      .examples = R"(
  winnow filter info words.filter
  winnow filter info --json *.filter)",
      .run = RunInfo,
  };
}

}  // namespace winnow::cli
