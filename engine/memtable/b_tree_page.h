// The pages of a memtable's B+-tree (b_tree.h), and their locks.
#ifndef WINNOW_ENGINE_MEMTABLE_B_TREE_PAGE_H_
#define WINNOW_ENGINE_MEMTABLE_B_TREE_PAGE_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/base/thread_annotations.h"

namespace winnow {

// A key and its value, which follow the entry in memory. The list of all entries is in order of
// their internal keys.
class MemtableEntry {
 public:
  MemtableEntry(size_t key_bytes, size_t value_bytes)
      : key_bytes_(static_cast<uint32_t>(key_bytes)),
        value_bytes_(static_cast<uint32_t>(value_bytes)) {}

  std::string_view internal_key() const { return {data(), key_bytes_}; }
  std::string_view value() const { return {data() + key_bytes_, value_bytes_}; }

  char* data() { return reinterpret_cast<char*>(this + 1); }
  const char* data() const { return reinterpret_cast<const char*>(this + 1); }

  // Changes only to a smaller entry (insertion between).
  std::atomic<MemtableEntry*> next{nullptr};

 private:
  const uint32_t key_bytes_;
  const uint32_t value_bytes_;
};

// A lock with a version, for readers that do not lock: what they have read is a moment's state if
// the version was even before and is the same afterwards. All loads and stores of what is read so
// are acquire and release: a load that sees a store also sees the odd version before it.
class ABSL_LOCKABLE VersionLock {
 public:
  // Made locked.
  VersionLock() = default;
  VersionLock(const VersionLock&) = delete;
  VersionLock& operator=(const VersionLock&) = delete;

  uint32_t version() const { return version_.load(std::memory_order_acquire); }
  static bool IsLocked(uint32_t version) { return version % 2 != 0; }
  // False if the page has changed since it had this version, or is locked.
  bool TryLock(uint32_t version) ABSL_EXCLUSIVE_TRYLOCK_FUNCTION(true) {
    return !IsLocked(version) &&
           version_.compare_exchange_strong(version, version + 1, std::memory_order_acquire,
                                            std::memory_order_relaxed);
  }
  void AssertMadeLocked() ABSL_ASSERT_EXCLUSIVE_LOCK() {}
  void Unlock() ABSL_UNLOCK_FUNCTION() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  std::atomic<uint32_t> version_{1};
};

// Unlocks at its end what was locked before.
class ABSL_SCOPED_LOCKABLE VersionLockHold {
 public:
  explicit VersionLockHold(VersionLock* lock) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock) : lock_(lock) {}
  ~VersionLockHold() ABSL_UNLOCK_FUNCTION() { lock_->Unlock(); }
  VersionLockHold(const VersionLockHold&) = delete;
  VersionLockHold& operator=(const VersionLockHold&) = delete;

 private:
  VersionLock* const lock_;
};

// Slots in order: of a leaf one for each entry, of an inner page one for each page below, with the
// first entry below it. Slot 0 is never changed. Every slot below `count` is filled in, also while
// the page changes.
struct BTreePage {
  static constexpr uint32_t kSlots = 30;

  struct Slot {
    uint64_t prefix;
    MemtableEntry* entry;
    BTreePage* child;  // of an inner page
  };

  explicit BTreePage(uint32_t its_level) : level(its_level) {}

  // The slot comes to `place`, and those from there on move up.
  void Insert(uint32_t place, const Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  // The page, which has none, takes those slots of `from` that begin with `begin`.
  void CopyUpper(const BTreePage& from, uint32_t begin) ABSL_EXCLUSIVE_LOCKS_REQUIRED(lock);
  void Prefetch() const {
    // Written out: a line is 64 bytes, and what is behind the slots of a leaf is not its own.
    const char* const bytes = reinterpret_cast<const char*>(this);
    for (size_t offset = 0; offset < sizeof(BTreePage); offset += 64) {
      __builtin_prefetch(bytes + offset);
    }
  }

  VersionLock lock;
  const uint32_t level;  // 0: a leaf
  std::atomic<uint32_t> count{0};
  // All keys that belong here begin with so many bytes in common, and prefixes are the eight after.
  std::atomic<uint32_t> shared_bytes{0};
  // The first entry after those that belong here; null: there is none.
  const MemtableEntry* high ABSL_GUARDED_BY(lock) = nullptr;
  std::array<std::atomic<uint64_t>, kSlots> prefix;
  std::array<std::atomic<MemtableEntry*>, kSlots> entry;
};

struct BTreeInnerPage : BTreePage {
  using BTreePage::BTreePage;
  std::array<std::atomic<BTreePage*>, kSlots> child;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_MEMTABLE_B_TREE_PAGE_H_
