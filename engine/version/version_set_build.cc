// The versions that follow an edit: which files stay, which are new.
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/version/level_files.h"
#include "engine/version/version_set.h"

namespace winnow {

namespace {

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

}  // namespace

void VersionSet::GiveEpochNumbers(VersionEdit* edit) const {
  for (FamilyEdit& change : edit->families) {
    uint64_t largest = 0;
    const auto family = families_.find(change.family_id);
    if (family != families_.end() && family->second.version != nullptr) {
      const Version::Files& files = family->second.version->files(0);
      if (!files.empty()) largest = files.front()->metadata().epoch_number;
    }
    for (FamilyEdit::AddedFile& added : change.added) {
      if (added.level == 0 && added.file.epoch_number == 0) added.file.epoch_number = ++largest;
    }
  }
}

VersionSet::BaseVersions VersionSet::BasesOf(const VersionEdit& edit) const {
  BaseVersions bases;
  for (const FamilyEdit& change : edit.families) {
    const auto family = families_.find(change.family_id);
    // A family that the edit creates gets its version in LogAndCreateFamily.
    if (change.dropped || family == families_.end()) continue;
    if (change.added.empty() && change.deleted.empty()) continue;
    // Held, since the mutex is given back while the new version is built.
    bases[change.family_id] = {family->second.version, family->second.filter_policy};
  }
  return bases;
}

absl::StatusOr<VersionSet::BuiltVersions> VersionSet::BuildVersions(
    const VersionEdit& edit, const BaseVersions& bases) const {
  BuiltVersions built;
  for (const FamilyEdit& change : edit.families) {
    const auto base = bases.find(change.family_id);
    if (base == bases.end()) continue;
    WINNOW_ASSIGN_OR_RETURN(built[change.family_id], BuildVersion(change, base->second));
  }
  return built;
}

// One pass over the files of the old version, whatever the edit's size: each is kept, dropped or
// moved as the edit says. New files are opened, and so verified as far as opening does, before the
// manifest names them.
absl::StatusOr<VersionSet::BuiltVersion> VersionSet::BuildVersion(const FamilyEdit& change,
                                                                  const BaseVersion& base) const {
  const Version& before = *base.version;
  BuiltVersion result;
  NamedFiles named_files = FilesNamedBy(change);
  LevelFiles levels;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : before.files(level)) {
      const auto named = named_files.find(file->number());
      if (named != named_files.end()) named->second.file = file;
      // Of a file that moves, or gets another filter, this takes it out of its level; the loop
      // below puts it where it goes.
      if (named == named_files.end() || named->second.deleted_from != level) {
        levels[static_cast<size_t>(level)].push_back(file);
      } else if (!named->second.is_added) {
        // Marked obsolete in Install, once the edit is durable: if it fails the file is still in
        // use.
        result.replaced.push_back(file);
      }
    }
  }
  for (const FamilyEdit::AddedFile& added : change.added) {
    // A file that moves to another level keeps its reader.
    std::shared_ptr<SstableFile> file = named_files[added.file.number].file;
    if (file == nullptr) {
      file = SstableFile::Open(shared_store_, added.file, before.comparator(), base.filter_policy);
    } else if (file->metadata().filter_file != added.file.filter_file) {
      // Another object for the same table: readers of the old version go on with the old filter. As
      // predecessor it lends its identity in the block cache.
      auto with_new_filter = SstableFile::Open(shared_store_, added.file, before.comparator(),
                                               base.filter_policy, file.get());
      WINNOW_RETURN_IF_ERROR(MissingIsDamage(with_new_filter->filter_file_status()));
      // The table's own filter again, which need not be sound.
      if (const SstableReader* reader = with_new_filter->reader();
          reader != nullptr && reader->filter_state().code != filter::FilterStateCode::kOk) {
        return absl::DataLossError(reader->filter_state().reason);
      }
      result.refiltered.emplace_back(std::move(file), with_new_filter);
      file = std::move(with_new_filter);
    }
    // A table that cannot be read must not take the place of those that it was made of.
    if (!file->open_status().ok()) return file->open_status();
    levels[static_cast<size_t>(added.level)].push_back(std::move(file));
  }
  SortLevels(before.comparator(), &levels);
  WINNOW_RETURN_IF_ERROR(CheckLevels(before.comparator(), levels));
  // Sorted and checked before it can be seen, and never changed afterwards: readers need no lock.
  result.version = std::make_shared<const Version>(before.comparator(), std::move(levels));
  return result;
}

absl::Status VersionSet::AddReplayedSstables(uint32_t family_id,
                                             const std::vector<FileMetadata>& files) {
  VersionEdit edit;
  FamilyEdit& change = edit.families.emplace_back();
  change.family_id = family_id;
  for (const FileMetadata& file : files) change.added.push_back({0, file});
  GiveEpochNumbers(&edit);
  WINNOW_ASSIGN_OR_RETURN(BuiltVersions built, BuildVersions(edit, BasesOf(edit)));
  // Nothing is replaced by tables that were only added. A crash before StartManifest leaves them as
  // orphans, and the logs to be replayed again.
  for (auto& [id, result] : built) families_[id].version = std::move(result.version);
  return absl::OkStatus();
}

}  // namespace winnow
