#include "engine/sstable/readahead_buffer.h"

#include <algorithm>
#include <new>

#include "engine/base/status.h"

namespace winnow {

absl::StatusOr<std::string_view> ReadaheadBuffer::Get(const BlockHandle& handle, BlockKind kind,
                                                      size_t bytes, Direction direction) {
  if (!handle.FitsBelow(end_) || handle.size > kMaxBlockContentsBytes) {
    return file_.Corruption(handle, kind, "handle out of bounds");
  }
  // One buffer, of one contiguous piece. Blocks of an iterator come in order, so that a piece is
  // read, used up, and replaced; a block that straddles the piece's end is read again with the next
  // piece.
  const size_t wanted = handle.size + kBlockTrailerBytes;
  if (!Contains(handle)) {
    uint64_t first = handle.offset;
    uint64_t last = handle.end();
    if (bytes > wanted) {
      if (direction == Direction::kForward) {
        last = std::min<uint64_t>(end_, first + bytes);
      } else {
        first = last - std::min<uint64_t>(last, bytes);
      }
    }
    const size_t length = static_cast<size_t>(last - first);
    // Freed before the larger one is allocated, not after: nothing in it is kept.
    if (length > capacity_) {
      buffer_.reset(new (std::nothrow) char[length + CachedBlock::kReadablePadding]);
      capacity_ = buffer_ == nullptr ? 0 : length;
      length_ = 0;
      if (buffer_ == nullptr) {
        return absl::ResourceExhaustedError(
            absl::StrCat(file_.path(), ": no memory for ", length, " bytes"));
      }
    }
    // A read that fails leaves an empty buffer, not the old piece under a new name.
    length_ = 0;
    WINNOW_RETURN_IF_ERROR(file_.ReadBytes(first, length, buffer_.get()));
    // Decoders may read, but never interpret, bytes beyond the block.
    std::fill_n(buffer_.get() + length, CachedBlock::kReadablePadding, '\0');
    start_ = first;
    length_ = length;
  }
  return std::string_view(buffer_.get() + (handle.offset - start_), wanted);
}

}  // namespace winnow
