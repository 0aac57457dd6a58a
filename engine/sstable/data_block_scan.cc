#include "engine/sstable/data_block_scan.h"

#include <algorithm>

#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/sstable/data_block.h"

namespace winnow {

namespace {

// Read from the file at a time.
constexpr uint64_t kBufferBytes = uint64_t{1} << 20;
// The end of a compressed block is searched for, at a price of up to the square of its length.
// Where a block is expected it may be large; elsewhere about as large as those before it, or as
// this.
constexpr uint64_t kLargestExpected = uint64_t{16} << 20;
constexpr uint64_t kLargestElsewhere = uint64_t{64} << 10;
// For all of a scan: bytes that were made to look like ends of blocks must not hold it up for ever.
// Once it is used up compressed blocks are no longer found.
constexpr uint64_t kHashBudgetBytes = uint64_t{16} << 30;  // seconds

}  // namespace

DataBlockScan::DataBlockScan(const BlockFile& file, uint64_t begin, uint64_t end)
    : file_(file),
      position_(begin),
      end_(std::min(end, file.size())),
      hash_budget_bytes_(kHashBudgetBytes) {}

// The view is good until the next call.
absl::StatusOr<std::string_view> DataBlockScan::BytesAhead(uint64_t length) {
  // A scan only moves forward, so that a buffer which ends too early is filled anew from here on.
  const uint64_t wanted = std::min(length, end_ - position_);
  if (position_ < buffer_offset_ || position_ + wanted > buffer_offset_ + buffer_.size()) {
    buffer_offset_ = position_;
    buffer_.resize(std::min(std::max(wanted, kBufferBytes), end_ - position_));
    WINNOW_ASSIGN_OR_RETURN(const size_t read,
                            file_.file().Read(position_, buffer_.size(), buffer_.data()));
    buffer_.resize(read);
  }
  return std::string_view(buffer_).substr(position_ - buffer_offset_);
}

// The header's numbers must add up, which those of other bytes hardly ever do; then the lengths of
// the values are summed.
absl::StatusOr<uint64_t> DataBlockScan::PlainSize(std::string_view ahead) {
  const uint64_t keys_end = DataBlockKeysEnd(ahead);
  if (keys_end == 0 || keys_end > std::min(end_ - position_, kMaxBlockContentsBytes)) return 0;
  WINNOW_ASSIGN_OR_RETURN(ahead, BytesAhead(keys_end));
  if (ahead.size() < keys_end) return 0;
  return DataBlockBytes(ahead.substr(0, keys_end));
}

absl::StatusOr<uint64_t> DataBlockScan::CompressedSize(std::string_view ahead,
                                                       uint64_t largest_length) {
  // What is compressed shrinks, so that its length bounds the search.
  const uint64_t length = DecodeFixed32(ahead.data());
  if (length < DataBlockLayout::kHeaderBytes || length > largest_length) return 0;
  WINNOW_ASSIGN_OR_RETURN(ahead, BytesAhead(length + kBlockTrailerBytes));
  const uint64_t last = std::min<uint64_t>(
      length, ahead.size() < kBlockTrailerBytes ? 0 : ahead.size() - kBlockTrailerBytes);
  // Contents are followed by type and checksum: each byte that can be a type may be the end. Of
  // random bytes that is 3 in 256, for each of which all before it are hashed.
  for (uint64_t size = sizeof(uint32_t) + 1; size <= last; size++) {
    const auto type = static_cast<uint8_t>(ahead[size]);
    if (type == 0 || type > static_cast<uint8_t>(Compression::kZstd)) continue;
    if (hash_budget_bytes_ < size) return 0;
    hash_budget_bytes_ -= size;
    if (BlockChecksum(ahead.substr(0, size), type, file_.file_id(), position_) ==
        DecodeFixed64(ahead.data() + size + 1)) {
      return size;
    }
  }
  return 0;
}

// Whatever was guessed, Read checks: a block that is taken is one.
absl::StatusOr<bool> DataBlockScan::TakeAt(uint64_t largest_length, BlockHandle* handle,
                                           BlockRef* block) {
  WINNOW_ASSIGN_OR_RETURN(const std::string_view ahead,
                          BytesAhead(DataBlockLayout::kHeaderBytes + kBlockTrailerBytes));
  if (ahead.size() < sizeof(uint32_t) + 1 + kBlockTrailerBytes) return false;
  WINNOW_ASSIGN_OR_RETURN(uint64_t size, PlainSize(ahead));
  if (size == 0) {
    // PlainSize may have moved the buffer, and with it what `ahead` points to.
    WINNOW_ASSIGN_OR_RETURN(const std::string_view again, BytesAhead(sizeof(uint32_t)));
    WINNOW_ASSIGN_OR_RETURN(size, CompressedSize(again, largest_length));
  }
  if (size == 0) return false;
  *handle = {position_, size};
  if (!handle->FitsBelow(end_)) return false;
  absl::StatusOr<BlockRef> read = file_.Read(*handle, BlockKind::kData, {});
  // A wrong guess looks like damage. Any other error says nothing about these bytes.
  if (IsCorruption(read.status())) return false;
  WINNOW_RETURN_IF_ERROR(read.status());
  *block = *std::move(read);
  return true;
}

// With the smaller bound: it is asked once for each table that a manifest knows.
absl::StatusOr<bool> DataBlockScan::StartsWithBlock() {
  BlockHandle handle;
  BlockRef block;
  return TakeAt(kLargestElsewhere, &handle, &block);
}

// Behind damage each byte may be where the next block begins.
absl::StatusOr<bool> DataBlockScan::Next(BlockHandle* handle, BlockRef* block) {
  for (; position_ < end_; position_++) {
    const uint64_t largest =
        behind_a_block_ ? kLargestExpected : std::max(kLargestElsewhere, 4 * largest_contents_);
    WINNOW_ASSIGN_OR_RETURN(behind_a_block_, TakeAt(largest, handle, block));
    if (!behind_a_block_) continue;
    largest_contents_ = std::max<uint64_t>(largest_contents_, (*block)->size());
    position_ = handle->end();
    return true;
  }
  return false;
}

}  // namespace winnow
