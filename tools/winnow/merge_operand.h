// Operands of merges as people type them.
#ifndef WINNOW_TOOLS_WINNOW_MERGE_OPERAND_H_
#define WINNOW_TOOLS_WINNOW_MERGE_OPERAND_H_

#include <string>

#include "absl/status/statusor.h"

namespace winnow::cli {

// For the sums a decimal number, of which the operand is eight bytes that nobody types; for other
// operators, and with `is_bytes`, the word itself. InvalidArgument: no number. FailedPrecondition:
// the operator is one of another program. `merge_operator` may be empty, which the write refuses.
absl::StatusOr<std::string> MergeOperandOf(const std::string& merge_operator,
                                           const std::string& word, bool is_bytes);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_MERGE_OPERAND_H_
