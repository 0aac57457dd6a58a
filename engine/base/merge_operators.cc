// The built-in merge operators. All of them are associative, so that each can combine operands
// without the value.
#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "engine/base/missing_merge_operator.h"
#include "engine/base/status.h"
#include "filter/base/shown_text.h"
#include "winnow/merge_operator.h"

namespace winnow {

bool MergeOperator::PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                                 std::string* result) const {
  return false;
}

absl::Status MergeOperator::CheckOperand(std::string_view operand) const {
  return absl::OkStatus();
}

namespace {

constexpr size_t kMaxDelimiterBytes = 64;
constexpr std::string_view kAppendPrefix = "append:";

// Signed or not, the sum has the same bits: two's complement wraps around at the same number.
class AddOperator final : public MergeOperator {
 public:
  explicit AddOperator(std::string_view name) : name_(name) {}
  std::string_view Name() const override { return name_; }

  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    uint64_t sum = 0;
    if (existing.has_value()) {
      // Whatever a plain Put has stored: no operator was asked about it.
      WINNOW_RETURN_IF_ERROR(Check(*existing, "value"));
      sum = DecodeFixed64(existing->data());
    }
    for (const std::string_view operand : operands) {
      WINNOW_RETURN_IF_ERROR(Check(operand, "operand"));
      sum += DecodeFixed64(operand.data());
    }
    PutFixed64(result, sum);
    return absl::OkStatus();
  }

  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    uint64_t sum = 0;
    for (const std::string_view operand : operands) {
      // Left for FullMerge, whose error tells of it.
      if (operand.size() != sizeof(sum)) return false;
      sum += DecodeFixed64(operand.data());
    }
    PutFixed64(result, sum);
    return true;
  }

  absl::Status CheckOperand(std::string_view operand) const override {
    return Check(operand, "operand");
  }

 private:
  static absl::Status Check(std::string_view bytes, std::string_view what) {
    if (bytes.size() == sizeof(uint64_t)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(ToAbsl(what), " of ", bytes.size(), " bytes is no number of 8 bytes"));
  }

  const std::string_view name_;
};

// The greatest or the smallest by bytes: for numbers that is their order where they are big-endian.
class ExtremeOperator final : public MergeOperator {
 public:
  explicit ExtremeOperator(bool is_max) : is_max_(is_max) {}
  std::string_view Name() const override { return is_max_ ? "max" : "min"; }

  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    std::string_view best = existing.value_or(operands.front());
    for (const std::string_view operand : operands) {
      const int order = CompareBytes(operand, best);
      if (is_max_ ? order > 0 : order < 0) best = operand;
    }
    result->append(best);
    return absl::OkStatus();
  }

  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    return FullMerge(key, std::nullopt, operands, result).ok();
  }

 private:
  const bool is_max_;
};

// The delimiter stands between any two parts, empty ones included, and so behind a value that is
// empty; only where the key was absent does the first part begin without one.
class AppendOperator final : public MergeOperator {
 public:
  explicit AppendOperator(std::string_view name)
      : name_(name), delimiter_(name.substr(kAppendPrefix.size())) {}
  std::string_view Name() const override { return name_; }

  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    // One allocation for a result that may be made of thousands of parts.
    size_t bytes = existing.has_value() ? existing->size() : 0;
    for (const std::string_view operand : operands) bytes += operand.size() + delimiter_.size();
    result->reserve(bytes);
    if (existing.has_value()) result->append(*existing);
    bool is_first = !existing.has_value();
    for (const std::string_view operand : operands) {
      if (!is_first) result->append(delimiter_);
      result->append(operand);
      is_first = false;
    }
    return absl::OkStatus();
  }

  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    return FullMerge(key, std::nullopt, operands, result).ok();
  }

 private:
  const std::string name_;
  const std::string delimiter_;
};

// In place of an operator that the options do not give: operands are kept as they are, and whoever
// must merge them, or add one, gets the error. All else in the family goes on.
class MissingOperator final : public MergeOperator {
 public:
  explicit MissingOperator(std::string_view name) : name_(name) {}
  std::string_view Name() const override { return name_; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    return CheckOperand(operands.front());
  }
  absl::Status CheckOperand(std::string_view operand) const override {
    // The program's to mend, by its options: nothing is wrong with what is stored.
    return absl::FailedPreconditionError(
        name_.empty() ? "the column family has no merge operator (option merge_operator)"
                      : absl::StrCat("the options do not give the merge operator '", name_, "'"));
  }

 private:
  const std::string name_;
};

// Merges nothing either; no PartialMerge, so that compactions keep the operands apart.
class StandInOperator final : public MergeOperator {
 public:
  explicit StandInOperator(std::string_view name) : name_(name) {}
  std::string_view Name() const override { return name_; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    return absl::FailedPreconditionError("this program does not have it");
  }

 private:
  const std::string name_;
};

}  // namespace

std::shared_ptr<const MergeOperator> MergeOperatorStandIn(std::string_view name) {
  return std::make_shared<const StandInOperator>(name);
}

std::shared_ptr<const MergeOperator> MissingMergeOperator(std::string_view name) {
  // Most families have none: they share one.
  static const auto& none = *new std::shared_ptr<const MergeOperator>(
      std::make_shared<const MissingOperator>(std::string_view()));
  return name.empty() ? none : std::make_shared<const MissingOperator>(name);
}

bool IsMissingMergeOperator(const MergeOperator& merge_operator) {
  return dynamic_cast<const MissingOperator*>(&merge_operator) != nullptr;
}

absl::StatusOr<std::shared_ptr<const MergeOperator>> ParseMergeOperator(std::string_view text) {
  using Result = std::shared_ptr<const MergeOperator>;
  if (text == "uint64_add") return Result(std::make_shared<AddOperator>("uint64_add"));
  if (text == "int64_add") return Result(std::make_shared<AddOperator>("int64_add"));
  if (text == "max") return Result(std::make_shared<ExtremeOperator>(true));
  if (text == "min") return Result(std::make_shared<ExtremeOperator>(false));
  // The delimiter is part of the name, and so recorded: another one would make other values of the
  // same operands.
  if (text.starts_with(kAppendPrefix)) {
    if (text.size() <= kAppendPrefix.size() + kMaxDelimiterBytes) {
      return Result(std::make_shared<AppendOperator>(text));
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "merge operator 'append:': a delimiter of ", text.size() - kAppendPrefix.size(),
        " bytes is over the limit of ", kMaxDelimiterBytes));
  }
  return absl::InvalidArgumentError(
      absl::StrCat("there is no built-in merge operator '", ShownText(text),
                   "'; there are uint64_add, int64_add, max, min and append:TEXT"));
}

}  // namespace winnow
