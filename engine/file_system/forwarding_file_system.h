// A file system that hands every call on to another one: the base of those that watch or spoil some
// of the calls.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_FORWARDING_FILE_SYSTEM_H_
#define WINNOW_ENGINE_FILE_SYSTEM_FORWARDING_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "winnow/file_system.h"

namespace winnow {

// What it returns is `target`'s own. `target` must outlive it.
class ForwardingFileSystem : public FileSystem {
 public:
  explicit ForwardingFileSystem(FileSystem* target) : target_(target) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    return target_->OpenRandomAccess(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    return target_->Create(path, options);
  }
  absl::Status Link(const std::string& from, const std::string& to) override {
    return target_->Link(from, to);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return target_->Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return target_->Remove(path); }
  absl::Status CreateDirectories(const std::string& path) override {
    return target_->CreateDirectories(path);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return target_->RemoveDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return target_->List(directory);
  }
  absl::StatusOr<bool> Exists(const std::string& path) override { return target_->Exists(path); }
  absl::StatusOr<bool> IsDirectory(const std::string& path) override {
    return target_->IsDirectory(path);
  }
  absl::StatusOr<uint64_t> FileSize(const std::string& path) override {
    return target_->FileSize(path);
  }
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override {
    return target_->Identify(path);
  }
  absl::Status SyncFile(const std::string& path) override { return target_->SyncFile(path); }
  absl::Status SyncDirectory(const std::string& directory) override {
    return target_->SyncDirectory(directory);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return target_->Lock(path);
  }

 protected:
  FileSystem& target() const { return *target_; }

 private:
  FileSystem* const target_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_FORWARDING_FILE_SYSTEM_H_
