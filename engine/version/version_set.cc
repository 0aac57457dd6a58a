#include "engine/version/version_set.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/database_closed.h"
#include "engine/base/status.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/level_files.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// A manifest that has outgrown its snapshot by this much is replaced by a new one, so that opening
// reads a bounded number of edits for each file that exists.
constexpr uint64_t kManifestSlackBytes = uint64_t{4} << 20;

void AppendFileNames(const FileMetadata& file, std::vector<std::string>* names) {
  names->push_back(SstableName(file.number));
  if (file.filter_file.number != 0) names->push_back(FilterName(file.filter_file.number));
}

// Takes no memory: entries of the one that the other lacks move over.
void UpdateOptions(OptionTexts* options, OptionTexts changed) {
  changed.merge(*options);
  *options = std::move(changed);
}

}  // namespace

// The turn to write the manifest. While it is held the database's mutex may be given back:
// `families_` stays as it is, since only the holder changes it.
class ABSL_SCOPED_LOCKABLE VersionSet::TurnHolder {
 public:
  // After WaitForTurn, without giving the mutex back in between.
  explicit TurnHolder(VersionSet* set)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(set->manifest_turn_) ABSL_NO_THREAD_SAFETY_ANALYSIS : set_(set) {
    set_->turn_taken_ = true;
  }
  // The mutex is held again by then: every scope that gives it back ends before the turn does.
  ~TurnHolder() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    set_->turn_taken_ = false;
    set_->turn_ended_.SignalAll();
  }
  TurnHolder(const TurnHolder&) = delete;
  TurnHolder& operator=(const TurnHolder&) = delete;

 private:
  VersionSet* const set_;
};

void VersionSet::WaitForTurn() {
  // The mutex is given back meanwhile: that the files which an edit names are still there
  // afterwards is for the caller to see to, by their flags.
  while (turn_taken_) turn_ended_.Wait(mutex_);
}

VersionSet::VersionSet(SstableStore store, DatabaseMutex* mutex)
    : shared_store_(std::make_shared<const SstableStore>(std::move(store))),
      store_(*shared_store_),
      mutex_(mutex) {}

// Takes memory for a family that is not there yet, and for nothing else.
void VersionSet::ApplyScalars(VersionEdit edit) {
  if (edit.hash_seed) hash_seed_ = *edit.hash_seed;
  // Numbers only grow: an edit may have been made out before one that was applied first, and carry
  // smaller ones.
  if (edit.next_file_number && *edit.next_file_number > 0) {
    MarkFileNumberUsed(*edit.next_file_number - 1);
  }
  if (edit.oldest_log) oldest_log_ = std::max(oldest_log_, *edit.oldest_log);
  if (edit.newest_log) newest_log_ = *edit.newest_log;
  if (edit.last_sequence) last_sequence_ = std::max(last_sequence_, *edit.last_sequence);
  if (edit.largest_family_id) {
    largest_family_id_ = std::max(largest_family_id_.load(), *edit.largest_family_id);
  }
  UpdateOptions(&database_options_, std::move(edit.options));
  for (FamilyEdit& change : edit.families) {
    if (change.dropped) {
      families_.erase(change.family_id);
      continue;
    }
    FamilyRecord& family = families_[change.family_id];
    family.id = change.family_id;
    if (change.name) {
      family.name = *std::move(change.name);
      // Whatever the recorded one says: an id that was given out again would overwrite the family.
      largest_family_id_ = std::max(largest_family_id_.load(), change.family_id);
    }
    if (change.comparator) family.comparator_name = *std::move(change.comparator);
    if (change.merge_operator) family.merge_operator_name = *std::move(change.merge_operator);
    if (change.filter) family.filter = *std::move(change.filter);
    if (change.filter_key) family.filter_key = *std::move(change.filter_key);
    if (change.ttl_seconds) family.ttl_seconds = *change.ttl_seconds;
    UpdateOptions(&family.options, std::move(change.options));
    if (change.log_number) family.log_number = std::max(family.log_number, *change.log_number);
  }
}

