#include "engine/filter_memory/unit_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "engine/filter_memory/filter_plan.h"
#include "winnow/filter/sizing.h"

namespace winnow {

namespace {

constexpr double kStepBits = 0.5;
// Theory for large filters; what few keys add for chance is within the plan's error.
constexpr uint64_t kManyKeys = 1'000'000;

// The rates at kLeastPlannedBits, and at each step from there.
std::vector<double> RatesOf(const filter::FilterSpec& spec) {
  const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
  std::vector<double> rates;
  for (double bits = kLeastPlannedBits; bits <= kMostPlannedBits; bits += kStepBits) {
    const double held = std::clamp(bits, allowed.min, allowed.max);
    rates.push_back(filter::ExpectedFpr(spec, held, kManyKeys));
  }
  return rates;
}

PlannedFilter FilterOf(const PlannedLevel& level, const std::vector<double>& rates) {
  PlannedFilter filter;
  filter.lookups = level.lookups;
  const auto bytes_of = [&](double bits) {
    return static_cast<uint64_t>(std::ceil(level.num_keys * bits / 8));
  };
  filter.steps.push_back({bytes_of(kLeastPlannedBits), rates.front()});
  for (size_t i = 1; i < rates.size(); i++) {
    // Theory's tiny steps upward where the number of probes changes are no reason to stop.
    filter.steps.push_back({bytes_of(kStepBits), std::min(1.0, rates[i] / rates[i - 1])});
  }
  return filter;
}

}  // namespace

std::vector<double> PlanBitsPerKey(std::span<const PlannedLevel> levels, uint64_t budget_bytes) {
  std::map<std::string, std::vector<double>> rates;  // by spec
  std::vector<PlannedFilter> filters;
  for (const PlannedLevel& level : levels) {
    filter::FilterSpec spec = level.spec;
    spec.bits_per_key = 0;
    spec.fpr = 0;
    std::vector<double>& of_spec = rates[filter::ToString(spec)];
    if (of_spec.empty()) of_spec = RatesOf(spec);
    filters.push_back(FilterOf(level, of_spec));
  }
  const FilterPlan plan = PlanFilterMemory(filters, budget_bytes);
  std::vector<double> bits;
  for (const size_t steps : plan.num_resident) {
    const auto further = static_cast<double>(std::max<size_t>(steps, 1) - 1);
    bits.push_back(kLeastPlannedBits + further * kStepBits);
  }
  return bits;
}

std::vector<double> SplitIntoUnits(const filter::FilterSpec& spec, double bits_per_key) {
  const double least = std::max(filter::AllowedBitsPerKey(spec).min, 1.5);
  const double half = bits_per_key / 2;
  if (half < least) return {std::max(bits_per_key, filter::AllowedBitsPerKey(spec).min)};
  if (3 * half > kMostPlannedBits) return {half, half};
  return {half, half, half};
}

}  // namespace winnow
