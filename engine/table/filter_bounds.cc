// Bounds are sound because AND asks from left to right: a filter behind another sees what that lets
// through, and a filter in front of it may count, or end the read by, what it refuses. So bounds of
// an AND are those of its filters up to the first that remembers what it saw. Those of an OR hold
// what any of its filters may show.
#include "engine/table/filter_bounds.h"

#include <algorithm>
#include <vector>

namespace winnow {

namespace {

// Whether its answers depend on the cells that it was asked about before.
// Those of filters of single cells and columns do not. PageFilter counts rows, but only rows of
// which something is shown, and bounds do not change which rows those are.
bool RemembersCells(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kFirstKeyOnly:
    case FilterKind::kColumnCountGet:
    case FilterKind::kColumnPagination:
    case FilterKind::kSingleColumnValue:
    case FilterKind::kSingleColumnValueExclude:
    case FilterKind::kDependentColumn:
    case FilterKind::kSkip:
    case FilterKind::kWhile:
      return true;
    default:
      return std::any_of(node.children.begin(), node.children.end(),
                         [](const auto& child) { return RemembersCells(*child); });
  }
}

ByteRanges RangesOf(const Comparison& comparison) {
  const std::string& bytes = comparison.bytes;
  if (comparison.kind == Comparison::Kind::kBinaryPrefix) {
    // Only as many bytes are compared as the prefix has, so that all strings that begin with it are
    // equal. Lesser strings stand before them, greater ones behind.
    const ByteRanges equal = ByteRanges::WithPrefix(bytes);
    const std::string behind = BehindPrefix(bytes);
    const ByteRanges greater = behind.empty() ? ByteRanges::None() : ByteRanges::From(behind, true);
    const ByteRanges less = ByteRanges::UpTo(bytes, false);
    switch (comparison.op) {
      case CompareOperator::kLess:
        return less;
      case CompareOperator::kLessOrEqual:
        return less.Union(equal);
      case CompareOperator::kEqual:
        return equal;
      case CompareOperator::kNotEqual:
        return less.Union(greater);
      case CompareOperator::kGreaterOrEqual:
        return equal.Union(greater);
      case CompareOperator::kGreater:
        return greater;
    }
  }
  // Strings that contain a text or match a pattern may stand anywhere in the order.
  if (comparison.kind != Comparison::Kind::kBinary) return ByteRanges::All();
  switch (comparison.op) {
    case CompareOperator::kLess:
      return ByteRanges::UpTo(bytes, false);
    case CompareOperator::kLessOrEqual:
      return ByteRanges::UpTo(bytes, true);
    case CompareOperator::kEqual:
      return ByteRanges::Of(bytes);
    case CompareOperator::kNotEqual:
      return ByteRanges::UpTo(bytes, false).Union(ByteRanges::From(bytes, false));
    case CompareOperator::kGreaterOrEqual:
      return ByteRanges::From(bytes, true);
    case CompareOperator::kGreater:
      return ByteRanges::From(bytes, false);
  }
  return ByteRanges::All();
}

// An empty bound is none.
ByteRanges Between(const FilterNode& node, size_t index) {
  const std::string& from = node.strings[index];
  const std::string& to = node.strings[index + 1];
  ByteRanges ranges = ByteRanges::From(from, from.empty() || node.flags[index]);
  if (!to.empty()) ranges = ranges.Intersection(ByteRanges::UpTo(to, node.flags[index + 1]));
  return ranges;
}

// Up to the first byte that may be any.
// Without a '1' in the mask that is the whole row, which longer rows may begin with.
ByteRanges FuzzyRanges(const FilterNode& node) {
  std::vector<ByteRanges> all;
  for (size_t i = 0; i < node.strings.size(); i += 2) {
    const std::string_view row = node.strings[i];
    all.push_back(ByteRanges::WithPrefix(row.substr(0, node.strings[i + 1].find('1'))));
  }
  return ByteRanges::UnionOf(all);
}

// Of a filter of rows or columns: those that it lets through, or more.
ByteRanges RangesOf(const FilterNode& node) {
  std::vector<ByteRanges> all;
  switch (node.kind) {
    case FilterKind::kPrefix:
    case FilterKind::kColumnPrefix:
    case FilterKind::kMultipleColumnPrefix:
      for (const std::string& prefix : node.strings) all.push_back(ByteRanges::WithPrefix(prefix));
      return ByteRanges::UnionOf(all);
    case FilterKind::kRow:
    case FilterKind::kQualifier:
      return RangesOf(*node.comparison);
    case FilterKind::kFuzzyRow:
      return FuzzyRanges(node);
    case FilterKind::kMultiRowRange:
    case FilterKind::kColumnRange:
      for (size_t i = 0; i < node.strings.size(); i += 2) all.push_back(Between(node, i));
      return ByteRanges::UnionOf(all);
    case FilterKind::kColumnValue:
      // In every family: a cell of another family with this qualifier is asked about and refused.
      return ByteRanges::Of(node.strings[1]);
    default:
      return ByteRanges::All();
  }
}

template <typename Ranges, typename Remembers>
ByteRanges Combined(const FilterNode& node, Ranges ranges_of, Remembers remembers) {
  if (node.kind == FilterKind::kOr) {
    std::vector<ByteRanges> all;
    for (const auto& child : node.children) all.push_back(ranges_of(*child));
    return ByteRanges::UnionOf(all);
  }
  ByteRanges ranges = ByteRanges::All();
  for (const auto& child : node.children) {
    ranges = ranges.Intersection(ranges_of(*child));
    // Its own bounds hold, since nobody behind it sees what it refuses. Those of the filters behind
    // it do not: it has to see what they would refuse.
    if (remembers(*child)) break;
  }
  return ranges;
}

bool AnyChild(const FilterNode& node, bool (*holds)(const FilterNode&)) {
  return std::any_of(node.children.begin(), node.children.end(),
                     [holds](const auto& child) { return holds(*child); });
}

}  // namespace

