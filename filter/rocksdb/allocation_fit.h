// Sizes of filters that leave little of their memory unused, where the table options ask for that
// (BlockBasedTableOptions::optimize_filters_for_memory). Allocators like jemalloc have a few sizes
// only, so that up to a fifth of what a filter lies in would be lost.

#ifndef WINNOW_FILTER_ROCKSDB_ALLOCATION_FIT_H_
#define WINNOW_FILTER_ROCKSDB_ALLOCATION_FIT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace winnow::filter::internal {

// The bytes of an allocation that was asked for `bytes`: what malloc_usable_size says.
size_t AllocatedBytes(size_t bytes);

// Fills allocations up to their end, and makes up for the lower rates with filters that are smaller
// than asked for, so that the mean rate of all filters stays. Thread-safe.
class AllocationFit {
 public:
  explicit AllocationFit(size_t (*allocated_bytes)(size_t) = &AllocatedBytes)
      : allocated_bytes_(allocated_bytes) {}

  // The size to build in place of `bytes`, between three quarters and four thirds of it. `fpr_of`
  // gives the rate of a filter of some size.
  size_t Fit(size_t bytes, const std::function<double(size_t)>& fpr_of) const;

  // Whether the mean rate stays if a filter of `fpr` is built in place of one of `wanted_fpr`.
  bool CanBear(double wanted_fpr, double fpr) const;

  // Takes note of the rate that was built in place of another.
  void Count(double wanted_fpr, double built_fpr);

 private:
  double Credit() const;

  size_t (*const allocated_bytes_)(size_t);
  // The sum of built less wanted rates, in units of 2^-32. A hint that guards no other memory.
  std::atomic<int64_t> balance_{0};
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_ALLOCATION_FIT_H_
