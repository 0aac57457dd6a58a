// The operands of one key, collected on the way to its value.
#ifndef WINNOW_ENGINE_BASE_MERGE_CONTEXT_H_
#define WINNOW_ENGINE_BASE_MERGE_CONTEXT_H_

#include <cstddef>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/merge_operator.h"

namespace winnow {

// Collects from either end. Once there are many, those that came so far are combined into one if
// the operator can, so that a long chain takes little memory.
class MergeContext {
 public:
  // The operator must outlive it.
  explicit MergeContext(const MergeOperator* merge_operator) : operator_(merge_operator) {}

  void Clear();
  // An operand is copied, but for a pinned one, whose bytes must stay until Merge.
  void AddOlder(std::string_view key, std::string_view operand) {
    operands_.push_front(Copy(operand));
    Bound(key);
  }
  void AddOlderPinned(std::string_view key, std::string_view operand) {
    operands_.push_front(operand);
    Bound(key);
  }
  void AddNewer(std::string_view key, std::string_view operand) {
    operands_.push_back(Copy(operand));
    Bound(key);
  }
  bool empty() const { return operands_.empty(); }
  // All that were added, combined ones included.
  size_t num_added() const { return num_added_; }

  // Replaces `*result` by the value that the operands, at least one, make of `existing`.
  // FailedPrecondition names key and operator.
  absl::Status Merge(std::string_view key, std::optional<std::string_view> existing,
                     std::string* result) const;

 private:
  static constexpr size_t kLeastCombined = 64;

  std::string_view Copy(std::string_view operand) { return copies_.emplace_back(operand); }
  void Bound(std::string_view key) {
    num_added_++;
    if (operands_.size() >= combine_at_) [[unlikely]]
      Combine(key);
  }
  void Combine(std::string_view key);

  const MergeOperator* const operator_;
  std::deque<std::string_view> operands_;  // oldest first
  std::deque<std::string> copies_;         // which some of them point to
  size_t num_added_ = 0;
  size_t combine_at_ = kLeastCombined;
};

// Merges as MergeContext does. `operands` oldest first.
absl::Status MergeOperands(const MergeOperator& merge_operator, std::string_view key,
                           std::optional<std::string_view> existing,
                           std::span<const std::string_view> operands, std::string* result);
// Replaces `*result` by one operand made of `operands`, oldest first. False: they cannot be
// combined, or make one that is too long.
bool CombineOperands(const MergeOperator& merge_operator, std::string_view key,
                     std::span<const std::string_view> operands, std::string* result);
// InvalidArgument, with the operator's name, whatever code it refuses the operand with; what stands
// for one that is missing says so itself.
absl::Status CheckMergeOperand(const MergeOperator& merge_operator, std::string_view operand);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_MERGE_CONTEXT_H_
