#include "engine/table/filter_lists.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/table/filter_bounds.h"
#include "engine/table/filter_finished_rows.h"

namespace winnow {

namespace {

using Children = std::span<const std::shared_ptr<const FilterNode>>;

class AndState final : public FilterState {
 public:
  AndState(Children children, bool is_reverse) {
    for (const auto& child : children) {
      states_.push_back(NewFilterState(*child, is_reverse));
      ends_last_.push_back(CountsRows(*child));
    }
  }
  // The first that refuses decides. Those behind it must not see the row: a WHILE among them would
  // end the read by it.
  bool BeginRow(std::string_view row) override {
    return std::all_of(states_.begin(), states_.end(),
                       [&](const auto& state) { return state->BeginRow(row); });
  }
  Shown Show(const FilterCell& cell) override {
    Shown shown = Shown::kWhole;
    for (const auto& state : states_) {
      shown = Both(shown, state->Show(cell));
      if (shown == Shown::kNo) break;
    }
    return shown;
  }
  // Those that count rows count what the others keep.
  bool EndRow() override {
    for (const bool is_last : {false, true}) {
      for (size_t i = 0; i < states_.size(); i++) {
        if (ends_last_[i] == is_last && !states_[i]->EndRow()) return false;
      }
    }
    return true;
  }
  Shown Retained(const FilterCell& cell) const override {
    Shown retained = Shown::kWhole;
    for (const auto& state : states_) retained = Both(retained, state->Retained(cell));
    return retained;
  }
  bool IsRowDone() const override {
    // A row that one of them is done with has nothing left to show, whatever the others say.
    return std::any_of(states_.begin(), states_.end(),
                       [](const auto& state) { return state->IsRowDone(); });
  }
  bool IsDone() const override {
    return std::any_of(states_.begin(), states_.end(),
                       [](const auto& state) { return state->IsDone(); });
  }

 private:
  std::vector<std::unique_ptr<FilterState>> states_;
  std::vector<bool> ends_last_;
};

// Each filter sees all rows and cells. What it has shown of a row that it does not keep is shown
// only if another shows it: that is remembered where some filter decides so late.
class OrState final : public FilterState {
 public:
  OrState(const FilterNode& node, bool is_reverse) : decides_late_(DecidesRows(node)) {
    for (const auto& child : node.children) {
      choices_.push_back({.state = NewFilterState(*child, is_reverse), .shown = {}});
    }
  }
  bool BeginRow(std::string_view row) override {
    // All of them are asked, whatever the others say: each has its own count of rows and cells.
    bool is_any = false;
    for (Choice& choice : choices_) {
      // One that is done is left out, and the others go on.
      choice.has_row = !choice.state->IsDone() && choice.state->BeginRow(row);
      choice.shown.clear();
      choice.shows_any = false;
      is_any = is_any || choice.has_row;
    }
    return is_any;
  }
  Shown Show(const FilterCell& cell) override {
    Shown shown = Shown::kNo;
    for (Choice& choice : choices_) {
      if (!choice.has_row || choice.state->IsDone()) continue;
      const Shown next = choice.state->Show(cell);
      if (next == Shown::kNo) continue;
      shown = Either(shown, next);
      choice.shows_any = true;
      // Costs a byte for each cell of the row and each filter.
      if (decides_late_) choice.NoteShown(cell.number, next);
    }
    return shown;
  }
  bool EndRow() override {
    bool is_kept = false;
    for (Choice& choice : choices_) {
      // One that has shown nothing is not asked, as in RowFilter::EndRow: a PageFilter does not
      // count it.
      choice.keeps_row = choice.has_row && choice.shows_any && choice.state->EndRow();
      is_kept = is_kept || choice.keeps_row;
    }
    return is_kept;
  }
  // What those show of the cell that keep the row: another may have shown more of it.
  Shown Retained(const FilterCell& cell) const override {
    if (!decides_late_) return Shown::kWhole;
    Shown retained = Shown::kNo;
    for (const Choice& choice : choices_) {
      if (!choice.keeps_row) continue;
      const Shown shown = choice.ShownOf(cell.number);
      if (shown != Shown::kNo) {
        retained = Either(retained, Both(shown, choice.state->Retained(cell)));
      }
    }
    return retained;
  }
  // One that still wants cells of the row keeps it open for all.
  bool IsRowDone() const override {
    return std::all_of(choices_.begin(), choices_.end(), [](const Choice& choice) {
      return !choice.has_row || choice.state->IsRowDone() || choice.state->IsDone();
    });
  }
  bool IsDone() const override {
    return std::all_of(choices_.begin(), choices_.end(),
                       [](const Choice& choice) { return choice.state->IsDone(); });
  }

 private:
  struct Choice {
    std::unique_ptr<FilterState> state;
    std::vector<Shown> shown;  // by the cells' numbers
    bool has_row = false;
    bool shows_any = false;
    bool keeps_row = false;

    void NoteShown(size_t number, Shown how) {
      if (shown.size() <= number) shown.resize(number + 1, Shown::kNo);
      shown[number] = how;
    }
    Shown ShownOf(size_t number) const {
      return number < shown.size() ? shown[number] : Shown::kNo;
    }
  };

