#include "engine/filter_memory/rate_watch.h"

#include <cmath>
#include <limits>
#include <utility>

namespace winnow {

namespace {

constexpr double kWatchHalfLifeSeconds = 60;
constexpr double kNormalQuantile = 3.29;  // two-sided, 99.9 %
constexpr double kSampledShare = 0.1;
// Of fewer the law of large numbers says nothing.
constexpr double kFewestExpected = 20;

double Share(double part, double whole) {
  return whole > 0 ? part / whole : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

void RateWatch::Add(double lookups, double false_positives, double expected_fpr, double seconds) {
  const double decay = std::exp2(-seconds / kWatchHalfLifeSeconds);
  lookups_ = lookups_ * decay + lookups;
  measured_ = measured_ * decay + false_positives;
  expected_ = expected_ * decay + lookups * expected_fpr;
  variance_ = variance_ * decay * decay + lookups * expected_fpr * (1 - expected_fpr);
}

double RateWatch::expected_fpr() const { return Share(expected_, lookups_); }
double RateWatch::measured_fpr() const { return Share(measured_, lookups_); }

double RateWatch::Tolerance() const {
  return kNormalQuantile * std::sqrt(variance_) + kSampledShare * expected_;
}

double RateWatch::low() const { return Share(std::fmax(0, expected_ - Tolerance()), lookups_); }
double RateWatch::high() const { return Share(expected_ + Tolerance(), lookups_); }

bool RateWatch::IsKept() const {
  if (expected_ < kFewestExpected && measured_ < kFewestExpected) return true;
  return std::fabs(measured_ - expected_) <= Tolerance();
}

bool RateWatch::HasJustLeft() {
  const bool is_kept = IsKept();
  return std::exchange(was_kept_, is_kept) && !is_kept;
}

}  // namespace winnow
