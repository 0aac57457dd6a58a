#include "engine/background/background_errors.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// In a row, over all families: any job of the kind that succeeds shows that the device works.
constexpr int kMaxIoErrorsInARow = 3;
// Short enough that a disk that has just been cleared is noticed before writers give up; the
// longest bounds how long anybody waits for the first try after the cause has gone.
constexpr std::chrono::milliseconds kFirstDelay{50};
constexpr std::chrono::milliseconds kLongestDelay{2000};

// A full disk or missing file descriptors pass. Other I/O errors are given a few chances; each try
// writes new files, so that no file whose sync has failed is ever trusted.
bool IsRetryable(const absl::Status& status, int failures_in_a_row) {
  if (absl::IsResourceExhausted(status)) return true;
  return absl::IsUnavailable(status) && failures_in_a_row < kMaxIoErrorsInARow;
}

}  // namespace

BackgroundErrors::BackgroundErrors(EventQueue* events, Recorder* recorder,
                                   std::function<void()> on_change, SteadyClock clock)
    : events_(events),
      recorder_(recorder),
      on_change_(std::move(on_change)),
      clock_(std::move(clock)) {}

absl::Status BackgroundErrors::Gravest() const {
  absl::Status status = fatal_;
  // Update keeps the first error: the order of these lines is the order of gravity.
  for (const Retry& retry : retries_) status.Update(retry.error);
  status.Update(quarantine_);
  return status;
}

void BackgroundErrors::SetFatal(const absl::Status& status, std::string_view what) {
  // Work that was cancelled ended because the database closes. Of several errors the first is the
  // cause; the rest follow from it.
  if (absl::IsCancelled(status) || !fatal_.ok()) return;
  fatal_ = WithContext(status, what, " failed");
  NotifyError(status, what, /*will_retry=*/false);
  on_change_();
}

void BackgroundErrors::JobFailed(JobKind kind, const absl::Status& status) {
  if (absl::IsCancelled(status)) return;
  const std::string_view what = kind == JobKind::kFlush ? "a flush" : "a compaction";
  Retry& retry = RetryOf(kind);
  // Counted whether it is tried again or not: who waits in Flush gives up at the first failure
  // instead of sitting through retries that may last for hours.
  retry.num_failures++;
  if (!IsRetryable(status, retry.failures_in_a_row + 1)) {
    SetFatal(status, what);
    return;
  }
  // Bounded before the shift, which would overflow after some thirty failures.
  const int doublings = std::min(retry.failures_in_a_row, 10);
  retry.failures_in_a_row++;
  retry.error = WithContext(status, what, " failed and is tried again");
  // 50, 100, 200 ... ms, and 2 s from the seventh failure on.
  retry.next_try = clock_() + std::min(kFirstDelay * (1 << doublings), kLongestDelay);
  recorder_->Local().Add(Ticker::kBackgroundRetries);
  NotifyError(status, what, /*will_retry=*/true);
  on_change_();
}

// A success says nothing of the other kind: a flush fits where a compaction does not.
void BackgroundErrors::JobSucceeded(JobKind kind) {
  Retry& retry = RetryOf(kind);
  retry.error = absl::OkStatus();
  retry.failures_in_a_row = 0;
  retry.next_try = {};
}

std::optional<SteadyTime> BackgroundErrors::next_try() const {
  std::optional<SteadyTime> earliest;
  for (const Retry& retry : retries_) {
    if (retry.error.ok() || (earliest.has_value() && *earliest <= retry.next_try)) continue;
    earliest = retry.next_try;
  }
  return earliest;
}

// Neither fatal nor tried again: the bytes will not get better, and everything else is sound. The
// first damage stays for the property winnow.background-error; listeners hear of later ones.
void BackgroundErrors::DamageFound(const absl::Status& status, size_t num_files) {
  // Readers go on by what can be read of the files, and the error of a read that meets the damage
  // is that read's.
  recorder_->Local().Add(Ticker::kFilesQuarantined, num_files);
  events_->AddIfCorruption(status);
  quarantine_.Update(
      WithContext(status, "a compaction found damage; the files concerned are left as they are"));
  on_change_();
}

// Only asked by writes that would have to wait. While there is room, writes go on whatever failed.
// Damage is no reason: what is sound is flushed and compacted beside it.
absl::Status BackgroundErrors::StallError(JobKind kind) const {
  if (!fatal_.ok()) return fatal_;
  return WithContext(
      RetryOf(kind).error, "nothing was written: ",
      kind == JobKind::kFlush ? "the memtables are full, and" : "level 0 is full, and");
}

void BackgroundErrors::NotifyError(const absl::Status& status, std::string_view what,
                                   bool will_retry) {
  // Out of memory may be the very error: what there is no memory to tell goes untold.
  UnlessOutOfMemory([&] {
    Event event;
    event.kind = Event::Kind::kBackgroundError;
    event.message = std::string(what);
    event.status = status;
    event.will_retry = will_retry;
    events_->Add(std::move(event));
  });
}

}  // namespace winnow
