// A blocked Bloom filter that many threads may fill and query at once: the memtable's filter.
//
//   ConcurrentBlockedBloom bloom(1 << 20);
//   bloom.Add(HashKey(key, seed));          // before the key itself becomes visible
//   if (!bloom.MayContain(HashKey(other, seed))) return NotFound;

#ifndef WINNOW_FILTER_CONCURRENT_BLOOM_H_
#define WINNOW_FILTER_CONCURRENT_BLOOM_H_

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter {

// All methods may be called from many threads at once, without locks. Accesses are relaxed: a
// reader is sure to see a key that was added before something which that reader has acquired, so
// Add the hash first and then publish the key with a release store.
class ConcurrentBlockedBloom {
 public:
  // `bytes` is rounded up to a multiple of 64, at least 64; `probes` is held to 1 ... 24.
  explicit ConcurrentBlockedBloom(size_t bytes, int probes = 6);

  ConcurrentBlockedBloom(const ConcurrentBlockedBloom&) = delete;
  ConcurrentBlockedBloom& operator=(const ConcurrentBlockedBloom&) = delete;

  void Add(uint64_t key_hash) {
    // All bits of a word at once: it is the atomic operations that take the time.
    std::array<uint64_t, kBlockWords> masks{};
    uint32_t touched = 0;
    for (int probe = 0; probe < probes_; ++probe) {
      const uint32_t bit = internal::BlockBit(key_hash, probe);
      masks[bit >> 6] |= uint64_t{1} << (bit & 63);
      touched |= uint32_t{1} << (bit >> 6);
    }
    Block& block = BlockOf(key_hash);
    // The first without a look: a page that is first read becomes the system's page of zeros, and
    // is then copied by the first write, which interrupts all processors that run the process.
    const auto first = static_cast<size_t>(std::countr_zero(touched));
    block.words[first].fetch_or(masks[first], std::memory_order_relaxed);
    for (touched &= touched - 1; touched != 0; touched &= touched - 1) {
      const auto i = static_cast<size_t>(std::countr_zero(touched));
      // Bits that are set already cost no atomic operation.
      const uint64_t missing = masks[i] & ~block.words[i].load(std::memory_order_relaxed);
      if (missing != 0) block.words[i].fetch_or(missing, std::memory_order_relaxed);
    }
  }

  // False only if no Add of this hash happened before.
  bool MayContain(uint64_t key_hash) const {
    const Block& block = BlockOf(key_hash);
    uint64_t all_set = 1;
    for (int probe = 0; probe < probes_; ++probe) {
      const uint32_t bit = internal::BlockBit(key_hash, probe);
      all_set &= block.words[bit >> 6].load(std::memory_order_relaxed) >> (bit & 63);
    }
    return (all_set & 1) != 0;
  }

  // Asks the processor to fetch the one cache line that Add or MayContain will touch.
  void Prefetch(uint64_t key_hash) const { internal::FetchLine(&BlockOf(key_hash)); }

  size_t memory_bytes() const { return num_blocks_ * sizeof(Block); }
  int probes() const { return probes_; }

 private:
  static constexpr size_t kBlockWords = internal::kBlockBytes / sizeof(uint64_t);
  struct alignas(internal::kBlockBytes) Block {
    std::array<std::atomic<uint64_t>, kBlockWords> words{};
  };
  static_assert(sizeof(Block) == internal::kBlockBytes);

  Block& BlockOf(uint64_t key_hash) const {
    return blocks_[internal::MultiplyHigh(key_hash, num_blocks_)];
  }

  const uint64_t num_blocks_;
  const int probes_;
  const std::shared_ptr<void> memory_;  // never shared; knows how it is given back
  Block* const blocks_;                 // in memory_
};

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_CONCURRENT_BLOOM_H_
