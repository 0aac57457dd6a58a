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

namespace winnow {

// Families are added while nobody inserts and with the mutex held, and never taken out: who has a
// handle may use it, and is told that the family has been dropped.
class ColumnFamilySet {
 public:
  using Families = std::map<uint32_t, std::unique_ptr<ColumnFamilyState>>;

  // 0: memtables of all families together have no bound.
  explicit ColumnFamilySet(size_t db_write_buffer_bytes = 0)
      : write_buffers_(std::make_shared<WriteBufferBudget>(db_write_buffer_bytes)) {}

  // What the memtables of families that are to be added count in. Never null.
  const std::shared_ptr<WriteBufferBudget>& write_buffers() const { return write_buffers_; }

  // By id.
  const Families& all() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return families_; }

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

  ColumnFamilyState* Add(std::unique_ptr<ColumnFamilyState> family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex) {
    return Add(NewPlace(std::move(family)));
  }

  // The same in two steps, of which the second asks for no memory.
  using Place = Families::node_type;
  static Place NewPlace(std::unique_ptr<ColumnFamilyState> family) {
    Families one;
    const uint32_t id = family->id();
    one.emplace(id, std::move(family));
    return one.extract(id);
  }
  ColumnFamilyState* Add(Place place)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex) {
    ColumnFamilyState* const family = place.mapped().get();
    family->set_database_number(database_number_);
    families_.insert(std::move(place));
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
  ColumnFamilyState* default_family_ = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_SET_H_
