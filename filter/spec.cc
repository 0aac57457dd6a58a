#include "winnow/filter/spec.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "filter/base/nearest_name.h"
#include "filter/base/shown_text.h"
#include "filter/registry/registry.h"
#include "winnow/filter/range_filter.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// A spec is checked in one place for all ways to make one: ParseFilterSpec reads the parts and has
// them checked, ValidateFilterSpec checks a spec that was put together in code. An error quotes the
// text, names the part that is wrong and its range, and offers the nearest text that is right.

constexpr double kMinFpr = 1e-6;
constexpr double kMaxFpr = 0.5;

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status BadSpec(std::string_view text, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrCat("filter spec '", absl::CHexEscape(ShownText(text)), "': ", what));
}

// "; did you mean 'cuckoo'?" for a slip in a kind's name or a part of one ("fuse"); a full stop for
// a word that no kind resembles: the nearest of all would then be as likely 'none', and switch
// filters off. The start of a name that is too long to be a slip is enough to compare.
std::string KindSuggestion(std::string_view name) {
  const std::string lower = absl::AsciiStrToLower(ToAbsl(name.substr(0, 64)));
  const std::vector<std::string> kinds = SpecKindNames();
  std::string_view nearest =
      NearestName(lower, std::vector<std::string_view>(kinds.begin(), kinds.end()),
                  /*max_distance=*/lower.size() * 2 / 3);
  if (nearest.empty() && lower.size() > 2) {
    const auto longer = std::find_if(kinds.begin(), kinds.end(), [&](const std::string& kind) {
      return kind.find(lower) != std::string::npos;
    });
    if (longer != kinds.end()) nearest = *longer;
  }
  return nearest.empty() ? "." : absl::StrCat("; did you mean '", ToAbsl(nearest), "'?");
}

// Decimal digits with at most one point, times 10^`exponent`; no sign, exponent, space or "inf".
std::optional<double> ParseAmount(std::string_view text, int exponent) {
  // from_chars alone would also read "1e3", "inf" and "nan".
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(static_cast<unsigned char>(c)) || c == '.';
  });
  if (!plain || text.empty() || text.size() > 64) return std::nullopt;
  const std::string scaled = absl::StrCat(ToAbsl(text), "e", exponent);
  double value = 0;
  const auto [end, error] = std::from_chars(scaled.data(), scaled.data() + scaled.size(), value);
  if (error != std::errc() || end != scaled.data() + scaled.size()) return std::nullopt;
  return value;
}

// The shortest text that reads back to `value`, without exponent for all amounts that are allowed.
std::string FormatBits(double value) {
  char buffer[64];
  // Within these the fixed form has no exponent that ParseAmount would refuse, and fits the buffer.
  const bool is_ordinary = value > 1e-9 && value < 1e15;
  const auto format = is_ordinary ? std::chars_format::fixed : std::chars_format::general;
  const std::to_chars_result result = std::to_chars(buffer, buffer + sizeof(buffer), value, format);
  return std::string(buffer, result.ptr);
}

// As FormatBits, times 100: the digits are moved, since a multiplication would round.
std::string FormatPercent(double fpr) {
  std::string text = FormatBits(fpr);
  if (text.substr(0, 2) != "0." || text.find('e') != std::string::npos) {
    return absl::StrCat(fpr * 100, "%");
  }
  text = text.substr(2);
  if (text.size() < 2) text.resize(2, '0');
  std::string whole = text.substr(0, 2);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size() - 1));
  return absl::StrCat(whole, text.size() > 2 ? "." : "", text.substr(2), "%");
}

// The text of a spec; an empty `amount` is left out.
std::string Join(FilterKind kind, std::string_view amount, const std::vector<std::string>& words) {
  std::string text(KindName(kind));
  if (!amount.empty()) absl::StrAppend(&text, ":", ToAbsl(amount));
  for (const std::string& word : words) absl::StrAppend(&text, ":", word);
  return text;
}

absl::Status CheckBits(std::string_view text, const FilterSpec& spec) {
  const double bits_per_key = spec.bits_per_key;
  const BitsPerKeyRange range = AllowedBitsPerKey(spec);
  if (bits_per_key >= range.min && bits_per_key <= range.max) return absl::OkStatus();
  std::string what =
      absl::StrCat("bits per key of ", Join(spec.kind, "", spec.words), " must be from ",
                   FormatBits(range.min), " to ", FormatBits(range.max), "; ");
  // The likeliest slip behind a value that is out of range: name it instead of the nearest value.
  if (bits_per_key > 64) {
    absl::StrAppend(&what,
                    "did you mean bytes for the whole database? divide them by its number of keys");
  } else if (bits_per_key == 0) {
    absl::StrAppend(&what, "did you mean 'none'?");
  } else {
    const double nearest = std::clamp(bits_per_key, range.min, range.max);
    absl::StrAppend(&what, "did you mean '", Join(spec.kind, FormatBits(nearest), spec.words),
                    "'?");
  }
  return BadSpec(text, what);
}

