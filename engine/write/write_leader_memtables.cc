// What a leader does before a group when something needs its care: stalls, and memtables that are
// full.
#include <algorithm>
#include <thread>
#include <utility>

#include "engine/base/status.h"
#include "engine/base/steady_clock.h"
#include "engine/write/write_leader.h"

namespace winnow {

namespace {

WritePressure PressureOn(const ColumnFamilyState& family)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  const ColumnFamilyOptions& options = family.options();
  WritePressure pressure;
  pressure.family = family.name();
  pressure.num_memtables = static_cast<int>(family.immutables.size()) + 1;
  pressure.max_write_buffers = options.max_write_buffers;
  pressure.active_is_full = family.active().memory_bytes() >= options.write_buffer_bytes;
  pressure.level0_files = static_cast<int>(family.version()->num_files(0));
  pressure.level0_slowdown_trigger = options.level0_slowdown_trigger;
  pressure.level0_stop_trigger = options.level0_stop_trigger;
  pressure.auto_compactions = !options.disable_auto_compactions;
  return pressure;
}

}  // namespace

// The order matters. Stalls first, since a switch needs room for another memtable; switches before
// the group, since a memtable and its log change together or not at all; the fatal error last,
// since it may have come while this thread waited.
absl::Status WriteLeader::PrepareForGroup(size_t group_bytes) {
  WINNOW_RETURN_IF_ERROR(CheckRunning());  // the work stays requested: it will be so for ever
  DatabaseLock lock(parts_.mutex);
  // Cleared before looking: what comes up from here on sets it again, and is looked at next time.
  leader_work_pending_.store(false, std::memory_order_relaxed);
  absl::Status status =
      log_state_ == LogState::kHealthy ? StallIfNeeded(group_bytes) : ReplaceFailedLog();
  if (status.ok()) status = SwitchFullMemtables();
  // Looked at again before the next write, which may find that the cause has passed.
  if (!status.ok() || stalls_.is_stalled()) RequestWork();
  if (const absl::Status& fatal = parts_.scheduler->errors().fatal(); !fatal.ok()) {
    // Every later write must come here too and be refused.
    RequestWork();
    return absl::FailedPreconditionError(
        absl::StrCat("the database takes no writes until it is reopened: ", fatal.message()));
  }
  LookForStalls();
  return status;
}

void WriteLeader::LookForStalls() {
  for (const auto& [id, family] : parts_.families->all()) {
    if (!family->is_dropped() && PressureOn(*family).IsNearLimit()) RequestWork();
  }
}

// All families are looked at whatever the group writes to, in the order of their ids: their logs
// are one, so that a family that cannot flush soon holds up the others' space anyway. A write waits
// until none must stop, and then owes a delay for each that must slow down.
absl::Status WriteLeader::StallIfNeeded(size_t group_bytes) {
  const SteadyTime start = SteadyNow();
  bool stalled = false;
  const ColumnFamilyState* delaying = nullptr;
  for (const auto& [id, family] : parts_.families->all()) {
    WINNOW_RETURN_IF_ERROR(WaitWhileStopped(*family, &stalled));
    const WritePressure pressure = PressureOn(*family);
    if (parts_.scheduler->errors().fatal().ok() && pressure.MustSlowDown()) {
      stalls_.AddDelay(pressure, group_bytes);
      delaying = family.get();
    }
  }
  NoteStall(delaying == nullptr ? std::string_view() : delaying->name(),
            "writes are delayed: level 0 has many files");
  if (const auto delay = stalls_.TakeDelay(); delay.count() > 0) {
    stalled = true;
    // Without the mutex, which the jobs need that this write waits for, but leading: the delay is
    // meant for every writer, and they queue behind.
    DatabaseUnlock unlock(parts_.mutex);
    std::this_thread::sleep_for(delay);
  }
  if (stalled) {
    ThreadCounters& counters = parts_.recorder->Local();
    counters.Add(Ticker::kWriteStalls);
    counters.Add(Ticker::kWriteStallMicros, static_cast<uint64_t>(MicrosSince(start).count()));
  }
  return absl::OkStatus();
}

// Ends for what will not pass as well: a drop, a fatal error, the close of the database.
absl::Status WriteLeader::WaitWhileStopped(const ColumnFamilyState& family, bool* waited) {
  while (!family.is_dropped() && PressureOn(family).MustStop() &&
         parts_.scheduler->errors().fatal().ok() && !parts_.scheduler->is_stopping()) {
    // Waiting for work that has failed, and may fail for hours, would hang every writer.
    WINNOW_RETURN_IF_ERROR(parts_.scheduler->errors().StallError());
    *waited = true;
    NoteStall(family.name(), "writes wait for flushes or compactions");
    parts_.scheduler->SignalWork();
    parts_.scheduler->WaitForProgress();
  }
  return absl::OkStatus();
}

void WriteLeader::NoteStall(std::string_view family, std::string_view why) {
  if (std::optional<Event> event = stalls_.Note(family, why); event.has_value()) {
    parts_.events->Add(*std::move(event));
  }
}

// A log can be removed only when no family needs it. A family that is seldom written to would keep
// all logs since its oldest entry, so that past the limit the one that holds back most is flushed,
// full or not. One at a time: the next switch looks again.
absl::Status WriteLeader::SwitchFullMemtables() {
  // Whose oldest entries keep the logs from shrinking.
  ColumnFamilyState* oldest = nullptr;
  for (const auto& [id, family] : parts_.families->all()) {
    if (family->is_dropped()) continue;
    if (family->active().memory_bytes() >= family->options().write_buffer_bytes) {
      WINNOW_RETURN_IF_ERROR(SwitchMemtable(family.get()));
    } else if (!family->active().empty() &&
               (oldest == nullptr ||
                family->active().log_number() < oldest->active().log_number())) {
      oldest = family.get();
    }
  }
  if (oldest != nullptr && parts_.logs->total_bytes() > parts_.options->max_log_bytes) {
    return SwitchMemtable(oldest);
  }
  return absl::OkStatus();
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
  uint64_t log_number = parts_.logs->current_number();
  // A log without batches serves the new memtable as well. One with batches must end here, or a
  // flush of the old memtable could never let go of it.
  if (parts_.logs->current_has_records()) {
    log_number = parts_.versions->NewFileNumber();
    WINNOW_RETURN_IF_ERROR(StartLog(log_number));
    // Families without entries need none of the older logs.
    for (const auto& [id, other] : parts_.families->all()) {
      if (other.get() != family && other->HasNothingInMemory()) {
        other->ReplaceActiveMemtable(log_number);
        other->InstallView();
      }
    }
  }
  // After the log is there: had it failed, the old memtable would still be the right one.
  family->SwitchMemtable(log_number);
  family->flush_wanted = true;
  parts_.scheduler->SignalWork();
  return absl::OkStatus();
}

}  // namespace winnow
