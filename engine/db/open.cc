// Opening a database and closing it.
//
// Two promises meet here. Until Open has returned OK nothing has been changed that a later open
// could not do without; and a close that reports OK has left markers at the end of every log and of
// the manifest, so that whatever is missing later is damage and not the trace of a crash.
#include <string>
#include <utility>

#include "engine/base/database_closed.h"
#include "engine/base/ongoing_call.h"
#include "engine/base/status.h"
#include "engine/cache/block_cache.h"
#include "engine/db/database_directory.h"
#include "engine/db/database_opener.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"
#include "engine/file_system/file_system_of.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Without what families have, and with what stands for fields that are not set.
Options DatabaseFieldsOf(const Options& options, const BlockCache& cache) {
  Options fields = options;
  static_cast<ColumnFamilyOptions&>(fields) = {};
  fields.column_families.clear();
  fields.listeners.clear();
  fields.block_cache.reset();
  fields.block_cache_bytes = cache.capacity_bytes();
  fields.info_log_bytes = InfoLogBytesOf(options);
  return fields;
}

}  // namespace

// The parts get pointers to each other before all of them are constructed, and may only keep them:
// nothing runs and nothing is opened here.
DBImpl::DBImpl(const Options& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      events_(options.listeners),
      observed_file_system_(FileSystemOf(options), path_, &events_),
      open_files_(MaxOpenFilesOf(options_), options_.read_only ? OpenFileCache::Owner::kBesideWriter
                                                               : OpenFileCache::Owner::kAlone),
      yielding_file_system_(&observed_file_system_, &open_files_),
      file_system_(&yielding_file_system_),
      cache_(options.block_cache != nullptr ? options.block_cache
                                            : NewBlockCache(options.block_cache_bytes)),
      filter_ledger_(std::make_shared<FilterLedger>(options_.filter_memory_budget)),
      filter_budget_(filter_ledger_, options_.optimize_filters_for_hits),
      // Of descriptors, tables are to have the most.
      read_rings_(MaxOpenFilesOf(options_) / 32),
      row_cache_(options_.row_cache_bytes, static_cast<uint64_t>(options_.row_cache_ttl_seconds)),
      versions_({file_system_, path_, BlockCacheAccess::Sharded(*cache_), &open_files_,
                 options_.charge_filters_to_cache, options_.mmap_reads, filter_ledger_,
                 options_.optimize_filters_for_hits},
                &mutex_),
      logs_(file_system_, path_),
      families_(options_.db_write_buffer_bytes),
      database_options_(DatabaseFieldsOf(options_, *cache_)),
      live_options_(options_),
      scheduler_(&mutex_, &events_, &recorder_, [this] { leader_.RequestWork(); }),
      rate_limiter_(options_.background_bytes_per_second),
      leader_(LeaderParts()),
      jobs_(JobParts()),
      transactions_(std::make_shared<DatabaseTransactions>(PartsForTransactions())) {
  rate_limiter_.SetLoadSource([this] { return jobs_.LookAtLoad(); });
}

// Who wants the error calls Close; a database that goes out of scope has nobody to tell.
DBImpl::~DBImpl() { Close().IgnoreError(); }

void DBImpl::operator delete(DBImpl* db, std::destroying_delete_t) {
  if (!db->process_.IsThisOne()) {
    // Or the database would stay locked for as long as the child lives when the parent is killed.
    db->lock_.reset();
    return;
  }
  db->~DBImpl();
  ::operator delete(static_cast<void*>(db));
}

absl::Status DBImpl::Unusable() const {
  if (process_.IsThisOne()) return DatabaseClosedError();
  return absl::FailedPreconditionError(
      "the database belongs to the process that opened it, and this is a child made by fork");
}

WriteLeaderParts DBImpl::LeaderParts() {
  WriteLeaderParts parts;
  parts.options = &live_options_;
  parts.mutex = &mutex_;
  parts.queue = &write_queue_;
  parts.logs = &logs_;
  parts.versions = &versions_;
  parts.families = &families_;
  parts.scheduler = &scheduler_;
  parts.events = &events_;
  parts.recorder = &recorder_;
  parts.rate_limiter = &rate_limiter_;
  return parts;
}

DatabaseJobParts DBImpl::JobParts() {
  DatabaseJobParts parts;
  parts.options = &live_options_;
  parts.mutex = &mutex_;
  parts.versions = &versions_;
  parts.logs = &logs_;
  parts.lock_file = &lock_file_;
  parts.families = &families_;
  parts.snapshots = &snapshots_;
  parts.leader = &leader_;
  parts.scheduler = &scheduler_;
  parts.events = &events_;
  parts.rate_limiter = &rate_limiter_;
  parts.recorder = &recorder_;
  parts.row_cache = &row_cache_;
  parts.save_statistics = [this] {
    if (statistics_saver_.IsDue(SteadyNow())) SaveStatistics(/*is_closed=*/false);
  };
  parts.keep_filters = [this] { KeepFilters(FilterLoading::kInBackground); };
  parts.filter_budget = &filter_budget_;
  parts.plan_new_filters = [this]()
                               ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { PlanNewFilters(); };
  return parts;
}

// Options are checked once, here; everything behind relies on their ranges.
absl::StatusOr<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<DB>> {
    WINNOW_RETURN_IF_ERROR(ValidateOptions(options));
    if (path.empty()) return absl::InvalidArgumentError("the database path is empty");
    WINNOW_ASSIGN_OR_RETURN(const std::string lasting_path, LastingPath(options, path));
    std::unique_ptr<DBImpl> db;
    const auto open = [&](MissingFilterFile missing_filter_file) {
      // A fresh object for each try: a failed open leaves its parts half filled.
      return CatchOutOfMemory([&] {
        db = std::make_unique<DBImpl>(options, lasting_path);
        return db->OpenDatabase(missing_filter_file);
      });
    };
    const auto read = [&](MissingFilterFile missing_filter_file) {
      return ReadBesideWriter(*FileSystemOf(options), lasting_path,
                              [&] { return open(missing_filter_file); });
    };
    absl::Status status;
    if (!options.read_only) {
      status = open(MissingFilterFile::kIsDoneWithout);
    } else {
      // A filter file that a writer has replaced meanwhile is one of the newer state, which has the
      // table's filter elsewhere. One that stays missing is damage that a database opens with.
      status = read(MissingFilterFile::kIsDamage);
      if (IsCorruption(status)) status = read(MissingFilterFile::kIsDoneWithout);
    }
    if (!status.ok()) return status;
    return std::unique_ptr<DB>(std::move(db));
  });
}

