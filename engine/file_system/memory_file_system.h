// The implementation of NewMemoryFileSystem: a tree of nodes under one lock.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILE_SYSTEM_H_
#define WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "engine/file_system/memory_tree.h"
#include "filter/base/mutex.h"
#include "winnow/file_system.h"

namespace winnow {

class MemoryFileSystem final : public FileSystem {
 public:
  // Shows, and changes, the tree below `root`, which is a directory. The caller may keep `root` and
  // read the tree whenever no call that changes it can run.
  explicit MemoryFileSystem(std::shared_ptr<MemoryNode> root);

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
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override;
  absl::Status SyncFile(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

  // For the open files, which hold on to their nodes.
  void AppendContent(MemoryNode& node, std::string_view bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  size_t ReadContent(const MemoryNode& node, uint64_t offset, size_t length, char* buffer) const
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Unlock(uint64_t node) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Creates the file, or truncates it.
  absl::StatusOr<std::shared_ptr<MemoryNode>> CreateNode(const std::string& path)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status RemoveEntry(const std::string& path, bool is_directory) ABSL_LOCKS_EXCLUDED(mutex_);

  mutable Mutex mutex_;
  // The pointer is constant. Every node below it, those that open files hold included, is guarded
  // by mutex_, which no annotation can say of what is reached through shared pointers.
  const std::shared_ptr<MemoryNode> root_;
  uint64_t next_id_ ABSL_GUARDED_BY(mutex_);
  std::set<uint64_t> locked_ ABSL_GUARDED_BY(mutex_);  // ids of the nodes that a FileLock names
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_MEMORY_FILE_SYSTEM_H_
