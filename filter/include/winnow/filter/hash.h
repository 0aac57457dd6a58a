// The one hash of a key. Every filter of Winnow takes this 64-bit value and never the key itself,
// so that one look-up hashes once, however many filters it queries.
//
//   uint64_t hash = winnow::filter::HashKey("user/42", database_seed);
//   if (!reader.MayContain(hash)) return absl::NotFoundError("");

#ifndef WINNOW_FILTER_HASH_H_
#define WINNOW_FILTER_HASH_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

// Inlined: a key of 16 bytes then costs a handful of multiplications and no call.
#ifndef XXH_INLINE_ALL
#define XXH_INLINE_ALL
#endif
#include <xxhash.h>

namespace winnow::filter {

// XXH3-64 of `key` under `seed`. Any bytes, any length, the empty key too. The result is the same
// on every machine: it goes into files. Draw the seed at random for each database and keep it
// secret from those who choose keys; they could otherwise prepare keys that saturate its filters.
inline uint64_t HashKey(std::string_view key, uint64_t seed) {
  // Hashing any length is too large for compilers to inline. These lengths are frequent.
  if (key.size() == 16) return XXH3_64bits_withSeed(key.data(), 16, seed);
  if (key.size() == 8) return XXH3_64bits_withSeed(key.data(), 8, seed);
  return XXH3_64bits_withSeed(key.data(), key.size(), seed);
}

// hashes[i] = HashKey(keys[i], seed) for i below `count`. Several times quicker than one by one for
// eight and more keys of one length, 8 or 16 to 32 bytes, where the processor has AVX-512.
void HashKeys(const std::string_view* keys, size_t count, uint64_t seed, uint64_t* hashes);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_HASH_H_
