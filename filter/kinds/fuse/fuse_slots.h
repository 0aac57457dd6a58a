// Which slots of a binary fuse filter a key has: shared by building and queries. Part of the file
// format (see FORMAT.md). Internal.

#ifndef WINNOW_FILTER_KINDS_FUSE_FUSE_SLOTS_H_
#define WINNOW_FILTER_KINDS_FUSE_FUSE_SLOTS_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "absl/base/attributes.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kFuseArity = 4;

// What a key's slots in a shard are computed from.
struct FusePlaces {
  uint64_t start_slots;   // the slots of the segments in which a key's first slot may lie
  uint64_t segment_mask;  // the slots of a segment, less one
};

// The slots of one shard: segments of 2^segment_shift slots.
struct FuseShape {
  int segment_shift;
  uint64_t num_slots;

  FusePlaces Places() const {
    const uint64_t segment = uint64_t{1} << segment_shift;
    return {num_slots - (kFuseArity - 1) * segment, segment - 1};
  }
};

// The numbers that a query multiplies by; part of the file format. In memory for the same reason as
// kCuckooFactors.
struct FuseFactors {
  uint64_t slots;
  uint64_t fingerprint;
};
extern const FuseFactors kFuseFactors;

// Calls visit(index, slot) for the key's four slots in its shard. `rest` is what choosing the shard
// left of the hash: the low half of hash * shards. The first slot is chosen by its high bits, so
// that sorted hashes have neighbouring slots; the others lie one segment further each, at a place
// in it that remixed bits choose. (Calls rather than an array: its elements would be written one by
// one and read in pairs, which stalls.)
template <typename Visitor>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void VisitFuseSlots(uint64_t hash, uint64_t rest,
                                                        const FusePlaces& places, Visitor visit) {
  const uint64_t mask = places.segment_mask;
  const uint64_t segment = mask + 1;
  const uint64_t first = MultiplyHigh(rest, places.start_slots);
  const uint64_t mixed = hash * kFuseFactors.slots;
  uint64_t base = first;
  visit(uint8_t{0}, base);
  base += segment;
  visit(uint8_t{1}, base ^ ((mixed >> 46) & mask));
  base += segment;
  visit(uint8_t{2}, base ^ ((mixed >> 28) & mask));
  base += segment;
  visit(uint8_t{3}, base ^ ((mixed >> 10) & mask));
}

// What the contents of a key's slots make together, in its low bits.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline uint64_t FuseFingerprint(uint64_t hash) {
  return ((hash ^ (hash >> 32)) * kFuseFactors.fingerprint) >> 32;
}

// The slots' contents, for slots of kWidth bits, with which the compiler computes what it can; 0 is
// for any width, which is given at run time.
template <int kWidth>
struct FuseContents {
  static constexpr bool kIsWholeBytes = kWidth == 8 || kWidth == 16;

  // What Load loads: no more than what a slot may lie in, so that it is seldom on two lines.
  static constexpr bool kFitsTwoBytes = kWidth != 0 && kWidth + 7 <= 16;
  static constexpr bool kFitsFourBytes = kWidth != 0 && kWidth + 7 <= 32;
  using UpToFourBytes = std::conditional_t<kFitsTwoBytes, uint16_t, uint32_t>;
  using Word = std::conditional_t<kFitsFourBytes, UpToFourBytes, uint64_t>;
  static constexpr size_t kLoadedBytes = sizeof(Word);
  static constexpr bool kIsOftenOnTwoLines = !kIsWholeBytes && kLoadedBytes > 2;

  static constexpr uint64_t Width(uint64_t width) { return kWidth == 0 ? width : kWidth; }

  // A slot's contents in the low bits, what is foreign above them.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static uint64_t Load(const uint8_t* payload, uint64_t slot,
                                                    uint64_t width) {
    if constexpr (kWidth == 8) return payload[slot];
    if constexpr (kWidth == 16) {
      uint16_t contents;
      std::memcpy(&contents, payload + 2 * slot, sizeof(contents));
      return contents;
    }
    const uint64_t bit = slot * Width(width);
    Word word;
    std::memcpy(&word, payload + (bit >> 3), sizeof(word));
    return uint64_t{word} >> (bit & 7);
  }

  // Are the low `width` bits zero?
  ABSL_ATTRIBUTE_ALWAYS_INLINE static bool IsZero(uint64_t contents, uint64_t width) {
    if constexpr (kWidth == 8) return static_cast<uint8_t>(contents) == 0;
    if constexpr (kWidth == 16) return static_cast<uint16_t>(contents) == 0;
    return (contents & ((uint64_t{1} << Width(width)) - 1)) == 0;
  }

  // Writes `contents`, of `width` bits, into a slot that was zero.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static void Store(uint8_t* payload, uint64_t slot, uint64_t width,
                                                 uint64_t contents) {
    if constexpr (kWidth == 8) {
      payload[slot] = static_cast<uint8_t>(contents);
    } else if constexpr (kWidth == 16) {
      const auto low_bits = static_cast<uint16_t>(contents);
      std::memcpy(payload + 2 * slot, &low_bits, sizeof(low_bits));
    } else {
      const uint64_t bit = slot * Width(width);
      uint64_t word;
      std::memcpy(&word, payload + (bit >> 3), sizeof(word));
      word |= contents << (bit & 7);
      std::memcpy(payload + (bit >> 3), &word, sizeof(word));
    }
  }

  // Where Load reads.
  ABSL_ATTRIBUTE_ALWAYS_INLINE static const uint8_t* Place(const uint8_t* payload, uint64_t slot,
                                                           uint64_t width) {
    return payload + slot * Width(width) / 8;
  }
};

// Calls call(FuseContents<...>) with the functions for slots of `width` bits.
template <typename Call>
ABSL_ATTRIBUTE_ALWAYS_INLINE inline auto WithFuseContents(int width, Call call) {
  if (width == 8) return call(FuseContents<8>());
  if (width == 16) return call(FuseContents<16>());
  return call(FuseContents<0>());
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_KINDS_FUSE_FUSE_SLOTS_H_
