// Which threads write SSTables.
#ifndef WINNOW_TESTS_SUPPORT_TABLE_THREADS_H_
#define WINNOW_TESTS_SUPPORT_TABLE_THREADS_H_

#include <memory>
#include <set>
#include <string>
#include <thread>

#include "engine/file_system/forwarding_file_system.h"
#include "filter/base/mutex.h"

namespace winnow {

// Notes the threads that create tables.
class TableThreads final : public ForwardingFileSystem {
 public:
  explicit TableThreads(FileSystem* target) : ForwardingFileSystem(target) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    if (path.ends_with(".sst")) {
      MutexLock lock(&mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    return ForwardingFileSystem::Create(path, options);
  }
  size_t num_threads() {
    MutexLock lock(&mutex_);
    return threads_.size();
  }
  void Forget() {
    MutexLock lock(&mutex_);
    threads_.clear();
  }

 private:
  Mutex mutex_;
  std::set<std::thread::id> threads_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_TABLE_THREADS_H_
