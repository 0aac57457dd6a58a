// The order of an open, and what a crash after each step leaves:
//
//  1. The directory: perhaps an empty one. An existing database is only looked at.
//  2. The lock file: a file without meaning by itself; the system lets go of a dead process's lock.
//     Then the directory is looked at again: others may have created a database, or destroyed it.
//  3. The manifest is read. A new database exists in memory only.
//  4. The logs are replayed into new tables, which no manifest names: orphans. The logs stay.
//  5. A new log: empty, and newer than all that the old manifest knows; the next open finds no
//     batch in it.
//  6. A new manifest, and CURRENT names it: the one step that counts. Before it, the next open
//     starts from the old manifest and replays the same logs; after it, from the new tables.
//  7. What nothing needs any more is removed, as far as possible; the next open removes the rest.
#include "engine/db/database_opener.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/db/database_directory.h"
#include "engine/db/option_checks.h"
#include "engine/db/recorded_options.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/file_system/durable_files.h"
#include "engine/recovery/log_replay.h"
#include "engine/recovery/orphaned_sequences.h"
#include "engine/recovery/set_aside.h"
#include "engine/sstable/sstable_frame.h"
#include "engine/version/file_names.h"
#include "winnow/merge_operator.h"

namespace winnow {

namespace {

// Whether what the file holds is one of these tables, whatever its name. In doubt it is.
bool IsOneOf(FileSystem& file_system, const std::string& path,
             std::span<const KnownSstable> tables) {
  if (tables.empty()) return false;
  const auto file = file_system.OpenRandomAccess(path);
  if (!file.ok()) return !absl::IsNotFound(file.status());
  const absl::StatusOr<SstableFrame> frame = FindSstableFrame(**file, path, tables);
  if (!frame.ok()) return true;
  return std::any_of(tables.begin(), tables.end(),
                     [&](const KnownSstable& table) { return table.file_id == frame->file_id; });
}

// Or neither has one.
bool HaveEqualText(const OptionTexts& a, const OptionTexts& b, const std::string& name) {
  const auto of_a = a.find(name);
  const auto of_b = b.find(name);
  if (of_a == a.end() || of_b == b.end()) return of_a == a.end() && of_b == b.end();
  return of_a->second == of_b->second;
}

}  // namespace

absl::Status DatabaseOpener::Open() {
  bool exists = false;
  // Before the manifest and the logs are read, which another process might be changing.
  WINNOW_RETURN_IF_ERROR(parts_.options->read_only ? LookAtDirectory(&exists)
                                                   : LockDirectory(&exists));
  // Nobody else leads writes or wants the mutex yet: both are held throughout, I/O included.
  ExclusiveWrites writes(parts_.queue);
  DatabaseLock lock(parts_.mutex);
  WINNOW_RETURN_IF_ERROR(ReadOrCreateState(exists));
  parts_.logs->set_database_id(parts_.versions->hash_seed());
  const OptionTexts recorded = parts_.versions->database_options();
  WINNOW_RETURN_IF_ERROR(AddFamilies());
  const bool is_new_budget =
      !HaveEqualText(recorded, parts_.versions->database_options(), "filter_memory_budget");
  WINNOW_RETURN_IF_ERROR(parts_.plan_filters(is_new_budget));
  WINNOW_RETURN_IF_ERROR(ReplayLogs());
  return parts_.options->read_only ? absl::OkStatus() : StartWriting();
}

// Until the lock is held another process may create the database, or destroy it, its directory
// included: only the look after that counts. The one before it leaves a directory that no database
// is to be created in as it is.
absl::Status DatabaseOpener::LockDirectory(bool* exists) {
  WINNOW_ASSIGN_OR_RETURN(lock_, LockPrepared(*parts_.file_system, LockFileName(parts_.path),
                                              [&] { return PrepareDirectory(exists); }));
  return LookAtDirectory(exists);
}

absl::Status DatabaseOpener::PrepareDirectory(bool* exists) {
  absl::Status look = LookAtDirectory(exists);
  // Data without CURRENT may be a database that is being created or destroyed, by the holder of the
  // lock: then it is looked at again later. LOCK is the last file to go.
  if (absl::IsDataLoss(look)) {
    WINNOW_ASSIGN_OR_RETURN(const bool has_lock_file,
                            parts_.file_system->Exists(LockFileName(parts_.path)));
    if (has_lock_file) return absl::OkStatus();
    look = LookAtDirectory(exists);  // it may just have gone
  }
  WINNOW_RETURN_IF_ERROR(look);
  return *exists ? absl::OkStatus() : CreateDirectoryDurably(*parts_.file_system, parts_.path);
}

absl::Status DatabaseOpener::LookAtDirectory(bool* exists) {
  const Options& options = *parts_.options;
  const absl::Status present = CheckIsDatabase(*parts_.file_system, parts_.path);
  if (!present.ok() && !absl::IsNotFound(present)) return present;
  *exists = present.ok();
  if (*exists) {
    if (!options.error_if_exists) return absl::OkStatus();
    return absl::AlreadyExistsError(
        absl::StrCat(parts_.path, " holds a database already (error_if_exists is set)"));
  }
  // Whether or not a database may be created: who has lost CURRENT should hear of the loss and not
  // that there is no database.
  WINNOW_RETURN_IF_ERROR(CheckNothingWouldBeBuried(*parts_.file_system, parts_.path));
  return options.create_if_missing && !options.read_only ? absl::OkStatus() : present;
}

// A comparator is matched by its name, which the manifest records. A mismatch is no error of the
// reading: AddFamily refuses it, with both names.
absl::Status DatabaseOpener::ReadOrCreateState(bool exists) {
  if (exists) {
    const auto comparator_for = [this](std::string_view family,
                                       std::string_view comparator_name) -> const Comparator* {
      const Comparator* given = OptionsForFamily(family).comparator;
      return given->Name() == comparator_name ? given : nullptr;
    };
    const auto filter_policy_for = [this](std::string_view family) {
      return OptionsForFamily(family).filter_policy;
    };
    return parts_.versions->Recover(comparator_for, filter_policy_for, parts_.missing_filter_file);
  }
  // The default filter only where filtering is possible, so that options that name none always
  // open.
  FamilyRecord default_family;
  default_family.comparator = parts_.options->comparator;
  const bool can_filter = default_family.comparator->EqualKeysHaveEqualBytes();
  default_family.filter = can_filter ? kDefaultFilter : "none";
  default_family.filter_key = kDefaultFilterKey;
  default_family.filter_policy = parts_.options->filter_policy;
  parts_.versions->CreateNew(std::move(default_family));
  return absl::OkStatus();
}

const ColumnFamilyOptions& DatabaseOpener::OptionsForFamily(std::string_view name) const {
  const auto named = parts_.options->column_families.find(std::string(name));
  return named != parts_.options->column_families.end() ? named->second : *parts_.options;
}

// All families of the manifest, named in the options or not: one that is left out would lose its
// part of the logs.
absl::Status DatabaseOpener::AddFamilies() {
  parts_.versions->SetDatabaseOptions(DatabaseOptionTexts(*parts_.options));
  inherited_texts_ = FamilyOptionTexts(*parts_.options);
  for (const auto& [id, record] : parts_.versions->families()) {
    WINNOW_RETURN_IF_ERROR(AddFamily(record, OptionsForFamily(record.name)));
  }
  // A slip in a name must not pass as a family with settings that nobody uses.
  for (const auto& [name, family_options] : parts_.options->column_families) {
    if (parts_.versions->FindFamily(name) == nullptr) {
      return absl::NotFoundError(absl::StrCat("column_families: there is no column family '", name,
                                              "' in ", parts_.path,
                                              "; create it with CreateColumnFamily"));
    }
  }
  return absl::OkStatus();
}

// A family that the options do not name has the fields of "default", of which this one is not meant
// for it unless it is recorded.
absl::Status DatabaseOpener::ChooseMergeOperator(const FamilyRecord& record,
                                                 ColumnFamilyOptions* options) {
  const std::string& recorded = record.merge_operator_name;
  const bool is_named = record.id == 0 || parts_.options->column_families.contains(record.name);
  const std::string given =
      options->merge_operator == nullptr ? "" : std::string(options->merge_operator->Name());
  if (!given.empty() && given == recorded) return absl::OkStatus();
  if (given.empty() || !is_named) {
    options->merge_operator = nullptr;
    if (recorded.empty()) return absl::OkStatus();
    if (auto built_in = ParseMergeOperator(recorded); built_in.ok()) {
      options->merge_operator = *std::move(built_in);
      return absl::OkStatus();
    }
    // What needs no merging can be read.
    if (parts_.options->read_only) return absl::OkStatus();
  } else if (recorded.empty()) {
    // Durable with the next manifest, and so before the first operand.
    parts_.versions->SetMergeOperator(record.id, given);
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrCat("column family '", record.name, "' of ", parts_.path,
                   " was written with merge operator '", recorded, "', but the options give ",
                   given.empty() ? "none" : absl::StrCat("'", given, "'")));
}

absl::Status DatabaseOpener::AddFamily(const FamilyRecord& record,
                                       const ColumnFamilyOptions& options) {
  if (record.comparator == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", record.name, "' of ", parts_.path,
                     " was written with comparator '", record.comparator_name,
                     "', but the options give '", ToAbsl(options.comparator->Name()), "'"));
  }
  ColumnFamilyOptions own_options = options;
  // Data does not begin to expire because another family's does.
  const bool is_named = parts_.options->column_families.contains(record.name);
  const bool is_meant = record.id == 0 || is_named;
  const uint64_t ttl_seconds =
      is_meant ? options.ttl_seconds.value_or(record.ttl_seconds) : record.ttl_seconds;
  if (ttl_seconds != 0) {
    // Another family's operator, likewise, is none of its.
    if (!is_meant) own_options.merge_operator = nullptr;
    if (own_options.merge_operator != nullptr || !record.merge_operator_name.empty()) {
      return MergesDoNotExpire(record.name);
    }
  }
  WINNOW_RETURN_IF_ERROR(ChooseMergeOperator(record, &own_options));
  auto family = std::make_unique<ColumnFamilyState>(record, std::move(own_options),
                                                    parts_.versions->hash_seed(),
                                                    parts_.families->write_buffers());
  // What the options leave open stays as recorded.
  // A budget takes the place of an amount that was recorded.
  const bool has_budget = parts_.options->filter_memory_budget != 0;
  const std::string recorded = has_budget ? FilterWithoutAmount(record.filter) : record.filter;
  const std::string filter = options.filter.empty() ? recorded : options.filter;
  const std::string filter_key =
      options.filter_key.empty() ? record.filter_key : options.filter_key;
  auto settings = family->ParseFilter(filter, filter_key);
  if (const absl::Status& status = settings.status(); !status.ok()) {
    return WithContext(status, absl::StrCat("column family '", record.name, "'"));
  }
  family->SetFilter(*std::move(settings));
  family->set_ttl(TimeToLiveOf(*parts_.options, ttl_seconds));
  // Durable with the next manifest, which every open for writing begins.
  parts_.versions->SetFilter(record.id, filter, filter_key);
  parts_.versions->SetTtl(record.id, ttl_seconds);
  parts_.versions->SetOptions(record.id, is_named ? FamilyOptionTexts(options) : inherited_texts_);
  // For the replay. A database open read-only keeps it.
  family->SwitchMemtable();
  parts_.families->Add(std::move(family));
  return absl::OkStatus();
}