void KeepRanges(FilterNode* node) { node->ranges = RangesOf(*node); }

ByteRanges RowsOf(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kPrefix:
    case FilterKind::kRow:
    case FilterKind::kFuzzyRow:
    case FilterKind::kMultiRowRange:
      return node.ranges;
    case FilterKind::kInclusiveStop:
      // Which rows that is depends on the direction; it ends the read by itself.
      return ByteRanges::All();
    // It shows nothing of a row that its filter refuses as a whole.
    case FilterKind::kSkip:
      return RowsOf(*node.children.front());
    case FilterKind::kAnd:
    case FilterKind::kOr:
      return Combined(node, RowsOf, MayEndReads);
    // WHILE is one of these: it has to meet the first row that it refuses.
    default:
      return ByteRanges::All();
  }
}

ByteRanges ColumnsOf(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kColumnPrefix:
    case FilterKind::kMultipleColumnPrefix:
    case FilterKind::kColumnRange:
    case FilterKind::kQualifier:
    case FilterKind::kColumnValue:
      return node.ranges;
    case FilterKind::kAnd:
    case FilterKind::kOr:
      return Combined(node, ColumnsOf, RemembersCells);
    // SKIP and WHILE are among these: they act on cells that are refused, and must see them.
    default:
      return ByteRanges::All();
  }
}

bool DecidesRows(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kSingleColumnValue:
    case FilterKind::kSingleColumnValueExclude:
    case FilterKind::kDependentColumn:
    case FilterKind::kSkip:
      return true;
    default:
      return AnyChild(node, DecidesRows);
  }
}

// What one choice of an OR showed goes with the row if that one refuses it and another keeps it.
bool TakesCellsLate(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kSingleColumnValueExclude:
    case FilterKind::kDependentColumn:
      return true;
    case FilterKind::kOr:
      return DecidesRows(node);
    default:
      return AnyChild(node, TakesCellsLate);
  }
}

bool CountsCells(const FilterNode& node) {
  switch (node.kind) {
    case FilterKind::kFirstKeyOnly:
    case FilterKind::kColumnCountGet:
    case FilterKind::kColumnPagination:
    case FilterKind::kPage:
    case FilterKind::kDependentColumn:
    case FilterKind::kSkip:
    case FilterKind::kWhile:
      return true;
    default:
      return AnyChild(node, CountsCells);
  }
}

bool CountsRows(const FilterNode& node) {
  return node.kind == FilterKind::kPage || AnyChild(node, CountsRows);
}

// InclusiveStopFilter and PageFilter end reads as well, but by the order of rows and by rows that
// are shown, not by what bounds would keep from them.
bool MayEndReads(const FilterNode& node) {
  return node.kind == FilterKind::kWhile || AnyChild(node, MayEndReads);
}

}  // namespace winnow
