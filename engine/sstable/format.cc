#include "engine/sstable/format.h"

#include <algorithm>
#include <cstring>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

// Offsets of the footer's fields. Version, footer size and magic stay at the end in every version.
//     0 checksum     24 properties   72 range tombstones   112 major, minor
//     8 identity     40 filter       88 index levels       116 footer bytes
//    16 file bytes   56 index        92 header bytes       120 magic
//                                    96 range filter
constexpr size_t kChecksumAt = 0;
constexpr size_t kFileIdAt = 8;
constexpr size_t kFileBytesAt = 16;
constexpr size_t kPropertiesAt = 24;
constexpr size_t kFilterAt = 40;
constexpr size_t kIndexAt = 56;
constexpr size_t kRangeTombstonesAt = 72;
constexpr size_t kIndexLevelsAt = 88;
constexpr size_t kHeaderBytesAt = 92;
constexpr size_t kRangeFilterAt = 96;
constexpr size_t kMajorAt = 112;
constexpr size_t kMinorAt = 114;
constexpr size_t kFooterBytesAt = 116;
constexpr size_t kMagicAt = 120;

// And of the header's. Magic, version and size keep their place in every version.
//     0 magic        16 major, minor      24 identity      40 column family
//     8 checksum     20 header bytes      32 database      44 length of its name, then the name
constexpr uint64_t kHeaderMagic = 0x44414548'4f4e4e57;  // "WNNOHEAD"
constexpr size_t kHeaderChecksumAt = 8;
constexpr size_t kHeaderCheckedFrom = 16;
constexpr size_t kHeaderSizeAt = 20;
constexpr size_t kHeaderFileIdAt = 24;
constexpr size_t kHeaderDatabaseAt = 32;
constexpr size_t kHeaderFamilyAt = 40;
constexpr size_t kHeaderNameLengthAt = 44;

// No version will have a higher number: such a one is damage, and not to be waited for.
constexpr uint16_t kMaxMajorVersion = 255;

void PutHandle(char* out, const BlockHandle& handle) {
  EncodeFixed64(out, handle.offset);
  EncodeFixed64(out + 8, handle.size);
}

BlockHandle GetHandle(const char* data) { return {DecodeFixed64(data), DecodeFixed64(data + 8)}; }

// Covers everything behind it. Seeded with the place: a footer that was found at another size of
// file is not this file's.
uint64_t FooterChecksum(std::string_view footer, uint64_t file_bytes) {
  return Checksum(footer.substr(kFileIdAt), ChecksumSeed(kTableMagic, file_bytes - kFooterBytes));
}

uint64_t HeaderChecksum(std::string_view header) {
  return Checksum(header.substr(kHeaderCheckedFrom), ChecksumSeed(kHeaderMagic, 0));
}

// Null if the blocks named by the footer lie in order and without gaps up to the footer.
// Blocks follow each other without gaps:
//
//   header
//   data blocks
//   filter             optional
//   index partitions   only with two index levels
//   index
//   range tombstones   optional
//   range filter       optional
//   properties
//   footer
//
// What is between the filter (or the data) and the index must be filled by partitions, which is
// checked when the index has been read. No gap means that every byte of the file is under some
// checksum.
const char* LayoutError(const Footer& footer) {
  const uint64_t end = footer.file_bytes - kFooterBytes;
  if (footer.index_levels != 1 && footer.index_levels != 2) return "index levels not 1 or 2";
  if (footer.header_bytes < kMinTableHeaderBytes || footer.header_bytes > kMaxTableHeaderBytes) {
    return "impossible size of the header";
  }
  if (!footer.properties.FitsBelow(end) || footer.properties.end() != end) {
    return "properties block does not end at the footer";
  }
  const BlockHandle& tombstones = footer.range_tombstones;
  if (!tombstones.exists() && tombstones.offset != 0) return "empty range tombstone block";
  if (tombstones.exists() &&
      (!tombstones.FitsBelow(end) || tombstones.end() != footer.range_tombstones_end())) {
    return "range tombstone block does not end at the block behind it";
  }
  const BlockHandle& range_filter = footer.range_filter;
  if (!range_filter.exists() && range_filter.offset != 0) return "empty range filter block";
  if (range_filter.exists() &&
      (!range_filter.FitsBelow(end) || range_filter.end() != footer.properties.offset)) {
    return "range filter block does not end at the properties block";
  }
  if (!footer.index.FitsBelow(end) || footer.index.end() != footer.index_end()) {
    return "index block does not end at the block behind it";
  }
  if (!footer.filter.exists()) return footer.filter.offset == 0 ? nullptr : "empty filter block";
  if (!footer.filter.FitsBelow(footer.index.offset)) return "filter block beyond the index block";
  if (footer.index_levels == 1 && footer.filter.end() != footer.index.offset) {
    return "filter block does not end at the index block";
  }
  return nullptr;
}

}  // namespace

