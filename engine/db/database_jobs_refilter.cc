// Refilter: each SSTable of a family gets a filter of the family's present settings, which was made
// from its keys and lies in a file of its own.
//
// The table is not touched. One file after the other:
//
//  1. Without the mutex, beside compactions and all else: the table's key hashes, or where it has
//     none of the wanted key its data, are read and checked, and the filter file is written and
//     synced. Until step 3 it is an orphan.
//  2. Under the mutex: is the table still there, and no compaction at it? If not, the filter file
//     goes; what the compaction writes has the present filter anyway.
//  3. One edit takes the table out and adds it with its filter file. Building the version opens it
//     as an SstableFile of its own, so that readers ask the old filter as long as they hold the old
//     version, and the new one from the new version on. With the last such reader the filter file
//     that was replaced is removed (SstableFile::MarkRefiltered).
//
// A crash at any point leaves the table with a filter that knows all its keys. A call that is made
// again passes over the files that are done.
//
// Calls for one family have their turns in the order in which they came. Settings that change in
// the middle of one are its own from then on: compactions write with them already, and a call that
// went on with those of before would undo their work as fast as they did it.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/database_closed.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/base/user_exception.h"
#include "engine/compaction/filter_rebuild.h"
#include "engine/db/database_jobs.h"
#include "engine/db/job_events.h"
#include "engine/filter_memory/refilter_choice.h"
#include "engine/filter_memory/unit_split.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// Where the work on one family stands.
struct DatabaseJobs::RefilterJob {
  ColumnFamilyState* family = nullptr;
  filter::FilterSpec spec;
  filter::FilterKeyExtractor key;
  std::string spec_text;  // without the range filter, which a table has or not
  std::string key_text;
  int num_levels = 0;
  // Under a budget of filter memory, which has a plan for each level: not empty. What the plan says
  // while the job runs plays no part, or the job would not end; nor does the size of what has been
  // written since, or made by the job.
  std::array<std::vector<double>, kNumLevels> unit_bits;
  bool in_units() const { return !unit_bits[0].empty(); }
  std::optional<BitsByLevel> planned_bits;  // in place of the family's
  std::function<bool()> must_give_way;      // FilterRebuildOptions has it
  uint64_t first_new_number = 0;
  std::set<uint64_t> done;

  // Whether a filter is of about the planned size, by its first unit; and whether all of its units
  // come to what is planned, for which two are written: one of so few bits that it was not cut may
  // be as large as the first of them.
  bool HasPlannedSize(int level, const std::vector<filter::BuiltUnit>& units,
                      uint64_t num_keys) const {
    if (units.empty()) return true;
    const std::vector<double>& wanted = unit_bits[static_cast<size_t>(level)];
    const auto bytes_of = [num_keys](double bits) {
      return bits * static_cast<double>(num_keys) / 8;
    };
    double bytes = 0;
    for (const filter::BuiltUnit& unit : units) bytes += static_cast<double>(unit.bytes);
    const double planned = bytes_of(wanted.size() > 1 ? wanted[0] + wanted[1] : wanted[0]);
    return IsAboutAsPlanned(static_cast<double>(units.front().bytes), bytes_of(wanted[0])) &&
           IsAboutAsPlanned(std::min(bytes, planned), planned);
  }
  std::set<uint64_t> damaged;      // not to be tried again
  std::set<uint64_t> without_own;  // whose own filter is damaged
  absl::Status first_damage;
  RefilterInfo info;
};

namespace {

// Of the version as it is now; -1: the file is not in it.
int LevelOf(const Version& version, const SstableFile& file) {
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& there : version.files(level)) {
      if (there.get() == &file) return level;
    }
  }
  return -1;
}

}  // namespace

// Where the filter file could not be used the table's own filter is, and says so itself.
bool DatabaseJobs::HasWantedFilter(const RefilterJob& job, const SstableFile& file, int level) {
  // It cannot be opened, or its filter file could not be read.
  if (file.reader() == nullptr || !file.filter_file_status().ok()) return false;
  const FilterDescription& has = file.reader()->filter_description();
  // Only tables that are older than the job, and that it has not done, are judged by size: plans
  // change all the time, and it would not end.
  const FilterUnits* const units = file.reader()->filter_units();
  if (job.in_units() && units != nullptr && file.number() < job.first_new_number &&
      !job.done.contains(file.number()) &&
      !job.HasPlannedSize(level, units->units(), file.reader()->figures().num_filter_keys)) {
    return false;
  }
  // Of a filter that could not be built there are no units.
  const bool in_wanted_form =
      has.in_units == job.in_units() || file.reader()->figures().filter_bytes == 0;
  return has.policy.empty() && PointFilterText(has.spec) == job.spec_text &&
         has.key_text == job.key_text && in_wanted_form &&
         file.reader()->filter_state().code == filter::FilterStateCode::kOk;
}

