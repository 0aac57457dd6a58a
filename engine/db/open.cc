// Opening: options, lock, manifest, replay of the logs; and closing, listing, destroying.
#include <algorithm>
#include <set>

#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"
#include "engine/file_system/durable_files.h"
#include "engine/recovery/log_replay.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/write/exclusive_writes.h"
#include "engine/write/log_set.h"

namespace winnow {

namespace {

// A reader takes no lock: the process that has the database open may replace logs and tables while
// they are being opened here.
constexpr int kReadOnlyTries = 4;

SstableStore StoreFor(FileSystem* file_system, const std::string& path, BlockCache* cache) {
  return {file_system, path, static_cast<ShardedBlockCache*>(cache)};
}

// NotFound if the directory holds no database; InvalidArgument if the path is a file.
absl::Status CheckIsDatabase(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (exists) {
    WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(path));
    if (!is_directory) {
      return absl::InvalidArgumentError(absl::StrCat(path, " is a file, not a directory"));
    }
    WINNOW_ASSIGN_OR_RETURN(const bool has_current, file_system.Exists(CurrentFileName(path)));
    if (has_current) return absl::OkStatus();
  }
  return absl::NotFoundError(absl::StrCat(path, " holds no Winnow database"));
}

// True if something was written to this log, or that cannot be excluded.
absl::StatusOr<bool> LogHoldsWrites(FileSystem& file_system, const std::string& path,
                                    uint64_t number) {
  WINNOW_ASSIGN_OR_RETURN(
      const auto reader, LogReader::Open(file_system, path, number, LogRecoveryMode::kPointInTime));
  for (;;) {
    std::string_view payload;
    WINNOW_ASSIGN_OR_RETURN(const bool more, reader->Read(&payload));
    if (!more) return reader->end().kind == LogEnd::Kind::kDamaged;
    if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kLogStart)) return true;
  }
}

// A directory without CURRENT but with data has lost it: creating a database there would bury the
// data. What a crash leaves while a database is being created holds none.
absl::Status CheckNothingWouldBeBuried(FileSystem& file_system, const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (!exists) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system.List(path));
  std::string log_with_writes;
  for (const std::string& name : names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number)) continue;
    if (type == FileType::kSstable) {
      return CorruptionError(
          CurrentFileName(path),
          absl::StrCat("is missing, but there are SSTables (", name, " among them)"));
    }
    if (type != FileType::kLog) continue;
    WINNOW_ASSIGN_OR_RETURN(const bool has_writes,
                            LogHoldsWrites(file_system, absl::StrCat(path, "/", name), number));
    if (has_writes) log_with_writes = name;
  }
  if (!log_with_writes.empty()) {
    return CorruptionError(CurrentFileName(path),
                           absl::StrCat("is missing, but ", log_with_writes, " holds writes"));
  }
  return absl::OkStatus();
}

}  // namespace

DBImpl::DBImpl(const Options& options, std::string path)
    : options_(options),
      path_(std::move(path)),
      events_(options.listeners),
      observed_file_system_(FileSystemOf(options), path_, &events_),
      file_system_(&observed_file_system_),
      cache_(options.block_cache != nullptr ? options.block_cache
                                            : NewBlockCache(options.block_cache_bytes)),
      versions_(StoreFor(file_system_, path_, cache_.get()), &mutex_),
      logs_(file_system_, path_) {}

DBImpl::~DBImpl() { Close().IgnoreError(); }

absl::StatusOr<std::unique_ptr<DB>> DB::Open(const Options& options, const std::string& path) {
  WINNOW_RETURN_IF_ERROR(ValidateOptions(options));
  if (path.empty()) return absl::InvalidArgumentError("the database path is empty");
  for (int tries = options.read_only ? kReadOnlyTries : 1;; tries--) {
    std::unique_ptr<DBImpl> db;
    const absl::Status status = CatchOutOfMemory([&] {
      db = std::make_unique<DBImpl>(options, path);
      return db->OpenDatabase();
    });
    if (status.ok()) return std::unique_ptr<DB>(std::move(db));
    // Damage stays; a file that a writer removed meanwhile is not in its next manifest.
    if (tries <= 1 || !absl::IsDataLoss(status)) return status;
  }
}

