// The tables of a database under repair: which are sound, and new ones for what is left of others.
#ifndef WINNOW_ENGINE_RECOVERY_REPAIR_SSTABLES_H_
#define WINNOW_ENGINE_RECOVERY_REPAIR_SSTABLES_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engine/column_family/column_family_state.h"
#include "engine/recovery/found_files.h"
#include "engine/version/sstable_file.h"
#include "winnow/repair.h"

namespace winnow {

// A table that is sound, with what a manifest must know of it.
struct SoundSstable {
  FileMetadata file;
  std::unique_ptr<SstableReader> reader;
  const FoundSstable* kept = nullptr;  // null if it was written anew
};

// Opens, checks and writes tables; keeps the report and the list of files to put aside.
class RepairSstables {
 public:
  RepairSstables(SstableStore store, uint64_t next_file_number, RepairReport* report)
      : store_(std::move(store)),
        next_file_number_(next_file_number),
        report_(report),
        noted_(report->notes.begin(), report->notes.end()) {}

  // The first of these copies of one table that is sound; a new table with what could be read of
  // them; or neither (no reader), if nothing could.
  absl::StatusOr<SoundSstable> KeepOrRewrite(const std::vector<const FoundSstable*>& copies,
                                             const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // One sorted run, without overlaps and with one entry a key, out of all the tables.
  absl::StatusOr<std::vector<FileMetadata>> Merge(const std::vector<SoundSstable>& tables,
                                                  const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Files that no longer count, by name.
  const std::vector<std::string>& put_aside() const { return put_aside_; }
  void PutAside(const std::string& name) { put_aside_.push_back(name); }

  uint64_t NewFileNumber() {
    has_written_ = true;
    return next_file_number_++;
  }
  // True if there are new files, which only a new manifest can name.
  bool has_written() const { return has_written_; }
  uint64_t next_file_number() const { return next_file_number_; }
  const SstableStore& store() const { return store_; }

 private:
  std::string PathOf(const std::string& name) const;
  // Each text once.
  void Note(const std::string& text);
  void NoteProblems(const std::string& path, const std::vector<SstableProblem>& problems);
  absl::StatusOr<std::unique_ptr<SstableReader>> Open(const std::string& name, uint64_t file_id,
                                                      const ColumnFamilyState& family,
                                                      SequenceNumber global_sequence = 0);
  // Opens and verifies a table, once more if something is wrong: an error that passes is no damage.
  absl::StatusOr<std::unique_ptr<SstableReader>> Examine(const FoundSstable& table,
                                                         const ColumnFamilyState& family,
                                                         std::vector<SstableProblem>* problems);
  absl::StatusOr<SoundSstable> Keep(const FoundSstable& table,
                                    std::unique_ptr<SstableReader> reader);
  absl::StatusOr<SoundSstable> Rewrite(const std::vector<const FoundSstable*>& copies,
                                       const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A new table with what can be read of one; no reader if nothing can.
  absl::StatusOr<SoundSstable> Salvage(const FoundSstable& table, const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A new table with every entry of these, which are parts of one, and takes their place.
  absl::StatusOr<SoundSstable> Unite(const std::vector<SoundSstable>& parts, int level,
                                     const ColumnFamilyState& family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // What a manifest knows of a table, read from the table.
  absl::StatusOr<SoundSstable> Describe(uint64_t number, std::unique_ptr<SstableReader> reader,
                                        SequenceNumber global_sequence = 0);

  const SstableStore store_;
  uint64_t next_file_number_;
  bool has_written_ = false;
  RepairReport* const report_;
  std::set<std::string> noted_;  // or left out for their number
  std::vector<std::string> put_aside_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_REPAIR_SSTABLES_H_
