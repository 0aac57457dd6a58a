#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "filter/format/field.h"
#include "filter/range/range_format.h"
#include "winnow/filter/range_filter.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kLargestNumber = ~uint64_t{0};

// How a bound lies to the keys that begin with the prefix.
enum class Side : uint8_t { kBefore, kAmong, kBehind };

Side SideOf(std::string_view bound, std::string_view prefix) {
  // A bound that is shorter than the prefix, and a beginning of it, sorts before it.
  const std::string_view beginning = bound.substr(0, prefix.size());
  if (beginning == prefix) return Side::kAmong;
  return beginning < prefix ? Side::kBefore : Side::kBehind;
}

}  // namespace

RangeFilterReader RangeFilterReader::Open(std::string_view block, FilterState* state) {
  internal::RangeHeader header;
  internal::RangeLayout layout;
  FilterState found = internal::ParseRangeBlock(block, &header, &layout);
  const bool is_ok = found.code == FilterStateCode::kOk;
  if (state != nullptr) *state = std::move(found);
  RangeFilterReader reader;
  if (!is_ok) return reader;
  // A reader that has no sound block says "maybe" to everything.
  reader.is_always_true_ = false;
  reader.is_exact_ = header.is_exact;
  reader.low_bits_ = header.low_bits;
  reader.number_bytes_ = header.number_bytes;
  reader.shortest_bytes_ = header.shortest_bytes;
  reader.piece_bits_ = header.piece_bits;
  reader.num_keys_ = header.num_codes;
  reader.universe_ = header.universe;
  reader.smallest_ = header.smallest;
  reader.largest_ = header.largest;
  reader.hash_seed_ = header.hash_seed;
  reader.num_high_bits_ = layout.num_high_bits;
  reader.prefix_ = block.substr(layout.prefix_at);
  reader.zeros_before_ = block.data() + layout.directory_at;
  reader.high_ = block.data() + layout.high_at;
  reader.low_ = block.data() + layout.low_at;
  reader.block_ = block;
  return reader;
}

// The smallest number that a key from a bound on can have. A bound that is longer than any key, of
// which all bytes then count, is above the keys with its number.
uint64_t RangeFilterReader::SmallestFrom(std::string_view rest) const {
  const uint64_t number = internal::NumberOfBytes(rest, number_bytes_);
  const bool is_longer = number_bytes_ < sizeof(uint64_t) && rest.size() > number_bytes_;
  return is_longer ? number + 1 : number;
}

// The largest number that a key below a bound can have; nothing if there is no such key. A key
// below it with its number lacks zeros at its end, as "a" does of "a\0": not if all are as long.
std::optional<uint64_t> RangeFilterReader::LargestBelow(std::string_view rest) const {
  if (rest.empty()) return std::nullopt;
  const uint64_t number = internal::NumberOfBytes(rest, number_bytes_);
  if (rest.size() > number_bytes_) return number;
  if (rest.back() == '\0' && rest.size() > shortest_bytes_) return number;
  return number == 0 ? std::nullopt : std::optional<uint64_t>(number - 1);
}

// Where the ends of the range already say no, nothing is left to chance.
RangeFilterAnswer RangeFilterReader::Ask(std::string_view lower,
                                         std::optional<std::string_view> upper_exclusive) const {
  constexpr RangeFilterAnswer kSurelyNot = {false, 0};
  if (is_always_true_) return {};
  // No key lies in an empty range, whatever the filter holds.
  if (upper_exclusive.has_value() && *upper_exclusive <= lower) return kSurelyNot;
  uint64_t first = 0;
  switch (SideOf(lower, prefix_)) {
    case Side::kBefore:
      break;
    case Side::kAmong:
      first = SmallestFrom(lower.substr(prefix_.size()));
      break;
    case Side::kBehind:
      return kSurelyNot;
  }
  uint64_t last = kLargestNumber;
  if (upper_exclusive.has_value()) {
    const Side side = SideOf(*upper_exclusive, prefix_);
    if (side == Side::kBefore) return kSurelyNot;
    if (side == Side::kAmong) {
      const auto below = LargestBelow(upper_exclusive->substr(prefix_.size()));
      if (!below.has_value()) return kSurelyNot;
      last = *below;
    }
  }
  if (first > last) return kSurelyNot;
  return {HasNumberBetween(first, last), PromisedRate(first, last)};
}

// The bound of the Grafite paper, for as much of the range as lies between the smallest and the
// largest key: each of its numbers has the code of one of the keys with a probability of at most
// num_keys / universe. A range that is asked piece by piece has no more numbers for it.
double RangeFilterReader::PromisedRate(uint64_t first, uint64_t last) const {
  if (num_keys_ == 0 || last < smallest_ || first > largest_ || is_exact_) return 0;
  const double length =
      static_cast<double>(std::min(last, largest_) - std::max(first, smallest_)) + 1;
  return std::min(1.0, length * static_cast<double>(num_keys_) / static_cast<double>(universe_));
}

