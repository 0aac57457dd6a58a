#include "engine/recovery/repair.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/base/checksum.h"
#include "engine/base/database_mutex.h"
#include "engine/base/status.h"
#include "engine/file_system/descriptor_limit.h"
#include "engine/file_system/durable_files.h"
#include "engine/file_system/file_system_of.h"
#include "engine/recovery/repair_sstables.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"
#include "engine/version/version_set.h"

namespace winnow {

namespace {

constexpr char kAsideName[] = "lost";

// Errors that say nothing about the file: a comparator that is not in the options, a newer format,
// no memory, no descriptors. What they would make of a sound file is a loss.
bool MustEndRepair(const absl::Status& status) {
  return absl::IsFailedPrecondition(status) || absl::IsResourceExhausted(status);
}

class DatabaseRepair {
 public:
  DatabaseRepair(const Options& options, std::string path)
      : options_(options), path_(std::move(path)), file_system_(*FileSystemOf(options)) {}

  absl::StatusOr<RepairReport> Run() {
    // Before the lock, which creates its file: a directory that holds no database stays as it was.
    WINNOW_RETURN_IF_ERROR(ListDirectory());
    {
      WINNOW_ASSIGN_OR_RETURN(const auto lock, file_system_.Lock(LockFileName(path_)));
      DatabaseLock alone(&mutex_);
      WINNOW_RETURN_IF_ERROR(RepairFiles());
    }
    // The lock has been released: the opening that replays the logs takes it for itself.
    return std::move(report_);
  }

 private:
  const ColumnFamilyOptions& OptionsForFamily(const std::string& name) const {
    const auto named = options_.column_families.find(name);
    return named != options_.column_families.end() ? named->second : options_;
  }

  absl::Status ListDirectory() {
    WINNOW_ASSIGN_OR_RETURN(const bool exists, file_system_.Exists(path_));
    std::vector<std::string> names;
    if (exists) {
      WINNOW_ASSIGN_OR_RETURN(names, file_system_.List(path_));
    }
    for (const std::string& name : names) {
      FileType type;
      uint64_t number;
      if (!ParseFileName(name, &type, &number)) continue;
      // What a repair writes must not meet a file that is there, whether a manifest knows it or
      // not.
      next_file_number_ = std::max(next_file_number_, number + 1);
      if (type == FileType::kSstable) tables_.insert(number);
      if (type == FileType::kManifest) manifests_.insert(number);
      if (type == FileType::kLog) has_logs_ = true;
    }
    if (!tables_.empty() || !manifests_.empty() || has_logs_) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat(path_, " holds no file of a Winnow database"));
  }

  // The state that the manifest describes. Where CURRENT is gone or names a manifest that cannot be
  // read, the newest that can be: each begins with the whole state.
  absl::StatusOr<VersionEdit> ReadState() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    std::vector<std::optional<uint64_t>> candidates = {std::nullopt};
    candidates.insert(candidates.end(), manifests_.rbegin(), manifests_.rend());
    absl::Status first_error;
    for (const std::optional<uint64_t>& candidate : candidates) {
      VersionSet versions({&file_system_, path_, nullptr}, &mutex_);
      absl::StatusOr<VersionEdit> state = versions.ReadState(candidate);
      // A manifest of a newer format is sound: taking an older one would undo what has happened
      // since.
      if (MustEndRepair(state.status())) return state;
      if (state.ok()) {
        if (candidate.has_value()) {
          report_.notes.push_back(
              absl::StrCat("taken instead: ", ManifestFileName(path_, *candidate)));
          must_write_manifest_ = true;
        }
        return state;
      }
      report_.notes.emplace_back(state.status().message());
      first_error.Update(state.status());
    }
    return first_error;
  }

