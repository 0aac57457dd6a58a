// The one checksum of every on-disk format: XXH3-64 with a seed that ties the bytes to the place
// where they belong, so that intact bytes in the wrong file or at the wrong offset fail too.
#ifndef WINNOW_ENGINE_BASE_CHECKSUM_H_
#define WINNOW_ENGINE_BASE_CHECKSUM_H_

#include <cstdint>
#include <string_view>

namespace winnow {

uint64_t Checksum(std::string_view data, uint64_t seed);

// Is the checksum that was found the one that was computed? The only comparison there is, so that a
// fuzzer's build (which defines the macro, as libFuzzer's documentation proposes) can let damaged
// bytes through to the code behind the checksums.
inline bool ChecksumsMatch(uint64_t found, uint64_t computed) {
#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
  return true;
#else
  return found == computed;
#endif
}

// The seed for bytes at `offset` of the file with identity `file_id`.
inline uint64_t ChecksumSeed(uint64_t file_id, uint64_t offset) {
  return (file_id ^ (offset * 0x9e3779b97f4a7c15ULL)) + (offset >> 32);
}

// A random 64-bit number, different in each process and call: file identities, hash seeds.
uint64_t RandomIdentity();

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_CHECKSUM_H_
