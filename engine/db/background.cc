// Flushes and compactions, and waiting for them.
#include <algorithm>
#include <chrono>

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/version/merging_iterator.h"
#include "engine/write/exclusive_writes.h"

namespace winnow {

namespace {

// Adds the time of a scope to a histogram.
class JobTimer {
 public:
  JobTimer(Recorder* recorder, LatencyHistogram which)
      : recorder_(recorder), which_(which), start_(std::chrono::steady_clock::now()) {}
  ~JobTimer() {
    const auto elapsed = std::chrono::steady_clock::now() - start_;
    recorder_->Local().histogram(which_).AddNanos(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(elapsed).count()));
  }

 private:
  Recorder* const recorder_;
  const LatencyHistogram which_;
  const std::chrono::steady_clock::time_point start_;
};

}  // namespace

void DBImpl::StartBackgroundThreads() {
  for (int i = 0; i < options_.background_threads; i++) {
    threads_.emplace_back([this] { BackgroundThread(); });
  }
}

void DBImpl::StopBackgroundThreads() {
  {
    MutexLock lock(&mutex_);
    stopping_ = true;
    cancelled_.store(true, std::memory_order_relaxed);
    work_available_.SignalAll();
    work_done_.SignalAll();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void DBImpl::BackgroundThread() {
  MutexLock lock(&mutex_);
  while (!stopping_) {
    if (!RunOneJob()) {
      if (retry_.error.ok()) {
        work_available_.Wait(&mutex_);
      } else {
        const auto delay = retry_.next_try - std::chrono::steady_clock::now();
        work_available_.WaitFor(&mutex_, std::chrono::ceil<std::chrono::microseconds>(delay));
      }
      continue;
    }
    work_done_.SignalAll();
    work_available_.SignalAll();  // what was blocked by the job may run now
    MutexUnlock unlock(&mutex_);
    ReclaimViews();
  }
}

bool DBImpl::RunOneJob() {
  if (!background_error_.ok() || IsWaitingToRetry()) return false;
  if (ColumnFamilyState* family = FamilyToFlush()) {
    RunFlush(family);
    return true;
  }
  // One thread stays free for flushes where there are two.
  if (compactions_running_ >= std::max(options_.background_threads - 1, 1)) return false;
  ColumnFamilyState* family = nullptr;
  const std::unique_ptr<Compaction> compaction = PickCompaction(&family);
  if (compaction == nullptr) return false;
  const absl::Status status = RunPickedCompaction(family, *compaction, /*max_threads=*/1);
  if (status.ok()) {
    NoteBackgroundSuccess();
  } else if (absl::IsDataLoss(status)) {
    QuarantineInputs(*compaction, status);
  } else {
    NoteBackgroundFailure(status, "a compaction");
  }
  return true;
}

ColumnFamilyState* DBImpl::FamilyToFlush() {
  for (const auto& [id, family] : families_) {
    if (family->flush_wanted && !family->flush_running && !family->immutables.empty() &&
        !family->dropped.load(std::memory_order_relaxed)) {
      return family.get();
    }
  }
  return nullptr;
}

SstableOutputOptions DBImpl::OutputOptions(SstableBuilderOptions builder) {
  SstableOutputOptions output;
  output.store = versions_.store();
  output.builder = std::move(builder);
  output.new_file_number = [this] { return versions_.NewFileNumber(); };
  output.cancelled = &cancelled_;
  return output;
}

absl::Status DBImpl::WriteFlushOutput(ColumnFamilyState* family,
                                      const std::vector<std::shared_ptr<Memtable>>& memtables,
                                      SstableBuilderOptions builder, SstableOutputResult* result) {
  JobTimer timer(&recorder_, LatencyHistogram::kFlush);
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const auto& memtable : memtables) children.push_back(memtable->NewIterator());
  const auto input = NewMergingIterator(family->comparator(), std::move(children));
  input->SeekToFirst();
  CompactionIterator entries(input.get(), family->comparator(), snapshots_.Sequences(), nullptr);
  entries.Start();
  const SstableOutputOptions output = OutputOptions(std::move(builder));
  absl::Status status = WriteSstables(output, family->comparator(), &entries, result);
  if (status.ok()) {
    uint64_t num_entries = 0;
    for (const auto& memtable : memtables) num_entries += memtable->num_entries();
    if (entries.num_seen() != num_entries) {
      status = absl::InternalError(
          absl::StrCat("flush saw ", entries.num_seen(), " of ", num_entries, " entries"));
    }
  }
  if (!status.ok()) RemoveOutputs(output.store, result->files);
  return status;
}

void DBImpl::RunFlush(ColumnFamilyState* family) {
  const std::vector<std::shared_ptr<Memtable>> memtables(family->immutables.begin(),
                                                         family->immutables.end());
  family->flush_running = true;
  flushes_running_++;
  const auto begin = std::chrono::steady_clock::now();
  NotifyFlush(*family, memtables.size(), nullptr);
  SstableBuilderOptions builder = family->BuilderOptions(0);
  SstableOutputResult result;
  absl::Status logs_synced;
  absl::Status status;
  {
    MutexUnlock unlock(&mutex_);
    // Entries of other families or of older writes must not be lost where these survive.
    logs_synced = logs_.SyncOlder();
    status = logs_synced;
    if (status.ok()) {
      status = CatchOutOfMemory(
          [&] { return WriteFlushOutput(family, memtables, std::move(builder), &result); });
    }
  }
  if (status.ok()) status = InstallFlush(family, memtables.size(), result);
  family->flush_running = false;
  flushes_running_--;
  if (!logs_synced.ok()) {
    SetBackgroundError(logs_synced, "syncing a write-ahead log");
  } else if (status.ok()) {
    NoteBackgroundSuccess();
  } else {
    NoteBackgroundFailure(status, "a flush");
  }
  ThreadCounters& counters = recorder_.Local();
  counters.Add(Ticker::kFlushes);
  counters.Add(Ticker::kFlushBytesWritten, result.bytes_written);
  counters.Add(Ticker::kFiltersFellBack, result.num_filters_fell_back);
  const JobResult told{
      status, result.files.size(), 0, result.bytes_written, result.num_filters_fell_back, begin};
  NotifyFlush(*family, memtables.size(), &told);
}

absl::Status DBImpl::InstallFlush(ColumnFamilyState* family, size_t num_memtables,
                                  const SstableOutputResult& result) {
  if (family->dropped.load(std::memory_order_relaxed)) {
    RemoveOutputs(versions_.store(), result.files);
    return absl::OkStatus();
  }
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family->id();
  for (const FileMetadata& file : result.files) change.added.push_back({0, file});
  change.log_number = family->immutables.size() > num_memtables
                          ? family->immutables[num_memtables]->log_number()
                          : family->active->log_number();
  // Families that hold nothing in memory release the older logs as well.
  for (const auto& [id, other] : families_) {
    if (other.get() == family || other->dropped.load(std::memory_order_relaxed)) continue;
    if (!other->immutables.empty() || !other->active->empty()) continue;
    FamilyEdit& release = edit.families.emplace_back();
    release.family_id = id;
    release.log_number = other->active->log_number();
  }
  versions_.set_last_sequence(
      std::max(versions_.last_sequence(), visible_sequence_.load(std::memory_order_acquire)));
  versions_.AssertLocked();
  WINNOW_RETURN_IF_ERROR(versions_.LogAndApply(std::move(edit)));
  family->immutables.erase(family->immutables.begin(),
                           family->immutables.begin() + static_cast<ptrdiff_t>(num_memtables));
  family->flush_wanted = !family->immutables.empty();
  const auto record = versions_.families().find(family->id());
  if (record != versions_.families().end()) family->InstallView(record->second.version);
  UpdateStallState();
  const uint64_t oldest_log = versions_.OldestNeededLog();
  MutexUnlock unlock(&mutex_);
  logs_.RemoveBefore(oldest_log);
  return absl::OkStatus();
}

std::unique_ptr<Compaction> DBImpl::PickCompaction(ColumnFamilyState** family) {
  for (const auto& [id, candidate] : families_) {
    if (candidate->options().disable_auto_compactions || candidate->manual_compaction_waiting ||
        candidate->dropped.load(std::memory_order_relaxed)) {
      continue;
    }
    auto compaction = candidate->picker.Pick(candidate->version(), candidate->options());
    if (compaction != nullptr) {
      *family = candidate.get();
      return compaction;
    }
  }
  return nullptr;
}

bool DBImpl::CompactionIsDue() {
  for (const auto& [id, family] : families_) {
    if (family->options().disable_auto_compactions || family->dropped.load()) continue;
    if (ComputeScores(*family->version(), family->options()).most_urgent >= 0) return true;
  }
  return false;
}

absl::Status DBImpl::ExecuteCompaction(const Compaction& compaction, SstableBuilderOptions builder,
                                       uint64_t target_file_bytes, int max_threads,
                                       CompactionJobResult* result) {
  JobTimer timer(&recorder_, LatencyHistogram::kCompaction);
  CompactionJobOptions job;
  job.output = OutputOptions(std::move(builder));
  job.output.target_file_bytes = target_file_bytes;
  if (compaction.output_level + 1 < kNumLevels) {
    job.output.next_level = compaction.version->files(compaction.output_level + 1);
  }
  job.snapshots = snapshots_.Sequences();
  job.verify_checksums = options_.verify_compaction_checksums;
  job.max_threads = max_threads;
  return RunCompaction(compaction, job, result);
}

absl::Status DBImpl::RunPickedCompaction(ColumnFamilyState* family, const Compaction& compaction,
                                         int max_threads) {
  compaction.MarkInputs(true);
  compactions_running_++;
  const auto begin = std::chrono::steady_clock::now();
  NotifyCompaction(*family, compaction, nullptr);
  family->compactions_running++;
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family->id();
  compaction.DeleteInputs(&change);
  CompactionJobResult result;
  absl::Status status;
  if (compaction.is_trivial_move) {
    compaction.MoveInputs(&change);
  } else {
    SstableBuilderOptions builder = family->BuilderOptions(compaction.output_level);
    const uint64_t target_file_bytes = family->options().target_file_bytes;
    MutexUnlock unlock(&mutex_);
    status =
        ExecuteCompaction(compaction, std::move(builder), target_file_bytes, max_threads, &result);
  }
  for (const FileMetadata& file : result.output.files) {
    if (status.ok()) change.added.push_back({compaction.output_level, file});
  }
  if (status.ok() && family->dropped.load(std::memory_order_relaxed)) {
    RemoveOutputs(versions_.store(), result.output.files);
  } else if (status.ok()) {
    versions_.AssertLocked();
    status = versions_.LogAndApply(std::move(edit));
    const auto record = versions_.families().find(family->id());
    if (status.ok() && record != versions_.families().end()) {
      family->expected_fpr_history.Remember(*family->version());
      family->InstallView(record->second.version);
    }
  }
  compaction.MarkInputs(false);
  compactions_running_--;
  family->compactions_running--;
  UpdateStallState();
  ThreadCounters& counters = recorder_.Local();
  counters.Add(Ticker::kCompactions);
  counters.Add(Ticker::kCompactionBytesRead, result.bytes_read);
  counters.Add(Ticker::kCompactionBytesWritten, result.output.bytes_written);
  counters.Add(Ticker::kFiltersFellBack, result.output.num_filters_fell_back);
  const JobResult told{
      status,
      compaction.is_trivial_move ? compaction.num_input_files() : result.output.files.size(),
      result.bytes_read,
      result.output.bytes_written,
      result.output.num_filters_fell_back,
      begin};
  NotifyCompaction(*family, compaction, &told);
  return status;
}

void DBImpl::NotifyFlush(const ColumnFamilyState& family, size_t num_memtables,
                         const JobResult* result) {
  Event event;
  event.kind = result == nullptr ? Event::Kind::kFlushBegin : Event::Kind::kFlushEnd;
  event.num_inputs = num_memtables;
  NotifyJob(std::move(event), family, result);
}

void DBImpl::NotifyCompaction(const ColumnFamilyState& family, const Compaction& compaction,
                              const JobResult* result) {
  Event event;
  event.kind = result == nullptr ? Event::Kind::kCompactionBegin : Event::Kind::kCompactionEnd;
  event.num_inputs = compaction.num_input_files();
  event.output_level = compaction.output_level;
  for (int level = kNumLevels - 1; level >= 0; level--) {
    if (!compaction.inputs[static_cast<size_t>(level)].empty()) event.input_level = level;
  }
  NotifyJob(std::move(event), family, result);
}

void DBImpl::NotifyJob(Event event, const ColumnFamilyState& family, const JobResult* result) {
  event.column_family = std::string(family.name());
  if (result == nullptr) return events_.Add(std::move(event));
  event.status = result->status;
  event.num_outputs = result->num_files;
  event.bytes_read = result->bytes_read;
  event.bytes_written = result->bytes_written;
  event.duration = std::chrono::duration_cast<std::chrono::microseconds>(
      std::chrono::steady_clock::now() - result->begin);
  if (result->num_filters_fell_back > 0) {
    Event fell_back;
    fell_back.kind = Event::Kind::kFilterNotWritten;
    fell_back.column_family = event.column_family;
    fell_back.num_outputs = result->num_filters_fell_back;
    events_.Add(std::move(fell_back));
  }
  events_.Add(std::move(event));
}

void DBImpl::ReclaimViews() {
  std::vector<ColumnFamilyState*> families;
  {
    MutexLock lock(&mutex_);
    for (const auto& [id, family] : families_) families.push_back(family.get());
  }
  for (ColumnFamilyState* family : families) family->views.Reclaim();
}

absl::Status DBImpl::FlushMemtables(ColumnFamilyState* family) {
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  {
    ExclusiveWrites writes(&write_queue_);
    MutexLock lock(&mutex_);
    if (!background_error_.ok()) return background_error_;
    if (!log_error_.ok()) return ReplaceFailedLog();  // flushes everything
    if (!family->active->empty()) WINNOW_RETURN_IF_ERROR(SwitchMemtable(family));
    if (!family->immutables.empty()) family->flush_wanted = true;
  }
  MutexLock lock(&mutex_);
  const uint64_t failures = background_failures_;
  retry_.next_try = {};  // who asks wants it tried now
  work_available_.SignalAll();
  while (!family->immutables.empty() && background_error_.ok() && !stopping_ &&
         background_failures_ == failures && !family->dropped.load(std::memory_order_relaxed)) {
    work_done_.Wait(&mutex_);
  }
  if (!background_error_.ok() || family->immutables.empty()) return background_error_;
  return family->dropped.load(std::memory_order_relaxed) ? absl::OkStatus() : retry_.error;
}

absl::Status DBImpl::Flush(ColumnFamily* family) {
  WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
  const absl::Status status = CatchOutOfMemory([&] { return FlushMemtables(Own(family)); });
  ReclaimViews();
  return status;
}

absl::Status DBImpl::CompactRange(ColumnFamily* family, std::optional<std::string_view> begin,
                                  std::optional<std::string_view> end) {
  WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
  ColumnFamilyState* own = Own(family);
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] { return FlushMemtables(own); }));
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    while (own->manual_compaction_waiting) work_done_.Wait(&mutex_);
    own->manual_compaction_waiting = true;
    // Everything that is being compacted already must be done first: a range compaction takes all
    // versions of its keys.
    while (own->compactions_running > 0 && background_error_.ok()) work_done_.Wait(&mutex_);
    status = background_error_;
    if (status.ok()) {
      const auto compaction =
          CompactionPicker::PickRange(own->version(), own->options(), begin, end);
      if (compaction != nullptr) {
        status = RunPickedCompaction(own, *compaction, options_.background_threads);
        // Outputs are gone and inputs are whole: the caller knows, and may try again.
        if (status.ok()) NoteBackgroundSuccess();
      }
    }
    own->manual_compaction_waiting = false;
    work_available_.SignalAll();
    work_done_.SignalAll();
  }
  ReclaimViews();
  return status;
}

absl::Status DBImpl::WaitForBackgroundWork() {
  absl::Status status;
  {
    MutexLock lock(&mutex_);
    work_available_.SignalAll();
    const uint64_t failures = background_failures_;
    while (background_error_.ok() && !stopping_ && !options_.read_only &&
           background_failures_ == failures &&
           (FamilyToFlush() != nullptr || flushes_running_ > 0 || compactions_running_ > 0 ||
            (quarantine_.ok() && CompactionIsDue()))) {
      work_done_.Wait(&mutex_);
    }
    status = background_error_;
    status.Update(retry_.error);
    status.Update(quarantine_);
  }
  ReclaimViews();
  return status;
}

}  // namespace winnow
