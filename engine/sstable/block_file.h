// Reads blocks of one SSTable file and checks them.
#ifndef WINNOW_ENGINE_SSTABLE_BLOCK_FILE_H_
#define WINNOW_ENGINE_SSTABLE_BLOCK_FILE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/cache/cached_block.h"
#include "engine/file_system/shared_path.h"
#include "engine/sstable/format.h"
#include "winnow/compression.h"
#include "winnow/file_system.h"

namespace winnow {

// Thread-safe once its identity is set.
class BlockFile {
 public:
  BlockFile(std::unique_ptr<RandomAccessFile> file, SharedPath path)
      : file_(std::move(file)), path_(std::move(path)) {}

  // From the footer: what the blocks' checksums were made with.
  void set_file_id(uint64_t file_id) { file_id_ = file_id; }
  uint64_t file_id() const { return file_id_; }
  // Added to the trailers of all keys in data blocks, in memory alone. To be set before any is
  // read.
  void set_trailer_offset(uint64_t offset) { trailer_offset_ = offset; }
  uint64_t size() const { return file_->size(); }
  std::string path() const { return path_.ToString(); }
  RandomAccessFile& file() const { return *file_; }

  // Reads exactly `length` bytes. DataLoss if the file ends before.
  absl::Status ReadBytes(uint64_t offset, size_t length, char* buffer) const;

  struct ReadOptions {
    bool verify_checksum = true;
    ReadCounters* counters = nullptr;  // may be null
    uint64_t data_end = 0;             // index blocks: their blocks must lie below
    BlockArena* arena = nullptr;       // where the result is allocated; may be null
    std::string_view mapped;           // the whole file in memory; empty: it is read
  };

  // Reads, checks and decompresses a block into memory of its own. The structure of data and index
  // blocks is checked always, so that their readers need not.
  absl::StatusOr<BlockRef> Read(const BlockHandle& handle, BlockKind kind,
                                const ReadOptions& options) const;

  // The two halves of Read, for who reads by another way than Read of the file. First: room for
  // the stored bytes, trailer included, of a block that the file may have.
  absl::StatusOr<BlockRef> RoomForStored(const BlockHandle& handle, BlockKind kind,
                                         BlockArena* arena) const;
  // Second: the block of these bytes, checked and decompressed.
  absl::StatusOr<BlockRef> FromStored(BlockRef block, const BlockHandle& handle, BlockKind kind,
                                      const ReadOptions& options) const;

  // The same for a block whose stored bytes, trailer included, the caller has read. Contents that
  // need no change, being neither compressed nor with trailers to be offset, are not copied:
  // `*contents` then points into `stored`, and the handle is empty.
  absl::StatusOr<BlockRef> Unwrap(std::string_view stored, const BlockHandle& handle,
                                  BlockKind kind, const ReadOptions& options,
                                  std::string_view* contents) const;

  // "PATH: at offset N: KIND: REASON", DataLoss.
  absl::Status Corruption(const BlockHandle& handle, BlockKind kind, std::string_view reason) const;

  // The checks alone: checksum, then the type, which may be null.
  absl::Status CheckTrailer(std::string_view stored, const BlockHandle& handle, BlockKind kind,
                            bool verify_checksum, Compression* compression) const;

 private:
  absl::Status CheckBounds(const BlockHandle& handle, BlockKind kind) const;
  absl::Status CheckStructure(std::string_view contents, const BlockHandle& handle, BlockKind kind,
                              const ReadOptions& options) const;
  absl::StatusOr<BlockRef> Copy(std::string_view contents, const BlockHandle& handle,
                                BlockArena* arena) const;
  void OffsetTrailers(BlockKind kind, BlockRef* block) const;
  absl::StatusOr<BlockRef> CopyMapped(const BlockHandle& handle, BlockKind kind,
                                      const ReadOptions& options) const;
  absl::StatusOr<BlockRef> Decompress(std::string_view stored_contents, Compression compression,
                                      const BlockHandle& handle, BlockKind kind,
                                      BlockArena* arena) const;

  std::unique_ptr<RandomAccessFile> file_;
  SharedPath path_;
  uint64_t file_id_ = 0;
  uint64_t trailer_offset_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_BLOCK_FILE_H_
