// What a leader does before a group when something needs its care: stalls, and memtables that are
// full.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/status.h"
#include "engine/base/steady_clock.h"
#include "engine/write/write_leader.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// How often logs over their limit are looked at while flushes of what needs them are under way.
constexpr uint64_t kLooksPerLogLimit = 16;

// The size of level 0 as far as it will ever shrink: files in quarantine stay, and where damage
// leaves nothing that could be merged, waiting would be for ever. Without automatic compactions
// level 0 is the user's own affair, and may be too large to be looked through for each write. With
// fifo it is all there is, and bounded by its bytes.
int CompactableLevelZeroFiles(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  if (family.options().disable_auto_compactions) return 0;
  if (family.options().compaction.kind == CompactionStyle::Kind::kFifo) return 0;
  int count = 0;
  for (const auto& file : family.version()->files(0)) count += file->quarantined ? 0 : 1;
  const bool full = count >= family.options().level0_stop_trigger;
  if (full && family.compactions_running == 0 &&
      !family.picker.CanPick(family.version(), family.options())) {
    return 0;
  }
  return count;
}

bool IsFull(const ColumnFamilyState& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  return family.active().memory_bytes() >= family.write_buffer_bytes();
}

// Not where writes would wait for it, and not without compactions: in level 0 alone readers would
// pass the deletions as before.
bool ShouldFlushGarbage(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  const ColumnFamilyOptions& options = family.options();
  return family.active().garbage_met() && !options.disable_auto_compactions &&
         options.compaction.kind != CompactionStyle::Kind::kFifo &&
         family.immutables.size() + 1 < static_cast<size_t>(options.max_write_buffers);
}

WritePressure PressureOn(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  const ColumnFamilyOptions& options = family.options();
  WritePressure pressure;
  pressure.family = family.name();
  pressure.num_memtables = static_cast<int>(family.immutables.size()) + 1;
  pressure.max_write_buffers = options.max_write_buffers;
  pressure.active_is_full = IsFull(family);
  pressure.level0_files = CompactableLevelZeroFiles(family);
  pressure.level0_slowdown_trigger = options.level0_slowdown_trigger;
  pressure.level0_stop_trigger = options.level0_stop_trigger;
  return pressure;
}

}  // namespace

// The order matters. Stalls first, since a switch needs room for another memtable; switches before
// the group, since a memtable and its log change together or not at all; the fatal error last,
// since it may have come while this thread waited.
absl::Status WriteLeader::PrepareForGroup(size_t group_bytes) {
  WINNOW_RETURN_IF_ERROR(CheckRunning());  // the work stays requested: it will be so for ever
  // Cleared before looking: what comes up from here on sets it again, and is looked at next time.
  leader_work_pending_.store(false, std::memory_order_relaxed);
  absl::Status status;
  if (log_state_ == LogState::kHealthy) {
    DatabaseLock lock(parts_.mutex);
    status = StallIfNeeded(group_bytes);
    // Whatever came of it.
    parts_.rate_limiter->SetWritesWait(false);
  }
  if (status.ok() && (log_state_ != LogState::kHealthy || MustSwitchMemtables())) {
    NobodyInserts quiet(&parts_.queue->publishing());
    DatabaseLock lock(parts_.mutex);
    status = ReplaceFailedLog();
    if (status.ok()) status = SwitchMemtables();
  }
  DatabaseLock lock(parts_.mutex);
  // Looked at again before the next write, which may find that the cause has passed.
  if (!status.ok() || stalls_.is_stalled() || !near_limit_.empty()) RequestWork();
  if (const absl::Status& fatal = parts_.scheduler->errors().fatal(); !fatal.ok()) {
    // Every later write must come here too and be refused.
    RequestWork();
    return absl::FailedPreconditionError(
        absl::StrCat("the database takes no writes until it is reopened: ", fatal.message()));
  }
  return status;
}

// Families near a limit are few, whatever their number: leaders look at those alone.
void WriteLeader::LookForStall(ColumnFamilyState* family) {
  CountLevelZeroTables(family);
  // Called where nothing may fail any more. Without memory to look, writes go on without waiting.
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    if (!family->is_dropped() && PressureOn(*family).IsNearLimit()) {
      near_limit_.insert(family);
      RequestWork();
    } else {
      near_limit_.erase(family);
    }
  });
}

