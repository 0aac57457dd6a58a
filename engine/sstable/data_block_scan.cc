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
// For all of a scan, in bytes that are read or hashed for wrong guesses: what was made to look like
// blocks must not hold it up for ever. Once it is used up no more blocks are found.
constexpr uint64_t kBudgetBytes = uint64_t{16} << 30;  // seconds
// Where a larger read fails: so much is lost of the file around a sector that cannot be read.
constexpr uint64_t kSmallReadBytes = 4096;

}  // namespace

DataBlockScan::DataBlockScan(const BlockFile& file, uint64_t begin, uint64_t end)
    : file_(file),
      position_(begin),
      end_(std::min(end, file.size())),
      budget_bytes_(kBudgetBytes),
      unreadable_begin_(end_),
      unreadable_end_(end_) {}

// The view is good until the next call.
absl::StatusOr<std::string_view> DataBlockScan::BytesAhead(uint64_t length) {
  // A scan only moves forward, so that a buffer which ends too early is filled anew from here on.
  const uint64_t readable = unreadable_begin_ - position_;
  const uint64_t wanted = std::min(length, readable);
  if (position_ < buffer_offset_ || position_ + wanted > buffer_offset_ + buffered_bytes_) {
    WINNOW_RETURN_IF_ERROR(FillBuffer(std::min(std::max(wanted, kBufferBytes), readable)));
  }
  return std::string_view(buffer_.data(), buffered_bytes_).substr(position_ - buffer_offset_);
}

// A read that fails is made again in small pieces, up to the one that is at fault. That one is
// remembered: a disk may take seconds to give up a sector.
absl::Status DataBlockScan::FillBuffer(uint64_t bytes) {
  buffer_offset_ = position_;
  buffered_bytes_ = 0;
  if (buffer_.size() < bytes) buffer_.resize(bytes);
  absl::StatusOr<size_t> read = file_.file().Read(position_, bytes, buffer_.data());
  if (absl::IsResourceExhausted(read.status())) return read.status();
  if (read.ok()) {
    buffered_bytes_ = *read;
    return absl::OkStatus();
  }
  while (buffered_bytes_ < bytes) {
    const uint64_t at = position_ + buffered_bytes_;
    const uint64_t piece =
        std::min(kSmallReadBytes - at % kSmallReadBytes, bytes - buffered_bytes_);
    read = file_.file().Read(at, piece, buffer_.data() + buffered_bytes_);
    if (absl::IsResourceExhausted(read.status())) return read.status();
    if (!read.ok()) {
      unreadable_begin_ = at;
      unreadable_end_ = at + piece;
      read_error_ = read.status();
      break;
    }
    buffered_bytes_ += *read;
    if (*read < piece) break;
  }
  return absl::OkStatus();
}

bool DataBlockScan::Spend(uint64_t bytes) {
  if (bytes <= budget_bytes_) {
    budget_bytes_ -= bytes;
    return true;
  }
  // For good: from here on only the smallest blocks would be found.
  if (budget_bytes_ > 0) {
    problems_.push_back({position_, "no data block is looked for: too much looks like one"});
  }
  budget_bytes_ = 0;
  return false;
}

// The header's numbers must add up, which those of other bytes hardly ever do; then the lengths of
// the values are summed.
absl::StatusOr<uint64_t> DataBlockScan::PlainSize(std::string_view ahead) {
  const uint64_t keys_end = DataBlockKeysEnd(ahead);
  if (keys_end == 0 || keys_end > std::min(end_ - position_, kMaxBlockContentsBytes)) return 0;
  if (!Spend(keys_end)) return 0;
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
    if (!Spend(size)) return 0;
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
    if (again.size() < sizeof(uint32_t)) return false;
    WINNOW_ASSIGN_OR_RETURN(size, CompressedSize(again, largest_length));
  }
  if (size == 0) return false;
  *handle = {position_, size};
  if (!handle->FitsBelow(end_) || !Spend(size)) return false;
  absl::StatusOr<BlockRef> read = file_.Read(*handle, BlockKind::kData, {});
  // A wrong guess looks like damage. Where the file cannot be read the search will come to the
  // piece, if it goes on from here.
  if (absl::IsResourceExhausted(read.status())) return read.status();
  if (!read.ok()) return false;
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
    if (position_ >= unreadable_begin_) {
      if (position_ < unreadable_end_) {
        // Once for pieces that adjoin.
        if (unreadable_begin_ != passed_over_until_) {
          problems_.push_back(ProblemOf(file_.path(), unreadable_begin_, read_error_));
        }
        position_ = passed_over_until_ = unreadable_end_;
      }
      unreadable_begin_ = unreadable_end_ = end_;
      if (position_ >= end_) break;
    }
    const uint64_t largest =
        behind_a_block_ ? kLargestExpected : std::max(kLargestElsewhere, 4 * largest_contents_);
    const uint64_t budget = budget_bytes_;
    WINNOW_ASSIGN_OR_RETURN(behind_a_block_, TakeAt(largest, handle, block));
    if (!behind_a_block_) continue;
    // A right guess costs as much as the block is large, and was no waste.
    budget_bytes_ = budget;
    largest_contents_ = std::max<uint64_t>(largest_contents_, (*block)->size());
    position_ = handle->end();
    return true;
  }
  return false;
}

}  // namespace winnow
