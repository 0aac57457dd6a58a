// Compactions, automatic and asked for.
//
// A compaction changes nothing that a reader can see but where entries lie. Until its edit is
// durable its outputs are orphans and its inputs are whole, so that a failure at any point costs
// only the work.
#include <algorithm>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "engine/base/database_closed.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/compaction/covered_files.h"
#include "engine/compaction/expired_files.h"
#include "engine/db/database_jobs.h"
#include "engine/db/job_events.h"
#include "engine/sstable/sstable_reader.h"
#include "engine/statistics/job_timer.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

bool DatabaseJobs::RunCompactionIfDue() {
  bool ran = false;
  const absl::Status picked = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    ran = PickAndCompact();
    return absl::OkStatus();
  });
  // Who waits for the work is to know that it will not be done now.
  if (!picked.ok()) parts_.scheduler->errors().JobFailed(JobKind::kCompaction, picked);
  return ran;
}

// One thread stays free for flushes, where there are two. Several compactions run side by side,
// with one thread each but out of level 0: one of those at a time is all that a family can have,
// and its writes wait for that in the end, so it takes all threads that are idle.
bool DatabaseJobs::PickAndCompact() {
  const int most = std::max(parts_.options->background_threads() - 1, 1);
  const int idle = most - automatic_compaction_threads_;
  if (idle <= 0) return false;
  ColumnFamilyState* family = nullptr;
  const std::unique_ptr<Compaction> compaction = PickCompaction(&family);
  if (compaction == nullptr) return false;
  const bool leaves_level0 = !compaction->inputs[0].empty() && compaction->output_level > 0;
  const int threads = leaves_level0 && !compaction->changes_manifest_only() ? idle : 1;
  automatic_compaction_threads_ += threads;
  const absl::Status status = Compact(family, *compaction, threads);
  automatic_compaction_threads_ -= threads;
  if (status.ok()) {
    parts_.scheduler->errors().JobSucceeded(JobKind::kCompaction);
    // Trying again would meet the same bytes. Setting the files apart lets everything else go on.
  } else if (absl::IsDataLoss(status)) {
    QuarantineInputs(family, *compaction, status);
    parts_.leader->LookForStall(family);  // what is in quarantine is not waited for
  } else {
    parts_.scheduler->errors().JobFailed(JobKind::kCompaction, status);
  }
  return true;
}

// By falling score over all families, or a busy one would leave the others' level 0 to grow.
// Whole files that have expired, or that range deletions cover, come before all of them, since they
// relieve the tree for nothing; those that have to be rewritten after them.
std::unique_ptr<Compaction> DatabaseJobs::PickCompaction(ColumnFamilyState** family) {
  const bool may_expire = parts_.families->any_may_expire();
  if (may_expire) [[unlikely]] {
    if (auto compaction = PickExpiredInAny(/*rewrite=*/false, family)) return compaction;
  }
  if (auto compaction = PickCoveredInAny(family)) return compaction;
  std::vector<std::pair<double, ColumnFamilyState*>> due;
  for (const auto& [id, candidate] : parts_.families->live()) {
    if (candidate->options().disable_auto_compactions || candidate->is_dropped()) continue;
    const LevelScores scores =
        candidate->picker.Scores(*candidate->version(), candidate->options());
    if (scores.most_urgent < 0) continue;
    due.emplace_back(scores.score[static_cast<size_t>(scores.most_urgent)], candidate);
  }
  std::stable_sort(due.begin(), due.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [score, candidate] : due) {
    auto compaction = PickIn(candidate);
    if (compaction != nullptr) {
      *family = candidate;
      return compaction;
    }
  }
  if (may_expire) [[unlikely]] {
    if (auto compaction = PickExpiredInAny(/*rewrite=*/true, family)) return compaction;
  }
  return PickKeptInAny(family);
}

