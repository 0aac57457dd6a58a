// MurmurHash3_x64_128 (Austin Appleby, public domain), seed 0.

#include <algorithm>
#include <bit>
#include <cstring>

#include "winnow/filter/guava_bloom_filter.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kMultiplier1 = 0x87c37b91114253d5;
constexpr uint64_t kMultiplier2 = 0x4cf5ad432745937f;

uint64_t LoadLittleEndian(const char* bytes, size_t count) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, count);  // little-endian machines only, as the whole library
  return value;
}

uint64_t MixLow(uint64_t word) { return std::rotl(word * kMultiplier1, 31) * kMultiplier2; }
uint64_t MixHigh(uint64_t word) { return std::rotl(word * kMultiplier2, 33) * kMultiplier1; }

// fmix64 of the original.
uint64_t Finalize(uint64_t hash) {
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

}  // namespace

GuavaHash HashGuavaKey(std::string_view key) {
  uint64_t low = 0;
  uint64_t high = 0;
  std::string_view rest = key;
  // h1 and h2 of the original are `low` and `high`; the multipliers for mixing k1 and k2 change
  // places between the two halves.
  for (; rest.size() >= 16; rest.remove_prefix(16)) {
    low ^= MixLow(LoadLittleEndian(rest.data(), 8));
    low = (std::rotl(low, 27) + high) * 5 + 0x52dce729;
    high ^= MixHigh(LoadLittleEndian(rest.data() + 8, 8));
    high = (std::rotl(high, 31) + low) * 5 + 0x38495ab5;
  }
  // The tail of up to 15 bytes: bytes 8 to 14 go into the high half, the first eight into the low
  // one, each without the rotation and addition of a whole block.
  if (rest.size() > 8) high ^= MixHigh(LoadLittleEndian(rest.data() + 8, rest.size() - 8));
  if (!rest.empty()) low ^= MixLow(LoadLittleEndian(rest.data(), std::min<size_t>(8, rest.size())));
  // The length goes in, so that a key and the same with zero bytes behind it differ although the
  // tail is padded with zeros.
  low ^= key.size();
  high ^= key.size();
  low += high;
  high += low;
  low = Finalize(low);
  high = Finalize(high);
  low += high;
  return {low, high + low};
}

}  // namespace winnow::filter
