// Ingest: tables from outside become the database's, all of them by one edit of the manifest.
//
//  1. Each file is opened and described; what cannot come in is refused before anything is done.
//  2. Each gets a name in the directory, by a link or a copy, durably: an orphan until it is named
//     by a manifest, which the next opening removes.
//  3. Memtables with keys of a file's range are flushed, with writes going on; then leadership of
//     writes is taken, and what has come meanwhile is flushed too. Nothing is written from here on.
//  4. The logs are synced: the files survive a power failure from step 6 on, and no write that came
//     before them may be lost then.
//  5. Levels are chosen, and a sequence number is given out. No compaction of these families begins
//     until they are in the version: one that runs has been looked at.
//  6. The edit is made durable and, under the same hold of the mutex, every family's view replaced.
//     Last the sequence number is published: with it, and not before, readers see all the files.
//  7. Of files that were moved the old names go.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/sst_writer.h"
#include "engine/file_system/durable_files.h"
#include "engine/file_system/file_system_of.h"
#include "engine/ingest/external_sstable.h"
#include "engine/ingest/ingest_placement.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

struct DBImpl::IngestJob {
  // In the order of the call, each with its family.
  std::vector<ExternalSstable> tables;
  std::vector<ColumnFamilyState*> families;
  std::set<ColumnFamilyState*> distinct_families;
  size_t num_placed = 0;  // of the tables: they have a name in the directory
  // An edit that names them may be in the manifest: they are not this call's to remove any more.
  bool is_handed_over = false;
  IngestInfo info;

  bool HasKeyIn(const Memtable& memtable, const ColumnFamilyState* family) const {
    for (size_t i = 0; i < tables.size(); i++) {
      const FileMetadata& file = tables[i].file;
      if (families[i] == family &&
          winnow::HasKeyIn(memtable, RangeBetween(file.smallest, file.largest))) {
        return true;
      }
    }
    return false;
  }
};

namespace {

// While it lives, no compaction of the families begins.
class NoCompactions {
 public:
  NoCompactions(const std::set<ColumnFamilyState*>& families, BackgroundScheduler* scheduler)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex)
      : families_(families), scheduler_(scheduler) {
    for (ColumnFamilyState* family : families_) family->ingest_running = true;
  }
  ~NoCompactions() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    for (ColumnFamilyState* family : families_) family->ingest_running = false;
    scheduler_->SignalWork();
    scheduler_->SignalProgress();
  }
  NoCompactions(const NoCompactions&) = delete;
  NoCompactions& operator=(const NoCompactions&) = delete;

 private:
  const std::set<ColumnFamilyState*>& families_;
  BackgroundScheduler* const scheduler_;
};

// Tables of a database that is not open may be external ones as well, and a move would take one
// away from it, or from this database.
absl::Status CheckMayMove(FileSystem& file_system, const std::string& path) {
  const std::string directory = ParentDirectory(path);
  WINNOW_ASSIGN_OR_RETURN(const bool is_database, file_system.Exists(CurrentFileName(directory)));
  if (!is_database) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": lies in the directory of a database, which may need it: copy it, without `move`"));
}

// Durable with its content; its name is so once the directory has been synced.
absl::Status Place(FileSystem& file_system, const std::string& from, const std::string& to,
                   bool link) {
  if (link) {
    // Whoever wrote the file need not have synced it. Without a sync that proves something the
    // bytes are written once more.
    absl::Status synced = file_system.SyncFile(from);
    if (synced.ok()) synced = file_system.Link(from, to);
    if (!absl::IsUnimplemented(synced)) return synced;
  }
  return CopyFile(file_system, from, to).status();
}

}  // namespace

