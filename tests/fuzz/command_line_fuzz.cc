// Any bytes as what the command line reads: its first byte says whether the rest is words (one a
// line), a line of input, or bytes to be shown as text and read back.

#include "tests/fuzz/fuzz_target.h"
#include "tools/flags/arguments.h"
#include "tools/winnow/amounts.h"
#include "tools/winnow/record_reader.h"
#include "tools/winnow/text_encoding.h"

namespace {

using winnow::cli::RecordFormat;
using winnow::cli::RecordParser;
using winnow::cli::TextForm;
using winnow::fuzz::Require;

constexpr winnow::cli::FlagSpec kFlags[] = {{"db", "DIR", "the database"},
                                            {"keys", "N", "a count"},
                                            {"fpr", "RATE", "a rate"},
                                            {"memory", "BYTES", "an amount"},
                                            {"option", "NAME=VALUE", "an option", true},
                                            {"json", "", "a switch"},
                                            {"help", "", "a switch"}};

template <typename T>
void RequireReason(const T& result) {
  Require(result.ok() || !result.status().message().empty(), "a refusal has a reason");
}

void ReadWords(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    words.emplace_back(line);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  RequireReason(winnow::cli::Arguments::Parse(kFlags, words, winnow::cli::Dialect::kDbBench));
  const auto arguments = winnow::cli::Arguments::Parse(kFlags, words);
  RequireReason(arguments);
  if (!arguments.ok()) return;
  Require(arguments->positionals().size() <= words.size(), "no word is invented");
  for (const winnow::cli::FlagSpec& flag : kFlags) {
    RequireReason(arguments->Number(flag.name));
    RequireReason(winnow::cli::CountOf(*arguments, flag.name));
    RequireReason(winnow::cli::RateOf(*arguments, flag.name));
    RequireReason(winnow::cli::BytesOf(*arguments, flag.name));
    Require(arguments->Has(flag.name) == !arguments->All(flag.name).empty(), "a flag has values");
  }
}

void ReadLine(std::string_view line) {
  for (const TextForm form : {TextForm::kEscaped, TextForm::kRaw, TextForm::kHex}) {
    RecordParser parser(RecordFormat::kTabSeparated, form);
    const auto record = parser.Parse(line);
    RequireReason(record);
    if (!record.ok()) continue;
    const std::string again =
        winnow::cli::ToText(record->key, form) + "\t" + winnow::cli::ToText(record->value, form);
    RecordParser reader(RecordFormat::kTabSeparated, form);
    const auto reread = reader.Parse(again);
    // A raw value may hold a tab, a raw key none.
    Require(reread.ok() && reread->key == record->key && reread->value == record->value,
            "what was read is written and read the same");
  }
  RequireReason(RecordParser(RecordFormat::kJsonLines, TextForm::kEscaped).Parse(line));
}

void ShowAndReadBack(std::string_view bytes) {
  for (const TextForm form : {TextForm::kEscaped, TextForm::kHex}) {
    const std::string text = winnow::cli::ToText(bytes, form);
    Require(text.find_first_of("\t\n") == std::string::npos, "text is one word of a line");
    Require(winnow::cli::IsUtf8(text), "text is UTF-8");
    const auto again = winnow::cli::FromText(text, form);
    Require(again.ok() && *again == bytes, "text gives its bytes back");
  }
  winnow::cli::Json json;
  winnow::cli::AddBytes(&json, "key", bytes, false);
  winnow::cli::AddBytes(&json, "value", bytes, true);
  std::string line = winnow::cli::ToLine(json);
  line.pop_back();
  RecordParser parser(RecordFormat::kJsonLines, TextForm::kEscaped);
  const auto record = parser.Parse(line);
  Require(record.ok() && record->key == bytes && record->value == bytes,
          "a line of JSON gives its bytes back");
}

}  // namespace

std::vector<std::string> winnow::fuzz::Seeds() {
  using namespace std::string_literals;
  return {"\0--db=/tmp/x\n--keys\n1e9\n--json\nget\n--option=a=1\n--option\nb=2\n--\n--db"s,
          "\0--fpr=0.1%\n--memory=1.5GiB\n--keys=2.5e6\n--hlep"s,
          "\1apple\ta \\x00 fruit\\n\\\\"s,
          "\1"
          "6170706c65\t00ff"s,
          "\1{\"key\": \"apple\", \"value_hex\": \"00ff\"}"s,
          "\1{\"key_hex\":\"zz\",\"value\":\"\\ud800\"}"s,
          "\2caf\xc3\xa9 \xff\t\\x\0"s};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      ReadWords(rest);
      break;
    case 1:
      ReadLine(rest);
      break;
    default:
      ShowAndReadBack(rest);
  }
  return 0;
}
