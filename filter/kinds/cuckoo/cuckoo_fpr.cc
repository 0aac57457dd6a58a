#include <algorithm>
#include <cmath>

#include "winnow/filter/false_positive_rate.h"

namespace winnow::filter {

double CuckooFpr(int fingerprint_bits, double load, uint64_t num_buckets) {
  // Two buckets of four slots, unless both are the same one, as for one key in num_buckets.
  const double num_fingerprints = std::exp2(fingerprint_bits) - 1;
  const double slots_compared = 8 - 4 / static_cast<double>(std::max<uint64_t>(1, num_buckets));
  // expm1 keeps the digits of rates near 1e-9.
  return -std::expm1(-slots_compared * load / num_fingerprints);
}

}  // namespace winnow::filter
