// winnow filter query and info: asks a filter file, and shows what it is.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "tools/winnow/commands.h"
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
      absl::StatusOr<std::string> bytes = FromText(line, TextForm::kHex);
      // The data are at fault, not the command line.
      if (!bytes.ok()) return absl::DataLossError(bytes.status().message());
      decoded = *std::move(bytes);
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
      const absl::Status asked = asker.Ask(line);
      if (!asked.ok()) {
        return WithContext(asked, absl::StrCat(lines.name(), ":", lines.line_number()));
      }
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
    for (const auto& [name, value] : info.items()) {
      output.Line(absl::StrFormat("  %-18s %s", name,
                                  value.is_string() ? value.get<std::string>() : value.dump()));
    }
  }
  return ExitCode::kOk;
}

}  // namespace

Command FilterQueryCommand() {
  Command command;
  command.name = "filter query";
  command.positionals = "FILE [KEYFILE...]";
  command.min_positionals = 1;
  command.max_positionals = kAnyNumber;
  command.database = DatabaseUse::kNone;
  command.summary = "ask a filter about keys, one a line";
  command.details =
      "Reads keys from the key files, or from standard input, and prints for each, in their "
      "order,\n"
      "maybe<TAB>KEY or no<TAB>KEY. \"no\" is certain; \"maybe\" is wrong about as many keys that "
      "were\n"
      "never added as `winnow filter info` gives as expected_fpr. FILE may also be what Guava's\n"
      "BloomFilter.writeTo wrote. The exit code is 0 if any key may be in the filter, 1 if none.";
  command.json =
      R"(one line a key: {"answer":"maybe" or "no","key":K}; with --count {"maybe":N,"no":N})";
  command.examples =
      "  printf 'apple\\nqwxyz\\n' | winnow filter query words.filter\n"
      "  winnow filter query words.filter suspects.txt --count";
  command.flags = {{"count", "", "print only how many keys there were of each answer"},
                   {"hex", "", "keys as hexadecimal digits, in and out"}};
  command.run = RunQuery;
  return command;
}

Command FilterInfoCommand() {
  Command command;
  command.name = "filter info";
  command.positionals = "FILE...";
  command.min_positionals = 1;
  command.max_positionals = kAnyNumber;
  command.database = DatabaseUse::kNone;
  command.summary = "show what a filter file holds, after checking every byte";
  command.details =
      "Says kind, keys, size, parameters, and the false-positive rate that theory gives for the\n"
      "filter as it is. (Guava's bytes have no checksum: damage in them cannot be seen.)";
  command.json = "one line a file: file, format, file_bytes, kind, and what the kind knows";
  command.examples =
      "  winnow filter info words.filter\n"
      "  winnow filter info --json *.filter";
  command.run = RunInfo;
  return command;
}

}  // namespace winnow::cli
