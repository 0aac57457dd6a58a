#include "tools/winnow_bench/latency.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace winnow::bench {

double LatencyHistogram::BucketStartNanos(size_t bucket) {
  if (bucket < 2 * kSubBuckets) return static_cast<double>(bucket);
  const size_t shift = (bucket >> kSubBucketBits) - 1;
  const size_t mantissa = bucket - (shift << kSubBucketBits);
  return std::ldexp(static_cast<double>(mantissa), static_cast<int>(shift));
}

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kNumBuckets; i++) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  min_nanos_ = std::min(min_nanos_, other.min_nanos_);
  max_nanos_ = std::max(max_nanos_, other.max_nanos_);
  sum_nanos_ += other.sum_nanos_;
  sum_squares_ += other.sum_squares_;
}

double LatencyHistogram::PercentileMicros(double fraction) const {
  if (count_ == 0) return 0;
  const double wanted = fraction * static_cast<double>(count_);
  double before = 0;
  for (size_t i = 0; i < kNumBuckets; i++) {
    const double here = static_cast<double>(buckets_[i]);
    if (here == 0 || before + here < wanted) {
      before += here;
      continue;
    }
    const double start = BucketStartNanos(i);
    const double nanos = start + (BucketStartNanos(i + 1) - start) * (wanted - before) / here;
    return std::clamp(nanos, static_cast<double>(min_nanos_), static_cast<double>(max_nanos_)) /
           1000;
  }
  return MaxMicros();
}

std::string LatencyHistogram::ToString() const {
  const double count = static_cast<double>(std::max<uint64_t>(count_, 1));
  const double mean = sum_nanos_ / count;
  const double variance = std::max(0.0, sum_squares_ / count - mean * mean);
  const double smallest = count_ == 0 ? 0 : static_cast<double>(min_nanos_);
  std::string text = absl::StrFormat("Count: %d Average: %.4f  StdDev: %.2f\n", count_, mean / 1000,
                                     std::sqrt(variance) / 1000);
  absl::StrAppendFormat(&text, "Min: %.3f  Median: %.4f  Max: %.3f\n", smallest / 1000,
                        PercentileMicros(0.5), MaxMicros());
  absl::StrAppendFormat(&text,
                        "Percentiles: P50: %.2f P75: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n",
                        PercentileMicros(0.5), PercentileMicros(0.75), PercentileMicros(0.99),
                        PercentileMicros(0.999), PercentileMicros(0.9999));
  text.append("------------------------------------------------------\n");
  uint64_t before = 0;
  for (size_t i = 0; i < kNumBuckets; i++) {
    if (buckets_[i] == 0) continue;
    before += buckets_[i];
    absl::StrAppendFormat(&text, "[ %9.3f, %9.3f ) %8d %7.3f%% %7.3f%%\n",
                          BucketStartNanos(i) / 1000, BucketStartNanos(i + 1) / 1000, buckets_[i],
                          100.0 * static_cast<double>(buckets_[i]) / count,
                          100.0 * static_cast<double>(before) / count);
  }
  return text;
}

}  // namespace winnow::bench
