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
// What two units may err more than one of their bits.
constexpr double kMostLostBySplit = 1.125;
constexpr double kMostUneven = 1.4;
constexpr double kSplitStepBits = 0.125;

double RateOfUnit(const filter::FilterSpec& spec, double bits, uint64_t num_keys) {
  const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
  return filter::ExpectedFpr(spec, std::clamp(bits, allowed.min, allowed.max), num_keys);
}

// The rates at kLeastPlannedBits, and at each step from there.
std::vector<double> RatesOf(const filter::FilterSpec& spec) {
  std::vector<double> rates;
  for (double bits = kLeastPlannedBits; bits <= kMostPlannedBits; bits += kStepBits) {
    rates.push_back(PlannedFpr(spec, bits, kManyKeys));
  }
  return rates;
}

// A level as a filter that is made in small steps, each of which multiplies the rate: the planner
// spreads bits over levels as it does units over files.
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

BitsPlan PlanBits(std::span<const PlannedLevel> levels, uint64_t budget_bytes) {
  std::map<std::string, std::vector<double>> rates;  // by spec
  std::vector<PlannedFilter> filters;
  for (const PlannedLevel& level : levels) {
    filter::FilterSpec spec = level.spec;
    // Families whose specs differ in the amount alone have one curve in common.
    spec.bits_per_key = 0;
    spec.fpr = 0;
    std::vector<double>& of_spec = rates[filter::ToString(spec)];
    if (of_spec.empty()) of_spec = RatesOf(spec);
    filters.push_back(FilterOf(level, of_spec));
  }
  const FilterPlan plan = PlanFilterMemory(filters, budget_bytes);
  BitsPlan bits;
  bits.value_of_byte = plan.value_of_byte;
  for (const size_t steps : plan.num_resident) {
    // Without room for the first step the least is planned all the same: how much of a filter is in
    // memory is decided again once it is written.
    const auto further = static_cast<double>(std::max<size_t>(steps, 1) - 1);
    bits.bits_per_key.push_back(kLeastPlannedBits + further * kStepBits);
  }
  return bits;
}

std::vector<double> SplitIntoUnits(const filter::FilterSpec& spec, double bits_per_key) {
  const double least = std::max(filter::AllowedBitsPerKey(spec).min, 1.5);
  const double half = bits_per_key / 2;
  // One unit, where two halves would each be less than the kind can have, or hardly a filter.
  if (half < least) return {std::max(bits_per_key, filter::AllowedBitsPerKey(spec).min)};
  const double most_fpr = kMostLostBySplit * RateOfUnit(spec, bits_per_key, kManyKeys);
  std::vector<double> units = {bits_per_key};
  // As near to halves as may be: fingerprints of whole bits seldom come in those.
  for (double first = half; bits_per_key - first >= least && first <= kMostUneven * half;
       first += kSplitStepBits) {
    const double second = bits_per_key - first;
    if (RateOfUnit(spec, first, kManyKeys) * RateOfUnit(spec, second, kManyKeys) <= most_fpr) {
      units = {first, second};
      break;
    }
  }
  // With it the whole has half as many bits again as are planned, and no more than ever are.
  if (3 * half <= kMostPlannedBits) units.push_back(half);
  return units;
}

double PlannedFpr(const filter::FilterSpec& spec, double bits_per_key, uint64_t num_keys) {
  const std::vector<double> units = SplitIntoUnits(spec, bits_per_key);
  double rate = RateOfUnit(spec, units.front(), num_keys);
  // A further one is not part of the plan.
  if (units.size() > 1 && units[0] < bits_per_key) {
    rate *= RateOfUnit(spec, units[1], num_keys);
  }
  return rate;
}

}  // namespace winnow