// All families near a limit are looked at whatever the group writes to: their logs are one, so that
// a family that cannot flush soon holds up the others' space anyway. A write waits until none must
// stop, and then owes a delay for each that must slow down.
absl::Status WriteLeader::StallIfNeeded(size_t group_bytes) {
  const SteadyTime start = SteadyNow();
  bool stalled = false;
  WINNOW_RETURN_IF_ERROR(WaitForWriteBuffers(&stalled));
  WINNOW_RETURN_IF_ERROR(WaitForFewerTables(&stalled));
  const ColumnFamilyState* delaying = nullptr;
  // A copy: while a write waits, others come and go.
  const std::set<ColumnFamilyState*> near_limit = near_limit_;
  for (ColumnFamilyState* family : near_limit) {
    WINNOW_RETURN_IF_ERROR(WaitWhileStopped(*family, &stalled));
    const WritePressure pressure = PressureOn(*family);
    if (parts_.scheduler->errors().fatal().ok() && pressure.MustSlowDown()) {
      stalls_.AddDelay(pressure, group_bytes);
      delaying = family;
    }
    LookForStall(family);
  }
  NoteStall(delaying == nullptr ? std::string_view() : delaying->name(),
            "writes are delayed: level 0 has many files");
  if (const auto delay = stalls_.TakeDelay(); delay.count() > 0) {
    stalled = true;
    SleepWhileSlow(start + std::chrono::duration_cast<SteadyTime::duration>(delay));
  }
  if (stalled) {
    ThreadCounters& counters = parts_.recorder->Local();
    counters.Add(Ticker::kWriteStalls);
    counters.Add(Ticker::kWriteStallMicros, static_cast<uint64_t>(MicrosSince(start).count()));
  }
  return absl::OkStatus();
}

// Leading: the delay is meant for every writer, and they queue behind. It ends early once it has no
// reason any more; a large batch may owe minutes.
void WriteLeader::SleepWhileSlow(SteadyTime until) {
  const auto is_slow = [this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    for (const ColumnFamilyState* family : near_limit_) {
      if (!family->is_dropped() && PressureOn(*family).MustSlowDown()) return true;
    }
    return false;
  };
  for (;;) {
    const auto left = until - SteadyNow();
    if (left <= SteadyTime::duration::zero() || !parts_.scheduler->errors().fatal().ok() ||
        parts_.scheduler->is_stopping() || delays_ended_ || !is_slow()) {
      return;
    }
    parts_.scheduler->WaitForProgressFor(std::chrono::ceil<std::chrono::microseconds>(left));
  }
}

void WriteLeader::EndDelays() {
  delays_ended_ = true;
  parts_.scheduler->SignalProgress();
}

// Ends for what will not pass as well: a drop, a fatal error, the close of the database.
absl::Status WriteLeader::WaitWhileStopped(const ColumnFamilyState& family, bool* waited) {
  while (!family.is_dropped() && parts_.scheduler->errors().fatal().ok() &&
         !parts_.scheduler->is_stopping()) {
    const WritePressure pressure = PressureOn(family);
    if (!pressure.MustStop()) break;
    // Waiting for work that has failed, and may fail for hours, would hang every writer.
    const JobKind waits_for = pressure.MemtablesAreFull() ? JobKind::kFlush : JobKind::kCompaction;
    WINNOW_RETURN_IF_ERROR(parts_.scheduler->errors().StallError(waits_for));
    *waited = true;
    NoteStall(family.name(), "writes wait for flushes or compactions");
    parts_.scheduler->SignalWork();
    parts_.scheduler->WaitForProgress();
  }
  return absl::OkStatus();
}

void WriteLeader::NoteStall(std::string_view family, std::string_view why) {
  // Whoever holds the flush back for the sake of the disk holds up the writes.
  if (!family.empty()) parts_.rate_limiter->SetWritesWait(true);
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    if (std::optional<Event> event = stalls_.Note(family, why); event.has_value()) {
      parts_.events->Add(*std::move(event));
    }
  });
}

void WriteLeader::NoteFullMemtable(ColumnFamilyState* family) {
  MutexLock lock(&full_mutex_);
  // The group is in the log: this may not fail. What is not noted now is by the next insertion.
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(full_mutex_) {
    if (std::find(full_.begin(), full_.end(), family) == full_.end()) full_.push_back(family);
  });
  RequestWork();
}