// Threads start last, when there is nothing left that could fail but their own start.
absl::Status DBImpl::OpenDatabase(MissingFilterFile missing_filter_file) {
  const absl::Status status = CatchOutOfMemory([&] { return OpenFiles(missing_filter_file); });
  // The lock goes last, or another open could begin before this one has let go.
  if (!status.ok()) {
    closed_.store(true);
    events_.Stop();
    lock_.reset();
    return status;
  }
  // Without a thread for one of the two the object is destroyed, which closes what has been opened.
  WINNOW_RETURN_IF_ERROR(StartEvents());
  UnlessOutOfMemory([this] {
    ExpectLookups();
    // Nobody waits for anything else yet, and a reader has no thread that would go on with it.
    KeepFilters(FilterLoading::kAtOnce);
  });
  if (options_.read_only) return absl::OkStatus();
  return scheduler_.Start(options_.background_threads, &jobs_);
}

absl::Status DBImpl::OpenFiles(MissingFilterFile missing_filter_file) {
  DatabaseOpenerParts parts;
  parts.options = &options_;
  parts.path = path_;
  parts.file_system = file_system_;
  parts.mutex = &mutex_;
  parts.queue = &write_queue_;
  parts.versions = &versions_;
  parts.logs = &logs_;
  parts.families = &families_;
  parts.leader = &leader_;
  parts.missing_filter_file = missing_filter_file;
  // A database that has grown beyond its budget opens, with filters for as many files as there is
  // room for; a reader is not the one who decides.
  parts.plan_filters = [this](bool is_new_budget) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    PlanNewFilters();
    return is_new_budget && !options_.read_only ? CheckFilterBudget(options_.filter_memory_budget)
                                                : absl::OkStatus();
  };
  DatabaseOpener opener(parts);
  const absl::Status status = opener.Open();
  // On an error too: OpenDatabase decides when the lock goes.
  lock_ = opener.TakeLock();
  if (lock_ != nullptr) {
    lock_file_ = FileInPlace(*file_system_, LockFileName(path_), FileInPlace::Size::kAny);
  }
  recovery_notes_ = opener.notes();
  recovery_losses_ = opener.losses();
  default_family_ = families_.default_family();
  if (!status.ok()) return status;
  const absl::Status counted = statistics_saver_.Open(file_system_, path_, options_.read_only);
  if (!counted.ok()) {
    recovery_notes_.push_back(absl::StrCat(
        absl::IsDataLoss(counted) ? "statistics begin anew: "
                                  : "statistics are not saved before earlier ones can be read: ",
        counted.message()));
  }
  return absl::OkStatus();
}

