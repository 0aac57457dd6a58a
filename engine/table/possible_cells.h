// What filters rule out of a read before an iterator is made for it: columns of a row, and rows.
#ifndef WINNOW_ENGINE_TABLE_POSSIBLE_CELLS_H_
#define WINNOW_ENGINE_TABLE_POSSIBLE_CELLS_H_

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/table/cell_reader.h"
#include "engine/version/prefix_questions.h"

namespace winnow {

// Of several columns in the query those that are left by filters that know columns (ROWCOL), asked
// about together; the moment is fixed first. False: none is left. Without such filters all are.
absl::StatusOr<bool> KeepPossibleColumns(CellMoment& moment, const FamilyState& family,
                                         std::string_view row, CellQuery* query);

// The same of several rows. Used again and again it keeps its memory.
class PossibleRows {
 public:
  // Rows to ask about at once, so that what is asked takes no more memory with more of them.
  static constexpr size_t kAtOnce = 128;

  // By the filters of each family in the plan, as of the moment, which is fixed.
  absl::Status Ask(const CellMoment& moment, const std::vector<FamilyQuery>& plan,
                   std::span<const std::string_view> rows);
  // Of the rows and the plan that were given last. A marker alone makes no row.
  bool Has(size_t row, size_t family) const { return asked_[family * num_rows_ + row].may_exist; }

 private:
  size_t num_rows_ = 0;
  std::vector<PrefixAsked> asked_;  // family by family
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_POSSIBLE_CELLS_H_