bool RangeFilterReader::HasNumberBetween(uint64_t first, uint64_t last) const {
  if (num_keys_ == 0 || last < smallest_ || first > largest_) return false;
  first = std::max(first, smallest_);
  last = std::min(last, largest_);
  if (is_exact_) return HasCodeBetween(first - smallest_, last - smallest_);
  const uint64_t last_piece = last >> piece_bits_;
  if (last_piece - (first >> piece_bits_) >= internal::kMostPieces) return true;
  // Mostly the range lies in one piece, or in two neighbours.
  while (first >> piece_bits_ != last_piece) {
    // Not above `last`, and so without overflow.
    const uint64_t end = ((first >> piece_bits_) + 1) << piece_bits_;
    if (HasCodeOfPiece(first, end - 1)) return true;
    first = end;
  }
  return HasCodeOfPiece(first, last);
}

// Within a piece the codes of a range go up by one, but from the last code of all to the first.
bool RangeFilterReader::HasCodeOfPiece(uint64_t first, uint64_t last) const {
  const uint64_t first_code = internal::CodeOfNumber(first, piece_bits_, universe_, hash_seed_);
  // Below 2^64, as no piece is longer than the universe.
  uint64_t last_code = first_code + (last - first);
  if (last_code >= universe_) last_code -= universe_;
  if (first_code <= last_code) return HasCodeBetween(first_code, last_code);
  return HasCodeBetween(first_code, universe_ - 1) || HasCodeBetween(0, last_code);
}

uint64_t RangeFilterReader::Word(uint64_t index) const {
  uint64_t word;
  std::memcpy(&word, high_ + index * sizeof(word), sizeof(word));
  return word;
}

uint64_t RangeFilterReader::LowBits(uint64_t index) const {
  // At most 48 bits that begin in the first byte; behind the last of them lie eight bytes of
  // padding.
  const uint64_t bit = index * low_bits_;
  uint64_t word;
  std::memcpy(&word, low_ + bit / 8, sizeof(word));
  return word >> (bit % 8) & ((uint64_t{1} << low_bits_) - 1);
}

// The position of the zero that ends group `index`, which is there: the directory is searched by
// halves for the stretch, the stretch by words.
uint64_t RangeFilterReader::FindZero(uint64_t index) const {
  const auto zeros_before = [this](uint64_t stretch) {
    uint64_t zeros;
    std::memcpy(&zeros, zeros_before_ + stretch * sizeof(zeros), sizeof(zeros));
    return zeros;
  };
  uint64_t stretch = 0;
  uint64_t count = (num_high_bits_ + internal::kDirectoryStride - 1) / internal::kDirectoryStride;
  // Invariant: the zero lies in the stretches [stretch, stretch + count), at most `index` zeros
  // before them.
  while (count > 1) {
    const uint64_t half = count / 2;
    if (zeros_before(stretch + half) <= index) stretch += half;
    count -= half;
  }
  uint64_t left = index - zeros_before(stretch);
  uint64_t word = stretch * (internal::kDirectoryStride / 64);
  uint64_t zeros = ~Word(word);
  for (auto here = static_cast<uint64_t>(std::popcount(zeros)); left >= here;
       here = static_cast<uint64_t>(std::popcount(zeros))) {
    left -= here;
    zeros = ~Word(++word);
  }
  // Takes away the zeros of this word that come before it.
  for (; left > 0; --left) zeros &= zeros - 1;
  return word * 64 + static_cast<uint64_t>(std::countr_zero(zeros));
}

// Is there a code of [first, last]? A group's codes are the ones before its zero; as many codes lie
// before it as its beginning has bits that are no group's end.
bool RangeFilterReader::HasCodeBetween(uint64_t first, uint64_t last) const {
  const uint64_t first_group = first >> low_bits_;
  const uint64_t last_group = last >> low_bits_;
  const uint64_t begin = (first_group == 0 ? 0 : FindZero(first_group - 1) + 1) - first_group;
  const uint64_t end = FindZero(first_group) - first_group;

  // The first code of the first group that is not below `first`.
  const uint64_t first_low = first & ((uint64_t{1} << low_bits_) - 1);
  uint64_t found = begin;
  for (uint64_t count = end - begin; count > 0;) {
    const uint64_t half = count / 2;
    if (LowBits(found + half) < first_low) {
      found += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  const uint64_t last_low = last & ((uint64_t{1} << low_bits_) - 1);
  if (first_group == last_group) return found < end && LowBits(found) <= last_low;
  // Such a code is below `last`, whose group is a later one.
  if (found < end) return true;

  // A code of the groups between, or the first of the last group.
  const uint64_t last_begin = FindZero(last_group - 1) + 1 - last_group;
  if (last_begin > end) return true;
  const uint64_t last_end = FindZero(last_group) - last_group;
  return last_begin < last_end && LowBits(last_begin) <= last_low;
}

RangeFilterInfo RangeFilterReader::Describe() const {
  RangeFilterInfo info;
  if (is_always_true_) return info;
  info.num_keys = num_keys_;
  info.num_bytes = block_.size();
  info.hash_seed = hash_seed_;
  info.prefix = prefix_;
  info.expected_fpr_of_one = 0;
  if (num_keys_ == 0) return info;
  info.bits_per_key = 8 * static_cast<double>(block_.size()) / static_cast<double>(num_keys_);
  if (!is_exact_) {
    info.expected_fpr_of_one = static_cast<double>(num_keys_) / static_cast<double>(universe_);
  }
  return info;
}

}  // namespace winnow::filter
