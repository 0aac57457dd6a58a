#include "engine/log/log_format.h"

#include <cstring>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {
namespace {

constexpr size_t kFileHeaderChecksumOffset = kLogFileHeaderBytes - sizeof(uint64_t);
constexpr size_t kRecordChecksumBytes = sizeof(uint64_t);

// Every checksum is seeded with the log's number and the offset that it stands at. A record that
// was copied, misdirected by the disk, or left over from another log that had the same blocks, has
// a right checksum for another place and so a wrong one here.
uint64_t FileHeaderChecksum(std::string_view header, uint64_t log_number) {
  return Checksum(header.substr(0, kFileHeaderChecksumOffset), ChecksumSeed(log_number, 0));
}

uint64_t RecordChecksum(std::string_view record, uint64_t log_number, uint64_t offset) {
  return Checksum(record.substr(kRecordChecksumBytes), ChecksumSeed(log_number, offset));
}

}  // namespace

//   0       8       10      12     16           24         32         40
//   | magic | major | minor | zero | log number | database | checksum |
std::string EncodeLogFileHeader(const LogIdentity& identity) {
  std::string header;
  PutFixed64(&header, kLogMagic);
  PutFixed32(&header, uint32_t{kLogMinorVersion} << 16 | kLogMajorVersion);
  PutFixed32(&header, 0);
  PutFixed64(&header, identity.number);
  PutFixed64(&header, identity.database);
  PutFixed64(&header, FileHeaderChecksum(header, identity.number));
  return header;
}

absl::StatusOr<LogIdentity> DecodeLogFileHeader(std::string_view header) {
  if (header.size() >= sizeof(kLogMagic) && DecodeFixed64(header.data()) != kLogMagic) {
    return absl::DataLossError("file does not start with the magic number of a log");
  }
  if (header.size() < kLogFileHeaderBytes) {
    return absl::DataLossError("file header of the log is not whole");
  }
  const uint64_t log_number = DecodeFixed64(header.data() + 16);
  if (!ChecksumsMatch(DecodeFixed64(header.data() + kFileHeaderChecksumOffset),
                      FileHeaderChecksum(header, log_number))) {
    return absl::DataLossError("checksum of the log's file header does not match");
  }
  const uint32_t major = DecodeFixed32(header.data() + 8) & 0xffff;
  if (major != kLogMajorVersion) {
    // The checksum was right, so these are the bytes that were written: a newer format, not damage.
    // The layout of magic, version and checksum is the same in all versions.
    return absl::FailedPreconditionError(absl::StrCat(
        "log format version ", major, " is not readable here: this build knows version ",
        kLogMajorVersion, "; open it with the version of Winnow that wrote it"));
  }
  return LogIdentity(log_number, DecodeFixed64(header.data() + 24));
}

//   0          8            12             16     17
//   | checksum | log number | payload bytes | type | payload ...
//              |<-------- covered by the checksum --------->
void EncodeLogRecordHeader(char* record, size_t size, LogRecordType type, uint64_t log_number,
                           uint64_t offset) {
  EncodeFixed32(record + 8, static_cast<uint32_t>(log_number));
  EncodeFixed32(record + 12, static_cast<uint32_t>(size - kLogRecordHeaderBytes));
  record[16] = static_cast<char>(type);
  EncodeFixed64(record, RecordChecksum(std::string_view(record, size), log_number, offset));
}

// Nothing is believed yet: the caller checks the fields, then the checksum, then the payload.
LogRecordHeader DecodeLogRecordHeader(std::string_view header) {
  return {DecodeFixed64(header.data()), DecodeFixed32(header.data() + 8),
          DecodeFixed32(header.data() + 12), static_cast<uint8_t>(header[16])};
}

// Cheap checks before the checksum, in the order in which random bytes are most likely to fail. All
// zeros, the preallocated tail of a log, fail at the first one unless the log's number is a
// multiple of 2^32, and then at the second: 0 is no record type.
const char* LogRecordHeaderError(const LogRecordHeader& header, uint64_t log_number,
                                 uint64_t available) {
  if (header.log_number != static_cast<uint32_t>(log_number)) {
    return "record header names another log";
  }
  if (header.type != static_cast<uint8_t>(LogRecordType::kData) &&
      header.type != static_cast<uint8_t>(LogRecordType::kCleanClose)) {
    return "record type is unknown";
  }
  if (header.payload_bytes > kMaxLogPayloadBytes) return "record length is above the limit";
  if (header.record_bytes() > available) return "record reaches beyond the end of the file";
  return nullptr;
}

bool LogRecordChecksumIsRight(std::string_view record, uint64_t log_number, uint64_t offset) {
  return ChecksumsMatch(DecodeFixed64(record.data()), RecordChecksum(record, log_number, offset));
}

}  // namespace winnow
