#include "engine/base/merge_context.h"

#include <utility>
#include <vector>

#include "engine/base/missing_merge_operator.h"
#include "engine/base/shown_key.h"
#include "engine/base/status.h"
#include "engine/base/user_exception.h"
#include "winnow/options.h"

namespace winnow {

namespace {

absl::Status MergeFailed(const MergeOperator& merge_operator, std::string_view key,
                         std::string_view reason) {
  return absl::FailedPreconditionError(absl::StrCat("key '", ShownKey(key), "': merge operator '",
                                                    ToAbsl(merge_operator.Name()),
                                                    "' gives no value: ", ToAbsl(reason)));
}

}  // namespace

absl::Status MergeOperands(const MergeOperator& merge_operator, std::string_view key,
                           std::optional<std::string_view> existing,
                           std::span<const std::string_view> operands, std::string* result) {
  result->clear();
  const absl::Status merged =
      CatchUserException([&] { return merge_operator.FullMerge(key, existing, operands, result); });
  if (!merged.ok()) return MergeFailed(merge_operator, key, ToStd(merged.message()));
  // What a merge makes has the limit of what is put.
  if (result->size() <= kMaxValueBytes) return absl::OkStatus();
  return MergeFailed(merge_operator, key,
                     ToStd(absl::StrCat(result->size(), " bytes are over the limit of ",
                                        kMaxValueBytes, " bytes of a value")));
}

bool CombineOperands(const MergeOperator& merge_operator, std::string_view key,
                     std::span<const std::string_view> operands, std::string* result) {
  result->clear();
  // Whatever the operator throws counts as "cannot": the operands stay, and the full merge, which
  // readers see, has the error.
  bool is_combined = false;
  const absl::Status status = CatchUserException([&] {
    is_combined = merge_operator.PartialMerge(key, operands, result);
    return absl::OkStatus();
  });
  return status.ok() && is_combined && result->size() <= kMaxValueBytes;
}

absl::Status CheckMergeOperand(const MergeOperator& merge_operator, std::string_view operand) {
  const absl::Status status =
      CatchUserException([&] { return merge_operator.CheckOperand(operand); });
  if (status.ok() || IsMissingMergeOperator(merge_operator)) [[likely]]
    return status;
  return absl::InvalidArgumentError(
      absl::StrCat("merge operator '", ToAbsl(merge_operator.Name()), "': ", status.message()));
}

void MergeContext::Clear() {
  operands_.clear();
  copies_.clear();
  num_added_ = 0;
  combine_at_ = kLeastCombined;
}

// Where the operator cannot, or the result is hardly shorter, the next time is at twice the number:
// together that costs no more than a constant for each operand and doubling.
void MergeContext::Combine(std::string_view key) {
  const std::vector<std::string_view> operands(operands_.begin(), operands_.end());
  size_t bytes = 0;
  for (const std::string_view operand : operands) bytes += operand.size();
  std::string combined;
  if (!CombineOperands(*operator_, key, operands, &combined)) {
    combine_at_ *= 2;
    return;
  }
  // Counters shrink to one operand for good; appended texts do not, and must not be copied again
  // with each further operand.
  if (combined.size() > bytes / 2) combine_at_ *= 2;
  operands_.clear();
  copies_.clear();
  operands_.push_back(copies_.emplace_back(std::move(combined)));
}

absl::Status MergeContext::Merge(std::string_view key, std::optional<std::string_view> existing,
                                 std::string* result) const {
  const std::vector<std::string_view> operands(operands_.begin(), operands_.end());
  return MergeOperands(*operator_, key, existing, operands, result);
}

}  // namespace winnow
