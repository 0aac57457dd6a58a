// What happens when background work or the write-ahead log fails. README.md of engine/, "When I/O
// fails", has the table.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/sstable/sstable_reader.h"

namespace winnow {

namespace {

constexpr int kMaxIoErrorsInARow = 3;
constexpr std::chrono::milliseconds kFirstDelay{50};
constexpr std::chrono::milliseconds kLongestDelay{2000};

// A full disk or missing file descriptors pass. Other I/O errors are given a few chances; each try
// writes new files, so that no file whose sync has failed is ever trusted.
bool IsRetryable(const absl::Status& status, int failures_in_a_row) {
  if (absl::IsResourceExhausted(status)) return true;
  return absl::IsUnavailable(status) && failures_in_a_row < kMaxIoErrorsInARow;
}

}  // namespace

void DBImpl::SetBackgroundError(const absl::Status& status, std::string_view what) {
  if (absl::IsCancelled(status) || !background_error_.ok()) return;
  background_error_ = WithContext(status, absl::StrCat(ToAbsl(what), " failed"));
  NotifyError(status, what, /*will_retry=*/false);
  leader_work_pending_.store(true, std::memory_order_release);
  work_done_.SignalAll();
}

void DBImpl::NoteBackgroundFailure(const absl::Status& status, std::string_view what) {
  if (absl::IsCancelled(status)) return;
  background_failures_++;
  if (!IsRetryable(status, retry_.failures_in_a_row + 1)) {
    SetBackgroundError(status, what);
    return;
  }
  const int doublings = std::min(retry_.failures_in_a_row, 10);
  retry_.failures_in_a_row++;
  retry_.error = WithContext(status, absl::StrCat(ToAbsl(what), " failed and is tried again"));
  retry_.next_try =
      std::chrono::steady_clock::now() + std::min(kFirstDelay * (1 << doublings), kLongestDelay);
  recorder_.Local().Add(Ticker::kBackgroundRetries);
  NotifyError(status, what, /*will_retry=*/true);
  work_done_.SignalAll();
}

void DBImpl::NotifyError(const absl::Status& status, std::string_view what, bool will_retry) {
  Event event;
  event.kind = Event::Kind::kBackgroundError;
  event.message = std::string(what);
  event.status = status;
  event.will_retry = will_retry;
  events_.Add(std::move(event));
}

void DBImpl::NoteBackgroundSuccess() { retry_ = BackgroundRetry(); }

bool DBImpl::IsWaitingToRetry() const {
  return !retry_.error.ok() && std::chrono::steady_clock::now() < retry_.next_try;
}

void DBImpl::QuarantineInputs(const Compaction& compaction, const absl::Status& status) {
  std::vector<std::shared_ptr<SstableFile>> damaged;
  {
    MutexUnlock unlock(&mutex_);
    for (const Version::Files& files : compaction.inputs) {
      for (const auto& file : files) {
        if (file->reader() == nullptr || HasDamage(file->reader()->Verify())) {
          damaged.push_back(file);
        }
      }
    }
    // Damage that is not there at a second look may have been in memory or on the bus; without a
    // culprit all are left alone.
    if (damaged.empty()) {
      for (const Version::Files& files : compaction.inputs) {
        damaged.insert(damaged.end(), files.begin(), files.end());
      }
    }
  }
  for (const auto& file : damaged) file->being_compacted = true;  // for as long as it is open
  recorder_.Local().Add(Ticker::kFilesQuarantined, damaged.size());
  background_failures_++;
  events_.AddIfCorruption(status);
  quarantine_.Update(
      WithContext(status, "a compaction found damage; the files concerned are left as they are"));
  work_done_.SignalAll();
}

absl::Status DBImpl::StallError() const {
  if (!background_error_.ok()) return background_error_;
  if (!retry_.error.ok()) {
    return WithContext(retry_.error, "nothing was written: the memtables are full, and");
  }
  return WithContext(quarantine_, "nothing was written: level 0 is full, and");
}

// The log exists before the manifest may name it, so that a crash in between finds what it needs.
absl::Status DBImpl::StartLogAfterFailedOne() {
  const uint64_t number = versions_.NewFileNumber();
  absl::Status started;
  {
    MutexUnlock unlock(&mutex_);
    started = logs_.StartNew(number);
  }
  if (!started.ok()) {
    if (!absl::IsResourceExhausted(started)) {
      SetBackgroundError(started, "starting a new write-ahead log");
    }
    return started;
  }
  // Whatever the older logs hold goes to SSTables, so that nothing depends on their uncertain end.
  for (const auto& [id, family] : families_) {
    if (family->dropped.load(std::memory_order_relaxed)) continue;
    if (family->active->empty()) {
      family->active = family->NewMemtable(number);
      family->InstallView();
    } else {
      family->SwitchMemtable(number);
    }
    family->flush_wanted = !family->immutables.empty();
  }
  log_replaced_ = true;
  return absl::OkStatus();
}

// Families that had nothing to flush still name the log that was given up. A clean close promises
// that every log that is named ends with its marker, which that one never gets.
absl::Status DBImpl::ReleaseOlderLogs() {
  const uint64_t number = logs_.current_number();
  VersionEdit edit;
  for (const auto& [id, record] : versions_.families()) {
    if (record.log_number >= number) continue;
    FamilyEdit& release = edit.families.emplace_back();
    release.family_id = id;
    release.log_number = number;
  }
  if (edit.families.empty()) return absl::OkStatus();
  versions_.AssertLocked();
  const absl::Status recorded = versions_.LogAndApply(std::move(edit));
  if (!recorded.ok()) {
    if (!absl::IsResourceExhausted(recorded)) {
      SetBackgroundError(recorded, "recording a new write-ahead log");
    }
    return recorded;
  }
  const uint64_t oldest_log = versions_.OldestNeededLog();
  MutexUnlock unlock(&mutex_);
  logs_.RemoveBefore(oldest_log);
  return absl::OkStatus();
}

absl::Status DBImpl::ReplaceFailedLog() {
  if (!log_abandoned_) {
    absl::Status synced;
    {
      MutexUnlock unlock(&mutex_);
      synced = logs_.AbandonCurrent();
    }
    if (!synced.ok()) {
      SetBackgroundError(synced, "syncing a write-ahead log that could not be appended to");
      return background_error_;
    }
    log_abandoned_ = true;
  }
  if (!log_replaced_) WINNOW_RETURN_IF_ERROR(StartLogAfterFailedOne());
  const auto all_flushed = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return std::all_of(families_.begin(), families_.end(), [](const auto& entry) {
      return entry.second->immutables.empty() || entry.second->dropped.load();
    });
  };
  const uint64_t failures = background_failures_;
  work_available_.SignalAll();
  while (!all_flushed() && background_error_.ok() && !stopping_ && retry_.error.ok() &&
         background_failures_ == failures) {
    work_done_.Wait(&mutex_);
  }
  if (!background_error_.ok()) return background_error_;
  if (!all_flushed()) return WithContext(log_error_, "nothing was written: the log failed before");

  WINNOW_RETURN_IF_ERROR(ReleaseOlderLogs());
  log_error_ = absl::OkStatus();
  log_abandoned_ = log_replaced_ = false;
  return absl::OkStatus();
}

}  // namespace winnow
