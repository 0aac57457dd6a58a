// Writes write-ahead logs and manifests: a sequence of checksummed records.
#ifndef WINNOW_ENGINE_LOG_LOG_WRITER_H_
#define WINNOW_ENGINE_LOG_LOG_WRITER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/log/log_format.h"
#include "winnow/file_system.h"

namespace winnow {

// For one thread at a time. After an append or a sync has failed the log's tail is unknown: every
// later call returns that error, and the log must be given up for a new one.
class LogWriter {
 public:
  // Creates the file (an existing one is truncated) and appends its header; neither is durable
  // before Sync here and SyncDirectory of the parent. The number ties every record to this log.
  static absl::StatusOr<std::unique_ptr<LogWriter>> Create(FileSystem& file_system,
                                                           const std::string& path,
                                                           const LogIdentity& identity,
                                                           WritableFileOptions::Mode mode);
  // Closes without a marker and without reporting errors.
  ~LogWriter() = default;

  // Appends one record with one append to the file; a reader sees it whole or not at all.
  // InvalidArgument, with nothing written, above kMaxLogPayloadBytes.
  [[nodiscard]] absl::Status Append(std::string_view payload);

  // The same in two steps, for a payload that is put together in its place in the record instead of
  // being copied there: the caller appends it to what BeginRecord returns. A record that is begun
  // and not appended has changed nothing.
  std::string* BeginRecord();
  [[nodiscard]] absl::Status AppendBegunRecord();

  // What was appended survives the process being killed. In mode kLog that is so after Append.
  [[nodiscard]] absl::Status Flush();
  // What was appended survives a power failure.
  [[nodiscard]] absl::Status Sync();

  // Ends the log with a marker, syncs and closes. The marker lets a reader tell later damage of
  // the last record from a write that a crash tore.
  [[nodiscard]] absl::Status CloseCleanly();
  // The same where the disk may be full: a log that has no room for its marker is synced and closed
  // without one, and *has_marker is false.
  [[nodiscard]] absl::Status CloseSynced(bool* has_marker);
  // Closes without marker and without sync.
  [[nodiscard]] absl::Status Close();

  // Bytes written, file header included: the offset of the next record.
  uint64_t size() const { return file_->size(); }
  uint64_t log_number() const { return log_number_; }

 private:
  LogWriter(std::unique_ptr<WritableFile> file, uint64_t log_number)
      : file_(std::move(file)), log_number_(log_number) {}

  // What stands in record_, behind room for its header.
  absl::Status AppendRecord(LogRecordType type);
  absl::Status AppendMarker();

  const std::unique_ptr<WritableFile> file_;
  const uint64_t log_number_;
  std::string record_;  // reused by every append
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_LOG_LOG_WRITER_H_
