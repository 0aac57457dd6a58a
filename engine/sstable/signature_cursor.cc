#include "engine/sstable/signature_cursor.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

// It ends where the signatures do.
BlockHandle SignatureCursor::index_handle() const {
  const SstableFigures& figures = table_.figures_;
  return {figures.data_bytes + figures.signature_bytes - figures.signature_index_bytes,
          figures.signature_index_bytes - kBlockTrailerBytes};
}

// As elsewhere readahead means that the cache is left alone.
absl::StatusOr<BlockRef> SignatureCursor::Load(const BlockHandle& handle, BlockKind kind) const {
  if (options_.readahead_bytes == 0) return table_.LoadBlock(handle, kind, options_);
  BlockFile::ReadOptions read_options;
  read_options.verify_checksum = options_.verify_checksums;
  read_options.counters = options_.counters;
  return table_.file_.Read(handle, kind, read_options);
}

absl::Status SignatureCursor::Open() {
  const BlockHandle handle = index_handle();
  WINNOW_ASSIGN_OR_RETURN(index_pin_, Load(handle, BlockKind::kSignatureIndex));
  const char* error = index_.Decode(index_pin_.contents());
  // With this every block lies where signatures may lie.
  if (error == nullptr && index_.BlocksBytes() != table_.figures_.signature_bytes -
                                                      table_.figures_.signature_index_bytes) {
    error = "its blocks do not fill their part";
  }
  if (error != nullptr) return table_.file_.Corruption(handle, BlockKind::kSignatureIndex, error);
  PlaceBlocks();
  return absl::OkStatus();
}

void SignatureCursor::PlaceBlocks() {
  offsets_.clear();
  uint64_t offset = table_.figures_.data_bytes;
  for (const SignatureIndex::Block& block : index_.blocks) {
    offsets_.push_back(offset);
    offset += block.stored_bytes + kBlockTrailerBytes;
  }
}

BlockHandle SignatureCursor::block_handle(size_t block) const {
  return {offsets_[block], index_.blocks[block].stored_bytes};
}

absl::StatusOr<BlockRef> SignatureCursor::ReadBlock(size_t block) const {
  return Load(block_handle(block), BlockKind::kSignatures);
}

void SignatureCursor::Enter(size_t block) {
  block_ = block;
  groups_ = SignatureBlockCursor();
  if (block >= index_.blocks.size()) return;
  absl::StatusOr<BlockRef> loaded = ReadBlock(block);
  if (!loaded.ok()) {
    status_ = loaded.status();
    return;
  }
  block_pin_ = *std::move(loaded);
  groups_ = SignatureBlockCursor(block_pin_.contents());
}

// By the index to the block, and there one group after the other: a block has some hundreds.
void SignatureCursor::Seek(std::string_view group) {
  const auto found = std::partition_point(
      index_.blocks.begin(), index_.blocks.end(),
      [&](const SignatureIndex::Block& block) { return block.last_group < group; });
  Enter(static_cast<size_t>(found - index_.blocks.begin()));
  while (Valid() && groups_.group() < group) Next();
}

void SignatureCursor::Next() {
  groups_.Next();
  // No block is empty.
  if (!groups_.Valid() && block_ < index_.blocks.size()) Enter(block_ + 1);
}

// Those whose places an index in the cache tells; the others age out.
void SignatureCursor::EraseCachedBlocks() {
  ShardedBlockCache* const cache = table_.options_.cache;
  if (cache == nullptr) return;
  const BlockHandle handle = index_handle();
  index_pin_ = cache->Lookup({table_.table_id_, handle.offset});
  if (!index_pin_) return;
  if (index_.Decode(index_pin_.contents()) == nullptr) {
    PlaceBlocks();
    for (const uint64_t offset : offsets_) cache->Erase({table_.table_id_, offset});
  }
  cache->Erase({table_.table_id_, handle.offset});
}

}  // namespace winnow
