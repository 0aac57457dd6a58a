// The open files and locks of a MemoryFileSystem, which must outlive them.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_
#define WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "engine/file_system/memory_file_system.h"
#include "engine/file_system/memory_tree.h"

namespace winnow {

class MemoryRandomAccessFile final : public RandomAccessFile {
 public:
  MemoryRandomAccessFile(const MemoryFileSystem* file_system,
                         std::shared_ptr<const MemoryNode> node, uint64_t size)
      : file_system_(file_system), node_(std::move(node)), size_(size) {}

  absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
    return file_system_->ReadContent(*node_, offset, length, buffer);
  }
  uint64_t size() const override { return size_; }

 private:
  const MemoryFileSystem* const file_system_;
  const std::shared_ptr<const MemoryNode> node_;
  const uint64_t size_;
};

class MemoryWritableFile final : public WritableFile {
 public:
  MemoryWritableFile(MemoryFileSystem* file_system, std::string path,
                     std::shared_ptr<MemoryNode> node, WritableFileOptions::Mode mode)
      : file_system_(file_system), path_(std::move(path)), node_(std::move(node)), mode_(mode) {}
  ~MemoryWritableFile() override { Close().IgnoreError(); }

  absl::Status Append(std::string_view data) override;
  absl::Status Flush() override;
  absl::Status Sync() override { return Flush(); }
  absl::Status Close() override;
  uint64_t size() const override { return size_; }

 private:
  absl::Status CheckOpen() const;

  MemoryFileSystem* const file_system_;
  const std::string path_;
  const std::shared_ptr<MemoryNode> node_;
  const WritableFileOptions::Mode mode_;
  std::string unflushed_;  // kBuffered: readers do not see these bytes yet
  uint64_t size_ = 0;
  bool closed_ = false;
};

class MemoryFileLock final : public FileLock {
 public:
  MemoryFileLock(MemoryFileSystem* file_system, uint64_t node)
      : file_system_(file_system), node_(node) {}
  ~MemoryFileLock() override { file_system_->Unlock(node_); }

 private:
  MemoryFileSystem* const file_system_;
  const uint64_t node_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILES_H_
