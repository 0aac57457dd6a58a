#include "engine/log/log_reader.h"

#include <algorithm>
#include <utility>

#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {
namespace {

// One read at a time of the sequential part; and of a candidate record, whose header is usually
// wrong.
constexpr size_t kReadBytes = size_t{256} << 10;
constexpr size_t kCandidateReadBytes = size_t{4} << 10;

// How many bytes may be checksummed in search of records, for each byte of the file. An adversarial
// file could otherwise hold a plausible header at every offset and make the search quadratic.
constexpr uint64_t kScanBudgetFactor = 16;

}  // namespace

// Three windows, because a search for the next record reads ahead of the present position, and
// looks at candidates ahead of the search: one buffer for all would be thrown away and read again
// at each step.
LogReader::LogReader(std::unique_ptr<RandomAccessFile> file, std::string path,
                     const LogIdentity& identity, LogRecoveryMode mode)
    : path_(std::move(path)),
      log_number_(identity.number),
      database_(identity.database),
      mode_(mode),
      file_(std::move(file)),
      file_size_(file_->size()),
      window_(file_.get(), &file_size_, path_, kReadBytes),
      scan_window_(file_.get(), &file_size_, path_, kReadBytes),
      candidate_window_(file_.get(), &file_size_, path_, kCandidateReadBytes),
      scan_budget_bytes_(kScanBudgetFactor * file_size_) {}

absl::StatusOr<LogIdentity> ReadLogIdentity(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const auto file, file_system.OpenRandomAccess(path));
  char header[kLogFileHeaderBytes];
  WINNOW_ASSIGN_OR_RETURN(const size_t bytes, file->Read(0, sizeof(header), header));
  absl::StatusOr<LogIdentity> identity = DecodeLogFileHeader({header, bytes});
  return identity.ok() ? identity : WithContext(identity.status(), path);
}

absl::StatusOr<std::unique_ptr<LogReader>> LogReader::Open(FileSystem& file_system,
                                                           const std::string& path,
                                                           const LogIdentity& identity,
                                                           LogRecoveryMode mode) {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file,
                          file_system.OpenRandomAccess(path));
  file->Hint(RandomAccessFile::AccessPattern::kSequential);
  std::unique_ptr<LogReader> reader(new LogReader(std::move(file), path, identity, mode));
  absl::Status status;
  do {
    status = reader->ReadFileHeader();
  } while (absl::IsOutOfRange(status));
  if (!status.ok()) return status;
  return reader;
}

absl::Status LogReader::ReadFileHeader() {
  const size_t available =
      static_cast<size_t>(std::min<uint64_t>(file_size(), kLogFileHeaderBytes));
  WINNOW_ASSIGN_OR_RETURN(const std::string_view header, window_.At(0, available));
  const absl::StatusOr<LogIdentity> stated = DecodeLogFileHeader(header);
  // A header that a crash left incomplete is the end of an empty log, like any torn tail; one that
  // is wrong while records follow is damage.
  if (absl::IsDataLoss(stated.status())) {
    return HandleBadBytes(ToStd(stated.status().message())).status();
  }
  if (!stated.ok()) return WithContext(stated.status(), path_);
  // Its records have the checksums of a log of this number, whoever wrote them.
  if (IsForeign(*stated)) {
    return CorruptionError(path_, 0, "this is a log of another database");
  }
  if (stated->number != log_number_) {
    const std::string reason =
        absl::StrCat("this is log ", stated->number, " where log ", log_number_, " is expected");
    // A strange header may stand before records of this log. Those of another log are right by
    // themselves, and reading them would bring back what was deleted long ago.
    if (mode_ == LogRecoveryMode::kSalvage) {
      WINNOW_ASSIGN_OR_RETURN(const uint64_t content_end, FindContentEnd());
      WINNOW_ASSIGN_OR_RETURN(const uint64_t next_record, FindRecord(content_end));
      if (next_record != kNoRecord) return HandleBadBytes(reason).status();
    }
    return CorruptionError(path_, 0, reason);
  }
  position_ = end_.offset = kLogFileHeaderBytes;
  return absl::OkStatus();
}

absl::StatusOr<bool> LogReader::Read(std::string_view* payload, uint64_t* offset) {
  if (!error_.ok()) return error_;
  if (finished_) return false;
  absl::StatusOr<bool> result = ReadNext(payload, offset);
  if (!result.ok()) error_ = result.status();
  return result;
}

// A log that is closed loses the zeros behind its last record. It is read on as the shorter file:
// position_ has not moved, and each time the file is shorter than before, so that this ends.
absl::StatusOr<bool> LogReader::ReadNext(std::string_view* payload, uint64_t* offset) {
  for (;;) {
    absl::StatusOr<bool> result = ReadRecord(payload, offset);
    if (!absl::IsOutOfRange(result.status())) return result;
  }
}

