// Scans: rows of several families side by side.
#ifndef WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_
#define WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/table/cell_reader.h"
#include "engine/table/row_candidates.h"
#include "engine/table/row_filter.h"
#include "engine/table/row_result.h"
#include "winnow/table.h"

namespace winnow {

class TableScanner final : public RowScanner {
 public:
  // The iterators of all families are made as of one moment.
  static absl::StatusOr<std::unique_ptr<RowScanner>> Open(CellMoment moment,
                                                          const TableState& table,
                                                          const ScanOptions& options);
  ~TableScanner() override;

  bool Next(RowResult* row) override;
  absl::Status status() const override { return status_; }

 private:
  struct Family {
    const FamilyState* state;
    std::unique_ptr<FamilyCursor> cursor;  // of the whole scan, or of a row; null: of none yet
  };
  // Instead of a walk over all rows: those that signatures do not rule out, each read by itself, or
  // walked to while they lie close together.
  struct SignedRows {
    CellMoment moment;
    std::unique_ptr<RowCandidates> candidates;
    // Of the whole scan, from its beginning on: they see their moment also when the table has been
    // dropped. Null while the families have them.
    std::vector<std::unique_ptr<FamilyCursor>> walkers;
    // Of the families, in their order; rules as they were when the scan began.
    std::vector<CellQuery> queries;
    std::vector<const FamilyRules*> rules;
    uint64_t num_candidates = 0;
    uint64_t num_found = 0;
    uint64_t asked_before = 0;  // when the last one was found
    int num_near = 0;           // of those since one that was far from the one before
    bool is_walking = false;    // the families have the walkers
    bool is_dropped = false;    // rows cannot be read by themselves any more
  };
  // Of keys; an empty one is none.
  struct Bounds {
    std::string lower;
    std::string upper;
  };
  static Bounds BoundsOf(const ScanOptions& options, const std::optional<RowFilter>& filter);

  explicit TableScanner(const ScanOptions& options)
      : is_reverse_(options.reverse), max_rows_(options.max_rows), max_cells_(options.max_cells) {
    if (options.filter.is_set()) filter_.emplace(options, is_reverse_);
  }

  void UseSignatures(CellMoment moment, std::vector<FamilyQuery> plan,
                     std::unique_ptr<RowCandidates> candidates, const Bounds& bounds);
  // What Next gives. May throw std::bad_alloc.
  bool FindNext(RowResult* row);
  // To the next row; false: there is none, or status_ says why.
  bool FindRow();
  bool FindRowForward();
  bool FindSignedRow();
  absl::Status OpenSignedRow();
  void WalkToSignedRow();
  bool FindRowBackward();
  // False if the filter passes over the row, or over rows up to a further one; the families stand
  // behind them then.
  bool EnterRow();
  void SkipToRange(const ByteRanges::Range& range);
  // Adds cells of row_ from where the families stand; true: there may be more.
  bool Fill(RowResultBuilder* result);
  bool NoteErrors();
  // The commonest scan: forward, whole rows of one family, without a filter.
  bool NextOfOneFamily(RowResult* row);

  const bool is_reverse_;
  const uint64_t max_rows_;
  const size_t max_cells_;
  std::optional<RowFilter> filter_;
  std::vector<Family> families_;
  std::unique_ptr<SignedRows> signed_rows_;  // null: all rows are walked
  std::string row_;                          // escaped
  std::string unescaped_row_;                // for the filter
  bool is_in_row_ = false;
  std::string before_;  // keys of the rows to come are smaller, in reverse
  bool is_at_end_ = false;
  uint64_t num_rows_ = 0;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_
