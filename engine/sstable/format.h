// The frame of an SSTable: header, block handles, block trailers, footer. FORMAT.md has the bytes.
#ifndef WINNOW_ENGINE_SSTABLE_FORMAT_H_
#define WINNOW_ENGINE_SSTABLE_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace winnow {

inline constexpr uint64_t kTableMagic = 0x54535357'4f4e4e57;  // "WNNOWSST"
inline constexpr uint16_t kTableMajorVersion = 1;
inline constexpr uint16_t kTableMinorVersion = 0;

// After the contents of every block: compression type (1), checksum (8).
inline constexpr size_t kBlockTrailerBytes = 9;
inline constexpr size_t kFooterBytes = 128;
// The header's, without and with the longest name of a column family.
inline constexpr uint32_t kMinTableHeaderBytes = 48;
inline constexpr uint32_t kMaxTableHeaderBytes = kMinTableHeaderBytes + 255;

// Largest contents of any block but a filter: one value of the largest size with its key.
inline constexpr uint64_t kMaxBlockContentsBytes = uint64_t{1200} << 20;

enum class BlockKind : uint8_t {
  kData,
  kFilter,
  kIndexPartition,
  kIndex,
  kProperties,
  kFooter,
  kHeader,
  kRangeTombstones,
  kRangeFilter,
  kSignatures,
  kSignatureIndex,
  kKeyHashes
};
// "data block", "filter block" ...
std::string_view BlockKindName(BlockKind kind);

// Where a block lies. `size` is that of the stored contents, without the trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;

  bool exists() const { return size != 0; }
  // First byte after the trailer.
  uint64_t end() const { return offset + size + kBlockTrailerBytes; }
  // True if block and trailer lie in [0, limit).
  bool FitsBelow(uint64_t limit) const {
    return size <= limit && limit - size >= kBlockTrailerBytes &&
           offset <= limit - size - kBlockTrailerBytes;
  }
  friend bool operator==(const BlockHandle&, const BlockHandle&) = default;
};

// Whose table it is, said once more at the front: without its end, where everything else stands,
// and without a manifest, its blocks can then still be checked and put where they belong.
struct TableHeader {
  uint64_t file_id = 0;
  uint64_t database_id = 0;  // the hash seed of its tables
  uint32_t column_family_id = 0;
  std::string column_family_name;  // at most 255 bytes

  std::string Encode() const;
  uint32_t header_bytes() const {
    return kMinTableHeaderBytes + static_cast<uint32_t>(column_family_name.size());
  }
  // `start` is the start of a file, kMaxTableHeaderBytes of it if it has as many. DataLoss: it is
  // no header, or damaged.
  static absl::StatusOr<TableHeader> Decode(std::string_view start, std::string_view path);

  friend bool operator==(const TableHeader&, const TableHeader&) = default;
};

struct Footer {
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;
  uint32_t index_levels = 1;  // 1 or 2
  uint32_t header_bytes = 0;  // where the first data block begins
  BlockHandle properties;
  BlockHandle filter;  // does not exist if there is none
  BlockHandle index;
  BlockHandle range_tombstones;  // does not exist if there are none
  BlockHandle range_filter;      // does not exist if there is none

  // The first byte behind the range tombstones, or behind the index block if there are none.
  uint64_t range_tombstones_end() const {
    return range_filter.exists() ? range_filter.offset : properties.offset;
  }
  // The first byte behind the index block.
  uint64_t index_end() const {
    return range_tombstones.exists() ? range_tombstones.offset : range_tombstones_end();
  }

  std::string Encode() const;  // kFooterBytes
  // Checks the bytes and that all handles lie inside the file and follow each other without gaps.
  // `footer` is the end of a file of `file_bytes` bytes. FailedPrecondition: newer major version.
  static absl::StatusOr<Footer> Decode(std::string_view footer, uint64_t file_bytes,
                                       std::string_view path);
};

// The checksum in the trailer of the block at `offset`.
uint64_t BlockChecksum(std::string_view contents, uint8_t compression_type, uint64_t file_id,
                       uint64_t offset);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_FORMAT_H_
