#include "engine/version/version_set.h"

#include <algorithm>
#include <unordered_map>

#include "absl/strings/str_cat.h"
#include "engine/base/checksum.h"
#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/log/log_reader.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

// A manifest that has outgrown its snapshot by this much is replaced by a new one.
constexpr uint64_t kManifestSlackBytes = uint64_t{4} << 20;

using LevelArray = std::array<Version::Files, kNumLevels>;

// Level 0 newest first; deeper levels by key.
void SortLevels(const InternalKeyComparator& comparator, LevelArray* levels) {
  std::sort((*levels)[0].begin(), (*levels)[0].end(), [](const auto& a, const auto& b) {
    if (a->metadata().largest_sequence != b->metadata().largest_sequence) {
      return a->metadata().largest_sequence > b->metadata().largest_sequence;
    }
    return a->number() > b->number();
  });
  for (size_t level = 1; level < levels->size(); level++) {
    std::sort((*levels)[level].begin(), (*levels)[level].end(), [&](const auto& a, const auto& b) {
      return comparator.Compare(a->metadata().smallest, b->metadata().smallest) < 0;
    });
  }
}

// A file that an edit names, and what the version before the edit has of it.
struct NamedFile {
  int deleted_from = -1;  // the level; -1: it is not deleted
  bool is_added = false;
  std::shared_ptr<SstableFile> file;  // null: not found there yet
};
using NamedFiles = std::unordered_map<uint64_t, NamedFile>;  // by number

NamedFiles FilesNamedBy(const FamilyEdit& change) {
  NamedFiles named;
  for (const FamilyEdit::DeletedFile& gone : change.deleted) {
    named[gone.number].deleted_from = gone.level;
  }
  for (const FamilyEdit::AddedFile& added : change.added) {
    named[added.file.number].is_added = true;
  }
  return named;
}