absl::Status DBImpl::OpenIngested(const std::vector<IngestFile>& files,
                                  const IngestOptions& options, IngestJob* job) {
  for (const IngestFile& file : files) {
    ColumnFamily* const given = file.family == nullptr ? default_family_ : file.family;
    WINNOW_RETURN_IF_ERROR(CheckFamily(given));
    ColumnFamilyState* const family = Own(given);
    if (options.behind && !family->allows_ingest_behind()) {
      return absl::FailedPreconditionError(
          absl::StrCat("column family '", ToAbsl(family->name()),
                       "' was not opened with allow_ingest_behind: its compactions drop deletions "
                       "that would have to hide what is ingested behind them"));
    }
    if (options.move) WINNOW_RETURN_IF_ERROR(CheckMayMove(*file_system_, file.path));
    WINNOW_ASSIGN_OR_RETURN(
        ExternalSstable table,
        OpenExternalSstable({file_system_, file.path, family->comparator(), family->filter_policy(),
                             family->merge_operator().Name()}));
    table.family_id = family->id();
    job->info.bytes += table.file.file_bytes;
    job->info.num_entries += table.file.num_entries;
    job->tables.push_back(std::move(table));
    job->families.push_back(family);
    job->distinct_families.insert(family);
  }
  return CheckDisjoint(job->tables);
}

// What is verified is what the database will read: a copy, where one is made.
absl::Status DBImpl::PlaceIngested(const IngestOptions& options, IngestJob* job) {
  for (size_t i = 0; i < job->tables.size(); i++) {
    ExternalSstable& table = job->tables[i];
    table.file.number = versions_.NewFileNumber();
    const std::string to = SstableFileName(path_, table.file.number);
    job->num_placed = i + 1;  // a copy that fails half-way is there too
    WINNOW_RETURN_IF_ERROR(Place(*file_system_, table.path, to, options.move));
    if (!options.verify) continue;
    WINNOW_RETURN_IF_ERROR(VerifyExternalSstable(
        {file_system_, to, table.comparator, job->families[i]->filter_policy()}, table));
  }
  return absl::OkStatus();
}

void DBImpl::RemovePlaced(const IngestJob& job) {
  for (size_t i = 0; i < job.num_placed; i++) {
    // Without memory for it the next opening removes the file.
    UnlessOutOfMemory([&] {
      file_system_->Remove(SstableFileName(path_, job.tables[i].file.number)).IgnoreError();
    });
  }
}

// With leadership held: nothing is written, so that once is enough.
absl::Status DBImpl::FlushForIngest(IngestJob* job) {
  for (ColumnFamilyState* family : job->distinct_families) {
    // The range of a file, from its smallest key to its largest, and not its keys: what is flushed
    // needlessly costs less than reading them.
    bool has_key = job->HasKeyIn(family->active(), family);
    if (has_key) WINNOW_RETURN_IF_ERROR(leader_.SwitchMemtable(family));
    for (const auto& memtable : family->immutables) {
      has_key = has_key || job->HasKeyIn(*memtable, family);
    }
    if (!has_key) continue;
    job->info.flushed = true;
    family->flush_wanted = true;
    WINNOW_RETURN_IF_ERROR(AwaitFlush(family));
  }
  return absl::OkStatus();
}

absl::Status DBImpl::SyncLogsForIngest() {
  absl::Status synced;
  {
    DatabaseUnlock unlock(&mutex_);
    synced = logs_.SyncNames();
    if (absl::IsResourceExhausted(synced)) return synced;
    if (synced.ok()) synced = logs_.Sync();
  }
  // A later sync that succeeds would prove nothing.
  if (!synced.ok()) scheduler_.errors().SetFatal(synced, "syncing a write-ahead log");
  return synced;
}

