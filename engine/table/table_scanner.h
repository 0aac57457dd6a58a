// Scans: rows of several families side by side.
#ifndef WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_
#define WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/table/cell_reader.h"
#include "engine/table/row_result.h"
#include "winnow/table.h"

namespace winnow {

class TableScanner final : public RowScanner {
 public:
  // The iterators of all families are made as of one moment.
  static absl::StatusOr<std::unique_ptr<RowScanner>> Open(CellMoment moment,
                                                          const TableState& table,
                                                          const ScanOptions& options);

  bool Next(RowResult* row) override;
  absl::Status status() const override { return status_; }

 private:
  struct Family {
    const FamilyState* state;
    std::unique_ptr<FamilyCursor> cursor;
  };
  // Of keys; an empty one is none.
  struct Bounds {
    std::string lower;
    std::string upper;
  };
  static Bounds BoundsOf(const ScanOptions& options);

  TableScanner(const ScanOptions& options, Bounds bounds)
      : is_reverse_(options.reverse),
        max_rows_(options.max_rows),
        max_cells_(options.max_cells),
        bounds_(std::move(bounds)) {}

  // To the next row; false: there is none, or status_ says why.
  bool FindRow();
  bool FindRowForward();
  bool FindRowBackward();
  // Adds cells of row_ from where the families stand; true: there may be more.
  bool Fill(RowResultBuilder* result);
  bool NoteErrors();

  const bool is_reverse_;
  const uint64_t max_rows_;
  const size_t max_cells_;
  const Bounds bounds_;
  std::vector<Family> families_;
  std::string row_;  // escaped
  bool is_in_row_ = false;
  std::string before_;  // keys of the rows to come are smaller, in reverse
  uint64_t num_rows_ = 0;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_SCANNER_H_