void VersionSet::CreateNew(FamilyRecord family) {
  // Random, so that nobody can choose keys beforehand that the filters of this database let
  // through.
  hash_seed_ = RandomIdentity();
  family.id = 0;
  family.name = "default";
  family.comparator_name = std::string(family.comparator->Name());
  family.version =
      std::make_shared<const Version>(InternalKeyComparator(family.comparator), LevelFiles());
  families_[0] = std::move(family);
}

const FamilyRecord* VersionSet::FindFamily(std::string_view name) const {
  for (const auto& [id, family] : families_) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

void VersionSet::SetFilter(uint32_t family_id, std::string filter, std::string filter_key) {
  FamilyRecord& family = families_[family_id];
  family.filter = std::move(filter);
  family.filter_key = std::move(filter_key);
}

void VersionSet::SetMergeOperator(uint32_t family_id, std::string name) {
  families_[family_id].merge_operator_name = std::move(name);
}

void VersionSet::SetTtl(uint32_t family_id, uint64_t seconds) {
  families_[family_id].ttl_seconds = seconds;
}

void VersionSet::SetOptions(uint32_t family_id, OptionTexts options) {
  families_[family_id].options = std::move(options);
}

void VersionSet::SetDatabaseOptions(OptionTexts options) { database_options_ = std::move(options); }

void VersionSet::RaiseLastSequence(SequenceNumber sequence) {
  last_sequence_ = std::max(last_sequence_, sequence);
}

void VersionSet::MarkFileNumberUsed(uint64_t number) {
  uint64_t next = next_file_number_.load(std::memory_order_relaxed);
  // A maximum by compare-and-swap, since numbers are given out without the mutex. On a failure
  // `next` is the counter's present value.
  while (next <= number &&
         !next_file_number_.compare_exchange_weak(next, number + 1, std::memory_order_relaxed)) {
  }
}

// A family that is not written to keeps the log number of its last flush, and needs none of the
// logs since: the number of the whole database is the one that moves on. Where all families have
// been flushed one by one, theirs say more.
uint64_t VersionSet::OldestNeededLog() const {
  uint64_t oldest = UINT64_MAX;
  for (const auto& [id, family] : families_) oldest = std::min(oldest, family.log_number);
  return std::max(oldest, oldest_log_);
}

void VersionSet::ForEachSstable(absl::FunctionRef<void(const SstableFile&)> visit) const {
  for (const auto& [id, family] : families_) {
    if (family.version == nullptr) continue;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family.version->files(level)) visit(*file);
    }
  }
}

std::set<uint64_t> VersionSet::LiveSstables() const {
  std::set<uint64_t> numbers;
  ForEachSstable([&](const SstableFile& file) { numbers.insert(file.number()); });
  return numbers;
}

std::set<uint64_t> VersionSet::LiveFilterFiles() const {
  std::set<uint64_t> numbers;
  ForEachSstable([&](const SstableFile& file) {
    // Without those that were given up as damaged, which nothing needs any more.
    const uint64_t number = file.metadata().filter_file.number;
    if (number != 0) numbers.insert(number);
  });
  return numbers;
}

std::vector<KnownSstable> VersionSet::UnopenedSstables() const {
  std::vector<KnownSstable> unopened;
  ForEachSstable([&](const SstableFile& file) {
    const FileMetadata& table = file.metadata();
    if (file.reader() == nullptr) unopened.push_back({table.file_id, table.file_bytes, false});
  });
  return unopened;
}

// Everything but the files.
VersionEdit VersionSet::DescribeFamilies() const {
  VersionEdit edit;
  edit.hash_seed = hash_seed_;
  edit.next_file_number = next_file_number_.load(std::memory_order_relaxed);
  edit.last_sequence = last_sequence_;
  edit.largest_family_id = largest_family_id_.load();
  edit.oldest_log = oldest_log_;
  edit.options = database_options_;
  for (const auto& [id, family] : families_) {
    FamilyEdit& change = edit.families.emplace_back();
    change.family_id = id;
    change.name = family.name;
    change.comparator = family.comparator_name;
    if (!family.merge_operator_name.empty()) change.merge_operator = family.merge_operator_name;
    change.filter = family.filter;
    change.filter_key = family.filter_key;
    if (family.ttl_seconds != 0) change.ttl_seconds = family.ttl_seconds;
    change.options = family.options;
    change.log_number = family.log_number;
  }
  return edit;
}

