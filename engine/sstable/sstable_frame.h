// Where a table lies in a file whose end is not what it should be.
#ifndef WINNOW_ENGINE_SSTABLE_SSTABLE_FRAME_H_
#define WINNOW_ENGINE_SSTABLE_SSTABLE_FRAME_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "absl/status/statusor.h"
#include "engine/base/internal_key.h"
#include "engine/sstable/format.h"
#include "engine/sstable/sstable_properties.h"
#include "winnow/file_system.h"

namespace winnow {

struct SstableFrame {
  uint64_t file_id = 0;  // 0: nobody knows
  // What the table has at offset X lies at X + shift of the file, at least towards its end: bytes
  // were put before it (or taken from it, if negative).
  int64_t shift = 0;
  // As it stands in the file, or made again from the properties; none if both are gone.
  std::optional<Footer> footer;
  std::optional<SstableProperties> properties;
  std::optional<TableHeader> header;  // if it is sound, and this table's
  // Not the file's own: what a manifest gives an ingested table (SstableReaderOptions).
  SequenceNumber global_sequence = 0;
  std::string problem;  // what is wrong; empty: footer and properties are sound and in their place

  // Whose it is; nobody knows if neither properties nor header are left.
  std::optional<uint64_t> database_id() const {
    if (properties.has_value()) return properties->hash_seed;
    return header.has_value() ? std::optional(header->database_id) : std::nullopt;
  }
  std::optional<uint32_t> column_family_id() const {
    if (properties.has_value()) return properties->column_family_id;
    return header.has_value() ? std::optional(header->column_family_id) : std::nullopt;
  }
  // Where the first data block begins; 0 if nobody knows.
  uint64_t data_start() const {
    if (header.has_value()) return header->header_bytes();
    return footer.has_value() ? footer->header_bytes : 0;
  }

  // The table's bytes as the file has them, its footer included.
  uint64_t end_offset(uint64_t file_bytes) const {
    return footer.has_value() ? footer->file_bytes : file_bytes - static_cast<uint64_t>(shift);
  }
};

// What a manifest knows of a table.
struct KnownSstable {
  uint64_t file_id = 0;
  uint64_t file_bytes = 0;
  bool has_this_name = false;  // the file's
};

// Finds the footer wherever it is; where it is gone, the properties, which say all that it said
// but the identity. That one is then the header's, or among `known` (likeliest first): the one
// under which a checksum is right. Where the header is sound, what lies inside of the file and is
// of another identity is passed over: values may be tables. FailedPrecondition: a newer format.
// Errors of the file are returned; damage never is.
absl::StatusOr<SstableFrame> FindSstableFrame(const RandomAccessFile& file, const std::string& path,
                                              std::span<const KnownSstable> known);

// The file as if the bytes at X + shift were at X. Reads nothing before the file's first byte.
// The file must outlive it.
std::unique_ptr<RandomAccessFile> ShiftedFile(const RandomAccessFile& file, int64_t shift,
                                              uint64_t file_bytes);

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_SSTABLE_FRAME_H_
