#include <algorithm>
#include <cmath>
#include <limits>

#include "filter/base/small_memo.h"
#include "winnow/filter/false_positive_rate.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter {
namespace {

constexpr int kMaxBloomProbes = 64;

// Expected number of keys in a block of a table at `bits_per_key`.
double BlockLoad(double bits_per_key) {
  return static_cast<double>(internal::kBlockBits) / bits_per_key;
}

// By squaring: std::pow takes several times as long, and sizing a filter calls this often.
double Power(double base, int exponent) {
  double power = 1;
  for (; exponent > 0; exponent >>= 1, base *= base) {
    if ((exponent & 1) != 0) power *= base;
  }
  return power;
}

// The rate of a Bloom filter in which a given bit is zero with the probability `one_zero`, and two
// given bits are with `two_zero`.
double FprOfFill(double num_bits, double one_zero, double two_zero, int probes) {
  // The share of set bits X varies from one set of keys to another. Its mean is `set`, and E[X^k],
  // which is wanted, is more than E[X]^k: to second order E[X]^k + k (k - 1) / 2 * E[X]^(k - 2) *
  // Var[X].
  const double set = 1 - one_zero;
  if (probes < 2) return set;
  // Var[X], from the chances that one and that two given bins stay empty when balls are thrown.
  const double variance =
      std::max(0.0, one_zero / num_bits + (1 - 1 / num_bits) * two_zero - one_zero * one_zero);
  const double curvature = probes * (probes - 1) / 2.0 * variance;
  return std::min(1.0, Power(set, probes - 2) * (set * set + curvature));
}

// The rate of a block of 512 bits, walking from load to load: a key more or less is then only a
// multiplication.
class BlockAtLoad {
 public:
  BlockAtLoad(double load, int probes)
      : probes_(probes),
        one_zero_of_key_(std::exp(probes * std::log1p(-1 / kBits))),
        two_zero_of_key_(std::exp(probes * std::log1p(-2 / kBits))),
        one_zero_(std::pow(one_zero_of_key_, load)),
        two_zero_(std::pow(two_zero_of_key_, load)) {}

  void AddKey() {
    one_zero_ *= one_zero_of_key_;
    two_zero_ *= two_zero_of_key_;
  }
  void RemoveKey() {
    one_zero_ /= one_zero_of_key_;
    two_zero_ /= two_zero_of_key_;
  }
  double fpr() const { return FprOfFill(kBits, one_zero_, two_zero_, probes_); }

 private:
  static constexpr auto kBits = static_cast<double>(internal::kBlockBits);

  int probes_;
  double one_zero_of_key_;  // that one key leaves a given bit zero
  double two_zero_of_key_;
  double one_zero_;
  double two_zero_;
};

// Sums weight(i) * BloomFpr(512, i, probes) over the loads i that matter, with weights that are
// given by the first one and the ratio of neighbours: starts at the mode and walks both ways, so
// that nothing underflows. The weights are normalised.
template <typename RatioUp>
double MixOverLoads(double mode, double max_load, int probes, RatioUp ratio_up) {
  constexpr double kNegligible = 1e-14;
  const BlockAtLoad at_mode(mode, probes);
  double sum = at_mode.fpr();
  double total = 1;
  double weight = 1;
  BlockAtLoad block = at_mode;
  for (double load = mode; load < max_load && weight > kNegligible; ++load) {
    weight *= ratio_up(load);
    block.AddKey();
    sum += weight * block.fpr();
    total += weight;
  }
  weight = 1;
  block = at_mode;
  for (double load = mode; load > 0 && weight > kNegligible; --load) {
    weight /= ratio_up(load - 1);
    block.RemoveKey();
    // An empty block refutes everything, whatever rounding left of it.
    if (load > 1) sum += weight * block.fpr();
    total += weight;
  }
  return sum / total;
}

// For a table of very many blocks, in which the number of keys of a block follows Poisson's law:
// the weights of neighbouring loads i and i + 1 are as 1 to mean_load / (i + 1).
double PoissonBlockedFpr(double mean_load, int probes) {
  return MixOverLoads(std::floor(mean_load), std::numeric_limits<double>::infinity(), probes,
                      [mean_load](double load) { return mean_load / (load + 1); });
}

template <typename FprOfProbes>
int BestProbes(int max_probes, FprOfProbes fpr) {
  int best = 1;
  double best_fpr = fpr(1);
  // More probes refute more, but fill more too.
  // The rate first falls and then rises with the probes.
  for (int probes = 2; probes <= max_probes; ++probes) {
    const double candidate = fpr(probes);
    if (candidate >= best_fpr) break;
    best = probes;
    best_fpr = candidate;
  }
  return best;
}

}  // namespace

double BloomFpr(double num_bits, double num_keys, int probes) {
  if (num_keys <= 0) return 0;
  const double throws = num_keys * probes;
  const double one_zero = std::exp(throws * std::log1p(-1 / num_bits));
  const double two_zero = num_bits > 2 ? std::exp(throws * std::log1p(-2 / num_bits)) : 0;
  return FprOfFill(num_bits, one_zero, two_zero, probes);
}

double BlockedBloomFpr(uint64_t num_blocks, uint64_t num_keys, int probes) {
  if (num_keys == 0 || num_blocks == 0) return 0;
  const auto keys = static_cast<double>(num_keys);
  const double mean_load = keys / static_cast<double>(num_blocks);
  // Beyond a fill of e^-16 short of full the mixture is 1, and its sum would be long.
  if (num_blocks == 1 || mean_load > 16 * static_cast<double>(internal::kBlockBits)) {
    return BloomFpr(static_cast<double>(internal::kBlockBits), mean_load, probes);
  }
  // Binomial weights: of loads i and i + 1 they are as 1 to (n - i) / (i + 1) * p / (1 - p), where
  // p = 1 / num_blocks. The mode is floor((n + 1) p).
  const double odds = 1 / (static_cast<double>(num_blocks) - 1);
  const double mode = std::min(keys, std::floor((keys + 1) / static_cast<double>(num_blocks)));
  return MixOverLoads(mode, keys, probes,
                      [keys, odds](double load) { return (keys - load) / (load + 1) * odds; });
}

int BestBloomProbes(double bits_per_key) {
  // So many that rounding to whole bits and the variance of the fill play no part.
  constexpr double kManyKeys = 1e6;
  return BestProbes(kMaxBloomProbes, [bits_per_key](int probes) {
    return BloomFpr(bits_per_key * kManyKeys, kManyKeys, probes);
  });
}

int BestBlockedBloomProbes(double bits_per_key) {
  // Some microseconds each; a store builds many filters with few different amounts.
  thread_local internal::SmallMemo<double, int> memo;
  return memo.Of(bits_per_key, [bits_per_key] {
    const double load = BlockLoad(bits_per_key);
    return BestProbes(internal::kMaxBlockProbes,
                      [load](int probes) { return PoissonBlockedFpr(load, probes); });
  });
}

}  // namespace winnow::filter