absl::StatusOr<bool> LogReader::ReadRecord(std::string_view* payload, uint64_t* offset) {
  for (;;) {
    std::string_view reason = "bytes follow the marker of a clean close";
    // After the marker of a clean close nothing may follow but zeros, so bytes are not tried as a
    // record here: HandleBadBytes decides.
    if (!closed_cleanly_) {
      LogRecordHeader header;
      WINNOW_ASSIGN_OR_RETURN(const char* why_not,
                              ParseRecordAt(window_, position_, &header, payload));
      if (why_not == nullptr) {
        if (offset != nullptr) *offset = position_;
        position_ += header.record_bytes();
        end_.offset = position_;
        // The marker of a clean close is a record like others to the format, and none to the
        // caller.
        if (header.type == static_cast<uint8_t>(LogRecordType::kData)) return true;
        closed_cleanly_ = true;
        continue;
      }
      reason = why_not;
    }
    WINNOW_ASSIGN_OR_RETURN(const bool resumed, HandleBadBytes(reason));
    if (!resumed) return false;
  }
}

absl::StatusOr<const char*> LogReader::ParseRecordAt(FileWindow& window, uint64_t offset,
                                                     LogRecordHeader* header,
                                                     std::string_view* payload) {
  const uint64_t available = file_size() - offset;
  if (available < kLogRecordHeaderBytes) return "record header reaches beyond the end of the file";
  WINNOW_ASSIGN_OR_RETURN(const std::string_view header_bytes,
                          window.At(offset, kLogRecordHeaderBytes));
  *header = DecodeLogRecordHeader(header_bytes);
  if (const char* why_not = LogRecordHeaderError(*header, log_number_, available)) {
    return why_not;
  }
  const auto record = window.At(offset, static_cast<size_t>(header->record_bytes()));
  if (absl::IsOutOfRange(record.status())) {
    // No writer cuts its log inside a record. This is no end either: the file had these bytes.
    return absl::UnavailableError(
        absl::StrCat(record.status().message(), " while a record was read"));
  }
  if (!record.ok()) return record.status();
  if (!LogRecordChecksumIsRight(*record, log_number_, offset)) {
    return "checksum of the record does not match";
  }
  *payload = record->substr(kLogRecordHeaderBytes);
  return nullptr;
}

// How a log ends. What stands at position_ is no record; what lies behind it tells why:
//
//   behind position_                          | the end is             | because
//   ------------------------------------------+------------------------+-------------------------
//   only zeros, after the close marker        | kCleanClose            | the log was closed
//   only zeros                                | kUnclosed              | preallocated space of a
//                                             |                        | process that was killed
//   other bytes, no valid record, no marker   | kTornTail              | the last append was cut
//                                             |                        | short by a crash
//   a valid record of this log                | damage                 | a crash tears the end of
//                                             |                        | a log, not its middle
//   bytes after the close marker              | damage                 | nothing is written there
//
// Damage is an error in kStrict, the end in kPointInTime, and skipped in kSalvage. A torn tail is
// an ordinary end in all modes: its record was never acknowledged as synced, since a sync covers
// all bytes before its end. That a damaged last record of an unclosed log looks the same is why
// CloseCleanly writes its marker.
absl::StatusOr<bool> LogReader::HandleBadBytes(std::string_view reason) {
  WINNOW_ASSIGN_OR_RETURN(const uint64_t content_end, FindContentEnd());
  if (content_end == position_) {
    Finish(closed_cleanly_ ? LogEnd::Kind::kCleanClose : LogEnd::Kind::kUnclosed, content_end, {});
    return false;
  }
  WINNOW_ASSIGN_OR_RETURN(const uint64_t next_record, FindRecord(content_end));
  const bool records_follow = next_record != kNoRecord;
  if (!closed_cleanly_) {
    WINNOW_ASSIGN_OR_RETURN(const bool is_whole, IsWholeNow());
    if (is_whole) return true;
  }
  if (!records_follow && !closed_cleanly_) {
    Finish(LogEnd::Kind::kTornTail, content_end, reason);
    return false;
  }
  if (mode_ == LogRecoveryMode::kStrict) {
    std::string text(reason);
    if (records_follow) absl::StrAppend(&text, "; valid records follow at offset ", next_record);
    return CorruptionError(path_, position_, text);
  }
  if (mode_ == LogRecoveryMode::kSalvage) {
    // The reader goes on in the middle of a closed log only here: what follows a marker that
    // salvage skipped are records again.
    const uint64_t skip_end = records_follow ? next_record : content_end;
    end_.skipped.push_back({position_, skip_end - position_, std::string(reason)});
    end_.bytes_dropped += skip_end - position_;
    position_ = skip_end;
    closed_cleanly_ = false;
    if (!records_follow) Finish(LogEnd::Kind::kDamaged, skip_end, reason);
    return records_follow;
  }
  end_.valid_records_follow = records_follow;
  Finish(LogEnd::Kind::kDamaged, content_end, reason);
  return false;
}

