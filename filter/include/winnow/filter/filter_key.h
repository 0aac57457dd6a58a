// Which parts of a key a filter knows. FilterKeyExtractor is the only place that answers this, for
// flush, compaction, memtable, Get, MultiGet and iterators alike: two places that each "know" it
// are how stores lose keys.
//
//   absl::StatusOr<FilterKeyExtractor> extractor = FilterKeyExtractor::Parse("delimiter:/");
//   extractor->FilterKey("user42/profile");     // "user42/"
//   extractor->FilterKey("no-delimiter");       // "no-delimiter": total, short keys count whole
//
// A filter of several parts answers for each of them, and has an entry for each:
//
//   auto both = FilterKeyExtractor::Parse("whole+delimiter:/");
//   both->FilterKey("user42/profile");                         // "user42/profile", for a look-up
//   both->QuestionOfRange("user42/", "user420", seed)->filter_key;    // "user42/", for a scan

#ifndef WINNOW_FILTER_FILTER_KEY_H_
#define WINNOW_FILTER_FILTER_KEY_H_

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {

// A small copyable value; const methods may be called from many threads. The default one extracts
// the whole key. Returned views point into the key that was given.
class FilterKeyExtractor {
 public:
  // Parts that one filter may know.
  static constexpr size_t kMaxParts = 4;

  // The whole key, or how much of its beginning.
  class Part {
   public:
    bool is_whole_key() const { return kind_ == Kind::kWholeKey; }
    // "component:K": so many components, whole.
    bool is_components() const { return kind_ == Kind::kComponent; }
    // The part of `key`. Total: a key shorter than N bytes, or with fewer than K delimiters or
    // components, is its own.
    std::string_view FilterKey(std::string_view key) const {
      return is_whole_key() ? key : key.substr(0, Length(key).value_or(key.size()));
    }
    // How long the part is; nothing if `key` is too short or has too few delimiters or components.
    std::optional<size_t> Length(std::string_view key) const;
    std::string ToString() const;

    // What statistics sum parts up under.
    enum class Category : uint8_t {
      kWholeKey,
      kPrefix,
      kDelimiter,
      kFirstComponent,
      kSecondComponent,
      kLaterComponent,
      kCount
    };
    // Within a component or not makes no other category of prefixes and delimiters.
    Category category() const {
      if (kind_ == Kind::kPrefixWithin) return Category::kPrefix;
      if (kind_ == Kind::kDelimiterWithin) return Category::kDelimiter;
      if (kind_ != Kind::kComponent) return static_cast<Category>(kind_);
      return count_ == 1   ? Category::kFirstComponent
             : count_ == 2 ? Category::kSecondComponent
                           : Category::kLaterComponent;
    }
    // "whole", "prefix", "delimiter", "component:1", "component:2", "component:3+".
    static std::string_view CategoryName(Category category);

    friend auto operator<=>(const Part&, const Part&) = default;

   private:
    friend class FilterKeyExtractor;
    // The first three are categories, too. "Within": not beyond the first component.
    enum class Kind : uint8_t {
      kWholeKey,
      kPrefix,
      kDelimiter,
      kComponent,
      kPrefixWithin,
      kDelimiterWithin
    };

    Kind kind_ = Kind::kWholeKey;
    char delimiter_ = '\0';
    uint32_t count_ = 0;  // prefix length in bytes, or which delimiter or component ends the part
  };

  FilterKeyExtractor() = default;

  // Reads the text form: one part, or up to kMaxParts joined by '+'.
  //   "whole"           the whole key; first, if it is one of several
  //   "prefix:N"        the first N bytes, N from 1 to 65535
  //   "delimiter:C"     up to and including the first byte C; C is a character or \xNN
  //   "delimiter:C:K"   up to and including the K-th byte C, K from 1 to 65535
  //   "component:K"     up to and including the end of the K-th component, K from 1 to 65535
  //   "component:1:prefix:N", "component:1:delimiter:C", "component:1:delimiter:C:K"
  //                     the same, but not beyond the end of the first component: of one that does
  //                     not reach so far the part is the component with its end
  // Components are strings of any bytes, one behind another so that keys sort as the lists of them
  // do: each ends with the bytes 00 01, and a 00 inside is written 00 FF (as tuples are by
  // FoundationDB and Spanner). Any byte behind 00 but FF ends a component, so that what ends with
  // 00 00 sorts before all that go on, and has a filter key of its own.
  // Look-ups of one key ask for the first part; the order of the others means nothing. Behind
  // "delimiter:" a '+' is the delimiter: "delimiter:++prefix:4" has two parts. Returns
  // InvalidArgument, naming the part and the range, for anything else.
  static absl::StatusOr<FilterKeyExtractor> Parse(std::string_view text);

  // The canonical text: equal texts mean the same extraction, and different texts different ones.
  std::string ToString() const;

  size_t num_parts() const { return num_parts_; }
  const Part& part(size_t index) const { return parts_[index]; }
  // What look-ups of one key ask for.
  const Part& lookup_part() const { return parts_[0]; }
  // True if there is no other part.
  bool is_whole_key() const { return num_parts_ == 1 && lookup_part().is_whole_key(); }

  // The filter key of `key` for a look-up of it, a prefix of it; and its hash.
  std::string_view FilterKey(std::string_view key) const { return lookup_part().FilterKey(key); }
  uint64_t LookupHash(std::string_view key, uint64_t seed) const {
    return HashKey(FilterKey(key), seed);
  }

  // The hash of what part `index` of `key` is in a filter. Nothing if the filter need not know it:
  // no scan asks for a part that the key does not reach.
  std::optional<uint64_t> PartHash(size_t index, std::string_view key, uint64_t seed) const;

  // What a filter has to be given for `key`, when keys come in ascending bytewise order and each
  // once: `hashes` up to the number that is returned. `shared` is how many bytes `key` has in
  // common with the key before, 0 for the first: what that one gave already is left out.
  using Hashes = std::array<uint64_t, kMaxParts>;
  size_t NewHashes(std::string_view key, size_t shared, uint64_t seed, Hashes* hashes) const {
    if (has_components_alone_) return NewComponentHashes(key, shared, seed, hashes);
    if (!is_whole_key()) return NewPartHashes(key, shared, seed, hashes);
    (*hashes)[0] = HashKey(key, seed);
    return 1;
  }

  // What a scan may ask a filter. `filter_key` points into the lower bound, and is what
  // part.FilterKey makes of every key of the range.
  struct Question {
    Part part;
    std::string_view filter_key;
    uint64_t hash = 0;  // to ask with
  };
  // May a scan of [lower, upper_exclusive) use a filter? Only if every possible key of that range,
  // in bytewise order, has one filter key; of several, the longest. Nothing for ranges without an
  // upper bound and for empty ranges. Only for stores that order keys bytewise.
  std::optional<Question> QuestionOfRange(std::string_view lower,
                                          std::optional<std::string_view> upper_exclusive,
                                          uint64_t seed) const;
  // The same of all keys that begin with `prefix`. False, and `*question` stays as it is: they need
  // not have a part in common.
  bool AskForPrefix(std::string_view prefix, uint64_t seed, Question* question) const {
    return AskForPrefix(prefix, {}, seed, question);
  }
  // `component_ends`: where in the prefix its components end, all of them, the last at its own end;
  // empty where that is not known.
  bool AskForPrefix(std::string_view prefix, std::span<const size_t> component_ends, uint64_t seed,
                    Question* question) const;

  friend bool operator==(const FilterKeyExtractor&, const FilterKeyExtractor&) = default;

 private:
  static absl::StatusOr<Part> TakePart(std::string_view text, std::string_view* rest);
  static absl::StatusOr<Part> TakePrefixPart(std::string_view text, std::string_view* rest);
  static absl::StatusOr<Part> TakeDelimiterPart(std::string_view text, std::string_view* rest);
  absl::Status AddPart(std::string_view text, const Part& part);

  // Of the filter key of a part. Other parts than the first have another seed: whether "user42/" is
  // there as a whole key and whether as a prefix are two questions.
  static uint64_t HashOf(size_t index, std::string_view filter_key, uint64_t seed) {
    return HashKey(filter_key, index == 0 ? seed : ~seed);
  }
  size_t NewPartHashes(std::string_view key, size_t shared, uint64_t seed, Hashes* hashes) const;
  size_t NewComponentHashes(std::string_view key, size_t shared, uint64_t seed,
                            Hashes* hashes) const;

  std::array<Part, kMaxParts> parts_;  // those behind the first in ascending order
  uint32_t num_parts_ = 1;
  bool has_components_alone_ = false;  // they are components all
};

// AskForPrefix for several filters: hashed once for all that know the same parts under one
// seed, as those of a store mostly do. Borrows prefix and extractors. Used by one thread at a time.
class PrefixQuestion {
 public:
  // `component_ends` as for AskForPrefix: saves looking for them. Borrowed, too.
  explicit PrefixQuestion(std::string_view prefix, std::span<const size_t> component_ends = {})
      : prefix_(prefix), component_ends_(component_ends) {}

  std::string_view prefix() const { return prefix_; }
  // Null: keys that begin so need have no part in common that the extractor knows. Valid until the
  // next call.
  const FilterKeyExtractor::Question* For(const FilterKeyExtractor& extractor, uint64_t hash_seed) {
    const bool is_as_before = asked_ != nullptr && hash_seed_ == hash_seed &&
                              (asked_ == &extractor || *asked_ == extractor);
    if (!is_as_before) {
      has_question_ = extractor.AskForPrefix(prefix_, component_ends_, hash_seed, &question_);
      asked_ = &extractor;
      hash_seed_ = hash_seed;
    }
    return has_question_ ? &question_ : nullptr;
  }

 private:
  const std::string_view prefix_;
  const std::span<const size_t> component_ends_;
  const FilterKeyExtractor* asked_ = nullptr;
  uint64_t hash_seed_ = 0;
  bool has_question_ = false;
  FilterKeyExtractor::Question question_;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_FILTER_KEY_H_
