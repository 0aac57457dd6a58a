#include "engine/sstable/readahead_buffer.h"

#include <algorithm>
#include <new>

#include "engine/base/status.h"

namespace winnow {

void ReadaheadBuffer::Release() {
  pages_ = PageBuffer();
  heap_.reset();
  buffer_ = nullptr;
  capacity_ = 0;
  length_ = 0;
}

bool ReadaheadBuffer::Reserve(size_t bytes) {
  // Freed before the larger one is allocated, not after: nothing in it is kept.
  Release();
  if (in_pages_) {
    pages_ = PageBuffer(bytes + CachedBlock::kReadablePadding);
    buffer_ = pages_.data();
  } else {
    heap_.reset(new (std::nothrow) char[bytes + CachedBlock::kReadablePadding]);
    buffer_ = heap_.get();
  }
  // Without the padding, which is there whatever the piece.
  capacity_ = buffer_ == nullptr ? 0 : bytes;
  return buffer_ != nullptr;
}

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
    const bool is_in_failed = handle.offset < failed_end_ && handle.end() > failed_begin_;
    if (bytes > wanted && !is_in_failed) {
      if (direction == Direction::kForward) {
        last = std::min<uint64_t>(end_, first + bytes);
      } else {
        first = last - std::min<uint64_t>(last, bytes);
      }
    }
    size_t length = static_cast<size_t>(last - first);
    if (length > capacity_ && !Reserve(length)) {
      return absl::ResourceExhaustedError(
          absl::StrCat(file_.path(), ": no memory for ", length, " bytes"));
    }
    // A read that fails leaves an empty buffer, not the old piece under a new name.
    length_ = 0;
    absl::Status status = file_.ReadBytes(first, length, buffer_);
    if (!status.ok() && length > wanted) {
      // What is at fault may be a sector that only another block needs. A disk may take seconds to
      // give it up: no other read goes over it that need not.
      failed_begin_ = first;
      failed_end_ = last;
      first = handle.offset;
      last = handle.end();
      length = wanted;
      status = file_.ReadBytes(first, length, buffer_);
    }
    WINNOW_RETURN_IF_ERROR(status);
    // The next piece comes from the disk while this one is used. Where a file is walked backwards,
    // or in pieces that are still growing, nobody has said that it will be.
    const bool is_steady = in_pages_ || bytes >= kSteadyReadaheadBytes;
    if (is_steady && direction == Direction::kForward && last < end_ && last >= failed_end_) {
      file_.file().Prefetch(last, std::min<uint64_t>(end_ - last, length));
    }
    // Decoders may read, but never interpret, bytes beyond the block.
    std::fill_n(buffer_ + length, CachedBlock::kReadablePadding, '\0');
    start_ = first;
    length_ = length;
  }
  return std::string_view(buffer_ + (handle.offset - start_), wanted);
}

}  // namespace winnow
