// Which part of a key a filter knows. FilterKeyExtractor is the only place that answers this, for
// flush, compaction, memtable, Get, MultiGet and iterators alike: two places that each "know" it
// are how stores lose keys.
//
//   absl::StatusOr<FilterKeyExtractor> extractor = FilterKeyExtractor::Parse("delimiter:/");
//   extractor->FilterKey("user42/profile");     // "user42/"
//   extractor->FilterKey("no-delimiter");       // "no-delimiter": total, short keys count whole

#ifndef WINNOW_FILTER_FILTER_KEY_H_
#define WINNOW_FILTER_FILTER_KEY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::filter {

// A small copyable value; const methods may be called from many threads. The default one extracts
// the whole key. Returned views point into the key that was given.
class FilterKeyExtractor {
 public:
  FilterKeyExtractor() = default;

  // Reads the text form:
  //   "whole"           the whole key
  //   "prefix:N"        the first N bytes, N from 1 to 65535
  //   "delimiter:C"     up to and including the first byte C; C is a character or \xNN
  //   "delimiter:C:K"   up to and including the K-th byte C, K from 1 to 65535
  // Returns InvalidArgument, naming the part and the range, for anything else.
  static absl::StatusOr<FilterKeyExtractor> Parse(std::string_view text);

  // The canonical text: equal texts mean the same extraction, and different texts different ones.
  std::string ToString() const;

  bool is_whole_key() const { return part_ == Part::kWholeKey; }

  // The filter key of `key`, a prefix of it. Total: a key shorter than N bytes, or with fewer than
  // K delimiters, is its own filter key.
  std::string_view FilterKey(std::string_view key) const {
    return is_whole_key() ? key : ExtractPart(key);
  }

  // May a scan of [lower, upper_exclusive) use a filter? True, with `*filter_key` set (it points
  // into `lower`), only if every possible key of that range, in bytewise order, has that one
  // filter key. False for ranges without an upper bound and for empty ranges. Only for stores
  // that order keys bytewise.
  bool RangeFilterKey(std::string_view lower, std::optional<std::string_view> upper_exclusive,
                      std::string_view* filter_key) const;

  friend bool operator==(const FilterKeyExtractor&, const FilterKeyExtractor&) = default;

 private:
  enum class Part : uint8_t { kWholeKey, kPrefix, kDelimiter };

  static absl::StatusOr<FilterKeyExtractor> ParseDelimiter(std::string_view text,
                                                           std::string_view arguments);

  // The length of the filter key if `key` reaches the prefix length or the K-th delimiter.
  std::optional<size_t> PartLength(std::string_view key) const;
  std::string_view ExtractPart(std::string_view key) const;

  Part part_ = Part::kWholeKey;
  char delimiter_ = '\0';
  uint32_t count_ = 0;  // prefix length in bytes, or which delimiter ends the filter key
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_FILTER_KEY_H_