// Beside a writer the bytes at position_ may have been read before they were whole, and what lies
// behind them afterwards.
absl::StatusOr<bool> LogReader::IsWholeNow() {
  window_.Forget();
  if (position_ == 0) {
    const size_t available =
        static_cast<size_t>(std::min<uint64_t>(file_size(), kLogFileHeaderBytes));
    WINNOW_ASSIGN_OR_RETURN(const std::string_view header, window_.At(0, available));
    const absl::StatusOr<LogIdentity> stated = DecodeLogFileHeader(header);
    if (!stated.ok() || stated->number != log_number_ || IsForeign(*stated)) return false;
    position_ = end_.offset = kLogFileHeaderBytes;
    return true;
  }
  LogRecordHeader header;
  std::string_view payload;
  WINNOW_ASSIGN_OR_RETURN(const char* why_not,
                          ParseRecordAt(window_, position_, &header, &payload));
  return why_not == nullptr;
}

void LogReader::Finish(LogEnd::Kind kind, uint64_t content_end, std::string_view reason) {
  finished_ = true;
  end_.kind = kind;
  end_.reason = std::string(reason);
  end_.bytes_dropped += content_end - position_;
}

// Returns one past the last byte behind position_ that is not zero; position_ if all are zero.
// Reads to the end of the file, though not again for each of many runs of bad bytes. Zeros are not
// content: logs are preallocated in steps of up to 4 MiB.
absl::StatusOr<uint64_t> LogReader::FindContentEnd() {
  if (content_end_ > position_ && content_end_ <= file_size()) return content_end_;
  uint64_t content_end = position_;
  for (uint64_t offset = position_; offset < file_size();) {
    const size_t length = static_cast<size_t>(std::min<uint64_t>(kReadBytes, file_size() - offset));
    WINNOW_ASSIGN_OR_RETURN(const std::string_view bytes, scan_window_.At(offset, length));
    const size_t last = bytes.find_last_not_of('\0');
    if (last != std::string_view::npos) content_end = offset + last + 1;
    offset += length;
  }
  content_end_ = content_end;
  return content_end;
}

// Returns the offset of the first valid record of this log behind position_ (at position_, after
// a clean close), or kNoRecord. Only a record's end may be zeros, so it starts before content_end.
// Records are not aligned, so that every offset is tried: first the four bytes that must be the
// log's number, which random bytes pass once in 2^32, then the header, then the checksum, for which
// scan_budget_bytes_ bounds the work. Once the budget is used up no more candidates are believed:
// bytes that only an adversarial file could hold are then treated as a torn tail or skipped.
//
// Chunks overlap by one byte less than a header, so that a header across two of them is seen whole.
absl::StatusOr<uint64_t> LogReader::FindRecord(uint64_t content_end) {
  uint64_t offset = closed_cleanly_ ? position_ : position_ + 1;
  while (offset < content_end && file_size() - offset >= kLogRecordHeaderBytes) {
    const size_t length = static_cast<size_t>(std::min<uint64_t>(kReadBytes, file_size() - offset));
    WINNOW_ASSIGN_OR_RETURN(const std::string_view bytes, scan_window_.At(offset, length));
    for (size_t i = 0; i + kLogRecordHeaderBytes <= length && offset + i < content_end; i++) {
      if (DecodeFixed32(bytes.data() + i + 8) != static_cast<uint32_t>(log_number_)) continue;
      WINNOW_ASSIGN_OR_RETURN(const bool valid, CandidateIsRecord(offset + i, bytes.substr(i)));
      if (valid) return offset + i;
    }
    if (length < kLogRecordHeaderBytes) break;
    offset += length - kLogRecordHeaderBytes + 1;
  }
  return kNoRecord;
}

absl::StatusOr<bool> LogReader::CandidateIsRecord(uint64_t offset, std::string_view header_bytes) {
  LogRecordHeader header = DecodeLogRecordHeader(header_bytes);
  if (LogRecordHeaderError(header, log_number_, file_size() - offset) != nullptr ||
      header.record_bytes() > scan_budget_bytes_) {
    return false;
  }
  scan_budget_bytes_ -= header.record_bytes();
  std::string_view payload;
  WINNOW_ASSIGN_OR_RETURN(const char* why_not,
                          ParseRecordAt(candidate_window_, offset, &header, &payload));
  return why_not == nullptr;
}

}  // namespace winnow
