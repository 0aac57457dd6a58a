// A row that is passed over must be one of which nothing is shown, and its absence must change
// nothing that is shown of others. The first holds of a filter that refuses what lacks a value, and
// of an AND with it. The second is in doubt of filters that remember what they saw of earlier rows:
// a WHILE ends the read by what it refuses, and may be asked about a row that another filter of its
// AND refuses only at the end; a PageFilter counts the rows that it is asked to keep.
#include "engine/table/filter_equalities.h"

#include <optional>

#include "engine/table/filter_bounds.h"

namespace winnow {

namespace {

bool IsEquality(const FilterNode& node) {
  const std::optional<Comparison>& comparison = node.comparison;
  return comparison.has_value() && comparison->op == CompareOperator::kEqual &&
         comparison->kind == Comparison::Kind::kBinary;
}

void AddEqualities(const FilterNode& node, std::vector<ColumnEquality>* equalities) {
  switch (node.kind) {
    case FilterKind::kSingleColumnValue:
    case FilterKind::kSingleColumnValueExclude:
      // Without filterIfMissing a row that lacks the column is shown.
      if (!node.flags[0] || !IsEquality(node)) return;
      equalities->push_back({node.strings[0], node.strings[1], node.comparison->bytes});
      return;
    case FilterKind::kColumnValue:
      if (!IsEquality(node)) return;
      equalities->push_back({node.strings[0], node.strings[1], node.comparison->bytes});
      return;
    // It shows nothing of a row of which its filter shows nothing.
    case FilterKind::kSkip:
      return AddEqualities(*node.children.front(), equalities);
    case FilterKind::kAnd: {
      // Those that count rows are asked last about a row, one after the other, and by then the
      // others have refused it. What one of them implies is refused too late for those before it.
      bool may_have_been_counted = false;
      for (const auto& child : node.children) {
        const bool counts = CountsRows(*child);
        if (!counts || !may_have_been_counted) AddEqualities(*child, equalities);
        may_have_been_counted = may_have_been_counted || counts;
      }
      return;
    }
    default:
      return;
  }
}

}  // namespace

std::vector<ColumnEquality> EqualitiesOf(const FilterNode& node) {
  std::vector<ColumnEquality> equalities;
  if (!MayEndReads(node)) AddEqualities(node, &equalities);
  return equalities;
}

}  // namespace winnow
