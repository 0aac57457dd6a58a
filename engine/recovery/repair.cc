#include "engine/recovery/repair.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/strings/str_join.h"
#include "engine/base/checksum.h"
#include "engine/base/database_mutex.h"
#include "engine/base/status.h"
#include "engine/file_system/descriptor_limit.h"
#include "engine/file_system/file_system_of.h"
#include "engine/recovery/family_repair.h"
#include "engine/recovery/found_files.h"
#include "engine/recovery/repair_filter_files.h"
#include "engine/recovery/repair_sstables.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"
#include "engine/version/version_set.h"

namespace winnow {

namespace {

bool IsExternal(const FoundSstable& table) {
  return table.frame.properties.has_value() && table.frame.properties->is_external;
}

// Takes stock of every file by what it says of itself (FoundFiles), chooses the manifest that knows
// most or makes one up, has FamilyRepair put the tables of each family in order, and commits all of
// it with one new manifest (WriteState). Until CURRENT names that, the old state is as it was
// found, so that a repair that fails or is killed may simply be run again.
class DatabaseRepair {
 public:
  DatabaseRepair(const Options& options, std::string path)
      : options_(options),
        path_(std::move(path)),
        file_system_(*FileSystemOf(options)),
        found_(&file_system_, path_) {}

  absl::StatusOr<RepairedFiles> Run() {
    // Before the lock, which creates its file: a directory that holds no database stays as it was.
    WINNOW_RETURN_IF_ERROR(FoundFiles(&file_system_, path_).List());
    {
      WINNOW_ASSIGN_OR_RETURN(const auto lock, file_system_.Lock(LockFileName(path_)));
      DatabaseLock alone(&mutex_);
      // Until now whoever had it open wrote tables and removed others.
      WINNOW_RETURN_IF_ERROR(found_.List());
      WINNOW_RETURN_IF_ERROR(RepairFiles());
    }
    // The lock has been released: the opening that replays the logs takes it for itself.
    return std::move(repaired_);
  }

 private:
  // Families that the options do not name have the settings of the options themselves, as at an
  // opening.
  const ColumnFamilyOptions& OptionsForFamily(const std::string& name) const {
    const auto named = options_.column_families.find(name);
    return named != options_.column_families.end() ? named->second : options_;
  }

  absl::Status RepairFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    // Manifests first: the frame of a table that has lost its footer is found by what they name.
    WINNOW_RETURN_IF_ERROR(found_.ReadManifests(&mutex_));
    WINNOW_RETURN_IF_ERROR(found_.ReadSstables());
    WINNOW_RETURN_IF_ERROR(found_.ReadLogHeaders());
    report_.notes = found_.notes();
    sstables_ =
        std::make_unique<RepairSstables>(SstableStore{&file_system_, path_, nullptr, &open_files_},
                                         found_.next_file_number(), &report_);
    // Whatever is wrong with CURRENT or a manifest calls for a new one, even if all tables are in
    // place.
    bool must_write = !found_.notes().empty();
    const FoundManifest* manifest = found_.BestManifest();
    VersionEdit state;
    if (manifest != nullptr) {
      state = manifest->state;
      must_write |= !manifest->is_current;
      if (!manifest->is_current) {
        report_.notes.push_back(absl::StrCat("taken instead: ", path_, "/", manifest->name));
      }
    } else {
      report_.manifest_rebuilt = true;
      must_write = true;
      state = StateWithoutManifest();
    }
    found_.LeaveOutLogsExceptOf(state.hash_seed.value_or(0));
    // The manifest may be older than the logs.
    WINNOW_ASSIGN_OR_RETURN(const uint64_t first_log, found_.FirstLogOfLastOpening());
    state.oldest_log = std::max(state.oldest_log.value_or(0), first_log);
    const std::vector<const FoundSstable*> tables = TablesOf(state);
    const uint32_t largest_known_family = state.largest_family_id.value_or(0);
    AddFamiliesOf(Unlisted(tables, state), &state);
    WINNOW_RETURN_IF_ERROR(KeepLogsOfLostFamilies(largest_known_family, &state, &must_write));
    NoteMissingFamilies(state);
    // FamilyRepair goes by what was listed, while the loop below replaces the edits of `state`.
    const VersionEdit as_listed = state;
    KeptLogs kept_logs(&file_system_, path_, found_.logs(), state.hash_seed.value_or(0),
                       state.last_sequence.value_or(0));
    FamilyRepair families(as_listed, found_.OwnNumbersOfLogs(), &kept_logs, tables, sstables_.get(),
                          &report_);
    for (FamilyEdit& edit : state.families) {
      WINNOW_ASSIGN_OR_RETURN(const auto family, MakeFamily(edit, state.hash_seed.value_or(0)));
      WINNOW_RETURN_IF_ERROR(families.Run(*family, &edit));
    }
    WINNOW_ASSIGN_OR_RETURN(const bool lost_filters,
                            GiveUpDamagedFilterFiles(file_system_, path_, &state, &report_));
    must_write |= lost_filters;
    // What an older manifest says of the logs was true then.
    if (report_.manifest_rebuilt) state.newest_log.reset();
    // Tables may be younger than the manifest: no later write may get a number that they hold.
    state.last_sequence = std::max(state.last_sequence.value_or(0), families.largest_sequence());
    repaired_.merged_families = families.merged();
    SetAsideUnused(state, families, manifest);
    for (const uint64_t log : families.logs_to_keep()) {
      const std::string log_path = LogFileName(path_, log);
      logs_to_keep_.insert(log_path.substr(path_.size() + 1));
    }
    return WriteState(std::move(state), must_write || families.changed(), manifest);
  }