// Null: there is none that could be done now. `*waits` says whether one is being compacted, which
// may come back as it is.
std::shared_ptr<SstableFile> DatabaseJobs::NextToRefilter(RefilterJob* job, int* level,
                                                          bool* waits) const {
  const Version& version = *job->family->version();
  std::shared_ptr<SstableFile> next;
  *waits = false;
  job->info.files_left = 0;
  // From below: there are most of the bytes, and what lies above is soon written anew anyway.
  for (int at = kNumLevels - 1; at >= 0; at--) {
    for (const auto& file : version.files(at)) {
      if (HasWantedFilter(*job, *file, at) || job->damaged.contains(file->number())) continue;
      job->info.files_left++;
      *waits = *waits || file->being_compacted;
      if (next != nullptr || file->being_compacted) continue;
      next = file;
      *level = at;
    }
  }
  return next;
}

// Reads key hashes or data, unless the filter that is wanted is the one that it was written with.
absl::StatusOr<FilterFileMetadata> DatabaseJobs::MakeFilter(RefilterJob* job,
                                                            const SstableFile& file, int level,
                                                            uint64_t number) {
  const ColumnFamilyState& family = *job->family;
  if (file.metadata().filter_file.number != 0 && !job->without_own.contains(file.number())) {
    WINNOW_ASSIGN_OR_RETURN(const SstableProperties own, file.reader()->ReadProperties());
    // No filter file then: the edit takes away the one that is named, and the table is asked by its
    // own filter again.
    if (own.filter_policy.empty() && PointFilterText(own.filter_spec) == job->spec_text &&
        own.filter_key == job->key_text && own.filter_units.empty() != job->in_units() &&
        (!job->in_units() ||
         job->HasPlannedSize(level, own.filter_units, file.reader()->figures().num_filter_keys))) {
      return FilterFileMetadata();
    }
  }
  FilterRebuildOptions options;
  options.spec = job->spec;
  options.unit_bits = job->unit_bits[static_cast<size_t>(level)];
  options.key = job->key;
  // All tables of a database that were not ingested have it: look-ups hash once for all of them.
  options.hash_seed = parts_.versions->hash_seed();
  options.context.level = level;
  options.context.num_levels = std::max(job->num_levels, level + 1);
  options.readahead_bytes = parts_.options->compaction_readahead_bytes();
  options.paced = {parts_.rate_limiter,
                   BackgroundRateLimiter::Priority::kCompaction,
                   {&parts_.scheduler->cancelled(), &family.dropped}};
  options.must_give_way = job->must_give_way;
  WINNOW_ASSIGN_OR_RETURN(const FilterRebuildResult made,
                          RebuildFilter(options, parts_.versions->store(), file, number));
  // The filter is as good as another; the table is damaged all the same.
  parts_.events->AddIfCorruption(made.key_hashes_status);
  job->info.bytes_read += made.bytes_read;
  job->info.bytes_written += made.bytes_written;
  job->info.filter_bytes += made.filter_bytes;
  job->info.filters_fell_back += made.fell_back ? 1 : 0;
  ThreadCounters& counters = parts_.recorder->Local();
  counters.Add(Ticker::kRefilterBytesRead, made.bytes_read);
  counters.Add(Ticker::kRefilterBytesWritten, made.bytes_written);
  counters.Add(Ticker::kBackgroundWaitMicros, static_cast<uint64_t>(made.waited.count()));
  counters.Add(Ticker::kFiltersFellBack, made.fell_back ? 1 : 0);
  return made.file;
}

