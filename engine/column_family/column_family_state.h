// What an open database knows of one column family.
#ifndef WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_
#define WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/base/capabilities.h"
#include "engine/base/entry_collector.h"
#include "engine/base/key_times.h"
#include "engine/base/signed_entry.h"
#include "engine/base/write_time.h"
#include "engine/column_family/read_view.h"
#include "engine/column_family/row_cache.h"
#include "engine/compaction/covered_files.h"
#include "engine/compaction/picker.h"
#include "engine/filter_memory/filter_forecast.h"
#include "engine/memtable/memtable.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/statistics/expected_fpr_history.h"
#include "engine/version/version_set.h"
#include "filter/base/mutex.h"
#include "winnow/db.h"

namespace winnow {

// What the owner of a reserved family says of its entries; null: nothing.
struct OwnedEntries {
  // With it new SSTables know the times of keys, which reads may then go by.
  KeyTimeParser key_time_parser = nullptr;
  // With it, and fields, new SSTables have signatures.
  SignedEntryParser signed_entry_parser = nullptr;
  // What these call dead goes by itself, while no snapshot is held. They outlive the database.
  const KeyLifetimes* lifetimes = nullptr;
  // Compactions ask them what goes.
  EntryCollectorFactory* collectors = nullptr;
};

// The public data members say which lock guards them; what has none is immutable or thread-safe.
class ColumnFamilyState final : public ColumnFamily {
 public:
  // `record` gives name, id, comparator and recorded filter; `options` has been validated.
  // Its memtables count in the budget; null: in none.
  ColumnFamilyState(const FamilyRecord& record, ColumnFamilyOptions options, uint64_t hash_seed,
                    std::shared_ptr<WriteBufferBudget> budget = nullptr);
  ~ColumnFamilyState() override = default;

  std::string_view name() const override { return name_; }
  uint32_t id() const override { return id_; }

