// A filter at work: what it remembers during one read.
#ifndef WINNOW_ENGINE_TABLE_FILTER_STATE_H_
#define WINNOW_ENGINE_TABLE_FILTER_STATE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "engine/table/filter_node.h"

namespace winnow {

// A cell that is asked about; the bytes live as long as the question.
struct FilterCell {
  std::string_view family;
  std::string_view qualifier;
  uint64_t timestamp = 0;
  std::string_view value;
  size_t number = 0;  // of the cells of its row that were asked about: 0, 1, ...
};

// Whether a cell is shown, and how much of it.
enum class Shown : uint8_t { kNo, kWhole, kKey, kKeyAndLength };
// What both show: a value that one of them takes away is gone.
inline Shown Both(Shown a, Shown b) {
  return a == Shown::kNo || b == Shown::kNo ? Shown::kNo : std::max(a, b);
}
// What one of them shows.
inline Shown Either(Shown a, Shown b) {
  if (a == Shown::kNo) return b;
  return b == Shown::kNo ? a : std::min(a, b);
}

// One for each filter of the tree. Rows and cells come in the order of the read; of each row first
// BeginRow, then its cells, then, if some of them were shown, EndRow, and Retained of those. The
// node outlives it.
class FilterState {
 public:
  virtual ~FilterState() = default;
  // False: nothing of this row is shown, and nothing more is asked about it.
  virtual bool BeginRow(std::string_view /*row*/) { return true; }
  virtual Shown Show(const FilterCell& /*cell*/) { return Shown::kWhole; }
  // False: nothing of the row is shown after all.
  virtual bool EndRow() { return true; }
  // What is left of a cell that was shown, and whose row is kept: Both of this and what Show said.
  virtual Shown Retained(const FilterCell& /*cell*/) const { return Shown::kWhole; }
  // No further cell of this row is shown; and no further row, nor cell of this one.
  virtual bool IsRowDone() const { return false; }
  virtual bool IsDone() const { return false; }
};

std::unique_ptr<FilterState> NewFilterState(const FilterNode& node, bool is_reverse);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_STATE_H_