VersionEdit VersionSet::Snapshot() const {
  VersionEdit edit = DescribeFamilies();
  for (FamilyEdit& change : edit.families) {
    const Version& version = *families_.at(change.family_id).version;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : version.files(level)) {
        change.added.push_back({level, file->metadata()});
      }
    }
  }
  return edit;
}

absl::StatusOr<std::unique_ptr<LogWriter>> VersionSet::CreateManifest(const std::string& path,
                                                                      const std::string& snapshot,
                                                                      uint64_t number) const {
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<LogWriter> writer,
                          LogWriter::Create(*store_.file_system, path, {number, hash_seed_},
                                            WritableFileOptions::Mode::kBuffered));
  // One record: with less than the whole state a manifest would be that of another database.
  WINNOW_RETURN_IF_ERROR(writer->Append(snapshot));
  WINNOW_RETURN_IF_ERROR(writer->Sync());
  // The manifest's name must be durable before CURRENT names it.
  WINNOW_RETURN_IF_ERROR(store_.file_system->SyncDirectory(store_.directory));
  return writer;
}

absl::Status VersionSet::WriteNewManifest(const std::string& snapshot, uint64_t number) {
  const std::string path = ManifestFileName(store_.directory, number);
  auto writer = CatchOutOfMemory([&] { return CreateManifest(path, snapshot, number); });
  if (!writer.ok()) {
    // Each try has a number of its own: on a full disk what they leave would take all space that
    // comes free. Once CURRENT is being written it may name the file.
    store_.file_system->Remove(path).IgnoreError();
    return writer.status();
  }
  WINNOW_RETURN_IF_ERROR(WriteCurrentFile(*store_.file_system, store_.directory, number));
  // From here on the new one is in force, whatever happens to what is left to do.
  const uint64_t previous = manifest_number_.exchange(number, std::memory_order_relaxed);
  // CURRENT is durable and names the new one: how the old one closes matters no more.
  if (manifest_ != nullptr) manifest_->Close().IgnoreError();
  manifest_ = *std::move(writer);
  // What the next replacement is measured by: edits may take as much again, and the slack.
  manifest_snapshot_bytes_ = manifest_->size();
  manifest_file_ = FileInPlace();  // without memory the new one is not watched
  current_file_ = FileInPlace();
  UnlessOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_turn_) {
    manifest_file_ = FileInPlace(*store_.file_system, path, FileInPlace::Size::kOnlyGrows);
    current_file_ = FileInPlace(*store_.file_system, CurrentFileName(store_.directory),
                                FileInPlace::Size::kOnlyGrows);
  });
  if (previous != 0) {
    // If this fails the next open removes it.
    store_.file_system->Remove(ManifestFileName(store_.directory, previous)).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status VersionSet::StartManifest(uint64_t log_number) {
  WaitForTurn();
  TurnHolder turn(this);
  // What older logs held is in tables by now, which this manifest is the first to name.
  for (auto& [id, family] : families_) family.log_number = log_number;
  oldest_log_ = log_number;
  // Before the snapshot, whose next file number is then above it.
  const uint64_t number = NewFileNumber();
  std::string record;
  Snapshot().EncodeTo(&record);
  DatabaseUnlock unlock(mutex_);
  return WriteNewManifest(record, number);
}

absl::Status VersionSet::WriteEdit(const std::string& record, const std::string* snapshot,
                                   uint64_t new_manifest_number) {
  // The tables' names must be durable before the manifest names them.
  WINNOW_RETURN_IF_ERROR(store_.file_system->SyncDirectory(store_.directory));
  if (snapshot != nullptr) {
    WINNOW_RETURN_IF_ERROR(WriteNewManifest(*snapshot, new_manifest_number));
  }
  // Until this is synced the new manifest, if one was begun, says what the old one did.
  WINNOW_RETURN_IF_ERROR(manifest_->Append(record));
  return manifest_->Sync();
}

// The order is what makes an edit atomic:
//  1. under the mutex, with the turn: the record is encoded, on top of what all earlier edits left;
//  2. without the mutex: new files are opened and the new versions built, which may fail and then
//     has changed nothing; the directory is synced, the record appended and synced. From here on
//     the edit is durable;
//  3. under the mutex again: versions and records change, and replaced files are marked obsolete,
//     to be removed with the last version that holds them.
// A crash before the end of 2 leaves the old state and orphans that the next open removes; after
// it, the new state.
absl::Status VersionSet::LogAndApply(VersionEdit edit) {
  WaitForTurn();
  TurnHolder turn(this);
  WINNOW_RETURN_IF_ERROR(manifest_error_);
  if (manifest_ == nullptr) return DatabaseClosedError();
  // Families that were dropped while this edit waited: the manifest must not speak of them again.
  std::erase_if(edit.families,
                [&](const FamilyEdit& change) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
                  return !change.name.has_value() && !families_.contains(change.family_id);
                });
  // With the turn: files come to level 0 in the order in which their edits are applied.
  GiveEpochNumbers(&edit);
  edit.next_file_number = next_file_number_.load(std::memory_order_relaxed);
  // With every edit: the logs that it lets go were the only other place that knew how far numbers
  // had been given out.
  edit.last_sequence = last_sequence_;
  edit.largest_family_id = largest_family_id_.load();
  std::string record;
  std::string snapshot;
  const bool roll = manifest_end_unknown_ ||
                    manifest_->size() > 2 * manifest_snapshot_bytes_ + kManifestSlackBytes;
  const uint64_t new_number = roll ? NewFileNumber() : 0;
  BaseVersions bases;
  Families created;
  absl::StatusOr<BuiltVersions> built = OutOfMemory();  // until they are
  absl::Status written = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    edit.EncodeTo(&record);
    // O(files) under the mutex, which is why it waits until the manifest has doubled. The state
    // before the edit, which follows as the second record.
    if (roll) Snapshot().EncodeTo(&snapshot);
    // They stay the families' present versions until Install, since only the holder of the turn
    // changes those.
    bases = BasesOf(edit);
    // Once the edit is durable nothing may fail: what memory the families take is taken here.
    for (const FamilyEdit& change : edit.families) {
      if (!change.dropped && !families_.contains(change.family_id)) created[change.family_id];
    }
    return absl::OkStatus();
  });
  if (written.ok()) {
    DatabaseUnlock unlock(mutex_);
    built = CatchOutOfMemory([&] { return BuildVersions(edit, bases); });
    written = built.status();
    if (built.ok()) {
      written = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_turn_) {
        return WriteEdit(record, roll ? &snapshot : nullptr, new_number);
      });
    }
  }
  if (!written.ok()) {
    // If there was no memory, or the tables could not be opened, nothing was written and the
    // manifest is still sound. Their job is tried again with new files: these would pile up.
    if (!built.ok()) {
      UnlessOutOfMemory(
          [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { RemoveFiles(FilesNewWith(edit)); });
    }
    // With a full disk the edit may or may not be in the manifest. Both states are sound, since all
    // files of both are kept until another manifest has decided.
    if (built.ok() && absl::IsResourceExhausted(written)) {
      manifest_end_unknown_ = true;
      for (std::string& name : FilesNewWith(edit)) undecided_files_.push_back(std::move(name));
    } else if (built.ok()) {
      manifest_error_ = written;
    }
    return written;
  }
  manifest_end_unknown_ = false;
  // Moves nodes, and takes no memory. What ApplyScalars finds there it need not make.
  families_.merge(created);
  Install(std::move(edit), *std::move(built));
  UnlessOutOfMemory([this]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_turn_, database_mutex) {
    RemoveUndecidedFiles();
  });
  return absl::OkStatus();
}