// Counted as a compaction of the file while the edit is on its way, so that none begins which would
// have the file among its inputs, and neither a range compaction nor a drop of the family comes
// between.
absl::Status DatabaseJobs::InstallFilter(RefilterJob* job, const std::shared_ptr<SstableFile>& file,
                                         const FilterFileMetadata& filter) {
  ColumnFamilyState* const family = job->family;
  VersionSet& versions = *parts_.versions;
  // By the object and not by its number: a table that was refiltered meanwhile, by another job, is
  // another object.
  const int level = LevelOf(*family->version(), *file);
  const auto remove_filter_file = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    if (filter.number == 0) return;
    DatabaseUnlock unlock(parts_.mutex);
    const SstableStore& store = versions.store();
    store.file_system->Remove(FilterFileName(store.directory, filter.number)).IgnoreError();
  };
  if (level < 0 || file->being_compacted || family->is_dropped()) {
    if (level < 0) job->info.files_gone++;
    remove_filter_file();
    return absl::OkStatus();
  }
  VersionEdit edit;
  const absl::Status named = CatchOutOfMemory([&] {
    FamilyEdit& change = edit.families.emplace_back();
    change.family_id = family->id();
    // Taken out and added in one edit, with the same metadata but for the filter file: BuildVersion
    // takes that for a change of the filter.
    change.deleted.push_back({level, file->number()});
    change.added.push_back({level, file->metadata()});
    change.added.back().file.filter_file = filter;
    // Before the edit is durable, after which nothing may fail.
    job->done.insert(file->number());
    return absl::OkStatus();
  });
  if (!named.ok()) {
    remove_filter_file();
    return named;
  }
  file->being_compacted = true;
  CountRunning(family, 1);
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return versions.LogAndApply(std::move(edit));
  });
  file->being_compacted = false;
  CountRunning(family, -1);
  parts_.scheduler->SignalWork();
  parts_.scheduler->SignalProgress();
  if (!status.ok()) {
    job->done.erase(file->number());
    return status;
  }
  job->info.files_refiltered++;
  job->info.files_restored += filter.number == 0 ? 1 : 0;
  parts_.recorder->Local().Add(Ticker::kFilesRefiltered);
  const auto record = versions.families().find(family->id());
  if (record == versions.families().end()) return absl::OkStatus();  // dropped meanwhile
  // As in InstallCompaction.
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    family->expected_fpr_history.Remember(*family->version());
  });
  family->InstallDurableView(record->second.version);
  return absl::OkStatus();
}

// False: the files are to have other filters than when the job last looked.
bool DatabaseJobs::HasPresentSettings(const RefilterJob& job) const {
  // Spec and key are the same at all levels, and so is whether there are units.
  const SstableBuilderOptions wanted = job.family->BuilderOptions(0);
  return job.spec == wanted.filter_spec && job.key == wanted.filter_key &&
         job.in_units() == !wanted.filter_unit_bits.empty();
}

void DatabaseJobs::TakePresentSettings(RefilterJob* job) const {
  for (int level = 0; level < kNumLevels; level++) {
    const SstableBuilderOptions wanted = job->family->BuilderOptions(level);
    job->spec = wanted.filter_spec;
    job->key = wanted.filter_key;
    std::vector<double>& units = job->unit_bits[static_cast<size_t>(level)];
    units = wanted.filter_unit_bits;
    if (!units.empty() && job->planned_bits.has_value()) {
      units = SplitIntoUnits(job->spec, (*job->planned_bits)[static_cast<size_t>(level)]);
    }
  }
  job->spec_text = PointFilterText(filter::ToString(job->spec));
  job->key_text = job->key.ToString();
  job->num_levels = job->family->options().compaction.num_levels();
  job->without_own.clear();
  job->done.clear();
  // Of tables with this number or a larger one the size plays no part.
  job->first_new_number = parts_.versions->next_file_number();
}

void DatabaseJobs::NoteDamaged(RefilterJob* job, const SstableFile& file, const absl::Status& why) {
  parts_.events->AddIfCorruption(why);
  job->damaged.insert(file.number());
  job->info.files_damaged++;
  if (job->first_damage.ok()) job->first_damage = why;
}

// What is wrong with one table is no reason to leave the others as they are.
absl::Status DatabaseJobs::RefilterFile(RefilterJob* job, const std::shared_ptr<SstableFile>& file,
                                        int level) {
  if (file->reader() == nullptr) {
    NoteDamaged(job, *file, file->open_status());
    return absl::OkStatus();
  }
  WINNOW_RETURN_IF_ERROR(parts_.versions->Settle());
  // One for each try. A number is never used again, not even after a failure.
  const uint64_t number = parts_.versions->NewFileNumber();
  absl::StatusOr<FilterFileMetadata> made;
  {
    DatabaseUnlock unlock(parts_.mutex);
    made = CatchOutOfMemory([&] { return MakeFilter(job, *file, level, number); });
  }
  absl::Status status = made.status();
  if (made.ok()) {
    status = InstallFilter(job, file, *made);
    if (status.ok()) return status;
    // As after a compaction: what the manifest holds is not known unless the disk was full, or the
    // table or its new filter could not be opened.
    if (!absl::IsDataLoss(status)) {
      if (!absl::IsResourceExhausted(status)) {
        parts_.scheduler->errors().SetFatal(status, "recording a filter file");
      }
      return status;
    }
  }
  if (!absl::IsDataLoss(status)) return status;
  // Its own filter was to be used again, and is damaged.
  if (made.ok() && made->number == 0) {
    job->without_own.insert(file->number());  // it comes again, and another is made
    return absl::OkStatus();
  }
  NoteDamaged(job, *file, status);
  return absl::OkStatus();
}

