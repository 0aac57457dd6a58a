#include "engine/base/checksum.h"

#include <random>

// The packaged xxHash picks AVX2 or AVX-512 when the program runs; elsewhere the plain functions.
#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>
#else
#include <xxhash.h>
#endif

namespace winnow {

uint64_t Checksum(std::string_view data, uint64_t seed) {
  return XXH3_64bits_withSeed(data.data(), data.size(), seed);
}

uint64_t RandomIdentity() {
  std::random_device device;
  for (;;) {
    const uint64_t high = device();
    const uint64_t identity = (high << 32) | device();
    if (identity != 0) return identity;
  }
}

}  // namespace winnow
