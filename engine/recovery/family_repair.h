// Which SSTables make up a column family again.
#ifndef WINNOW_ENGINE_RECOVERY_FAMILY_REPAIR_H_
#define WINNOW_ENGINE_RECOVERY_FAMILY_REPAIR_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "engine/recovery/found_files.h"
#include "engine/recovery/kept_logs.h"
#include "engine/recovery/repair_sstables.h"
#include "winnow/repair.h"

namespace winnow {

// Tables are those of the manifest by their identities, whatever their names; whatever a manifest
// says of a table that is not there, another one cannot be taken for it.
//
// If all are there, and the log that the family needs, the family is as the manifest says. If not,
// the manifest may be older than the tables: those that it does not name are taken too, if they are
// younger than the manifest or lie where one is missing, and all are merged into one sorted run in
// the order of their sequence numbers, since nothing says which level they belong to. Older ones
// that no missing table could have been made of had been given up by the manifest, and would bring
// back what was deleted.
class FamilyRepair {
 public:
  // `state`: of the manifest, without what the repair adds; `logs`: the numbers that they are
  // replayed by; `tables`: those of this database.
  FamilyRepair(const VersionEdit& state, std::set<uint64_t> logs, KeptLogs* kept_logs,
               const std::vector<const FoundSstable*>& tables, RepairSstables* sstables,
               RepairReport* report)
      : state_(state),
        listed_identities_(ListedIdentities(state)),
        logs_(std::move(logs)),
        kept_logs_(kept_logs),
        tables_(tables),
        sstables_(sstables),
        report_(report) {}

  // Replaces the family's list of tables, and, where one is gone or damaged, its first log by an
  // older one that can be replayed. `edit` is that of the manifest, or new.
  absl::Status Run(const ColumnFamilyState& family, FamilyEdit* edit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Of all families that were repaired.
  // Tables that have their place, by name.
  const std::set<std::string>& used() const { return used_; }
  // Families whose tables were merged: logs replayed over them may be older than they are.
  const std::vector<std::string>& merged() const { return merged_; }
  // Logs with entries of a table that is gone or damaged which are not replayed.
  const std::set<uint64_t>& logs_to_keep() const { return logs_to_keep_; }
  bool changed() const { return changed_; }
  SequenceNumber largest_sequence() const { return largest_sequence_; }

 private:
  struct Listed {
    FamilyEdit::AddedFile added;
    const FoundSstable* table = nullptr;  // null: it is missing
  };

  std::vector<Listed> FindListed(const FamilyEdit& edit) const;
  bool NeededLogIsMissing(const FamilyEdit& edit) const;
  // Tables of the family that the manifest does not name, if they are to be taken.
  absl::StatusOr<std::vector<const FoundSstable*>> Unlisted(
      const ColumnFamilyState& family, const FamilyEdit& edit,
      const std::vector<Listed>& listed) const;
  // Does all that this table holds lie in logs that are replayed, or in the tables of the manifest?
  absl::StatusOr<bool> IsElsewhere(const FamilyEdit& edit, const std::vector<Listed>& listed,
                                   const FoundSstable& table) const;
  absl::Status KeepLevels(const ColumnFamilyState& family, const std::vector<Listed>& listed,
                          FamilyEdit* edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status MergeAll(const ColumnFamilyState& family, const std::vector<Listed>& listed,
                        const std::vector<const FoundSstable*>& unlisted, FamilyEdit* edit)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void CountMissing(const ColumnFamilyState& family, const std::vector<Listed>& listed,
                    const std::vector<const FoundSstable*>& unlisted);
  // What logs hold of the tables that are gone or damaged.
  absl::Status ReplayOlderLogs(const ColumnFamilyState& family, FamilyEdit* edit);
  void NoteLostSequence(const FoundSstable& unlisted);
  absl::StatusOr<SoundSstable> Use(const FoundSstable& table, const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  const VersionEdit& state_;
  const std::set<uint64_t> listed_identities_;  // of all families
  const std::set<uint64_t> logs_;
  KeptLogs* const kept_logs_;
  const std::vector<const FoundSstable*> tables_;
  RepairSstables* const sstables_;
  RepairReport* const report_;
  std::set<std::string> used_;
  std::vector<std::string> merged_;
  std::set<uint64_t> logs_to_keep_;
  bool lacks_entries_ = false;  // the family that is being repaired
  bool changed_ = false;
  SequenceNumber largest_sequence_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_FAMILY_REPAIR_H_
