// The probes of a key inside one 64-byte block: shared by the blocked Bloom filter of SSTables and
// the memtable's. Internal.

#ifndef WINNOW_FILTER_INTERNAL_BLOCK_PROBE_H_
#define WINNOW_FILTER_INTERNAL_BLOCK_PROBE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "winnow/filter/internal/fetch_line.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter::internal {

inline constexpr uint64_t kBlockBytes = 64;
inline constexpr uint64_t kBlockBits = kBlockBytes * 8;
inline constexpr int kMaxBlockProbes = 24;

// Multiplier i is golden^(i+1) mod 2^32, golden = 2^32 / phi made odd. The top nine bits of
// (low hash half * multiplier i) are the i-th bit position: the products do not wait for each
// other, so that eight of them fit one vector multiplication. Part of the file format.
inline constexpr uint32_t kGolden = 0x9e3779b9;

constexpr std::array<uint32_t, kMaxBlockProbes> MakeProbeMultipliers() {
  std::array<uint32_t, kMaxBlockProbes> multipliers{};
  uint32_t power = 1;
  for (uint32_t& multiplier : multipliers) {
    power *= kGolden;
    multiplier = power;
  }
  return multipliers;
}
alignas(32) inline constexpr std::array<uint32_t, kMaxBlockProbes> kProbeMultipliers =
    MakeProbeMultipliers();

// The bit, 0 to 511, that probe `probe` of `hash` means. The block is chosen by the high bits of
// the hash, the bits inside it by the low 32.
inline uint32_t BlockBit(uint64_t hash, int probe) {
  return (static_cast<uint32_t>(hash) * kProbeMultipliers[static_cast<size_t>(probe)]) >> 23;
}

// Does the 64-byte block hold all bits of `hash`? No branch depends on the bits: whether they are
// set is what nobody can predict.
inline bool BlockContainsPortable(const uint8_t* block, uint64_t hash, int probes) {
  uint64_t all_set = 1;
  for (int probe = 0; probe < probes; ++probe) {
    const uint32_t bit = BlockBit(hash, probe);
    uint64_t word;
    std::memcpy(&word, block + (bit >> 6) * sizeof(word), sizeof(word));
    all_set &= word >> (bit & 63);
  }
  return (all_set & 1) != 0;
}

// Asks the processor to fetch a block: both its lines, if it does not begin with one.
inline void PrefetchBlock(const uint8_t* block) {
  FetchLine(block);
  FetchLine(block + kBlockBytes - 1);
}

// The block of a hash, of `num_blocks` at `payload`: chosen by its high bits.
template <typename Byte>
Byte* BlockAt(Byte* payload, uint64_t num_blocks, uint64_t hash) {
  return payload + MultiplyHigh(hash, num_blocks) * kBlockBytes;
}

struct BlockTable {
  const uint8_t* payload;
  uint64_t num_blocks;
  int probes;  // 1 to kMaxBlockProbes

  const uint8_t* BlockOf(uint64_t hash) const { return BlockAt(payload, num_blocks, hash); }
};

struct MutableBlockTable : BlockTable {
  MutableBlockTable(uint8_t* payload_bytes, uint64_t block_count, int probe_count)
      : BlockTable{payload_bytes, block_count, probe_count}, mutable_payload(payload_bytes) {}

  uint8_t* mutable_payload;
};

// contained[i] = does blocks[i] hold hashes[i], 1 or 0.
void BlocksContain(const uint8_t* const* blocks, const uint64_t* hashes, size_t count, int probes,
                   uint8_t* contained);
// Sets the bits of all hashes.
void AddToBlocks(const MutableBlockTable& table, const uint64_t* hashes, size_t count);

// The ways of each, with one result; the functions without suffix choose.
void BlocksContainPortable(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                           int probes, uint8_t* contained);
void AddToBlocksPortable(const MutableBlockTable& table, const uint64_t* hashes, size_t count);
#if defined(__x86_64__)
extern const bool kHasAvx2;
extern const bool kHasAvx512;
extern const bool kHasAvx512Vl;
inline constexpr int kMaxProbesAvx512 = 16;  // of AddToBlocksAvx512
inline constexpr int kMaxProbesOfRound = 8;  // of both ways of AVX-512 to ask
bool BlockContainsAvx2(const uint8_t* block, uint64_t hash, int probes);
// Of at most kMaxProbesOfRound probes.
bool BlockContainsAvx512(const uint8_t* block, uint64_t hash, int probes);
void BlocksContainAvx2(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                       int probes, uint8_t* contained);
void BlocksContainAvx512(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                         int probes, uint8_t* contained);
void AddToBlocksAvx2(const MutableBlockTable& table, const uint64_t* hashes, size_t count);
void AddToBlocksAvx512(const MutableBlockTable& table, const uint64_t* hashes, size_t count);
#elif defined(__aarch64__)
bool BlockContainsNeon(const uint8_t* block, uint64_t hash, int probes);
void BlocksContainNeon(const uint8_t* const* blocks, const uint64_t* hashes, size_t count,
                       int probes, uint8_t* contained);
#endif

inline bool BlockContains(const uint8_t* block, uint64_t hash, int probes) {
#if defined(__x86_64__)
  if (kHasAvx512Vl && probes <= kMaxProbesOfRound) return BlockContainsAvx512(block, hash, probes);
  if (kHasAvx2) return BlockContainsAvx2(block, hash, probes);
#elif defined(__aarch64__)
  return BlockContainsNeon(block, hash, probes);
#endif
  return BlockContainsPortable(block, hash, probes);
}

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_BLOCK_PROBE_H_
