// winnow_round_trip: the first half of `tools/dev bench`.
#include <cstdio>
#include <map>
#include <string>
#include <string_view>

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

struct Arguments {
  std::string format;
  std::string input;
  std::string db;
  winnow::Options options;
};

int UsageError(const std::string& what) {
  std::fprintf(stderr, "winnow_round_trip: %s\n\n%s", what.c_str(), kHelp);
  return 2;
}

int RunError(const absl::Status& status) {
  std::fprintf(stderr, "winnow_round_trip: %s\n", status.ToString().c_str());
  return 1;
}

// Empty if the argument was understood, else what is wrong with it.
std::string TakeArgument(std::string_view argument, Arguments* arguments) {
  const std::map<std::string_view, std::string*> texts = {
      {"--format", &arguments->format}, {"--input", &arguments->input}, {"--db", &arguments->db}};
  const size_t equals = argument.find('=');
  if (equals == std::string_view::npos) return "no such argument: " + std::string(argument);
  const std::string_view name = argument.substr(0, equals);
  const std::string_view value = argument.substr(equals + 1);
  if (const auto text = texts.find(name); text != texts.end()) {
    *text->second = value;
    return "";
  }
  const size_t second_equals = value.find('=');
  if (name != "--set" || second_equals == std::string_view::npos) {
    return "no such argument: " + std::string(argument);
  }
  const absl::Status set = winnow::SetOption(&arguments->options, value.substr(0, second_equals),
                                             value.substr(second_equals + 1));
  return set.ok() ? "" : std::string(set.message());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  for (int index = 1; index < argc; index++) {
    const std::string_view argument = argv[index];
    if (argument == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
    if (std::string wrong = TakeArgument(argument, &arguments); !wrong.empty()) {
      return UsageError(wrong);
    }
  }
  if (arguments.input.empty() || arguments.db.empty()) return UsageError("--input and --db");
  if (arguments.format != "stanzas" && arguments.format != "lines") {
    return UsageError("--format=stanzas or --format=lines, not '" + arguments.format + "'");
  }

  const absl::StatusOr<std::string> text = winnow::round_trip::ReadWholeFile(arguments.input);
  if (!text.ok()) return RunError(text.status());
  const winnow::round_trip::RecordSet input = arguments.format == "stanzas"
                                                  ? winnow::round_trip::ParsePackageStanzas(*text)
                                                  : winnow::round_trip::ParseTabbedLines(*text);
  const auto result =
      winnow::round_trip::RunRoundTrip(arguments.options, arguments.db, input.records);
  if (!result.ok()) return RunError(result.status());
  std::fputs(winnow::round_trip::ReportAsJson(*result, input.num_repeated).c_str(), stdout);
  return 0;
}
