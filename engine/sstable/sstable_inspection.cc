// What a table holds, at a glance: its blocks, its problems, its filter's measured rate, where its
// bytes lie.
#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/sstable/block_cursor.h"
#include "engine/sstable/index_cursor.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/signature_cursor.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/sstable/sstable_verifier.h"

namespace winnow {

namespace {

// The splitmix64 generator (Steele, Lea and Flood, OOPSLA 2014).
uint64_t NextRandom(uint64_t* state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// For blocks that are never compressed, and as a start for those that may be.
SstableBlockInfo StoredBlockInfo(BlockKind kind, const BlockHandle& handle) {
  SstableBlockInfo info;
  info.kind = kind;
  info.offset = handle.offset;
  info.stored_bytes = handle.size + kBlockTrailerBytes;
  info.contents_bytes = handle.size;
  return info;
}

// Of a block that was read. The compression is read from the trailer again: Read returns contents
// only.
absl::StatusOr<SstableBlockInfo> ReadBlockInfo(const BlockFile& file, BlockKind kind,
                                               const BlockHandle& handle, const BlockRef& block) {
  SstableBlockInfo info = StoredBlockInfo(kind, handle);
  char type;
  WINNOW_RETURN_IF_ERROR(file.ReadBytes(handle.offset + handle.size, 1, &type));
  info.compression = static_cast<Compression>(type);
  info.contents_bytes = block->size();
  return info;
}

absl::StatusOr<SstableBlockInfo> DataBlockInfo(const BlockFile& file, const BlockHandle& handle) {
  WINNOW_ASSIGN_OR_RETURN(const BlockRef block, file.Read(handle, BlockKind::kData, {}));
  WINNOW_ASSIGN_OR_RETURN(SstableBlockInfo info,
                          ReadBlockInfo(file, BlockKind::kData, handle, block));
  BlockCursor cursor;
  cursor.Reset(block->data());
  info.num_entries = cursor.block().num_entries();
  cursor.SeekToFirst();
  info.first_key = std::string(cursor.key());
  cursor.SeekToLast();
  info.last_key = std::string(cursor.key());
  return info;
}

absl::Status VisitSignatures(const SstableReader& table, const BlockFile& file,
                             const SstableReadOptions& options,
                             absl::FunctionRef<void(const SstableBlockInfo&)> visit) {
  SignatureCursor cursor(table, options);
  WINNOW_RETURN_IF_ERROR(cursor.Open());
  const size_t num_blocks = cursor.index().blocks.size();
  for (size_t i = 0; i < num_blocks; i++) {
    WINNOW_ASSIGN_OR_RETURN(const BlockRef block, cursor.ReadBlock(i));
    WINNOW_ASSIGN_OR_RETURN(SstableBlockInfo info, ReadBlockInfo(file, BlockKind::kSignatures,
                                                                 cursor.block_handle(i), block));
    info.num_entries = SignatureBlockCursor(block.contents()).num_groups();
    visit(info);
  }
  const BlockHandle handle = cursor.index_handle();
  WINNOW_ASSIGN_OR_RETURN(const BlockRef block, file.Read(handle, BlockKind::kSignatureIndex, {}));
  WINNOW_ASSIGN_OR_RETURN(SstableBlockInfo info,
                          ReadBlockInfo(file, BlockKind::kSignatureIndex, handle, block));
  info.num_entries = num_blocks;
  visit(info);
  return absl::OkStatus();
}

// Where they lie and how many there are is known without reading them.
void VisitKeyHashes(const KeyHashLayout& layout,
                    absl::FunctionRef<void(const SstableBlockInfo&)> visit) {
  for (uint64_t i = 0; i < layout.num_blocks(); i++) {
    SstableBlockInfo info = StoredBlockInfo(BlockKind::kKeyHashes, layout.handle(i));
    info.num_entries = layout.hashes_in(i);
    visit(info);
  }
}

}  // namespace

// In the order of the file. Data blocks are read from it and not from the cache, which knows
// nothing of their stored form; a tool's walk puts nothing into the cache either.
absl::Status SstableReader::ForEachBlock(
    absl::FunctionRef<void(const SstableBlockInfo&)> visit) const {
  SstableBlockInfo header_info;
  header_info.kind = BlockKind::kHeader;
  header_info.stored_bytes = header_info.contents_bytes = footer_.header_bytes;
  visit(header_info);
  SstableReadOptions options;
  options.fill_cache = false;
  IndexCursor cursor(*this, options);
  for (cursor.SeekToFirst(); cursor.Valid(); cursor.Next()) {
    WINNOW_ASSIGN_OR_RETURN(const SstableBlockInfo info, DataBlockInfo(file_, cursor.handle()));
    visit(info);
  }
  WINNOW_RETURN_IF_ERROR(cursor.status());
  if (has_signatures()) {
    WINNOW_RETURN_IF_ERROR(VisitSignatures(*this, file_, options, visit));
  }
  if (has_key_hashes()) VisitKeyHashes(key_hash_layout(), visit);
  if (footer_.filter.exists()) visit(StoredBlockInfo(BlockKind::kFilter, footer_.filter));
  if (has_index_partitions()) {
    for (uint32_t i = 0; i < index_.size(); i++) {
      const BlockHandle handle = index_.handle(i);
      SstableBlockInfo info = StoredBlockInfo(BlockKind::kIndexPartition, handle);
      WINNOW_ASSIGN_OR_RETURN(const BlockRef block,
                              LoadBlock(handle, BlockKind::kIndexPartition, options));
      info.num_entries = IndexBlock(block->data()).size();
      visit(info);
    }
  }
  SstableBlockInfo index_info = StoredBlockInfo(BlockKind::kIndex, footer_.index);
  WINNOW_RETURN_IF_ERROR(
      WithTopIndex([&](const auto& index) { index_info.num_entries = index.size(); }));
  visit(index_info);
  if (footer_.range_tombstones.exists()) {
    SstableBlockInfo info = StoredBlockInfo(BlockKind::kRangeTombstones, footer_.range_tombstones);
    info.num_entries = tombstones_->index.num_fragments();
    visit(info);
  }
  if (footer_.range_filter.exists()) {
    visit(StoredBlockInfo(BlockKind::kRangeFilter, footer_.range_filter));
  }
  visit(StoredBlockInfo(BlockKind::kProperties, footer_.properties));
  SstableBlockInfo footer_info;
  footer_info.kind = BlockKind::kFooter;
  footer_info.offset = file_.size() - kFooterBytes;
  footer_info.stored_bytes = kFooterBytes;
  footer_info.contents_bytes = kFooterBytes;
  visit(footer_info);
  return absl::OkStatus();
}

// Of the top index alone: partitions are about equally large, and would have to be read.
std::vector<SstableAnchor> SstableReader::Anchors(size_t most) const {
  std::vector<SstableAnchor> anchors;
  const absl::Status status = WithTopIndex([&](const auto& index) {
    const uint64_t size = index.size();
    const uint64_t count = std::min<uint64_t>(size, most);
    uint64_t first = 0;  // entry that no anchor stands for yet
    for (uint64_t i = 1; i <= count; i++) {
      const uint64_t end = size * i / count;
      const std::string separator = index.separator(static_cast<uint32_t>(end - 1));
      // Blocks are taken to be equally large: no more than `most` separators are looked at, and no
      // data.
      anchors.push_back(
          {std::string(UserKey(separator)), figures_.data_bytes / size * (end - first)});
      first = end;
    }
  });
  status.IgnoreError();  // without an index there are none
  return anchors;
}

std::vector<SstableProblem> SstableReader::Verify(KeyTimeParser key_time_parser,
                                                  SignedEntryParser signed_entry_parser) const {
  return SstableVerifier(*this, key_time_parser, signed_entry_parser).Run();
}

// Hashes instead of keys: what a filter sees of an absent key is a uniformly random hash. A random
// hash is that of a member with probability n / 2^64, which no sample can notice.
double SstableReader::SampleFalsePositiveRate(uint64_t probes, uint64_t seed) const {
  if (probes == 0) return 0;
  uint64_t passed = 0;
  for (uint64_t i = 0; i < probes; i++) {
    const uint64_t hash = NextRandom(&seed);
    const bool may_contain =
        filter_.MayContain(hash) && (units_ == nullptr || units_->MayContain(hash));
    passed += may_contain ? 1 : 0;
  }
  return static_cast<double>(passed) / static_cast<double>(probes);
}

}  // namespace winnow
