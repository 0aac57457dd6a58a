#include "engine/filter_memory/unit_split.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "engine/filter_memory/filter_plan.h"
#include "winnow/filter/sizing.h"

namespace winnow {

namespace {

// Whole levels: a step of the deepest one is a large part of a small budget, and what is left in
// front of one that does not fit goes to levels where it saves far less. Fine steps of many levels
// take long to plan, and some of many have a use for what is left.
constexpr double kFineStepBits = 0.125;
constexpr size_t kMostFineLevels = 64;
// With how many bits above kLeastPlannedBits all filters begin, if there is room for that: with
// less on deep levels, for more on others, a quarter of full read a tenth more in vain.
constexpr double kUsualFirstBits = 1;
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

// Of the units that SplitIntoUnits makes, those that all files have where the plan comes true.
std::vector<double> UnitsOfPlan(const filter::FilterSpec& spec, double bits_per_key) {
  std::vector<double> units = SplitIntoUnits(spec, bits_per_key);
  const size_t count = units.size() > 1 && units[0] < bits_per_key ? 2 : 1;
  units.resize(count);
  return units;
}

// A unit that may have so many bits. Fingerprints of whole bits leave the rest of them.
ExpectedUnit UnitOf(const filter::FilterSpec& spec, double bits, uint64_t num_keys) {
  constexpr double kStep = 0.125;
  const double least = filter::AllowedBitsPerKey(spec).min;
  const double rate = RateOfUnit(spec, bits, num_keys);
  while (bits - kStep >= least && RateOfUnit(spec, bits - kStep, num_keys) == rate) bits -= kStep;
  return {bits, rate};
}

// What the units of the plan hold.
struct Held {
  double bits_per_key = 0;
  double num_units = 0;  // of each file

  double BytesOf(const PlannedLevel& level) const {
    return level.num_keys * bits_per_key / 8 + level.num_files * num_units * kBytesOfUnit;
  }
};

Held HeldOf(const filter::FilterSpec& spec, double bits_per_key) {
  Held held;
  if (spec.kind == filter::FilterKind::kNone) return held;
  const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
  for (const double bits : UnitsOfPlan(spec, bits_per_key)) {
    held.bits_per_key += std::clamp(bits, allowed.min, allowed.max);
    held.num_units++;
  }
  return held;
}

// At kLeastPlannedBits, and at each step from there.
struct Curve {
  std::vector<double> rates;
  std::vector<Held> held;
};

Curve CurveOf(const filter::FilterSpec& spec, double step_bits) {
  Curve curve;
  for (double bits = kLeastPlannedBits; bits <= kMostPlannedBits; bits += step_bits) {
    curve.rates.push_back(PlannedFpr(spec, bits, kManyKeys));
    curve.held.push_back(HeldOf(spec, bits));
  }
  return curve;
}

uint64_t BytesAt(const PlannedLevel& level, const Curve& curve, size_t point) {
  return static_cast<uint64_t>(std::ceil(curve.held[point].BytesOf(level)));
}

// A level as a filter that is made in small steps, each of which multiplies the rate: the planner
// spreads bits over levels as it does units over files. The first step leads to the point `first`
// of the curve.
PlannedFilter FilterOf(const PlannedLevel& level, const Curve& curve, size_t first) {
  PlannedFilter filter;
  filter.lookups = level.lookups;
  // A kind that cannot have as few bits takes what it must have: the plan may not spend the
  // difference a second time.
  uint64_t bytes = 0;
  for (size_t i = first; i < curve.rates.size(); i++) {
    const uint64_t until_here = BytesAt(level, curve, i);
    // Theory's tiny steps upward where the number of probes changes are no reason to stop.
    const double rate = i == first ? curve.rates[i] : curve.rates[i] / curve.rates[i - 1];
    filter.steps.push_back({until_here - std::min(until_here, bytes), std::min(1.0, rate)});
    bytes = std::max(bytes, until_here);
  }
  return filter;
}

}  // namespace

BitsPlan PlanBits(std::span<const PlannedLevel> levels, uint64_t budget_bytes, double step_bits) {
  std::map<std::string, Curve> curves;  // by spec
  std::vector<const Curve*> of_levels;
  for (const PlannedLevel& level : levels) {
    filter::FilterSpec spec = level.spec;
    // Families whose specs differ in the amount alone have one curve in common.
    spec.bits_per_key = 0;
    spec.fpr = 0;
    Curve& of_spec = curves[filter::ToString(spec)];
    if (of_spec.rates.empty()) of_spec = CurveOf(spec, step_bits);
    of_levels.push_back(&of_spec);
  }
  const auto fits = [&](size_t point) {
    uint64_t bytes = 0;
    for (size_t i = 0; i < levels.size(); i++) bytes += BytesAt(levels[i], *of_levels[i], point);
    return bytes <= budget_bytes;
  };
  auto first = static_cast<size_t>(kUsualFirstBits / step_bits);
  while (first > 0 && !fits(first)) first--;
  std::vector<PlannedFilter> filters;
  for (size_t i = 0; i < levels.size(); i++) {
    filters.push_back(FilterOf(levels[i], *of_levels[i], first));
  }
  const FilterPlan plan = PlanFilterMemory(filters, budget_bytes);
  BitsPlan bits;
  bits.value_of_byte = plan.value_of_byte;
  for (const size_t steps : plan.num_resident) {
    // Without room for the first step the least is planned all the same: how much of a filter is in
    // memory is decided again once it is written.
    const auto further = static_cast<double>(first + std::max<size_t>(steps, 1) - 1);
    bits.bits_per_key.push_back(kLeastPlannedBits + further * step_bits);
  }
  return bits;
}

std::vector<double> PlanBitsPerKey(std::span<const PlannedLevel> levels, uint64_t budget_bytes) {
  const double step_bits = levels.size() <= kMostFineLevels ? kFineStepBits : kCoarseStepBits;
  return PlanBits(levels, budget_bytes, step_bits).bits_per_key;
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
  double rate = 1;
  for (const double bits : UnitsOfPlan(spec, bits_per_key))
    rate *= RateOfUnit(spec, bits, num_keys);
  return rate;
}

std::vector<ExpectedUnit> ExpectedUnits(const filter::FilterSpec& spec,
                                        const filter::FilterBuildContext& context,
                                        double bits_per_key, uint64_t num_keys) {
  std::vector<ExpectedUnit> units;
  if (spec.kind == filter::FilterKind::kNone) return units;
  const filter::BitsPerKeyRange allowed = filter::AllowedBitsPerKey(spec);
  for (const double bits : SplitIntoUnits(spec, bits_per_key)) {
    filter::FilterSpec of_unit = spec;
    of_unit.bits_per_key = std::clamp(bits, allowed.min, allowed.max);
    of_unit.fpr = 0;
    const filter::FilterSpec chosen = filter::ChooseFilter(of_unit, context, num_keys).spec;
    units.push_back(UnitOf(chosen, of_unit.bits_per_key, num_keys));
  }
  return units;
}

}  // namespace winnow