absl::Status CheckLevels(const InternalKeyComparator& comparator, const LevelArray& levels) {
  for (size_t level = 0; level < levels.size(); level++) {
    const Version::Files& files = levels[level];
    for (size_t i = 0; i < files.size(); i++) {
      if (comparator.Compare(files[i]->metadata().smallest, files[i]->metadata().largest) > 0) {
        return absl::InternalError(
            absl::StrCat("file ", files[i]->number(), " ends before it begins"));
      }
      if (level > 0 && i > 0 &&
          comparator.CompareUserKeys(files[i - 1]->largest_user_key(),
                                     files[i]->smallest_user_key()) >= 0) {
        return absl::InternalError(absl::StrCat("files ", files[i - 1]->number(), " and ",
                                                files[i]->number(), " of level ", level,
                                                " overlap"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

VersionSet::VersionSet(SstableStore store, Mutex* mutex)
    : store_(std::move(store)), mutex_(mutex) {}

void VersionSet::CreateNew(std::string_view comparator_name, const Comparator* comparator,
                           std::string_view filter, std::string_view filter_key) {
  hash_seed_ = RandomIdentity();
  FamilyRecord& family = families_[0];
  family.name = "default";
  family.comparator_name = comparator_name;
  family.comparator = comparator;
  family.filter = filter;
  family.filter_key = filter_key;
  family.version = std::make_shared<const Version>(InternalKeyComparator(comparator), LevelArray());
}

absl::Status VersionSet::ReadManifest(ListedFiles* files, std::optional<uint64_t> number) {
  if (number.has_value()) {
    manifest_number_ = *number;
  } else {
    WINNOW_ASSIGN_OR_RETURN(manifest_number_,
                            ReadCurrentFile(*store_.file_system, store_.directory));
  }
  const std::string path = ManifestFileName(store_.directory, manifest_number_);
  auto opened =
      LogReader::Open(*store_.file_system, path, manifest_number_, LogRecoveryMode::kStrict);
  if (absl::IsNotFound(opened.status())) {
    return CorruptionError(CurrentFileName(store_.directory),
                           absl::StrCat("names ", path, ", which does not exist"));
  }
  if (!opened.ok()) return opened.status();
  LogReader& reader = **opened;
  bool any = false;
  for (;;) {
    std::string_view record;
    uint64_t offset;
    WINNOW_ASSIGN_OR_RETURN(const bool more, reader.Read(&record, &offset));
    if (!more) break;
    auto edit = VersionEdit::Decode(record);
    if (absl::IsFailedPrecondition(edit.status())) return WithContext(edit.status(), path);
    if (!edit.ok()) return CorruptionError(path, offset, ToStd(edit.status().message()));
    if (absl::Status status = ApplyWhileReading(*edit, files); !status.ok()) {
      return CorruptionError(path, offset, ToStd(status.message()));
    }
    any = true;
  }
  if (!any) return CorruptionError(path, "holds no version edit");
  if (!families_.contains(0)) return CorruptionError(path, "has no default column family");
  was_closed_cleanly_ = reader.end().kind == LogEnd::Kind::kCleanClose;
  MarkFileNumberUsed(manifest_number_);
  return absl::OkStatus();
}

absl::Status VersionSet::ApplyWhileReading(const VersionEdit& edit, ListedFiles* files) {
  for (const FamilyEdit& change : edit.families) {
    if (!change.name.has_value() && !families_.contains(change.family_id)) {
      return absl::InternalError(absl::StrCat("column family ", change.family_id, " is unknown"));
    }
    auto& listed = (*files)[change.family_id];
    for (const FamilyEdit::DeletedFile& file : change.deleted) {
      if (listed.erase(file.number) == 0) {
        return absl::InternalError(absl::StrCat("file ", file.number, " is deleted but not there"));
      }
    }
    for (const FamilyEdit::AddedFile& file : change.added) {
      if (!listed.emplace(file.file.number, file).second) {
        return absl::InternalError(absl::StrCat("file ", file.file.number, " is added twice"));
      }
      MarkFileNumberUsed(file.file.number);
    }
    if (change.dropped) files->erase(change.family_id);
  }
  ApplyScalars(edit);
  return absl::OkStatus();
}

void VersionSet::ApplyScalars(const VersionEdit& edit) {
  if (edit.hash_seed) hash_seed_ = *edit.hash_seed;
  if (edit.next_file_number && *edit.next_file_number > 0) {
    MarkFileNumberUsed(*edit.next_file_number - 1);
  }
  if (edit.last_sequence) last_sequence_ = std::max(last_sequence_, *edit.last_sequence);
  if (edit.largest_family_id) {
    largest_family_id_ = std::max(largest_family_id_.load(), *edit.largest_family_id);
  }
  for (const FamilyEdit& change : edit.families) {
    if (change.dropped) {
      families_.erase(change.family_id);
      continue;
    }
    FamilyRecord& family = families_[change.family_id];
    family.id = change.family_id;
    if (change.name) family.name = *change.name;
    if (change.comparator) family.comparator_name = *change.comparator;
    if (change.filter) family.filter = *change.filter;
    if (change.filter_key) family.filter_key = *change.filter_key;
    if (change.log_number) family.log_number = std::max(family.log_number, *change.log_number);
  }
}

absl::Status VersionSet::ReadFamilies() {
  ListedFiles files;
  return ReadManifest(&files);
}

absl::Status VersionSet::Recover(const ComparatorFor& comparator_for,
                                 const FilterPolicyFor& filter_policy_for) {
  ListedFiles files;
  WINNOW_RETURN_IF_ERROR(ReadManifest(&files));
  for (auto& [id, family] : families_) {
    family.comparator = comparator_for(family.name, family.comparator_name);
    if (family.comparator == nullptr) continue;
    if (filter_policy_for != nullptr) family.filter_policy = filter_policy_for(family.name);
    WINNOW_RETURN_IF_ERROR(OpenListedFiles(&family, files[id]));
  }
  return absl::OkStatus();
}

absl::Status VersionSet::OpenListedFiles(FamilyRecord* family,
                                         const std::map<uint64_t, FamilyEdit::AddedFile>& files) {
  const InternalKeyComparator comparator(family->comparator);
  LevelArray levels;
  for (const auto& [number, added] : files) {
    std::shared_ptr<SstableFile> file =
        SstableFile::Open(store_, added.file, comparator, family->filter_policy);
    if (absl::IsNotFound(file->open_status())) {
      return CorruptionError(ManifestFileName(store_.directory, manifest_number_),
                             absl::StrCat("names ", SstableFileName(store_.directory, number),
                                          ", which does not exist"));
    }
    levels[static_cast<size_t>(added.level)].push_back(std::move(file));
  }
  SortLevels(comparator, &levels);
  if (absl::Status status = CheckLevels(comparator, levels); !status.ok()) {
    return CorruptionError(ManifestFileName(store_.directory, manifest_number_),
                           ToStd(status.message()));
  }
  family->version = std::make_shared<const Version>(comparator, std::move(levels));
  return absl::OkStatus();
}

FamilyRecord* VersionSet::FindFamily(std::string_view name) {
  for (auto& [id, family] : families_) {
    if (family.name == name) return &family;
  }
  return nullptr;
}

void VersionSet::MarkFileNumberUsed(uint64_t number) {
  uint64_t next = next_file_number_.load(std::memory_order_relaxed);
  while (next <= number &&
         !next_file_number_.compare_exchange_weak(next, number + 1, std::memory_order_relaxed)) {
  }
}

uint64_t VersionSet::OldestNeededLog() const {
  uint64_t oldest = UINT64_MAX;
  for (const auto& [id, family] : families_) oldest = std::min(oldest, family.log_number);
  return oldest;
}

std::set<uint64_t> VersionSet::LiveSstables() const {
  std::set<uint64_t> numbers;
  for (const auto& [id, family] : families_) {
    if (family.version == nullptr) continue;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : family.version->files(level)) numbers.insert(file->number());
    }
  }
  return numbers;
}

// Everything but the files.
VersionEdit VersionSet::DescribeFamilies() const {
  VersionEdit edit;
  edit.hash_seed = hash_seed_;
  edit.next_file_number = next_file_number_.load(std::memory_order_relaxed);
  edit.last_sequence = last_sequence_;
  edit.largest_family_id = largest_family_id_.load();
  for (const auto& [id, family] : families_) {
    FamilyEdit& change = edit.families.emplace_back();
    change.family_id = id;
    change.name = family.name;
    change.comparator = family.comparator_name;
    change.filter = family.filter;
    change.filter_key = family.filter_key;
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

absl::StatusOr<VersionEdit> VersionSet::ReadState(std::optional<uint64_t> number) {
  ListedFiles files;
  WINNOW_RETURN_IF_ERROR(ReadManifest(&files, number));
  VersionEdit edit = DescribeFamilies();
  for (FamilyEdit& change : edit.families) {
    for (const auto& [file_number, added] : files[change.family_id]) {
      change.added.push_back(added);
    }
  }
  return edit;
}

absl::Status VersionSet::WriteNewManifest(const std::string& snapshot, uint64_t number) {
  const std::string path = ManifestFileName(store_.directory, number);
  WINNOW_ASSIGN_OR_RETURN(
      std::unique_ptr<LogWriter> writer,
      LogWriter::Create(*store_.file_system, path, number, WritableFileOptions::Mode::kBuffered));
  WINNOW_RETURN_IF_ERROR(writer->Append(snapshot));
  WINNOW_RETURN_IF_ERROR(writer->Sync());
  // The manifest's name must be durable before CURRENT names it.
  WINNOW_RETURN_IF_ERROR(store_.file_system->SyncDirectory(store_.directory));
  WINNOW_RETURN_IF_ERROR(WriteCurrentFile(*store_.file_system, store_.directory, number));
  const uint64_t previous = manifest_number_;
  // CURRENT is durable and names the new one: how the old one closes matters no more.
  if (manifest_ != nullptr) manifest_->Close().IgnoreError();
  manifest_ = std::move(writer);
  manifest_number_ = number;
  manifest_snapshot_bytes_ = manifest_->size();
  manifest_bytes_written_ += manifest_->size();
  if (previous != 0) {
    // If this fails the next open removes it.
    store_.file_system->Remove(ManifestFileName(store_.directory, previous)).IgnoreError();
  }
  return absl::OkStatus();
}

absl::Status VersionSet::StartManifest() {
  const uint64_t number = NewFileNumber();
  std::string record;
  Snapshot().EncodeTo(&record);
  MutexUnlock unlock(mutex_);
  return WriteNewManifest(record, number);
}

absl::StatusOr<VersionSet::BuiltVersions> VersionSet::BuildVersions(const VersionEdit& edit) const {
  BuiltVersions built;
  for (const FamilyEdit& change : edit.families) {
    const auto family = families_.find(change.family_id);
    if (change.dropped || family == families_.end()) continue;  // new families: see LogAndApply
    if (change.added.empty() && change.deleted.empty()) continue;
    const Version& base = *family->second.version;
    BuiltVersion& result = built[change.family_id];
    NamedFiles named_files = FilesNamedBy(change);
    LevelArray levels;
    for (int level = 0; level < kNumLevels; level++) {
      for (const auto& file : base.files(level)) {
        const auto named = named_files.find(file->number());
        if (named != named_files.end()) named->second.file = file;
        if (named == named_files.end() || named->second.deleted_from != level) {
          levels[static_cast<size_t>(level)].push_back(file);
        } else if (!named->second.is_added) {
          result.replaced.push_back(file);
        }
      }
    }
    for (const FamilyEdit::AddedFile& added : change.added) {
      // A file that moves to another level keeps its reader.
      std::shared_ptr<SstableFile> file = named_files[added.file.number].file;
      if (file == nullptr) {
        file =
            SstableFile::Open(store_, added.file, base.comparator(), family->second.filter_policy);
      }
      if (!file->open_status().ok()) return file->open_status();
      levels[static_cast<size_t>(added.level)].push_back(std::move(file));
    }
    SortLevels(base.comparator(), &levels);
    WINNOW_RETURN_IF_ERROR(CheckLevels(base.comparator(), levels));
    result.version = std::make_shared<const Version>(base.comparator(), std::move(levels));
  }
  return built;
}

absl::Status VersionSet::AddReplayedSstables(uint32_t family_id,
                                             const std::vector<FileMetadata>& files) {
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family_id;
  for (const FileMetadata& file : files) change.added.push_back({0, file});
  WINNOW_ASSIGN_OR_RETURN(BuiltVersions built, BuildVersions(edit));
  for (auto& [id, result] : built) families_[id].version = std::move(result.version);
  return absl::OkStatus();
}

absl::Status VersionSet::WriteEdit(const std::string& record, const std::string* snapshot,
                                   uint64_t new_manifest_number) {
  // The tables' names must be durable before the manifest names them.
  WINNOW_RETURN_IF_ERROR(store_.file_system->SyncDirectory(store_.directory));
  if (snapshot != nullptr) {
    WINNOW_RETURN_IF_ERROR(WriteNewManifest(*snapshot, new_manifest_number));
  }
  WINNOW_RETURN_IF_ERROR(manifest_->Append(record));
  manifest_bytes_written_ += record.size();
  return manifest_->Sync();
}

absl::Status VersionSet::LogAndApply(VersionEdit edit) {
  while (manifest_busy_) manifest_idle_.Wait(mutex_);
  WINNOW_RETURN_IF_ERROR(manifest_error_);
  manifest_busy_ = true;
  // Families that were dropped while this edit waited: the manifest must not speak of them again.
  std::erase_if(edit.families, [&](const FamilyEdit& change) {
    return !change.name.has_value() && !families_.contains(change.family_id);
  });
  edit.next_file_number = next_file_number_.load(std::memory_order_relaxed);
  edit.last_sequence = last_sequence_;
  edit.largest_family_id = largest_family_id_.load();
  std::string record;
  edit.EncodeTo(&record);
  std::string snapshot;
  const bool roll = manifest_end_unknown_ ||
                    manifest_->size() > 2 * manifest_snapshot_bytes_ + kManifestSlackBytes;
  if (roll) Snapshot().EncodeTo(&snapshot);
  const uint64_t new_number = roll ? NewFileNumber() : 0;

  absl::StatusOr<BuiltVersions> built;
  absl::Status written;
  {
    // Only the thread that set manifest_busy_ changes families_ and the manifest, so both may be
    // read here without the lock.
    MutexUnlock unlock(mutex_);
    built = CatchOutOfMemory([&] { return BuildVersions(edit); });
    written = built.ok() ? CatchOutOfMemory([&] {
      return WriteEdit(record, roll ? &snapshot : nullptr, new_number);
    })
                         : built.status();
  }
  manifest_busy_ = false;
  manifest_idle_.SignalAll();
  if (!written.ok()) {
    // If the tables could not be opened nothing was written and the manifest is still sound.
    // With a full disk the edit may or may not be in the manifest. Both states are sound, since all
    // files of both are kept until another manifest has decided.
    if (built.ok() && absl::IsResourceExhausted(written)) {
      manifest_end_unknown_ = true;
    } else if (built.ok()) {
      manifest_error_ = written;
    }
    return written;
  }
  manifest_end_unknown_ = false;
  for (const FamilyEdit& change : edit.families) {
    const auto family = families_.find(change.family_id);
    if (family == families_.end()) continue;
    if (change.dropped) {
      for (int level = 0; level < kNumLevels; level++) {
        for (const auto& file : family->second.version->files(level)) file->MarkObsolete();
      }
    }
  }
  ApplyScalars(edit);
  for (auto& [id, result] : *built) {
    for (const auto& file : result.replaced) file->MarkObsolete();
    families_[id].version = std::move(result.version);
  }
  return absl::OkStatus();
}

absl::Status VersionSet::Close() {
  while (manifest_busy_) manifest_idle_.Wait(mutex_);
  if (manifest_ == nullptr) return absl::OkStatus();
  std::unique_ptr<LogWriter> manifest = std::move(manifest_);
  if (!manifest_error_.ok() || manifest_end_unknown_) return manifest->Close();
  return manifest->CloseCleanly();
}

}  // namespace winnow
