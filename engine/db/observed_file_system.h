// Tells of each file of a database that is created or removed.
#ifndef WINNOW_ENGINE_DB_OBSERVED_FILE_SYSTEM_H_
#define WINNOW_ENGINE_DB_OBSERVED_FILE_SYSTEM_H_

#include <memory>
#include <string>
#include <vector>

#include "engine/db/event_queue.h"
#include "winnow/file_system.h"

namespace winnow {

// Hands everything on to `base`; what it returns is `base`'s own. Both arguments must outlive it.
class ObservedFileSystem final : public FileSystem {
 public:
  // Only SSTables, write-ahead logs and manifests in `directory` are told of.
  ObservedFileSystem(FileSystem* base, std::string directory, EventQueue* events);

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

 private:
  void TellOf(Event::Kind kind, const std::string& path);

  FileSystem* const base_;
  const std::string directory_;  // ends in "/"
  EventQueue* const events_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_DB_OBSERVED_FILE_SYSTEM_H_
