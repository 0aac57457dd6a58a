// What LevelDB's CompactRange, which returns nothing, leaves behind when it fails.
#ifndef WINNOW_ENGINE_COMPAT_COMPACT_RANGE_ERROR_H_
#define WINNOW_ENGINE_COMPAT_COMPACT_RANGE_ERROR_H_

#include <atomic>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "filter/base/mutex.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// As in LevelDB the error of a compaction stops later writes, which tell it; unlike there, it does
// so until a compaction of a range succeeds. Thread-safe.
class CompactRangeError {
 public:
  // A call that was refused compacted nothing, and says nothing of the database.
  void Keep(const absl::Status& status) {
    if (absl::IsInvalidArgument(status) || absl::IsFailedPrecondition(status)) return;
    MutexLock lock(&mutex_);
    status_ = status;
    // Not WithContext, which the shared library keeps to itself.
    UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      if (status.ok()) return;
      status_ =
          absl::Status(status.code(),
                       absl::StrCat("an earlier compaction of a range failed: ", status.message()));
    });
    // Relaxed: writes that run beside the compaction may miss it, and those that come after it on
    // the same thread, or are told of it by another, do not.
    is_ok_.store(status.ok(), std::memory_order_relaxed);
  }

  // OK, at the price of a load, where no compaction has failed.
  absl::Status Get() const {
    if (is_ok_.load(std::memory_order_relaxed)) [[likely]]
      return absl::OkStatus();
    MutexLock lock(&mutex_);
    return status_;
  }

 private:
  std::atomic<bool> is_ok_{true};
  mutable Mutex mutex_;
  absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_COMPACT_RANGE_ERROR_H_