bool WriteLeader::MustSwitchMemtables() {
  {
    MutexLock lock(&full_mutex_);
    if (!full_.empty()) return true;
  }
  const size_t active_bytes = parts_.families->write_buffers()->active_bytes();
  return active_bytes > switch_buffers_above_.load(std::memory_order_relaxed) || LogsAreOverLimit();
}

absl::Status WriteLeader::SwitchMemtables() {
  std::vector<ColumnFamilyState*> full;
  {
    MutexLock lock(&full_mutex_);
    full.swap(full_);
  }
  for (size_t i = 0; i < full.size(); i++) {
    // Looked at again: it may have been switched since, by a flush that somebody asked for.
    if (full[i]->is_dropped() || (!IsFull(*full[i]) && !ShouldFlushGarbage(*full[i]))) continue;
    if (absl::Status status = SwitchMemtable(full[i]); !status.ok()) {
      for (; i < full.size(); i++) NoteFullMemtable(full[i]);
      return status;
    }
  }
  WINNOW_RETURN_IF_ERROR(SwitchForWriteBuffers());
  return LogsAreOverLimit() ? SwitchForOldLogs() : absl::OkStatus();
}

// A log can be removed only when no family needs it. A family that is seldom written to would keep
// all logs since its oldest entry, so that past the limit those that hold back most are flushed,
// full or not (as RocksDB does past max_total_wal_size). What is being flushed already is as good
// as gone: only logs that active memtables need are counted, which from now on grow by what is
// written.
absl::Status WriteLeader::SwitchForOldLogs() {
  std::vector<ColumnFamilyState*> oldest;
  uint64_t oldest_log = Memtable::kNoLog;
  for (const auto& [id, family] : parts_.families->live()) {
    const uint64_t log = family->active().log_number();
    if (family->is_dropped() || log == Memtable::kNoLog || log > oldest_log) continue;
    if (log < oldest_log) oldest.clear();
    oldest_log = log;
    oldest.push_back(family);
  }
  const uint64_t limit = parts_.options->max_log_bytes();
  const uint64_t needed = parts_.logs->BytesFrom(oldest_log);
  if (needed <= limit) {
    LookAtLogsAt(parts_.logs->bytes_appended() + (limit - needed));
    return absl::OkStatus();
  }
  bool any = false;
  for (ColumnFamilyState* family : oldest) {
    // Flushes that do not keep up are not helped by more memtables that wait for them.
    const size_t most = static_cast<size_t>(family->options().max_write_buffers);
    if (family->immutables.size() + 1 >= most) continue;
    WINNOW_RETURN_IF_ERROR(SwitchMemtable(family));
    any = true;
  }
  if (!any) LookAtLogsAt(parts_.logs->bytes_appended() + limit / kLooksPerLogLimit);
  return absl::OkStatus();
}

// Under the mutex, as leaders look at the bounds and say when to look again.
void WriteLeader::LimitsChanged() {
  look_at_logs_at_.store(0, std::memory_order_relaxed);
  switch_buffers_above_.store(parts_.families->write_buffers()->switch_above_bytes(),
                              std::memory_order_relaxed);
  RequestWork();
}

bool WriteLeader::LogsAreOverLimit() const {
  return parts_.logs->bytes_appended() > look_at_logs_at_.load(std::memory_order_relaxed);
}

// Creates and syncs files, hence without the mutex. Leadership stays, so that no memtable and no
// log changes behind the caller's back; families may be flushed meanwhile.
absl::Status WriteLeader::StartLog(uint64_t number) {
  absl::Status started;
  {
    DatabaseUnlock unlock(parts_.mutex);
    started = parts_.logs->StartNew(number);
  }
  // With a full disk the old log is as good as before, and the write is refused.
  if (!started.ok() && !absl::IsResourceExhausted(started)) {
    parts_.scheduler->errors().SetFatal(started, "starting a new write-ahead log");
  }
  return started;
}

absl::Status WriteLeader::SwitchMemtable(ColumnFamilyState* family) {
  // A log without batches serves the new memtable as well. One with batches must end here, or a
  // flush of the old memtable could never let go of it.
  if (parts_.logs->current_has_records()) {
    WINNOW_RETURN_IF_ERROR(StartLog(parts_.versions->NewFileNumber()));
  }
  // After the log is there: had it failed, the old memtable would still be the right one.
  family->SwitchMemtable();
  family->flush_wanted = true;
  LookForStall(family);
  parts_.scheduler->SignalWork();
  return absl::OkStatus();
}

}  // namespace winnow