absl::Status DBImpl::ChooseLevels(const IngestOptions& options, IngestJob* job, VersionEdit* edit) {
  if (!options.behind) {
    // One number for all files: they have no key in common (CheckDisjoint), and become visible
    // together.
    WINNOW_ASSIGN_OR_RETURN(job->info.sequence, leader_.AllocateSequence());
    // Of the number nothing but the manifest will know.
    versions_.RaiseLastSequence(job->info.sequence);
  }
  for (size_t i = 0; i < job->tables.size(); i++) {
    FileMetadata& file = job->tables[i].file;
    const ColumnFamilyState& family = *job->families[i];
    // The durable version, which may be ahead of the one that readers have.
    const Version& version = *versions_.families().at(family.id()).version;
    SetGlobalSequence(job->info.sequence, &file);
    const UserKeyRange range = RangeBetween(file.smallest, file.largest);
    int level = kNumLevels - 1;
    if (options.behind) {
      WINNOW_RETURN_IF_ERROR(WithContext(CheckRoomBehind(version, range), job->tables[i].path));
    } else {
      level = LevelForNewer(version, range, DeepestIngestLevel(version, family.options()));
    }
    job->info.levels.push_back(level);
    auto change = std::find_if(edit->families.begin(), edit->families.end(),
                               [&](const FamilyEdit& of) { return of.family_id == family.id(); });
    if (change == edit->families.end()) {
      change = edit->families.emplace(edit->families.end());
      change->family_id = family.id();
    }
    change->added.push_back({level, file});
  }
  return absl::OkStatus();
}

// From the edit on nothing may fail. The views come before the number: a snapshot that has it finds
// all the files wherever it looks.
absl::Status DBImpl::InstallIngested(VersionEdit edit, IngestJob* job) {
  // Where a view cannot be had nothing must be durable: what is ingested would be there, and
  // unseen.
  std::map<ColumnFamilyState*, ViewHolder::Held> reserved;
  for (ColumnFamilyState* family : job->distinct_families) {
    reserved[family] = family->ReserveView();
  }
  // From here on the version set removes the files if the edit fails, or keeps them until it is
  // decided.
  job->is_handed_over = true;
  if (absl::Status status = versions_.LogAndApply(std::move(edit)); !status.ok()) {
    // Where the tables could not be opened the manifest goes on, and they have been removed; with a
    // full disk the next edit decides.
    if (absl::IsResourceExhausted(status) || versions_.LogAndApply(VersionEdit()).ok()) {
      return status;
    }
    return ChangeFailed(status, "recording an ingestion");
  }
  // Before anybody can see the entries no row is left that they hide, and nobody keeps one who does
  // not see them. Those that come in behind all others have no such moment: rows that were read
  // without them are forgotten once everybody reads with them.
  for (auto& [family, view] : reserved) {
    if (job->info.sequence != 0) family->rows.ForgetAllBefore(job->info.sequence);
    family->InstallDurableView(versions_.families().at(family->id()).version, std::move(view));
  }
  // Nobody inserts, so that the number is the next after all that are visible.
  if (job->info.sequence != 0) leader_.Publish(job->info.sequence);
  for (ColumnFamilyState* family : job->distinct_families) family->rows.ForgetAll();
  for (ColumnFamilyState* family : job->distinct_families) leader_.LookForStall(family);
  return absl::OkStatus();
}

absl::Status DBImpl::CommitIngest(const IngestOptions& options, IngestJob* job) {
  // While writes go on, so that little or nothing is left to flush while they wait.
  if (!options.behind) {
    for (ColumnFamilyState* family : job->distinct_families) {
      const std::shared_ptr<const ReadView> view = family->views.Shared();
      bool has_key = job->HasKeyIn(*view->active, family);
      for (const auto& memtable : view->immutables) {
        has_key = has_key || job->HasKeyIn(*memtable, family);
      }
      if (!has_key) continue;
      job->info.flushed = true;
      WINNOW_RETURN_IF_ERROR(FlushMemtables(family));
    }
  }
  ExclusiveWrites writes(&write_queue_);
  DatabaseLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(PrepareForChange());
  for (const ColumnFamilyState* family : job->distinct_families) {
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));  // it may have been dropped meanwhile
  }
  if (!options.behind) {
    WINNOW_RETURN_IF_ERROR(FlushForIngest(job));
    WINNOW_RETURN_IF_ERROR(SyncLogsForIngest());
  }
  const NoCompactions none_begins(job->distinct_families, &scheduler_);
  // Decides what an edit before this one left open, and may give the mutex back.
  WINNOW_RETURN_IF_ERROR(versions_.Settle());
  VersionEdit edit;
  WINNOW_RETURN_IF_ERROR(ChooseLevels(options, job, &edit));
  return InstallIngested(std::move(edit), job);
}

