// Reads a part of a file ahead of a sequential reader, in large pieces.
#ifndef WINNOW_ENGINE_SSTABLE_READAHEAD_BUFFER_H_
#define WINNOW_ENGINE_SSTABLE_READAHEAD_BUFFER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "absl/status/statusor.h"
#include "engine/base/page_buffer.h"
#include "engine/sstable/block_file.h"
#include "engine/sstable/format.h"

namespace winnow {

class ReadaheadBuffer {
 public:
  // A walk that has come to pieces of this size is taken to go on: the system fetches the next one
  // while this one is used.
  static constexpr size_t kSteadyReadaheadBytes = size_t{256} << 10;
  enum class Direction : uint8_t { kForward, kBackward };

  // Reads nothing at or beyond `end`. The file must outlive the buffer. `in_pages`: in memory
  // straight from the system, for readers of whole files (PageBuffer); from the heap it is had
  // sooner.
  ReadaheadBuffer(const BlockFile& file, uint64_t end, bool in_pages)
      : file_(file), end_(end), in_pages_(in_pages) {}

  bool Contains(const BlockHandle& handle) const {
    return handle.offset >= start_ && handle.end() <= start_ + length_;
  }

  // The stored bytes of a block, trailer included, followed by CachedBlock::kReadablePadding
  // readable bytes; they live until the next call. If they are not in the buffer, reads a piece of
  // about `bytes` that starts (kForward) or ends (kBackward) with the block. If that fails it reads
  // the block alone, and so all others of that piece.
  absl::StatusOr<std::string_view> Get(const BlockHandle& handle, BlockKind kind, size_t bytes,
                                       Direction direction);

  // Gives the memory back; the next Get takes as much as it needs.
  void Release();

 private:
  // False if there is no memory; the buffer is empty then.
  bool Reserve(size_t bytes);

  const BlockFile& file_;
  const uint64_t end_;
  const bool in_pages_;
  PageBuffer pages_;
  std::unique_ptr<char[]> heap_;
  char* buffer_ = nullptr;  // of one of the two
  size_t capacity_ = 0;
  uint64_t start_ = 0;  // file offset of the buffer's first byte
  size_t length_ = 0;
  // The last piece that could not be read; empty: none was.
  uint64_t failed_begin_ = 0;
  uint64_t failed_end_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_READAHEAD_BUFFER_H_
