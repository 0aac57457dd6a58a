#include "engine/sstable/block_cursor.h"

#include <algorithm>

namespace winnow {

// All of the old buffer is kept: the part of the key that the next entry shares lies in it.
void BlockCursor::Grow(size_t bytes) {
  const size_t capacity = std::max(bytes, capacity_ * 2);
  std::unique_ptr<char[]> key(new char[capacity]);
  std::memcpy(key.get(), key_.get(), capacity_);
  key_ = std::move(key);
  capacity_ = capacity;
}

void BlockCursor::MoveToRestart(uint32_t restart) {
  index_ = restart * block_.restart_interval();
  value_ = block_.RestartValue(restart);
  Load(block_.RestartEntry(restart));
}

// Entries can be read forwards only, from a restart: a step back costs on average half a restart
// interval of steps forward.
void BlockCursor::MoveToIndex(uint32_t index) {
  MoveToRestart(index / block_.restart_interval());
  while (index_ < index) Next();
}

void BlockCursor::Seek(const InternalKeyComparator& comparator, std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const BlockPosition position = block_.Seek(comparator, user_key, Trailer(internal_key));
  if (position.entry == block_.end()) {
    valid_ = false;
    return;
  }
  // Under another order a search compares whole keys, and equal keys may have other bytes than
  // those that were sought: the key is put together from its restart.
  if (!comparator.is_bytewise()) {
    MoveToIndex(position.index);
    return;
  }
  if (position.shared + kTrailerBytes > capacity_) Grow(position.shared + kTrailerBytes);
  // The search knows how many bytes the entry shares with its predecessor, all of which are bytes
  // of the sought key, so that the prefix is taken from there. Nothing before the entry is decoded
  // again.
  if (position.shared > 0) std::memcpy(key_.get(), user_key.data(), position.shared);
  index_ = position.index;
  value_ = position.value;
  Load(position.entry);
}

}  // namespace winnow
