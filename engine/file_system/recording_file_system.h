// The implementation of MemoryFileSystem: a tree of nodes and a list of what was done to it.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_RECORDING_FILE_SYSTEM_H_
#define WINNOW_ENGINE_FILE_SYSTEM_RECORDING_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "engine/base/mutex.h"
#include "engine/file_system/crash_state.h"
#include "engine/file_system/memory_tree.h"
#include "winnow/memory_file_system.h"

namespace winnow {

class RecordingFileSystem final : public MemoryFileSystem {
 public:
  // Everything in the tree is durable.
  explicit RecordingFileSystem(std::shared_ptr<MemoryNode> root);

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       const WritableFileOptions& options) override;
  absl::Status Link(const std::string& from, const std::string& to) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status Remove(const std::string& path) override;
  absl::Status CreateDirectories(const std::string& path) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::StatusOr<bool> Exists(const std::string& path) override;
  absl::StatusOr<bool> IsDirectory(const std::string& path) override;
  absl::StatusOr<uint64_t> FileSize(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

  size_t num_operations() const override;
  FileOperation operation(size_t index) const override;
  std::unique_ptr<MemoryFileSystem> StateAfterCrash(size_t num_operations,
                                                    const CrashChoice& choice) const override;
  void set_recording(bool recording) override;
  void set_error_hook(ErrorHook hook) override;

  // For the open files.

  // Asks the error hook; every operation starts here.
  absl::Status Allow(const FileOperation& operation) const;
  // Records `operation` on a file and makes `new_bytes` part of its content, in one step.
  void RecordFileOperation(FileOperation operation, MemoryNode& node, std::string_view new_bytes);
  size_t ReadContent(const MemoryNode& node, uint64_t offset, size_t length, char* buffer) const;
  void Unlock(uint64_t node);

 private:
  using Operations = std::vector<std::shared_ptr<const RecordedOperation>>;

  void Record(RecordedOperation recorded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Creates the file, or truncates it, and records that.
  absl::StatusOr<std::shared_ptr<MemoryNode>> CreateNode(const std::string& path, bool log_mode)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveEntry(FileOperation::Kind kind, const std::string& path, bool is_directory)
      ABSL_LOCKS_EXCLUDED(mutex_);
  absl::StatusOr<std::shared_ptr<MemoryNode>> Inspect(FileOperation::Kind kind,
                                                      const std::string& path) const
      ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  const std::shared_ptr<MemoryNode> root_;  // the pointer is constant, the tree is guarded
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> locked_ ABSL_GUARDED_BY(mutex_);
  bool recording_ ABSL_GUARDED_BY(mutex_) = true;
  std::shared_ptr<const MemoryNode> base_ ABSL_GUARDED_BY(mutex_);  // before operations_
  Operations operations_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const ErrorHook> error_hook_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_RECORDING_FILE_SYSTEM_H_
