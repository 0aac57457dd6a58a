// The present version of every column family, and the manifest that makes changes durable.
#ifndef WINNOW_ENGINE_VERSION_VERSION_SET_H_
#define WINNOW_ENGINE_VERSION_VERSION_SET_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "engine/base/database_mutex.h"
#include "engine/file_system/file_in_place.h"
#include "engine/log/log_reader.h"
#include "engine/log/log_writer.h"
#include "engine/sstable/sstable_frame.h"
#include "engine/version/open_sstables.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace winnow {

// What is recorded of a column family.
struct FamilyRecord {
  uint32_t id = 0;
  std::string name;
  std::string comparator_name;
  std::string merge_operator_name;  // empty: there was never one
  std::string filter;
  std::string filter_key;
  uint64_t ttl_seconds = 0;
  OptionTexts options;  // those that are not the defaults, but for the three above
  uint64_t log_number = 0;
  const Comparator* comparator = nullptr;       // null: unknown, the family cannot be used
  const FilterPolicy* filter_policy = nullptr;  // null: none
  std::shared_ptr<const Version> version;
};

// A filter file that the manifest names and that is not there.
enum class MissingFilterFile : uint8_t {
  kIsDoneWithout,  // the table has a filter of its own
  kIsDamage,       // as a table that is missing
};

// Invariants:
//  1. What a caller sees in a FamilyRecord is durable, except between Recover and StartManifest.
//  2. Edits are applied one after the other: whoever writes the manifest has its turn
//     (`manifest_turn_`), for which others wait. Only the holder of the turn changes `families_`,
//     so that the mutex need not be held while the manifest is written and synced.
class VersionSet {
 public:
  using Families = std::map<uint32_t, FamilyRecord>;

  // The comparator to use for a family with this recorded name; null if the caller has none.
  using ComparatorFor =
      std::function<const Comparator*(std::string_view family, std::string_view comparator_name)>;

  // The user's filter policy for a family; null if there is none.
  using FilterPolicyFor = std::function<const FilterPolicy*(std::string_view family)>;

  // `mutex` must outlive the set.
  VersionSet(SstableStore store, DatabaseMutex* mutex);

  // --- While a database is being opened: the mutex is held throughout, I/O included, for nobody
  // --- else can want it yet.

