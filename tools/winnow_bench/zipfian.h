// Skewed choice of keys: a few are asked for much more often than the rest.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_ZIPFIAN_H_
#define WINNOW_TOOLS_WINNOW_BENCH_ZIPFIAN_H_

#include <cstdint>

#include "tools/winnow_bench/random.h"

namespace winnow::bench {

// Ranks 0, 1, ... n - 1, rank r with a probability proportional to 1 / (r + 1)^theta, by the
// approximation of Gray et al., "Quickly Generating Billion-Record Synthetic Databases" (1994).
class Zipfian {
 public:
  static constexpr double kYcsbTheta = 0.99;

  // Takes time proportional to `n` > 0; theta is below 1.
  explicit Zipfian(uint64_t n, double theta = kYcsbTheta);

  uint64_t Next(Random& random) const;
  // The same, with the popular ranks scattered over [0, n).
  uint64_t NextScattered(Random& random) const { return ScaleBelow(MixBits(Next(random) + 1), n_); }

 private:
  uint64_t n_;
  double theta_;
  double zeta_n_;
  double alpha_;
  double eta_;
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_ZIPFIAN_H_
