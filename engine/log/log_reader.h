// Reads write-ahead logs and manifests, and says exactly how they end.
#ifndef WINNOW_ENGINE_LOG_LOG_READER_H_
#define WINNOW_ENGINE_LOG_LOG_READER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "engine/log/file_window.h"
#include "engine/log/log_format.h"
#include "winnow/file_system.h"

namespace winnow {

// What to do with bytes that are neither records nor a torn tail.
enum class LogRecoveryMode {
  kStrict,       // DataLoss, naming file and offset
  kPointInTime,  // end before them; LogEnd says what is lost
  kSalvage,      // skip to the next record of this log; LogEnd lists what was skipped
};

// How a log ended; known once Read has returned false.
struct LogEnd {
  enum class Kind {
    kCleanClose,  // the marker of CloseCleanly, and nothing but zeros after it
    kUnclosed,    // right after a record, or in zeros: the process was killed
    kTornTail,    // a last record that is not whole, and no valid one after it: a crash
    kDamaged,     // wrong bytes with valid records after them, or bytes after a clean close
  };
  // Bytes that salvage left out; none (length 0) where a record follows a clean close.
  struct SkippedRange {
    uint64_t offset;
    uint64_t length;
    std::string reason;
  };

  Kind kind = Kind::kUnclosed;
  uint64_t offset = 0;         // end of the last record returned (or of the file header)
  uint64_t bytes_dropped = 0;  // not returned: from `offset` up to the last byte that is not zero,
                               // and all skipped ranges
  bool valid_records_follow = false;  // intact records of this log lie behind `offset`
  std::vector<SkippedRange> skipped;  // kSalvage only
  std::string reason;                 // what is wrong at `offset`; empty if nothing is
};

// What the file header of a log states. The errors of LogReader::Open.
absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& file_system, const std::string& path);

// For one thread; the log may be written to, or closed, meanwhile. Memory: a buffer of 256 KiB, or
// of the largest record in the file if that is more; a length is believed only if the file has that
// many bytes.
class LogReader {
 public:
  // NotFound if there is no such file. FailedPrecondition if a newer major version of the format
  // wrote it. DataLoss if its header is sound and says that it is another database's log, or
  // another log than that of the number (in kSalvage: and it holds no record of that one); in
  // kStrict, if its header is damaged. Unavailable if it cannot be read.
  static absl::StatusOr<std::unique_ptr<LogReader>> Open(FileSystem& file_system,
                                                         const std::string& path,
                                                         const LogIdentity& identity,
                                                         LogRecoveryMode mode);

  // Gives the next record: true and its payload, which is valid until the next call, and the file
  // offset of its header. False at the end of the log. An error is DataLoss (kStrict only) or
  // Unavailable: an I/O error is never taken for the end of the log. After false or an error
  // every later call returns the same.
  [[nodiscard]] absl::StatusOr<bool> Read(std::string_view* payload, uint64_t* offset = nullptr);

  // Valid once Read has returned false.
  const LogEnd& end() const { return end_; }
  // Bytes of the file, a preallocated tail of zeros included.
  uint64_t file_size() const { return file_size_; }

 private:
  static constexpr uint64_t kNoRecord = ~uint64_t{0};

  LogReader(std::unique_ptr<RandomAccessFile> file, std::string path, const LogIdentity& identity,
            LogRecoveryMode mode);

  bool IsForeign(const LogIdentity& stated) const {
    return database_ != 0 && stated.database != database_;
  }
  absl::Status ReadFileHeader();
  absl::StatusOr<bool> ReadRecord(std::string_view* payload, uint64_t* offset);
  absl::StatusOr<bool> ReadNext(std::string_view* payload, uint64_t* offset);
  // Null and the record if a whole, right record stands at `offset`, otherwise the reason.
  absl::StatusOr<const char*> ParseRecordAt(FileWindow& window, uint64_t offset,
                                            LogRecordHeader* header, std::string_view* payload);
  // Reads what stands at position_ once more; true if it is whole now.
  absl::StatusOr<bool> IsWholeNow();
  absl::StatusOr<uint64_t> FindContentEnd();
  absl::StatusOr<uint64_t> FindRecord(uint64_t content_end);
  absl::StatusOr<bool> CandidateIsRecord(uint64_t offset, std::string_view header_bytes);
  // Decides what the bytes at position_ mean. True: position_ has moved to a record behind them.
  absl::StatusOr<bool> HandleBadBytes(std::string_view reason);
  void Finish(LogEnd::Kind kind, uint64_t content_end, std::string_view reason);

  const std::string path_;
  const uint64_t log_number_;
  const uint64_t database_;  // 0: any
  const LogRecoveryMode mode_;
  const std::unique_ptr<RandomAccessFile> file_;
  uint64_t file_size_;      // only shrinks
  FileWindow window_;       // around position_
  FileWindow scan_window_;  // while looking for the next record
  FileWindow candidate_window_;
  uint64_t scan_budget_bytes_;
  uint64_t position_ = 0;
  uint64_t content_end_ = 0;     // as FindContentEnd found it last
  bool closed_cleanly_ = false;  // the marker has been read
  bool finished_ = false;
  absl::Status error_;
  LogEnd end_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_LOG_LOG_READER_H_
