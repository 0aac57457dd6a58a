// HighwayHash-128 (Alakuijala, Cox and Wassenberg, 2016) in portable arithmetic, under the key that
// Redisson has.

#include <array>
#include <bit>
#include <cstring>

#include "winnow/filter/redis_bitmap.h"

namespace winnow::filter {
namespace {

using Lanes = std::array<uint64_t, 4>;

constexpr Lanes kRedissonKey = {0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251,
                                0xf86c6a11d0c18e95};
// The authors' initial multipliers; most are digits of pi.
constexpr Lanes kFirstFactors = {0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0, 0x13198a2e03707344,
                                 0x243f6a8885a308d3};
constexpr Lanes kSecondFactors = {0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c, 0xbe5466cf34e90c6c,
                                  0x452821e638d01377};
constexpr size_t kPacketBytes = 32;
// 128-bit results take six rounds; four are for 64 bits and ten for 256.
constexpr int kFinalRounds = 6;

uint64_t LowHalf(uint64_t word) { return word & 0xffffffff; }
uint64_t SwapHalves(uint64_t word) { return std::rotl(word, 32); }

uint64_t Byte(uint64_t word, int i) { return word >> (8 * i) & 0xff; }

// The bytes of two words, dealt out so that each byte of a product meets others in the next round;
// those of high quality, from the middle of the products, go where multiplication needs them.
// The original's portable version does this by masks and shifts; here each byte of the result, the
// lowest first, names where it comes from.
uint64_t ZippedLow(uint64_t odd, uint64_t even) {
  return Byte(even, 3) | Byte(odd, 4) << 8 | Byte(even, 2) << 16 | Byte(even, 5) << 24 |
         Byte(odd, 6) << 32 | Byte(even, 1) << 40 | Byte(odd, 7) << 48 | Byte(even, 0) << 56;
}
uint64_t ZippedHigh(uint64_t odd, uint64_t even) {
  return Byte(odd, 3) | Byte(even, 4) << 8 | Byte(odd, 2) << 16 | Byte(odd, 5) << 24 |
         Byte(odd, 1) << 32 | Byte(even, 6) << 40 | Byte(odd, 0) << 48 | Byte(even, 7) << 56;
}

class HighwayState {
 public:
  // v0, v1 are sums, mul0, mul1 products that are fed back. Only the key makes two states differ at
  // first.
  explicit HighwayState(const Lanes& key) {
    for (size_t i = 0; i < 4; ++i) {
      v0_[i] = kFirstFactors[i] ^ key[i];
      v1_[i] = kSecondFactors[i] ^ SwapHalves(key[i]);
    }
  }

  void Update(const Lanes& packet) {
    for (size_t i = 0; i < 4; ++i) {
      v1_[i] += mul0_[i] + packet[i];
      mul0_[i] ^= LowHalf(v1_[i]) * (v0_[i] >> 32);
      v0_[i] += mul1_[i];
      mul1_[i] ^= LowHalf(v0_[i]) * (v1_[i] >> 32);
    }
    ZipInto(v1_, &v0_);
    ZipInto(v0_, &v1_);
  }

  // The last 1 to 31 bytes: their number goes into the state, and they into a packet whose free
  // bytes are zeros.
  // REQUIRES: 1 to 31 bytes; whole packets went before. Without the length in the state, zeros at a
  // key's end would not count.
  void UpdateRemainder(std::string_view rest) {
    const uint64_t size = rest.size();
    const int rotation = static_cast<int>(size);
    for (size_t i = 0; i < 4; ++i) {
      v0_[i] += (size << 32) + size;
      const auto low = std::rotl(static_cast<uint32_t>(v1_[i]), rotation);
      const auto high = std::rotl(static_cast<uint32_t>(v1_[i] >> 32), rotation);
      v1_[i] = uint64_t{high} << 32 | low;
    }
    char packet[kPacketBytes] = {};
    const size_t whole_words = rest.size() & ~size_t{3};
    const size_t tail = rest.size() & 3;
    std::memcpy(packet, rest.data(), whole_words);
    if ((rest.size() & 16) != 0) {
      // The last four bytes, some of which stand in the packet already.
      std::memcpy(packet + 28, rest.data() + rest.size() - 4, 4);
    } else if (tail != 0) {
      // The first, the middle and the last byte of the 1 to 3 that are left: all of them, some
      // twice, without a branch on their number.
      packet[16] = rest[whole_words];
      packet[17] = rest[whole_words + (tail >> 1)];
      packet[18] = rest[whole_words + tail - 1];
    }
    UpdateBytes(packet);
  }

  void UpdateBytes(const char* bytes) {
    Lanes packet;
    std::memcpy(packet.data(), bytes, kPacketBytes);  // little-endian machines only
    Update(packet);
  }

  // The permutation carries each lane into others before the state is folded into 128 bits.
  RedissonHash Finish() {
    for (int round = 0; round < kFinalRounds; ++round) {
      Update({SwapHalves(v0_[2]), SwapHalves(v0_[3]), SwapHalves(v0_[0]), SwapHalves(v0_[1])});
    }
    return {v0_[0] + mul0_[0] + v1_[2] + mul1_[2], v0_[1] + mul0_[1] + v1_[3] + mul1_[3]};
  }

 private:
  static void ZipInto(const Lanes& from, Lanes* to) {
    for (size_t i = 0; i < 4; i += 2) {
      (*to)[i] += ZippedLow(from[i + 1], from[i]);
      (*to)[i + 1] += ZippedHigh(from[i + 1], from[i]);
    }
  }

  Lanes v0_;
  Lanes v1_;
  Lanes mul0_ = kFirstFactors;
  Lanes mul1_ = kSecondFactors;
};

}  // namespace

RedissonHash HashRedissonKey(std::string_view key) {
  HighwayState state(kRedissonKey);
  // The empty key runs through the final rounds alone, as in the original.
  for (; key.size() >= kPacketBytes; key.remove_prefix(kPacketBytes)) state.UpdateBytes(key.data());
  if (!key.empty()) state.UpdateRemainder(key);
  return state.Finish();
}

}  // namespace winnow::filter