  absl::Status RepairFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    absl::StatusOr<VersionEdit> state = ReadState();
    if (MustEndRepair(state.status())) return state.status();
    repair_tables_ = std::make_unique<RepairSstables>(
        SstableStore{&file_system_, path_, nullptr, &open_files_}, next_file_number_, &report_);
    VersionEdit repaired;
    if (state.ok()) {
      WINNOW_ASSIGN_OR_RETURN(repaired, CheckListedTables(*state));
    } else {
      report_.manifest_rebuilt = true;
      must_write_manifest_ = true;
      WINNOW_ASSIGN_OR_RETURN(repaired, StateFromTables());
    }
    // Nothing is written for a sound database. A missing table is lost without being put aside.
    if (!must_write_manifest_ && repair_tables_->put_aside().empty() && report_.tables_lost == 0) {
      return absl::OkStatus();
    }
    return WriteState(std::move(repaired));
  }

  absl::StatusOr<std::unique_ptr<ColumnFamilyState>> MakeFamily(const FamilyEdit& edit,
                                                                uint64_t hash_seed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    FamilyRecord record;
    record.id = edit.family_id;
    record.name = edit.name.value_or("");
    record.comparator_name = edit.comparator.value_or("");
    const ColumnFamilyOptions& options = OptionsForFamily(record.name);
    record.comparator = options.comparator;
    // Under another order every sound table would look damaged.
    if (record.comparator_name != options.comparator->Name()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "column family '", record.name, "' was written with comparator '", record.comparator_name,
          "', but the options give '", ToAbsl(options.comparator->Name()), "'"));
    }
    auto family = std::make_unique<ColumnFamilyState>(record, options, hash_seed);
    WINNOW_RETURN_IF_ERROR(
        family->SetFilter(edit.filter.value_or(std::string(kDefaultFilter)),
                          edit.filter_key.value_or(std::string(kDefaultFilterKey))));
    return family;
  }

  // The manifest is sound: each table it names stays where it is in the tree, whole or with what
  // could be read of it.
  // A rewritten table holds a part of what the one before held, and so overlaps nothing new on its
  // level; on level 0 its sequence numbers keep its place. What can come back is what lay under an
  // entry that was lost: an older value, or one that a tombstone hid.
  absl::StatusOr<VersionEdit> CheckListedTables(const VersionEdit& state)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    VersionEdit repaired = state;
    for (FamilyEdit& family_edit : repaired.families) {
      WINNOW_ASSIGN_OR_RETURN(const auto family,
                              MakeFamily(family_edit, state.hash_seed.value_or(0)));
      std::vector<FamilyEdit::AddedFile> kept;
      for (const FamilyEdit::AddedFile& listed : family_edit.added) {
        WINNOW_ASSIGN_OR_RETURN(
            const SoundSstable table,
            repair_tables_->KeepOrRewrite(listed.file.number, listed.file.file_id, *family));
        if (table.reader == nullptr) continue;
        const bool unchanged = table.file.number == listed.file.number;
        kept.push_back({listed.level, unchanged ? listed.file : table.file});
      }
      family_edit.added = std::move(kept);
    }
    return repaired;
  }

  // No manifest: what the tables say of their column families, and all tables of one family merged
  // into one sorted run, since nothing says which are newer.
  // Nor does anything say which were in use. A table that a compaction had replaced, and that was
  // not removed in time, brings back values whose tombstones the compaction has dropped.
  absl::StatusOr<VersionEdit> StateFromTables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    WINNOW_ASSIGN_OR_RETURN(auto numbers_by_family, FamiliesOfTables());
    VersionEdit state;
    // Any seed will do where no table is left whose filter was built with the old one.
    state.hash_seed = hash_seed_.value_or(RandomIdentity());
    state.largest_family_id = 0;
    state.last_sequence = 0;
    for (auto& [id, family_edit] : families_) {
      state.largest_family_id = std::max(*state.largest_family_id, id);
      WINNOW_ASSIGN_OR_RETURN(const auto family, MakeFamily(family_edit, *state.hash_seed));
      std::vector<SoundSstable> sound;
      for (const uint64_t number : numbers_by_family[id]) {
        WINNOW_ASSIGN_OR_RETURN(SoundSstable table,
                                repair_tables_->KeepOrRewrite(number, 0, *family));
        if (table.reader == nullptr) continue;
        state.last_sequence = std::max(*state.last_sequence, table.file.largest_sequence);
        // Its numbers count even if it is empty: whatever is written now must be newer.
        if (table.file.num_entries > 0) sound.push_back(std::move(table));
      }
      WINNOW_ASSIGN_OR_RETURN(const auto files, repair_tables_->Merge(sound, *family));
      for (const FileMetadata& file : files) family_edit.added.push_back({kNumLevels - 1, file});
      state.families.push_back(family_edit);
    }
    return state;
  }

  absl::StatusOr<std::map<uint32_t, std::vector<uint64_t>>> FamiliesOfTables() {
    std::map<uint32_t, std::vector<uint64_t>> numbers;
    // Every database has it, even where none of its tables is left. Of other families without
    // tables nothing is known: identities below the largest one found count as dropped.
    FamilyEdit& default_family = families_[0];
    default_family.name = "default";
    default_family.comparator = std::string(options_.comparator->Name());
    for (const uint64_t number : tables_) {
      absl::StatusOr<SstableProperties> properties = ReadProperties(number);
      // Once more: an I/O error may pass.
      if (absl::IsUnavailable(properties.status())) properties = ReadProperties(number);
      if (MustEndRepair(properties.status())) return properties.status();
      if (!properties.ok()) {
        report_.tables_lost++;
        report_.notes.push_back(
            absl::StrCat("nothing can be read: ", properties.status().message()));
        repair_tables_->PutAside(number);
        continue;
      }
      const uint32_t id = properties->column_family_id;
      numbers[id].push_back(number);
      // One seed is drawn when a database is created, and all its tables have it.
      hash_seed_ = properties->hash_seed;
      // Numbers ascend, so that the youngest table's settings win: those are nearest to the
      // manifest's.
      FamilyEdit& family = families_[id];
      family.family_id = id;
      family.name = properties->column_family_name;
      family.comparator = properties->comparator_name;
      if (filter::ParseFilterSpec(properties->filter_spec).ok()) {
        family.filter = properties->filter_spec;
        family.filter_key = properties->filter_key;
      }
    }
    return numbers;
  }

  // Of a table whose comparator is not known yet: any of those in the options may be it.
  absl::StatusOr<SstableProperties> ReadProperties(uint64_t number) {
    const std::string path = SstableFileName(path_, number);
    std::set<const Comparator*> comparators = {options_.comparator};
    for (const auto& [name, family] : options_.column_families) {
      comparators.insert(family.comparator);
    }
    absl::Status status;
    for (const Comparator* comparator : comparators) {
      WINNOW_ASSIGN_OR_RETURN(auto file, file_system_.OpenRandomAccess(path));
      SstableReaderOptions reader_options;
      reader_options.comparator = InternalKeyComparator(comparator);
      // A damaged filter is no reason to lose the family's name.
      reader_options.load_filter = false;
      const auto reader = SstableReader::Open(reader_options, std::move(file), path);
      if (reader.ok()) return (*reader)->properties();
      status = reader.status();
      // The answer to a wrong comparator; any other error would come under the right one too.
      if (!absl::IsFailedPrecondition(status)) break;
    }
    return status;
  }

  // 1. Every file that the new state leaves out gets a second name in lost/, durably.
  // 2. The new manifest is written and synced.
  // 3. CURRENT names it: the repair has happened. Before this nothing has.
  // 4. The first names go.
  //
  // A crash before 3 leaves the damaged database as it was, and one after 3 leaves orphans to the
  // next opening. No file is without a name at any point, so that repairing again is safe.
  absl::Status WriteState(VersionEdit state) {
    const uint64_t manifest_number = repair_tables_->NewFileNumber();
    state.next_file_number = repair_tables_->next_file_number();
    // Everything that the new manifest leaves out gets its second name before it loses the first.
    std::vector<std::string> replaced = repair_tables_->put_aside();
    for (const uint64_t number : manifests_) {
      replaced.push_back(ManifestFileName(".", number).substr(2));
    }
    WINNOW_RETURN_IF_ERROR(PutAside(replaced));
    WINNOW_RETURN_IF_ERROR(WriteManifest(file_system_, path_, manifest_number, state));
    WINNOW_RETURN_IF_ERROR(WriteCurrentFile(file_system_, path_, manifest_number));
    for (const std::string& name : replaced) {
      file_system_.Remove(absl::StrCat(path_, "/", name)).IgnoreError();
    }
    return absl::OkStatus();
  }

  absl::Status PutAside(const std::vector<std::string>& names) {
    const std::string aside = absl::StrCat(path_, "/", kAsideName);
    WINNOW_RETURN_IF_ERROR(CreateDirectoryDurably(file_system_, aside));
    for (const std::string& name : names) {
      std::string target = absl::StrCat(aside, "/", name);
      // A repair that was interrupted may have been here before.
      // Nothing in lost/ is ever replaced: what has the same name there may be the better file.
      for (int i = 2;; i++) {
        WINNOW_ASSIGN_OR_RETURN(const bool taken, file_system_.Exists(target));
        if (!taken) break;
        target = absl::StrCat(aside, "/", name, ".", i);
      }
      WINNOW_RETURN_IF_ERROR(LinkOrCopy(file_system_, absl::StrCat(path_, "/", name), target));
    }
    if (!names.empty()) {
      report_.notes.push_back(absl::StrCat("what was replaced is in ", aside));
    }
    return file_system_.SyncDirectory(aside);
  }

  const Options& options_;
  const std::string path_;
  FileSystem& file_system_;
  DatabaseMutex mutex_;  // nobody else's: the parts of a database that are used here want one
  RepairReport report_;
  std::set<uint64_t> tables_;
  std::set<uint64_t> manifests_;
  bool has_logs_ = false;
  uint64_t next_file_number_ = 1;
  bool must_write_manifest_ = false;
  OpenFileCache open_files_{DescriptorLimit() / 2};
  std::unique_ptr<RepairSstables> repair_tables_;
  // Gathered from tables, where there is no manifest.
  std::map<uint32_t, FamilyEdit> families_;
  std::optional<uint64_t> hash_seed_;
};

}  // namespace

absl::StatusOr<RepairReport> RepairFiles(const Options& options, const std::string& path) {
  return DatabaseRepair(options, path).Run();
}

}  // namespace winnow
