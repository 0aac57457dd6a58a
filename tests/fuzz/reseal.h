// Makes the checksums of changed files right again, so that the checks behind them are reached.

#ifndef WINNOW_TESTS_FUZZ_RESEAL_H_
#define WINNOW_TESTS_FUZZ_RESEAL_H_

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/log/log_format.h"
#include "engine/sstable/filter_file.h"
#include "engine/sstable/format.h"

namespace winnow::fuzz {

// A log or a manifest: its header, and each record as long as the lengths in the records lead on.
inline std::string ResealLog(std::string bytes, uint64_t number) {
  if (bytes.size() < kLogFileHeaderBytes) return bytes;
  // FORMAT.md, "File header": the database's identity stands behind the number.
  constexpr size_t kDatabaseAt = 24;
  bytes.replace(0, kLogFileHeaderBytes,
                EncodeLogFileHeader({number, DecodeFixed64(bytes.data() + kDatabaseAt)}));
  size_t at = kLogFileHeaderBytes;
  while (bytes.size() - at >= kLogRecordHeaderBytes) {
    const LogRecordHeader header = DecodeLogRecordHeader(std::string_view(bytes).substr(at));
    // Type 0: the zeros of space that was only reserved.
    if (header.type == 0 || header.record_bytes() > bytes.size() - at) break;
    EncodeLogRecordHeader(bytes.data() + at, header.record_bytes(),
                          static_cast<LogRecordType>(header.type), number, at);
    at += header.record_bytes();
  }
  return bytes;
}

// A table: its footer, the blocks that the footer names, and `blocks`, which are those that the
// sound table has.
inline std::string ResealTable(std::string bytes, std::vector<BlockHandle> blocks) {
  // FORMAT.md, "Footer".
  constexpr size_t kFileIdAt = 8;
  constexpr size_t kHandlesAt[] = {24, 40, 56, 72, 96};
  if (bytes.size() < kFooterBytes) return bytes;
  const size_t footer = bytes.size() - kFooterBytes;
  const char* const fields = bytes.data() + footer;
  const uint64_t file_id = DecodeFixed64(fields + kFileIdAt);
  for (const size_t at : kHandlesAt) {
    blocks.push_back({DecodeFixed64(fields + at), DecodeFixed64(fields + at + 8)});
  }
  for (const BlockHandle& block : blocks) {
    if (!block.exists() || !block.FitsBelow(footer)) continue;
    const std::string_view contents = std::string_view(bytes).substr(block.offset, block.size);
    const auto compression = static_cast<uint8_t>(bytes[block.offset + block.size]);
    EncodeFixed64(bytes.data() + block.offset + block.size + 1,
                  BlockChecksum(contents, compression, file_id, block.offset));
  }
  EncodeFixed64(bytes.data() + footer, Checksum(std::string_view(bytes).substr(footer + kFileIdAt),
                                                ChecksumSeed(kTableMagic, footer)));
  return bytes;
}

// A filter file: its header, as long as that says it is.
inline std::string ResealFilterFile(std::string bytes) {
  // FORMAT.md, "Filter files".
  constexpr uint64_t kMagic = 0x544c4946'4f4e4e57;
  constexpr size_t kChecksumAt = 8;
  constexpr size_t kCheckedFrom = 16;
  constexpr size_t kHeaderBytesAt = 20;
  if (bytes.size() < kMinFilterFileHeaderBytes) return bytes;
  const uint32_t header_bytes = DecodeFixed32(bytes.data() + kHeaderBytesAt);
  if (header_bytes < kCheckedFrom || header_bytes > bytes.size()) return bytes;
  EncodeFixed64(bytes.data() + kChecksumAt,
                Checksum(std::string_view(bytes).substr(kCheckedFrom, header_bytes - kCheckedFrom),
                         ChecksumSeed(kMagic, 0)));
  return bytes;
}

}  // namespace winnow::fuzz

#endif  // WINNOW_TESTS_FUZZ_RESEAL_H_