std::string_view BlockKindName(BlockKind kind) {
  switch (kind) {
    case BlockKind::kData:
      return "data block";
    case BlockKind::kFilter:
      return "filter block";
    case BlockKind::kIndexPartition:
      return "index partition";
    case BlockKind::kIndex:
      return "index block";
    case BlockKind::kProperties:
      return "properties block";
    case BlockKind::kFooter:
      return "footer";
    case BlockKind::kHeader:
      return "header";
    case BlockKind::kRangeTombstones:
      return "range tombstone block";
    case BlockKind::kRangeFilter:
      return "range filter block";
    case BlockKind::kSignatures:
      return "signature block";
    case BlockKind::kSignatureIndex:
      return "signature index";
    case BlockKind::kKeyHashes:
      return "key hash block";
  }
  return "unknown block";
}

uint64_t BlockChecksum(std::string_view contents, uint8_t compression_type, uint64_t file_id,
                       uint64_t offset) {
  // The type goes into the seed, so that contents and type need not lie side by side.
  return Checksum(
      contents, ChecksumSeed(file_id, offset) + uint64_t{compression_type} * 0xd6e8feb86659fd93ULL);
}

std::string TableHeader::Encode() const {
  std::string out(kMinTableHeaderBytes, '\0');
  out.append(column_family_name);
  EncodeFixed64(out.data(), kHeaderMagic);
  std::memcpy(&out[kHeaderCheckedFrom], &kTableMajorVersion, sizeof(kTableMajorVersion));
  std::memcpy(&out[kHeaderCheckedFrom + 2], &kTableMinorVersion, sizeof(kTableMinorVersion));
  EncodeFixed32(&out[kHeaderSizeAt], header_bytes());
  EncodeFixed64(&out[kHeaderFileIdAt], file_id);
  EncodeFixed64(&out[kHeaderDatabaseAt], database_id);
  EncodeFixed32(&out[kHeaderFamilyAt], column_family_id);
  EncodeFixed32(&out[kHeaderNameLengthAt], static_cast<uint32_t>(column_family_name.size()));
  EncodeFixed64(&out[kHeaderChecksumAt], HeaderChecksum(out));
  return out;
}

// A newer version is not told apart from damage: the footer, which is read first, says it better.
absl::StatusOr<TableHeader> TableHeader::Decode(std::string_view start, std::string_view path) {
  if (start.size() < kMinTableHeaderBytes || DecodeFixed64(start.data()) != kHeaderMagic) {
    return CorruptionError(path, 0, "header: not an SSTable, or its start is missing (bad magic)");
  }
  const uint32_t size = DecodeFixed32(start.data() + kHeaderSizeAt);
  if (size < kMinTableHeaderBytes || size > std::min<size_t>(start.size(), kMaxTableHeaderBytes)) {
    return CorruptionError(path, 0, absl::StrCat("header: impossible size ", size));
  }
  start = start.substr(0, size);
  const uint64_t expected = DecodeFixed64(start.data() + kHeaderChecksumAt);
  if (!ChecksumsMatch(expected, HeaderChecksum(start))) {
    return CorruptionError(path, 0, "header: wrong checksum");
  }
  if (DecodeFixed32(start.data() + kHeaderNameLengthAt) != size - kMinTableHeaderBytes) {
    return CorruptionError(path, 0, "header: impossible length of a name");
  }
  TableHeader header;
  header.file_id = DecodeFixed64(start.data() + kHeaderFileIdAt);
  header.database_id = DecodeFixed64(start.data() + kHeaderDatabaseAt);
  header.column_family_id = DecodeFixed32(start.data() + kHeaderFamilyAt);
  header.column_family_name = std::string(start.substr(kMinTableHeaderBytes));
  return header;
}

