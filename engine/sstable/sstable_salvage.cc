#include "engine/sstable/sstable_salvage.h"

#include "engine/base/status.h"
#include "engine/sstable/block_cursor.h"

namespace winnow {

// Salvage takes what the index leads to. A damaged data block costs its own entries, a damaged
// partition those of all its blocks; what the top index cannot reach is lost, since data blocks
// carry no mark by which a search of the file could find them.
absl::Status SstableSalvage::Run(Take take) {
  if (!table_.has_index_partitions()) return ReadIndex(table_.index_, take);
  BlockFile::ReadOptions options;
  options.data_end = table_.properties_.data_bytes;
  for (uint32_t i = 0; i < table_.index_.size(); i++) {
    const BlockHandle handle = table_.index_.handle(i);
    const absl::StatusOr<BlockRef> block =
        table_.file_.Read(handle, BlockKind::kIndexPartition, options);
    if (!block.ok()) {
      PassOver(handle, block.status());
      continue;
    }
    WINNOW_RETURN_IF_ERROR(ReadIndex(IndexBlock((*block)->data()), take));
  }
  return absl::OkStatus();
}

// Lack of memory is no damage: the report must not call a sound table broken.
void SstableSalvage::PassOver(const BlockHandle& handle, const absl::Status& status) {
  problems_.push_back(
      {handle.offset, std::string(status.message()), !absl::IsResourceExhausted(status)});
}

absl::Status SstableSalvage::ReadIndex(const IndexBlock& index, Take take) {
  for (uint32_t i = 0; i < index.size(); i++) {
    WINNOW_RETURN_IF_ERROR(ReadBlock(index.handle(i), take));
  }
  return absl::OkStatus();
}

// A block is taken whole or not at all: its checksum covers all its entries.
absl::Status SstableSalvage::ReadBlock(const BlockHandle& handle, Take take) {
  const absl::StatusOr<BlockRef> block = table_.file_.Read(handle, BlockKind::kData, {});
  if (!block.ok()) {
    PassOver(handle, block.status());
    return absl::OkStatus();
  }
  BlockCursor cursor;
  cursor.Reset((*block)->data());
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    const std::string_view key = cursor.key();
    // What is taken will be written as a new table, whose builder refuses keys out of order, and
    // read by code that refuses unknown types: such entries are reported and left out here.
    if ((any_ && table_.comparator().Compare(last_key_, key) >= 0) ||
        static_cast<uint8_t>(Type(key)) > kMaxKnownEntryType) {
      problems_.push_back({handle.offset, "data block: an entry out of order, or of unknown type"});
      continue;
    }
    WINNOW_RETURN_IF_ERROR(take(key, cursor.value()));
    last_key_.assign(key);
    any_ = true;
  }
  return absl::OkStatus();
}

}  // namespace winnow
