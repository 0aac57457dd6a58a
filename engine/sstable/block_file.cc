#include "engine/sstable/block_file.h"

#include <cstring>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/sstable/block_compression.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/index_block.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/signature_block.h"

namespace winnow {

namespace {

void CountRead(BlockKind kind, size_t bytes, ReadCounters* counters) {
  if (counters == nullptr) return;
  counters->bytes_read.Add(bytes);
  // Whoever counts reads blocks of data, index, signatures and key hashes alone.
  switch (kind) {
    case BlockKind::kData:
      return counters->data_blocks_read.Increment();
    case BlockKind::kSignatures:
    case BlockKind::kSignatureIndex:
      return counters->signature_blocks_read.Increment();
    case BlockKind::kKeyHashes:
      return;  // who reads them wants the bytes alone
    default:
      return counters->index_blocks_read.Increment();
  }
}

}  // namespace

absl::Status BlockFile::Corruption(const BlockHandle& handle, BlockKind kind,
                                   std::string_view reason) const {
  return CorruptionError(path(), handle.offset,
                         ToStd(absl::StrCat(ToAbsl(BlockKindName(kind)), ": ", ToAbsl(reason))));
}

// A short read is damage here, not an I/O error: handles lie inside of the size that the file had
// when it was opened, so the file has lost bytes since.
absl::Status BlockFile::ReadBytes(uint64_t offset, size_t length, char* buffer) const {
  WINNOW_ASSIGN_OR_RETURN(const size_t read, file_->Read(offset, length, buffer));
  if (read != length) {
    return CorruptionError(path(), offset,
                           absl::StrCat("file ends after ", read, " of ", length, " bytes"));
  }
  return absl::OkStatus();
}

//   handle.offset                     handle.offset + handle.size
//   | stored contents (handle.size)   | type (1) | checksum (8) |
//
// The checksum covers the stored contents, the type, and, through its seed, the file's identity and
// the offset: a right block in a wrong place is found as surely as a wrong one.
absl::Status BlockFile::CheckTrailer(std::string_view stored, const BlockHandle& handle,
                                     BlockKind kind, bool verify_checksum,
                                     Compression* compression) const {
  const std::string_view contents = stored.substr(0, handle.size);
  const char* const trailer = stored.data() + handle.size;
  const uint8_t type = static_cast<uint8_t>(trailer[0]);
  if (verify_checksum) {
    const uint64_t expected = DecodeFixed64(trailer + 1);
    const uint64_t actual = BlockChecksum(contents, type, file_id_, handle.offset);
    if (!ChecksumsMatch(expected, actual)) [[unlikely]] {
      return Corruption(handle, kind,
                        absl::StrCat("checksum ", absl::Hex(actual, absl::kZeroPad16), " expected ",
                                     absl::Hex(expected, absl::kZeroPad16)));
    }
  }
  if (type > static_cast<uint8_t>(Compression::kZstd)) {
    return Corruption(handle, kind, absl::StrCat("unknown compression type ", type));
  }
  *compression = static_cast<Compression>(type);
  return absl::OkStatus();
}

// Once for each read rather than once for each use. A checksum proves that the bytes are those that
// were written; it does not prove that the writer was ours, or that checksums are verified at all.
// After this check, cursors and searches follow offsets and lengths without bounds checks.
//
// Filter and properties blocks, and signature indexes, are checked by those who decode them.
absl::Status BlockFile::CheckStructure(std::string_view contents, const BlockHandle& handle,
                                       BlockKind kind, const ReadOptions& options) const {
  const char* error = nullptr;
  if (kind == BlockKind::kData) {
    error = DataBlockError(contents);
  } else if (kind == BlockKind::kIndex || kind == BlockKind::kIndexPartition) {
    error = IndexBlockError(contents, options.data_end);
  } else if (kind == BlockKind::kSignatures) {
    error = SignatureBlockError(contents);
  } else if (kind == BlockKind::kKeyHashes) {
    error = KeyHashBlockError(contents);
  }
  return error == nullptr ? absl::OkStatus() : Corruption(handle, kind, error);
}

// The length is known before the codec runs, so that the result is allocated once, in its final
// place.
absl::StatusOr<BlockRef> BlockFile::Decompress(std::string_view stored_contents,
                                               Compression compression, const BlockHandle& handle,
                                               BlockKind kind, BlockArena* arena) const {
  uint64_t length;
  if (!UncompressedLength(compression, stored_contents, &length)) {
    return Corruption(handle, kind, "impossible uncompressed length");
  }
  BlockRef block = CachedBlock::Allocate(length, arena);
  if (!block) {
    return absl::ResourceExhaustedError(absl::StrCat(path(), ": no memory for a block of ", length,
                                                     " bytes at offset ", handle.offset));
  }
  const absl::StatusOr<bool> decompressed =
      DecompressBlock(compression, stored_contents, block.mutable_block()->mutable_data(), length);
  if (!decompressed.ok()) return WithContext(decompressed.status(), path());
  if (!*decompressed) {
    return Corruption(
        handle, kind,
        absl::StrCat("cannot be decompressed (", ToAbsl(CompressionName(compression)), ")"));
  }
  return block;
}

// The handle comes from an index or a footer that was checked for structure, not for truth: it must
// lie in the file and be of a possible size before memory is taken for it.
absl::Status BlockFile::CheckBounds(const BlockHandle& handle, BlockKind kind) const {
  if (handle.FitsBelow(size()) && handle.size <= kMaxBlockContentsBytes) return absl::OkStatus();
  return Corruption(handle, kind, "handle out of bounds");
}

absl::StatusOr<BlockRef> BlockFile::RoomForStored(const BlockHandle& handle, BlockKind kind,
                                                  BlockArena* arena) const {
  WINNOW_RETURN_IF_ERROR(CheckBounds(handle, kind));
  const size_t stored_bytes = handle.size + kBlockTrailerBytes;
  BlockRef block = CachedBlock::Allocate(stored_bytes, arena);
  if (block) return block;
  return absl::ResourceExhaustedError(
      absl::StrCat(path(), ": no memory for ", stored_bytes, " bytes at offset ", handle.offset));
}

// Contents and trailer are read with one call into the block itself, and the trailer is cut off
// after it has been checked: a block that is stored plain is never copied.
absl::StatusOr<BlockRef> BlockFile::Read(const BlockHandle& handle, BlockKind kind,
                                         const ReadOptions& options) const {
  if (!options.mapped.empty()) {
    WINNOW_RETURN_IF_ERROR(CheckBounds(handle, kind));
    return CopyMapped(handle, kind, options);
  }
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, RoomForStored(handle, kind, options.arena));
  WINNOW_RETURN_IF_ERROR(
      ReadBytes(handle.offset, block->size(), block.mutable_block()->mutable_data()));
  return FromStored(std::move(block), handle, kind, options);
}