bool DatabaseJobs::IsLeftAlone(const ColumnFamilyState& family) {
  return family.options().disable_auto_compactions || family.is_dropped() ||
         family.manual_compaction_waiting || family.manual_compaction_running ||
         family.ingest_running;
}

// Which snapshots there are is looked at after the version: one that is taken later sees what all
// range deletions in its files hide as hidden.
std::unique_ptr<Compaction> DatabaseJobs::PickCovered(ColumnFamilyState* family) const {
  if (!family->version()->has_range_tombstones()) [[likely]]
    return nullptr;
  if (IsLeftAlone(*family)) return nullptr;
  return family->covered_files.Pick(family->version(), parts_.snapshots->Sequences());
}

std::unique_ptr<Compaction> DatabaseJobs::PickCoveredInAny(ColumnFamilyState** family) {
  for (const auto& [id, candidate] : parts_.families->live()) {
    if (auto compaction = PickCovered(candidate)) {
      *family = candidate;
      return compaction;
    }
  }
  return nullptr;
}

std::unique_ptr<Compaction> DatabaseJobs::PickExpired(ColumnFamilyState* family,
                                                      bool rewrite) const {
  FileExpiry expiry;
  expiry.key_times = family->key_expiry();
  // A snapshot may show what has expired by the times of keys (Compact makes sure that there is
  // none until then).
  const bool has_expired_keys = expiry.key_times.first_alive != 0;
  if (has_expired_keys && parts_.snapshots->Oldest() != kMaxSequenceNumber) expiry.key_times = {};
  if (!family->ttl().is_on() && expiry.key_times.first_alive == 0) return nullptr;
  if (IsLeftAlone(*family)) return nullptr;
  expiry.write_times = ExpiryMoment(family->ttl());
  return rewrite ? PickFileToRewrite(family->version(), family->options(), expiry)
                 : PickFilesToDrop(family->version(), family->options(), expiry);
}

std::unique_ptr<Compaction> DatabaseJobs::PickExpiredInAny(bool rewrite,
                                                           ColumnFamilyState** family) {
  for (const auto& [id, candidate] : parts_.families->live()) {
    if (auto compaction = PickExpired(candidate, rewrite)) {
      *family = candidate;
      return compaction;
    }
  }
  return nullptr;
}

KeptForSnapshots DatabaseJobs::PickKept(const ColumnFamilyState& family) const {
  if (IsLeftAlone(family)) return {};
  return PickKeptForSnapshots(family.version(), family.options(), parts_.snapshots->Oldest());
}

std::unique_ptr<Compaction> DatabaseJobs::PickKeptInAny(ColumnFamilyState** family) {
  SequenceNumber due_from = kMaxSequenceNumber;
  for (const auto& [id, candidate] : parts_.families->live()) {
    KeptForSnapshots kept = PickKept(*candidate);
    due_from = std::min(due_from, kept.due_from);
    if (kept.compaction == nullptr) continue;
    *family = candidate;
    return std::move(kept.compaction);
  }
  kept_due_from_.store(due_from, std::memory_order_relaxed);
  // A snapshot that was released meanwhile has seen the number of before, and woken nobody.
  return HaveWaitedForRelease() ? PickKeptInAny(family) : nullptr;
}

void DatabaseJobs::MarkWhatStays(const ColumnFamilyState& family, const Compaction& compaction,
                                 const CompactionJobResult& result) {
  const bool is_for_deletions = std::string_view(compaction.reason) == kSnapshotsReleasedReason;
  const uint64_t first_alive = compaction.key_expiry.first_alive;
  if (!is_for_deletions && first_alive == 0) return;
  std::set<uint64_t> numbers;
  for (const FileMetadata& file : result.output.files) numbers.insert(file.number);
  for (const auto& file : family.version()->files(compaction.output_level)) {
    if (!numbers.contains(file->number())) continue;
    file->deletions_stay |= is_for_deletions;
    const std::optional<KeyTimes>& times = file->metadata().key_times;
    file->expired_keys_stay |= times.has_value() && times->oldest < first_alive;
  }
}

