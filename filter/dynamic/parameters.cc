#include "filter/dynamic/parameters.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "winnow/filter/false_positive_rate.h"

namespace winnow::filter::internal {

absl::Status OutOfMemory(uint64_t count, uint64_t bytes_each) {
  return absl::ResourceExhaustedError(absl::StrCat("no memory for a filter of ", count, " times ",
                                                   bytes_each,
                                                   " bytes; lower the capacity or "
                                                   "accept more false positives"));
}

absl::Status CheckCapacityAndFpr(std::string_view filter_name, uint64_t capacity, double fpr,
                                 double min_fpr) {
  const std::string name(filter_name);
  if (capacity < 1 || capacity > kMaxCapacity) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": capacity must be from 1 to ", kMaxCapacity, " keys, got ", capacity));
  }
  // Written so that NaN is refused too.
  if (!(fpr >= min_fpr && fpr <= 0.5)) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": false-positive rate must be from ", min_fpr, " to 0.5, got ", fpr));
  }
  return absl::OkStatus();
}

// Starts at the textbook's number of bits, n log2(1/p) / ln 2, which is right for an infinite
// filter with a fraction of a probe, and grows by a thousandth until a whole number of probes keeps
// the rate. That takes few steps, as either neighbour of the ideal number of probes is nearly as
// good.
absl::StatusOr<BloomShape> ChooseBloomShape(uint64_t capacity, double fpr) {
  constexpr double kLn2 = 0.6931471805599453;
  const auto keys = static_cast<double>(capacity);
  double bits = std::ceil(-keys * std::log(fpr) / (kLn2 * kLn2));
  // The bound is 2^45 bits: whole numbers below it are exact in a double, and converting them back
  // cannot overflow.
  while (bits <= static_cast<double>(kMaxFilterBytes) * 8) {
    const uint64_t num_bits = (static_cast<uint64_t>(bits) + 63) / 64 * 64;
    const auto rounded = static_cast<double>(num_bits);
    const double probes = rounded / keys * kLn2;
    // By BloomFpr, which counts in the variance of the fill, rather than by the textbook's power:
    // for few keys that one promises too much.
    for (const double candidate : {std::floor(probes), std::ceil(probes)}) {
      const int num_probes =
          static_cast<int>(std::clamp(candidate, 1.0, static_cast<double>(kMaxBloomProbes)));
      if (BloomFpr(rounded, keys, num_probes) <= fpr) return BloomShape{num_bits, num_probes};
    }
    // One bit at least, which the next turn rounds up to another word, so that the loop advances:
    // by a word where filters are small, by a thousandth where they are large.
    bits = rounded + std::max(1.0, rounded / 1024);
  }
  return OutOfMemory(static_cast<uint64_t>(bits / 8), 1);
}

// A key leaves a given slot unused with (1 - 1/m)^k, so that of m slots about m e^(-kn/m) are
// unused after n keys: solved for n.
double EstimateKeys(double num_bits, double ones, int num_probes) {
  // A full filter would give infinity, which no integer has.
  const double zeros = std::max(0.5, num_bits - ones);
  return -num_bits / num_probes * std::log(zeros / num_bits);
}

uint64_t CountEstimate(uint64_t num_slots, uint64_t num_used, int num_probes) {
  return static_cast<uint64_t>(std::llround(
      EstimateKeys(static_cast<double>(num_slots), static_cast<double>(num_used), num_probes)));
}

double FprOfFill(uint64_t num_slots, uint64_t num_used, int num_probes) {
  return std::pow(static_cast<double>(num_used) / static_cast<double>(num_slots), num_probes);
}

}  // namespace winnow::filter::internal
