// Repeatable pseudo-random numbers: the same seed draws the same numbers on every machine.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_RANDOM_H_
#define WINNOW_TOOLS_WINNOW_BENCH_RANDOM_H_

#include <cstdint>
#include <string_view>

namespace winnow::bench {

// The finalizer of SplitMix64 (Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
// Generators", 2014).
inline uint64_t MixBits(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// `x`, 64 random bits, scaled to [0, n).
inline uint64_t ScaleBelow(uint64_t x, uint64_t n) {
  return static_cast<uint64_t>((static_cast<unsigned __int128>(x) * n) >> 64);
}

// SplitMix64.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() { return MixBits(state_ += 0x9e3779b97f4a7c15ULL); }
  uint64_t Below(uint64_t n) { return ScaleBelow(Next(), n); }               // in [0, n), n > 0
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1p-53; }  // in [0, 1)

 private:
  uint64_t state_;
};

// A seed for the part of a run called `name`, independent of the seeds of other parts.
inline uint64_t DeriveSeed(uint64_t seed, std::string_view name, uint64_t index) {
  uint64_t derived = MixBits(seed + 0x9e3779b97f4a7c15ULL);
  for (char c : name) derived = MixBits(derived ^ static_cast<uint8_t>(c));
  return MixBits(derived + index * 0x9e3779b97f4a7c15ULL);
}

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_RANDOM_H_