absl::Status CheckFpr(std::string_view text, const FilterSpec& spec) {
  if (spec.fpr >= kMinFpr && spec.fpr <= kMaxFpr) return absl::OkStatus();
  const double nearest = std::clamp(spec.fpr, kMinFpr, kMaxFpr);
  return BadSpec(text, absl::StrCat("the false-positive rate must be from ", FormatPercent(kMinFpr),
                                    " to ", FormatPercent(kMaxFpr), "; did you mean '",
                                    Join(spec.kind, FormatPercent(nearest), spec.words), "'?"));
}

// The words that specs of a kind may have, one of them.
std::vector<std::string> WordsOf(FilterKind kind) {
  std::vector<std::string> words;
  for (const internal::KindOperations* operations : internal::AllKinds()) {
    if (operations->kind == kind && !operations->word.empty()) words.emplace_back(operations->word);
  }
  return words;
}

bool IsWordOf(FilterKind kind, std::string_view text) {
  const std::vector<std::string> words = WordsOf(kind);
  return std::find(words.begin(), words.end(), text) != words.end();
}

// Words are checked before amounts: "bloom:1%:murmur128_mitz_64" is a mistake whatever its amount
// says.
absl::Status CheckWords(std::string_view text, const FilterSpec& spec) {
  if (spec.words.empty() || internal::FindLayout(spec.kind, spec.words) != nullptr)
    return absl::OkStatus();
  if (spec.kind == FilterKind::kBloom && spec.words.front().rfind("murmur128_mitz_", 0) == 0) {
    return BadSpec(text,
                   absl::StrCat("filters for the exchange with Java hash whole keys in their "
                                "own way and cannot stand in an SSTable; without '",
                                absl::CHexEscape(ShownText(spec.words.front())), "' this can"));
  }
  const std::vector<std::string> known = WordsOf(spec.kind);
  const bool first_is_known = IsWordOf(spec.kind, spec.words.front());
  return BadSpec(
      text,
      absl::StrCat(
          std::string(KindName(spec.kind)), " takes no further word",
          known.empty() ? ""
                        : absl::StrCat(" but '", absl::StrJoin(known, "' or '"), "' at the end"),
          ", got '", absl::CHexEscape(ShownText(spec.words[first_is_known ? 1 : 0])), "'"));
}

absl::Status CheckRangeBits(std::string_view text, double bits) {
  if (bits >= kMinRangeFilterBits && bits <= kMaxRangeFilterBits) return absl::OkStatus();
  return BadSpec(
      text, absl::StrCat("bits per key of a range filter must be from ",
                         FormatBits(kMinRangeFilterBits), " to ", FormatBits(kMaxRangeFilterBits)));
}

// `text` is what errors quote.
absl::Status CheckSpec(std::string_view text, const FilterSpec& spec) {
  if (spec.range_bits != 0) {
    if (absl::Status status = CheckRangeBits(text, spec.range_bits); !status.ok()) return status;
  }
  if (spec.kind == FilterKind::kNone) {
    if (spec.bits_per_key == 0 && spec.fpr == 0 && spec.words.empty()) return absl::OkStatus();
    return BadSpec(text, "none takes no amount; did you mean 'none'?");
  }
  if (internal::FindKind(spec.kind) == nullptr && spec.kind != FilterKind::kAuto) {
    return BadSpec(text, "unknown kind");
  }
  // 0 stands for "not given", so that no text can give both, but code can.
  if (spec.bits_per_key != 0 && spec.fpr != 0) {
    return BadSpec(text, "give bits per key or a false-positive rate, not both");
  }
  if (absl::Status status = CheckWords(text, spec); !status.ok()) return status;
  if (spec.bits_per_key != 0) return CheckBits(text, spec);
  return spec.fpr != 0 ? CheckFpr(text, spec) : absl::OkStatus();
}

// Reads "10", "7.2" or "0.1%" into `spec`.
absl::Status ReadAmount(std::string_view text, std::string_view amount, FilterSpec* spec) {
  const bool is_percentage = !amount.empty() && amount.back() == '%';
  const std::optional<double> value =
      is_percentage ? ParseAmount(amount.substr(0, amount.size() - 1), -2) : ParseAmount(amount, 0);
  const std::string name(KindName(spec->kind));
  if (!value) {
    return BadSpec(text, absl::StrCat("amount '", absl::CHexEscape(ShownText(amount)),
                                      "' must be bits per key such as '", name,
                                      ":10' or a false-positive rate such as '", name, ":1%'"));
  }
  // A zero would mean "not given" in the spec: checked here.
  if (is_percentage) {
    spec->fpr = *value;
    return CheckFpr(text, *spec);
  }
  spec->bits_per_key = *value;
  return CheckBits(text, *spec);
}

