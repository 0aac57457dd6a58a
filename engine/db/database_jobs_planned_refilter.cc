// Refiltering that nobody asked for: tables whose filter in other bits would save more reads than
// that costs (engine/filter_memory/refilter_choice.h). It is what a database does when it has
// nothing else to do, one table at a time, and it gives way: to work that finds no thread, and to
// callers who are about to do the same or more.
//
// An error is no error of the database, which goes on as it was: listeners hear of it, and the
// planner lets some time pass before it chooses again.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "engine/base/status.h"
#include "engine/db/database_jobs.h"
#include "engine/db/job_events.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Between two looks at what else there is to do, which is to look at every family.
constexpr std::chrono::milliseconds kLookAroundInterval{20};

}  // namespace

void DatabaseJobs::ProposeRefilter(PlannedRefilter refilter, uint64_t ended) {
  // One at a time; a proposal that comes while one runs rests on a plan without its outcome, and so
  // may one that was chosen before it ended: a damaged table would be read again.
  if (planned_refilter_runs_ || ended != planned_refilters_ended_) return;
  planned_refilter_ = std::move(refilter);
  parts_.scheduler->SignalWork();
}

std::shared_ptr<SstableFile> DatabaseJobs::FindPlanned(const PlannedRefilter& planned,
                                                       ColumnFamilyState** family) const {
  const auto found = parts_.families->live().find(planned.family_id);
  if (found == parts_.families->live().end()) return nullptr;
  *family = found->second;
  const ColumnFamilyState& own = **family;
  const SstableBuilderOptions wanted = own.BuilderOptions(planned.level);
  // The proposal may be old. A call of Refilter does the table anyway, another spec has made the
  // plan void, and without units there is no budget any more.
  if (IsLeftAlone(own) || own.refilters_asked_for != own.refilters_done ||
      !(own.filter_spec() == planned.spec) || wanted.filter_unit_bits.empty()) {
    return nullptr;
  }
  for (const auto& file : own.version()->files(planned.level)) {
    if (file->number() != planned.file_number) continue;
    const bool is_free = file->reader() != nullptr && !file->being_compacted && !file->quarantined;
    return is_free ? file : nullptr;
  }
  return nullptr;
}

// Where a thread is free for what is due, that one does it.
bool DatabaseJobs::MustGiveWay(const ColumnFamilyState& family) const {
  if (IsLeftAlone(family) || family.refilters_asked_for != family.refilters_done) return true;
  const int threads = parts_.options->background_threads();
  const bool none_for_flushes = flushes_running_ + automatic_compaction_threads_ >= threads;
  if (none_for_flushes && FamilyToFlush() != nullptr) return true;
  return automatic_compaction_threads_ >= std::max(threads - 1, 1) && CompactionIsDue();
}

bool DatabaseJobs::RunPlannedRefilterIfIdle() {
  if (!planned_refilter_.has_value() || planned_refilter_runs_ || HasWork()) return false;
  const PlannedRefilter planned = *std::move(planned_refilter_);
  planned_refilter_.reset();
  ColumnFamilyState* family = nullptr;
  std::shared_ptr<SstableFile> file = FindPlanned(planned, &family);
  if (file == nullptr) return false;  // others are proposed as time goes on
  planned_refilter_runs_ = true;
  // Counts as the compaction that the thread could run instead, so that PickAndCompact leaves one
  // to flushes all the same.
  automatic_compaction_threads_++;
  // Both counts have to come back. Without memory the table may be proposed again.
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    RunPlannedRefilter(family, std::move(file), planned);
  });
  automatic_compaction_threads_--;
  planned_refilter_runs_ = false;
  planned_refilters_ended_++;
  return true;
}

void DatabaseJobs::RunPlannedRefilter(ColumnFamilyState* family, std::shared_ptr<SstableFile> file,
                                      const PlannedRefilter& planned) {
  const SteadyTime begin = SteadyNow();
  BitsByLevel bits;
  // One table has one level; the other entries are not asked for.
  bits.fill(planned.bits_per_key);
  const std::string filter = filter::ToString(family->BuilderOptions(planned.level).filter_spec);
  const std::string path = SstableFileName(parts_.versions->store().directory, file->number());
  NotifyRefilterBegin(parts_.events, family->name(), filter, path);
  SteadyTime next_look = begin;
  const auto must_give_way = [&]() ABSL_LOCKS_EXCLUDED(database_mutex) {
    if (SteadyNow() < next_look) return false;
    next_look = SteadyNow() + kLookAroundInterval;
    DatabaseLock lock(parts_.mutex);
    return MustGiveWay(*family);
  };
  RefilterInfo info;
  const absl::Status status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return RefilterOne(family, file, planned.level, bits, must_give_way, &info);
  });
  const bool is_done = info.files_refiltered > 0;
  if (is_done) parts_.recorder->Local().Add(Ticker::kFilesRefilteredByPlanner);
  NotifyRefilterEnd(parts_.events, family->name(), filter,
                    {status, info.files_refiltered, info.bytes_read, info.bytes_written,
                     info.filters_fell_back, begin},
                    path);
  file.reset();  // and with it the filter that was replaced
  DatabaseUnlock unlock(parts_.mutex);
  // Under the budget's own lock, which is held while filters are read: never with the mutex.
  parts_.filter_budget->NoteRefilter(planned, status, is_done);
  UnlessOutOfMemory([&] { ReleaseReplacedOf({&family, 1}); });
  // Further units of the new filter, and what that leaves to others.
  if (is_done) UnlessOutOfMemory([&] { parts_.keep_filters(); });
}

}  // namespace winnow
