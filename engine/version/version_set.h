// The present version of every column family, and the manifest that makes changes durable.
#ifndef WINNOW_ENGINE_VERSION_VERSION_SET_H_
#define WINNOW_ENGINE_VERSION_VERSION_SET_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/mutex.h"
#include "engine/log/log_writer.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace winnow {

// What is recorded of a column family.
struct FamilyRecord {
  uint32_t id = 0;
  std::string name;
  std::string comparator_name;
  std::string filter;
  std::string filter_key;
  uint64_t log_number = 0;
  const Comparator* comparator = nullptr;       // null: unknown, the family cannot be used
  const FilterPolicy* filter_policy = nullptr;  // null: none
  std::shared_ptr<const Version> version;
};

// All members are guarded by the database's mutex, which callers hold; LogAndApply gives it back
// while it does I/O. Invariant: what a caller sees in a FamilyRecord is durable.
class VersionSet {
 public:
  // The comparator to use for a family with this recorded name; null if the caller has none.
  using ComparatorFor =
      std::function<const Comparator*(std::string_view family, std::string_view comparator_name)>;

  // The user's filter policy for a family; null if there is none.
  using FilterPolicyFor = std::function<const FilterPolicy*(std::string_view family)>;

  VersionSet(SstableStore store, Mutex* mutex);

  // Prepares an empty set with a fresh hash seed and the family "default". Nothing is written
  // before the first StartManifest.
  void CreateNew(std::string_view comparator_name, const Comparator* comparator,
                 std::string_view filter, std::string_view filter_key);

  // Reads CURRENT and the manifest it names and opens all tables. NotFound if there is no CURRENT;
  // DataLoss names the damaged file. Families are listed even where no comparator is known.
  absl::Status Recover(const ComparatorFor& comparator_for,
                       const FilterPolicyFor& filter_policy_for = nullptr);

  // Reads the manifest without opening tables: the families have no version. For listings.
  absl::Status ReadFamilies();

  // The state that a manifest describes, as one edit, without opening tables; for repair. The
  // manifest that CURRENT names, or `number`. DataLoss: damaged.
  absl::StatusOr<VersionEdit> ReadState(std::optional<uint64_t> number);

  // Adds tables that recovery has written to level 0 of a family. They become durable with
  // StartManifest.
  absl::Status AddReplayedSstables(uint32_t family_id, const std::vector<FileMetadata>& files);

  // Tells clang's analysis that the mutex which the caller holds is the one given at construction.
  void AssertLocked() const ABSL_ASSERT_EXCLUSIVE_LOCK(*mutex_) {}

  // Writes a new manifest that holds the present state and makes it the current one. Called once
  // after CreateNew or Recover, before the first LogAndApply.
  absl::Status StartManifest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // Makes the edit durable and then visible. Edits are applied one after the other. After an error
  // of the manifest nothing further can be applied: which of old and new state is on disk is only
  // known after reopening, and files of both stay.
  absl::Status LogAndApply(VersionEdit edit) ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  // Ends the manifest with a clean-close marker. Called only once all logs have theirs, so that the
  // next opening can tell a log that was cut later.
  absl::Status Close() ABSL_EXCLUSIVE_LOCKS_REQUIRED(*mutex_);

  std::map<uint32_t, FamilyRecord>& families() { return families_; }
  FamilyRecord* FindFamily(std::string_view name);

  // Safe without the mutex.
  uint64_t NewFileNumber() { return next_file_number_.fetch_add(1, std::memory_order_relaxed); }
  void MarkFileNumberUsed(uint64_t number);
  uint64_t next_file_number() const { return next_file_number_.load(std::memory_order_relaxed); }
  uint32_t NewFamilyId() { return ++largest_family_id_; }
  uint32_t largest_family_id() const { return largest_family_id_; }
  // True if the manifest that Recover read ends with the marker of Close.
  bool was_closed_cleanly() const { return was_closed_cleanly_; }

  uint64_t hash_seed() const { return hash_seed_; }
  SequenceNumber last_sequence() const { return last_sequence_; }
  // Recorded with the next edit; only ever grows.
  void set_last_sequence(SequenceNumber sequence) { last_sequence_ = sequence; }
  uint64_t manifest_number() const { return manifest_number_; }
  // Bytes of manifests written since opening.
  uint64_t manifest_bytes_written() const { return manifest_bytes_written_; }

  // The whole present state as one edit, as a manifest begins with.
  VersionEdit Snapshot() const;

  // Logs with smaller numbers are not needed any more.
  uint64_t OldestNeededLog() const;
  // Numbers of all tables in present versions.
  std::set<uint64_t> LiveSstables() const;
  const SstableStore& store() const { return store_; }

 private:
  // Tables of each family while a manifest is being read: number -> level and metadata.
  using ListedFiles = std::map<uint32_t, std::map<uint64_t, FamilyEdit::AddedFile>>;
  // What an edit makes of a column family.
  struct BuiltVersion {
    std::shared_ptr<const Version> version;
    Version::Files replaced;  // of the version before: those that are to be removed
  };
  using BuiltVersions = std::map<uint32_t, BuiltVersion>;

  // That of the number, or the one that CURRENT names.
  absl::Status ReadManifest(ListedFiles* files, std::optional<uint64_t> number = std::nullopt);
  VersionEdit DescribeFamilies() const;
  absl::Status ApplyWhileReading(const VersionEdit& edit, ListedFiles* files);
  absl::Status OpenListedFiles(FamilyRecord* family,
                               const std::map<uint64_t, FamilyEdit::AddedFile>& files);
  // Copies the scalar fields of the edit into the records.
  void ApplyScalars(const VersionEdit& edit);
  absl::StatusOr<BuiltVersions> BuildVersions(const VersionEdit& edit) const;
  absl::Status WriteNewManifest(const std::string& snapshot, uint64_t number);
  absl::Status WriteEdit(const std::string& record, const std::string* snapshot,
                         uint64_t new_manifest_number);

  const SstableStore store_;
  Mutex* const mutex_;
  CondVar manifest_idle_;
  bool manifest_busy_ = false;
  absl::Status manifest_error_;        // final
  bool manifest_end_unknown_ = false;  // nothing more may be appended: the next edit starts another
  std::unique_ptr<LogWriter> manifest_;
  uint64_t manifest_number_ = 0;
  bool was_closed_cleanly_ = false;
  uint64_t manifest_bytes_written_ = 0;
  uint64_t manifest_snapshot_bytes_ = 0;

  std::map<uint32_t, FamilyRecord> families_;
  std::atomic<uint64_t> next_file_number_{1};
  std::atomic<uint32_t> largest_family_id_{0};
  uint64_t hash_seed_ = 0;
  SequenceNumber last_sequence_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_VERSION_SET_H_
