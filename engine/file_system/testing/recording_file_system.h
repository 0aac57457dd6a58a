// A file system in memory that records what is done to it, so that a test can ask: what would be
// on disk if the machine had crashed right here?
//
//   winnow::RecordingFileSystem memory;
//   ... open a database on it, write, close ...
//   for (size_t n = 0; n <= memory.num_operations(); n++) {
//     auto crashed = memory.StateAfterCrash(n, winnow::CrashChoice::RandomSubset(seed));
//     ... open a database on *crashed and compare ...
//   }
#ifndef WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILE_SYSTEM_H_
#define WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILE_SYSTEM_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "engine/file_system/memory_file_system.h"
#include "engine/file_system/memory_tree.h"
#include "engine/file_system/testing/crash_choice.h"
#include "engine/file_system/testing/crash_state.h"
#include "engine/file_system/testing/file_operation.h"
#include "filter/base/mutex.h"

namespace winnow {

// Thread-safe. Must outlive the files and locks that it hands out. Relative paths start at "/".
class RecordingFileSystem final : public FileSystem {
 public:
  // Called before each operation, without any lock held; may be called by several threads at once.
  // An error makes the operation fail with it, undone and unrecorded.
  using ErrorHook = std::function<absl::Status(const FileOperation&)>;

  // Empty, with recording on.
  RecordingFileSystem();
  // All that is in the tree is durable. Recording is on.
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
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override;
  absl::Status SyncFile(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& directory) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;

  // The recorded operations so far, and each of them by its index.
  size_t num_operations() const;
  FileOperation operation(size_t index) const;

  // The file system as it is found after a crash right after the first `num_operations` recorded
  // operations. All that is in it is durable, nothing is locked, and its own recording starts.
  std::unique_ptr<RecordingFileSystem> StateAfterCrash(size_t num_operations,
                                                       const CrashChoice& choice) const;

  // Recording keeps every appended byte; large tests switch it off. Either change forgets the
  // operations so far and takes the present state as durable.
  void set_recording(bool recording);

  // Replaces the hook; null removes it. Must not race with calls that would run the old hook.
  void set_error_hook(ErrorHook hook);

  // For the open files.

  // Calls the error hook; every operation starts here.
  absl::Status Allow(const FileOperation& operation) const ABSL_LOCKS_EXCLUDED(mutex_);
  // Performs an operation on the file with the id `node` and records it, in one step.
  absl::Status Perform(FileOperation operation, uint64_t node,
                       absl::FunctionRef<absl::Status()> perform) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Operations = std::vector<std::shared_ptr<const RecordedOperation>>;

  absl::Status RemoveEntry(FileOperation::Kind kind, const std::string& path)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void Record(RecordedOperation recorded) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The id of what the path names, 0 if nothing has it.
  uint64_t IdOf(const std::string& path) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Where the path's name stands or would stand; nowhere if its directory does not exist.
  RecordedOperation::Place PlaceOf(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Held while a change is made to memory_ and recorded, so that the record has the order in which
  // the changes happened and the tree is still while it is read for identities and copies.
  mutable Mutex mutex_;
  const std::shared_ptr<MemoryNode> root_;  // the tree of memory_, which also guards it
  MemoryFileSystem memory_;
  bool recording_ ABSL_GUARDED_BY(mutex_) = true;
  std::shared_ptr<const MemoryNode> base_ ABSL_GUARDED_BY(mutex_);  // before operations_
  Operations operations_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const ErrorHook> error_hook_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_TESTING_RECORDING_FILE_SYSTEM_H_
