#include <cstring>

#include "filter/simd/hash_avx512.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {

#if defined(__x86_64__)

namespace {

// HaveSize compares the sizes of eight views in their memory, at even words. libc++ has the size
// second: there keys are hashed one by one.
bool ViewsBeginWithTheirSize() {
  const std::string_view view("size", 4);
  uint64_t first_word;
  std::memcpy(&first_word, &view, sizeof(first_word));
  return first_word == view.size();
}

}  // namespace

// A constant of dynamic initialisation: a program that hashes before it gets the slower way, which
// gives the same hashes.
const bool internal::kHashesByAvx512 = ProcessorHasAvx512() && ViewsBeginWithTheirSize();

namespace {

// Hashes eights of keys, up to the first that are not all as long as the first key. Returns how
// many keys those are.
template <internal::LengthClass kClass>
WINNOW_AVX512 size_t HashByAvx512(const std::string_view* keys, size_t count, uint64_t seed,
                                  uint64_t* hashes) {
  const size_t size = keys[0].size();
  size_t i = 0;
  for (; count - i >= internal::kLanes && internal::HaveSize(keys + i, size);
       i += internal::kLanes) {
    _mm512_storeu_si512(hashes + i, internal::HashEightKeys<kClass>(keys + i, size, seed));
  }
  return i;
}

// The number of keys hashed, from the first on: 0 where this processor or this length has no way.
size_t HashEqualKeys(const std::string_view* keys, size_t count, uint64_t seed, uint64_t* hashes) {
  if (count < internal::kLanes || !internal::kHashesByAvx512) return 0;
  size_t num_hashed = 0;
  internal::VisitLengthClass(keys[0].size(), [&](auto length_class) {
    num_hashed = HashByAvx512<length_class()>(keys, count, seed, hashes);
  });
  return num_hashed;
}

}  // namespace

#endif  // defined(__x86_64__)

void HashKeys(const std::string_view* keys, size_t count, uint64_t seed, uint64_t* hashes) {
  size_t i = 0;
#if defined(__x86_64__)
  i = HashEqualKeys(keys, count, seed, hashes);
#endif
  // What is left: a rest of fewer than eight, or all from the first key of another length on.
  for (; i < count; ++i) hashes[i] = HashKey(keys[i], seed);
}

}  // namespace winnow::filter
