#include "engine/log/log_writer.h"

#include "engine/base/large_buffer.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {
namespace {

absl::Status CheckPayload(size_t bytes) {
  if (bytes <= kMaxLogPayloadBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("log record of ", bytes, " bytes; the largest has ", kMaxLogPayloadBytes));
}

}  // namespace

// The header is appended at once: a log without one was torn while it was created and holds
// nothing.
absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Create(FileSystem& file_system,
                                                             const std::string& path,
                                                             const LogIdentity& identity,
                                                             WritableFileOptions::Mode mode) {
  WritableFileOptions options;
  options.mode = mode;
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system.Create(path, options));
  WINNOW_RETURN_IF_ERROR(file->Append(EncodeLogFileHeader(identity)));
  return std::unique_ptr<LogWriter>(new LogWriter(std::move(file), identity.number));
}

std::string* LogWriter::BeginRecord() {
  record_.resize(kLogRecordHeaderBytes);
  return &record_;
}

// Header and payload lie together and are appended with one call: if the process is killed, a log
// of mode kLog holds the whole record or a part of it, and never a header whose payload another
// append separates.
absl::Status LogWriter::AppendRecord(LogRecordType type) {
  EncodeLogRecordHeader(record_.data(), record_.size(), type, log_number_, file_->size());
  return file_->Append(record_);
}

// One buffer serves all records of the log, which are small and alike; a rare large one must not
// hold its memory for the log's whole life.
absl::Status LogWriter::AppendBegunRecord() {
  absl::Status status = CheckPayload(record_.size() - kLogRecordHeaderBytes);
  if (status.ok()) status = AppendRecord(LogRecordType::kData);
  FreeIfLarge(&record_);
  return status;
}

// Without memory for the copy nothing has been written and the log stays usable.
absl::Status LogWriter::Append(std::string_view payload) {
  WINNOW_RETURN_IF_ERROR(CheckPayload(payload.size()));
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    BeginRecord()->append(payload);
    return absl::OkStatus();
  }));
  return AppendBegunRecord();
}

absl::Status LogWriter::Flush() { return file_->Flush(); }

absl::Status LogWriter::Sync() { return file_->Sync(); }

absl::Status LogWriter::AppendMarker() {
  BeginRecord();
  return AppendRecord(LogRecordType::kCleanClose);
}

// The marker is synced like any record: a marker in the page cache alone would prove nothing.
absl::Status LogWriter::CloseCleanly() {
  absl::Status status = AppendMarker();
  if (status.ok()) status = file_->Sync();
  absl::Status close_status = file_->Close();
  return status.ok() ? close_status : status;
}

// What of a marker that did not fit may be in the file is a torn record, behind all that counts.
absl::Status LogWriter::CloseSynced(bool* has_marker) {
  absl::Status status = AppendMarker();
  *has_marker = status.ok();
  if (status.ok() || absl::IsResourceExhausted(status)) status = file_->Sync();
  absl::Status close_status = file_->Close();  // repeats the error of the append, if there was one
  return status.ok() && *has_marker ? close_status : status;
}

absl::Status LogWriter::Close() { return file_->Close(); }

}  // namespace winnow
