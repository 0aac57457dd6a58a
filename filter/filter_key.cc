#include "winnow/filter/filter_key.h"

#include <algorithm>
#include <iterator>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "filter/base/shown_text.h"

namespace winnow::filter {
namespace {

constexpr std::string_view kWholeText = "whole";
constexpr std::string_view kPrefixText = "prefix:";
constexpr std::string_view kDelimiterText = "delimiter:";
constexpr std::string_view kComponentText = "component:";
constexpr std::string_view kWithinText = "component:1:";  // in front of a prefix or a delimiter
constexpr uint32_t kMaxCount = 65535;
constexpr char kJoin = '+';
constexpr char kEscapedZero = '\xff';  // behind a 00: a 00 of the component

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status BadText(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("filter key '", absl::CHexEscape(ShownText(text)), "': ", ToAbsl(what),
                   "; write whole, prefix:8, delimiter:/, delimiter:/:2, component:1 or "
                   "whole+prefix:8"));
}

// Digits only, no sign or space and no leading zero, so that one number has one text.
std::optional<uint32_t> ParseCount(std::string_view digits) {
  if (digits.empty() || digits.size() > 5 || digits.front() == '0') return std::nullopt;
  uint32_t count = 0;
  for (const char digit : digits) {
    if (!absl::ascii_isdigit(static_cast<unsigned char>(digit))) return std::nullopt;
    count = count * 10 + static_cast<uint32_t>(digit - '0');
  }
  if (count > kMaxCount) return std::nullopt;
  return count;
}

// Takes a count, which goes up to the next part, off the front of `*text`.
std::optional<uint32_t> TakeCount(std::string_view* text) {
  const std::string_view digits = text->substr(0, text->find(kJoin));
  text->remove_prefix(digits.size());
  return ParseCount(digits);
}

bool TakePrefix(std::string_view prefix, std::string_view* text) {
  if (text->substr(0, prefix.size()) != prefix) return false;
  text->remove_prefix(prefix.size());
  return true;
}

// Takes one delimiter off the front of `*text`: a character, or \x and two hexadecimal digits.
std::optional<char> TakeDelimiter(std::string_view* text) {
  if (text->empty()) return std::nullopt;
  if (text->front() != '\\') {
    const char delimiter = text->front();
    text->remove_prefix(1);
    return delimiter;
  }
  if (text->size() < 4 || (*text)[1] != 'x' ||
      !absl::ascii_isxdigit(static_cast<unsigned char>((*text)[2])) ||
      !absl::ascii_isxdigit(static_cast<unsigned char>((*text)[3]))) {
    return std::nullopt;
  }
  const std::string byte = absl::HexStringToBytes(ToAbsl(text->substr(2, 2)));
  text->remove_prefix(4);
  return byte[0];
}

// One text for one byte: as itself if it can be seen and is no backslash, else \x and two digits.
std::string DelimiterText(char delimiter) {
  const auto byte = static_cast<unsigned char>(delimiter);
  if (absl::ascii_isgraph(byte) && delimiter != '\\') return std::string(1, delimiter);
  return absl::StrCat("\\x", absl::Hex(byte, absl::kZeroPad2));
}

// The length of the first `count` components of `key`, from `begin` on; nothing if it has fewer. A
// 00 that is the last byte ends none: the byte behind it might be FF.
std::optional<size_t> ComponentsLength(std::string_view key, uint32_t count, size_t begin = 0) {
  while (count > 0) {
    const size_t zero = key.find('\0', begin);
    if (zero == std::string_view::npos || zero + 1 == key.size()) return std::nullopt;
    begin = zero + 2;
    if (key[zero + 1] != kEscapedZero) --count;
  }
  return begin;
}

// The first `length` bytes, or the first component if it ends within them.
std::optional<size_t> PrefixWithin(std::string_view key, size_t length) {
  const std::optional<size_t> end = ComponentsLength(key.substr(0, length), 1);
  if (end) return end;
  return key.size() >= length ? std::optional<size_t>(length) : std::nullopt;
}

// Up to and including the `count`-th delimiter of the first component, or to its end. A 00 goes
// with the byte behind it, which says whether it belongs to the component: so keys that begin with
// one part have the same.
std::optional<size_t> DelimitersWithin(std::string_view key, char delimiter, uint32_t count) {
  size_t at = 0;
  while (at < key.size()) {
    const bool is_zero = key[at] == '\0';
    if (is_zero && at + 1 == key.size()) return std::nullopt;
    if (is_zero && key[at + 1] != kEscapedZero) return at + 2;
    const bool is_delimiter = key[at] == delimiter;
    at += is_zero ? 2 : 1;
    if (is_delimiter && --count == 0) return at;
  }
  return std::nullopt;
}

// Is `bound` the smallest string above all that begin with `prefix`? That is `prefix` without its
// trailing 0xff bytes and with its last byte then one higher.
bool IsSuccessor(std::string_view prefix, std::string_view bound) {
  while (!prefix.empty() && static_cast<unsigned char>(prefix.back()) == 0xff) {
    prefix.remove_suffix(1);
  }
  if (prefix.empty() || bound.size() != prefix.size()) return false;
  const size_t last = prefix.size() - 1;
  return bound.substr(0, last) == prefix.substr(0, last) &&
         static_cast<unsigned char>(bound[last]) == static_cast<unsigned char>(prefix[last]) + 1;
}

// Do all keys of [lower, upper) have the part of `lower` that is its first `length` bytes? No
// string lies between the keys that begin with it and their successor, so that the range holds only
// such keys if its bound is one of them, or that.
bool IsInsidePart(std::string_view lower, size_t length, std::string_view upper) {
  const std::string_view part = lower.substr(0, length);
  return upper.substr(0, length) == part || IsSuccessor(part, upper);
}

// The key that follows `lower` is `lower` with a zero byte: then the range holds `lower` alone.
bool HoldsOneKey(std::string_view lower, std::string_view upper) {
  return upper.size() == lower.size() + 1 && upper.back() == '\0' &&
         upper.substr(0, lower.size()) == lower;
}

}  // namespace

