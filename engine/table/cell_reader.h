// Reads parts of rows: which keys of the store they are, and as of which moment.
#ifndef WINNOW_ENGINE_TABLE_CELL_READER_H_
#define WINNOW_ENGINE_TABLE_CELL_READER_H_

#include <array>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/db/db_impl.h"
#include "engine/table/family_cursor.h"
#include "engine/table/table_state.h"
#include "engine/table/write_clock.h"
#include "winnow/db.h"
#include "winnow/indexed_write_batch.h"

namespace winnow {

// The clock's part of a moment, and what of the store's part a look-up needs that is one read.
struct PointMoment {
  const Snapshot* snapshot = nullptr;
  // Where the time is not set it is read from the clock when it is first needed, which it seldom
  // is: of one cell, only where it could expire. Whoever needs it reads it before he takes a view
  // of the store: a cell that is renewed in between, and was there all the time, would seem gone.
  WriteClock* clock = nullptr;
  std::optional<uint64_t> time_ms;
  bool fill_cache = true;
  bool verify_checksums = true;

  // By which cells expire.
  uint64_t Now() {
    if (!time_ms.has_value()) time_ms = clock->Now();
    return *time_ms;
  }
};

// A moment of the store, and of the clock.
struct CellMoment : PointMoment {
  DB* db = nullptr;
  // The store with these changes. Null: without any.
  IndexedWriteBatch* changes = nullptr;
  // True: what is read cannot change meanwhile (its row's latch is held), so that no snapshot is
  // needed where it is read in parts.
  bool is_latched = false;
  // Taken where one is needed and none was given.
  std::optional<HeldTime> own_time;
  std::optional<SnapshotGuard> own_snapshot;

  // From here on all reads are of one moment. ResourceExhausted: no memory.
  absl::Status Fix();
  // With `times`, entries that these exclude need not be among those that it shows.
  std::unique_ptr<Iterator> NewIterator(
      const FamilyState& family, std::string_view lower, std::string_view upper,
      const std::optional<KeyTimeBounds>& times = std::nullopt) const;
};

// What a read is of: a family and the columns of it.
struct FamilyQuery {
  const FamilyState* family = nullptr;
  CellQuery cells;
};
// What the query needs of the times of keys, by these rules of its family; unset: all of them.
std::optional<KeyTimeBounds> TimesOf(const CellQuery& query, const FamilyRules& rules);

// The families and columns that are asked for, with their versions and times, in the order of the
// families' names. InvalidArgument, NotFound.
absl::StatusOr<std::vector<FamilyQuery>> PlanRead(const TableState& table,
                                                  const TableReadOptions& options);

// The newest cells of some columns, for look-ups of these alone: the first entry of each decides,
// if nothing hides it and it is no marker.
struct PointCell {
  bool is_there = false;
  uint64_t timestamp = 0;
  std::string_view value;  // in the buffers
};
// So many columns at most are looked up one by one. A cursor walks over more of them in less time.
inline constexpr size_t kMostPointColumns = 16;
// Used again and again it keeps its memory.
struct PointBuffers {
  PointBuffers() {
    for (size_t i = 0; i < kMostPointColumns; i++) firsts[i].component_ends = component_ends[i];
  }
  PointBuffers(const PointBuffers&) = delete;
  PointBuffers& operator=(const PointBuffers&) = delete;

  std::array<std::string_view, kMostPointColumns> qualifiers;  // the caller's
  // Where row and qualifier end in the prefix of each of `firsts`.
  std::array<std::array<size_t, 2>, kMostPointColumns> component_ends;
  std::array<FirstInRange, kMostPointColumns> firsts;  // of the columns
  std::array<DBImpl::FirstAnswer, kMostPointColumns> answers;
  FirstInRange markers;  // of the row
  ReadOptions read;      // of the store
  // What the last look-up came to.
  std::array<PointCell, kMostPointColumns> cells;
  bool are_cells_known = false;  // false: a cursor has to tell, of all of them
  size_t num_taken = 0;          // so many of `firsts`, at most, hold the bytes of entries
};
// Into buffers->cells, in the order of the qualifiers, as of one moment.
absl::Status FindNewestCells(DBImpl& store, PointMoment& moment, const FamilyState& family,
                             std::string_view row, std::span<const std::string_view> qualifiers,
                             PointBuffers* buffers);

// A cursor at the first cell that the query finds in a row. The iterator below has the bounds of
// the row, or of the column if it is a single one, so that filters are asked.
absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenRow(CellMoment& moment, const FamilyState& family,
                                                      std::string_view row, CellQuery query,
                                                      FamilyCursor::GarbageSink garbage = nullptr);
// The same by these rules, which the family had when a longer read began.
absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenRowBy(
    const FamilyRules& rules, CellMoment& moment, const FamilyState& family, std::string_view row,
    CellQuery query, FamilyCursor::GarbageSink garbage = nullptr);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_CELL_READER_H_
