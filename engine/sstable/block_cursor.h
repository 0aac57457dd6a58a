// Walks the entries of one data block, both ways, and puts their keys together.
#ifndef WINNOW_ENGINE_SSTABLE_BLOCK_CURSOR_H_
#define WINNOW_ENGINE_SSTABLE_BLOCK_CURSOR_H_

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "engine/base/internal_key.h"
#include "engine/sstable/data_block.h"

namespace winnow {

// Does not own the block. Copies into its key buffer run up to kReadableBytes beyond an entry, so
// that that many bytes behind the block must be readable.
class BlockCursor {
 public:
  static constexpr size_t kReadableBytes = 16;

  BlockCursor() : capacity_(kInitialCapacity), key_(new char[kInitialCapacity]) {}

  // Makes it invalid; the bytes satisfy DataBlockError.
  void Reset(const char* contents) {
    block_ = DataBlock(contents);
    Invalidate();
  }
  void Clear() { valid_ = false; }

  bool Valid() const { return valid_; }
  // The internal key; lives until the cursor moves.
  std::string_view key() const { return {key_.get(), user_key_bytes_ + kTrailerBytes}; }
  std::string_view value() const { return {value_, value_length_}; }
  const DataBlock& block() const { return block_; }

  void SeekToFirst() { MoveToRestart(0); }
  void SeekToLast() { MoveToIndex(block_.num_entries() - 1); }
  // To the first entry >= the internal key.
  void Seek(const InternalKeyComparator& comparator, std::string_view internal_key);

  void Next() {
    if (next_ == block_.end()) {
      valid_ = false;
      return;
    }
    value_ += value_length_;
    index_++;
    Load(next_);
  }
  void Prev() {
    if (index_ == 0) {
      valid_ = false;
      return;
    }
    MoveToIndex(index_ - 1);
  }

 private:
  static constexpr size_t kInitialCapacity = 128;

  void Invalidate() {
    valid_ = false;
    index_ = 0;
    value_length_ = 0;
  }
  void MoveToRestart(uint32_t restart);
  void MoveToIndex(uint32_t index);
  void Grow(size_t bytes);

  // The entry at `at`; the buffer holds the key before it, or the prefix that it shares.
  void Load(const char* at) {
    const BlockEntry entry = block_.EntryAt(at);
    user_key_bytes_ = size_t{entry.shared} + entry.unshared;
    if (user_key_bytes_ + kTrailerBytes + kReadableBytes > capacity_) [[unlikely]] {
      Grow(user_key_bytes_ + kTrailerBytes + kReadableBytes);
    }
    char* const out = key_.get() + entry.shared;
    if (entry.unshared <= kReadableBytes) [[likely]] {
      std::memcpy(out, entry.delta, kReadableBytes);
    } else {
      std::memcpy(out, entry.delta, entry.unshared);
    }
    EncodeFixed64(out + entry.unshared, entry.trailer);
    value_length_ = entry.value_length;
    next_ = entry.next;
    valid_ = true;
  }

  DataBlock block_;
  const char* next_ = nullptr;
  const char* value_ = nullptr;
  uint32_t value_length_ = 0;
  uint32_t index_ = 0;
  bool valid_ = false;
  size_t user_key_bytes_ = 0;
  size_t capacity_;
  std::unique_ptr<char[]> key_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_BLOCK_CURSOR_H_