  // The seed is what logs are known by, so that where no table says it theirs counts; any will do
  // where there is neither. Every database
  // has the family `default`, even where none of its tables is left; of other families without
  // tables nothing is known.
  VersionEdit StateWithoutManifest() const {
    VersionEdit state;
    uint64_t seed = found_.CommonestSeed();
    if (seed == 0) seed = found_.CommonestDatabaseOfLogs();
    state.hash_seed = seed != 0 ? seed : RandomIdentity();
    state.largest_family_id = 0;
    FamilyEdit& family = state.families.emplace_back();
    family.name = "default";
    family.comparator = std::string(options_.comparator->Name());
    family.filter = options_.comparator->EqualKeysHaveEqualBytes() ? kDefaultFilter : "none";
    family.filter_key = kDefaultFilterKey;
    return state;
  }

  // Tables of another database are sound, and wrong here.
  std::vector<const FoundSstable*> TablesOf(const VersionEdit& state) {
    // What the manifest lists is ours whatever it says of itself: an ingested table was written
    // without knowing the database, and one that has lost header and properties says nothing.
    const std::set<uint64_t> listed = ListedIdentities(state);
    std::vector<const FoundSstable*> tables;
    for (const FoundSstable& table : found_.tables()) {
      const std::optional<uint64_t> database = table.frame.database_id();
      const bool is_ours = database.has_value() && database == state.hash_seed;
      if (is_ours || listed.contains(table.frame.file_id)) tables.push_back(&table);
    }
    return tables;
  }

  // Those of which the manifest says nothing. What it lists is of the family that lists it: an
  // ingested table may have been written for another one, of another database even.
  static std::vector<const FoundSstable*> Unlisted(const std::vector<const FoundSstable*>& tables,
                                                   const VersionEdit& state) {
    const std::set<uint64_t> listed = ListedIdentities(state);
    std::vector<const FoundSstable*> unlisted;
    for (const FoundSstable* table : tables) {
      if (!listed.contains(table->frame.file_id)) unlisted.push_back(table);
    }
    return unlisted;
  }

