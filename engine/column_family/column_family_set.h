// The column families of an open database.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_SET_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_SET_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "engine/base/capabilities.h"
#include "engine/column_family/column_family_state.h"
#include "filter/base/mutex.h"

namespace winnow {

// Families are added while nobody inserts and with the mutex held, and never taken out: who has a
// handle may use it, and is told that the family has been dropped.
class ColumnFamilySet {
 public:
  using Families = std::map<uint32_t, std::unique_ptr<ColumnFamilyState>>;
  using ById = std::map<uint32_t, ColumnFamilyState*>;

  // 0: memtables of all families together have no bound.
  explicit ColumnFamilySet(size_t db_write_buffer_bytes = 0)
      : write_buffers_(std::make_shared<WriteBufferBudget>(db_write_buffer_bytes)) {}

  // What the memtables of families that are to be added count in. Never null.
  const std::shared_ptr<WriteBufferBudget>& write_buffers() const { return write_buffers_; }

  // By id, those that have been dropped included: to be walked through only where none can have
  // been.
  const Families& all() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return families_; }
  // Without those whose drop is durable, of which there may be any number.
  const ById& live() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return live_; }
  // Those whose drop is durable, and of which something may be left for readers.
  const ById& leaving() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return leaving_; }

  // From one to the other, and out of that. Takes no memory.
  void NoteDropped(const ColumnFamilyState& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    leaving_.insert(live_.extract(family.id()));
    MutexLock lock(&ttl_mutex_);
    ttl_.erase(family.id());
  }
  void NoteLeft(const ColumnFamilyState& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    leaving_.erase(family.id());
  }

  // Which of all databases that this process has opened so far this is.
  uint64_t database_number() const { return database_number_; }

  // The family "default"; immutable once the database is open.
  ColumnFamilyState* default_family() const { return default_family_; }

  // For those who insert, without the mutex, which is not needed: see above. Null if there is no
  // such family or it has been dropped.
  ColumnFamilyState* FindForWrite(uint32_t id) const
      ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (id == 0) return default_family_;
    const auto family = families_.find(id);
    if (family == families_.end() || family->second->is_dropped()) return nullptr;
    return family->second.get();
  }
  // The same for the leader, beside whom nobody else can come to hold memtable_insertion alone.
  ColumnFamilyState* FindForLeader(uint32_t id) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return FindForWrite(id);
  }

  // Some family has a time to live, or had one since the database was opened. Relaxed: who writes
  // to a family learned of it in some way that brings this along.
  bool any_has_ttl() const { return any_has_ttl_.load(std::memory_order_relaxed); }
  // The same of a time to live, or of keys whose owner says when they die.
  bool any_may_expire() const {
    return any_has_ttl() || any_has_key_lifetimes_.load(std::memory_order_relaxed);
  }
  void NoteKeyLifetimes() { any_has_key_lifetimes_.store(true, std::memory_order_relaxed); }
  // Of the family with this id; off if there is none. For those who hold no lock.
  TimeToLive TtlOf(uint32_t id) const ABSL_LOCKS_EXCLUDED(ttl_mutex_) {
    if (id == 0) return default_family_->ttl();
    MutexLock lock(&ttl_mutex_);
    const auto found = ttl_.find(id);
    return found == ttl_.end() ? TimeToLive() : found->second;
  }

  // Another time to live for a family. `place` has one entry for it, so that this takes no memory.
  using TtlPlace = std::map<uint32_t, TimeToLive>::node_type;
  static TtlPlace NewTtlPlace(uint32_t id) {
    std::map<uint32_t, TimeToLive> one{{id, TimeToLive()}};
    return one.extract(id);
  }
  void ChangeTtl(ColumnFamilyState* family, uint64_t micros, TtlPlace place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    MutexLock lock(&ttl_mutex_);
    family->ChangeTtl(micros);
    ttl_.insert(std::move(place)).position->second = family->ttl();
    if (micros != 0) any_has_ttl_.store(true, std::memory_order_relaxed);
  }

  ColumnFamilyState* Add(std::unique_ptr<ColumnFamilyState> family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex) {
    return Add(NewPlace(std::move(family)));
  }

  // The same in two steps, of which the second asks for no memory.
  struct Place {
    Families::node_type family;
    ById::node_type live;
    std::map<uint32_t, TimeToLive>::node_type ttl;  // empty: it has none
  };
  static Place NewPlace(std::unique_ptr<ColumnFamilyState> family) {
    const uint32_t id = family->id();
    Place place;
    if (family->ttl().is_on()) {
      std::map<uint32_t, TimeToLive> one{{id, family->ttl()}};
      place.ttl = one.extract(id);
    }
    ById live{{id, family.get()}};
    place.live = live.extract(id);
    Families one;
    one.emplace(id, std::move(family));
    place.family = one.extract(id);
    return place;
  }
  ColumnFamilyState* Add(Place place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex) {
    ColumnFamilyState* const family = place.family.mapped().get();
    family->set_database_number(database_number_);
    if (!place.ttl.empty()) {
      MutexLock lock(&ttl_mutex_);
      ttl_.insert(std::move(place.ttl));
      any_has_ttl_.store(true, std::memory_order_relaxed);
    }
    families_.insert(std::move(place.family));
    live_.insert(std::move(place.live));
    if (family->id() == 0) default_family_ = family;
    return family;
  }

 private:
  // Not an address, which a later database may get again. Relaxed: numbers need only differ.
  static uint64_t NextDatabaseNumber() {
    static std::atomic<uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;
  }

  const uint64_t database_number_ = NextDatabaseNumber();
  const std::shared_ptr<WriteBufferBudget> write_buffers_;
  Families families_ ABSL_GUARDED_BY(database_mutex);
  ById live_ ABSL_GUARDED_BY(database_mutex);
  ById leaving_ ABSL_GUARDED_BY(database_mutex);
  ColumnFamilyState* default_family_ = nullptr;
  std::atomic<bool> any_has_ttl_{false};
  std::atomic<bool> any_has_key_lifetimes_{false};
  mutable Mutex ttl_mutex_;
  std::map<uint32_t, TimeToLive> ttl_ ABSL_GUARDED_BY(ttl_mutex_);  // of families that have one
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_SET_H_
