#include "tests/engine/soak/soak_flags.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace winnow::soak {

namespace {

constexpr uint64_t kMostFamilies = 10'000;  // of a database

struct Lists {
  std::vector<uint64_t> memory;
  std::vector<uint64_t> files;
  std::vector<uint64_t> families = {1, 1000};
  std::vector<uint64_t> keys = {20'000'000};
  std::vector<uint64_t> descriptors = {1024};
  std::vector<KeyOrder> orders = {KeyOrder::kSequential, KeyOrder::kScattered, KeyOrder::kRandom};
};

bool ParseNumber(std::string_view text, uint64_t* number) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), *number);
  return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
}

// "20000", "16MiB", "4GiB".
std::optional<uint64_t> ParseAmount(std::string_view text) {
  uint64_t unit = 1;
  if (text.ends_with("MiB")) unit = uint64_t{1} << 20;
  if (text.ends_with("GiB")) unit = uint64_t{1} << 30;
  if (unit > 1) text.remove_suffix(3);
  uint64_t number = 0;
  if (!ParseNumber(text, &number) || number > UINT64_MAX / unit) return std::nullopt;
  return number * unit;
}

std::optional<KeyOrder> ParseOrder(std::string_view text) {
  const auto* name = std::find(std::begin(kKeyOrderNames), std::end(kKeyOrderNames), text);
  if (name == std::end(kKeyOrderNames)) return std::nullopt;
  return static_cast<KeyOrder>(name - std::begin(kKeyOrderNames));
}

template <typename Item, typename Parse>
bool ParseList(std::string_view text, const Parse& parse, std::vector<Item>* list) {
  list->clear();
  const std::vector<std::string> words = absl::StrSplit(std::string(text), ',');
  for (const std::string& word : words) {
    const std::optional<Item> item = parse(word);
    if (!item.has_value()) return false;
    list->push_back(*item);
  }
  return true;
}

bool AllWithin(const std::vector<uint64_t>& list, uint64_t least, uint64_t most) {
  return std::all_of(list.begin(), list.end(),
                     [&](uint64_t item) { return item >= least && item <= most; });
}

// What is out of range, as a text; empty if nothing is.
std::string OutOfRange(const Lists& lists) {
  if (!AllWithin(lists.memory, uint64_t{16} << 20, UINT64_MAX)) return "--memory is 16MiB or more";
  if (!AllWithin(lists.families, 1, kMostFamilies)) return "--families is 1 to 10,000";
  if (!AllWithin(lists.keys, 1, uint64_t{1} << 40)) return "--keys is 1 or more";
  if (!AllWithin(lists.files, 1, 10'000'000)) return "--files is 1 to 10 million";
  if (!AllWithin(lists.descriptors, 64, 1 << 20)) return "--descriptors is 64 to 1,048,576";
  return "";
}

void AddCells(const Lists& lists, Flags* flags) {
  for (const uint64_t memory : lists.memory) {
    for (const uint64_t families : lists.families) {
      for (const uint64_t keys : lists.keys) {
        for (const KeyOrder order : lists.orders) {
          flags->memory_cells.push_back({memory, families, keys, order});
        }
      }
    }
  }
  for (const uint64_t files : lists.files) {
    for (const uint64_t families : lists.families) {
      for (const uint64_t descriptors : lists.descriptors) {
        flags->files_cells.push_back({files, families, descriptors});
      }
    }
  }
}

}  // namespace

absl::StatusOr<Flags> ParseFlags(std::span<const std::string_view> words) {
  Flags flags;
  Lists lists;
  const std::map<std::string_view, uint64_t*> numbers = {{"--minutes", &flags.minutes},
                                                         {"--seed", &flags.seed}};
  const std::map<std::string_view, bool*> switches = {{"--limits", &flags.limits_alone},
                                                      {"--planted", &flags.planted}};
  const std::map<std::string_view, std::vector<uint64_t>*> amounts = {
      {"--memory", &lists.memory},
      {"--files", &lists.files},
      {"--families", &lists.families},
      {"--keys", &lists.keys},
      {"--descriptors", &lists.descriptors}};
  bool has_cell_lists = false;
  for (const std::string_view word : words) {
    const size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    const std::string_view value = equals == word.npos ? "" : word.substr(equals + 1);
    bool read = false;
    if (const auto flag = switches.find(word); flag != switches.end()) {
      *flag->second = read = true;
    } else if (const auto number = numbers.find(name); number != numbers.end()) {
      read = ParseNumber(value, number->second);
    } else if (const auto list = amounts.find(name); list != amounts.end()) {
      read = ParseList(value, ParseAmount, list->second);
      has_cell_lists = true;
    } else if (name == "--order") {
      read = ParseList(value, ParseOrder, &lists.orders);
      has_cell_lists = true;
    }
    if (!read)
      return absl::InvalidArgumentError(absl::StrCat("cannot read '", std::string(word), "'"));
  }
  if (const std::string wrong = OutOfRange(lists); !wrong.empty()) {
    return absl::InvalidArgumentError(wrong);
  }
  AddCells(lists, &flags);
  if (has_cell_lists && flags.memory_cells.empty() && flags.files_cells.empty()) {
    return absl::InvalidArgumentError("which loads? Add --memory=LIST or --files=LIST");
  }
  return flags;
}

}  // namespace winnow::soak
