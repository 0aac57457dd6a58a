#include "tools/winnow_bench/zipfian.h"

#include <algorithm>
#include <cmath>

namespace winnow::bench {
namespace {

// The sum of 1 / i^theta for i = 1 ... n; beyond the first terms, its integral.
double Zeta(uint64_t n, double theta) {
  constexpr uint64_t kExactTerms = 1'000'000;
  const uint64_t exact = std::min(n, kExactTerms);
  double sum = 0;
  for (uint64_t i = 1; i <= exact; i++) sum += std::pow(static_cast<double>(i), -theta);
  if (n > exact) {
    const double power = 1 - theta;
    sum += (std::pow(static_cast<double>(n) + 0.5, power) -
            std::pow(static_cast<double>(exact) + 0.5, power)) /
           power;
  }
  return sum;
}

}  // namespace

Zipfian::Zipfian(uint64_t n, double theta) : n_(n), theta_(theta), zeta_n_(Zeta(n, theta)) {
  alpha_ = 1 / (1 - theta);
  eta_ = (1 - std::pow(2 / static_cast<double>(n), 1 - theta)) / (1 - Zeta(2, theta) / zeta_n_);
}

uint64_t Zipfian::Next(Random& random) const {
  const double u = random.Fraction();
  const double scaled = u * zeta_n_;
  if (scaled < 1 || n_ == 1) return 0;
  if (scaled < 1 + std::pow(0.5, theta_) || n_ == 2) return 1;
  const double rank = static_cast<double>(n_) * std::pow(eta_ * u - eta_ + 1, alpha_);
  return std::min(n_ - 1, static_cast<uint64_t>(rank));
}

}  // namespace winnow::bench