  // Families that are younger than the manifest, or all of them where there is none. Identities up
  // to the largest one that the manifest knows, and that it does not name, are of dropped families.
  void AddFamiliesOf(const std::vector<const FoundSstable*>& unlisted, VersionEdit* state) {
    const bool has_manifest = state->next_file_number.has_value();
    const uint32_t known = state->largest_family_id.value_or(0);
    std::map<uint32_t, const FoundSstable*> youngest;
    for (const FoundSstable* table : unlisted) {
      const std::optional<uint32_t> id = table->frame.column_family_id();
      if (!id.has_value() || *id >= kFamilyIdLimit) continue;
      const FoundSstable*& other = youngest[*id];
      // A table that has its properties says more of the family than a younger one that has its
      // header alone.
      const auto rank = [](const FoundSstable& of) {
        return std::pair(of.frame.properties.has_value(), of.number);
      };
      if (other == nullptr || rank(*other) <= rank(*table)) other = table;
    }
    for (const auto& [table_family, table] : youngest) {
      const uint32_t id = table_family;  // a name that a lambda may capture
      if (id <= known && (has_manifest || id != 0)) {
        NoteMergeOperator(*table, state);
        continue;
      }
      const SstableProperties properties = table->frame.properties.has_value()
                                               ? *table->frame.properties
                                               : PropertiesFrom(*table->frame.header);
      // The family that had the name before was dropped, or this one could not have been created.
      std::erase_if(state->families, [&](const FamilyEdit& other) {
        return other.family_id != 0 && other.family_id < id &&
               other.name == properties.column_family_name;
      });
      FamilyEdit& family = id == 0 ? state->families.front() : state->families.emplace_back();
      family.family_id = id;
      if (id != 0) family.name = properties.column_family_name;
      family.comparator = properties.comparator_name;
      if (!properties.merge_operator_name.empty()) {
        family.merge_operator = properties.merge_operator_name;
      }
      // A newer version may have written what this one cannot read.
      const bool has_spec = properties.filter_policy.empty() &&
                            filter::ParseFilterSpec(properties.filter_spec).ok() &&
                            filter::FilterKeyExtractor::Parse(properties.filter_key).ok();
      const bool can_filter = OptionsForFamily(*family.name).comparator->EqualKeysHaveEqualBytes();
      // The youngest table's settings are nearest to those that the manifest had.
      family.filter = has_spec     ? properties.filter_spec
                      : can_filter ? std::string(kDefaultFilter)
                                   : "none";
      family.filter_key = has_spec ? properties.filter_key : std::string(kDefaultFilterKey);
      // Or what had expired would be there again.
      family.ttl_seconds = std::min(properties.ttl_seconds, kMaxTtlSeconds);
      state->largest_family_id = std::max(state->largest_family_id.value_or(0), id);
    }
  }

  // A family that logs alone know cannot be made again: no log has its name or its comparator. But
  // its identity is not given out again, or `winnow replay` would write into another family. Once
  // that is so, the opening takes it for a dropped one, and says nothing of its writes.
  absl::Status KeepLogsOfLostFamilies(uint32_t largest_known, VersionEdit* state,
                                      bool* must_write) {
    std::set<uint32_t> present;
    for (const FamilyEdit& family : state->families) present.insert(family.family_id);
    WINNOW_ASSIGN_OR_RETURN(const std::vector<FoundLog> logs,
                            found_.ReadLogs(state->hash_seed.value_or(0)));
    for (const FoundLog& log : logs) {
      std::vector<uint32_t> lost;
      for (const uint32_t id : log.families) {
        if (id > largest_known && !present.contains(id)) lost.push_back(id);
      }
      if (lost.empty()) continue;
      // A rebuilt state may know of later ones by their tables.
      state->largest_family_id = std::max(state->largest_family_id.value_or(0), lost.back());
      *must_write = true;
      if (log.was_set_aside) continue;
      logs_to_keep_.insert(log.path.substr(path_.size() + 1));
      report_.notes.push_back(
          absl::StrCat(log.path, ": writes to column family ", absl::StrJoin(lost, ", "),
                       ", which neither a manifest nor an SSTable knows; the log is kept in ",
                       path_, "/", ToAbsl(kLostDirectory)));
    }
    return absl::OkStatus();
  }

  // An opening refuses options that name a family which is not there.
  void NoteMissingFamilies(const VersionEdit& state) {
    std::set<std::string> present;
    for (const FamilyEdit& family : state.families) present.insert(family.name.value_or(""));
    for (const auto& [name, unused] : options_.column_families) {
      if (present.contains(name)) continue;
      repaired_.missing_families.push_back(name);
      report_.notes.push_back(absl::StrCat(
          "column family '", name, "', which the options name, is not there: neither a manifest ",
          "nor an SSTable knows it; open without naming it, and create it with ",
          "CreateColumnFamily"));
    }
  }

