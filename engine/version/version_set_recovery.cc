// Reading a manifest: the state that its edits, from the first to the last, add up to.
#include <span>
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

absl::Status VersionSet::ReadManifest(ListedFiles* files, std::optional<uint64_t> number) {
  if (!number.has_value()) {
    WINNOW_ASSIGN_OR_RETURN(number, ReadCurrentFile(*store_.file_system, store_.directory));
  }
  manifest_number_.store(*number, std::memory_order_relaxed);
  const std::string path = ManifestFileName(store_.directory, *number);
  auto opened = LogReader::Open(*store_.file_system, path, *number, LogRecoveryMode::kStrict);
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
  MarkFileNumberUsed(*number);
  return absl::OkStatus();
}

// Edits are checked against each other while they are read: a file that is deleted was added
// before, and none is added twice. Files that a later edit deletes are never opened.
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

absl::Status VersionSet::ReadFamilies() {
  ListedFiles files;
  return ReadManifest(&files);
}

absl::Status VersionSet::Recover(const ComparatorFor& comparator_for,
                                 const FilterPolicyFor& filter_policy_for) {
  ListedFiles files;
  WINNOW_RETURN_IF_ERROR(ReadManifest(&files));
  std::vector<SstableToOpen> tables;
  for (auto& [id, family] : families_) {
    family.comparator = comparator_for(family.name, family.comparator_name);
    if (family.comparator == nullptr) continue;
    if (filter_policy_for != nullptr) family.filter_policy = filter_policy_for(family.name);
    for (const auto& [number, added] : files[id]) {
      tables.push_back({added.file, family.comparator, family.filter_policy, nullptr});
    }
  }
  WINNOW_RETURN_IF_ERROR(OpenSstables(store_, tables));
  std::span<SstableToOpen> left(tables);
  for (auto& [id, family] : families_) {
    if (family.comparator == nullptr) continue;
    const size_t count = files[id].size();
    WINNOW_RETURN_IF_ERROR(BuildFirstVersion(&family, files[id], left.first(count)));
    left = left.subspan(count);
  }
  return absl::OkStatus();
}

absl::Status VersionSet::BuildFirstVersion(FamilyRecord* family,
                                           const std::map<uint64_t, FamilyEdit::AddedFile>& files,
                                           std::span<SstableToOpen> tables) const {
  const InternalKeyComparator comparator(family->comparator);
  LevelFiles levels;
  size_t next = 0;
  for (const auto& [number, added] : files) {
    std::shared_ptr<SstableFile> file = std::move(tables[next++].file);
    if (absl::IsNotFound(file->open_status())) {
      return CorruptionError(ManifestFileName(store_.directory, manifest_number()),
                             absl::StrCat("names ", SstableFileName(store_.directory, number),
                                          ", which does not exist"));
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

}  // namespace winnow
