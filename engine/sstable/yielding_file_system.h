// Takes descriptors from SSTables for files that are needed more.
#ifndef WINNOW_ENGINE_SSTABLE_YIELDING_FILE_SYSTEM_H_
#define WINNOW_ENGINE_SSTABLE_YIELDING_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/file_system/forwarding_file_system.h"
#include "engine/sstable/open_file_cache.h"

namespace winnow {

// Where the process has no descriptor left for a new log, table or manifest, or for the directory
// that is to be synced, tables close some of theirs, and the call is tried again. Tables open their
// files again when they are read; a write that is refused is lost to the caller.
class YieldingFileSystem final : public ForwardingFileSystem {
 public:
  // Both must outlive it.
  YieldingFileSystem(FileSystem* target, OpenFileCache* open_files)
      : ForwardingFileSystem(target), open_files_(open_files) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       const WritableFileOptions& options) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override;
  absl::Status SyncDirectory(const std::string& directory) override;

 private:
  // `call` returns its status.
  void Try(absl::FunctionRef<absl::Status()> call);

  OpenFileCache* const open_files_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_SSTABLE_YIELDING_FILE_SYSTEM_H_
