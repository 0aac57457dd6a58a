#include "winnow/filter/sizing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "filter/base/small_memo.h"
#include "filter/kinds/kind.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter {
namespace {

constexpr int kMaxBloomProbes = 64;

// Expected number of keys in a block of a table at `bits_per_key`.
double BlockLoad(double bits_per_key) {
  return static_cast<double>(internal::kBlockBits) / bits_per_key;
}

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
  const double set = 1 - one_zero;
  if (probes < 2) return set;
  // Variance of the share of zero bits after throwing balls into bins.
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

double PoissonBlockedFpr(double mean_load, int probes) {
  return MixOverLoads(std::floor(mean_load), std::numeric_limits<double>::infinity(), probes,
                      [mean_load](double load) { return mean_load / (load + 1); });
}

template <typename FprOfProbes>
int BestProbes(int most, FprOfProbes fpr) {
  int best = 1;
  double best_fpr = fpr(1);
  // The rate first falls and then rises with the probes.
  for (int probes = 2; probes <= most; ++probes) {
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
  const double odds = 1 / (static_cast<double>(num_blocks) - 1);
  const double mode = std::min(keys, std::floor((keys + 1) / static_cast<double>(num_blocks)));
  return MixOverLoads(mode, keys, probes,
                      [keys, odds](double load) { return (keys - load) / (load + 1) * odds; });
}

double CuckooFpr(int fingerprint_bits, double load, uint64_t num_buckets) {
  const double num_fingerprints = std::exp2(fingerprint_bits) - 1;
  const double slots_compared = 8 - 4 / static_cast<double>(std::max<uint64_t>(1, num_buckets));
  // expm1 keeps the digits of rates near 1e-9.
  return -std::expm1(-slots_compared * load / num_fingerprints);
}

int BestBloomProbes(double bits_per_key) {
  constexpr double kManyKeys = 1e6;
  return BestProbes(kMaxBloomProbes, [bits_per_key](int probes) {
    return BloomFpr(bits_per_key * kManyKeys, kManyKeys, probes);
  });
}

int BestBlockedBloomProbes(double bits_per_key) {
  thread_local internal::SmallMemo<double, int> memo;
  return memo.Of(bits_per_key, [bits_per_key] {
    const double load = BlockLoad(bits_per_key);
    return BestProbes(internal::kMaxBlockProbes,
                      [load](int probes) { return PoissonBlockedFpr(load, probes); });
  });
}

namespace {

FilterSpec SpecOfKind(FilterKind kind) {
  FilterSpec spec;
  spec.kind = kind;
  return spec;
}

// What is promised for kAuto is what its choice with the highest rate keeps.
const internal::KindOperations* Promised(const FilterSpec& spec) {
  if (spec.kind == FilterKind::kAuto) return internal::FindKind(FilterKind::kBlockedBloom);
  return internal::FindLayout(spec);
}

}  // namespace

double BitsPerKeyForFpr(FilterKind kind, double fpr) {
  return BitsPerKeyForFpr(SpecOfKind(kind), fpr);
}

double BitsPerKeyForFpr(const FilterSpec& spec, double fpr) {
  const internal::KindOperations* operations = Promised(spec);
  if (operations == nullptr) return 0;
  thread_local internal::SmallMemo<std::pair<const internal::KindOperations*, double>, double> memo;
  return memo.Of({operations, fpr},
                 [operations, fpr] { return operations->bits_per_key_for_fpr(fpr); });
}

double ExpectedFpr(FilterKind kind, double bits_per_key, uint64_t num_keys) {
  return ExpectedFpr(SpecOfKind(kind), bits_per_key, num_keys);
}

double ExpectedFpr(const FilterSpec& spec, double bits_per_key, uint64_t num_keys) {
  const internal::KindOperations* operations = Promised(spec);
  return operations == nullptr ? 1 : operations->expected_fpr(bits_per_key, num_keys);
}

double SpecBitsPerKey(const FilterSpec& spec) {
  if (spec.kind == FilterKind::kNone) return 0;
  if (spec.fpr != 0) return BitsPerKeyForFpr(spec, spec.fpr);
  return spec.bits_per_key != 0 ? spec.bits_per_key : kDefaultBitsPerKey;
}

BitsPerKeyRange AllowedBitsPerKey(FilterKind kind) { return AllowedBitsPerKey(SpecOfKind(kind)); }

BitsPerKeyRange AllowedBitsPerKey(const FilterSpec& spec) {
  // Whatever is chosen must be able to keep to it.
  const internal::KindOperations* operations = spec.kind == FilterKind::kAuto
                                                   ? internal::FindKind(FilterKind::kRibbon)
                                                   : internal::FindLayout(spec);
  return operations == nullptr ? BitsPerKeyRange{0, 0} : operations->bits_per_key;
}

}  // namespace winnow::filter
