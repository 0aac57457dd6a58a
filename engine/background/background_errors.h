// What went wrong in the background, what follows from it, and when it is tried again. README.md of
// engine/, "When I/O fails", has the table.
#ifndef WINNOW_ENGINE_BACKGROUND_BACKGROUND_ERRORS_H_
#define WINNOW_ENGINE_BACKGROUND_BACKGROUND_ERRORS_H_

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "absl/status/status.h"
#include "engine/base/capabilities.h"
#include "engine/base/steady_clock.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"

namespace winnow {

// What runs in the background. A failure of one kind delays that kind alone: a compaction may not
// fit on a disk that has room for flushes.
enum class JobKind { kFlush, kCompaction };

// Three kinds of trouble, which exclude each other less and less:
//  1. A fatal error, the first of which stays: no more writes and no more background work until the
//     database is opened again. Reads go on.
//  2. A failure that may pass (a full disk, missing descriptors; other I/O errors a few times):
//     work of that kind is tried again, after 50 ms first and up to every 2 s.
//  3. Damage that a compaction met: the files concerned stay as they are, everything else goes on.
class BackgroundErrors {
 public:
  // `on_change` is called, with the mutex held, whenever somebody who waits may have to stop
  // waiting.
  BackgroundErrors(EventQueue* events, Recorder* recorder, std::function<void()> on_change,
                   SteadyClock clock = SteadyNow);

  // OK: none.
  const absl::Status& fatal() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return fatal_; }
  // OK: nothing of this kind waits to be tried again.
  const absl::Status& retried(JobKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return RetryOf(kind).error;
  }
  // The gravest of all.
  absl::Status Gravest() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // How often work of this kind has failed since opening, damage not counted: who waits for that
  // work watches this.
  uint64_t num_failures(JobKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return RetryOf(kind).num_failures;
  }

  // Why writes may not wait for work of this kind to make room: it will not soon. OK: they may.
  absl::Status StallError(JobKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // For errors that only reopening cures. `what` failed: "syncing a write-ahead log".
  void SetFatal(const absl::Status& status, std::string_view what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A flush or compaction failed without harm: tried again after a while, if the error may pass.
  void JobFailed(JobKind kind, const absl::Status& status)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void JobSucceeded(JobKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A compaction met damage; the files concerned have been set apart, so that it is not picked
  // again.
  void DamageFound(const absl::Status& status, size_t num_files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // When work that failed is tried again, the earliest of it; nothing: none waits for that.
  std::optional<SteadyTime> next_try() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool IsWaitingToRetry(JobKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return !RetryOf(kind).error.ok() && clock_() < RetryOf(kind).next_try;
  }
  // Somebody asks for the work: it is tried at once.
  void RetryNow(JobKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    RetryOf(kind).next_try = {};
  }

 private:
  struct Retry {
    absl::Status error;  // OK: there is none
    int failures_in_a_row = 0;
    SteadyTime next_try;
    uint64_t num_failures = 0;
  };

  Retry& RetryOf(JobKind kind) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return retries_[static_cast<size_t>(kind)];
  }
  const Retry& RetryOf(JobKind kind) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return retries_[static_cast<size_t>(kind)];
  }
  void NotifyError(const absl::Status& status, std::string_view what, bool will_retry);

  EventQueue* const events_;
  Recorder* const recorder_;
  const std::function<void()> on_change_;
  const SteadyClock clock_;
  absl::Status fatal_ ABSL_GUARDED_BY(database_mutex);
  absl::Status quarantine_ ABSL_GUARDED_BY(database_mutex);
  std::array<Retry, 2> retries_ ABSL_GUARDED_BY(database_mutex);  // by JobKind
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BACKGROUND_BACKGROUND_ERRORS_H_
