#include "engine/recovery/family_repair.h"

#include <algorithm>
#include <unordered_map>

#include "engine/base/status.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/file_names.h"

namespace winnow {

namespace {

// Do the table's keys, as far as they are known, lie among those of a listed one?
bool Overlaps(const InternalKeyComparator& comparator, const FoundSstable& table,
              const FileMetadata& listed) {
  if (!table.frame.properties.has_value()) return true;
  const SstableProperties& properties = *table.frame.properties;
  // The properties say nothing of the keys that its tombstones cover.
  if (properties.num_range_deletions > 0) return true;
  return comparator.CompareUserKeys(properties.smallest_user_key, UserKey(listed.largest)) <= 0 &&
         comparator.CompareUserKeys(UserKey(listed.smallest), properties.largest_user_key) <= 0;
}

// Can the SSTables of the edit stand on the levels that it names, as CheckLevels has it?
bool HaveOrder(const InternalKeyComparator& comparator, const FamilyEdit& edit) {
  std::set<uint64_t> epoch_numbers = {0};  // which none has
  std::vector<std::vector<UserKeyRange>> levels(kNumLevels);
  for (const FamilyEdit::AddedFile& added : edit.added) {
    const FileMetadata& file = added.file;
    if (comparator.Compare(file.smallest, file.largest) > 0) return false;
    if (added.level == 0 && !epoch_numbers.insert(file.epoch_number).second) return false;
    if (added.level > 0) {
      levels[static_cast<size_t>(added.level)].push_back(RangeBetween(file.smallest, file.largest));
    }
  }
  for (std::vector<UserKeyRange>& level : levels) {
    std::sort(level.begin(), level.end(), [&](const UserKeyRange& a, const UserKeyRange& b) {
      return comparator.CompareUserKeys(a.smallest, b.smallest) < 0;
    });
    for (size_t i = 1; i < level.size(); i++) {
      if (!EndsBefore(level[i - 1], level[i].smallest, comparator)) return false;
    }
  }
  return true;
}

}  // namespace

absl::Status FamilyRepair::Run(const ColumnFamilyState& family, FamilyEdit* edit) {
  const std::vector<Listed> listed = FindListed(*edit);
  WINNOW_ASSIGN_OR_RETURN(const std::vector<const FoundSstable*> unlisted,
                          Unlisted(family, *edit, listed));
  lacks_entries_ = false;
  CountMissing(family, listed, unlisted);
  const bool has_order = HaveOrder(family.comparator(), *edit);
  if (!has_order) {
    report_->notes.push_back(absl::StrCat(
        "column family '", ToAbsl(family.name()),
        "': the manifest does not say which of its SSTables are newer; they are merged"));
  }
  WINNOW_RETURN_IF_ERROR(unlisted.empty() && has_order ? KeepLevels(family, listed, edit)
                                                       : MergeAll(family, listed, unlisted, edit));
  return lacks_entries_ ? ReplayOlderLogs(family, edit) : absl::OkStatus();
}

// Wherever on the levels the table was: the logs that are replayed have the newest version of each
// key that they name.
absl::Status FamilyRepair::ReplayOlderLogs(const ColumnFamilyState& family, FamilyEdit* edit) {
  const uint64_t log_number = edit->log_number.value_or(0);
  if (log_number == 0) return absl::OkStatus();  // all are replayed
  WINNOW_ASSIGN_OR_RETURN(const KeptLogs::OfFamily found,
                          kept_logs_->Find(family.id(), log_number, state_.oldest_log.value_or(0)));
  const std::string& directory = sstables_->store().directory;
  if (found.first_log != 0) {
    edit->log_number = found.first_log;
    report_->entries_replayed += found.entries;
    report_->notes.push_back(absl::StrCat(
        LogFileName(directory, found.first_log), ": this log and later ones are replayed once more",
        " for column family '", ToAbsl(family.name()), "', of which they hold ", found.entries,
        " entries that SSTables had"));
  }
  for (const uint64_t log : found.not_replayed) {
    if (!logs_to_keep_.insert(log).second) continue;
    report_->notes.push_back(absl::StrCat(
        LogFileName(directory, log), ": may hold entries of column family '", ToAbsl(family.name()),
        "' that SSTables had; replaying it could undo what was written ",
        "later, so that it is kept in ", directory, "/", ToAbsl(kLostDirectory)));
  }
  return absl::OkStatus();
}

// Of several copies that of the right name comes first; Use takes another if that is not sound.
std::vector<FamilyRepair::Listed> FamilyRepair::FindListed(const FamilyEdit& edit) const {
  std::unordered_map<uint64_t, std::vector<const FoundSstable*>> by_identity;
  for (const FoundSstable* table : tables_) by_identity[table->frame.file_id].push_back(table);
  std::vector<Listed> result;
  for (const FamilyEdit::AddedFile& added : edit.added) {
    Listed& entry = result.emplace_back();
    entry.added = added;
    const auto copies = by_identity.find(added.file.file_id);
    if (copies == by_identity.end()) continue;
    for (const FoundSstable* copy : copies->second) {
      if (entry.table == nullptr || copy->number == added.file.number) entry.table = copy;
    }
  }
  return result;
}

// As an opening checks it. Logs are removed only after the edit that gives them up: a manifest
// whose log is gone has lost edits, or was put back.
bool FamilyRepair::NeededLogIsMissing(const FamilyEdit& edit) const {
  const uint64_t log = edit.log_number.value_or(0);
  if (log == 0 || logs_.contains(log)) return false;
  // Of a family that has not been written to since, older logs have come and gone.
  uint64_t oldest_needed = UINT64_MAX;
  for (const FamilyEdit& family : state_.families) {
    oldest_needed = std::min(oldest_needed, family.log_number.value_or(0));
  }
  return log >= std::max(oldest_needed, state_.oldest_log.value_or(0));
}

// Younger than the manifest are tables with numbers that it had not given out, and those with
// writes that it did not know: compactions make sequence numbers 0, so that neither sign is enough.
// Tables that a killed process had just finished look the same; what they hold is elsewhere too,
// and merging them changes no answer, unless there are operands: each would count twice.
absl::StatusOr<std::vector<const FoundSstable*>> FamilyRepair::Unlisted(
    const ColumnFamilyState& family, const FamilyEdit& edit,
    const std::vector<Listed>& listed) const {
  const bool has_operands = !edit.merge_operator.value_or("").empty();
  const bool log_is_missing = NeededLogIsMissing(edit);
  std::set<uint64_t> seen;
  std::vector<const FoundSstable*> result;
  for (const FoundSstable* table : tables_) {
    const std::optional<SstableProperties>& properties = table->frame.properties;
    if (table->frame.column_family_id() != family.id()) continue;
    // A copy of one that is in use adds nothing. Nor does one that another family lists belong
    // here, whatever it says of itself: an ingested table may have been written for any family.
    if (listed_identities_.contains(table->frame.file_id)) continue;
    const bool is_younger =
        table->was_orphaned || table->number >= state_.next_file_number.value_or(0) ||
        (properties.has_value() && properties->largest_sequence > state_.last_sequence.value_or(0));
    // An older table may be one that the missing one was made of: it then holds what is lost with
    // it.
    const bool fills_a_hole = std::any_of(listed.begin(), listed.end(), [&](const Listed& entry) {
      return entry.table == nullptr && Overlaps(family.comparator(), *table, entry.added.file);
    });
    if (!is_younger && !fills_a_hole && !log_is_missing) continue;
    if (has_operands) {
      WINNOW_ASSIGN_OR_RETURN(const bool is_elsewhere, IsElsewhere(edit, listed, *table));
      if (is_elsewhere) continue;
    }
    if (seen.insert(table->frame.file_id).second) result.push_back(table);
  }
  return result;
}

// A flush writes what its log still has. A compaction writes what its inputs have, and they go only
// after the edit that names its outputs. What was ingested was in no log, and nowhere else; and
// what an opening made an orphan was written under numbers that have been given to other writes
// since.
absl::StatusOr<bool> FamilyRepair::IsElsewhere(const FamilyEdit& edit,
                                               const std::vector<Listed>& listed,
                                               const FoundSstable& table) const {
  if (!table.frame.properties.has_value() || table.frame.properties->is_external ||
      table.was_orphaned) {
    return false;
  }
  const SstableProperties& properties = *table.frame.properties;
  const uint64_t first_log = std::max(edit.log_number.value_or(0), state_.oldest_log.value_or(0));
  WINNOW_ASSIGN_OR_RETURN(
      const bool is_in_logs,
      kept_logs_->Hold(first_log, properties.smallest_sequence, properties.largest_sequence));
  if (is_in_logs) return true;
  const bool is_whole = logs_.contains(first_log) && !NeededLogIsMissing(edit) &&
                        std::all_of(listed.begin(), listed.end(),
                                    [](const Listed& entry) { return entry.table != nullptr; });
  return is_whole && properties.largest_sequence <= state_.last_sequence.value_or(0);
}

// A table that a compaction replaced after the manifest was written is not lost.
void FamilyRepair::CountMissing(const ColumnFamilyState& family, const std::vector<Listed>& listed,
                                const std::vector<const FoundSstable*>& unlisted) {
  for (const Listed& entry : listed) {
    if (entry.table != nullptr) continue;
    changed_ = lacks_entries_ = true;
    const std::string name = SstableFileName(sstables_->store().directory, entry.added.file.number);
    const bool is_covered =
        std::any_of(unlisted.begin(), unlisted.end(), [&](const FoundSstable* table) {
          return Overlaps(family.comparator(), *table, entry.added.file);
        });
    if (is_covered) {
      report_->notes.push_back(absl::StrCat(
          name, ": is missing; tables that the manifest does not know have keys of its range"));
    } else {
      report_->tables_lost++;
      report_->notes.push_back(
          absl::StrCat(name, ": is missing, with its ", entry.added.file.num_entries, " entries"));
    }
  }
}

absl::StatusOr<SoundSstable> FamilyRepair::Use(const FoundSstable& table,
                                               const ColumnFamilyState& family) {
  std::vector<const FoundSstable*> copies = {&table};
  for (const FoundSstable* other : tables_) {
    // One that was ingested once more is another table.
    const bool is_copy = table.frame.file_id != 0 && other->frame.file_id == table.frame.file_id &&
                         other->frame.global_sequence == table.frame.global_sequence;
    if (is_copy && other != &table) copies.push_back(other);
  }
  const size_t put_aside_before = sstables_->put_aside().size();
  WINNOW_ASSIGN_OR_RETURN(SoundSstable sound, sstables_->KeepOrRewrite(copies, family));
  // Either one was kept under its name, or all that count have been put aside for what was read of
  // them.
  if (sound.kept != nullptr) used_.insert(sound.kept->name);
  lacks_entries_ |= sound.kept == nullptr;
  for (size_t i = put_aside_before; i < sstables_->put_aside().size(); i++) {
    used_.insert(sstables_->put_aside()[i]);
  }
  if (sound.reader != nullptr) {
    largest_sequence_ = std::max(largest_sequence_, sound.file.largest_sequence);
  }
  return sound;
}

// A rewritten table holds a part of what the one before held, and so overlaps nothing new on its
// level; on level 0 its epoch number keeps its place. What can come back is what lay under an
// entry that was lost: an older value, or one that a tombstone hid.
absl::Status FamilyRepair::KeepLevels(const ColumnFamilyState& family,
                                      const std::vector<Listed>& listed, FamilyEdit* edit) {
  edit->added.clear();
  for (const Listed& entry : listed) {
    if (entry.table == nullptr) continue;
    WINNOW_ASSIGN_OR_RETURN(const SoundSstable sound, Use(*entry.table, family));
    if (sound.kept == nullptr) changed_ = true;
    if (sound.reader == nullptr) continue;
    FamilyEdit::AddedFile& added = edit->added.emplace_back(entry.added);
    if (sound.kept == nullptr) {
      added.file = sound.file;
      added.file.epoch_number = entry.added.file.epoch_number;
    } else if (sound.file.number != entry.added.file.number) {
      changed_ = true;
      added.file.number = sound.file.number;
      const std::string& directory = sstables_->store().directory;
      report_->notes.push_back(absl::StrCat(
          directory, "/", sound.kept->name, ": is SSTable ", entry.added.file.number,
          " of the manifest, and used as ", SstableFileName(directory, sound.file.number)));
    }
  }
  return absl::OkStatus();
}

void FamilyRepair::NoteLostSequence(const FoundSstable& table) {
  const std::optional<SstableProperties>& properties = table.frame.properties;
  if (!properties.has_value() || !properties->is_external || table.frame.global_sequence != 0) {
    return;
  }
  report_->notes.push_back(
      absl::StrCat(sstables_->store().directory, "/", table.name,
                   ": was ingested, and no manifest says when, and into which column family: its "
                   "entries count as the oldest of the one that it was written for"));
}

// The levels of an old manifest are no order: what was on a deeper level since may be listed above
// what was written later.
absl::Status FamilyRepair::MergeAll(const ColumnFamilyState& family,
                                    const std::vector<Listed>& listed,
                                    const std::vector<const FoundSstable*>& unlisted,
                                    FamilyEdit* edit) {
  changed_ = true;
  report_->manifest_rebuilt = true;
  std::vector<const FoundSstable*> all = unlisted;
  for (const Listed& entry : listed) {
    if (entry.table != nullptr) all.push_back(entry.table);
  }
  std::vector<SoundSstable> sound;
  for (const FoundSstable* table : unlisted) NoteLostSequence(*table);
  for (const FoundSstable* table : all) {
    WINNOW_ASSIGN_OR_RETURN(SoundSstable kept, Use(*table, family));
    // Its numbers count even if it is empty: whatever is written now must be newer.
    const bool holds_something = kept.file.num_entries > 0 || kept.file.num_range_deletions > 0;
    if (kept.reader != nullptr && holds_something) sound.push_back(std::move(kept));
  }
  edit->added.clear();
  WINNOW_ASSIGN_OR_RETURN(const auto files, sstables_->Merge(sound, family));
  // One sorted run may lie on any level; on the last one no reader looks for anything below it.
  const int last = family.options().compaction.last_level();
  for (const FileMetadata& file : files) edit->added.push_back({last, file});
  merged_.emplace_back(family.name());
  if (!edit->merge_operator.value_or("").empty()) {
    report_->notes.push_back(absl::StrCat(
        "column family '", ToAbsl(family.name()), "' has merge operator '", *edit->merge_operator,
        "': operands that lie in several of the tables that were merged, or in a log that is "
        "replayed as well, count more than once"));
  }
  // What the manifest says of logs is as old as it is: the family goes on with the first log that
  // is still there.
  if (NeededLogIsMissing(*edit)) {
    const auto next = logs_.lower_bound(*edit->log_number);
    if (next != logs_.end()) edit->log_number = *next;
    if (logs_.empty()) edit->log_number = 0;
  }
  return absl::OkStatus();
}

}  // namespace winnow
