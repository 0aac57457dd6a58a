// The bits of one key in a Bloom filter: shared by the filter of SSTables and the applications'
// ones. Internal.

#ifndef WINNOW_FILTER_INTERNAL_PROBE_SEQUENCE_H_
#define WINNOW_FILTER_INTERNAL_PROBE_SEQUENCE_H_

#include <cstdint>

#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

// Enhanced double hashing (Dillinger and Manolios, FMCAD 2004) over all 64 bits, so that neither
// the size of the filter nor the number of keys meets a 32-bit limit. The step is a remix of the
// hash. Positions are scaled to the filter by their high bits, so that the term which makes the
// sequence more than an arithmetic progression is added at full scale too. Part of the file
// formats.
class ProbeSequence {
 public:
  // For an array; to be assigned before it is asked.
  ProbeSequence() = default;
  explicit ProbeSequence(uint64_t hash) : ProbeSequence(hash, hash) {}

  // `position` is what is left of `hash` once a shard was chosen.
  ProbeSequence(uint64_t position, uint64_t hash) : position_(position) {
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93;
    hash ^= hash >> 32;
    step_ = hash * 0xd6e8feb86659fd93;
  }

  // What the call number `index` of Next, from 0, returns; of a sequence that Next was not called
  // for. The sums of sums of the increments are tetrahedral numbers.
  uint64_t At(uint64_t index, uint64_t num_bits) const {
    const uint64_t sums = index == 0 ? 0 : (index - 1) * index * (index + 1) / 6;
    return MultiplyHigh(position_ + index * step_ + sums * kIncrement, num_bits);
  }

  // The next bit, below `num_bits`.
  uint64_t Next(uint64_t num_bits) {
    const uint64_t bit = MultiplyHigh(position_, num_bits);
    position_ += step_;
    increment_ += kIncrement;
    step_ += increment_;
    return bit;
  }

 private:
  static constexpr uint64_t kIncrement = 0x9e3779b97f4a7c15;

  uint64_t position_;
  uint64_t step_;
  uint64_t increment_ = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_PROBE_SEQUENCE_H_
