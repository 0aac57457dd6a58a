// Fills a RowResult.
#ifndef WINNOW_ENGINE_TABLE_ROW_RESULT_H_
#define WINNOW_ENGINE_TABLE_ROW_RESULT_H_

#include <string_view>

#include "engine/table/family_cursor.h"
#include "engine/table/filter_state.h"
#include "winnow/table.h"

namespace winnow {

// Cells are appended to one string, which may move: views of it are made when all are there.
class RowResultBuilder {
 public:
  // Empties the result.
  explicit RowResultBuilder(RowResult* result) : result_(*result) { result_.Clear(); }

  void SetRow(std::string_view row);
  void SetEscapedRow(std::string_view escaped_row);
  // The cell at which the cursor stands.
  void Add(std::string_view family, const FamilyCursor& cursor, Shown shown = Shown::kWhole);
  size_t num_cells() const { return result_.cells_.size(); }
  void Finish();
  // After Finish: leaves the cells for whose index `retains` is true.
  template <typename Retains>
  void Retain(Retains retains) {
    size_t kept = 0;
    for (size_t i = 0; i < result_.cells_.size(); i++) {
      if (retains(i)) result_.cells_[kept++] = result_.cells_[i];
    }
    result_.cells_.resize(kept);
  }
  const CellView& cell(size_t index) const { return result_.cells_[index]; }
  void Clear() { result_.Clear(); }

 private:
  RowResult& result_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_RESULT_H_
