#include <algorithm>
#include <bit>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "filter/format/field.h"
#include "filter/range/range_format.h"
#include "winnow/filter/range_filter.h"

namespace winnow::filter {
namespace {

using internal::RangeHeader;
using internal::RangeLayout;

// How `bits_per_key` bits are spent: so many on the low half of each code, one on its one in the
// upper halves, and the rest, from one to two, on groups, each of which ends with a zero. There are
// so many groups, and their number times 2^low_bits is the universe.
struct Split {
  uint32_t low_bits;
  double groups_per_key;
};
Split SplitOf(double bits_per_key) {
  const auto low_bits = static_cast<uint32_t>(bits_per_key) - 2;
  return {low_bits, bits_per_key - low_bits - 1};
}

// The largest is held below 2^62, where no sum of two codes overflows; that many numbers are more
// than the bits were asked for.
uint64_t UniverseOf(double bits_per_key, uint64_t num_keys) {
  constexpr double kLargest = 4.6e18;
  const Split split = SplitOf(bits_per_key);
  const double groups = std::max(1.0, split.groups_per_key * static_cast<double>(num_keys));
  const double universe = groups * static_cast<double>(uint64_t{1} << split.low_bits);
  return static_cast<uint64_t>(std::min(universe, kLargest));
}

// Low halves so long that there is at least one group for each code, and at most two.
uint32_t LowBitsOf(uint64_t universe, uint64_t num_codes) {
  const uint64_t per_code = universe / num_codes;
  if (per_code == 0) return 0;
  return std::min(static_cast<uint32_t>(std::bit_width(per_code)) - 1, internal::kMaxLowBits);
}

// How many bits a number has within its piece. Of ascending, distinct numbers, at least two, in a
// universe of at least twice as many.
//
// Where a piece lands decides for all questions close to its keys, and most of all where keys stand
// at equal distances and another piece of such keys lands upon them. So no piece has more than a
// thousandth of the keys: what a seed does to a file is then the mean of a thousand draws. But a
// piece is longer than any range of which something is promised, and so such a range lies in two
// at most; and within that it is as long as can be, since keys that are close to each other and
// far from all others take up less of the universe the fewer pieces they are torn into.
uint8_t PieceBitsOf(const std::vector<uint64_t>& numbers, uint64_t universe) {
  constexpr size_t kShare = 1024;
  const size_t most_keys = std::max<size_t>(1, numbers.size() / kShare);
  // So many keys and one more never have all but their last piece_bits bits in common.
  uint64_t nearest = ~uint64_t{0};
  for (size_t i = most_keys; i < numbers.size(); ++i) {
    nearest = std::min(nearest, numbers[i] ^ numbers[i - most_keys]);
  }
  // From a key's share of the universe, which is the longest range, to all of it.
  const auto shortest = static_cast<int>(std::bit_width(universe / numbers.size()));
  const auto longest = static_cast<int>(std::bit_width(universe)) - 1;
  const auto wanted = static_cast<int>(std::bit_width(nearest)) - 1;
  return static_cast<uint8_t>(std::clamp(wanted, shortest, longest));
}

// Elias-Fano codes of ascending numbers below header.universe.
void WriteCodes(const std::vector<uint64_t>& codes, const RangeHeader& header,
                const RangeLayout& layout, std::string* block) {
  const auto or_word = [block](uint64_t at, uint64_t bits) {
    internal::StoreField(internal::LoadField<uint64_t>(*block, at) | bits, at, block);
  };
  const uint64_t low_mask = (uint64_t{1} << header.low_bits) - 1;
  for (uint64_t i = 0; i < codes.size(); ++i) {
    // Before the one of code i stand i other ones, and a zero for each group before its own.
    const uint64_t high_bit = (codes[i] >> header.low_bits) + i;
    or_word(layout.high_at + high_bit / 64 * 8, uint64_t{1} << (high_bit % 64));
    const uint64_t low_bit = i * header.low_bits;
    // At most 48 bits from one of the eight bits of a byte on: eight bytes hold them, those of the
    // padding where the code is the last.
    or_word(layout.low_at + low_bit / 8, (codes[i] & low_mask) << (low_bit % 8));
  }
  uint64_t ones = 0;
  for (uint64_t bit = 0; bit < layout.num_high_bits; bit += 64) {
    // The zeros before this stretch: all bits before it less the ones among them.
    if (bit % internal::kDirectoryStride == 0) {
      internal::StoreField<uint64_t>(
          bit - ones, layout.directory_at + bit / internal::kDirectoryStride * sizeof(uint64_t),
          block);
    }
    ones += static_cast<uint64_t>(
        std::popcount(internal::LoadField<uint64_t>(*block, layout.high_at + bit / 8)));
  }
}

}  // namespace

absl::StatusOr<RangeFilterBuilder> RangeFilterBuilder::Create(double bits_per_key,
                                                              uint64_t hash_seed) {
  if (!(bits_per_key >= kMinRangeFilterBits && bits_per_key <= kMaxRangeFilterBits)) {
    return absl::InvalidArgumentError(absl::StrCat("a range filter of ", bits_per_key,
                                                   " bits a key; allowed are ", kMinRangeFilterBits,
                                                   " to ", kMaxRangeFilterBits));
  }
  return RangeFilterBuilder(bits_per_key, hash_seed);
}

// Keys ascend, so that what the first and the last have in common all have. Numbers, which are made
// before all keys are known, are made again when that becomes less.
void RangeFilterBuilder::Add(std::string_view key) {
  longest_key_ = std::max(longest_key_, key.size());
  shortest_key_ = std::min(shortest_key_, key.size());
  // All of the first key is the prefix until another one differs from it.
  if (!has_keys_) {
    has_keys_ = true;
    shortest_key_ = key.size();
    prefix_ = key;
    numbers_.push_back(0);
    return;
  }
  const auto [end, unused] = std::mismatch(
      prefix_.begin(), prefix_.begin() + static_cast<int64_t>(std::min(prefix_.size(), key.size())),
      key.begin());
  const auto shared = static_cast<size_t>(end - prefix_.begin());
  if (shared < prefix_.size()) ShortenPrefix(shared);
  // Keys with the same eight bytes behind the prefix follow each other, and are one number.
  const uint64_t number = internal::NumberOfBytes(key.substr(prefix_.size()), sizeof(uint64_t));
  if (number != numbers_.back()) numbers_.push_back(number);
}

// What was cut off the prefix comes in front of the bytes of every number. The bytes that go at the
// other end may have been all that two numbers differed by.
void RangeFilterBuilder::ShortenPrefix(size_t length) {
  const size_t cut_bytes = prefix_.size() - length;
  const uint64_t front =
      internal::NumberOfBytes(std::string_view(prefix_).substr(length), sizeof(uint64_t));
  for (uint64_t& number : numbers_) {
    number = front | (cut_bytes < sizeof(number) ? number >> (8 * cut_bytes) : 0);
  }
  numbers_.erase(std::unique(numbers_.begin(), numbers_.end()), numbers_.end());
  prefix_.resize(length);
}

uint64_t RangeFilterBuilder::EstimatedBlockBytes() const {
  // Eight bytes for each 1,024 of the upper halves' bits, of which a key has at most three. 128
  // bytes hold the header, the padding and words that are begun.
  constexpr double kDirectoryBits = 0.2;
  return 128 + prefix_.size() +
         static_cast<uint64_t>((bits_per_key_ + kDirectoryBits) *
                               static_cast<double>(numbers_.size()) / 8);
}

std::string RangeFilterBuilder::Finish() {
  RangeHeader header{.hash_seed = hash_seed_};
  RangeLayout layout;
  if (numbers_.empty()) {
    internal::LayOut(header, &layout);
    std::string block = internal::MakeUnsealedRangeBlock(header, layout);
    internal::SealRangeBlock(&block);
    return block;
  }
  // Bytes that no key has are zeros in all numbers; without them neighbours are closer together.
  header.number_bytes =
      static_cast<uint8_t>(std::min(longest_key_ - prefix_.size(), sizeof(uint64_t)));
  header.shortest_bytes =
      static_cast<uint8_t>(std::min(shortest_key_ - prefix_.size(), sizeof(uint64_t)));
  const size_t unused_bits = 8 * (sizeof(uint64_t) - header.number_bytes);
  if (unused_bits > 0) {
    // A shift by 64 is undefined: keys that are the prefix itself have no bytes behind it.
    for (uint64_t& number : numbers_) number = unused_bits < 64 ? number >> unused_bits : 0;
  }
  header.smallest = numbers_.front();
  header.largest = numbers_.back();
  header.prefix_bytes = static_cast<uint32_t>(prefix_.size());
  header.universe = UniverseOf(bits_per_key_, numbers_.size());
  // Numbers that all lie within the universe need no hash.
  header.is_exact = header.largest - header.smallest < header.universe;
  std::vector<uint64_t> codes(numbers_.size());
  if (header.is_exact) {
    // The smallest universe that holds them all: fewer bits, and answers without error.
    header.universe = header.largest - header.smallest + 1;
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = numbers_[i] - header.smallest;
  } else {
    header.piece_bits = PieceBitsOf(numbers_, header.universe);
    for (size_t i = 0; i < codes.size(); ++i) {
      codes[i] =
          internal::CodeOfNumber(numbers_[i], header.piece_bits, header.universe, hash_seed_);
    }
    // Within a piece the codes keep the order of the numbers, between pieces they do not.
    std::sort(codes.begin(), codes.end());
    codes.erase(std::unique(codes.begin(), codes.end()), codes.end());
  }
  header.num_codes = codes.size();
  header.low_bits = static_cast<uint8_t>(LowBitsOf(header.universe, header.num_codes));
  internal::LayOut(header, &layout);
  std::string block = internal::MakeUnsealedRangeBlock(header, layout);
  WriteCodes(codes, header, layout, &block);
  block.replace(layout.prefix_at, prefix_.size(), prefix_);
  internal::SealRangeBlock(&block);
  numbers_ = {};
  return block;
}

}  // namespace winnow::filter