absl::StatusOr<FilterKeyExtractor> FilterKeyExtractor::Parse(std::string_view text) {
  FilterKeyExtractor extractor;
  extractor.num_parts_ = 0;
  std::string_view rest = text;
  while (true) {
    const absl::StatusOr<Part> part = TakePart(text, &rest);
    if (!part.ok()) return part.status();
    if (absl::Status added = extractor.AddPart(text, *part); !added.ok()) return added;
    if (rest.empty()) break;
    if (rest.front() != kJoin)
      return BadText(text, "after a part, only '+' and another may follow");
    rest.remove_prefix(1);
  }
  return extractor;
}

absl::Status FilterKeyExtractor::AddPart(std::string_view text, const Part& part) {
  const auto end = parts_.begin() + num_parts_;
  if (std::find(parts_.begin(), end, part) != end) return BadText(text, "a part comes twice");
  if (part.is_whole_key() && num_parts_ > 0) {
    return BadText(text, "of several parts, whole must be the first");
  }
  if (num_parts_ == kMaxParts) {
    return BadText(text, absl::StrCat("more than ", kMaxParts, " parts"));
  }
  // One text for parts whose order means nothing: those behind the first are kept sorted.
  size_t place = num_parts_++;
  for (; place > 1 && part < parts_[place - 1]; --place) parts_[place] = parts_[place - 1];
  parts_[place] = part;
  has_components_alone_ = (num_parts_ == 1 || has_components_alone_) && part.is_components();
  return absl::OkStatus();
}

absl::StatusOr<FilterKeyExtractor::Part> FilterKeyExtractor::TakePart(std::string_view text,
                                                                      std::string_view* rest) {
  Part part;
  if (TakePrefix(kWholeText, rest)) return part;
  if (TakePrefix(kPrefixText, rest)) return TakePrefixPart(text, rest);
  if (TakePrefix(kDelimiterText, rest)) return TakeDelimiterPart(text, rest);
  if (TakePrefix(kWithinText, rest)) {
    const bool is_prefix = TakePrefix(kPrefixText, rest);
    if (!is_prefix && !TakePrefix(kDelimiterText, rest)) {
      return BadText(text, "after component:1: comes prefix:N or delimiter:C");
    }
    absl::StatusOr<Part> within =
        is_prefix ? TakePrefixPart(text, rest) : TakeDelimiterPart(text, rest);
    if (within.ok()) {
      within->kind_ = is_prefix ? Part::Kind::kPrefixWithin : Part::Kind::kDelimiterWithin;
    }
    return within;
  }
  if (TakePrefix(kComponentText, rest)) {
    const std::optional<uint32_t> count = TakeCount(rest);
    if (!count) return BadText(text, "the number of components must be from 1 to 65535");
    part.kind_ = Part::Kind::kComponent;
    part.count_ = *count;
    return part;
  }
  return BadText(text, "unknown form");
}

