#include "engine/base/checksum.h"

#include <random>

// The packaged xxHash picks AVX2 or AVX-512 when the program runs; elsewhere the plain functions.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#define WINNOW_XXHASH_DISPATCHES
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace winnow {

namespace {

#ifdef WINNOW_XXHASH_DISPATCHES
// xxHash's vector functions, which it uses above this length, return without vzeroupper
// (version 0.8.1). The upper halves of the thread's registers then count as in use, and some
// processors take about 85 ns for each change between SSE and AVX instructions, as each call of
// memcpy makes one, until somebody clears them.
constexpr size_t kLongestWithoutVectors = 240;
const bool kHasAvx = __builtin_cpu_supports("avx") != 0;

__attribute__((target("avx"))) void ClearUpperHalves() { __builtin_ia32_vzeroupper(); }
#endif

}  // namespace

// XXH3-64: at memory speed for blocks, a few nanoseconds for log records, and the seed takes part
// in the whole result, so that a checksum can be bound to a place without hashing the place.
uint64_t Checksum(std::string_view data, uint64_t seed) {
  const uint64_t checksum = XXH3_64bits_withSeed(data.data(), data.size(), seed);
#ifdef WINNOW_XXHASH_DISPATCHES
  if (data.size() > kLongestWithoutVectors && kHasAvx) ClearUpperHalves();
#endif
  return checksum;
}

// The system's generator, not one seeded by time: identities must differ between machines whose
// files may one day meet in a backup. 0 is reserved for "any".
uint64_t RandomIdentity() {
  std::random_device device;
  for (;;) {
    const uint64_t high = device();
    const uint64_t identity = (high << 32) | device();
    if (identity != 0) return identity;
  }
}

}  // namespace winnow
