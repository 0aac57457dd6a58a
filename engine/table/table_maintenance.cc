// Flushing and compacting a table.
#include <limits>
#include <utility>

#include "engine/base/status.h"
#include "engine/table/table_database.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Deletes of one batch: of the garbage that a row has, what is hidden takes no more memory than
// that, however many keys it is.
constexpr uint32_t kGarbageAtOnce = 10'000;

CellQuery Everything() {
  CellQuery query;
  query.max_versions = std::numeric_limits<uint64_t>::max();
  return query;
}

}  // namespace

absl::StatusOr<const TableState*> TableDatabaseImpl::FindState(std::string_view name) {
  // The state outlives the lock, and a drop: it stays until the database is closed.
  const MutexLock lock(&schema_mutex_);
  WINNOW_ASSIGN_OR_RETURN(const Entry* const entry, FindUsableEntry(name));
  return entry->state.get();
}

absl::Status TableDatabaseImpl::Flush(std::string_view table) {
  return CatchOutOfMemory([&]() -> absl::Status {
    // The families as they are at this moment: one that is dropped meanwhile makes the call fail.
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, FindState(table));
    for (const FamilyState* const family : state->families()) {
      WINNOW_RETURN_IF_ERROR(db_->Flush(family->column_family));
    }
    return absl::OkStatus();
  });
}

absl::Status TableDatabaseImpl::MajorCompact(std::string_view table) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, FindState(table));
    // What has expired by now may be forgotten.
    if (auto stamp = clock_->Take(1); !stamp.ok()) return stamp.status();
    for (const FamilyState* const family : state->families()) {
      // What rests on versions whose own time is up no compaction drops (CellCollector): it becomes
      // deletions of the store first.
      if (family->rules->has_cell_ttls()) {
        WINNOW_RETURN_IF_ERROR(CleanFamily(*state, *family, /*is_latched=*/false));
      }
      WINNOW_RETURN_IF_ERROR(db_->CompactRange(family->column_family, std::nullopt, std::nullopt));
    }
    return absl::OkStatus();
  });
}

// Finds the rows that have garbage, without latches, and cleans each with its own, unless all are
// held.
absl::Status TableDatabaseImpl::CleanFamily(const TableState& table, const FamilyState& family,
                                            bool is_latched) {
  CellMoment moment;
  moment.db = db_.get();
  moment.clock = clock_.get();
  // The whole family is read once, which would drive what readers use out of the block cache.
  moment.fill_cache = false;
  // The garbage of a row is met in one piece, so that the row is cleaned when that of another is
  // met, or at the end, and each row once. The iterator keeps the view of its beginning and sees
  // nothing of that.
  std::string dirty_row;  // escaped; empty: none
  absl::Status status;
  const auto clean = [&] {
    // A sink cannot end the walk: after an error it does nothing more.
    if (dirty_row.empty() || !status.ok()) return;
    std::string row;
    AppendUnescaped(dirty_row, &row);
    status = is_latched ? CleanLatchedRow(family, row) : CleanRow(table, family, row);
  };
  const auto note = [&](std::string_view key, FamilyCursor::Garbage) {
    ParsedCellKey parsed;
    if (!ParseCellKey(key, &parsed) || parsed.row == dirty_row) return;
    clean();
    dirty_row.assign(parsed.row);
  };
  FamilyCursor cursor(moment.NewIterator(family, {}, {}), family.rules->Load(), moment.Now(),
                      Everything(), note);
  for (cursor.Seek({}); cursor.Valid() && status.ok(); cursor.Next()) {
  }
  clean();
  return status.ok() ? cursor.status() : status;
}

absl::Status TableDatabaseImpl::CleanRow(const TableState& table, const FamilyState& family,
                                         std::string_view row) {
  const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
  // What is garbage is judged anew under the latch: the row may have changed since it was met.
  return table.is_dropped() ? absl::OkStatus() : CleanLatchedRow(family, row);
}

// Readers come, and the process may end, between two batches: what hides others goes when they are
// gone, at the end of its column, and the markers of the row at the end of the row. That is what
// stays in memory till then: the markers, and the versions of a column whose own time is up.
absl::Status TableDatabaseImpl::CleanLatchedRow(const FamilyState& family, std::string_view row) {
  CellMoment moment;
  moment.db = db_.get();
  moment.is_latched = true;
  moment.clock = clock_.get();
  moment.fill_cache = false;
  std::string escaped;
  AppendEscaped(row, &escaped);
  // From the row's markers to the end of its cells.
  const std::string lower = escaped + std::string(2, '\0');
  WriteBatch batch;
  absl::Status status;
  // A sink cannot end the walk: after an error it does nothing more.
  const auto drop = [&](std::string_view key) {
    if (!status.ok()) return;
    batch.Delete(family.column_family, key);
    if (batch.num_updates() < kGarbageAtOnce) return;
    status = store().WriteAsOwner(WriteOptions(), batch);
    batch.Clear();
  };
  std::vector<std::string> markers_of_row;
  std::vector<std::string> hiding_in_column;
  std::string column;  // its prefix, or that of the row's markers
  const auto end_column = [&] {
    for (const std::string& key : hiding_in_column) drop(key);
    hiding_in_column.clear();
  };
  const auto collect = [&](std::string_view key, FamilyCursor::Garbage garbage) {
    const std::string_view prefix = key.substr(0, key.size() - kCellNumberBytes);
    if (prefix != column) {
      end_column();
      column.assign(prefix);
    }
    if (garbage == FamilyCursor::Garbage::kHidden) return drop(key);
    (prefix == lower ? markers_of_row : hiding_in_column).emplace_back(key);
  };
  FamilyCursor cursor(moment.NewIterator(family, lower, EndOfPrefix(lower)), family.rules->Load(),
                      moment.Now(), Everything(), collect);
  for (cursor.SeekRow(escaped); cursor.Valid() && status.ok(); cursor.Next()) {
  }
  WINNOW_RETURN_IF_ERROR(cursor.status());
  end_column();
  for (const std::string& marker : markers_of_row) drop(marker);
  WINNOW_RETURN_IF_ERROR(status);
  return store().WriteAsOwner(WriteOptions(), batch);
}

}  // namespace winnow