// A range compaction takes all files of its range, which others must not write into meanwhile:
// beside it, level 0 alone is kept small. While it waits for the family, not even that, or it might
// never get it. The same beside compactions that were picked by another style, which knows nothing
// of where those of this one write.
std::unique_ptr<Compaction> DatabaseJobs::PickIn(ColumnFamilyState* family) {
  if (family->manual_compaction_waiting || family->ingest_running) return nullptr;
  if (family->compactions_running == 0) family->style_changed = false;
  if (family->manual_compaction_running || family->style_changed) {
    return CompactionPicker::PickWithinLevelZero(family->version(), family->options());
  }
  return family->picker.Pick(family->version(), family->options());
}

// Asks the scores and picks nothing: the picker remembers where it was, and only work moves that
// on.
bool DatabaseJobs::CompactionIsDue() const {
  for (const auto& [id, family] : parts_.families->live()) {
    if (family->options().disable_auto_compactions || family->is_dropped()) continue;
    // What is due for ever, since damage keeps it from being done, is nothing to wait for.
    if (family->picker.CanPick(family->version(), family->options())) return true;
    if (PickCovered(family) != nullptr || PickExpired(family, /*rewrite=*/false) != nullptr ||
        PickExpired(family, /*rewrite=*/true) != nullptr ||
        PickKept(*family).compaction != nullptr) {
      return true;
    }
  }
  return false;
}

// The time first: what readers have seen by then is not more than what is seen at the number.
CollectionMoment DatabaseJobs::MomentOf(const ColumnFamilyState& family,
                                        SequenceNumber first_unflushed) const {
  CollectionMoment moment;
  if (family.collectors() != nullptr) moment.time = family.collectors()->Now();
  moment.sequence = parts_.leader->visible_sequence();
  moment.first_unflushed = first_unflushed;
  return moment;
}

namespace {

// Along whose ends the outputs are cut: of the level below, or with lazy leveling of the next run,
// with which they go down one day. A tier is merged with all of what lies below it, wherever its
// files end.
Version::Files RunBelow(const Compaction& compaction, const ColumnFamilyOptions& options) {
  if (options.compaction.kind == CompactionStyle::Kind::kTiered) return {};
  int level = compaction.output_level + 1;
  if (options.compaction.kind == CompactionStyle::Kind::kLazyLeveled) {
    while (level < kNumLevels && compaction.version->num_files(level) == 0) level++;
  }
  return level < kNumLevels ? compaction.version->files(level) : Version::Files();
}

}  // namespace

