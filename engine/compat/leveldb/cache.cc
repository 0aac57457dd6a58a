#include "leveldb/cache.h"

#include <atomic>
#include <list>
#include <string>
#include <unordered_map>

#include "engine/compat/leveldb/conversions.h"
#include "filter/base/mutex.h"

namespace leveldb {

Cache::~Cache() = default;

namespace {

// Invariants, under the mutex:
// 1. index_ names the entries that a look-up finds; an entry that was replaced, erased or dropped
//    lives on, unnamed, until its last handle is released.
// 2. idle_ holds the named entries without handles, the one used longest ago first; only these are
//    dropped to make room.
// 3. charged_ is the sum over the named entries.
class LruCache final : public Cache {
  using Deleter = void (*)(const Slice& key, void* value);

 public:
  // Two caches behind one name: what programs insert, under LevelDB's semantics, and the blocks of
  // databases, under Winnow's. Each has the whole capacity, so that neither can starve the other;
  // together they may take twice as much.
  explicit LruCache(size_t capacity)
      : capacity_(capacity), block_cache_(winnow::NewBlockCache(capacity)) {}

  ~LruCache() override {
    // Only named entries are left: others live by their handles, of which none may be held any
    // more.
    for (auto& [key, entry] : index_) Free(entry);
  }

  Handle* Insert(const Slice& key, void* value, size_t charge, Deleter deleter) override {
    // Born with a handle, the caller's, so that making room cannot take it away before it is
    // returned.
    auto* entry = new Entry(key, value, charge, deleter);
    std::list<Entry*> gone;
    {
      winnow::MutexLock lock(&mutex_);
      Unname(entry->key, &gone);
      // As LevelDB's: a cache without capacity is switched off, and an entry lives until its
      // release.
      if (capacity_ == 0) {
        entry->named = false;  // nothing is kept
      } else {
        index_[entry->key] = entry;
        charged_ += charge;
        MakeRoom(capacity_, &gone);
      }
    }
    FreeAll(gone);
    return entry;
  }

  Handle* Lookup(const Slice& key) override {
    winnow::MutexLock lock(&mutex_);
    const auto found = index_.find(key.ToString());
    if (found == index_.end()) return nullptr;
    Entry* const entry = found->second;
    // An entry in use cannot be dropped, and so has no place among those that are idle.
    if (entry->handles++ == 0) idle_.erase(entry->idle_position);
    return entry;
  }

  void Release(Handle* handle) override {
    auto* const entry = static_cast<Entry*>(handle);
    std::list<Entry*> gone;
    {
      winnow::MutexLock lock(&mutex_);
      // The time of the last release, not of the look-up, is what "used longest ago" goes by. The
      // cache may have grown beyond its capacity while handles were held; here it shrinks again.
      if (--entry->handles > 0) return;
      if (entry->named) {
        entry->idle_position = idle_.insert(idle_.end(), entry);
        MakeRoom(capacity_, &gone);
      } else {
        gone.push_back(entry);
      }
    }
    FreeAll(gone);
  }

  void* Value(Handle* handle) override { return static_cast<Entry*>(handle)->value; }

  void Erase(const Slice& key) override {
    std::list<Entry*> gone;
    {
      winnow::MutexLock lock(&mutex_);
      Unname(key.ToString(), &gone);
    }
    FreeAll(gone);
  }

  // For programs that share a cache: a prefix for the keys of each.
  uint64_t NewId() override { return last_id_.fetch_add(1, std::memory_order_relaxed) + 1; }

  void Prune() override {
    std::list<Entry*> gone;
    {
      winnow::MutexLock lock(&mutex_);
      while (!idle_.empty()) Unname(idle_.front()->key, &gone);
    }
    FreeAll(gone);
  }

  // Both halves, since a program that asks wants to know what the cache costs.
  size_t TotalCharge() const override {
    winnow::MutexLock lock(&mutex_);
    return charged_ + block_cache_->usage_bytes();
  }

  const std::shared_ptr<winnow::BlockCache>& block_cache() const { return block_cache_; }

 private:
  // A handle is the entry itself: as many as are given out point to one object that counts them.
  struct Entry : Handle {
    Entry(const Slice& entry_key, void* entry_value, size_t entry_charge, Deleter entry_deleter)
        : key(entry_key.ToString()),
          value(entry_value),
          charge(entry_charge),
          deleter(entry_deleter) {}
    const std::string key;
    void* const value;
    const size_t charge;
    const Deleter deleter;
    int handles = 1;
    bool named = true;
    std::list<Entry*>::iterator idle_position;  // meaningful while named without handles
  };

  // Takes an entry out of the index; those without handles go to `gone`.
  void Unname(const std::string& key, std::list<Entry*>* gone)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    Entry* const entry = found->second;
    index_.erase(found);
    charged_ -= entry->charge;
    entry->named = false;
    if (entry->handles > 0) return;
    idle_.erase(entry->idle_position);
    gone->push_back(entry);
  }

  void MakeRoom(size_t capacity, std::list<Entry*>* gone) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    while (charged_ > capacity && !idle_.empty()) Unname(idle_.front()->key, gone);
  }

  static void Free(Entry* entry) {
    entry->deleter(entry->key, entry->value);
    delete entry;
  }
  // Without the mutex: deleters may call the cache.
  static void FreeAll(const std::list<Entry*>& entries) {
    for (Entry* entry : entries) Free(entry);
  }

  const size_t capacity_;
  const std::shared_ptr<winnow::BlockCache> block_cache_;
  std::atomic<uint64_t> last_id_{0};
  mutable winnow::Mutex mutex_;
  std::unordered_map<std::string, Entry*> index_ ABSL_GUARDED_BY(mutex_);
  std::list<Entry*> idle_ ABSL_GUARDED_BY(mutex_);
  size_t charged_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace

Cache* NewLRUCache(size_t capacity) { return new LruCache(capacity); }

// A cache of the program's own making cannot hold Winnow's blocks: the answer is then null, and the
// database makes a block cache for itself. A database has a share of the block cache, so that it
// survives a program that deletes the Cache too early.
std::shared_ptr<winnow::BlockCache> BlockCacheOf(Cache* cache) {
  auto* const ours = dynamic_cast<LruCache*>(cache);
  return ours == nullptr ? nullptr : ours->block_cache();
}

}  // namespace leveldb
