// Writes that say what changes, instead of what the value becomes: DB::Merge stores an operand, and
// the column family's operator makes the value of it when somebody reads.
//
//   options.merge_operator = *winnow::ParseMergeOperator("uint64_add");
//   db->Merge(winnow::WriteOptions(), "visits", one);   // a counter, without reading it first
//
// A key's value is made of the value that was put before, if there is one, and of the operands
// since, from the oldest to the newest. A deletion hides the operands before it, as it hides a
// value.
#ifndef WINNOW_MERGE_OPERATOR_H_
#define WINNOW_MERGE_OPERATOR_H_

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

// What operands mean to one column family. Its name is recorded when the family is created or
// opened with it, and stays: opening with another one, or with none, is refused.
//
// Implementations must be thread-safe, must not call into the database, and must give equal results
// for equal arguments at any time: readers, flushes and compactions each merge, in whatever groups
// they meet the operands. What they throw counts as the error, or the false, that they might have
// returned; std::bad_alloc is ResourceExhausted.
class MergeOperator {
 public:
  virtual ~MergeOperator() = default;

  // The name stored in the database, 1 to 255 bytes. Change it whenever operands change their
  // meaning. Names that ParseMergeOperator takes are for operators that do what the built-in ones
  // do, which whoever opens the database without an operator gets.
  virtual std::string_view Name() const = 0;

  // Makes a key's value: appends to `*result`, which is empty, what `operands`, oldest first and at
  // least one, make of `existing`, which is unset if the key was absent or deleted. An error is the
  // error of every read of this key, as FailedPrecondition with its message; it fails no other key,
  // and flushes and compactions keep the operands then. So do values over kMaxValueBytes.
  virtual absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                                 std::span<const std::string_view> operands,
                                 std::string* result) const = 0;

  // Makes one operand of several, oldest first and at least two, that follow each other: appended
  // to `*result`, which is empty. For every `existing`, FullMerge with it must give what it gives
  // with them. False (the default): they cannot be combined, and stay as they are until there is a
  // value to merge them with; then the time of a read, and the space on disk, grow with their
  // number. An operand that FullMerge would refuse must be answered with false.
  virtual bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                            std::string* result) const;

  // An error refuses the operand, and the whole batch with it, when it is written: InvalidArgument
  // with its message. Other writers wait meanwhile. OK (the default): all are taken.
  virtual absl::Status CheckOperand(std::string_view operand) const;
};

// The built-in operators by their names:
//
//   "uint64_add", "int64_add"  the sum of numbers of 8 bytes, little-endian. It wraps around at
//                              2^64, so that it does not depend on the order of merging; the two
//                              differ in nothing but what tools show
//   "max", "min"               the greatest or smallest of value and operands, as unsigned bytes
//                              compare
//   "append:TEXT"              value and operands one after the other, TEXT (0 to 64 bytes)
//                              between two of them: "append:," makes "a,b,c"
//
// Operands and values of another length than 8 bytes are refused by the sums: operands when they
// are written, values when somebody reads. InvalidArgument: no such operator.
absl::StatusOr<std::shared_ptr<const MergeOperator>> ParseMergeOperator(std::string_view text);

}  // namespace winnow

#endif  // WINNOW_MERGE_OPERATOR_H_
