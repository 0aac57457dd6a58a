// What another process does between a look at a directory and the lock.
#ifndef WINNOW_TESTS_SUPPORT_BEFORE_LOCK_H_
#define WINNOW_TESTS_SUPPORT_BEFORE_LOCK_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/file_system/forwarding_file_system.h"

namespace winnow {

// A file system that does something before the first lock is taken, and before the first file is
// removed.
class ActingFileSystem final : public ForwardingFileSystem {
 public:
  explicit ActingFileSystem(FileSystem* target) : ForwardingFileSystem(target) {}

  std::function<void()> before_lock;
  std::function<void()> before_create;  // of a file
  std::function<void()> before_remove;

  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    ActOnce(&before_lock);
    return ForwardingFileSystem::Lock(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    ActOnce(&before_create);
    return ForwardingFileSystem::Create(path, options);
  }
  absl::Status Remove(const std::string& path) override {
    ActOnce(&before_remove);
    return ForwardingFileSystem::Remove(path);
  }

 private:
  static void ActOnce(std::function<void()>* act) {
    if (const std::function<void()> once = std::exchange(*act, nullptr)) once();
  }
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_BEFORE_LOCK_H_
