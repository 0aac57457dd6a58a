// The open files and locks of a RecordingFileSystem, which must outlive them.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_
#define WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "engine/file_system/memory_tree.h"
#include "engine/file_system/recording_file_system.h"

namespace winnow {

class MemoryRandomAccessFile final : public RandomAccessFile {
 public:
  MemoryRandomAccessFile(const RecordingFileSystem* file_system, std::string path,
                         std::shared_ptr<const MemoryNode> node, uint64_t size)
      : file_system_(file_system), path_(std::move(path)), node_(std::move(node)), size_(size) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override;
  uint64_t size() const override { return size_; }

 private:
  const RecordingFileSystem* const file_system_;
  const std::string path_;
  const std::shared_ptr<const MemoryNode> node_;
  const uint64_t size_;
};

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(RecordingFileSystem* file_system, std::string path,
                     std::shared_ptr<MemoryNode> node, bool log_mode)
      : file_system_(file_system),
        path_(std::move(path)),
        node_(std::move(node)),
        log_mode_(log_mode) {}
  ~MemoryWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(std::string_view data) override;
  absl::Status Flush() override { return HandOver(FileOperation::Kind::kFlush); }
  absl::Status Sync() override { return HandOver(FileOperation::Kind::kSync); }
  absl::Status Close() override;
  uint64_t size() const override { return size_; }

 private:
  absl::Status CheckWritable() const;
  // Asks the error hook; an error is final for this file.
  absl::Status Allow(const FileOperation& operation);
  // Performs `kind`, which makes the unflushed bytes part of the file.
  absl::Status HandOver(FileOperation::Kind kind);

  RecordingFileSystem* const file_system_;
  const std::string path_;
  const std::shared_ptr<MemoryNode> node_;
  const bool log_mode_;
  std::string unflushed_;  // kBuffered: readers do not see these bytes yet
  uint64_t size_ = 0;
  bool closed_ = false;
  absl::Status first_error_;
  absl::Status append_error_;  // log mode: says nothing of the bytes before it
};

class MemoryFileLock final : public FileLock {
 public:
  MemoryFileLock(RecordingFileSystem* file_system, uint64_t node)
      : file_system_(file_system), node_(node) {}
  ~MemoryFileLock() override { file_system_->Unlock(node_); }

 private:
  RecordingFileSystem* const file_system_;
  const uint64_t node_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_
