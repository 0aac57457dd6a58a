// Walks the data blocks of a table in key order, through one or two levels of index.
#ifndef WINNOW_ENGINE_SSTABLE_INDEX_CURSOR_H_
#define WINNOW_ENGINE_SSTABLE_INDEX_CURSOR_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "engine/cache/cached_block.h"
#include "engine/sstable/block_directory.h"
#include "engine/sstable/format.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// Becomes invalid with status() set when an index partition cannot be read.
class IndexCursor {
 public:
  // `table` must outlive the cursor.
  IndexCursor(const SstableReader& table, const SstableReadOptions& options);

  bool Valid() const { return valid_; }
  const absl::Status& status() const { return status_; }
  // Of the data block.
  BlockHandle handle() const {
    return directory_ != nullptr ? directory_->handle(entry_) : index_.handle(entry_);
  }
  // handle().offset, from where a seek has just been.
  uint64_t offset() const {
    return directory_ != nullptr ? directory_->OffsetOf(entry_) : handle().offset;
  }
  // For readers of the data block: see BlockDirectory.
  void PrefetchBlock() const {
    if (directory_ != nullptr) directory_->PrefetchBlock(entry_);
  }
  void NoteBlock(const char* contents) {
    if (directory_ != nullptr) directory_->Note(entry_, contents);
  }
  void ForgetBlock() {
    if (directory_ != nullptr) directory_->Forget(entry_);
  }
  // Of the data block, as an internal key.
  std::string separator() const {
    return directory_ != nullptr ? directory_->separator(entry_) : index_.separator(entry_);
  }

  void SeekToFirst() { MoveTo(0, Place::kFirst); }
  void SeekToLast();
  // To the first data block that may hold a key >= `internal_key`.
  void Seek(std::string_view internal_key);
  void Next();
  void Prev();

 private:
  enum class Place : uint8_t { kFirst, kLast };

  // To the first or last data block below an entry of the top level of a partitioned index; for an
  // index of one level `top_entry` is 0.
  void MoveTo(uint32_t top_entry, Place place);
  // Of the lowest level.
  uint32_t num_entries() const {
    return directory_ != nullptr ? directory_->size() : index_.size();
  }
  // Makes index_ the lowest level below `top_entry`; false leaves the cursor invalid.
  bool LoadPartition(uint32_t top_entry);

  const SstableReader& table_;
  const SstableReadOptions options_;
  BlockDirectory* const directory_;  // the table's; may be null
  IndexBlock index_;                 // without one, the level that points to data blocks
  BlockRef partition_;
  uint32_t top_entry_ = 0;
  uint32_t entry_ = 0;
  bool valid_ = false;
  bool has_partition_ = false;  // index_ is the partition of top_entry_, and in partition_
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_INDEX_CURSOR_H_
