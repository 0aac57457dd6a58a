// Fills a RowResult.
#ifndef WINNOW_ENGINE_TABLE_ROW_RESULT_H_
#define WINNOW_ENGINE_TABLE_ROW_RESULT_H_

#include <string_view>

#include "engine/table/family_cursor.h"
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
  void Add(std::string_view family, const FamilyCursor& cursor);
  size_t num_cells() const { return result_.cells_.size(); }
  void Finish();

 private:
  RowResult& result_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_RESULT_H_
