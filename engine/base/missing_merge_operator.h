// What stands for a merge operator that is not there.
#ifndef WINNOW_ENGINE_BASE_MISSING_MERGE_OPERATOR_H_
#define WINNOW_ENGINE_BASE_MISSING_MERGE_OPERATOR_H_

#include <memory>
#include <string_view>

#include "winnow/merge_operator.h"

namespace winnow {

// Refuses to merge, and takes no operand: FailedPrecondition names it. What needs no merging works.
// `name` is the recorded one; empty: the column family has none.
std::shared_ptr<const MergeOperator> MissingMergeOperator(std::string_view name);
bool IsMissingMergeOperator(const MergeOperator& merge_operator);

// The same for a program that has no operator of this name and yet writes: what is written keeps
// all operands. It takes those of others, which the operator itself has checked, but cannot tell
// whether new ones are any.
std::shared_ptr<const MergeOperator> MergeOperatorStandIn(std::string_view name);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_MISSING_MERGE_OPERATOR_H_
