#include "tools/winnow/merge_operand.h"

#include <cstdint>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "winnow/merge_operator.h"

namespace winnow::cli {

absl::StatusOr<std::string> MergeOperandOf(const std::string& merge_operator,
                                           const std::string& word, bool is_bytes) {
  // Its own rules for operands are as unknown: one that it cannot merge would spoil the key.
  if (!merge_operator.empty() && !ParseMergeOperator(merge_operator).ok()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "merge operator '", merge_operator,
        "' belongs to the program that wrote the database, and operands come from it"));
  }
  const bool is_unsigned = merge_operator == "uint64_add";
  if (is_bytes || (!is_unsigned && merge_operator != "int64_add")) return word;
  uint64_t number = 0;
  int64_t signed_number = 0;
  const bool is_number =
      is_unsigned ? absl::SimpleAtoi(word, &number) : absl::SimpleAtoi(word, &signed_number);
  if (!is_number) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", word, "\": ", merge_operator, " takes a whole number, or with --hex its 8 bytes"));
  }
  std::string bytes;
  PutFixed64(&bytes, is_unsigned ? number : static_cast<uint64_t>(signed_number));
  return bytes;
}

}  // namespace winnow::cli