absl::Status DatabaseOpener::ReplayLogs() {
  LogReplay replay(*parts_.options, parts_.path, parts_.file_system, parts_.versions,
                   parts_.families);
  replay.set_write_tables(!parts_.options->read_only);
  WINNOW_RETURN_IF_ERROR(replay.Run());
  notes_ = replay.notes();
  losses_ = replay.losses();
  // Above everything that was replayed or recorded: a number given out twice would make two
  // versions of a key equal. Above what is left out, too: a repair would take that for newer.
  SequenceNumber last_sequence = replay.last_sequence();
  if (KeepsOrphans()) {
    WINNOW_ASSIGN_OR_RETURN(
        const SequenceNumber orphaned,
        LargestOrphanedSequence(*parts_.file_system, parts_.path, parts_.versions->LiveSstables()));
    last_sequence = std::max(last_sequence, orphaned);
  }
  parts_.leader->StartAt(last_sequence);
  parts_.versions->RaiseLastSequence(last_sequence);
  for (const auto& [number, bytes] : replay.logs()) parts_.logs->AddExisting(number, bytes);
  return absl::OkStatus();
}

absl::Status DatabaseOpener::StartWriting() {
  const uint64_t log_number = parts_.versions->NewFileNumber();
  WINNOW_RETURN_IF_ERROR(parts_.logs->StartNew(log_number));
  WINNOW_RETURN_IF_ERROR(parts_.logs->SyncNames());  // before the manifest counts on it
  // Replay has written every memtable to tables, so that none of them needs a log any more.
  for (const auto& [id, family] : parts_.families->all()) {
    family->ReplaceActiveMemtable();
    family->ReleaseImmutables(family->immutables.size());
    family->InstallView(parts_.versions->families().at(id).version);
    parts_.leader->LookForStall(family.get());
  }
  // The new manifest names the replayed tables and the new log in one atomic step.
  WINNOW_RETURN_IF_ERROR(parts_.versions->StartManifest(log_number));
  // Only now: what the old manifest named was needed until CURRENT named another.
  RemoveOrphans();
  return absl::OkStatus();
}

