// The iterator over one SSTable. The class is final, so that a merge that knows the type pays for
// no virtual call.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_ITERATOR_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_ITERATOR_H_

#include <string_view>

#include "absl/status/status.h"
#include "engine/base/internal_iterator.h"
#include "engine/sstable/block_cursor.h"
#include "engine/sstable/index_cursor.h"
#include "engine/sstable/readahead_buffer.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// Keys and values live until the iterator is moved or destroyed. A block that cannot be read makes
// the iterator invalid with the error in status(); the next seek starts afresh.
class SstableIterator final : public InternalIterator {
 public:
  // `table` must outlive the iterator.
  SstableIterator(const SstableReader& table, const SstableReadOptions& options);
  ~SstableIterator() override;

  bool Valid() const override { return cursor_.Valid(); }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(std::string_view internal_key) override;
  void SeekForPrev(std::string_view internal_key) override;
  void Next() override {
    cursor_.Next();
    if (!cursor_.Valid()) [[unlikely]]
      EnterNextBlock();
  }
  void Prev() override {
    cursor_.Prev();
    if (!cursor_.Valid()) [[unlikely]]
      EnterPreviousBlock();
  }
  std::string_view key() const override { return cursor_.key(); }
  std::string_view value() const override { return cursor_.value(); }
  absl::Status status() const override { return status_; }

 private:
  using Direction = ReadaheadBuffer::Direction;

  // Load the data block under index_, if there is one and it is not there yet, into cursor_, which
  // stays invalid.
  bool LoadBlock(Direction direction);
  // False: the block is not one that is read in a mapped file.
  absl::StatusOr<bool> LoadMapped(const BlockHandle& handle, Direction direction);
  absl::Status LoadThroughCache(Direction direction);
  absl::Status LoadFromReadahead(const BlockHandle& handle, Direction direction);
  absl::StatusOr<BlockRef> LoadMissingBlock(const BlockHandle& handle, Direction direction);
  absl::StatusOr<BlockRef> CopyFromReadahead(const BlockHandle& handle, Direction direction,
                                             BlockArena* arena);
  // True if the block lies next to the one that was loaded last, in the direction of the walk.
  bool NoteLoad(const BlockHandle& handle, Direction direction);
  // Blocks are no longer loaded one after the other.
  void EndWalk();
  bool ReadsAhead() const;
  void EnterNextBlock();
  void EnterPreviousBlock();

  const SstableReader& table_;
  const SstableReadOptions options_;
  IndexCursor index_;
  BlockCursor cursor_;
  // The block that was loaded last, and where it is in the file; null: there is none.
  const char* contents_ = nullptr;
  uint64_t contents_offset_ = 0;
  BlockRef block_;  // keeps it, unless it lies in readahead_ or in the mapping
  ReadaheadBuffer readahead_;
  // Blocks loaded one after the other, but for the first, and where the next of them would start or
  // the last started.
  uint32_t sequential_loads_ = 0;
  uint64_t last_load_offset_ = 0;
  uint64_t last_load_end_ = 0;
  size_t automatic_readahead_bytes_ = 0;
  // Of a mapped file: what the system was told that will be read.
  uint64_t needed_from_ = 0;
  uint64_t needed_until_ = 0;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_ITERATOR_H_