absl::Status DatabaseJobs::WriteCompaction(const ColumnFamilyState& family,
                                           const ColumnFamilyOptions& options,
                                           const Compaction& compaction,
                                           SstableBuilderOptions builder,
                                           const CollectionMoment& moment, int max_threads,
                                           CompactionJobResult* result, SnapshotPause* pause) {
  JobTimer timer(parts_.recorder, LatencyHistogram::kCompaction);
  CompactionJobOptions job;
  job.output =
      OutputOptions(family, std::move(builder), BackgroundRateLimiter::Priority::kCompaction);
  // Table by table, since a job may take hours; those that a second try writes anew count twice.
  job.output.on_written = [recorder = parts_.recorder](uint64_t bytes) {
    recorder->Local().Add(Ticker::kCompactionBytesWritten, bytes);
  };
  // Outputs are cut where they would overlap too much of the run below, or the next compaction of
  // one of them would be a large one. Within level 0 they are not, where fewer files are the aim.
  if (compaction.output_level > 0) {
    job.output.target_file_bytes = options.target_file_bytes;
    job.output.next_run = RunBelow(compaction, options);
    job.output.waits_for_border = options.compaction.kind == CompactionStyle::Kind::kLazyLeveled;
  }
  // Listed after the inputs were picked: of each key in them a later snapshot sees the newest
  // version alone, which stays unless it is a deletion with nothing left to hide.
  job.snapshots = parts_.snapshots->Sequences();
  job.collectors = family.collectors();
  job.moment = moment;
  job.output.collectors = job.collectors;
  job.merge_operator = &family.merge_operator();
  job.keep_for_older = family.allows_ingest_behind();
  job.verify_checksums = parts_.options->verify_compaction_checksums();
  job.readahead_bytes = parts_.options->compaction_readahead_bytes();
  job.max_threads = max_threads;
  job.values.moment = ExpiryMoment(family.ttl());
  job.values.filter = family.compaction_filter();
  job.values.column_family = std::string(family.name());
  job.values.output_level = compaction.output_level;
  WINNOW_RETURN_IF_ERROR(RunCompaction(compaction, job, result));
  if (result->values.removed + result->values.changed == 0) [[likely]]
    return absl::OkStatus();
  // The filter has changed what a snapshot of its time would see. If there is none, none is taken
  // until the change is installed; if there is, the filter has had its turn.
  std::optional<SequenceNumber> newest_listed;
  if (!job.snapshots.empty()) newest_listed = job.snapshots.back();
  if (pause->BeginUnlessNewer(newest_listed)) return absl::OkStatus();
  RemoveOutputs(job.output.store, result->output.files);
  const uint64_t bytes_read = result->bytes_read;
  *result = CompactionJobResult();
  job.snapshots = parts_.snapshots->Sequences();
  job.values.filter = nullptr;
  const absl::Status status = RunCompaction(compaction, job, result);
  result->bytes_read += bytes_read;
  return status;
}

void DatabaseJobs::CountDropped(const Compaction& compaction, ThreadCounters* counters) {
  const std::string_view reason = compaction.reason;
  if (reason == kExpiredReason) {
    counters->Add(Ticker::kExpiredFilesDropped, compaction.num_input_files());
    counters->Add(Ticker::kExpiredEntriesDropped, compaction.key_expiry.first_alive != 0
                                                      ? compaction.input_entries()
                                                      : compaction.input_write_times());
  } else if (reason == kRangeDeletedReason) {
    counters->Add(Ticker::kRangeDeletedFilesDropped, compaction.num_input_files());
    counters->Add(Ticker::kRangeDeletedEntriesDropped, compaction.input_entries());
  }
}

void DatabaseJobs::MarkRunning(ColumnFamilyState* family, const Compaction& compaction, bool runs) {
  compaction.MarkInputs(runs);
  CountRunning(family, runs ? 1 : -1);
}

void DatabaseJobs::CountRunning(ColumnFamilyState* family, int more) {
  compactions_running_ += more;
  family->compactions_running += more;
}