// If something is missing, the manifest may be what lost its end: then it and the tables that it
// does not know are all that a repair could start from.
bool DatabaseOpener::KeepsOrphans() const {
  return parts_.options->recovery_mode == RecoveryMode::kSalvage && !parts_.options->read_only &&
         !notes_.empty();
}

// A table that cannot be opened has been lost, as far as anybody knows. What it holds was written
// to logs with smaller numbers, of which those that another family needed until now are still
// there.
void DatabaseOpener::KeepLogsOfUnopenedSstables(const std::vector<std::string>& names) {
  uint64_t newest_unopened = 0;
  for (const auto& [id, record] : parts_.versions->families()) {
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : record.version->files(level)) {
        if (file->reader() == nullptr) newest_unopened = std::max(newest_unopened, file->number());
      }
    }
  }
  const uint64_t end = std::min(newest_unopened, parts_.versions->OldestNeededLog());
  for (const std::string& name : names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number) || type != FileType::kLog || number >= end) continue;
    const std::string path = absl::StrCat(parts_.path, "/", name);
    if (IsDirectoryForFile(*parts_.file_system, path)) continue;
    const auto kept = LinkIntoLost(*parts_.file_system, parts_.path, name);
    if (!kept.ok()) continue;
    parts_.file_system->SyncDirectory(ParentDirectory(*kept)).IgnoreError();
    notes_.push_back(
        absl::StrCat(path, ": kept as ", *kept,
                     ", since it may hold what an SSTable that cannot be opened held"));
  }
}

