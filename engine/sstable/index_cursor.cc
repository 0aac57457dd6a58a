#include "engine/sstable/index_cursor.h"

namespace winnow {

// With one level in memory the top index is the one that points to data blocks, and the cursor
// copies the view.
IndexCursor::IndexCursor(const SstableReader& table, const SstableReadOptions& options)
    : table_(table), options_(options), directory_(table.directory_.get()) {
  if (table.index_is_whole_) index_ = table.index_;
}

// An index of one level that is not in memory is as one partition. It is pinned for as long as the
// cursor stands in it: index_ points into its block. An
// error leaves the cursor invalid with the reason; the next seek starts afresh.
bool IndexCursor::LoadPartition(uint32_t top_entry) {
  status_ = absl::OkStatus();
  valid_ = false;
  if (table_.index_is_whole_) return true;
  if (has_partition_ && top_entry == top_entry_) return true;
  has_partition_ = false;
  absl::StatusOr<BlockRef> block =
      table_.has_index_partitions()
          ? table_.LoadBlock(table_.index_.handle(top_entry), BlockKind::kIndexPartition, options_)
          : table_.LoadBlock(table_.footer_.index, BlockKind::kIndex, options_);
  if (!block.ok()) {
    status_ = block.status();
    return false;
  }
  partition_ = *std::move(block);
  index_ = IndexBlock(partition_->data());
  top_entry_ = top_entry;
  has_partition_ = true;
  return true;
}

// Past either end of the top level the cursor is invalid without error.
void IndexCursor::MoveTo(uint32_t top_entry, Place place) {
  if (table_.has_index_partitions() && top_entry >= table_.index_.size()) {
    status_ = absl::OkStatus();
    valid_ = false;
    return;
  }
  // Only an empty table has an empty index.
  if (!LoadPartition(top_entry) || num_entries() == 0) return;
  entry_ = place == Place::kFirst ? 0 : num_entries() - 1;
  valid_ = true;
}

void IndexCursor::SeekToLast() {
  const uint32_t tops = table_.index_.size();
  MoveTo(table_.has_index_partitions() && tops > 0 ? tops - 1 : 0, Place::kLast);
}

void IndexCursor::Seek(std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const uint64_t trailer = Trailer(internal_key);
  if (directory_ != nullptr) [[likely]] {
    entry_ = directory_->FindInLine(directory_->FindLine(user_key), user_key, trailer);
    valid_ = entry_ < directory_->size();
    return;
  }
  const InternalKeyComparator& comparator = table_.comparator();
  uint32_t top_entry = 0;
  if (table_.has_index_partitions()) {
    top_entry = table_.index_.Find(comparator, user_key, trailer);
    // Behind the last separator, which is behind every key.
    if (top_entry == table_.index_.size()) return MoveTo(top_entry, Place::kFirst);
  }
  if (!LoadPartition(top_entry)) return;
  // The top separator is that of the partition's last entry, so the entry exists; the check is for
  // files that claim otherwise.
  entry_ = index_.Find(comparator, user_key, trailer);
  valid_ = entry_ < index_.size();
}

// Within a partition a step is an addition; crossing into the next one reads a block.
void IndexCursor::Next() {
  if (++entry_ < num_entries()) return;
  valid_ = false;
  if (table_.has_index_partitions()) MoveTo(top_entry_ + 1, Place::kFirst);
}

void IndexCursor::Prev() {
  if (entry_ > 0) {
    entry_--;
    return;
  }
  valid_ = false;
  if (table_.has_index_partitions() && top_entry_ > 0) MoveTo(top_entry_ - 1, Place::kLast);
}

}  // namespace winnow