absl::Status DatabaseJobs::Compact(ColumnFamilyState* family, const Compaction& compaction,
                                   int max_threads) {
  const OngoingCall job(parts_.mutex);
  // Picking and marking are under one hold of the mutex.
  MarkRunning(family, compaction, true);
  const CollectionMoment moment = MomentOf(*family, family->FirstUnflushed());
  const SteadyTime begin = SteadyNow();
  NotifyCompactionBegin(parts_.events, family->name(), compaction);
  CompactionJobResult result;
  SnapshotPause pause(parts_.snapshots);
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    VersionEdit edit;
    FamilyEdit& change = edit.families.emplace_back();
    change.family_id = family->id();
    compaction.DeleteInputs(&change);
    WINNOW_RETURN_IF_ERROR(parts_.versions->Settle());
    const bool drops_keys = compaction.drops_inputs && compaction.key_expiry.first_alive != 0;
    if (drops_keys && !pause.BeginUnlessNewer(std::nullopt)) {
      return absl::CancelledError("a snapshot was taken that shows what has expired");
    }
    // The files overlap nothing where they go.
    if (compaction.is_trivial_move) compaction.MoveInputs(&change);
    if (!compaction.changes_manifest_only()) {
      parts_.plan_new_filters();
      SstableBuilderOptions builder = family->BuilderOptions(compaction.output_level);
      const std::shared_ptr<const ColumnFamilyOptions> options = family->shared_options();
      DatabaseUnlock unlock(parts_.mutex);
      WINNOW_RETURN_IF_ERROR(WriteCompaction(*family, *options, compaction, std::move(builder),
                                             moment, max_threads, &result, &pause));
    }
    WINNOW_RETURN_IF_ERROR(OrRemoveOutputs(parts_.versions->store(), result.output.files, [&] {
      for (const FileMetadata& file : result.output.files) {
        change.added.push_back({compaction.output_level, file});
        if (compaction.output_level == 0) {
          change.added.back().file.epoch_number = compaction.smallest_epoch_number();
        }
      }
      return absl::OkStatus();
    }));
    // First: who does not find a file any more must know that it is gone. Range deletions that
    // cover one are newer than all of it, and found in its place.
    if (compaction.drops_inputs && std::string_view(compaction.reason) != kRangeDeletedReason) {
      family->DropsUnreadThrough(compaction.largest_input_sequence());
    }
    absl::Status installed = InstallCompaction(family, std::move(edit), result);
    // Damage of what was written says nothing of the inputs: it is written again.
    if (absl::IsDataLoss(installed)) installed = absl::UnavailableError(installed.message());
    WINNOW_RETURN_IF_ERROR(installed);
    MarkWhatStays(*family, compaction, result);
    // What readers find is no longer what they found. Once they have the view, so that nobody keeps
    // what the old one has.
    if (compaction.drops_inputs || result.output.entries_collected > 0 ||
        result.values.removed + result.values.changed > 0) {
      family->rows.ForgetAll();
    }
    return absl::OkStatus();
  });
  // Whatever the outcome: after a failure the same files must be there to be picked again.
  MarkRunning(family, compaction, false);
  parts_.leader->LookForStall(family);
  ThreadCounters& counters = parts_.recorder->Local();
  counters.Add(Ticker::kCompactions);
  counters.Add(Ticker::kCompactionBytesRead, result.bytes_read);
  counters.Add(Ticker::kBackgroundWaitMicros, static_cast<uint64_t>(result.output.waited.count()));
  counters.Add(Ticker::kFiltersFellBack, result.output.num_filters_fell_back);
  counters.Add(Ticker::kMergeFailures, result.output.num_merge_failures);
  parts_.events->AddMergeFailures(family->name(), "compaction", result.output.merge_failure,
                                  result.output.num_merge_failures);
  counters.Add(Ticker::kExpiredEntriesDropped, result.values.expired);
  counters.Add(Ticker::kEntriesFilteredOut,
               result.values.removed + result.output.entries_collected);
  counters.Add(Ticker::kEntriesChangedByFilter, result.values.changed);
  counters.Add(Ticker::kRangeDeletedEntriesDropped, result.entries_range_deleted);
  if (compaction.drops_inputs && status.ok()) CountDropped(compaction, &counters);
  NotifyCompactionEnd(
      parts_.events, family->name(), compaction,
      {status,
       compaction.is_trivial_move ? compaction.num_input_files() : result.output.files.size(),
       result.bytes_read, result.output.bytes_written, result.output.num_filters_fell_back, begin});
  return status;
}

absl::Status DatabaseJobs::InstallCompaction(ColumnFamilyState* family, VersionEdit edit,
                                             const CompactionJobResult& result) {
  VersionSet& versions = *parts_.versions;
  if (family->is_dropped()) {
    RemoveOutputs(versions.store(), result.output.files);
    return absl::OkStatus();
  }
  WINNOW_RETURN_IF_ERROR(versions.LogAndApply(std::move(edit)));
  const auto record = versions.families().find(family->id());
  if (record == versions.families().end()) return absl::OkStatus();  // dropped meanwhile
  // Before the view is replaced: the levels' present filters are those that past look-ups queried.
  // The edit is durable, and a statistic no reason to say that it is not.
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    family->expected_fpr_history.Remember(*family->version());
  });
  family->InstallDurableView(record->second.version);
  return absl::OkStatus();
}