void DBImpl::ReportIngest(const IngestJob& job, const absl::Status& status, SteadyTime begin) {
  if (status.ok()) {
    ThreadCounters& counters = recorder_.Local();
    counters.Add(Ticker::kIngestions);
    counters.Add(Ticker::kFilesIngested, job.tables.size());
    counters.Add(Ticker::kBytesIngested, job.info.bytes);
  }
  UnlessOutOfMemory([&] {
    Event event;
    event.kind = Event::Kind::kIngestEnd;
    event.status = status;
    event.num_inputs = job.tables.size();
    if (status.ok()) event.bytes_written = job.info.bytes;
    event.message = absl::StrCat("level ", absl::StrJoin(job.info.levels, ", "));
    event.duration = MicrosSince(begin);
    events_.Add(std::move(event));
  });
}

absl::StatusOr<IngestInfo> DBImpl::Ingest(const std::vector<IngestFile>& files,
                                          const IngestOptions& options) {
  return IngestInto(files, options, /*is_of_owner=*/false);
}

absl::StatusOr<IngestInfo> DBImpl::IngestAsOwner(const std::vector<IngestFile>& files,
                                                 const IngestOptions& options) {
  return IngestInto(files, options, /*is_of_owner=*/true);
}

absl::StatusOr<IngestInfo> DBImpl::IngestInto(const std::vector<IngestFile>& files,
                                              const IngestOptions& options, bool is_of_owner) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<IngestInfo> {
    WINNOW_RETURN_IF_ERROR(CheckWritable());
    const SteadyTime begin = SteadyNow();
    IngestJob job;
    WINNOW_RETURN_IF_ERROR(OpenIngested(files, options, &job));
    for (const ColumnFamilyState* const family : job.families) {
      if (family->is_reserved() && !is_of_owner) return family->ReservedError();
    }
    if (job.tables.empty()) return job.info;
    {
      // Close waits for it before the directory is unlocked, unless it has come so far already.
      DatabaseLock lock(&mutex_);
      if (!IsUsable()) return Unusable();
      copies_running_++;
    }
    const absl::Status status = CatchOutOfMemory([&] {
      WINNOW_RETURN_IF_ERROR(PlaceIngested(options, &job));
      return CommitIngest(options, &job);
    });
    if (!status.ok() && !job.is_handed_over) RemovePlaced(job);
    ReportIngest(job, status, begin);
    // After the edit is durable: a crash before it leaves the files where the caller has put them.
    if (status.ok() && options.move) {
      // A name that cannot be removed is one too many, and no reason to call this a failure.
      for (const ExternalSstable& table : job.tables) {
        UnlessOutOfMemory([&] { file_system_->Remove(table.path).IgnoreError(); });
      }
    }
    {
      DatabaseLock lock(&mutex_);
      copies_running_--;
      scheduler_.SignalProgress();
    }
    UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
    WINNOW_RETURN_IF_ERROR(status);
    return std::move(job.info);  // a copy might find no memory, and it is ingested
  });
}

absl::StatusOr<std::unique_ptr<SstWriter>> DBImpl::NewSstWriter(ColumnFamily* family,
                                                                const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<SstWriter>> {
    WINNOW_RETURN_IF_ERROR(CheckRead(family, ""));
    SstableBuilderOptions builder;
    {
      DatabaseLock lock(&mutex_);
      // By the settings of the last level, where most of what is loaded in bulk ends up.
      builder = Own(family)->BuilderOptions(Own(family)->options().compaction.last_level());
    }
    return CreateSstWriter(std::move(builder), Own(family)->shared_merge_operator(), path,
                           FileSystemOf(options_), Own(family)->ttl());
  });
}

}  // namespace winnow