absl::Status DBImpl::OpenDatabase() {
  const absl::Status status = CatchOutOfMemory([this] { return OpenFiles(); });
  if (!status.ok()) {
    closed_.store(true);
    events_.Stop();
    lock_.reset();
    return status;
  }
  StartEvents();
  if (!options_.read_only) StartBackgroundThreads();
  return absl::OkStatus();
}

absl::Status DBImpl::OpenFiles() {
  const absl::Status present = CheckIsDatabase(*file_system_, path_);
  if (!present.ok() && !absl::IsNotFound(present)) return present;
  if (present.ok() && options_.error_if_exists) {
    return absl::AlreadyExistsError(
        absl::StrCat(path_, " holds a database already (error_if_exists is set)"));
  }
  if (!present.ok()) {
    WINNOW_RETURN_IF_ERROR(CheckNothingWouldBeBuried(*file_system_, path_));
    if (!options_.create_if_missing || options_.read_only) return present;
    WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(*file_system_, path_));
  }
  if (!options_.read_only) {
    WINNOW_ASSIGN_OR_RETURN(lock_, file_system_->Lock(LockFileName(path_)));
  }
  if (present.ok()) {
    const auto comparator_for = [this](std::string_view family,
                                       std::string_view comparator_name) -> const Comparator* {
      const Comparator* given = OptionsForFamily(family).comparator;
      return given->Name() == comparator_name ? given : nullptr;
    };
    const auto filter_policy_for = [this](std::string_view family) {
      return OptionsForFamily(family).filter_policy;
    };
    WINNOW_RETURN_IF_ERROR(versions_.Recover(comparator_for, filter_policy_for));
  } else {
    const bool can_filter = options_.comparator->EqualKeysHaveEqualBytes();
    versions_.CreateNew(options_.comparator->Name(), options_.comparator,
                        can_filter ? kDefaultFilter : "none", kDefaultFilterKey);
    versions_.families()[0].filter_policy = options_.filter_policy;
  }
  for (const auto& [id, record] : versions_.families()) {
    WINNOW_RETURN_IF_ERROR(AddFamily(record, OptionsForFamily(record.name)));
  }
  for (const auto& [name, family_options] : options_.column_families) {
    if (versions_.FindFamily(name) == nullptr) {
      return absl::NotFoundError(absl::StrCat("column_families: there is no column family '", name,
                                              "' in ", path_,
                                              "; create it with "
                                              "CreateColumnFamily"));
    }
  }
  default_family_ = families_.at(0).get();
  return RecoverLogs();
}

const ColumnFamilyOptions& DBImpl::OptionsForFamily(std::string_view name) const {
  const auto named = options_.column_families.find(std::string(name));
  return named != options_.column_families.end() ? named->second : options_;
}

absl::Status DBImpl::AddFamily(const FamilyRecord& record, const ColumnFamilyOptions& options) {
  if (record.comparator == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", record.name, "' of ", path_,
                     " was written with comparator '", record.comparator_name,
                     "', but the options give '", ToAbsl(options.comparator->Name()), "'"));
  }
  auto family = std::make_unique<ColumnFamilyState>(record, options, versions_.hash_seed());
  // What the options leave open stays as recorded.
  const std::string& filter = options.filter.empty() ? record.filter : options.filter;
  const std::string& filter_key =
      options.filter_key.empty() ? record.filter_key : options.filter_key;
  if (absl::Status status = family->SetFilter(filter, filter_key); !status.ok()) {
    return WithContext(status, absl::StrCat("column family '", record.name, "'"));
  }
  FamilyRecord& stored = versions_.families()[record.id];
  stored.filter = filter;  // durable with the next manifest, which every open writes
  stored.filter_key = filter_key;
  family->SwitchMemtable(/*log_number=*/record.log_number);
  families_[record.id] = std::move(family);
  return absl::OkStatus();
}

