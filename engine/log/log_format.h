// The bytes of a log file; FORMAT.md in this folder is the specification.
#ifndef WINNOW_ENGINE_LOG_LOG_FORMAT_H_
#define WINNOW_ENGINE_LOG_LOG_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow {

// File header: magic u64, major version u16, minor version u16, zero u32, log number u64, database
// identity u64, checksum u64.
inline constexpr size_t kLogFileHeaderBytes = 40;
inline constexpr uint64_t kLogMagic = 0x474f4c574f4e4e57ULL;  // "WNNOWLOG"
inline constexpr uint16_t kLogMajorVersion = 1;
inline constexpr uint16_t kLogMinorVersion = 0;

// Record header: checksum u64, log number u32 (low bits), payload length u32, type u8.
inline constexpr size_t kLogRecordHeaderBytes = 17;
inline constexpr uint64_t kMaxLogPayloadBytes = uint64_t{1} << 31;

// On-disk values: never renumber.
enum class LogRecordType : uint8_t { kData = 1, kCleanClose = 2 };

// Which log it is. A number alone stands for the log of that number of any database.
struct LogIdentity {
  LogIdentity(uint64_t log_number, uint64_t of_database = 0)  // NOLINT: a number is an identity
      : number(log_number), database(of_database) {}

  uint64_t number;
  uint64_t database;  // VersionSet::hash_seed(); 0: any

  friend bool operator==(const LogIdentity&, const LogIdentity&) = default;
};

// The kLogFileHeaderBytes bytes that start a log.
std::string EncodeLogFileHeader(const LogIdentity& identity);

// What the header states. DataLoss if the bytes are not a log header; FailedPrecondition if a newer
// major version wrote them. The message has no file name.
absl::StatusOr<LogIdentity> DecodeLogFileHeader(std::string_view header);

// Fills in the header of the record whose header and payload are the `size` bytes at `record`, to
// stand at `offset` of log `log_number`. The payload is there already.
void EncodeLogRecordHeader(char* record, size_t size, LogRecordType type, uint64_t log_number,
                           uint64_t offset);

struct LogRecordHeader {
  uint64_t checksum;
  uint32_t log_number;
  uint32_t payload_bytes;
  uint8_t type;

  uint64_t record_bytes() const { return kLogRecordHeaderBytes + payload_bytes; }
};

// `header` has kLogRecordHeaderBytes bytes, of any content.
LogRecordHeader DecodeLogRecordHeader(std::string_view header);

// Null if a record with this header can stand in log `log_number` with `available` bytes left in
// the file from the record's start; otherwise the reason why not. The checksum is not looked at.
const char* LogRecordHeaderError(const LogRecordHeader& header, uint64_t log_number,
                                 uint64_t available);

// True if the checksum of a whole record (header and payload) fits its place.
bool LogRecordChecksumIsRight(std::string_view record, uint64_t log_number, uint64_t offset);

}  // namespace winnow

#endif  // WINNOW_ENGINE_LOG_LOG_FORMAT_H_