  // Prepares an empty set with a fresh hash seed and the family "default", which `family`
  // describes. Nothing is written before StartManifest.
  void CreateNew(FamilyRecord family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Reads CURRENT and the manifest it names and opens all tables. NotFound if there is no CURRENT;
  // DataLoss names the damaged or missing file. Families are listed even where no comparator is
  // known.
  absl::Status Recover(const ComparatorFor& comparator_for,
                       const FilterPolicyFor& filter_policy_for = nullptr,
                       MissingFilterFile missing_filter_file = MissingFilterFile::kIsDoneWithout)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Reads the manifest without opening tables: the families have no version. For listings.
  absl::Status ReadFamilies() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // For repair: the state that a manifest describes as far as it can be read, as one edit, without
  // opening tables. The file may have any name; its number is what it says itself, or else
  // `number`. DataLoss: not even one edit can be read.
  struct ReadableState {
    VersionEdit state;
    absl::Status damage;  // DataLoss: what stands behind `state` cannot be read
  };
  absl::StatusOr<ReadableState> ReadState(const std::string& path, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Filter settings that the options of this opening give a family; durable with StartManifest.
  void SetFilter(uint32_t family_id, std::string filter, std::string filter_key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The same for the merge operator of a family that has none so far.
  void SetMergeOperator(uint32_t family_id, std::string name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The same for its time to live.
  void SetTtl(uint32_t family_id, uint64_t seconds) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The same for all its other options, and for those of the database.
  void SetOptions(uint32_t family_id, OptionTexts options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void SetDatabaseOptions(OptionTexts options) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Adds tables that recovery has written to level 0 of a family. They become durable with
  // StartManifest.
  absl::Status AddReplayedSstables(uint32_t family_id, const std::vector<FileMetadata>& files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Writes a new manifest that holds the present state and makes it the current one. Of older logs
  // than `log_number` no family needs anything. Called once after CreateNew or Recover, before the
  // first LogAndApply.
  absl::Status StartManifest(uint64_t log_number) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- While it is open.

  // Makes the edit durable and then visible, giving the mutex back meanwhile. After an error of the
  // manifest nothing further can be applied: which of old and new state is on disk is only known
  // after reopening, and files of both stay. A full disk is no such error: the next edit begins
  // another manifest.
  absl::Status LogAndApply(VersionEdit edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The same for an edit that creates the family `created`, whose comparator, policy and version no
  // manifest can name.
  absl::Status LogAndCreateFamily(VersionEdit edit, const FamilyRecord& created)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // If an edit did not fit on the disk: begins another manifest, which decides that it was not
  // applied, and removes the tables that it named. To be called before a job writes others: retries
  // must not fill what is left of the disk. OK at once if there is nothing to decide.
  absl::Status Settle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // If somebody else has removed, replaced or cut the manifest or CURRENT: begins another manifest,
  // which says what that one did. To be called only by who knows that the directory is still its
  // own: another process would have files of these names as well.
  absl::Status ReplaceLostManifest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Ends the manifest with a clean-close marker. Called only once all logs have theirs, so that the
  // next opening can tell a log that was cut later.
  absl::Status Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  const Families& families() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return families_;
  }
  // The options of the database that are recorded: those that are not the defaults.
  const OptionTexts& database_options() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return database_options_;
  }
  // Null if there is none of this name.
  const FamilyRecord* FindFamily(std::string_view name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  SequenceNumber last_sequence() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return last_sequence_;
  }
  // Recorded with the next edit; only ever grows.
  void RaiseLastSequence(SequenceNumber sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The whole present state as one edit, as a manifest begins with.
  VersionEdit Snapshot() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // The newest log when the database was closed; 0 if the manifest that Recover read does not say.
  uint64_t newest_log_at_close() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return newest_log_;
  }
  // Logs with smaller numbers are not needed any more.
  uint64_t OldestNeededLog() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Tables of present versions whose files could not be opened.
  std::vector<KnownSstable> UnopenedSstables() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Numbers of all tables in present versions, and of their filter files.
  std::set<uint64_t> LiveSstables() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  std::set<uint64_t> LiveFilterFiles() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // --- Safe without the mutex.

  uint64_t NewFileNumber() { return next_file_number_.fetch_add(1, std::memory_order_relaxed); }
  void MarkFileNumberUsed(uint64_t number);
  uint64_t next_file_number() const { return next_file_number_.load(std::memory_order_relaxed); }
  uint32_t NewFamilyId() { return ++largest_family_id_; }
  uint32_t largest_family_id() const { return largest_family_id_; }
  uint64_t manifest_number() const { return manifest_number_.load(std::memory_order_relaxed); }
  // Immutable once Recover or CreateNew has returned.
  uint64_t hash_seed() const { return hash_seed_; }
  // True if the manifest that Recover read ends with the marker of Close.
  bool was_closed_cleanly() const { return was_closed_cleanly_; }
  const SstableStore& store() const { return store_; }

 private:
  class ABSL_LOCKABLE ManifestTurn {};
  class TurnHolder;

  // Tables of each family while a manifest is being read: number -> level and metadata.
  using ListedFiles = std::map<uint32_t, std::map<uint64_t, FamilyEdit::AddedFile>>;
  // What an edit makes of a column family.
  struct BuiltVersion {
    std::shared_ptr<const Version> version;
    Version::Files replaced;  // of the version before: those that are to be removed
    // Those whose tables stay, and what stands for them with another filter.
    std::vector<std::pair<std::shared_ptr<SstableFile>, std::shared_ptr<SstableFile>>> refiltered;
  };
  using BuiltVersions = std::map<uint32_t, BuiltVersion>;
  // The families that an edit changes, as they are before it.
  struct BaseVersion {
    std::shared_ptr<const Version> version;
    const FilterPolicy* filter_policy;
  };
  using BaseVersions = std::map<uint32_t, BaseVersion>;

  void WaitForTurn() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The one that CURRENT names.
  absl::Status ReadManifest(ListedFiles* files) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The edits up to the end, or the first that cannot be read or applied; DataLoss names that one.
  absl::Status ReadEdits(LogReader* manifest, const std::string& path, ListedFiles* files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // DataLoss unless what has been read is a database.
  absl::Status CheckIsState(const std::string& path) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  VersionEdit DescribeFamilies() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status CheckFollows(const VersionEdit& edit, const ListedFiles& files) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::Status ApplyWhileReading(const VersionEdit& edit, ListedFiles* files)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // `tables` are the opened `files`, in their order.
  absl::Status BuildFirstVersion(FamilyRecord* family,
                                 const std::map<uint64_t, FamilyEdit::AddedFile>& files,
                                 std::span<SstableToOpen> tables,
                                 MissingFilterFile missing_filter_file) const;
  // To the files that the edit brings to level 0 and that have none: the next after those there
  // are, in the order of the edit.
  void GiveEpochNumbers(VersionEdit* edit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Copies the scalar fields of the edit into the records.
  void ApplyScalars(VersionEdit edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  BaseVersions BasesOf(const VersionEdit& edit) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  absl::StatusOr<BuiltVersions> BuildVersions(const VersionEdit& edit,
                                              const BaseVersions& bases) const;
  absl::StatusOr<BuiltVersion> BuildVersion(const FamilyEdit& change,
                                            const BaseVersion& base) const;
  // In the present versions of all families.
  void ForEachSstable(absl::FunctionRef<void(const SstableFile&)> visit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Names of files that the edit adds and no present version has: those of a table that moves, or
  // is given another filter, are in use.
  std::vector<std::string> FilesNewWith(const VersionEdit& edit) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void RemoveFiles(const std::vector<std::string>& names)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void RemoveUndecidedFiles() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void Install(VersionEdit edit, BuiltVersions built) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Durable, with the snapshot and its name; CURRENT does not name it yet.
  absl::StatusOr<std::unique_ptr<LogWriter>> CreateManifest(const std::string& path,
                                                            const std::string& snapshot,
                                                            uint64_t number) const;
  absl::Status WriteNewManifest(const std::string& snapshot, uint64_t number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_turn_);
  absl::Status WriteEdit(const std::string& record, const std::string* snapshot,
                         uint64_t new_manifest_number)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(manifest_turn_);

  const std::shared_ptr<const SstableStore>
      shared_store_;  // with the tables, which may live longer
  const SstableStore& store_;
  DatabaseMutex* const mutex_;
  DatabaseCondVar turn_ended_;
  bool turn_taken_ ABSL_GUARDED_BY(database_mutex) = false;
  ManifestTurn manifest_turn_;

  std::unique_ptr<LogWriter> manifest_ ABSL_GUARDED_BY(manifest_turn_);
  uint64_t manifest_snapshot_bytes_ ABSL_GUARDED_BY(manifest_turn_) = 0;
  FileInPlace manifest_file_ ABSL_GUARDED_BY(manifest_turn_);
  FileInPlace current_file_ ABSL_GUARDED_BY(manifest_turn_);
  // Final: see LogAndApply.
  absl::Status manifest_error_ ABSL_GUARDED_BY(database_mutex);
  // The disk was full: nothing more may be appended, the next edit begins another manifest.
  bool manifest_end_unknown_ ABSL_GUARDED_BY(database_mutex) = false;
  // New files of edits that did not fit: a manifest may name them until another one has been begun.
  std::vector<std::string> undecided_files_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<uint64_t> manifest_number_{0};

  Families families_ ABSL_GUARDED_BY(database_mutex);
  SequenceNumber last_sequence_ ABSL_GUARDED_BY(database_mutex) = 0;
  uint64_t oldest_log_ ABSL_GUARDED_BY(database_mutex) = 0;
  uint64_t newest_log_ ABSL_GUARDED_BY(database_mutex) = 0;
  OptionTexts database_options_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<uint64_t> next_file_number_{1};
  std::atomic<uint32_t> largest_family_id_{0};
  uint64_t hash_seed_ = 0;
  bool was_closed_cleanly_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_VERSION_SET_H_
