// What a leader does after an append to the log has failed because the disk was full: what the
// bytes in the file are is unknown, so nothing may follow them. The log is given up in three steps,
// each of which may have to be tried again by a later leader:
//
//   kFailed -> kAbandoned   what was appended before is synced, and the log closed;
//           -> kReplaced    another log is begun, and all memtables with entries are retired;
//           -> kHealthy     they are flushed, and the manifest names none of the older logs.
//
// From then on nothing depends on the uncertain end.
#include <algorithm>

#include "engine/base/status.h"
#include "engine/write/write_leader.h"

namespace winnow {

absl::Status WriteLeader::ReplaceFailedLog() {
  if (log_state_ == LogState::kHealthy) return absl::OkStatus();
  if (log_state_ == LogState::kFailed) WINNOW_RETURN_IF_ERROR(AbandonFailedLog());
  if (log_state_ == LogState::kAbandoned) WINNOW_RETURN_IF_ERROR(StartLogAfterFailedOne());
  BackgroundErrors& errors = parts_.scheduler->errors();
  const uint64_t failures = errors.num_failures(JobKind::kFlush);
  parts_.scheduler->SignalWork();
  while (!AllIsFlushed() && errors.fatal().ok() && !parts_.scheduler->is_stopping() &&
         errors.retried(JobKind::kFlush).ok() && errors.num_failures(JobKind::kFlush) == failures) {
    parts_.scheduler->WaitForProgress();
  }
  if (!errors.fatal().ok()) return errors.fatal();
  if (!AllIsFlushed()) {
    return WithContext(log_error_, "nothing was written: the log failed before");
  }
  WINNOW_RETURN_IF_ERROR(ReleaseOlderLogs());
  log_error_ = absl::OkStatus();
  log_state_ = LogState::kHealthy;
  return absl::OkStatus();
}

absl::Status WriteLeader::AbandonFailedLog() {
  absl::Status synced;
  {
    DatabaseUnlock unlock(parts_.mutex);
    synced = parts_.logs->AbandonCurrent();
  }
  if (!synced.ok()) {
    BackgroundErrors& errors = parts_.scheduler->errors();
    errors.SetFatal(synced, "syncing a write-ahead log that could not be appended to");
    return errors.fatal();
  }
  log_state_ = LogState::kAbandoned;
  return absl::OkStatus();
}

// The log exists before the manifest may name it, so that a crash in between finds what it needs.
absl::Status WriteLeader::StartLogAfterFailedOne() {
  const uint64_t number = parts_.versions->NewFileNumber();
  WINNOW_RETURN_IF_ERROR(StartLog(number));
  // Whatever the older logs hold goes to SSTables, so that nothing depends on their uncertain end.
  for (const auto& [id, family] : parts_.families->live()) {
    if (family->is_dropped()) continue;
    if (!family->active().empty()) family->SwitchMemtable();
    family->flush_wanted = !family->immutables.empty();
  }
  log_state_ = LogState::kReplaced;
  return absl::OkStatus();
}

bool WriteLeader::AllIsFlushed() const {
  for (const auto& [id, family] : parts_.families->live()) {
    if (!family->immutables.empty() && !family->is_dropped()) return false;
  }
  return true;
}

// Families that had nothing to flush still name the log that was given up. A clean close promises
// that every log that is named ends with its marker, which that one never gets.
absl::Status WriteLeader::ReleaseOlderLogs() {
  const uint64_t number = parts_.logs->current_number();
  if (parts_.versions->OldestNeededLog() >= number) return absl::OkStatus();
  VersionEdit edit;
  edit.oldest_log = number;
  const absl::Status recorded = parts_.versions->LogAndApply(std::move(edit));
  if (!recorded.ok()) {
    if (!absl::IsResourceExhausted(recorded)) {
      parts_.scheduler->errors().SetFatal(recorded, "recording a new write-ahead log");
    }
    return recorded;
  }
  const uint64_t oldest_log = parts_.versions->OldestNeededLog();
  DatabaseUnlock unlock(parts_.mutex);
  parts_.logs->RemoveBefore(oldest_log);
  return absl::OkStatus();
}

}  // namespace winnow
