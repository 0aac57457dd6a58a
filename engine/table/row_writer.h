// Turns changes of rows into updates of the store.
#ifndef WINNOW_ENGINE_TABLE_ROW_WRITER_H_
#define WINNOW_ENGINE_TABLE_ROW_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/table/cell_reader.h"
#include "engine/table/table_batch.h"
#include "engine/table/table_state.h"
#include "engine/table/write_clock.h"
#include "winnow/write_batch.h"

namespace winnow {

// Keys of the store, one behind the other, with none in between that stays.
struct KeyRun {
  // Those of a longer run are deleted as a range: what a write takes does not grow with them.
  static constexpr size_t kMaxKeys = 100;

  std::vector<std::string> keys;  // of a longer run the first ones
  std::string last;               // of a longer run; empty: there is none

  void Add(std::string_view key);
};

// Collects the updates of one batch. The latches of all its rows are held from before it is made
// until they are written, so that what it reads does not change meanwhile; it reads what it has
// collected so far as if it were written.
class RowWriter {
 public:
  // With `reads_changes` updates are kept so that they can be read, which takes memory and time.
  // Only then changes that read (NeedsReads) may be applied.
  RowWriter(DB* db, const WriteClock::Stamp& stamp, bool reads_changes);

  static bool NeedsReads(const TableState& table, const TableChange& change);
  // Of a change that has been checked. Takes one write number.
  absl::Status Apply(const TableState& table, const TableChange& change);
  // Deletes what is no longer there of a column.
  absl::Status CleanColumn(const FamilyState& family, std::string_view row,
                           std::string_view qualifier);

  CellMoment& moment() { return moment_; }
  const WriteBatch& batch() const { return indexed_ ? indexed_->batch() : plain_; }

 private:
  absl::Status Put(const FamilyState& family, const TableChange& change);
  absl::Status PutInCleanColumn(const FamilyState& family, const TableChange& change);
  absl::Status DeleteColumn(const FamilyState& family, const TableChange& change);
  absl::Status DeleteFamily(const FamilyState& family, const TableChange& change);

  uint64_t TimestampOf(const TableChange& change) const {
    return change.timestamp.value_or(now_ms_);
  }
  void MakeKeyOf(const TableChange& change, CellKind kind);  // key_
  absl::Status PutKey(const FamilyState& family, const CellValue& cell);
  absl::Status Delete(const FamilyState& family, const KeyRun& run);
  absl::Status DeleteVersions(const FamilyState& family, const TableChange& change,
                              CellQuery query);

  const uint64_t now_ms_;
  CellMoment moment_;
  uint64_t next_write_number_;
  WriteBatch plain_;
  std::optional<IndexedWriteBatch> indexed_;
  std::string key_;
  std::string value_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_WRITER_H_
