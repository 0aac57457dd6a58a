#include "engine/log/log_format.h"

#include <cstring>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {
namespace {

constexpr size_t kFileHeaderChecksumOffset = kLogFileHeaderBytes - sizeof(uint64_t);
constexpr size_t kRecordChecksumBytes = sizeof(uint64_t);

uint64_t FileHeaderChecksum(std::string_view header, uint64_t log_number) {
  return Checksum(header.substr(0, kFileHeaderChecksumOffset), ChecksumSeed(log_number, 0));
}

uint64_t RecordChecksum(std::string_view record, uint64_t log_number, uint64_t offset) {
  return Checksum(record.substr(kRecordChecksumBytes), ChecksumSeed(log_number, offset));
}

}  // namespace

std::string EncodeLogFileHeader(uint64_t log_number) {
  std::string header;
  PutFixed64(&header, kLogMagic);
  PutFixed32(&header, uint32_t{kLogMinorVersion} << 16 | kLogMajorVersion);
  PutFixed32(&header, 0);
  PutFixed64(&header, log_number);
  PutFixed64(&header, FileHeaderChecksum(header, log_number));
  return header;
}

absl::StatusOr<uint64_t> DecodeLogFileHeader(std::string_view header) {
  if (header.size() < kLogFileHeaderBytes) {
    return absl::DataLossError("file header of the log is not whole");
  }
  if (DecodeFixed64(header.data()) != kLogMagic) {
    return absl::DataLossError("file does not start with the magic number of a log");
  }
  const uint64_t log_number = DecodeFixed64(header.data() + 16);
  if (!ChecksumsMatch(DecodeFixed64(header.data() + kFileHeaderChecksumOffset),
                      FileHeaderChecksum(header, log_number))) {
    return absl::DataLossError("checksum of the log's file header does not match");
  }
  const uint32_t major = DecodeFixed32(header.data() + 8) & 0xffff;
  if (major != kLogMajorVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "log format version ", major, " is not readable here: this build knows version ",
        kLogMajorVersion, "; open it with the version of Winnow that wrote it"));
  }
  return log_number;
}

void EncodeLogRecordHeader(char* record, size_t size, LogRecordType type, uint64_t log_number,
                           uint64_t offset) {
  EncodeFixed32(record + 8, static_cast<uint32_t>(log_number));
  EncodeFixed32(record + 12, static_cast<uint32_t>(size - kLogRecordHeaderBytes));
  record[16] = static_cast<char>(type);
  EncodeFixed64(record, RecordChecksum(std::string_view(record, size), log_number, offset));
}

LogRecordHeader DecodeLogRecordHeader(std::string_view header) {
  return {DecodeFixed64(header.data()), DecodeFixed32(header.data() + 8),
          DecodeFixed32(header.data() + 12), static_cast<uint8_t>(header[16])};
}

const char* WhyLogRecordHeaderIsWrong(const LogRecordHeader& header, uint64_t log_number,
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
