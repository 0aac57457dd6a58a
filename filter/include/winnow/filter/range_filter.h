// A range filter answers "is any key between these two?" with "no" or "maybe", where a filter of
// whole keys can say nothing. It is Grafite (Costa, Ferragina, Vinciguerra, SIGMOD 2024): a hash
// that keeps neighbours together, and the sorted hashes in Elias-Fano codes. Its rate holds for any
// ranges and keys, those close to the keys too, as long as nobody who chooses them knows the seed;
// and no seed takes a filter of thousands of keys far from it, since neighbours are kept together
// in pieces, a thousand or more, each hashed for itself. (filter/range/FORMAT.md has the
// arithmetic.)
//
//   auto builder = RangeFilterBuilder::Create(10, seed);          // 10 bits a key
//   for (std::string_view key : sorted_keys) builder->Add(key);
//   const std::string block = builder->Finish();
//
//   RangeFilterReader reader = RangeFilterReader::Open(block, &state);
//   if (!reader.MayContain("user42/", "user420")) return;         // certainly nothing there
//
// Keys are compared as numbers: the bytes behind what all keys of the filter begin with, as a
// big-endian number of as many bytes as the longest key has there, at most eight, zeros for those
// that are missing. What two keys differ by behind eight bytes is not known: such keys are one.
// Numbers that are written big-endian are compared as themselves.
//
// A range of `length` numbers that holds no key is "maybe" with a probability of at most
// num_keys * length / universe, that is length / 2^(bits - 2): at 12 bits a key 0.1 % for one
// number, 10 % for a hundred, and nothing is gained from a thousand on. Where a range crosses from
// one piece to the next it is two questions, of as many numbers together, and the bound is the
// same. A range of more than 16 pieces, each of more than universe / num_keys numbers, is "maybe"
// if it holds anything between the smallest and the largest key.

#ifndef WINNOW_FILTER_RANGE_FILTER_H_
#define WINNOW_FILTER_RANGE_FILTER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/filter/filter_state.h"

namespace winnow::filter {

// Bits a key that can be asked for. A directory takes a fifth of a bit on top of them.
inline constexpr double kMinRangeFilterBits = 3;
inline constexpr double kMaxRangeFilterBits = 34;

// For one thread. Memory: 8 bytes for each distinct key, and as much again in Finish.
class RangeFilterBuilder {
 public:
  // `hash_seed` is recorded in the block. InvalidArgument for bits outside the bounds above.
  static absl::StatusOr<RangeFilterBuilder> Create(double bits_per_key, uint64_t hash_seed);

  // Adds a key; in ascending bytewise order. Repeating the last one is harmless.
  void Add(std::string_view key);

  // Distinct numbers among the keys, as far as is known now.
  uint64_t num_added() const { return numbers_.size(); }
  size_t memory_bytes() const { return numbers_.capacity() * sizeof(uint64_t); }
  // The size in bytes that the block would have if Finish were called now; an estimate.
  uint64_t EstimatedBlockBytes() const;

  // The block, for RangeFilterReader::Open. Once.
  std::string Finish();

 private:
  RangeFilterBuilder(double bits_per_key, uint64_t hash_seed)
      : bits_per_key_(bits_per_key), hash_seed_(hash_seed) {}

  void ShortenPrefix(size_t length);

  double bits_per_key_;
  uint64_t hash_seed_;
  bool has_keys_ = false;
  std::string prefix_;  // what all keys so far begin with
  size_t shortest_key_ = 0;
  size_t longest_key_ = 0;
  std::vector<uint64_t> numbers_;  // of all keys so far, eight bytes behind prefix_; ascending
};

// What a block says about itself.
struct RangeFilterInfo {
  uint64_t num_keys = 0;
  uint64_t num_bytes = 0;  // of the block
  double bits_per_key = 0;
  uint64_t hash_seed = 0;
  std::string_view prefix;  // what all its keys begin with; points into the block
  // A range of `length` numbers without keys is "maybe" at most this often, times `length`; 0 if
  // the numbers lie so close that they are kept as they are.
  double expected_fpr_of_one = 1;
};

// What a range filter says of a range.
struct RangeFilterAnswer {
  bool may_contain = true;  // false: no key that was added is in it
  // How often it is "maybe" of a range so long that holds no number of a key, at most: 0 to 1.
  // (Bounds that differ behind eight bytes only are of one number.)
  double promised_rate = 1;
};

// A cheap value over borrowed bytes: the block must outlive it and all its copies. Const methods
// may be called from many threads. A reader that cannot understand its block answers "may contain"
// to everything.
class RangeFilterReader {
 public:
  // Answers "may contain" to everything.
  RangeFilterReader() = default;

  // Checks every byte of the block against its checksum, and that it is whole. `*state` (may be
  // null) says what is wrong with it.
  static RangeFilterReader Open(std::string_view block, FilterState* state);

  // False only if no key that was added is in [lower, upper_exclusive), in bytewise order; without
  // an upper bound in [lower, ...). An empty range holds no key. Takes a few cache lines, and
  // allocates nothing.
  bool MayContain(std::string_view lower, std::optional<std::string_view> upper_exclusive) const {
    return Ask(lower, upper_exclusive).may_contain;
  }
  // The same, with what it promises.
  RangeFilterAnswer Ask(std::string_view lower,
                        std::optional<std::string_view> upper_exclusive) const;

  bool always_true() const { return is_always_true_; }
  RangeFilterInfo Describe() const;

 private:
  uint64_t SmallestFrom(std::string_view rest) const;
  std::optional<uint64_t> LargestBelow(std::string_view rest) const;
  double PromisedRate(uint64_t first, uint64_t last) const;
  bool HasNumberBetween(uint64_t first, uint64_t last) const;
  bool HasCodeBetween(uint64_t first, uint64_t last) const;
  bool HasCodeOfPiece(uint64_t first, uint64_t last) const;
  uint64_t FindZero(uint64_t index) const;
  uint64_t LowBits(uint64_t index) const;
  uint64_t Word(uint64_t index) const;

  bool is_always_true_ = true;
  bool is_exact_ = false;
  uint32_t low_bits_ = 0;
  uint32_t number_bytes_ = 0;
  uint32_t shortest_bytes_ = 0;
  uint32_t piece_bits_ = 0;
  uint64_t num_keys_ = 0;
  uint64_t universe_ = 0;
  uint64_t smallest_ = 0;
  uint64_t largest_ = 0;
  uint64_t hash_seed_ = 0;
  uint64_t num_high_bits_ = 0;
  std::string_view prefix_;
  const char* zeros_before_ = nullptr;  // the directory
  const char* high_ = nullptr;
  const char* low_ = nullptr;
  std::string_view block_;
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_RANGE_FILTER_H_
