// The open files of a RecordingFileSystem, which must outlive them.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILES_H_
#define WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/file_system/testing/recording_file_system.h"

namespace winnow {

class RecordingRandomAccessFile final : public RandomAccessFile {
 public:
  RecordingRandomAccessFile(const RecordingFileSystem* file_system, std::string path,
                            std::unique_ptr<RandomAccessFile> file)
      : file_system_(file_system), path_(std::move(path)), file_(std::move(file)) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override;
  uint64_t size() const override { return file_->size(); }

 private:
  const RecordingFileSystem* const file_system_;
  const std::string path_;
  const std::unique_ptr<RandomAccessFile> file_;
};

class RecordingWritableFile final : public WritableFile {
 public:
  // `node` is the id of the file behind `file`.
  RecordingWritableFile(RecordingFileSystem* file_system, std::string path, uint64_t node,
                        std::unique_ptr<WritableFile> file, bool log_mode)
      : file_system_(file_system),
        path_(std::move(path)),
        node_(node),
        file_(std::move(file)),
        log_mode_(log_mode) {}
  ~RecordingWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(std::string_view data) override;
  absl::Status Flush() override { return HandOver(FileOperation::Kind::kFlush); }
  absl::Status Sync() override { return HandOver(FileOperation::Kind::kSync); }
  absl::Status Close() override;
  uint64_t size() const override { return size_; }

 private:
  absl::Status CheckWritable() const;
  // Calls the error hook; an error is final for this file.
  absl::Status Allow(const FileOperation& operation);
  // Performs `kind`, which makes the unflushed bytes part of the file.
  absl::Status HandOver(FileOperation::Kind kind);

  RecordingFileSystem* const file_system_;
  const std::string path_;
  const uint64_t node_;
  const std::unique_ptr<WritableFile> file_;
  const bool log_mode_;
  // kBuffered. Held here rather than in file_, which would hand over when it is destroyed what a
  // Close that failed has lost.
  std::string unflushed_;
  uint64_t size_ = 0;
  bool closed_ = false;
  absl::Status first_error_;
  absl::Status append_error_;  // log mode: the bytes before it may still be synced
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILES_H_
