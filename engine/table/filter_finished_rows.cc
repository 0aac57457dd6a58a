#include "engine/table/filter_finished_rows.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace winnow {

void NotedCells::Note(const FilterCell& cell) {
  cells_.push_back(
      {std::string(cell.family), std::string(cell.qualifier), cell.timestamp, cell.number});
}

std::optional<size_t> NotedCells::FirstRefused(const FilterState& state) const {
  for (const Cell& cell : cells_) {
    const FilterCell asked{cell.family, cell.qualifier, cell.timestamp, {}, cell.number};
    if (state.Retained(asked) == Shown::kNo) return cell.number;
  }
  return std::nullopt;
}

namespace {

class SequenceState final : public FilterState {
 public:
  SequenceState(std::unique_ptr<FilterState> first, std::unique_ptr<FilterState> rest)
      : first_(std::move(first)), rest_(std::move(rest)) {}

  bool BeginRow(std::string_view row) override {
    row_.assign(row);
    cells_.clear();
    return first_->BeginRow(row);
  }
  Shown Show(const FilterCell& cell) override {
    const Shown shown = first_->Show(cell);
    if (shown != Shown::kNo) {
      cells_.push_back({std::string(cell.family), std::string(cell.qualifier),
                        std::string(cell.value), cell.timestamp, cell.number, shown});
    }
    return shown;
  }
  // A row of which nothing is left does not come to the rest: it takes no place on a page and ends
  // no WHILE.
  bool EndRow() override {
    if (!first_->EndRow()) return false;
    std::erase_if(cells_, [&](const Cell& cell) {
      return Both(cell.shown, first_->Retained(cell.view())) == Shown::kNo;
    });
    if (cells_.empty() || !rest_->BeginRow(row_)) return false;
    bool shows_any = false;
    for (Cell& cell : cells_) {
      cell.shown = rest_->Show(cell.view());
      shows_any = shows_any || cell.shown != Shown::kNo;
    }
    return shows_any && rest_->EndRow();
  }
  Shown Retained(const FilterCell& cell) const override {
    const auto at =
        std::lower_bound(cells_.begin(), cells_.end(), cell.number,
                         [](const Cell& noted, size_t number) { return noted.number < number; });
    if (at == cells_.end() || at->number != cell.number) return Shown::kNo;
    return Both(Both(first_->Retained(cell), at->shown), rest_->Retained(cell));
  }
  bool IsDone() const override { return first_->IsDone() || rest_->IsDone(); }

 private:
  struct Cell {
    std::string family;
    std::string qualifier;
    std::string value;
    uint64_t timestamp;
    size_t number;
    Shown shown;  // by the first; from the end of the row on, by the rest

    FilterCell view() const { return {family, qualifier, timestamp, value, number}; }
  };

  const std::unique_ptr<FilterState> first_;
  const std::unique_ptr<FilterState> rest_;
  std::string row_;
  std::vector<Cell> cells_;  // their numbers ascend
};

}  // namespace

std::unique_ptr<FilterState> NewFilterSequence(std::unique_ptr<FilterState> first,
                                               std::unique_ptr<FilterState> rest) {
  return std::make_unique<SequenceState>(std::move(first), std::move(rest));
}

}  // namespace winnow
