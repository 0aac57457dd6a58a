// Filters that look at a row as it is once those before them have decided about it.
#ifndef WINNOW_ENGINE_TABLE_FILTER_FINISHED_ROWS_H_
#define WINNOW_ENGINE_TABLE_FILTER_FINISHED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/table/filter_state.h"

namespace winnow {

// The cells of a row that a filter has let through for the time being.
class NotedCells {
 public:
  void Clear() { cells_.clear(); }
  // Its value is not kept, which nothing asks for that decides late.
  void Note(const FilterCell& cell);
  // The number of the first that is not left, at the end of the row.
  std::optional<size_t> FirstRefused(const FilterState& state) const;

 private:
  struct Cell {
    std::string family;
    std::string qualifier;
    uint64_t timestamp;
    size_t number;
  };
  std::vector<Cell> cells_;
};

// An AND of two: `rest` is asked about each row at its end, and about the cells that `first` has
// left of it alone. Memory: those cells with their values.
std::unique_ptr<FilterState> NewFilterSequence(std::unique_ptr<FilterState> first,
                                               std::unique_ptr<FilterState> rest);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_FINISHED_ROWS_H_