  // The manifest may be older than the family's operator.
  static void NoteMergeOperator(const FoundSstable& table, VersionEdit* state) {
    if (!table.frame.properties.has_value()) return;
    const std::string& name = table.frame.properties->merge_operator_name;
    for (FamilyEdit& family : state->families) {
      const bool is_known = family.merge_operator.has_value() || name.empty();
      if (family.family_id == table.frame.column_family_id() && !is_known) {
        family.merge_operator = name;
      }
    }
  }

  // What the properties of a table that has lost them said of its family, as far as the header and
  // the options tell.
  SstableProperties PropertiesFrom(const TableHeader& header) const {
    SstableProperties properties;
    properties.column_family_name = header.column_family_name;
    properties.comparator_name =
        std::string(OptionsForFamily(header.column_family_name).comparator->Name());
    return properties;
  }

  absl::StatusOr<std::unique_ptr<ColumnFamilyState>> MakeFamily(const FamilyEdit& edit,
                                                                uint64_t hash_seed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    FamilyRecord record;
    record.id = edit.family_id;
    record.name = edit.name.value_or("");
    record.comparator_name = edit.comparator.value_or("");
    record.merge_operator_name = edit.merge_operator.value_or("");
    ColumnFamilyOptions options = OptionsForFamily(record.name);
    WINNOW_RETURN_IF_ERROR(ChooseMergeOperator(record, &options));
    record.comparator = options.comparator;
    // Under another order every sound table would look damaged.
    if (record.comparator_name != options.comparator->Name()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "column family '", record.name, "' was written with comparator '", record.comparator_name,
          "', but the options give '", ToAbsl(options.comparator->Name()), "'"));
    }
    auto family = std::make_unique<ColumnFamilyState>(record, options, hash_seed);
    WINNOW_ASSIGN_OR_RETURN(
        ColumnFamilyState::FilterSettings settings,
        family->ParseFilter(edit.filter.value_or(std::string(kDefaultFilter)),
                            edit.filter_key.value_or(std::string(kDefaultFilterKey))));
    family->SetFilter(std::move(settings));
    // For the tables that are written here, which say it; a repair itself drops nothing for it.
    family->ChangeTtl(edit.ttl_seconds.value_or(0) * kMicrosPerSecond);
    return family;
  }

  // Without an operator all operands are kept. Another one than the recorded is refused, as an
  // opening refuses it, before anything is written.
  absl::Status ChooseMergeOperator(const FamilyRecord& record, ColumnFamilyOptions* options) {
    const std::string& recorded = record.merge_operator_name;
    const bool is_named = record.id == 0 || options_.column_families.contains(record.name);
    const std::string given = !is_named || options->merge_operator == nullptr
                                  ? ""
                                  : std::string(options->merge_operator->Name());
    if (given == recorded && !given.empty()) return absl::OkStatus();
    if (!given.empty() && !recorded.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "column family '", record.name, "' of ", path_, " was written with merge operator '",
          recorded, "', but the options give '", given, "'"));
    }
    options->merge_operator = ParseMergeOperator(recorded).value_or(nullptr);
    if (options->merge_operator == nullptr && !recorded.empty()) {
      repaired_.missing_merge_operators[record.name] = recorded;
    }
    return absl::OkStatus();
  }

  // What no family uses: nothing may remove it, as an opening would. Orphans of an opening stay
  // under their names, which none removes.
  void SetAsideUnused(const VersionEdit& state, const FamilyRepair& families,
                      const FoundManifest* manifest) {
    for (const FoundSstable& table : found_.tables()) {
      if (families.used().contains(table.name) || table.was_orphaned) continue;
      const std::string path = absl::StrCat(path_, "/", table.name);
      sstables_->PutAside(table.name);
      if (!table.unreadable.ok()) {
        // Under an intact manifest it is what a crash left of a table being written.
        if (manifest == nullptr || report_.manifest_rebuilt) report_.tables_lost++;
        report_.notes.push_back(absl::StrCat("nothing can be read: ", table.unreadable.message()));
        continue;
      }
      const std::optional<uint64_t> database = table.frame.database_id();
      const bool is_foreign = database.has_value() && database != state.hash_seed;
      report_.tables_set_aside++;
      report_.notes.push_back(absl::StrCat(
          path,
          is_foreign && IsExternal(table)
              ? ": was written for databases to ingest, and no manifest says that this one "
                "did: `winnow ingest` brings it in"
          : is_foreign
              ? ": belongs to another database"
              : ": not in use: the manifest had given it up or never took it, or it is a copy"));
    }
    for (const std::string& name : UnusedFilterFiles(found_.filter_file_names(), state)) {
      sstables_->PutAside(name);
      report_.notes.push_back(
          absl::StrCat(path_, "/", name, ": a filter that no SSTable in use has"));
    }
    for (const std::string& name : found_.manifest_names()) {
      if (manifest == nullptr || name != manifest->name) replaced_manifests_.push_back(name);
    }
  }

  // 1. Every file that the new state leaves out gets a second name in lost/, durably.
  // 2. The new manifest is written and synced.
  // 3. CURRENT names it: the repair has happened. Before this nothing has.
  // 4. The first names go.
  //
  // A crash before 3 leaves the damaged database as it was, and one after 3 leaves orphans to the
  // next opening. No file is without a name at any point, so that repairing again is safe.
  absl::Status WriteState(VersionEdit state, bool is_changed, const FoundManifest* manifest) {
    // Everything that the new manifest leaves out gets its second name before it loses the first.
    std::vector<std::string> replaced = sstables_->put_aside();
    replaced.insert(replaced.end(), replaced_manifests_.begin(), replaced_manifests_.end());
    is_changed |= sstables_->has_written();
    if (is_changed && manifest != nullptr) replaced.push_back(manifest->name);
    // Nothing is written for a sound database.
    if (!is_changed && replaced.empty()) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(PutAside(replaced));
    WINNOW_RETURN_IF_ERROR(PutAside({logs_to_keep_.begin(), logs_to_keep_.end()}));
    if (!replaced.empty()) {
      report_.notes.push_back(
          absl::StrCat("what was replaced is in ", path_, "/", ToAbsl(kLostDirectory)));
    }
    if (is_changed) {
      // Taken before next_file_number is read, which must lie above it.
      const uint64_t manifest_number = sstables_->NewFileNumber();
      state.next_file_number = sstables_->next_file_number();
      WINNOW_RETURN_IF_ERROR(WriteManifest(file_system_, path_, manifest_number, state));
      WINNOW_RETURN_IF_ERROR(WriteCurrentFile(file_system_, path_, manifest_number));
    }
    // Errors are of no account: a name that stays is that of an orphan.
    for (const std::string& name : replaced) {
      file_system_.Remove(absl::StrCat(path_, "/", name)).IgnoreError();
    }
    return absl::OkStatus();
  }

  absl::Status PutAside(const std::vector<std::string>& names) {
    if (names.empty()) return absl::OkStatus();
    for (const std::string& name : names) {
      WINNOW_RETURN_IF_ERROR(LinkIntoLost(file_system_, path_, name).status());
    }
    // One sync for all: the second names are durable before a first one goes.
    return file_system_.SyncDirectory(absl::StrCat(path_, "/", ToAbsl(kLostDirectory)));
  }

  const Options& options_;
  const std::string path_;
  FileSystem& file_system_;
  DatabaseMutex mutex_;  // nobody else's: the parts of a database that are used here want one
  FoundFiles found_;
  RepairedFiles repaired_;
  RepairReport& report_ = repaired_.report;
  OpenFileCache open_files_{DescriptorLimit() / 2};
  std::unique_ptr<RepairSstables> sstables_;
  std::vector<std::string> replaced_manifests_;
  std::set<std::string> logs_to_keep_;  // get a second name, and keep the first
};

}  // namespace

absl::StatusOr<RepairedFiles> RepairFiles(const Options& options, const std::string& path) {
  return DatabaseRepair(options, path).Run();
}

}  // namespace winnow
