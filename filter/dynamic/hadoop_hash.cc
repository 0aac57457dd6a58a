// Hadoop's two hash functions, after org.apache.hadoop.util.hash.

#include <bit>
#include <cstring>

#include "winnow/filter/hadoop_counting_bloom_filter.h"

namespace winnow::filter {
namespace {

uint32_t LoadWord(const char* bytes) {
  uint32_t word;
  std::memcpy(&word, bytes, sizeof(word));  // little-endian machines only, as the whole library
  return word;
}

// As Java widens a byte: -1 for 0xff, whatever char is here.
uint32_t SignExtended(char byte) {
  return static_cast<uint32_t>(static_cast<int32_t>(static_cast<signed char>(byte)));
}

// MurmurHash2 (Austin Appleby, public domain), with the tail's bytes signed.
// The sign extension makes keys whose last bytes are above 0x7f hash otherwise than in the
// original: a fault of the Java code that has become part of the format.
uint32_t Murmur(std::string_view key, uint32_t seed) {
  constexpr uint32_t kMultiplier = 0x5bd1e995;
  uint32_t hash = seed ^ static_cast<uint32_t>(key.size());
  std::string_view rest = key;
  for (; rest.size() >= 4; rest.remove_prefix(4)) {
    uint32_t word = LoadWord(rest.data()) * kMultiplier;
    word = (word ^ (word >> 24)) * kMultiplier;
    hash = (hash * kMultiplier) ^ word;
  }
  // Java counts the tail from the end: the last byte is the lowest.
  if (!rest.empty()) {
    const size_t left = rest.size();
    if (left >= 3) hash ^= SignExtended(rest[left - 3]) << 16;
    if (left >= 2) hash ^= SignExtended(rest[left - 2]) << 8;
    hash = (hash ^ SignExtended(rest[left - 1])) * kMultiplier;
  }
  hash = (hash ^ (hash >> 13)) * kMultiplier;
  return hash ^ (hash >> 15);
}

// lookup3's hashlittle (Bob Jenkins, public domain).
// The steps of mix() and final() are written with two lambdas; their order and rotations are
// Jenkins's and part of the format.
uint32_t Jenkins(std::string_view key, uint32_t seed) {
  // The last block of up to 12 bytes is not mixed by the loop but by the final rounds below, which
  // is why the loop stops at 12 bytes and not at 11.
  uint32_t a = 0xdeadbeef + static_cast<uint32_t>(key.size()) + seed;
  uint32_t b = a;
  uint32_t c = a;
  std::string_view rest = key;
  const auto rotate_in = [](uint32_t& x, uint32_t y, int bits) {
    x = (x - y) ^ std::rotl(y, bits);
  };
  const auto add_words = [&](const char* bytes) {
    a += LoadWord(bytes);
    b += LoadWord(bytes + 4);
    c += LoadWord(bytes + 8);
  };
  for (; rest.size() > 12; rest.remove_prefix(12)) {
    add_words(rest.data());
    rotate_in(a, c, 4), c += b;
    rotate_in(b, a, 6), a += c;
    rotate_in(c, b, 8), b += a;
    rotate_in(a, c, 16), c += b;
    rotate_in(b, a, 19), a += c;
    rotate_in(c, b, 4), b += a;
  }
  // Only for the empty key: a longer one leaves 1 to 12 bytes.
  if (rest.empty()) return c;
  // Bytes behind the key count as zeros: what the original's switch over the length comes to.
  char last[12] = {};
  std::memcpy(last, rest.data(), rest.size());
  add_words(last);
  const auto mix_in = [](uint32_t& x, uint32_t y, int bits) { x = (x ^ y) - std::rotl(y, bits); };
  mix_in(c, b, 14);
  mix_in(a, c, 11);
  mix_in(b, a, 25);
  mix_in(c, b, 16);
  mix_in(a, c, 4);
  mix_in(b, a, 14);
  mix_in(c, b, 24);
  return c;
}

}  // namespace

int32_t HashHadoopKey(HadoopHash hash, std::string_view key, int32_t seed) {
  const auto start = static_cast<uint32_t>(seed);
  return static_cast<int32_t>(hash == HadoopHash::kMurmur ? Murmur(key, start)
                                                          : Jenkins(key, start));
}

}  // namespace winnow::filter
