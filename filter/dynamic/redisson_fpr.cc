#include "filter/dynamic/redisson_fpr.h"

#include <bitset>
#include <cmath>

namespace winnow::filter::internal {
namespace {

// The least common multiple of 1 to 10: sizes with the same remainder have the same divisors there.
constexpr uint64_t kDivisors = 2520;
constexpr uint64_t kModelBits = uint64_t{1} << 17;
using ModelBits = std::bitset<kModelBits + kDivisors>;  // 16 KiB: on the stack
constexpr int kAbsentKeys = 1 << 18;

// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) from a fixed start: the same answer each time.
class Hashes {
 public:
  uint64_t Next() {
    state_ += 0x9e3779b97f4a7c15;
    uint64_t word = state_;
    word = (word ^ (word >> 30)) * 0xbf58476d1ce4e5b9;
    word = (word ^ (word >> 27)) * 0x94d049bb133111eb;
    return word ^ (word >> 31);
  }

 private:
  uint64_t state_ = 0;
};

uint64_t ModelSize(uint64_t num_bits) {
  if (num_bits <= kModelBits) return num_bits;
  return kModelBits / kDivisors * kDivisors + num_bits % kDivisors;
}

}  // namespace

double RedissonFprFactor(uint64_t num_bits, int num_probes, double fill) {
  const int num_multiples = num_probes / 2;  // of s
  if (num_multiples < 2 || !(fill > 0 && fill < 1)) return 1;
  const uint64_t model_size = ModelSize(num_bits);
  Hashes hashes;
  ModelBits bits;
  // As many keys as leave that fill. At most 2^17 * ln(2^32) positions, since one bit at least of
  // the filter's 2^32 is not set.
  const double keys = std::ceil(-std::log1p(-fill) * static_cast<double>(model_size) / num_probes);
  for (double i = 0; i < keys; ++i) {
    const uint64_t first = hashes.Next();
    VisitRedissonPositions(first, hashes.Next(), model_size, num_probes, [&](uint64_t position) {
      bits.set(position);
      return true;
    });
  }
  int met = 0;
  for (int i = 0; i < kAbsentKeys; ++i) {
    const uint64_t first = hashes.Next();
    const uint64_t second = hashes.Next();
    int index = 0;
    bool all = true;
    VisitRedissonPositions(first, second, model_size, num_probes, [&](uint64_t position) {
      // The even ones are independent: they are taken as met, which leaves more to count.
      return index++ % 2 == 0 || (all = bits[position]);
    });
    met += all ? 1 : 0;
  }
  if (met == 0) return 1;  // too rare to be measured
  const double model_fill = static_cast<double>(bits.count()) / static_cast<double>(model_size);
  return met / (kAbsentKeys * std::pow(model_fill, num_multiples));
}

}  // namespace winnow::filter::internal
