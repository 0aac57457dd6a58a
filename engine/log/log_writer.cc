#include "engine/log/log_writer.h"

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"

namespace winnow {
namespace {

// A buffer that one large record made larger than this is given back.
constexpr size_t kMaxKeptBufferBytes = size_t{1} << 20;

}  // namespace

// The header is appended at once: a log without one was torn while it was created and holds
// nothing.
absl::StatusOr<std::unique_ptr<LogWriter>> LogWriter::Create(FileSystem& file_system,
                                                             const std::string& path,
                                                             uint64_t log_number,
                                                             WritableFileOptions::Mode mode) {
  WritableFileOptions options;
  options.mode = mode;
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, file_system.Create(path, options));
  WINNOW_RETURN_IF_ERROR(file->Append(EncodeLogFileHeader(log_number)));
  return std::unique_ptr<LogWriter>(new LogWriter(std::move(file), log_number));
}

absl::Status LogWriter::AppendRecord(LogRecordType type, std::string_view payload) {
  // Header and payload are put together and appended with one call: if the process is killed, a log
  // of mode kLog holds the whole record or a part of it, and never a header whose payload another
  // append separates. Without memory for the copy nothing has been written and the log stays
  // usable.
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    record_.resize(kLogRecordHeaderBytes);
    record_.append(payload);
    return absl::OkStatus();
  }));
  EncodeLogRecordHeader(record_.data(), record_.size(), type, log_number_, file_->size());
  return file_->Append(record_);
}

// One buffer serves all records of the log, which are small and alike; a rare large one must not
// hold its memory for the log's whole life.
absl::Status LogWriter::Append(std::string_view payload) {
  if (payload.size() > kMaxLogPayloadBytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        "log record of ", payload.size(), " bytes; the largest has ", kMaxLogPayloadBytes));
  }
  absl::Status status = AppendRecord(LogRecordType::kData, payload);
  if (record_.capacity() > kMaxKeptBufferBytes) std::string().swap(record_);
  return status;
}

absl::Status LogWriter::Flush() { return file_->Flush(); }

absl::Status LogWriter::Sync() { return file_->Sync(); }

// The marker is synced like any record: a marker in the page cache alone would prove nothing.
absl::Status LogWriter::CloseCleanly() {
  absl::Status status = AppendRecord(LogRecordType::kCleanClose, {});
  if (status.ok()) status = file_->Sync();
  absl::Status close_status = file_->Close();
  return status.ok() ? close_status : status;
}

absl::Status LogWriter::Close() { return file_->Close(); }

}  // namespace winnow
