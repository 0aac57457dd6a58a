// What the application filters accept, and the shape that a Bloom filter takes for it.

#ifndef WINNOW_FILTER_DYNAMIC_PARAMETERS_H_
#define WINNOW_FILTER_DYNAMIC_PARAMETERS_H_

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow::filter::internal {

// No filter is larger: far beyond today's memories, and small enough that no size in bits wraps.
inline constexpr uint64_t kMaxFilterBytes = uint64_t{1} << 42;
inline constexpr uint64_t kMaxCapacity = uint64_t{1} << 40;

// ResourceExhausted for `count` elements of `bytes_each`.
absl::Status OutOfMemory(uint64_t count, uint64_t bytes_each);

// InvalidArgument, naming `filter_name`, the value and the range, unless 1 <= capacity <= 2^40 and
// min_fpr <= fpr <= 0.5.
absl::Status CheckCapacityAndFpr(std::string_view filter_name, uint64_t capacity, double fpr,
                                 double min_fpr);

struct BloomShape {
  uint64_t num_bits;  // a multiple of 64
  int num_probes;     // 1 to kMaxBloomProbes
};
inline constexpr int kMaxBloomProbes = 64;
inline constexpr double kMinBloomFpr = 1e-12;

// The smallest shape, within a thousandth, whose BloomFpr for `capacity` keys is at most `fpr`.
// ResourceExhausted beyond kMaxFilterBytes.
absl::StatusOr<BloomShape> ChooseBloomShape(uint64_t capacity, double fpr);

// The number of keys of `num_probes` bits each that leave `ones` of `num_bits` set, most likely
// (Swamidass and Baldi, J. Chem. Inf. Model. 2007). A full filter counts as one with half a bit
// left, since that many keys or more fill it.
double EstimateKeys(double num_bits, double ones, int num_probes);
// The same, rounded, for a filter of `num_slots` bits or counters of which `num_used` are not zero.
uint64_t CountEstimate(uint64_t num_slots, uint64_t num_used, int num_probes);
// The false-positive rate of such a filter: that each probe of an absent key meets a used slot.
double FprOfFill(uint64_t num_slots, uint64_t num_used, int num_probes);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_DYNAMIC_PARAMETERS_H_
