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
constexpr int kBisections = 16;  // to a thousandth of the logarithm

// Sizes relative to the last level, which is 1. Entry 0 is level 0, the others are base_level to
// last_level; level 0 is as large as the base level, in kLevelZeroRuns runs.
std::vector<LevelKeys> LevelsOf(const TreeShape& shape) {
  std::vector<LevelKeys> levels;
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

// Bits per key of each level if each run's rate is `fpr_of_a_key` times its keys.
std::vector<double> BitsAt(const FilterSpec& spec, double fpr_of_a_key,
                           const std::vector<LevelKeys>& levels) {
  std::vector<double> bits;
  bits.reserve(levels.size());
  for (const LevelKeys& level : levels) {
    bits.push_back(BitsForRate(spec, fpr_of_a_key * level.run_keys));
  }
  return bits;
}

double TotalBits(const std::vector<double>& bits, const std::vector<LevelKeys>& levels) {
  double total = 0;
  for (size_t i = 0; i < bits.size(); ++i) total += bits[i] * levels[i].total_keys;
  return total;
}

}  // namespace

std::vector<double> SpreadBits(const FilterSpec& spec, double total_bits,
                               const std::vector<LevelKeys>& levels) {
  // One unknown is left: every run's rate is its keys times that, which is where the derivative of
  // the sum of rates by bits is equal for all runs.
  const auto by_run = [](const LevelKeys& a, const LevelKeys& b) {
    return a.run_keys < b.run_keys;
  };
  const auto [least, most] = std::minmax_element(levels.begin(), levels.end(), by_run);
  // Bits fall as the rate rises: bisect its logarithm. At the end `high` keeps the budget, unless
  // no rate does.
  double low = std::log(kMinFpr / most->run_keys);
  double high = std::log(kMaxFpr / least->run_keys);
  for (int i = 0; i < kBisections; ++i) {
    const double middle = (low + high) / 2;
    const bool fits = TotalBits(BitsAt(spec, std::exp(middle), levels), levels) <= total_bits;
    (fits ? high : low) = middle;
  }
  return BitsAt(spec, std::exp(high), levels);
}

std::vector<double> SpreadBits(const FilterSpec& spec, double uniform_bits,
                               const TreeShape& shape) {
  const std::vector<LevelKeys> levels = LevelsOf(shape);
  double total_bits = 0;
  for (const LevelKeys& level : levels) total_bits += uniform_bits * level.total_keys;
  const std::vector<double> modelled = SpreadBits(spec, total_bits, levels);

  std::vector<double> bits(static_cast<size_t>(shape.last_level) + 1, modelled[1]);
  bits[0] = modelled[0];
  std::copy(modelled.begin() + 1, modelled.end(), bits.begin() + shape.base_level);
  return bits;
}

}  // namespace winnow::filter
