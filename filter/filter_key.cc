#include "winnow/filter/filter_key.h"

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"

namespace winnow::filter {
namespace {

constexpr std::string_view kWholeText = "whole";
constexpr std::string_view kPrefixText = "prefix:";
constexpr std::string_view kDelimiterText = "delimiter:";
constexpr uint32_t kMaxCount = 65535;

absl::string_view ToAbsl(std::string_view text) { return {text.data(), text.size()}; }

absl::Status BadText(std::string_view text, std::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("filter key '", absl::CHexEscape(ToAbsl(text)), "': ", ToAbsl(what),
                   "; write whole, prefix:8, delimiter:/ or delimiter:/:2"));
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

}  // namespace

absl::StatusOr<FilterKeyExtractor> FilterKeyExtractor::Parse(std::string_view text) {
  FilterKeyExtractor extractor;
  if (text == kWholeText) return extractor;
  if (text.substr(0, kPrefixText.size()) == kPrefixText) {
    const std::optional<uint32_t> length = ParseCount(text.substr(kPrefixText.size()));
    if (!length) return BadText(text, "the prefix length must be a number from 1 to 65535");
    extractor.part_ = Part::kPrefix;
    extractor.count_ = *length;
    return extractor;
  }
  if (text.substr(0, kDelimiterText.size()) == kDelimiterText) {
    return ParseDelimiter(text, text.substr(kDelimiterText.size()));
  }
  return BadText(text, "unknown form");
}

absl::StatusOr<FilterKeyExtractor> FilterKeyExtractor::ParseDelimiter(std::string_view text,
                                                                      std::string_view arguments) {
  const std::optional<char> delimiter = TakeDelimiter(&arguments);
  if (!delimiter) {
    return BadText(text, "the delimiter must be one character or \\x and two hexadecimal digits");
  }
  FilterKeyExtractor extractor;
  extractor.part_ = Part::kDelimiter;
  extractor.delimiter_ = *delimiter;
  extractor.count_ = 1;
  if (arguments.empty()) return extractor;
  const std::optional<uint32_t> count =
      arguments.front() == ':' ? ParseCount(arguments.substr(1)) : std::nullopt;
  if (!count) {
    return BadText(text, "after the delimiter, only ':' and a count from 1 to 65535 may follow");
  }
  extractor.count_ = *count;
  return extractor;
}

std::string FilterKeyExtractor::ToString() const {
  switch (part_) {
    case Part::kWholeKey:
      return std::string(kWholeText);
    case Part::kPrefix:
      return absl::StrCat(ToAbsl(kPrefixText), count_);
    case Part::kDelimiter:
      break;
  }
  std::string text = absl::StrCat(ToAbsl(kDelimiterText), DelimiterText(delimiter_));
  if (count_ != 1) absl::StrAppend(&text, ":", count_);
  return text;
}

// The length of the part, a prefix of the key; nothing if the key has none, being too short or with
// too few delimiters. FilterKey then falls back to the whole key, so that each key has a filter
// key, and always the same one: that is what lets a look-up ask with the filter key alone.
std::optional<size_t> FilterKeyExtractor::PartLength(std::string_view key) const {
  if (part_ == Part::kPrefix) {
    return key.size() >= count_ ? std::optional<size_t>(count_) : std::nullopt;
  }
  size_t begin = 0;
  for (uint32_t seen = 0; seen < count_; ++seen) {
    const size_t position = key.find(delimiter_, begin);
    if (position == std::string_view::npos) return std::nullopt;
    begin = position + 1;
  }
  return begin;
}

std::string_view FilterKeyExtractor::ExtractPart(std::string_view key) const {
  return key.substr(0, PartLength(key).value_or(key.size()));
}

bool FilterKeyExtractor::RangeFilterKey(std::string_view lower,
                                        std::optional<std::string_view> upper_exclusive,
                                        std::string_view* filter_key) const {
  // A range may be refuted if all keys it can hold share one filter key: then "not in the filter"
  // means that the range is empty. Whatever is not certain is false, which only costs a read.
  if (!upper_exclusive || *upper_exclusive <= lower) return false;
  const std::string_view upper = *upper_exclusive;
  // The key that follows `lower` is `lower` with a zero byte: then the range holds `lower` alone.
  const bool holds_one_key = upper.size() == lower.size() + 1 && upper.back() == '\0' &&
                             upper.substr(0, lower.size()) == lower;
  if (holds_one_key) {
    *filter_key = FilterKey(lower);
    return true;
  }
  if (is_whole_key()) return false;
  const std::optional<size_t> length = PartLength(lower);
  // `lower` has no part, so that its filter key is the whole key; a longer key of the range may
  // have one.
  if (!length) return false;
  // All keys that begin with `part` share it as their filter key. No string lies between them and
  // their successor, so the range holds only such keys if its bound is one of them, or that.
  const std::string_view part = lower.substr(0, *length);
  if (upper.substr(0, part.size()) != part && !IsSuccessor(part, upper)) return false;
  *filter_key = part;
  return true;
}

}  // namespace winnow::filter