  const bool decides_late_;
  std::vector<Choice> choices_;
};

// Whether what a filter does must wait for what one before it makes of the whole row.
bool MustWaitFor(const FilterNode& first, const FilterNode& later) {
  return (TakesCellsLate(first) && CountsCells(later)) ||
         (DecidesRows(first) && MayEndReads(later));
}

// Behind the first filter that others must wait for, they go on with what it has left.
std::unique_ptr<FilterState> NewSequence(Children children, bool is_reverse) {
  for (size_t i = 0; i + 1 < children.size(); i++) {
    const bool is_waited_for =
        std::any_of(children.begin() + static_cast<std::ptrdiff_t>(i) + 1, children.end(),
                    [&](const auto& later) { return MustWaitFor(*children[i], *later); });
    if (!is_waited_for) continue;
    return NewFilterSequence(std::make_unique<AndState>(children.first(i + 1), is_reverse),
                             NewSequence(children.subspan(i + 1), is_reverse));
  }
  return std::make_unique<AndState>(children, is_reverse);
}

// Those that count rows count what all others keep, wherever they stand.
std::unique_ptr<FilterState> NewAndState(const FilterNode& node, bool is_reverse) {
  if (!TakesCellsLate(node)) return NewSequence(node.children, is_reverse);
  std::vector<std::shared_ptr<const FilterNode>> children = node.children;
  std::stable_partition(children.begin(), children.end(),
                        [](const auto& child) { return !CountsRows(*child); });
  return NewSequence(children, is_reverse);
}

// One cell that is refused refuses the row, which is known at its end. The inner filter's IsRowDone
// is not handed on: the cells that would be left out count.
class SkipState final : public FilterState {
 public:
  SkipState(const FilterNode& node, bool is_reverse)
      : inner_(NewFilterState(*node.children.front(), is_reverse)),
        takes_cells_late_(TakesCellsLate(*node.children.front())) {}
  bool BeginRow(std::string_view row) override {
    has_refused_ = false;
    noted_.Clear();
    return inner_->BeginRow(row);
  }
  Shown Show(const FilterCell& cell) override {
    const Shown shown = inner_->Show(cell);
    has_refused_ = has_refused_ || shown == Shown::kNo;
    if (takes_cells_late_ && !has_refused_) noted_.Note(cell);
    return shown;
  }
  bool EndRow() override {
    return !has_refused_ && inner_->EndRow() && !noted_.FirstRefused(*inner_).has_value();
  }
  Shown Retained(const FilterCell& cell) const override { return inner_->Retained(cell); }
  bool IsDone() const override { return inner_->IsDone(); }

 private:
  const std::unique_ptr<FilterState> inner_;
  const bool takes_cells_late_;
  bool has_refused_ = false;
  NotedCells noted_;
};

// is_done_ outlives the row, unlike what other filters remember: the first refusal, of a row at its
// beginning or its end or of a cell, ends the read.
class WhileState final : public FilterState {
 public:
  WhileState(const FilterNode& node, bool is_reverse)
      : inner_(NewFilterState(*node.children.front(), is_reverse)),
        takes_cells_late_(TakesCellsLate(*node.children.front())) {}
  bool BeginRow(std::string_view row) override {
    noted_.Clear();
    refused_.reset();
    is_done_ = is_done_ || !inner_->BeginRow(row);
    return !is_done_;
  }
  Shown Show(const FilterCell& cell) override {
    if (is_done_) return Shown::kNo;
    const Shown shown = inner_->Show(cell);
    is_done_ = shown == Shown::kNo;
    if (takes_cells_late_ && !is_done_) noted_.Note(cell);
    return shown;
  }
  bool EndRow() override {
    const bool is_kept = inner_->EndRow();
    if (is_kept) refused_ = noted_.FirstRefused(*inner_);
    is_done_ = is_done_ || !is_kept || refused_.has_value();
    return is_kept;
  }
  // Cells behind one that was taken away were shown when nobody knew.
  Shown Retained(const FilterCell& cell) const override {
    return refused_ && cell.number >= *refused_ ? Shown::kNo : inner_->Retained(cell);
  }
  bool IsDone() const override { return is_done_ || inner_->IsDone(); }

 private:
  const std::unique_ptr<FilterState> inner_;
  const bool takes_cells_late_;
  bool is_done_ = false;
  NotedCells noted_;
  std::optional<size_t> refused_;  // the number of the first cell of the row that was taken away
};

}  // namespace

std::unique_ptr<FilterState> NewFilterListState(const FilterNode& node, bool is_reverse) {
  switch (node.kind) {
    case FilterKind::kAnd:
      return NewAndState(node, is_reverse);
    case FilterKind::kOr:
      return std::make_unique<OrState>(node, is_reverse);
    case FilterKind::kSkip:
      return std::make_unique<SkipState>(node, is_reverse);
    default:
      // kWhile, the only kind that is left.
      return std::make_unique<WhileState>(node, is_reverse);
  }
}

}  // namespace winnow
