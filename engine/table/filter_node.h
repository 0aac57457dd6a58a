// A filter as a tree, as it was written (winnow/table_filter.h).
#ifndef WINNOW_ENGINE_TABLE_FILTER_NODE_H_
#define WINNOW_ENGINE_TABLE_FILTER_NODE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/table/byte_ranges.h"
#include "engine/table/regular_expression.h"
#include "winnow/table_filter.h"

namespace winnow {

enum class FilterKind : uint8_t {
  kKeyOnly,
  kFirstKeyOnly,
  kPrefix,
  kColumnPrefix,
  kMultipleColumnPrefix,
  kColumnCountGet,
  kPage,
  kColumnPagination,
  kInclusiveStop,
  kTimestamps,
  kRow,
  kFamily,
  kQualifier,
  kValue,
  kColumnRange,
  kSingleColumnValue,
  kSingleColumnValueExclude,
  kDependentColumn,
  kColumnValue,
  kFuzzyRow,
  kMultiRowRange,
  kAnd,
  kOr,
  kSkip,
  kWhile,
  kEverything,
};

enum class CompareOperator : uint8_t {
  kLess,
  kLessOrEqual,
  kEqual,
  kNotEqual,
  kGreaterOrEqual,
  kGreater,
};

// What a value is compared with, and how.
struct Comparison {
  enum class Kind : uint8_t { kBinary, kBinaryPrefix, kSubstring, kRegularExpression };

  bool Holds(std::string_view value) const;

  CompareOperator op = CompareOperator::kEqual;
  Kind kind = Kind::kBinary;
  bool ignores_case = false;  // of a regular expression
  std::string bytes = {};
  std::optional<RegularExpression> expression = std::nullopt;
};

// Immutable once it is built. Which fields count is said by the kind; those of the text's arguments
// are in their order.
struct TableFilterNode {
  FilterKind kind = FilterKind::kEverything;
  std::vector<std::string> strings = {};
  std::vector<uint64_t> numbers = {};
  std::vector<bool> flags = {};
  std::optional<Comparison> comparison = std::nullopt;
  std::vector<std::shared_ptr<const TableFilterNode>> children = {};
  // Of a filter of rows or columns (filter_bounds.h).
  ByteRanges ranges = {};
  // Levels of parentheses and of SKIP and WHILE in its text.
  int depth = 0;
};
using FilterNode = TableFilterNode;

// Each level takes a few frames of the stack where the text is parsed, and wherever the tree is
// walked.
inline constexpr int kMaxFilterDepth = 100;

// The only way in which a node gets children, so that its depth is that of its text.
void AddChild(std::shared_ptr<const FilterNode> child, FilterNode* node);
absl::Status CheckDepth(const FilterNode& node);

class TableFilterAccess {
 public:
  static const FilterNode* node(const TableFilter& filter) { return filter.node_.get(); }
  static const std::shared_ptr<const FilterNode>& shared(const TableFilter& filter) {
    return filter.node_;
  }
  static TableFilter Make(FilterNode node) {
    TableFilter filter;
    filter.node_ = std::make_shared<const FilterNode>(std::move(node));
    return filter;
  }
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_FILTER_NODE_H_
