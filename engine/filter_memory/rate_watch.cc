// Whether a measured rate keeps to the expected one is a test of a binomial sum: of n look-ups,
// each let through with probability p, n p pass on average, with variance n p (1 - p), and for many
// of them the sum is nearly normal. All sums decay alike, so that their ratios are of the last
// minutes.
#include "engine/filter_memory/rate_watch.h"

#include <cmath>
#include <limits>
#include <utility>

namespace winnow {

namespace {

constexpr double kWatchHalfLifeSeconds = 60;
constexpr double kNormalQuantile = 3.29;  // two-sided, 99.9 %
// Of the expected sum: how often each table was asked is known from a sample alone, so that p
// itself is a little off, which no number of look-ups evens out.
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
  // Twice the decay: the variance of a scaled number goes with the square of the scale.
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
  // Both must be few: many passes where hardly any were expected are the very thing to report.
  if (expected_ < kFewestExpected && measured_ < kFewestExpected) return true;
  return std::fabs(measured_ - expected_) <= Tolerance();
}

bool RateWatch::HasJustLeft() {
  const bool is_kept = IsKept();
  // One alert for each time that the rate leaves, not one in every round until it returns.
  return std::exchange(was_kept_, is_kept) && !is_kept;
}

}  // namespace winnow