// After recovery: a directory that is no database, or not this process's, gets no LOG. Events that
// were added before are delivered now. A damaged filter or table is no reason not to open: reads
// that need it say so, or go without the filter.
absl::Status DBImpl::StartEvents() {
  WINNOW_RETURN_IF_ERROR(events_.Start({FileSystemOf(options_), path_},
                                       {InfoLogBytesOf(options_), options_.info_log_files}));
  Event opened;
  opened.kind = Event::Kind::kDatabaseOpened;
  for (const std::string& note : recovery_notes_) {
    absl::StrAppend(&opened.message, opened.message.empty() ? "" : "\n", note);
  }
  events_.Add(std::move(opened));
  DatabaseLock lock(&mutex_);
  for (const auto& [id, family] : families_.live()) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family->version()->files(level)) {
        if (file->reader() == nullptr) {
          events_.AddIfCorruption(file->open_status());
          continue;
        }
        const auto report = [&, name = family->name()](std::string_view reason) {
          recorder_.Local().Add(Ticker::kFiltersDamaged);
          Event degraded;
          degraded.kind = Event::Kind::kFilterDegraded;
          degraded.column_family = std::string(name);
          degraded.path = SstableFileName(path_, file->number());
          degraded.message = reason;
          events_.Add(std::move(degraded));
        };
        const auto is_damaged = [](const filter::FilterState& state) {
          return state.code != filter::FilterStateCode::kOk;
        };
        const filter::FilterState& state = file->reader()->filter_state();
        if (!file->filter_file_status().ok()) {
          const absl::Status& refused = file->filter_file_status();
          const bool is_given_up = absl::IsDataLoss(refused) || absl::IsNotFound(refused);
          report(absl::StrCat(refused.message(), ": the table's own is asked",
                              is_given_up ? "" : " until an opening can read it"));
        } else if (is_damaged(state)) {
          report(state.reason);
        }
        const RangeFilterBlock* const range_filter = file->reader()->range_filter();
        if (range_filter != nullptr && is_damaged(range_filter->state())) {
          report(range_filter->state().reason);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status DBImpl::Close() {
  if (!process_.IsThisOne()) return CatchOutOfMemory([this] { return Unusable(); });
  // Closing waits for the end of all of these.
  if (OngoingCall::IsOf(&mutex_) || OngoingCall::IsOf(&jobs_) || OngoingCall::IsOf(&events_)) {
    return CatchOutOfMemory(
        [] { return absl::FailedPreconditionError("a callback of the database cannot close it"); });
  }
  // Another thread that is closing has it: when this one comes to it all is closed.
  MutexLock closing(&closing_);
  return closed_.exchange(true) ? absl::OkStatus() : CloseAll();
}

// The order: new calls are refused; listeners finish; files; views; the last event; the lock file.
// So the last thing that another process could see of this one is gone before it may open the
// database.
absl::Status DBImpl::CloseAll() {
  transactions_->Close();
  // A listener may be in the middle of a call; those that it begins from now on are refused.
  events_.Drain();
  if (trace_.is_on()) UnlessOutOfMemory([this] { trace_.End().IgnoreError(); });
  const absl::Status status = options_.read_only ? absl::OkStatus() : CloseFiles();
  // While the lock is held: later the file would be the next process's.
  if (!options_.read_only && lock_file_.Check(*file_system_).ok())
    SaveStatistics(/*is_closed=*/true);
  // Obsolete tables go while the lock is held: nothing is removed once another process may have
  // opened the database.
  UnlessOutOfMemory([this] { jobs_.ReleaseReplaced(); });
  Event event;
  event.kind = Event::Kind::kDatabaseClosed;
  event.status = status;
  events_.Add(std::move(event));
  events_.Stop();
  lock_.reset();
  return status;
}

// The steps, and why in this order:
//
//  1. Writes without log are refused, and memtables that no log holds are flushed, while there are
//     threads to do it. Logged ones are not: the next open replays them.
//  2. The threads stop, so that nothing appends to the manifest by itself any more.
//  3. The write queue is led: writes that joined before are done, and later ones are refused.
//  4. Every log gets its clean-close marker, older ones first.
//  5. The manifest gets its last edit, and at the very end its own marker. It says that all logs
//     had theirs, so that it must come after them: a crash in between leaves closed logs and an
//     open manifest, which claims too little; the other way round it would claim what may not be.
//
// Errors do not stop the closing, but the first is returned.
absl::Status DBImpl::CloseFiles() {
  absl::Status status;
  {
    DatabaseLock lock(&mutex_);
    leader_.EndDelays();
  }
  rate_limiter_.Stop();
  if (leader_.EndUnloggedWrites()) {
    status = CatchOutOfMemory([this] {
      std::vector<ColumnFamilyState*> families;
      {
        DatabaseLock lock(&mutex_);
        for (const auto& [id, family] : families_.live()) families.push_back(family);
      }
      absl::Status flushed;
      for (ColumnFamilyState* family : families) {
        if (!family->is_dropped()) flushed.Update(FlushMemtables(family));
      }
      return flushed;
    });
  }
  scheduler_.Stop();
  {
    // An ingestion that began before comes to lead, and could not if this thread led and waited for
    // it. None begins any more.
    DatabaseLock lock(&mutex_);
    while (copies_running_ > 0) scheduler_.WaitForProgress();
  }
  ExclusiveWrites writes(&write_queue_);  // writes in progress end first
  // Calls that passed their own check before closing began, and lead or compact only now, are
  // refused from here on; compactions on callers' threads, which were cancelled, must have ended.
  leader_.Stop();
  {
    DatabaseLock lock(&mutex_);
    // Copies too: once the directory is no longer locked, what they read may be replaced.
    while (jobs_.IsRunning() || copies_running_ > 0) scheduler_.WaitForProgress();
  }
  uint64_t oldest_log = 0;
  {
    DatabaseLock lock(&mutex_);
    oldest_log = versions_.OldestNeededLog();
  }
  bool logs_have_markers = false;
  status.Update(logs_.Close(oldest_log, &logs_have_markers));
  DatabaseLock lock(&mutex_);
  const BackgroundErrors& errors = scheduler_.errors();
  // The allocated number and not the visible one: those of failed writes may be in the log as well.
  versions_.RaiseLastSequence(leader_.allocated_sequence());
  // The last edit records which file numbers were ever used, and the newest log: the next open then
  // knows which logs must end with a marker, and up to which one they must be there. After a failed
  // sync no marker proves anything, and a log that was given up, or for whose marker there was no
  // room, has none: the manifest must not say that all have.
  if (logs_have_markers && errors.fatal().ok() && leader_.log_error().ok()) {
    status.Update(CatchOutOfMemory([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
      absl::Status ended;
      // Where LOCK is gone the manifest may be another process's.
      if (lock_file_.Check(*file_system_).ok()) ended = versions_.ReplaceLostManifest();
      VersionEdit last;
      if (logs_.current_number() != 0) last.newest_log = logs_.current_number();
      ended.Update(versions_.LogAndApply(std::move(last)));
      ended.Update(versions_.Close());
      return ended;
    }));
  }
  status.Update(errors.fatal());
  status.Update(leader_.log_error());
  status.Update(errors.retried(JobKind::kFlush));
  status.Update(errors.retried(JobKind::kCompaction));
  return status;
}

}  // namespace winnow
