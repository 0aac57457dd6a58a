// What an open database knows of one column family.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_

#include <atomic>
#include <deque>
#include <memory>
#include <string>

#include "engine/column_family/read_view.h"
#include "engine/compaction/picker.h"
#include "engine/memtable/memtable.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/statistics/expected_fpr_history.h"
#include "engine/version/version_set.h"
#include "winnow/db.h"

namespace winnow {

// Members without a note are guarded by the database's mutex.
class ColumnFamilyState final : public ColumnFamily {
 public:
  // `record` gives name, id, comparator and recorded filter; `options` has been validated.
  ColumnFamilyState(const FamilyRecord& record, ColumnFamilyOptions options, uint64_t hash_seed);
  ~ColumnFamilyState() override = default;

  std::string_view name() const override { return name_; }
  uint32_t id() const override { return id_; }

  // Immutable.
  const ColumnFamilyOptions& options() const { return options_; }
  const InternalKeyComparator& comparator() const { return comparator_; }
  uint64_t hash_seed() const { return hash_seed_; }

  // Parses and takes over new filter settings; nothing changes on an error.
  absl::Status SetFilter(std::string_view filter, std::string_view filter_key);
  const filter::FilterSpec& filter_spec() const { return filter_spec_; }
  const filter::FilterKeyExtractor& filter_key() const { return filter_key_; }

  // A new, empty memtable. `log_number`: the log that its entries go to.
  std::shared_ptr<Memtable> NewMemtable(uint64_t log_number) const;
  // Retires the active memtable to the immutable ones and starts another.
  void SwitchMemtable(uint64_t log_number);
  // Makes readers see the present memtables and `version`.
  void InstallView(std::shared_ptr<const Version> version);
  void InstallView() { InstallView(version_); }

  const std::shared_ptr<const Version>& version() const { return version_; }
  // The oldest log that holds entries of this family which are in no SSTable.
  uint64_t OldestNeededLog() const;
  SstableBuilderOptions BuilderOptions(int level) const;
  Compression CompressionFor(int level) const;

  // Used by the leader of the write queue, which alone replaces it (with the mutex held).
  std::shared_ptr<Memtable> active;
  std::deque<std::shared_ptr<Memtable>> immutables;  // oldest first
  CompactionPicker picker;
  bool flush_running = false;
  bool flush_wanted = false;  // set with at least one immutable memtable
  int compactions_running = 0;
  bool manual_compaction_waiting = false;  // automatic compactions make room for it
  std::atomic<bool> dropped{false};
  ExpectedFprHistory expected_fpr_history;  // guarded by the database's mutex
  ViewHolder views;                         // thread-safe

 private:
  const std::string name_;
  const uint32_t id_;
  const ColumnFamilyOptions options_;
  const InternalKeyComparator comparator_;
  const uint64_t hash_seed_;
  filter::FilterSpec filter_spec_;
  filter::FilterKeyExtractor filter_key_;
  std::shared_ptr<const Version> version_;
};

// Checks that a family may filter at all: kind, key and comparator fit together.
absl::Status CheckFilterFitsComparator(std::string_view filter, std::string_view filter_key,
                                       const Comparator& comparator);

inline constexpr std::string_view kDefaultFilter = "blocked_bloom:10";
inline constexpr std::string_view kDefaultFilterKey = "whole";

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_