  // As they are now: a reference does not outlive the hold of the mutex.
  const ColumnFamilyOptions& options() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return *options_;
  }
  std::shared_ptr<const ColumnFamilyOptions> shared_options() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return options_;
  }
  // Those that DB::SetOption changes may differ from the present ones, filter and time to live
  // apart.
  void SetOptions(std::shared_ptr<const ColumnFamilyOptions> options)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    write_buffer_bytes_.store(options->write_buffer_bytes, std::memory_order_relaxed);
    options_ = std::move(options);
  }
  // Of the options, for those who do not hold the mutex. The first may change, and then holds for
  // the memtable that is active.
  size_t write_buffer_bytes() const { return write_buffer_bytes_.load(std::memory_order_relaxed); }
  const FilterPolicy* filter_policy() const { return filter_policy_; }
  const CompactionFilter* compaction_filter() const { return compaction_filter_; }
  bool allows_ingest_behind() const { return allows_ingest_behind_; }
  const InternalKeyComparator& comparator() const { return comparator_; }
  uint64_t hash_seed() const { return hash_seed_; }
  // MissingMergeOperator if the options give none.
  const MergeOperator& merge_operator() const { return *merge_operator_; }
  const std::shared_ptr<const MergeOperator>& shared_merge_operator() const {
    return merge_operator_;
  }
  // FailedPrecondition: there is no operator; InvalidArgument: it refuses the operand.
  absl::Status CheckOperand(std::string_view operand) const;
  Compression CompressionFor(int level) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Given once, before anybody else has the family.
  void set_database_number(uint64_t number) { database_number_ = number; }
  uint64_t database_number() const { return database_number_; }
  // Given once, likewise, with its clock; then only how long may change. Relaxed: whoever must see
  // the change learned of it in some way that brings it along.
  void set_ttl(const TimeToLive& ttl) {
    clock_ = ttl.clock;
    ChangeTtl(ttl.micros);
  }
  void ChangeTtl(uint64_t micros) { ttl_micros_.store(micros, std::memory_order_relaxed); }
  TimeToLive ttl() const { return {clock_, ttl_micros_.load(std::memory_order_relaxed)}; }
  bool is_dropped() const { return dropped.load(std::memory_order_relaxed); }
  // From then on writes, ingestions, a drop and other settings of what entries mean are refused,
  // but for those of the owner, who keeps entries of a form of its own there
  // (DBImpl::WriteAsOwner).
  void ReserveForOwner(const OwnedEntries& entries) {
    key_time_parser_.store(entries.key_time_parser, std::memory_order_relaxed);
    signed_entry_parser_.store(entries.signed_entry_parser, std::memory_order_relaxed);
    key_lifetimes_.store(entries.lifetimes, std::memory_order_release);
    collectors_.store(entries.collectors, std::memory_order_release);
    is_reserved_.store(true, std::memory_order_relaxed);
  }
  KeyTimeParser key_time_parser() const { return key_time_parser_.load(std::memory_order_relaxed); }
  SignedEntryParser signed_entry_parser() const {
    return signed_entry_parser_.load(std::memory_order_relaxed);
  }
  // What new SSTables have signatures of; at first of nothing.
  void SetSignedFields(SignedFields fields) ABSL_LOCKS_EXCLUDED(signed_fields_mutex_) {
    const MutexLock lock(&signed_fields_mutex_);
    signed_fields_ = std::move(fields);
  }
  SignedFields signed_fields() const ABSL_LOCKS_EXCLUDED(signed_fields_mutex_) {
    const MutexLock lock(&signed_fields_mutex_);
    return signed_fields_;
  }
  KeyExpiry key_expiry() const {
    const KeyLifetimes* const lifetimes = key_lifetimes_.load(std::memory_order_acquire);
    return lifetimes == nullptr ? KeyExpiry() : lifetimes->Expiry();
  }
  // Null: there are none.
  EntryCollectorFactory* collectors() const { return collectors_.load(std::memory_order_acquire); }
  // No entry that is in memory alone has a smaller number; kMaxSequenceNumber: there is none.
  SequenceNumber FirstUnflushed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool is_reserved() const { return is_reserved_.load(std::memory_order_relaxed); }
  absl::Status ReservedError() const;

  struct FilterSettings {
    filter::FilterSpec spec;
    filter::FilterKeyExtractor key;
  };
  // What may be refused, apart from what may not fail any more.
  absl::StatusOr<FilterSettings> ParseFilter(std::string_view filter,
                                             std::string_view filter_key) const;
  void SetFilter(FilterSettings settings) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  const filter::FilterSpec& filter_spec() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return filter_spec_;
  }
  const filter::FilterKeyExtractor& filter_key() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return filter_key_;
  }
  // The memtable that writes go to, and its one successor at a time. Never null once the first
  // memtable has been started.
  const Memtable& active() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { return *active_; }
  // The same for those who insert. `active_` is replaced while nobody does and with the mutex held,
  // so that either is enough to read it.
  Memtable* active_for_insert() const
      ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return active_.get();
  }

  // Retires the active memtable, if there is one, to the immutable ones and starts another. Out of
  // memory: nothing has changed.
  void SwitchMemtable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex);
  // Puts a fresh memtable in the place of the active one, whose entries are elsewhere or that has
  // none. Readers see it with the next view.
  void ReplaceActiveMemtable() ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex);
  // Of a family that has been dropped: readers find nothing, and what it held goes with its last
  // reader.
  void InstallNothing() ABSL_EXCLUSIVE_LOCKS_REQUIRED(memtable_insertion, database_mutex);
  // The oldest `count` immutable memtables are not needed any more: their entries are in tables, or
  // the family has been dropped. Readers see it with the next view. Asks for no memory after
  // PrepareRelease of at least as many.
  void PrepareRelease(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    released_.reserve(released_.size() + count);
  }
  void ReleaseImmutables(size_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // From then until FinishRelease their memory is about to come back.
  bool is_releasing() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return !released_.empty();
  }
  // Old views have been reclaimed: who still holds such a memtable is a reader.
  void FinishRelease() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Of a family that has been dropped: nothing is left to be released, now or later.
  bool has_let_go() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return !view_is_stale_ && !is_releasing() && !views.has_retired();
  }
  // Makes readers see the present memtables and `version`. Out of memory: nothing has changed.
  void InstallView(std::shared_ptr<const Version> version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The same where nothing may fail any more, since `version` is durable. Without memory for a view
  // readers go on with the one that they have, in which everything is that was in it, for a while:
  // RenewStaleView tries again.
  void InstallDurableView(std::shared_ptr<const Version> version)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The memory for a view that readers cannot do without, since `version` will have what is not in
  // the one that they have: taken before `version` is made durable. No memtable is retired between.
  ViewHolder::Held ReserveView() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void InstallDurableView(std::shared_ptr<const Version> version, ViewHolder::Held reserved)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void RenewStaleView() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    if (!view_is_stale_) return;
    InstallDurableView(version_);
    // Rows that were read from the stale view may be older than what has replaced it.
    if (!view_is_stale_) rows.ForgetAll();
  }

  const std::shared_ptr<const Version>& version() const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return version_;
  }
  // The oldest log that holds entries which are in memory alone; Memtable::kNoLog: none does.
  // Without the first `num_flushed` immutable memtables.
  uint64_t OldestLogInMemory(size_t num_flushed = 0) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    const bool none_left = immutables.size() <= num_flushed;
    return none_left ? active_->log_number() : immutables[num_flushed]->log_number();
  }
  // Under a budget of filter memory: bits per key of new filters. Without one, what the spec says.
  // May throw std::bad_alloc; then they stay as they are.
  void SetPlannedFilterBits(const std::optional<BitsByLevel>& bits)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    if (!bits.has_value()) {
      planned_filter_bits_ = nullptr;
    } else if (planned_filter_bits_ != nullptr) {
      *planned_filter_bits_ = *bits;
    } else {
      planned_filter_bits_ = std::make_unique<BitsByLevel>(*bits);
    }
  }
  SstableBuilderOptions BuilderOptions(int level) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Oldest first. Few: taking from the front moves the others.
  std::vector<std::shared_ptr<Memtable>> immutables ABSL_GUARDED_BY(database_mutex);
  CompactionPicker picker ABSL_GUARDED_BY(database_mutex);
  CoveredFilesPicker covered_files ABSL_GUARDED_BY(database_mutex);
  bool flush_running ABSL_GUARDED_BY(database_mutex) = false;
  // Set with at least one immutable memtable.
  bool flush_wanted ABSL_GUARDED_BY(database_mutex) = false;
  int compactions_running ABSL_GUARDED_BY(database_mutex) = 0;
  // Some of them were picked before Options::compaction changed.
  bool style_changed ABSL_GUARDED_BY(database_mutex) = false;
  // Tables of level 0 that compactions are to make fewer, as the write leader counts them.
  size_t level0_tables_due ABSL_GUARDED_BY(database_mutex) = 0;
  // Automatic compactions make room for it, and keep out of its way while it runs.
  bool manual_compaction_waiting ABSL_GUARDED_BY(database_mutex) = false;
  bool manual_compaction_running ABSL_GUARDED_BY(database_mutex) = false;
  // A level has been chosen for tables that are not in the version yet: no compaction begins, which
  // might choose to write across them.
  bool ingest_running ABSL_GUARDED_BY(database_mutex) = false;
  // Calls of Refilter: the one of the number that are done is at work, later ones wait.
  uint64_t refilters_asked_for ABSL_GUARDED_BY(database_mutex) = 0;
  uint64_t refilters_done ABSL_GUARDED_BY(database_mutex) = 0;
  ExpectedFprHistory expected_fpr_history ABSL_GUARDED_BY(database_mutex);
  std::atomic<bool> dropped{false};
  // No table with a larger sequence number was dropped unread without something newer that hides
  // it all. What a view lacks for that reason was counted before the view was installed.
  SequenceNumber dropped_unread_through() const {
    return dropped_unread_through_.load(std::memory_order_relaxed);
  }
  void DropsUnreadThrough(SequenceNumber sequence) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    dropped_unread_through_.store(std::max(sequence, dropped_unread_through()),
                                  std::memory_order_relaxed);
  }
  ViewHolder views;  // thread-safe
  RowValidity rows;  // of the row cache; thread-safe
  RowFamily row_family() { return {id_, &rows}; }

 private:
  std::shared_ptr<Memtable> NewMemtable() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // With the present memtables. Takes no memory if ReserveView made it for as many.
  void FillView(std::shared_ptr<const Version> version, ReadView* view) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  const std::string name_;
  const uint32_t id_;
  std::shared_ptr<const ColumnFamilyOptions> options_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<size_t> write_buffer_bytes_;
  const FilterPolicy* const filter_policy_;
  const CompactionFilter* const compaction_filter_;
  const bool allows_ingest_behind_;
  std::atomic<bool> is_reserved_{false};
  const InternalKeyComparator comparator_;
  const uint64_t hash_seed_;
  const std::shared_ptr<const MergeOperator> merge_operator_;  // never null
  const Clock* clock_ = nullptr;
  std::atomic<KeyTimeParser> key_time_parser_{nullptr};
  std::atomic<SignedEntryParser> signed_entry_parser_{nullptr};
  std::atomic<const KeyLifetimes*> key_lifetimes_{nullptr};
  std::atomic<EntryCollectorFactory*> collectors_{nullptr};
  mutable Mutex signed_fields_mutex_;  // a leaf
  SignedFields signed_fields_ ABSL_GUARDED_BY(signed_fields_mutex_);
  std::atomic<uint64_t> ttl_micros_{0};
  std::atomic<SequenceNumber> dropped_unread_through_{0};
  const std::shared_ptr<WriteBufferBudget> budget_;
  std::shared_ptr<Memtable> active_ ABSL_GUARDED_BY(database_mutex);
  std::vector<std::weak_ptr<Memtable>> released_ ABSL_GUARDED_BY(database_mutex);
  filter::FilterSpec filter_spec_ ABSL_GUARDED_BY(database_mutex);
  filter::FilterKeyExtractor filter_key_ ABSL_GUARDED_BY(database_mutex);
  // Null: none. Few databases have a budget, and some very many families.
  std::unique_ptr<BitsByLevel> planned_filter_bits_ ABSL_GUARDED_BY(database_mutex);
  std::shared_ptr<const Version> version_ ABSL_GUARDED_BY(database_mutex);
  bool view_is_stale_ ABSL_GUARDED_BY(database_mutex) = false;
};

// Checks that a family may filter at all: kind, key and comparator fit together.
absl::Status CheckFilterFitsComparator(std::string_view filter, std::string_view filter_key,
                                       const Comparator& comparator);

inline constexpr std::string_view kDefaultFilter = "blocked_bloom:10";
inline constexpr std::string_view kDefaultFilterKey = "whole";

}  // namespace winnow

#endif  // WINNOW_ENGINE_COLUMN_FAMILY_COLUMN_FAMILY_STATE_H_
