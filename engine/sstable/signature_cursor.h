// Walks the signatures of a table.
#ifndef WINNOW_ENGINE_SSTABLE_SIGNATURE_CURSOR_H_
#define WINNOW_ENGINE_SSTABLE_SIGNATURE_CURSOR_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/sstable/signature_block.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

// Used by one thread at a time; one block is in memory at a time, beside the index. The table
// outlives it, and has signatures.
class SignatureCursor {
 public:
  SignatureCursor(const SstableReader& table, const SstableReadOptions& options)
      : table_(table), options_(options) {}

  // Reads the index, which everything else needs. DataLoss: it is damaged; other errors are those
  // of the file.
  absl::Status Open();
  const SignatureIndex& index() const { return index_; }
  // Where the index is.
  BlockHandle index_handle() const;

  // To the first group that is not smaller. Not Valid() behind the last group, or with an error.
  void Seek(std::string_view group);
  void Next();
  bool Valid() const { return status_.ok() && groups_.Valid(); }
  // Both require Valid().
  std::string_view group() const { return groups_.group(); }
  const Signature& signature() const { return groups_.signature(); }
  const absl::Status& status() const { return status_; }

  // For tools that look at one block at a time: its place in the file, in order from 0, and its
  // groups.
  BlockHandle block_handle(size_t block) const;
  absl::StatusOr<BlockRef> ReadBlock(size_t block) const;

  // Takes what is in the cache out of it; no Open comes first.
  void EraseCachedBlocks();

 private:
  absl::StatusOr<BlockRef> Load(const BlockHandle& handle, BlockKind kind) const;
  // By the index: blocks lie one behind the other.
  void PlaceBlocks();
  void Enter(size_t block);

  const SstableReader& table_;
  const SstableReadOptions options_;
  BlockRef index_pin_;
  SignatureIndex index_;
  std::vector<uint64_t> offsets_;  // of the blocks
  size_t block_ = 0;
  BlockRef block_pin_;
  SignatureBlockCursor groups_;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SIGNATURE_CURSOR_H_