absl::Status DatabaseJobs::RefilterAll(RefilterJob* job, const RefilterOptions& options,
                                       SteadyTime begin) {
  ColumnFamilyState* const family = job->family;
  for (;;) {
    if (parts_.scheduler->is_stopping()) return DatabaseClosedError();
    WINNOW_RETURN_IF_ERROR(parts_.scheduler->errors().fatal());
    if (family->is_dropped()) {
      return absl::CancelledError("the column family has been dropped");
    }
    if (!HasPresentSettings(*job)) {
      TakePresentSettings(job);
      WaitForFlushOfBefore(*family);
      continue;
    }
    int level = 0;
    bool waits = false;
    std::shared_ptr<SstableFile> file = NextToRefilter(job, &level, &waits);
    if (file == nullptr) {
      if (!waits) return job->first_damage;
      parts_.scheduler->WaitForProgress();
      continue;
    }
    // Writers may be waiting for it.
    if (flushes_running_ > 0) parts_.scheduler->WaitForProgress();
    WINNOW_RETURN_IF_ERROR(RefilterFile(job, file, level));
    {
      // The filter that was replaced, or memory would hold both of every file.
      file.reset();
      DatabaseUnlock unlock(parts_.mutex);
      UnlessOutOfMemory([&] { ReleaseReplacedOf({&job->family, 1}); });
    }
    job->info.files_left -= job->info.files_left > 0 ? 1 : 0;
    job->info.duration = MicrosSince(begin);
    if (options.on_progress == nullptr) continue;
    DatabaseUnlock unlock(parts_.mutex);
    const OngoingCall of_jobs(this);
    bool goes_on = false;
    WINNOW_RETURN_IF_ERROR(WithContext(CatchUserException([&] {
                                         goes_on = options.on_progress(job->info);
                                         return absl::OkStatus();
                                       }),
                                       "RefilterOptions::on_progress"));
    if (!goes_on) return absl::CancelledError("as the caller asked for");
  }
}

absl::Status DatabaseJobs::RefilterOne(ColumnFamilyState* family,
                                       const std::shared_ptr<SstableFile>& file, int level,
                                       const BitsByLevel& planned_bits,
                                       std::function<bool()> must_give_way, RefilterInfo* info) {
  RefilterJob job;
  job.family = family;
  job.planned_bits = planned_bits;
  job.must_give_way = std::move(must_give_way);
  TakePresentSettings(&job);
  absl::Status status = RefilterFile(&job, file, level);
  if (status.ok() && !job.without_own.empty()) status = RefilterFile(&job, file, level);
  *info = job.info;
  return status.ok() ? job.first_damage : status;
}

// A flush that began before the settings changed has those of before.
void DatabaseJobs::WaitForFlushOfBefore(const ColumnFamilyState& family) {
  if (!family.flush_running || family.immutables.empty()) return;
  const Memtable* const oldest = family.immutables.front().get();
  while (family.flush_running && !family.immutables.empty() &&
         family.immutables.front().get() == oldest && !parts_.scheduler->is_stopping()) {
    parts_.scheduler->WaitForProgress();
  }
}

absl::Status DatabaseJobs::Refilter(ColumnFamilyState* family, const RefilterOptions& options,
                                    const std::optional<BitsByLevel>& planned_bits,
                                    RefilterInfo* info) {
  // A ticket: the call whose number is that of the calls done is at work.
  const uint64_t turn = family->refilters_asked_for++;
  while (family->refilters_done != turn && !parts_.scheduler->is_stopping()) {
    parts_.scheduler->WaitForProgress();
  }
  // Nobody's turn comes any more, so it may be passed by.
  if (parts_.scheduler->is_stopping()) return DatabaseClosedError();
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return RefilterInTurn(family, options, planned_bits, info);
  });
  family->refilters_done++;
  parts_.scheduler->SignalProgress();
  return status;
}

absl::Status DatabaseJobs::RefilterInTurn(ColumnFamilyState* family, const RefilterOptions& options,
                                          const std::optional<BitsByLevel>& planned_bits,
                                          RefilterInfo* info) {
  WaitForFlushOfBefore(*family);
  const SteadyTime begin = SteadyNow();
  RefilterJob job;
  job.family = family;
  job.planned_bits = planned_bits;
  // So that under a budget there is a plan, even if nothing has been flushed since it was set.
  parts_.plan_new_filters();
  TakePresentSettings(&job);
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : family->version()->files(level)) {
      job.info.files_current += HasWantedFilter(job, *file, level) ? 1 : 0;
    }
  }
  NotifyRefilterBegin(parts_.events, family->name(), job.spec_text);
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return RefilterAll(&job, options, begin);
  });
  job.info.duration = MicrosSince(begin);
  parts_.recorder->Local().Add(Ticker::kRefilters);
  NotifyRefilterEnd(parts_.events, family->name(), job.spec_text,
                    {status, job.info.files_refiltered, job.info.bytes_read, job.info.bytes_written,
                     job.info.filters_fell_back, begin});
  *info = job.info;
  return status;
}

}  // namespace winnow