absl::Status VersionSet::Settle() {
  return manifest_end_unknown_ ? LogAndApply(VersionEdit()) : absl::OkStatus();
}

// Called once the present manifest is known from its beginning to its end.
void VersionSet::RemoveUndecidedFiles() {
  if (undecided_files_.empty()) return;
  RemoveFiles(std::exchange(undecided_files_, {}));
}

// Asked while the families are as they were before the edit: later on, one of them may have been
// dropped whose files iterators still read.
std::vector<std::string> VersionSet::FilesNewWith(const VersionEdit& edit) const {
  std::vector<std::string> names;
  for (const FamilyEdit& change : edit.families) {
    for (const FamilyEdit::AddedFile& added : change.added) AppendFileNames(added.file, &names);
  }
  if (names.empty()) return names;
  std::set<std::string> live;
  ForEachSstable([&](const SstableFile& file) {
    std::vector<std::string> in_use;
    AppendFileNames(file.metadata(), &in_use);
    live.insert(in_use.begin(), in_use.end());
  });
  std::erase_if(names, [&](const std::string& name) { return live.contains(name); });
  return names;
}

void VersionSet::RemoveFiles(const std::vector<std::string>& names) {
  // The turn is still held: no edit can make one of them live meanwhile.
  DatabaseUnlock unlock(mutex_);
  for (const std::string& name : names) {
    // What cannot be removed is removed by the next open.
    store_.file_system->Remove(absl::StrCat(store_.directory, "/", name)).IgnoreError();
  }
}

