#include "engine/table/possible_cells.h"

#include <string>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

namespace {

DBImpl& StoreOf(const CellMoment& moment) { return static_cast<DBImpl&>(*moment.db); }

// As those that look up what is left, so that one row of the statistics has what filters reject and
// what they let through.
constexpr FilterCall kCall = FilterCall::kSeek;

ReadOptions ReadAt(const CellMoment& moment) {
  ReadOptions read;
  read.snapshot = moment.snapshot;
  return read;
}

}  // namespace

// The moment is fixed before the filters are asked: a column that they rule out was not there then,
// and one that is written meanwhile, with others of its row, is in none of the answers.
absl::StatusOr<bool> KeepPossibleColumns(CellMoment& moment, const FamilyState& family,
                                         std::string_view row, CellQuery* query) {
  std::vector<std::string>& columns = query->columns;
  // Filters do not know of changes that are not written.
  if (columns.size() < 2 || query->is_raw || moment.changes != nullptr) return true;
  std::string prefix;
  AppendCellPrefix(row, &prefix);
  DBImpl& store = StoreOf(moment);
  if (!store.FiltersKnowBehind(family.column_family, prefix + columns.front(), prefix.size())) {
    return true;
  }
  WINNOW_RETURN_IF_ERROR(moment.Fix());
  std::vector<PrefixAsked> asked;
  asked.reserve(columns.size());
  for (const std::string& column : columns) asked.push_back({prefix + column});
  WINNOW_RETURN_IF_ERROR(store.AskForPrefixes(ReadAt(moment), family.column_family, kCall, asked));
  size_t num_left = 0;
  for (size_t i = 0; i < columns.size(); i++) {
    if (!asked[i].may_exist) continue;
    if (num_left != i) columns[num_left] = std::move(columns[i]);
    num_left++;
  }
  columns.resize(num_left);
  return num_left > 0;
}

absl::Status PossibleRows::Ask(const CellMoment& moment, const std::vector<FamilyQuery>& plan,
                               std::span<const std::string_view> rows) {
  num_rows_ = rows.size();
  asked_.resize(plan.size() * num_rows_);
  for (size_t family = 0; family < plan.size(); family++) {
    const CellQuery& cells = plan[family].cells;
    const std::span<PrefixAsked> asked(&asked_[family * num_rows_], num_rows_);
    for (size_t i = 0; i < num_rows_; i++) {
      asked[i].prefix.clear();
      AppendCellPrefix(rows[i], &asked[i].prefix);
      // Of one column a filter may know; several are for KeepPossibleColumns.
      if (cells.columns.size() == 1) asked[i].prefix.append(cells.columns.front());
      asked[i].may_exist = true;
    }
    // Raw reads show the markers of rows, and filters do not know of changes that are not written.
    if (cells.is_raw || moment.changes != nullptr || num_rows_ == 0) continue;
    WINNOW_RETURN_IF_ERROR(StoreOf(moment).AskForPrefixes(
        ReadAt(moment), plan[family].family->column_family, kCall, asked));
  }
  return absl::OkStatus();
}

}  // namespace winnow