// The error names one place, but the merge stopped there: all inputs are read through, without the
// mutex, to find every one that is damaged and to let the sound ones be compacted with others.
void DatabaseJobs::QuarantineInputs(ColumnFamilyState* family, const Compaction& compaction,
                                    const absl::Status& status) {
  std::vector<std::shared_ptr<SstableFile>> inputs;
  for (const Version::Files& files : compaction.inputs) {
    inputs.insert(inputs.end(), files.begin(), files.end());
  }
  auto damaged_end = inputs.begin();
  // Or others would pick the same files meanwhile, meet the same damage and read them through, too.
  MarkRunning(family, compaction, true);
  const absl::Status verified =
      CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
        DatabaseUnlock unlock(parts_.mutex);
        damaged_end = std::partition(inputs.begin(), inputs.end(), [](const auto& file) {
          return file->reader() == nullptr || HasDamage(file->reader()->Verify());
        });
        return absl::OkStatus();
      });
  MarkRunning(family, compaction, false);
  parts_.scheduler->SignalProgress();
  if (!verified.ok()) return parts_.scheduler->errors().JobFailed(JobKind::kCompaction, verified);
  // Damage that is not there at a second look may have been in memory or on the bus; without a
  // culprit all are left alone.
  if (damaged_end == inputs.begin()) damaged_end = inputs.end();
  const auto damaged = std::span(inputs.begin(), damaged_end);
  for (const auto& file : damaged) file->quarantined = true;  // for as long as it is open
  parts_.scheduler->errors().DamageFound(status, damaged.size());
}

// Runs on the caller's thread, so that it needs no slot among the background ones, and may use as
// many threads as those are.
absl::Status DatabaseJobs::CompactRange(ColumnFamilyState* family,
                                        std::optional<std::string_view> begin,
                                        std::optional<std::string_view> end) {
  BackgroundErrors& errors = parts_.scheduler->errors();
  while ((family->manual_compaction_waiting || family->manual_compaction_running) &&
         !parts_.scheduler->is_stopping()) {
    parts_.scheduler->WaitForProgress();
  }
  // Once the scheduler stops, Close waits for what runs and for nothing that would begin now.
  if (parts_.scheduler->is_stopping()) return DatabaseClosedError();
  family->manual_compaction_waiting = true;
  // Everything that is being compacted already must be done first: a range compaction takes all
  // versions of its keys.
  while ((family->compactions_running > 0 || family->ingest_running) && errors.fatal().ok() &&
         !parts_.scheduler->is_stopping()) {
    parts_.scheduler->WaitForProgress();
  }
  absl::Status status = errors.fatal();
  if (parts_.scheduler->is_stopping()) status.Update(DatabaseClosedError());
  if (status.ok()) {
    std::unique_ptr<Compaction> compaction;
    status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
      compaction = CompactionPicker::PickRange(family->version(), family->options(), begin, end);
      return absl::OkStatus();
    });
    if (compaction != nullptr) {
      // Others that wait for the family go on waiting: `manual_compaction_running` is theirs too.
      family->manual_compaction_running = true;
      family->manual_compaction_waiting = false;
      status = Compact(family, *compaction, parts_.options->background_threads());
      family->manual_compaction_running = false;
      // Outputs are gone and inputs are whole: the caller knows, and may try again.
      if (status.ok()) errors.JobSucceeded(JobKind::kCompaction);
    }
  }
  // Whatever the outcome, or no compaction would ever run in this family again.
  family->manual_compaction_waiting = false;
  parts_.scheduler->SignalWork();
  parts_.scheduler->SignalProgress();
  return status;
}

}  // namespace winnow
