#include "engine/sstable/sstable_salvage.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/block_cursor.h"
#include "engine/sstable/data_block_scan.h"
#include "engine/sstable/range_tombstone_block.h"

namespace winnow {

namespace {

// In the table's own offsets. Properties say it exactly. A footer says where the block behind
// begins, which without a filter is the top index, and then partitions may lie before it, and
// before either signatures and key hashes: a search finds no data blocks in them. An index that is
// whole says it as well (FollowIndex). Without both it is where the file ends.
uint64_t DataEnd(const SstableFrame& frame, uint64_t file_bytes) {
  if (frame.properties.has_value()) return frame.properties->data_bytes;
  if (!frame.footer.has_value()) return frame.end_offset(file_bytes);
  return frame.footer->filter.exists() ? frame.footer->filter.offset : frame.footer->index.offset;
}

// Or may something else lie before that place?
bool KnowsDataEnd(const SstableFrame& frame) {
  if (frame.properties.has_value()) return true;
  return frame.footer.has_value() &&
         (frame.footer->filter.exists() || frame.footer->index_levels == 1);
}

}  // namespace

SstableSalvage::SstableSalvage(std::unique_ptr<RandomAccessFile> file, const std::string& path,
                               SstableFrame frame)
    : file_(std::move(file)),
      frame_(std::move(frame)),
      data_end_(DataEnd(frame_, file_->size())),
      moved_(ShiftedFile(*file_, frame_.shift, frame_.end_offset(file_->size())), path),
      unmoved_(ShiftedFile(*file_, 0, file_->size()), path) {
  moved_.set_file_id(frame_.file_id);
  unmoved_.set_file_id(frame_.file_id);
  moved_.set_trailer_offset(frame_.global_sequence << 8);
  unmoved_.set_trailer_offset(frame_.global_sequence << 8);
  if (!frame_.problem.empty()) problems_.push_back({0, frame_.problem});
}

// Data comes in the order of the file, and so of its keys: what indexes lead to, with a search in
// each gap between them, then a search from there to the end of the data.
absl::Status SstableSalvage::Run(const InternalKeyComparator& comparator, Take take) {
  comparator_ = &comparator;
  take_ = &take;
  position_ = frame_.data_start();
  TakeRangeTombstones();
  WINNOW_RETURN_IF_ERROR(FollowIndex());
  return SearchUpTo(data_end_);
}

// Lack of memory is no damage: the report must not call a sound table broken.
void SstableSalvage::PassOver(uint64_t offset, const absl::Status& status) {
  problems_.push_back({offset, std::string(status.message()), !absl::IsResourceExhausted(status)});
}

// Where the file has shifted the block may lie before or behind the place where it did. Checksums
// know offsets, so that at most one of the two is right.
absl::StatusOr<BlockRef> SstableSalvage::Read(const BlockHandle& handle, BlockKind kind) const {
  BlockFile::ReadOptions options;
  options.data_end = kind == BlockKind::kIndex && frame_.footer->index_levels == 2
                         ? frame_.footer->index.offset
                         : data_end_;
  absl::StatusOr<BlockRef> block = moved_.Read(handle, kind, options);
  if (block.ok() || frame_.shift == 0) return block;
  absl::StatusOr<BlockRef> unmoved = unmoved_.Read(handle, kind, options);
  return unmoved.ok() ? std::move(unmoved) : std::move(block);
}

// Their block is found by the footer, or by what the properties say of its size; not by a search.
void SstableSalvage::TakeRangeTombstones() {
  if (!frame_.footer.has_value() || !frame_.footer->range_tombstones.exists()) return;
  const BlockHandle& handle = frame_.footer->range_tombstones;
  absl::StatusOr<BlockRef> block = Read(handle, BlockKind::kRangeTombstones);
  if (!block.ok()) return PassOver(handle.offset, block.status());
  tombstone_block_ = *std::move(block);
  const char* const error =
      ReadRangeTombstoneBlock(tombstone_block_.contents(), *comparator_, &tombstones_);
  if (error == nullptr) return;
  tombstones_.clear();
  PassOver(handle.offset, moved_.Corruption(handle, BlockKind::kRangeTombstones, error));
}

absl::Status SstableSalvage::FollowIndex() {
  if (!frame_.footer.has_value() || !frame_.footer->index.exists()) return absl::OkStatus();
  const BlockHandle& top_handle = frame_.footer->index;
  const absl::StatusOr<BlockRef> top = Read(top_handle, BlockKind::kIndex);
  if (!top.ok()) {
    PassOver(top_handle.offset, top.status());
    return absl::OkStatus();
  }
  const IndexBlock index((*top)->data());
  // Behind the last block that it leads to is no other.
  const auto follow_last = [&](const IndexBlock& piece) -> absl::Status {
    WINNOW_RETURN_IF_ERROR(FollowPiece(piece));
    data_end_ = std::min(data_end_, piece.end_offset());
    return absl::OkStatus();
  };
  if (frame_.footer->index_levels == 1) return follow_last(index);
  for (uint32_t i = 0; i < index.size(); i++) {
    const BlockHandle handle = index.handle(i);
    const absl::StatusOr<BlockRef> piece = Read(handle, BlockKind::kIndexPartition);
    // The blocks of a partition that is gone are found from both sides.
    if (!piece.ok()) {
      PassOver(handle.offset, piece.status());
      continue;
    }
    const IndexBlock partition((*piece)->data());
    const bool is_last = i + 1 == index.size();
    WINNOW_RETURN_IF_ERROR(is_last ? follow_last(partition) : FollowPiece(partition));
  }
  return absl::OkStatus();
}

absl::Status SstableSalvage::FollowPiece(const IndexBlock& index) {
  // Blocks whose partition is lost lie before this one's, and their entries must come before.
  WINNOW_RETURN_IF_ERROR(SearchUpTo(index.first_offset()));
  for (uint32_t i = 0; i < index.size(); i++) {
    const BlockHandle handle = index.handle(i);
    const absl::StatusOr<BlockRef> block = Read(handle, BlockKind::kData);
    if (block.ok()) {
      WINNOW_RETURN_IF_ERROR(TakeEntries(handle.offset, *block));
    } else {
      PassOver(handle.offset, block.status());
    }
  }
  // Also past blocks that could not be read: the index says where they are, so that a search would
  // find nothing more of them.
  position_ = std::max(position_, index.end_offset());
  return absl::OkStatus();
}

absl::Status SstableSalvage::SearchUpTo(uint64_t end) {
  if (position_ >= end) return absl::OkStatus();
  // What has not moved lies before what has, and has the smaller keys.
  if (frame_.shift != 0) WINNOW_RETURN_IF_ERROR(SearchIn(unmoved_, end));
  WINNOW_RETURN_IF_ERROR(SearchIn(moved_, end));
  if (end < data_end_ || KnowsDataEnd(frame_)) NoteGap(end);
  position_ = end;
  return absl::OkStatus();
}

void SstableSalvage::NoteGap(uint64_t end) {
  if (position_ >= end) return;
  PassOver(position_,
           CorruptionError(moved_.path(), position_,
                           absl::StrCat("no data block for ", end - position_, " bytes")));
}

absl::Status SstableSalvage::SearchIn(const BlockFile& file, uint64_t end) {
  DataBlockScan scan(file, position_, end);
  for (;;) {
    BlockHandle handle;
    BlockRef block;
    WINNOW_ASSIGN_OR_RETURN(const bool found, scan.Next(&handle, &block));
    if (!found) break;
    // Where the next block begins the gap before it ends.
    NoteGap(handle.offset);
    WINNOW_RETURN_IF_ERROR(TakeEntries(handle.offset, block));
    position_ = handle.end();
  }
  problems_.insert(problems_.end(), scan.problems().begin(), scan.problems().end());
  return absl::OkStatus();
}

// A block is taken whole or not at all: its checksum covers all its entries.
absl::Status SstableSalvage::TakeEntries(uint64_t offset, const BlockRef& block) {
  BlockCursor cursor;
  cursor.Reset(block->data());
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    const std::string_view key = cursor.key();
    // What is taken will be written as a new table, whose builder refuses keys out of order, and
    // read by code that refuses unknown types: such entries are reported and left out here.
    if ((any_ && comparator_->Compare(last_key_, key) >= 0) ||
        !IsReadableEntry(Type(key), cursor.value())) {
      problems_.push_back({offset, "data block: an entry out of order, or of unknown type"});
      continue;
    }
    WINNOW_RETURN_IF_ERROR((*take_)(key, cursor.value()));
    last_key_.assign(key);
    any_ = true;
  }
  return absl::OkStatus();
}

}  // namespace winnow
