// winnow_round_trip: the first half of `tools/dev bench`.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "tools/flags/arguments.h"
#include "tools/process/standard_streams.h"
#include "tools/round_trip/records.h"
#include "tools/round_trip/report.h"
#include "tools/round_trip/round_trip.h"

namespace {

constexpr char kHelp[] =
    R"(winnow_round_trip --format=stanzas|lines --input=FILE --db=DIR [--set=NAME=VALUE…]

Loads FILE into a new database in DIR, closes and reopens it, reads every record back and compares,
scans them in key order, then asks for as many absent keys, each made from a real one. Prints what
it measured as JSON. `tools/dev bench` prepares FILE and shows the result as a table.

  --format=stanzas  a Debian package index; key "package=version", value the stanza
  --format=lines    key, tab, value on each line
  --set=NAME=VALUE  any option of the database, such as --set=filter=cuckoo:1%

Exit codes: 0 everything came back, 1 it did not, 2 wrong command line.
)";

constexpr winnow::cli::FlagSpec kFlags[] = {{"format", "stanzas|lines", ""},
                                            {"input", "FILE", ""},
                                            {"db", "DIR", ""},
                                            {"set", "NAME=VALUE", "", /*repeatable=*/true},
                                            {"help", "", ""}};

int UsageError(const std::string& what) {
  std::fprintf(stderr, "winnow_round_trip: %s\n\n%s", what.c_str(), kHelp);
  return 2;
}

int RunError(const absl::Status& status) {
  std::fprintf(stderr, "winnow_round_trip: %s\n", status.ToString().c_str());
  return 1;
}

// The options that every --set names.
absl::StatusOr<winnow::Options> OptionsFrom(const winnow::cli::Arguments& arguments) {
  winnow::Options options;
  for (const std::string& assignment : arguments.All("set")) {
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
      return absl::InvalidArgumentError("--set=" + assignment + ": write --set=NAME=VALUE");
    }
    const std::string_view text = assignment;
    absl::Status set = winnow::SetOption(&options, text.substr(0, equals), text.substr(equals + 1));
    if (!set.ok()) return set;
  }
  return options;
}

int Run(const std::string& format, const std::string& input_path, const std::string& database,
        const winnow::Options& options) {
  namespace round_trip = winnow::round_trip;
  const absl::StatusOr<std::string> text = round_trip::ReadWholeFile(input_path);
  if (!text.ok()) return RunError(text.status());
  const round_trip::RecordSet input = format == "stanzas" ? round_trip::ParsePackageStanzas(*text)
                                                          : round_trip::ParseTabbedLines(*text);
  if (input.records.empty()) {
    return RunError(absl::InvalidArgumentError(input_path + ": no record of format " + format));
  }
  const auto result = round_trip::RunRoundTrip(options, database, input.records);
  if (!result.ok()) return RunError(result.status());
  std::fputs(round_trip::ReportAsJson(*result, input.num_repeated).c_str(), stdout);
  return 0;
}

int Main(int argc, char** argv) {
  const auto arguments =
      winnow::cli::Arguments::Parse(kFlags, std::vector<std::string>(argv + 1, argv + argc));
  if (!arguments.ok()) return UsageError(std::string(arguments.status().message()));
  if (arguments->Has("help")) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (!arguments->positionals().empty()) {
    return UsageError("no such argument: " + arguments->positionals().front());
  }
  const absl::StatusOr<winnow::Options> options = OptionsFrom(*arguments);
  if (!options.ok()) return UsageError(std::string(options.status().message()));
  const std::string input = arguments->Text("input").value_or("");
  const std::string database = arguments->Text("db").value_or("");
  if (input.empty() || database.empty()) return UsageError("give --input=FILE and --db=DIR");
  const std::string format = arguments->Text("format").value_or("");
  if (format != "stanzas" && format != "lines") {
    return UsageError("--format=stanzas or --format=lines, not '" + format + "'");
  }
  return Run(format, input, database, *options);
}

}  // namespace

int main(int argc, char** argv) {
  winnow::process::PrepareStandardStreams();
  const int code = Main(argc, argv);
  const absl::Status printed = winnow::process::FlushStandardOutput();
  return code == 0 && !printed.ok() ? RunError(printed) : code;
}
