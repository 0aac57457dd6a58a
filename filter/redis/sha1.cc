#include "filter/redis/sha1.h"

#include <array>
#include <bit>
#include <cstdint>

#include "absl/strings/str_cat.h"

namespace winnow::filter::redis {
namespace {

using Digest = std::array<uint32_t, 5>;

constexpr size_t kBlockBytes = 64;

uint32_t LoadBigEndianWord(const char* bytes) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i) word = word << 8 | static_cast<uint8_t>(bytes[i]);
  return word;
}

// Section 6.1.2 of the standard.
void AddBlock(const char* block, Digest* digest) {
  std::array<uint32_t, 80> schedule;
  for (size_t t = 0; t < 16; ++t) schedule[t] = LoadBigEndianWord(block + 4 * t);
  for (size_t t = 16; t < 80; ++t) {
    schedule[t] =
        std::rotl(schedule[t - 3] ^ schedule[t - 8] ^ schedule[t - 14] ^ schedule[t - 16], 1);
  }
  auto [a, b, c, d, e] = *digest;
  for (size_t t = 0; t < 80; ++t) {
    // Ch for the first 20 rounds, Maj for the third 20, Parity for the others; section 4.1.1. The
    // constants are of section 4.2.1.
    uint32_t mixed = b ^ c ^ d;
    uint32_t constant = t < 40 ? 0x6ed9eba1 : 0xca62c1d6;
    if (t < 20) {
      mixed = (b & c) | (~b & d);
      constant = 0x5a827999;
    } else if (t >= 40 && t < 60) {
      mixed = (b & c) | (b & d) | (c & d);
      constant = 0x8f1bbcdc;
    }
    const uint32_t next = std::rotl(a, 5) + mixed + e + constant + schedule[t];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const Digest added = {a, b, c, d, e};
  for (size_t i = 0; i < 5; ++i) (*digest)[i] += added[i];
}

}  // namespace

std::string Sha1Digits(std::string_view text) {
  // The text, a one bit, zeros, and its length in bits as eight bytes: a multiple of a block.
  std::string padded(text);
  padded.push_back(static_cast<char>(0x80));
  while (padded.size() % kBlockBytes != kBlockBytes - 8) padded.push_back(0);
  const uint64_t bits = uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) padded.push_back(static_cast<char>(bits >> shift));

  // The initial value of section 5.3.1.
  Digest digest = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (size_t at = 0; at < padded.size(); at += kBlockBytes) AddBlock(padded.data() + at, &digest);
  std::string digits;
  for (const uint32_t word : digest) absl::StrAppend(&digits, absl::Hex(word, absl::kZeroPad8));
  return digits;
}

}  // namespace winnow::filter::redis
