#include "engine/version/false_positive_cache.h"

#include <cstring>

namespace winnow {

// Direct-mapped: each (file, key) has one slot, and a later pair takes it over. No lists, no
// eviction state, nothing to lock; a lost entry costs one block read, and is entered again by it.
FalsePositiveCache::FalsePositiveCache(size_t num_slots)
    : mask_(num_slots - 1), slots_(std::make_unique<Slot[]>(num_slots)) {}

// Padded with zeros. Keys that differ by trailing zeros only are told apart by their length.
FalsePositiveCache::PackedKey FalsePositiveCache::Pack(std::string_view key) {
  PackedKey packed{};
  if (!key.empty()) std::memcpy(packed.data(), key.data(), key.size());
  return packed;
}

// The reader's half of the sequence lock. It reads the version, the fields, and the version again;
// equal and even versions mean that no write fell between, so the fields belong together. Version 0
// is a slot that was never written.
//
// Why "true" can be trusted: the fields that were compared are one (file, key) pair that Add was
// given. What the pair claims cannot become false, because the file never changes and its number is
// never given to another. The hash only chooses the slot.
bool FalsePositiveCache::Contains(uint64_t file_number, uint64_t key_hash,
                                  std::string_view key) const {
  if (key.size() > kMaxKeyBytes) return false;
  const Slot& slot = slots_[SlotOf(file_number, key_hash)];
  const uint32_t version = slot.version.load(std::memory_order_acquire);
  if (version == 0 || (version & 1) != 0) return false;
  if (slot.file_number.load(std::memory_order_acquire) != file_number ||
      slot.key_bytes.load(std::memory_order_acquire) != key.size()) {
    return false;
  }
  const PackedKey packed = Pack(key);
  for (size_t word = 0; word < kKeyWords; word++) {
    // Acquire on each word keeps the version's second load after them.
    if (slot.key[word].load(std::memory_order_acquire) != packed[word]) return false;
  }
  return slot.version.load(std::memory_order_relaxed) == version;
}

// The writer's half: the version becomes odd by compare-and-swap, which also excludes other writers
// of the slot, and even again (by two, so that readers notice) when the fields are complete.
void FalsePositiveCache::Add(uint64_t file_number, uint64_t key_hash, std::string_view key) {
  if (key.size() > kMaxKeyBytes) return;
  Slot& slot = slots_[SlotOf(file_number, key_hash)];
  uint32_t version = slot.version.load(std::memory_order_relaxed);
  if ((version & 1) != 0 ||
      !slot.version.compare_exchange_strong(version, version + 1, std::memory_order_acquire)) {
    return;  // another thread is writing here; forgetting is harmless
  }
  const PackedKey packed = Pack(key);
  // Release on each word: a reader that sees a new word also sees the odd version.
  slot.file_number.store(file_number, std::memory_order_release);
  slot.key_bytes.store(static_cast<uint32_t>(key.size()), std::memory_order_release);
  for (size_t word = 0; word < kKeyWords; word++) {
    slot.key[word].store(packed[word], std::memory_order_release);
  }
  slot.version.store(version + 2, std::memory_order_release);
}

}  // namespace winnow
