// The bytes of a range filter, as FORMAT.md specifies them. This pair of files is the only one that
// knows offsets.

#ifndef WINNOW_FILTER_RANGE_RANGE_FORMAT_H_
#define WINNOW_FILTER_RANGE_RANGE_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "winnow/filter/filter_state.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {

// Bits of the upper halves that one entry of the directory stands for.
inline constexpr uint64_t kDirectoryStride = 1024;
// A low half is at most this long, so that one load of eight bytes holds it at any bit.
inline constexpr uint32_t kMaxLowBits = 48;

// What the header says.
struct RangeHeader {
  uint8_t low_bits = 0;
  bool is_exact = false;
  uint8_t number_bytes = 0;    // of the longest key behind the prefix, at most eight
  uint8_t shortest_bytes = 0;  // of the shortest, at most number_bytes
  uint8_t piece_bits = 0;      // 2^piece_bits numbers keep their order; 0 if exact
  uint64_t num_codes = 0;
  uint64_t universe = 0;  // codes are below it
  uint64_t smallest = 0;  // number of a key
  uint64_t largest = 0;
  uint64_t hash_seed = 0;
  uint32_t prefix_bytes = 0;
};

// Where things lie that follow from the header. All are 0 without codes.
struct RangeLayout {
  uint64_t num_groups = 0;     // of codes with the same upper half
  uint64_t num_high_bits = 0;  // a one for each code, a zero behind each group
  uint64_t directory_at = 0;
  uint64_t high_at = 0;
  uint64_t low_at = 0;
  uint64_t prefix_at = 0;
  uint64_t block_bytes = 0;
};

// False if the fields allow no block of fewer than 2^62 bytes.
bool LayOut(const RangeHeader& header, RangeLayout* layout);

// A block of zeros of the layout's size, with header but without checksum.
std::string MakeUnsealedRangeBlock(const RangeHeader& header, const RangeLayout& layout);
void SealRangeBlock(std::string* block);

// Checks everything: after this no bit of the block leads a reader outside it.
FilterState ParseRangeBlock(std::string_view block, RangeHeader* header, RangeLayout* layout);

// A longer range, in pieces, is "maybe": each piece costs a search, and one is already longer than
// any range of which something is promised.
inline constexpr uint64_t kMostPieces = 16;

// The code of a number: neighbours stay neighbours, but where a piece of 2^piece_bits numbers ends.
// Each piece is turned by an amount of its own. No piece is longer than the universe, so that its
// codes are distinct, and the sum does not overflow below 2^63.
inline uint64_t CodeOfNumber(uint64_t number, uint32_t piece_bits, uint64_t universe,
                             uint64_t hash_seed) {
  const uint64_t piece = number >> piece_bits;
  char bytes[sizeof(piece)];
  for (size_t i = 0; i < sizeof(piece); ++i) bytes[i] = static_cast<char>(piece >> (8 * i));
  const uint64_t hash = HashKey({bytes, sizeof(bytes)}, hash_seed);
  const auto turn = static_cast<uint64_t>((static_cast<unsigned __int128>(hash) * universe) >> 64);
  const uint64_t code = number - (piece << piece_bits) + turn;
  return code < universe ? code : code - universe;
}

// The first `count` bytes, at most eight, as a big-endian number; zeros for those that are missing.
inline uint64_t NumberOfBytes(std::string_view bytes, size_t count) {
  uint64_t number = 0;
  for (size_t i = 0; i < count; ++i) {
    number = number << 8 | (i < bytes.size() ? static_cast<uint8_t>(bytes[i]) : 0);
  }
  return number;
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_RANGE_RANGE_FORMAT_H_
