#include "engine/sstable/signature_builder.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/base/write_time.h"

namespace winnow {

// Deletions give no value, and hide nothing here: what they hide may lie in another table, and
// whoever finds a group reads it whole. An operand may make any value of what lies elsewhere.
void SignatureBuilder::Add(std::string_view internal_key, std::string_view value) {
  if (is_given_up_ || Type(internal_key) == EntryType::kDelete) return;
  if (Type(internal_key) == EntryType::kPutWithTime) value = WithoutWriteTime(value);
  SignedEntry entry;
  is_given_up_ = !IsPut(Type(internal_key)) || !parser_(UserKey(internal_key), value, &entry);
  if (is_given_up_) {
    finished_.clear();
    finished_bytes_ = 0;
    return;
  }
  if (!entry.has_value || !std::binary_search(fields_.begin(), fields_.end(), entry.field)) return;
  if (entry.group != group_) {
    EndGroup();
    group_.assign(entry.group);
  }
  signature_.Add(Signature(entry.field, entry.value, seed_));
}

void SignatureBuilder::EndGroup() {
  if (signature_.is_empty()) return;
  block_.Add(group_, signature_);
  signature_ = Signature();
  num_groups_++;
  if (block_.EstimatedBytes() >= block_bytes_) CutBlock();
}

void SignatureBuilder::CutBlock() {
  finished_.push_back({block_.Finish(), group_});
  finished_bytes_ += finished_.back().contents.size() + finished_.back().last_group.size();
}

absl::Status SignatureBuilder::Finish(WriteBlock write) {
  EndGroup();
  if (!block_.empty()) CutBlock();
  SignatureIndex index;
  index.seed = seed_;
  index.fields.assign(fields_.begin(), fields_.end());
  for (FinishedBlock& block : finished_) {
    WINNOW_ASSIGN_OR_RETURN(const BlockHandle handle, write(block.contents));
    // Written, it is of no more use; of the index the last groups are.
    std::string().swap(block.contents);
    index.blocks.push_back({handle.size, block.last_group});
  }
  return write(index.Encode()).status();
}

}  // namespace winnow
