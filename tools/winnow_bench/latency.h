// How long single operations took.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_LATENCY_H_
#define WINNOW_TOOLS_WINNOW_BENCH_LATENCY_H_

#include <array>
#include <cstdint>
#include <string>

namespace winnow::bench {

// A histogram of nanoseconds whose buckets are at most 1/32 wide, relative to their value. Used by
// one thread at a time.
class LatencyHistogram {
 public:
  void Add(uint64_t nanos) {
    buckets_[BucketOf(nanos)]++;
    count_++;
    sum_nanos_ += static_cast<double>(nanos);
    sum_squares_ += static_cast<double>(nanos) * static_cast<double>(nanos);
    if (nanos < min_nanos_) min_nanos_ = nanos;
    if (nanos > max_nanos_) max_nanos_ = nanos;
  }
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  // The time that `fraction` of the operations did not exceed, interpolated inside its bucket.
  double PercentileMicros(double fraction) const;
  double MaxMicros() const { return static_cast<double>(max_nanos_) / 1000; }
  // db_bench's text: count, average, percentiles, and a line for each bucket that is not empty.
  std::string ToString() const;

 private:
  static constexpr int kSubBucketBits = 5;
  static constexpr size_t kSubBuckets = size_t{1} << kSubBucketBits;
  static constexpr size_t kNumBuckets = (64 - kSubBucketBits + 1) * kSubBuckets;

  static size_t BucketOf(uint64_t nanos) {
    if (nanos < kSubBuckets) return nanos;
    const int shift = 63 - __builtin_clzll(nanos) - kSubBucketBits;
    return (static_cast<size_t>(shift) << kSubBucketBits) + (nanos >> shift);
  }
  static double BucketStartNanos(size_t bucket);

  std::array<uint64_t, kNumBuckets> buckets_{};
  uint64_t count_ = 0;
  uint64_t min_nanos_ = UINT64_MAX;
  uint64_t max_nanos_ = 0;
  double sum_nanos_ = 0;
  double sum_squares_ = 0;
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_LATENCY_H_