// No error here fails the open: a file too many harms nothing, and the numbers of files are never
// used again.
void DatabaseOpener::RemoveOrphans() {
  const auto names = parts_.file_system->List(parts_.path);
  if (!names.ok()) return;
  KeepLogsOfUnopenedSstables(*names);
  parts_.logs->RemoveBefore(parts_.versions->OldestNeededLog());
  const std::set<uint64_t> live = parts_.versions->LiveSstables();
  const std::set<uint64_t> live_filters = parts_.versions->LiveFilterFiles();
  const bool keep_all = KeepsOrphans();
  bool has_kept = false;
  // Where names were mixed up, the file of a table that the manifest names may have another name.
  const std::vector<KnownSstable> unopened = parts_.versions->UnopenedSstables();
  for (const std::string& name : *names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number)) continue;  // not ours: never touched
    const bool orphan =
        (type == FileType::kSstable && !live.contains(number)) ||
        (type == FileType::kFilterFile && !live_filters.contains(number)) ||
        type == FileType::kTemporary ||
        (type == FileType::kManifest && number != parts_.versions->manifest_number()) ||
        (type == FileType::kLog && number < parts_.versions->OldestNeededLog());
    if (!orphan) continue;
    const std::string path = absl::StrCat(parts_.path, "/", name);
    if (IsDirectoryForFile(*parts_.file_system, path)) continue;
    const bool keep = type == FileType::kSstable
                          ? keep_all || IsOneOf(*parts_.file_system, path, unopened)
                          : keep_all && type == FileType::kManifest;
    if (keep) {
      has_kept = true;
      const std::string orphan_path = absl::StrCat(path, ToAbsl(kOrphanSuffix));
      if (parts_.file_system->Rename(path, orphan_path).ok()) {
        notes_.push_back(absl::StrCat(path, ": not in use, kept as ", orphan_path));
      }
    } else {
      // What cannot be removed now is tried again by the next open.
      parts_.file_system->Remove(path).IgnoreError();
    }
  }
  if (has_kept) parts_.file_system->SyncDirectory(parts_.path).IgnoreError();
}

}  // namespace winnow
