#include "winnow/filter/level_allocation.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// The rates that filter specs allow.
constexpr double kMinFpr = 1e-6;
constexpr double kMaxFpr = 0.5;
constexpr int kBisections = 20;  // to a hundred-thousandth of the logarithm

// One level as the sum sees it.
struct Level {
  double run_keys;    // of one run, relative to the last level
  double total_keys;  // of all its runs
};

// Sizes relative to the last level, which is 1. Entry 0 is level 0, the others are base_level to
// last_level; level 0 is as large as the base level, in kLevelZeroRuns runs.
std::vector<Level> LevelsOf(const TreeShape& shape) {
  std::vector<Level> levels;
  const double base_keys = std::pow(shape.size_ratio, shape.base_level - shape.last_level);
  levels.push_back({base_keys / kLevelZeroRuns, base_keys});
  double keys = base_keys;
  for (int level = shape.base_level; level <= shape.last_level; ++level) {
    levels.push_back({keys, keys});
    keys *= shape.size_ratio;
  }
  return levels;
}

// Held to what specs allow: at the ends levels are no longer proportional, and the budget still
// holds.
double BitsForRate(const FilterSpec& spec, double fpr) {
  const BitsPerKeyRange range = AllowedBitsPerKey(spec);
  const double bits = BitsPerKeyForFpr(spec, std::clamp(fpr, kMinFpr, kMaxFpr));
  return std::clamp(bits, range.min, range.max);
}

// Bits per key of each level if the last level's rate is `last_fpr`.
std::vector<double> BitsAt(const FilterSpec& spec, double last_fpr,
                           const std::vector<Level>& levels) {
  std::vector<double> bits;
  bits.reserve(levels.size());
  for (const Level& level : levels) bits.push_back(BitsForRate(spec, last_fpr * level.run_keys));
  return bits;
}

double TotalBits(const std::vector<double>& bits, const std::vector<Level>& levels) {
  double total = 0;
  for (size_t i = 0; i < bits.size(); ++i) total += bits[i] * levels[i].total_keys;
  return total;
}

}  // namespace

std::vector<double> SpreadBits(const FilterSpec& spec, double uniform_bits,
                               const TreeShape& shape) {
  // One unknown is left, the rate of the last level: every run's rate is that times its share of
  // keys (run_keys), which is where the derivative of the sum of rates by bits is equal for all
  // runs.
  const std::vector<Level> levels = LevelsOf(shape);
  double budget = 0;
  for (const Level& level : levels) budget += uniform_bits * level.total_keys;

  // Bits fall as the rate rises: bisect its logarithm. At the end `high` keeps the budget, unless
  // no rate does.
  double low = std::log(kMinFpr);
  double high = std::log(kMaxFpr);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    const bool fits = TotalBits(BitsAt(spec, std::exp(middle), levels), levels) <= budget;
    (fits ? high : low) = middle;
  }
  const std::vector<double> modelled = BitsAt(spec, std::exp(high), levels);

  std::vector<double> bits(static_cast<size_t>(shape.last_level) + 1, modelled[1]);
  bits[0] = modelled[0];
  std::copy(modelled.begin() + 1, modelled.end(), bits.begin() + shape.base_level);
  return bits;
}

}  // namespace winnow::filter