void VersionSet::Install(VersionEdit edit, BuiltVersions built) {
  for (const FamilyEdit& change : edit.families) {
    // Before ApplyScalars, which erases the record: for a family that goes, no new version tells
    // which files it replaces.
    const auto family = families_.find(change.family_id);
    if (family == families_.end() || !change.dropped) continue;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family->second.version->files(level)) file->MarkObsolete();
    }
  }
  ApplyScalars(std::move(edit));
  for (auto& [id, result] : built) {
    for (const auto& file : result.replaced) file->MarkObsolete();
    // Before the new version can be seen: a quarantine must not be lost in between.
    for (auto& [before, after] : result.refiltered) before->MarkRefiltered(std::move(after));
    families_[id].version = std::move(result.version);
  }
}

absl::Status VersionSet::LogAndCreateFamily(VersionEdit edit, const FamilyRecord& created) {
  WINNOW_RETURN_IF_ERROR(LogAndApply(std::move(edit)));
  // The mutex may have been given back since the family was installed, when undecided files were
  // removed: until here it has no version, and ForEachSstable passes over it.
  FamilyRecord& stored = families_[created.id];
  stored.comparator = created.comparator;
  stored.filter_policy = created.filter_policy;
  stored.version = created.version;
  return absl::OkStatus();
}

absl::Status VersionSet::ReplaceLostManifest() {
  {
    WaitForTurn();
    TurnHolder turn(this);
    if (manifest_ == nullptr) return absl::OkStatus();
    bool in_place;
    {
      DatabaseUnlock unlock(mutex_);
      // Any error counts: what cannot be looked at is replaced as well, which costs one manifest.
      in_place = manifest_file_.Check(*store_.file_system).ok() &&
                 current_file_.Check(*store_.file_system).ok();
    }
    if (in_place) return absl::OkStatus();
    // As after an edit that may be in the manifest or not: another manifest decides.
    manifest_end_unknown_ = true;
  }
  return Settle();
}

absl::Status VersionSet::Close() {
  WaitForTurn();
  TurnHolder turn(this);
  if (manifest_ == nullptr) return absl::OkStatus();
  const std::unique_ptr<LogWriter> manifest = std::move(manifest_);
  // A marker behind a record that may be torn would itself be damage; without one the next opening
  // takes the end for that of a crash.
  if (!manifest_error_.ok() || manifest_end_unknown_) return manifest->Close();
  return manifest->CloseCleanly();
}

}  // namespace winnow