absl::StatusOr<FilterKeyExtractor::Part> FilterKeyExtractor::TakePrefixPart(
    std::string_view text, std::string_view* rest) {
  const std::optional<uint32_t> length = TakeCount(rest);
  if (!length) return BadText(text, "the prefix length must be a number from 1 to 65535");
  Part part;
  part.kind_ = Part::Kind::kPrefix;
  part.count_ = *length;
  return part;
}

absl::StatusOr<FilterKeyExtractor::Part> FilterKeyExtractor::TakeDelimiterPart(
    std::string_view text, std::string_view* rest) {
  const std::optional<char> delimiter = TakeDelimiter(rest);
  if (!delimiter) {
    return BadText(text, "the delimiter must be one character or \\x and two hexadecimal digits");
  }
  Part part;
  part.kind_ = Part::Kind::kDelimiter;
  part.delimiter_ = *delimiter;
  part.count_ = 1;
  if (rest->empty() || rest->front() == kJoin) return part;
  const std::optional<uint32_t> count = TakePrefix(":", rest) ? TakeCount(rest) : std::nullopt;
  if (!count) {
    return BadText(text, "after the delimiter, only ':' and a count from 1 to 65535 may follow");
  }
  part.count_ = *count;
  return part;
}

std::string FilterKeyExtractor::Part::ToString() const {
  switch (kind_) {
    case Kind::kWholeKey:
      return std::string(kWholeText);
    case Kind::kPrefix:
      return absl::StrCat(ToAbsl(kPrefixText), count_);
    case Kind::kPrefixWithin:
      return absl::StrCat(ToAbsl(kWithinText), ToAbsl(kPrefixText), count_);
    case Kind::kComponent:
      return absl::StrCat(ToAbsl(kComponentText), count_);
    case Kind::kDelimiter:
    case Kind::kDelimiterWithin:
      break;
  }
  std::string text = kind_ == Kind::kDelimiterWithin ? std::string(kWithinText) : std::string();
  absl::StrAppend(&text, ToAbsl(kDelimiterText), DelimiterText(delimiter_));
  if (count_ != 1) absl::StrAppend(&text, ":", count_);
  return text;
}

std::string_view FilterKeyExtractor::Part::CategoryName(Category category) {
  static constexpr std::string_view kNames[] = {"whole",       "prefix",      "delimiter",
                                                "component:1", "component:2", "component:3+"};
  static_assert(std::size(kNames) == static_cast<size_t>(Category::kCount));
  return kNames[static_cast<size_t>(category)];
}

std::string FilterKeyExtractor::ToString() const {
  std::string text = parts_[0].ToString();
  for (size_t i = 1; i < num_parts_; ++i) {
    absl::StrAppend(&text, std::string(1, kJoin), parts_[i].ToString());
  }
  return text;
}

// The part is a prefix of the key. FilterKey falls back to the whole key where there is none, so
// that each key has a filter key, and always the same one: that is what lets a look-up ask with the
// filter key alone.
std::optional<size_t> FilterKeyExtractor::Part::Length(std::string_view key) const {
  if (kind_ == Kind::kWholeKey) return key.size();
  if (kind_ == Kind::kPrefix) {
    return key.size() >= count_ ? std::optional<size_t>(count_) : std::nullopt;
  }
  if (is_components()) return ComponentsLength(key, count_);
  if (kind_ == Kind::kPrefixWithin) return PrefixWithin(key, count_);
  if (kind_ == Kind::kDelimiterWithin) return DelimitersWithin(key, delimiter_, count_);
  size_t begin = 0;
  for (uint32_t seen = 0; seen < count_; ++seen) {
    const size_t position = key.find(delimiter_, begin);
    if (position == std::string_view::npos) return std::nullopt;
    begin = position + 1;
  }
  return begin;
}

std::optional<uint64_t> FilterKeyExtractor::PartHash(size_t index, std::string_view key,
                                                     uint64_t seed) const {
  const Part& part = parts_[index];
  if (index > 0 && !part.Length(key)) return std::nullopt;
  return HashOf(index, part.FilterKey(key), seed);
}