// Where another filter begins: a sign before a digit is a slip in an amount.
size_t FindSecondFilter(std::string_view text) {
  for (size_t at = text.find('+'); at != std::string_view::npos; at = text.find('+', at + 1)) {
    const bool is_sign =
        at + 1 < text.size() && absl::ascii_isdigit(static_cast<unsigned char>(text[at + 1]));
    if (!is_sign) return at;
  }
  return std::string_view::npos;
}

// Reads what follows the plus sign: "range:12".
absl::Status ReadRange(std::string_view text, std::string_view range, FilterSpec* spec) {
  constexpr std::string_view kName = "range:";
  const std::optional<double> bits =
      range.starts_with(kName) ? ParseAmount(range.substr(kName.size()), 0) : std::nullopt;
  if (!bits) {
    return BadSpec(text, absl::StrCat("what stands behind '+' must be a range filter with its bits "
                                      "per key, such as '+range:12', got '",
                                      absl::CHexEscape(ShownText(range)), "'"));
  }
  spec->range_bits = *bits;
  return *bits == 0 ? absl::OkStatus() : CheckRangeBits(text, *bits);
}

}  // namespace

absl::StatusOr<FilterSpec> ParseFilterSpec(std::string_view text) {
  if (text.find('=') != std::string_view::npos) {
    return BadSpec(text,
                   "there is no '=' in a filter spec; write kind:amount, such as "
                   "'blocked_bloom:10'");
  }
  FilterSpec spec;
  const size_t plus = FindSecondFilter(text);
  if (plus != std::string_view::npos) {
    if (absl::Status status = ReadRange(text, text.substr(plus + 1), &spec); !status.ok()) {
      return status;
    }
  }
  // StrSplit makes no part at all of a view without an address.
  const std::string_view point = text.empty() ? "" : text.substr(0, plus);
  const std::vector<std::string> parts = absl::StrSplit(ToAbsl(point), ':');
  if (parts[0] == KindName(FilterKind::kAuto)) {
    spec.kind = FilterKind::kAuto;
  } else if (parts[0] != KindName(FilterKind::kNone)) {
    const internal::KindOperations* operations = internal::FindKind(std::string_view(parts[0]));
    if (operations == nullptr) {
      return BadSpec(text, absl::StrCat("unknown kind '", absl::CHexEscape(ShownText(parts[0])),
                                        "'", KindSuggestion(parts[0]), " The kinds are ",
                                        absl::StrJoin(SpecKindNames(), ", ")));
    }
    spec.kind = operations->kind;
  } else if (parts.size() > 1) {
    return BadSpec(text, "none takes no amount; did you mean 'none'?");
  }
  // The amount may be left out: "cuckoo:semi_sorted". No word looks like an amount.
  const bool has_amount = parts.size() > 1 && !IsWordOf(spec.kind, parts[1]);
  spec.words.assign(parts.begin() + (has_amount ? 2 : 1), parts.end());
  if (absl::Status status = CheckWords(text, spec); !status.ok()) return status;
  if (has_amount) {
    if (absl::Status status = ReadAmount(text, parts[1], &spec); !status.ok()) return status;
  }
  return spec;
}

absl::Status ValidateFilterSpec(const FilterSpec& spec) { return CheckSpec(ToString(spec), spec); }

std::string ToString(const FilterSpec& spec) {
  std::string amount;
  if (spec.fpr != 0) {
    amount = FormatPercent(spec.fpr);
  } else if (spec.bits_per_key != 0) {
    amount = FormatBits(spec.bits_per_key);
  }
  std::string text = Join(spec.kind, amount, spec.words);
  if (spec.range_bits != 0) absl::StrAppend(&text, "+range:", FormatBits(spec.range_bits));
  return text;
}

std::string_view KindName(FilterKind kind) {
  if (kind == FilterKind::kNone) return "none";
  if (kind == FilterKind::kAuto) return "auto";
  const internal::KindOperations* operations = internal::FindKind(kind);
  return operations == nullptr ? "unknown" : operations->name;
}

std::vector<std::string> SpecKindNames() {
  std::vector<std::string> names = {std::string(KindName(FilterKind::kNone))};
  for (const internal::KindOperations* operations : internal::AllKinds()) {
    if (operations->word.empty()) names.emplace_back(operations->name);
  }
  names.emplace_back(KindName(FilterKind::kAuto));
  return names;
}

std::vector<FilterSpec> BuildableSpecs() {
  std::vector<FilterSpec> specs;
  for (const internal::KindOperations* operations : internal::AllKinds()) {
    FilterSpec& spec = specs.emplace_back();
    spec.kind = operations->kind;
    if (!operations->word.empty()) spec.words.emplace_back(operations->word);
  }
  specs.emplace_back().kind = FilterKind::kAuto;
  return specs;
}

}  // namespace winnow::filter