absl::StatusOr<BlockRef> BlockFile::FromStored(BlockRef block, const BlockHandle& handle,
                                               BlockKind kind, const ReadOptions& options) const {
  CountRead(kind, block->size(), options.counters);
  Compression compression;
  WINNOW_RETURN_IF_ERROR(
      CheckTrailer(block.contents(), handle, kind, options.verify_checksum, &compression));
  block.mutable_block()->Shrink(handle.size);
  // The stored form is freed here, when `block` takes the decompressed one.
  if (compression != Compression::kNone) {
    WINNOW_ASSIGN_OR_RETURN(block,
                            Decompress(block.contents(), compression, handle, kind, options.arena));
  }
  WINNOW_RETURN_IF_ERROR(CheckStructure(block.contents(), handle, kind, options));
  OffsetTrailers(kind, &block);
  return block;
}

// All trailers of a block count from its base: with that, one number gives each of its keys another
// sequence number, and whoever reads the block from the cache finds it done.
void BlockFile::OffsetTrailers(BlockKind kind, BlockRef* block) const {
  if (trailer_offset_ == 0 || kind != BlockKind::kData) return;
  char* const base = block->mutable_block()->mutable_data() + DataBlockLayout::kBaseTrailerAt;
  EncodeFixed64(base, DecodeFixed64(base) + trailer_offset_);
}

absl::StatusOr<BlockRef> BlockFile::Copy(std::string_view contents, const BlockHandle& handle,
                                         BlockArena* arena) const {
  BlockRef block = CachedBlock::Allocate(contents.size(), arena);
  if (!block) {
    return absl::ResourceExhaustedError(absl::StrCat(path(), ": no memory for ", contents.size(),
                                                     " bytes at offset ", handle.offset));
  }
  std::memcpy(block.mutable_block()->mutable_data(), contents.data(), contents.size());
  return block;
}

// Compressed blocks are decompressed straight from the mapping; others, which have no place there
// that their readers know of, are copied.
absl::StatusOr<BlockRef> BlockFile::CopyMapped(const BlockHandle& handle, BlockKind kind,
                                               const ReadOptions& options) const {
  const std::string_view stored =
      options.mapped.substr(handle.offset, handle.size + kBlockTrailerBytes);
  std::string_view contents;
  WINNOW_ASSIGN_OR_RETURN(BlockRef block, Unwrap(stored, handle, kind, options, &contents));
  if (block) return block;
  return Copy(contents, handle, options.arena);
}

absl::StatusOr<BlockRef> BlockFile::Unwrap(std::string_view stored, const BlockHandle& handle,
                                           BlockKind kind, const ReadOptions& options,
                                           std::string_view* contents) const {
  CountRead(kind, stored.size(), options.counters);
  Compression compression;
  WINNOW_RETURN_IF_ERROR(CheckTrailer(stored, handle, kind, options.verify_checksum, &compression));
  BlockRef block;
  *contents = stored.substr(0, handle.size);
  if (compression != Compression::kNone) {
    WINNOW_ASSIGN_OR_RETURN(block, Decompress(*contents, compression, handle, kind, options.arena));
    *contents = block.contents();
  }
  WINNOW_RETURN_IF_ERROR(CheckStructure(*contents, handle, kind, options));
  if (trailer_offset_ == 0 || kind != BlockKind::kData) return block;
  // `stored` is the caller's buffer, from which the block may be unwrapped again: trailers that
  // were offset in it would be offset twice.
  if (!block) {
    WINNOW_ASSIGN_OR_RETURN(block, Copy(*contents, handle, options.arena));
  }
  OffsetTrailers(kind, &block);
  *contents = block.contents();
  return block;
}

}  // namespace winnow
