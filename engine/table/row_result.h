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
  // The cell at which the cursor stands. Names of families live as long as the builder.
  void Add(std::string_view family, const FamilyCursor& cursor, Shown shown = Shown::kWhole);
  // Nothing is escaped.
  void AddCell(std::string_view family, std::string_view qualifier, uint64_t timestamp,
               std::string_view value);
  size_t num_cells() const { return result_.cells_.size(); }
  // Leaves the cells for whose index `retains` is true.
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
  // The cells of a family share its name.
  std::string_view CopyFamily(std::string_view family);

  RowResult& result_;
  std::string_view last_family_;  // the caller's
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_ROW_RESULT_H_