absl::Status DBImpl::RecoverLogs() {
  LogReplay replay(options_, path_, file_system_, &versions_, &families_);
  replay.set_write_tables(!options_.read_only);
  WINNOW_RETURN_IF_ERROR(replay.Run());
  recovery_notes_ = replay.notes();
  allocated_sequence_ = replay.last_sequence();
  visible_sequence_.store(allocated_sequence_);
  for (const auto& [number, bytes] : replay.logs()) logs_.AddExisting(number, bytes);
  {
    MutexLock lock(&mutex_);
    versions_.set_last_sequence(std::max(versions_.last_sequence(), allocated_sequence_));
  }
  ThreadCounters& counters = recorder_.Local();
  for (const auto& [id, family] : families_) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family->version()->files(level)) {
        const bool damaged = file->reader() != nullptr &&
                             file->reader()->filter_state().code != filter::FilterStateCode::kOk;
        counters.Add(Ticker::kFiltersDamaged, damaged ? 1 : 0);
      }
    }
  }
  if (options_.read_only) return absl::OkStatus();
  return StartWriting(replay.num_tables_written());
}

absl::Status DBImpl::StartWriting(uint64_t num_replayed_tables) {
  const uint64_t log_number = versions_.NewFileNumber();
  WINNOW_RETURN_IF_ERROR(logs_.StartNew(log_number));
  MutexLock lock(&mutex_);
  for (const auto& [id, family] : families_) {
    versions_.families()[id].log_number = log_number;
    family->active = family->NewMemtable(log_number);
    family->immutables.clear();
    family->InstallView(versions_.families()[id].version);
  }
  // The new manifest names the replayed tables and the new log in one atomic step.
  versions_.AssertLocked();
  WINNOW_RETURN_IF_ERROR(versions_.StartManifest());
  RemoveOrphans();
  return absl::OkStatus();
}

void DBImpl::StartEvents() {
  std::unique_ptr<InfoLog> log;
  if (const size_t bytes = InfoLogBytesOf(options_); bytes > 0) {
    log = std::make_unique<InfoLog>(FileSystemOf(options_), path_, bytes, options_.info_log_files);
  }
  events_.Start(std::move(log));
  Event opened;
  opened.kind = Event::Kind::kDatabaseOpened;
  for (const std::string& note : recovery_notes_) {
    absl::StrAppend(&opened.message, opened.message.empty() ? "" : "\n", note);
  }
  events_.Add(std::move(opened));
  for (const auto& [id, family] : families_) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family->version()->files(level)) {
        if (file->reader() == nullptr) {
          events_.AddIfCorruption(file->open_status());
          continue;
        }
        const filter::FilterState& state = file->reader()->filter_state();
        if (state.code == filter::FilterStateCode::kOk) continue;
        Event degraded;
        degraded.kind = Event::Kind::kFilterDegraded;
        degraded.column_family = std::string(family->name());
        degraded.path = SstableFileName(path_, file->number());
        degraded.message = state.reason;
        events_.Add(std::move(degraded));
      }
    }
  }
}

void DBImpl::RemoveOrphans() {
  logs_.RemoveBefore(versions_.OldestNeededLog());
  const auto names = file_system_->List(path_);
  if (!names.ok()) return;
  const std::set<uint64_t> live = versions_.LiveSstables();
  // If something is missing, the manifest may be what lost its end: then it and the tables that it
  // does not know are all that a repair could start from.
  const bool keep = options_.recovery_mode == RecoveryMode::kSalvage && !recovery_notes_.empty();
  for (const std::string& name : *names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number)) continue;  // not ours: never touched
    const bool orphan = (type == FileType::kSstable && !live.contains(number)) ||
                        type == FileType::kTemporary ||
                        (type == FileType::kManifest && number != versions_.manifest_number()) ||
                        (type == FileType::kLog && number < versions_.OldestNeededLog());
    if (!orphan) continue;
    const std::string path = absl::StrCat(path_, "/", name);
    if (keep && (type == FileType::kSstable || type == FileType::kManifest)) {
      if (file_system_->Rename(path, path + ".orphan").ok()) {
        recovery_notes_.push_back(absl::StrCat(path, ": not in use, kept as ", path, ".orphan"));
      }
    } else {
      // What cannot be removed now is tried again by the next open.
      file_system_->Remove(path).IgnoreError();
    }
  }
  if (keep) file_system_->SyncDirectory(path_).IgnoreError();
}

