#include "engine/table/filter_node.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/filter_bounds.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

bool ContainsIgnoringCase(std::string_view text, std::string_view wanted) {
  const auto is_same = [](char a, char b) {
    return absl::ascii_tolower(static_cast<unsigned char>(a)) ==
           absl::ascii_tolower(static_cast<unsigned char>(b));
  };
  // An empty text contains the empty text, for which std::search gives the end. O(text x wanted).
  return std::search(text.begin(), text.end(), wanted.begin(), wanted.end(), is_same) !=
             text.end() ||
         wanted.empty();
}

bool IsList(const FilterNode& node) {
  return node.kind == FilterKind::kAnd || node.kind == FilterKind::kOr;
}

bool Stands(int order, CompareOperator op) {
  switch (op) {
    case CompareOperator::kLess:
      return order < 0;
    case CompareOperator::kLessOrEqual:
      return order <= 0;
    case CompareOperator::kEqual:
      return order == 0;
    case CompareOperator::kNotEqual:
      return order != 0;
    case CompareOperator::kGreaterOrEqual:
      return order >= 0;
    case CompareOperator::kGreater:
      return order > 0;
  }
  return false;
}

}  // namespace

bool Comparison::Holds(std::string_view value) const {
  switch (kind) {
    case Kind::kBinary:
      return Stands(value.compare(bytes), op);
    // A value that is shorter than the prefix is compared as it is, and is never equal to it.
    case Kind::kBinaryPrefix:
      return Stands(value.substr(0, bytes.size()).compare(bytes), op);
    // These two define no order: Parse admits = and != alone.
    case Kind::kSubstring:
      return ContainsIgnoringCase(value, bytes) == (op == CompareOperator::kEqual);
    case Kind::kRegularExpression:
      return expression->FindIn(value) == (op == CompareOperator::kEqual);
  }
  return false;
}

void AddChild(std::shared_ptr<const FilterNode> child, FilterNode* node) {
  // A list inside another filter stands in parentheses; SKIP and WHILE are a level of their own.
  const int levels = (IsList(*child) ? 1 : 0) + (IsList(*node) ? 0 : 1);
  node->depth = std::max(node->depth, child->depth + levels);
  node->children.push_back(std::move(child));
}

absl::Status CheckDepth(const FilterNode& node) {
  if (node.depth <= kMaxFilterDepth) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("filter: filters are nested over ", kMaxFilterDepth, " deep"));
}

namespace {

// Children are shared with the filters that were given: trees are immutable. Those of a list of the
// same kind come in its place, which means the same.
absl::StatusOr<TableFilter> Combine(FilterKind kind, const std::vector<TableFilter>& filters) {
  if (filters.empty()) return TableFilter();
  if (filters.size() == 1) return filters.front();
  FilterNode node{.kind = kind};
  for (const TableFilter& filter : filters) {
    std::shared_ptr<const FilterNode> child = TableFilterAccess::shared(filter);
    // An unset filter is a member like any other: an OR with it shows everything.
    if (child == nullptr) child = std::make_shared<const FilterNode>();
    if (child->kind != kind) {
      AddChild(std::move(child), &node);
      continue;
    }
    for (const auto& grandchild : child->children) AddChild(grandchild, &node);
  }
  WINNOW_RETURN_IF_ERROR(CheckDepth(node));
  return TableFilterAccess::Make(std::move(node));
}

}  // namespace

absl::StatusOr<TableFilter> TableFilter::And(const std::vector<TableFilter>& filters) {
  return CatchOutOfMemory([&] { return Combine(FilterKind::kAnd, filters); });
}

absl::StatusOr<TableFilter> TableFilter::Or(const std::vector<TableFilter>& filters) {
  return CatchOutOfMemory([&] { return Combine(FilterKind::kOr, filters); });
}

absl::StatusOr<TableFilter> TableFilter::FuzzyRows(const std::vector<FuzzyRow>& rows) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TableFilter> {
    if (rows.empty()) return absl::InvalidArgumentError("FuzzyRowFilter takes a row and its mask");
    FilterNode node{.kind = FilterKind::kFuzzyRow};
    for (const FuzzyRow& row : rows) {
      if (row.row.size() != row.mask.size()) {
        return absl::InvalidArgumentError("FuzzyRowFilter: a mask is as long as its row");
      }
      // HBase's masks have the bytes 0 and 1, the text has digits. Digits are kept, for ToString.
      std::string mask = row.mask;
      for (char& byte : mask) byte = byte == '0' || byte == '\0' ? '0' : '1';
      node.strings.push_back(row.row);
      node.strings.push_back(std::move(mask));
    }
    KeepRanges(&node);
    return TableFilterAccess::Make(std::move(node));
  });
}

absl::StatusOr<TableFilter> TableFilter::RowRanges(const std::vector<RowRange>& ranges) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<TableFilter> {
    if (ranges.empty()) return absl::InvalidArgumentError("MultiRowRangeFilter takes a range");
    FilterNode node{.kind = FilterKind::kMultiRowRange};
    // In the order of the text's arguments, so that a bound and its flag have the same index.
    for (const RowRange& range : ranges) {
      node.strings.push_back(range.start);
      node.flags.push_back(range.includes_start);
      node.strings.push_back(range.stop);
      node.flags.push_back(range.includes_stop);
    }
    KeepRanges(&node);
    return TableFilterAccess::Make(std::move(node));
  });
}

}  // namespace winnow
