// The tables of an open database.
#ifndef WINNOW_ENGINE_TABLE_TABLE_STATE_H_
#define WINNOW_ENGINE_TABLE_TABLE_STATE_H_

#include <atomic>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/status.h"
#include "engine/table/family_rules.h"
#include "winnow/table.h"

namespace winnow {

// A family of a table. Lives until the database is closed, as its column family does.
struct FamilyState {
  std::string name;
  ColumnFamily* column_family = nullptr;
  LiveRules* rules = nullptr;
};

// Families in the order of their names.
using FamilyList = std::vector<const FamilyState*>;

class TableState final : public Table {
 public:
  TableState(const TableDatabase* owner, std::string name)
      : owner_(owner), name_(std::move(name)) {}
  ~TableState() override = default;

  const std::string& name() const override { return name_; }
  const TableDatabase* owner() const { return owner_; }

  // Those that the table has now. A list stays until the database is closed, so that it may be used
  // without a lock; only AlterTable makes another.
  const FamilyList& families() const { return *families_.load(std::memory_order_acquire); }
  absl::StatusOr<const FamilyState*> Find(std::string_view family) const {
    for (const FamilyState* const state : families()) {
      if (state->name == family) return state;
    }
    return NoFamily(family);
  }
  bool is_dropped() const { return Condition() == kDropped; }
  bool is_usable() const { return Condition() == kWhole; }
  // Why it is not.
  absl::Status Unusable() const;
  absl::Status NoFamily(std::string_view family) const;

  // Before anybody else knows the table: a column family that its schema names is not there. No
  // call but AlterTable and DropTable may use it then.
  void SetMissing(std::string family) {
    missing_ = std::move(family);
    condition_.store(kIncomplete, std::memory_order_release);
  }
  // All by one thread at a time, while all row latches are held. `list` has one element, made ahead
  // so that this takes no memory.
  void SetFamilies(std::list<FamilyList> list) {
    families_.store(&list.front(), std::memory_order_release);
    lists_.splice(lists_.end(), list);
  }
  void SetWhole() { condition_.store(kWhole, std::memory_order_release); }
  void Drop() { condition_.store(kDropped, std::memory_order_release); }

 private:
  enum : uint8_t { kWhole, kIncomplete, kDropped };
  uint8_t Condition() const { return condition_.load(std::memory_order_acquire); }

  const TableDatabase* const owner_;
  const std::string name_;
  std::list<FamilyList> lists_;
  std::atomic<const FamilyList*> families_{nullptr};
  std::string missing_;  // of the families, the first that was when the database was opened
  std::atomic<uint8_t> condition_{kWhole};
};

// Why CheckTable does not give it.
absl::Status TableError(const TableState* table, const TableDatabase* owner);
// The table, if it is one of this database, has not been dropped and has all its column families.
inline absl::StatusOr<const TableState*> CheckTable(const Table* table,
                                                    const TableDatabase* owner) {
  const auto* const state = static_cast<const TableState*>(table);
  if (state == nullptr || state->owner() != owner || !state->is_usable()) [[unlikely]]
    return TableError(state, owner);
  return state;
}

absl::Status RowError(std::string_view row);
absl::Status QualifierError(std::string_view qualifier);
// Limits of what a call is given.
inline absl::Status CheckRow(std::string_view row) {
  if (row.empty() || row.size() > kMaxRowBytes) [[unlikely]]
    return RowError(row);
  return absl::OkStatus();
}
inline absl::Status CheckQualifier(std::string_view qualifier) {
  if (qualifier.size() > kMaxQualifierBytes) [[unlikely]]
    return QualifierError(qualifier);
  return absl::OkStatus();
}
absl::Status CheckCellBytes(std::string_view value, size_t limit);
absl::Status CheckTimestamp(uint64_t timestamp);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_STATE_H_
