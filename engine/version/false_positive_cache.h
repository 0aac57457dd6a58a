// A cache of false positives: keys that a file's filter let through and the file does not hold.
//
// An SSTable never changes, so "file F holds no version of key K" stays true for as long as F
// lives, whatever the snapshot. A missing key that is looked up again and again therefore costs one
// read, not one a query (the idea of adaptive filters, Bender et al., FOCS 2018, without touching
// the filter).
#ifndef WINNOW_ENGINE_VERSION_FALSE_POSITIVE_CACHE_H_
#define WINNOW_ENGINE_VERSION_FALSE_POSITIVE_CACHE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

namespace winnow {

// Thread-safe, lock-free, of fixed size; old entries are overwritten. The whole key is compared,
// not its hash: a collision must never hide a key. Keys over kMaxKeyBytes are not entered.
class FalsePositiveCache {
 public:
  static constexpr size_t kMaxKeyBytes = 40;

  // `num_slots` is a power of two.
  explicit FalsePositiveCache(size_t num_slots = 4096);

  // File numbers are never reused within a database, so entries of removed files are dead weight
  // that is overwritten in time.
  bool Contains(uint64_t file_number, uint64_t key_hash, std::string_view key) const;
  // Prefetches what Contains reads.
  void Prefetch(uint64_t file_number, uint64_t key_hash) const {
    __builtin_prefetch(&slots_[SlotOf(file_number, key_hash)]);
  }
  void Add(uint64_t file_number, uint64_t key_hash, std::string_view key);

 private:
  static constexpr size_t kKeyWords = kMaxKeyBytes / sizeof(uint64_t);
  // A sequence lock (Lamport 1977): odd while being written, changed by each write.
  struct alignas(64) Slot {
    std::atomic<uint32_t> version{0};
    std::atomic<uint32_t> key_bytes{0};
    std::atomic<uint64_t> file_number{0};
    std::array<std::atomic<uint64_t>, kKeyWords> key{};
  };
  using PackedKey = std::array<uint64_t, kKeyWords>;
  static PackedKey Pack(std::string_view key);
  // The file takes part, since one absent key may be a false positive in several levels.
  size_t SlotOf(uint64_t file_number, uint64_t key_hash) const {
    return static_cast<size_t>((key_hash ^ (file_number * 0x9e3779b97f4a7c15ULL)) >> 7) & mask_;
  }

  const size_t mask_;
  const std::unique_ptr<Slot[]> slots_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FALSE_POSITIVE_CACHE_H_
