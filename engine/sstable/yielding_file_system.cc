#include "engine/sstable/yielding_file_system.h"

#include <optional>
#include <utility>

namespace winnow {

namespace {

// A full disk has the same code as a lack of descriptors, and closing tables does not help there:
// then this many times four of them are closed in vain, and not all.
constexpr int kMaxTries = 4;

}  // namespace

// Again only after descriptors came free, or there is no reason for another answer.
void YieldingFileSystem::Try(absl::FunctionRef<absl::Status()> call) {
  for (int tries = 1; absl::IsResourceExhausted(call()); tries++) {
    if (tries == kMaxTries || !open_files_->GiveUpSome()) return;
  }
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> YieldingFileSystem::OpenRandomAccess(
    const std::string& path) {
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> opened;
  Try([&] {
    opened = target().OpenRandomAccess(path);
    return opened.status();
  });
  return opened;
}

absl::StatusOr<std::unique_ptr<WritableFile>> YieldingFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  absl::StatusOr<std::unique_ptr<WritableFile>> created;
  Try([&] {
    created = target().Create(path, options);
    return created.status();
  });
  return created;
}

absl::StatusOr<std::vector<std::string>> YieldingFileSystem::List(const std::string& directory) {
  absl::StatusOr<std::vector<std::string>> names;
  Try([&] {
    names = target().List(directory);
    return names.status();
  });
  return names;
}

// For the descriptor of the directory. Never once the sync itself has failed, since a second one
// that succeeds proves nothing: that error is Unavailable, which is not tried again.
absl::Status YieldingFileSystem::SyncDirectory(const std::string& directory) {
  absl::Status status;
  Try([&] { return status = target().SyncDirectory(directory); });
  return status;
}

}  // namespace winnow
