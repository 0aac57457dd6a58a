// Flushing and compacting a table.
#include <limits>
#include <utility>

#include "engine/base/status.h"
#include "engine/table/table_database.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Deletes of one batch: what a row has of garbage takes no more memory than that.
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
  // The families as they are at this moment: one that is dropped meanwhile makes the call fail.
  WINNOW_ASSIGN_OR_RETURN(const TableState* const state, FindState(table));
  for (const FamilyState* const family : state->families()) {
    WINNOW_RETURN_IF_ERROR(db_->Flush(family->column_family));
  }
  return absl::OkStatus();
}

absl::Status TableDatabaseImpl::MajorCompact(std::string_view table) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, FindState(table));
    // What has expired by now may be forgotten.
    if (auto stamp = clock_->Take(1); !stamp.ok()) return stamp.status();
    // First garbage becomes deletions of the store; then the compaction drops both.
    for (const FamilyState* const family : state->families()) {
      WINNOW_RETURN_IF_ERROR(CleanFamily(*state, *family, /*is_latched=*/false));
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
  moment.now_ms = clock_->Now();
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
  const auto note = [&](std::string_view key, CellKind) {
    ParsedCellKey parsed;
    if (!ParseCellKey(key, &parsed) || parsed.row == dirty_row) return;
    clean();
    dirty_row.assign(parsed.row);
  };
  FamilyCursor cursor(moment.NewIterator(family, {}, {}), family.rules->Load(), moment.now_ms,
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

// Markers go last: until all that they hide is gone, they hide it.
absl::Status TableDatabaseImpl::CleanLatchedRow(const FamilyState& family, std::string_view row) {
  CellMoment moment;
  moment.db = db_.get();
  moment.is_latched = true;
  moment.now_ms = clock_->Now();
  moment.fill_cache = false;
  std::string escaped;
  AppendEscaped(row, &escaped);
  // From the row's markers to the end of its cells.
  const std::string lower = escaped + std::string(2, '\0');
  WriteBatch batch;
  std::vector<std::string> markers;
  absl::Status status;
  const auto collect = [&](std::string_view key, CellKind kind) {
    if (kind == CellKind::kMarker) {
      markers.emplace_back(key);
      return;
    }
    // The row may have any number of keys: bounding the deletions bounds the batch.
    batch.Delete(family.column_family, key);
    if (batch.num_updates() < kGarbageAtOnce || !status.ok()) return;
    status = store().WriteAsOwner(WriteOptions(), batch);
    batch.Clear();
  };
  FamilyCursor cursor(moment.NewIterator(family, lower, EndOfPrefix(lower)), family.rules->Load(),
                      moment.now_ms, Everything(), collect);
  for (cursor.SeekRow(escaped); cursor.Valid() && status.ok(); cursor.Next()) {
  }
  WINNOW_RETURN_IF_ERROR(status);
  WINNOW_RETURN_IF_ERROR(cursor.status());
  for (const std::string& marker : markers) batch.Delete(family.column_family, marker);
  return store().WriteAsOwner(WriteOptions(), batch);
}

}  // namespace winnow
