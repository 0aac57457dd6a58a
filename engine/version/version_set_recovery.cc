// Reading a manifest: the state that its edits, from the first to the last, add up to.
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/log/log_reader.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/level_files.h"
#include "engine/version/open_sstables.h"
#include "engine/version/version_set.h"

namespace winnow {

absl::Status VersionSet::ReadManifest(ListedFiles* files) {
  WINNOW_ASSIGN_OR_RETURN(const uint64_t number,
                          ReadCurrentFile(*store_.file_system, store_.directory));
  manifest_number_.store(number, std::memory_order_relaxed);
  const std::string path = ManifestFileName(store_.directory, number);
  // A torn tail is an edit that was not durable, and so was never visible. Any other damage is an
  // error: no edit means anything without those before it.
  auto opened = LogReader::Open(*store_.file_system, path, number, LogRecoveryMode::kStrict);
  // The file that is there is the one to be named: somebody has to look at it.
  if (absl::IsNotFound(opened.status())) {
    return CorruptionError(CurrentFileName(store_.directory),
                           absl::StrCat("names ", path, ", which is missing"));
  }
  if (!opened.ok()) return opened.status();
  WINNOW_RETURN_IF_ERROR(ReadEdits(opened->get(), path, files));
  WINNOW_RETURN_IF_ERROR(CheckIsState(path));
  // Known since the reader came to the end.
  was_closed_cleanly_ = (*opened)->end().kind == LogEnd::Kind::kCleanClose;
  // A manifest that was begun for an edit takes its number after the next file number had been
  // written down.
  MarkFileNumberUsed(number);
  return absl::OkStatus();
}

absl::Status VersionSet::ReadEdits(LogReader* manifest, const std::string& path,
                                   ListedFiles* files) {
  // A reader that passes over damage must not pass over an edit.
  uint64_t expected_offset = kLogFileHeaderBytes;
  for (;;) {
    std::string_view record;
    uint64_t offset;
    WINNOW_ASSIGN_OR_RETURN(const bool more, manifest->Read(&record, &offset));
    if (!more) return absl::OkStatus();
    if (offset != expected_offset) {
      return CorruptionError(path, expected_offset, "a version edit cannot be read");
    }
    expected_offset = offset + kLogRecordHeaderBytes + record.size();
    auto edit = VersionEdit::Decode(record);
    // A newer version wrote it: no damage, and nothing that a repair should touch.
    if (absl::IsFailedPrecondition(edit.status())) return WithContext(edit.status(), path);
    if (!edit.ok()) return CorruptionError(path, offset, ToStd(edit.status().message()));
    // The record's checksum was right, but it cannot follow those before it: only the file can be
    // to blame.
    if (absl::Status status = ApplyWhileReading(*edit, files); !status.ok()) {
      return CorruptionError(path, offset, ToStd(status.message()));
    }
  }
}

absl::Status VersionSet::CheckIsState(const std::string& path) const {
  if (families_.empty()) return CorruptionError(path, "holds no version edit");
  if (!families_.contains(0)) return CorruptionError(path, "has no default column family");
  return absl::OkStatus();
}

// Edits are checked against each other while they are read: a file that is deleted was added
// before, and none is added twice.
absl::Status VersionSet::CheckFollows(const VersionEdit& edit, const ListedFiles& files) const {
  // What the edit has made of a family so far: it may name one several times.
  struct Changes {
    bool has_none_of_before = false;
    std::unordered_map<uint64_t, bool> is_there;  // of the files it names, by number
  };
  std::map<uint32_t, Changes> changed;
  for (const FamilyEdit& change : edit.families) {
    if (!change.name.has_value() && !families_.contains(change.family_id)) {
      return absl::InternalError(absl::StrCat("column family ", change.family_id, " is unknown"));
    }
    Changes& family = changed[change.family_id];
    const auto listed = files.find(change.family_id);
    const auto is_there = [&](uint64_t number) {
      const auto named = family.is_there.find(number);
      if (named != family.is_there.end()) return named->second;
      return !family.has_none_of_before && listed != files.end() && listed->second.contains(number);
    };
    // Losses first: a file that moves has its number in both.
    for (const FamilyEdit::DeletedFile& file : change.deleted) {
      if (!is_there(file.number)) {
        return absl::InternalError(absl::StrCat("file ", file.number, " is deleted but not there"));
      }
      family.is_there[file.number] = false;
    }
    for (const FamilyEdit::AddedFile& file : change.added) {
      if (is_there(file.file.number)) {
        return absl::InternalError(absl::StrCat("file ", file.file.number, " is added twice"));
      }
      family.is_there[file.file.number] = true;
    }
    if (change.dropped) family = {.has_none_of_before = true, .is_there = {}};
  }
  return absl::OkStatus();
}

// Whole or not at all: a repair takes what the edits before one that is refused add up to. Files
// that a later edit deletes are never opened.
absl::Status VersionSet::ApplyWhileReading(const VersionEdit& edit, ListedFiles* files) {
  WINNOW_RETURN_IF_ERROR(CheckFollows(edit, *files));
  for (const FamilyEdit& change : edit.families) {
    // At any time the files that are live at this place of the manifest: memory goes by these, and
    // not by the number of edits.
    auto& listed = (*files)[change.family_id];
    for (const FamilyEdit::DeletedFile& file : change.deleted) listed.erase(file.number);
    for (const FamilyEdit::AddedFile& file : change.added) {
      listed.emplace(file.file.number, file);
      // Whatever the recorded counter says: a number that was given out again would overwrite this
      // file.
      MarkFileNumberUsed(file.file.number);
      MarkFileNumberUsed(file.file.filter_file.number);
    }
    if (change.dropped) files->erase(change.family_id);
  }
  ApplyScalars(edit);
  return absl::OkStatus();
}

absl::Status VersionSet::ReadFamilies() {
  ListedFiles files;
  return ReadManifest(&files);
}

absl::Status VersionSet::Recover(const ComparatorFor& comparator_for,
                                 const FilterPolicyFor& filter_policy_for,
                                 MissingFilterFile missing_filter_file) {
  ListedFiles files;
  WINNOW_RETURN_IF_ERROR(ReadManifest(&files));
  // Of all families together, so that the threads have work even where each family has few tables.
  // In the order of families and numbers, by which the results are taken apart again below.
  std::vector<SstableToOpen> tables;
  for (auto& [id, family] : families_) {
    family.comparator = comparator_for(family.name, family.comparator_name);
    // Nobody could search its tables: they are not opened, and the family has no version.
    if (family.comparator == nullptr) continue;
    if (filter_policy_for != nullptr) family.filter_policy = filter_policy_for(family.name);
    for (const auto& [number, added] : files[id]) {
      tables.push_back({added.file, family.comparator, family.filter_policy, nullptr});
    }
  }
  WINNOW_RETURN_IF_ERROR(OpenSstables(shared_store_, tables));
  std::span<SstableToOpen> left(tables);
  for (auto& [id, family] : families_) {
    if (family.comparator == nullptr) continue;
    const size_t count = files[id].size();
    WINNOW_RETURN_IF_ERROR(
        BuildFirstVersion(&family, files[id], left.first(count), missing_filter_file));
    left = left.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status VersionSet::BuildFirstVersion(FamilyRecord* family,
                                           const std::map<uint64_t, FamilyEdit::AddedFile>& files,
                                           std::span<SstableToOpen> tables,
                                           MissingFilterFile missing_filter_file) const {
  const InternalKeyComparator comparator(family->comparator);
  // Aborted: a writer removed it right after it was opened.
  const auto is_missing = [](const absl::Status& opened) {
    return absl::IsNotFound(opened) || absl::IsAborted(opened);
  };
  const auto missing = [this](const std::string& path) {
    return CorruptionError(ManifestFileName(store_.directory, manifest_number()),
                           absl::StrCat("names ", path, ", which is missing"));
  };
  LevelFiles levels;
  size_t next = 0;
  for (const auto& [number, added] : files) {
    // Only a table that is not there is an error of opening: then the directory is not what the
    // manifest describes. One that is damaged keeps its error, and fails those reads that need it.
    std::shared_ptr<SstableFile> file = std::move(tables[next++].file);
    if (is_missing(file->open_status())) return missing(SstableFileName(store_.directory, number));
    if (missing_filter_file == MissingFilterFile::kIsDamage &&
        is_missing(file->filter_file_status())) {
      return missing(FilterFileName(store_.directory, added.file.filter_file.number));
    }
    levels[static_cast<size_t>(added.level)].push_back(std::move(file));
  }
  SortLevels(comparator, &levels);
  if (absl::Status status = CheckLevels(comparator, levels); !status.ok()) {
    return CorruptionError(ManifestFileName(store_.directory, manifest_number()),
                           ToStd(status.message()));
  }
  family->version = std::make_shared<const Version>(comparator, std::move(levels));
  return absl::OkStatus();
}

absl::StatusOr<VersionSet::ReadableState> VersionSet::ReadState(const std::string& path,
                                                                uint64_t number) {
  FileSystem& file_system = *store_.file_system;
  {
    WINNOW_ASSIGN_OR_RETURN(const auto file, file_system.OpenRandomAccess(path));
    char header[kLogFileHeaderBytes];
    WINNOW_ASSIGN_OR_RETURN(const size_t read, file->Read(0, sizeof(header), header));
    // A file may have been renamed, to *.orphan or by hand: it says itself which number its records
    // carry.
    number = DecodeLogFileHeader(std::string_view(header, read)).value_or(number).number;
  }
  // A damaged header is passed over in this mode. Damage behind it still ends the reading, by the
  // gap in the offsets: an edit must not be applied without those before it.
  WINNOW_ASSIGN_OR_RETURN(const auto reader,
                          LogReader::Open(file_system, path, number, LogRecoveryMode::kSalvage));
  ListedFiles files;
  ReadableState readable;
  readable.damage = ReadEdits(reader.get(), path, &files);
  if (!readable.damage.ok() && !IsCorruption(readable.damage)) return readable.damage;
  // Damage behind the last edit leaves no gap before one, and only the reader has seen it.
  if (readable.damage.ok() && !reader->end().skipped.empty()) {
    const LogEnd::SkippedRange& skipped = reader->end().skipped.front();
    readable.damage = CorruptionError(path, skipped.offset, skipped.reason);
  }
  if (const absl::Status status = CheckIsState(path); !status.ok()) {
    return readable.damage.ok() ? status : readable.damage;
  }
  readable.state = DescribeFamilies();
  if (newest_log_ != 0) readable.state.newest_log = newest_log_;
  for (FamilyEdit& change : readable.state.families) {
    // Tables are not opened, and so there are no versions to describe: the list that reading left
    // is the state.
    for (const auto& [file_number, added] : files[change.family_id]) {
      change.added.push_back(added);
    }
  }
  return readable;
}

}  // namespace winnow