absl::Status DBImpl::Close() {
  if (closed_.exchange(true)) return absl::OkStatus();
  // A listener may be in the middle of a call; those that it begins from now on are refused.
  events_.Drain();
  absl::Status status;
  if (!options_.read_only) {
    if (has_unlogged_writes_.load(std::memory_order_relaxed)) {
      for (const auto& [id, family] : families_) {
        if (!family->dropped.load()) status.Update(FlushMemtables(family.get()));
      }
    }
    StopBackgroundThreads();
    ExclusiveWrites writes(&write_queue_);  // writes in progress end first
    const absl::Status logs_closed = logs_.Close();
    status.Update(logs_closed);
    MutexLock lock(&mutex_);
    versions_.set_last_sequence(std::max(versions_.last_sequence(), allocated_sequence_));
    versions_.AssertLocked();
    // The last edit records which file numbers were ever used: the next open then knows which logs
    // must end with a marker.
    if (logs_closed.ok() && background_error_.ok() && log_error_.ok()) {
      status.Update(versions_.LogAndApply(VersionEdit()));
    }
    // A log that was given up has no marker at its end: the manifest must not say that all have.
    if (logs_closed.ok() && log_error_.ok()) status.Update(versions_.Close());
    status.Update(background_error_);
    status.Update(log_error_);
    status.Update(retry_.error);
  }
  for (const auto& [id, family] : families_) family->views.Reclaim();
  Event event;
  event.kind = Event::Kind::kDatabaseClosed;
  event.status = status;
  events_.Add(std::move(event));
  events_.Stop();
  lock_.reset();
  return status;
}

absl::StatusOr<std::vector<std::string>> DB::ListColumnFamilies(const Options& options,
                                                                const std::string& path) {
  FileSystem* file_system = FileSystemOf(options);
  WINNOW_RETURN_IF_ERROR(CheckIsDatabase(*file_system, path));
  Mutex mutex;
  VersionSet versions(StoreFor(file_system, path, nullptr), &mutex);
  WINNOW_RETURN_IF_ERROR(versions.ReadFamilies());
  std::vector<std::string> names;
  for (const auto& [id, family] : versions.families()) names.push_back(family.name);
  return names;
}

absl::Status DB::Destroy(const Options& options, const std::string& path) {
  FileSystem& file_system = *FileSystemOf(options);
  WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system.Exists(path));
  if (!exists) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const bool is_directory, file_system.IsDirectory(path));
  if (!is_directory) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is a file, not a directory"));
  }
  WINNOW_ASSIGN_OR_RETURN(std::vector<std::string> names, file_system.List(path));
  FileType type;
  uint64_t number;
  const bool any_ours = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    // Other stores have a LOG as well.
    return ParseFileName(name, &type, &number) && type != FileType::kInfoLog;
  });
  if (!any_ours) return absl::OkStatus();  // nothing of ours: touch nothing
  {
    WINNOW_ASSIGN_OR_RETURN(const auto lock, file_system.Lock(LockFileName(path)));
    // CURRENT first: from then on a crash leaves files, but no half-removed database. The lock file
    // last.
    std::stable_partition(names.begin(), names.end(),
                          [](const std::string& name) { return name == "CURRENT"; });
    for (const std::string& name : names) {
      if (!ParseFileName(name, &type, &number) || type == FileType::kLock) continue;
      WINNOW_RETURN_IF_ERROR(file_system.Remove(absl::StrCat(path, "/", name)));
    }
    WINNOW_RETURN_IF_ERROR(file_system.Remove(LockFileName(path)));
  }
  WINNOW_ASSIGN_OR_RETURN(const auto left, file_system.List(path));
  return left.empty() ? file_system.RemoveDirectory(path) : absl::OkStatus();
}

}  // namespace winnow