// Keys of one part are neighbours, so that looking at the key before finds every repetition: it has
// the part if it has all its bytes. A key that is its own filter key for want of one was not there
// before; a whole key is greater than the key before. Two parts may end at the same byte: one entry
// then serves both.
size_t FilterKeyExtractor::NewPartHashes(std::string_view key, size_t shared, uint64_t seed,
                                         Hashes* hashes) const {
  size_t count = 0;
  for (size_t i = 0; i < num_parts_; ++i) {
    const Part& part = parts_[i];
    const std::optional<size_t> length = part.Length(key);
    const bool is_prefix = length && !part.is_whole_key();
    const bool is_new = is_prefix ? *length > shared : i == 0;
    if (!is_new) continue;
    const uint64_t hash = HashOf(i, key.substr(0, length.value_or(key.size())), seed);
    const auto end = hashes->begin() + count;
    if (std::find(hashes->begin(), end, hash) == end) (*hashes)[count++] = hash;
  }
  return count;
}

// The same: parts of different counts of components do not end at the same byte, and so all hashes
// are new.
size_t FilterKeyExtractor::NewComponentHashes(std::string_view key, size_t shared, uint64_t seed,
                                              Hashes* hashes) const {
  size_t count = 0;
  // Where the components of a part end, behind which those of the next are looked for.
  size_t length = 0;
  uint32_t counted = 0;
  for (size_t i = 0; i < num_parts_; ++i) {
    const uint32_t wanted = parts_[i].count_;
    if (wanted < counted) length = counted = 0;
    const std::optional<size_t> end = ComponentsLength(key, wanted - counted, length);
    if (!end) {
      if (i == 0) (*hashes)[count++] = HashOf(i, key, seed);
      continue;
    }
    length = *end;
    counted = wanted;
    if (length > shared) (*hashes)[count++] = HashOf(i, key.substr(0, length), seed);
  }
  return count;
}

// A range may be refuted if all keys it can hold share one filter key: then "not in the filter"
// means that the range is empty. Whatever is not certain is nothing, which only costs a read. A
// `lower` without a part has none to ask for: a longer key of the range may have one.
std::optional<FilterKeyExtractor::Question> FilterKeyExtractor::QuestionOfRange(
    std::string_view lower, std::optional<std::string_view> upper_exclusive, uint64_t seed) const {
  if (!upper_exclusive || *upper_exclusive <= lower) return std::nullopt;
  if (HoldsOneKey(lower, *upper_exclusive)) {
    return Question{lookup_part(), FilterKey(lower), LookupHash(lower, seed)};
  }
  std::optional<size_t> longest;
  size_t asked = 0;
  for (size_t i = 0; i < num_parts_; ++i) {
    if (parts_[i].is_whole_key()) continue;
    const std::optional<size_t> length = parts_[i].Length(lower);
    if (!length || (longest && *longest >= *length)) continue;
    if (!IsInsidePart(lower, *length, *upper_exclusive)) continue;
    longest = length;
    asked = i;
  }
  if (!longest) return std::nullopt;
  const std::string_view filter_key = lower.substr(0, *longest);
  return Question{parts_[asked], filter_key, HashOf(asked, filter_key, seed)};
}

// A part that ends within the prefix is one of every key that goes on from it.
bool FilterKeyExtractor::AskForPrefix(std::string_view prefix,
                                      std::span<const size_t> component_ends, uint64_t seed,
                                      Question* question) const {
  const auto ask = [&](size_t index, size_t length) {
    question->part = parts_[index];
    question->filter_key = prefix.substr(0, length);
    question->hash = HashOf(index, question->filter_key, seed);
    return true;
  };
  // No part is longer than one that ends with the prefix.
  for (size_t i = component_ends.empty() ? 0 : num_parts_; i-- > 0;) {
    if (parts_[i].is_components() && parts_[i].count_ == component_ends.size()) {
      return ask(i, prefix.size());
    }
  }
  const auto length_of = [&](const Part& part) -> std::optional<size_t> {
    if (component_ends.empty() || !part.is_components()) return part.Length(prefix);
    if (part.count_ > component_ends.size()) return std::nullopt;
    return component_ends[part.count_ - 1];
  };
  std::optional<size_t> longest;
  size_t asked = 0;
  // From the last, which of several counts of components is the greatest.
  for (size_t i = num_parts_; i-- > 0;) {
    const Part& part = parts_[i];
    if (part.is_whole_key()) continue;
    // Fewer components are never longer, and need not be counted.
    const bool is_within_asked = longest && part.is_components() && parts_[asked].is_components() &&
                                 part.count_ < parts_[asked].count_;
    if (is_within_asked) continue;
    const std::optional<size_t> length = length_of(part);
    // Of two that end alike the components, as above.
    const bool is_better =
        length && (!longest || *length > *longest || (*length == *longest && part.is_components()));
    if (!is_better) continue;
    longest = length;
    asked = i;
  }
  return longest && ask(asked, *longest);
}

}  // namespace winnow::filter
