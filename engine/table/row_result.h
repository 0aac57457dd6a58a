// Fills a RowResult.
#ifndef WINNOW_ENGINE_TABLE_ROW_RESULT_H_
#define WINNOW_ENGINE_TABLE_ROW_RESULT_H_

#include <string_view>

#include "engine/table/family_cursor.h"
#include "engine/table/filter_state.h"
#include "winnow/table.h"

namespace winnow {

// Cells are copied into one buffer of the result. May throw std::bad_alloc.
class RowResultBuilder {
 public:
  // Empties the result.
  explicit RowResultBuilder(RowResult* result) : result_(*result) { result_.Clear(); }

  void SetRow(std::string_view row);
  void SetEscapedRow(std::string_view escaped_row);
  void SetRowOf(const FamilyCursor& cursor) {
    if (cursor.row_is_plain()) [[likely]]
      return SetRow(cursor.row());
    SetEscapedRow(cursor.row());
  }
  // The cell at which the cursor stands. Names of families live as long as the builder.
  void Add(std::string_view family, const FamilyCursor& cursor, Shown shown = Shown::kWhole);
  // Nothing is escaped.
  void AddCell(std::string_view family, std::string_view qualifier, uint64_t timestamp,
               std::string_view value);
  size_t num_cells() const { return result_.cells_.size(); }
  // Leaves of each cell, all of which are whole, what `shown_of` says of its index.
  template <typename ShownOf>
  void Retain(ShownOf shown_of) {
    size_t kept = 0;
    for (size_t i = 0; i < result_.cells_.size(); i++) {
      const Shown shown = shown_of(i);
      if (shown == Shown::kNo) continue;
      result_.cells_[kept] = result_.cells_[i];
      if (shown != Shown::kWhole) TakeValue(shown, kept);
      kept++;
    }
    result_.cells_.resize(kept);
  }
  const CellView& cell(size_t index) const { return result_.cells_[index]; }
  void Clear() { result_.Clear(); }

 private:
  // Room for so many bytes more. The views of the cells so far follow where they move.
  char* Extend(size_t num_bytes) {
    if (num_bytes > result_.bytes_.size() - result_.num_bytes_) [[unlikely]]
      Grow(num_bytes);
    char* const at = result_.bytes_.data() + result_.num_bytes_;
    result_.num_bytes_ += num_bytes;
    return at;
  }
  void Grow(size_t num_bytes);
  std::string_view Copy(std::string_view bytes);
  std::string_view CopyLength(size_t value_bytes);
  // Leaves of a cell its key, or the length of its value as well.
  void TakeValue(Shown shown, size_t index);
  // The cells of a family share its name.
  std::string_view CopyFamily(std::string_view family);

  RowResult& result_;
  std::string_view last_family_;  // the caller's
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_RESULT_H_