std::string Footer::Encode() const {
  std::string out(kFooterBytes, '\0');
  EncodeFixed64(&out[kFileIdAt], file_id);
  EncodeFixed64(&out[kFileBytesAt], file_bytes);
  PutHandle(&out[kPropertiesAt], properties);
  PutHandle(&out[kFilterAt], filter);
  PutHandle(&out[kIndexAt], index);
  PutHandle(&out[kRangeTombstonesAt], range_tombstones);
  PutHandle(&out[kRangeFilterAt], range_filter);
  EncodeFixed32(&out[kIndexLevelsAt], index_levels);
  EncodeFixed32(&out[kHeaderBytesAt], header_bytes);
  std::memcpy(&out[kMajorAt], &kTableMajorVersion, sizeof(kTableMajorVersion));
  std::memcpy(&out[kMinorAt], &kTableMinorVersion, sizeof(kTableMinorVersion));
  EncodeFixed32(&out[kFooterBytesAt], kFooterBytes);
  EncodeFixed64(&out[kMagicAt], kTableMagic);
  EncodeFixed64(&out[kChecksumAt], FooterChecksum(out, file_bytes));
  return out;
}

absl::StatusOr<Footer> Footer::Decode(std::string_view bytes, uint64_t file_bytes,
                                      std::string_view path) {
  if (bytes.size() != kFooterBytes || file_bytes < kFooterBytes) {
    return CorruptionError(
        path, absl::StrCat("footer: file of ", file_bytes, " bytes is too short for an SSTable"));
  }
  const uint64_t at = file_bytes - kFooterBytes;
  const char* const data = bytes.data();
  if (DecodeFixed64(data + kMagicAt) != kTableMagic) {
    return CorruptionError(path, at, "footer: not an SSTable, or its end is missing (bad magic)");
  }
  const uint64_t expected = DecodeFixed64(data + kChecksumAt);
  const uint64_t actual = FooterChecksum(bytes, file_bytes);
  const uint16_t major = DecodeFixed16(data + kMajorAt);
  // Before the checksum: a newer version may compute it in another way. Magic, sizes and version
  // are at the end in every version, so that they can be read first.
  if (major > kMaxMajorVersion) {
    return CorruptionError(path, at, absl::StrCat("footer: impossible version ", major));
  }
  if (major > kTableMajorVersion) {
    std::string as_ours(bytes);
    std::memcpy(&as_ours[kMajorAt], &kTableMajorVersion, sizeof(kTableMajorVersion));
    if (ChecksumsMatch(expected, FooterChecksum(as_ours, file_bytes))) {
      return CorruptionError(path, at, "footer: its version is damaged");
    }
    return absl::FailedPreconditionError(absl::StrCat(
        ToAbsl(path), ": written in SSTable format ", major, ".", DecodeFixed16(data + kMinorAt),
        "; this version reads up to ", kTableMajorVersion, ".x: use a newer Winnow"));
  }
  if (!ChecksumsMatch(expected, actual)) {
    return CorruptionError(path, at,
                           absl::StrCat("footer: checksum ", absl::Hex(actual, absl::kZeroPad16),
                                        " expected ", absl::Hex(expected, absl::kZeroPad16)));
  }
  Footer footer;
  footer.file_id = DecodeFixed64(data + kFileIdAt);
  footer.file_bytes = DecodeFixed64(data + kFileBytesAt);
  footer.properties = GetHandle(data + kPropertiesAt);
  footer.filter = GetHandle(data + kFilterAt);
  footer.index = GetHandle(data + kIndexAt);
  footer.range_tombstones = GetHandle(data + kRangeTombstonesAt);
  footer.range_filter = GetHandle(data + kRangeFilterAt);
  footer.index_levels = DecodeFixed32(data + kIndexLevelsAt);
  footer.header_bytes = DecodeFixed32(data + kHeaderBytesAt);
  if (footer.file_bytes != file_bytes) {
    return CorruptionError(
        path, at, absl::StrCat("footer: file has ", file_bytes, " bytes, not ", footer.file_bytes));
  }
  if (major == 0 || DecodeFixed32(data + kFooterBytesAt) != kFooterBytes) {
    return CorruptionError(path, at, "footer: impossible version or size");
  }
  if (const char* error = LayoutError(footer); error != nullptr) {
    return CorruptionError(path, at, absl::StrCat("footer: ", error));
  }
  return footer;
}

static_assert(kRangeFilterAt + 16 == kMajorAt);

}  // namespace winnow
