// Merge operands of one key that follow each other in a flush or compaction, and what becomes of
// them.
#ifndef WINNOW_ENGINE_COMPACTION_OPERAND_CHAIN_H_
#define WINNOW_ENGINE_COMPACTION_OPERAND_CHAIN_H_

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/internal_key.h"
#include "winnow/merge_operator.h"

namespace winnow {

// Collects entries of one key that all readers see alike, newest first: operands, and what they are
// merged with, if that comes. Then it gives what has to be written instead, newest first.
class OperandChain {
 public:
  // The operator must outlive it.
  explicit OperandChain(const MergeOperator* merge_operator) : operator_(merge_operator) {}

  void Start(std::string_view user_key);
  void Add(std::string_view internal_key, std::string_view value);
  // So much that no more should be collected.
  bool IsFull() const { return bytes_ >= kMaxBytes; }
  size_t size() const { return entries_.size(); }

  // Makes one value of all, and keeps them as they are if the operator refuses, whose error it
  // gives. The last entry that was added is a value, a deletion, or, if there is nothing older, an
  // operand.
  absl::Status MergeWhole();
  // Makes one operand of all, which are operands, where the operator can.
  void Combine();

  // What is to be written, from the newest on.
  bool has_output() const { return next_ < entries_.size(); }
  std::string_view key() const { return entries_[next_].internal_key; }
  std::string_view value() const { return entries_[next_].value; }
  void NextOutput() { next_++; }

 private:
  // More than this is left in pieces, so that one key's operands cannot take all memory.
  static constexpr size_t kMaxBytes = size_t{32} << 20;

  struct Entry {
    std::string internal_key;
    std::string value;
  };

  std::vector<std::string_view> OldestFirst(size_t count) const;
  void ReplaceBy(EntryType type, std::string value);

  const MergeOperator* const operator_;
  std::string user_key_;
  std::vector<Entry> entries_;  // newest first
  size_t bytes_ = 0;
  size_t next_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_OPERAND_CHAIN_H_
