#include "engine/compaction/operand_chain.h"

#include <utility>

#include "engine/base/merge_context.h"
#include "engine/base/status.h"
#include "engine/base/write_time.h"
#include "filter/base/out_of_memory.h"
#include "winnow/options.h"

namespace winnow {

void OperandChain::Start(std::string_view user_key) {
  user_key_.assign(user_key);
  entries_.clear();
  bytes_ = 0;
  next_ = 0;
}

void OperandChain::Add(std::string_view internal_key, std::string_view value) {
  // Copied: the input moves on while the chain grows.
  entries_.push_back({std::string(internal_key), std::string(value)});
  bytes_ += sizeof(Entry) + internal_key.size() + value.size();
}

std::vector<std::string_view> OperandChain::OldestFirst(size_t count) const {
  std::vector<std::string_view> operands;
  operands.reserve(count);
  // Operators see operands in the order of their writes.
  for (size_t i = count; i > 0; i--) operands.push_back(entries_[i - 1].value);
  return operands;
}

// Under the newest one's sequence number: who sees that, and not something newer, sees them all.
void OperandChain::ReplaceBy(EntryType type, std::string value) {
  Entry newest = std::move(entries_.front());
  const SequenceNumber sequence = Sequence(newest.internal_key);
  std::string& key = newest.internal_key;
  // By its own length: bytes of equal keys can differ, and those of user_key_ are another entry's.
  EncodeFixed64(key.data() + key.size() - kTrailerBytes, PackTrailer(sequence, type));
  newest.value = std::move(value);
  entries_.clear();
  entries_.push_back(std::move(newest));
}

absl::Status OperandChain::MergeWhole() {
  size_t num_operands = entries_.size();
  std::optional<std::string_view> existing;
  const EntryType oldest = Type(entries_.back().internal_key);
  // The chain ended at this entry. A deletion is no value to merge with, and no operand either.
  if (oldest != EntryType::kMerge) num_operands--;
  if (oldest == EntryType::kPut) existing = entries_.back().value;
  // From before there were operands: nothing that has some expires.
  if (oldest == EntryType::kPutWithTime) {
    if (!HasWriteTime(entries_.back().value)) {
      return absl::DataLossError("entry of unknown type: a newer version of Winnow wrote it");
    }
    existing = WithoutWriteTime(entries_.back().value);
  }
  // Replaced at the end only: where the operator refuses, the entries are as they were. It may ask
  // for more memory for one key than there is, which must not keep all others in the memtable.
  std::string merged;
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    return MergeOperands(*operator_, user_key_, existing, OldestFirst(num_operands), &merged);
  }));
  ReplaceBy(EntryType::kPut, std::move(merged));
  return absl::OkStatus();
}

void OperandChain::Combine() {
  // One operand is what it would become.
  if (entries_.size() < 2) return;
  std::string combined;
  bool is_combined = false;
  UnlessOutOfMemory([&] {
    is_combined = CombineOperands(*operator_, user_key_, OldestFirst(entries_.size()), &combined);
  });
  if (!is_combined) return;
  ReplaceBy(EntryType::kMerge, std::move(combined));
}

}  // namespace winnow
