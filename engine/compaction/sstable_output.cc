#include "engine/compaction/sstable_output.h"

#include <algorithm>

#include "engine/base/status.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// In target file sizes, as in LevelDB (10 grandparent files): the most that compacting one of the
// outputs will have to rewrite.
constexpr uint64_t kMaxNextLevelOverlapFiles = 10;

// A table that ends where a file of the run below ends is compacted again without the neighbour
// that its last keys would have reached into; RocksDB aligns its outputs for the same reason. Where
// such ends are many the table can wait for a later one.
constexpr uint64_t kLeastPercentAtBorder = 30;
constexpr uint64_t kPercentForEachBorder = 5;
constexpr uint64_t kMostPercentAtBorder = 70;

// Where tables end, by the files of the run below. A file counts once keys have passed its end
// while a table was open. That counts a file late, when its last key has gone by, so that an output
// overlaps at most one file more.
class TableEnds {
 public:
  TableEnds(const Version::Files& next_run, const InternalKeyComparator& comparator,
            uint64_t target_bytes, bool waits_for_border)
      : files_(next_run),
        comparator_(comparator),
        target_bytes_(target_bytes),
        most_bytes_before_border_(waits_for_border && target_bytes < UINT64_MAX / 2
                                      ? target_bytes + target_bytes / 2
                                      : target_bytes),
        limit_bytes_(target_bytes > UINT64_MAX / kMaxNextLevelOverlapFiles
                         ? UINT64_MAX
                         : target_bytes * kMaxNextLevelOverlapFiles) {}

  // A table of so many bytes or more should end before this user key (keys come in order).
  uint64_t LeastBytesBefore(std::string_view user_key) {
    bool at_border = false;
    while (index_ < files_.size() && files_[index_]->EndsBefore(user_key, comparator_)) {
      if (in_table_) {
        overlap_bytes_ += files_[index_]->metadata().file_bytes;
        num_borders_++;
        at_border = true;
      }
      index_++;
    }
    in_table_ = true;
    // At once, whatever its size, before the next user key.
    if (overlap_bytes_ > limit_bytes_) return 0;
    // Behind the last of them little is left, which would be a table, and seem to be a run, of a
    // few entries.
    if (index_ == files_.size()) return target_bytes_;
    if (!at_border) return most_bytes_before_border_;
    const uint64_t percent = std::min(
        kLeastPercentAtBorder + (num_borders_ - 1) * kPercentForEachBorder, kMostPercentAtBorder);
    return target_bytes_ / 100 * percent;
  }
  void StartTable() { overlap_bytes_ = num_borders_ = 0; }

 private:
  const Version::Files& files_;
  const InternalKeyComparator& comparator_;
  const uint64_t target_bytes_;
  const uint64_t most_bytes_before_border_;
  const uint64_t limit_bytes_;
  size_t index_ = 0;
  uint64_t overlap_bytes_ = 0;
  uint64_t num_borders_ = 0;  // passed while the table was open
  bool in_table_ = false;
};

// The table being written, if any.
// Invariant: result_->files holds every number whose file may exist. A file is complete if its
// metadata has been filled in.
class OpenSstable {
 public:
  OpenSstable(const SstableOutputOptions& options, SstableOutputResult* result)
      : options_(options), result_(result) {}
  // An error or a cancellation leaves the file open; the caller removes it by result_->files.
  ~OpenSstable() {
    if (builder_ != nullptr) builder_->Abandon();
  }

  bool is_open() const { return builder_ != nullptr; }
  SstableBuilder& builder() { return *builder_; }
  uint64_t bytes() const { return builder_->file_bytes_estimate(); }
  absl::Status Add(std::string_view key, std::string_view value) {
    return builder_->Add(key, value);
  }

  absl::Status Start() {
    // Listed before it exists, so that a failure anywhere later removes it.
    FileMetadata& file = result_->files.emplace_back();
    file.number = options_.new_file_number();
    const std::string path = SstableFileName(options_.store.directory, file.number);
    WINNOW_ASSIGN_OR_RETURN(auto writable, options_.store.file_system->Create(path, {}));
    if (options_.rate_limiter != nullptr) {
      writable = NewPacedFile(std::move(writable),
                              {options_.rate_limiter, options_.priority, options_.cancelled},
                              &result_->waited);
    }
    builder_ = std::make_unique<SstableBuilder>(options_.builder, std::move(writable), path);
    return absl::OkStatus();
  }

  // The summary comes from what was written, so that the manifest cannot disagree with the file.
  absl::Status Finish() {
    WINNOW_ASSIGN_OR_RETURN(SstableSummary summary, builder_->Finish());
    builder_.reset();
    const SstableProperties& properties = summary.properties;
    FileMetadata& file = result_->files.back();
    file.file_id = summary.file_id;
    file.file_bytes = summary.file_bytes;
    file.num_entries = properties.num_entries;
    file.num_deletions = properties.num_deletions;
    file.num_range_deletions = properties.num_range_deletions;
    file.write_times = properties.write_times;
    file.key_times = properties.key_times;
    file.smallest = std::move(summary.smallest);
    file.largest = std::move(summary.largest);
    file.smallest_sequence = properties.smallest_sequence;
    file.largest_sequence = properties.largest_sequence;
    result_->bytes_written += summary.file_bytes;
    if (options_.on_written) options_.on_written(summary.file_bytes);
    result_->entries_written += properties.num_entries;
    result_->num_filters_fell_back += properties.filter_fell_back ? 1 : 0;
    return absl::OkStatus();
  }

 private:
  const SstableOutputOptions& options_;
  SstableOutputResult* const result_;
  std::unique_ptr<SstableBuilder> builder_;
};

// Hands range tombstones to the tables that are written, each table those between its first key and
// the first of the next.
class TombstoneFeed {
 public:
  TombstoneFeed(const std::vector<RangeTombstoneFragment>& fragments,
                const InternalKeyComparator& comparator)
      : fragments_(fragments), comparator_(comparator) {}

  // The next one that the open table, or one that begins with it, has to take.
  const RangeTombstoneFragment* Next() const {
    return next_ < fragments_.size() ? &fragments_[next_] : nullptr;
  }
  // It begins in the open table.
  void Begin() {
    const RangeTombstoneFragment& fragment = fragments_[next_++];
    open_bytes_ += fragment.begin.size() + fragment.end.size() +
                   fragment.sequences.size() * sizeof(SequenceNumber);
  }
  // Of what has begun and is in no table yet.
  uint64_t open_bytes() const { return open_bytes_; }

  // The table ends before the key; null: it is the last one.
  void Give(const std::string_view* end, SstableBuilder* builder) {
    while (given_ < next_) {
      const RangeTombstoneFragment& fragment = fragments_[given_];
      const std::string_view begin = is_cut_ ? std::string_view(cut_) : fragment.begin;
      if (end == nullptr || comparator_.CompareUserKeys(fragment.end, *end) <= 0) {
        builder->AddRangeTombstones(begin, fragment.end, fragment.sequences);
        is_cut_ = false;
        given_++;
        continue;
      }
      if (comparator_.CompareUserKeys(begin, *end) < 0) {
        builder->AddRangeTombstones(begin, *end, fragment.sequences);
        // The table that is begun next takes the rest: one is, at this very key, whenever a table
        // ends before a key.
        cut_ = std::string(*end);
        is_cut_ = true;
      }
      break;
    }
    open_bytes_ = 0;
  }

 private:
  const std::vector<RangeTombstoneFragment>& fragments_;
  const InternalKeyComparator& comparator_;
  size_t next_ = 0;   // the first that has not begun
  size_t given_ = 0;  // the first of which something is in no table
  bool is_cut_ = false;
  std::string cut_;  // where the rest of that one begins, if it is cut
  uint64_t open_bytes_ = 0;
};

// All that becomes tables: entries, and range tombstones between and behind them.
class SstableRun {
 public:
  SstableRun(const SstableOutputOptions& options, const InternalKeyComparator& comparator,
             const std::vector<RangeTombstoneFragment>& tombstones, SstableOutputResult* result)
      : target_bytes_(options.target_file_bytes),
        comparator_(comparator),
        collectors_(options.collectors),
        table_(options, result),
        ends_(options.next_run, comparator, options.target_file_bytes, options.waits_for_border),
        tombstones_(tombstones, comparator) {}

  absl::Status BeginUserKey(std::string_view user_key) {
    // Called for every user key, even where no table is open: it keeps the count.
    const uint64_t least_bytes = ends_.LeastBytesBefore(user_key);
    if (tombstones_.Next() != nullptr) WINNOW_RETURN_IF_ERROR(BeginTombstones(&user_key));
    const bool is_full = table_.is_open() && bytes() >= least_bytes;
    if (is_full && MayEndBefore(user_key)) WINNOW_RETURN_IF_ERROR(EndTable(&user_key));
    if (collectors_ != nullptr) last_user_key_.assign(user_key);
    return absl::OkStatus();
  }
  absl::Status Add(std::string_view key, std::string_view value) {
    if (!table_.is_open()) WINNOW_RETURN_IF_ERROR(table_.Start());
    return table_.Add(key, value);
  }
  absl::Status End() {
    WINNOW_RETURN_IF_ERROR(BeginTombstones(nullptr));
    return table_.is_open() ? EndTable(nullptr) : absl::OkStatus();
  }

 private:
  uint64_t bytes() const { return table_.bytes() + tombstones_.open_bytes(); }
  bool MayEndBefore(std::string_view user_key) const {
    return collectors_ == nullptr || last_user_key_.empty() ||
           collectors_->MayPart(last_user_key_, user_key);
  }

  absl::Status EndTable(const std::string_view* next_user_key) {
    tombstones_.Give(next_user_key, &table_.builder());
    ends_.StartTable();
    return table_.Finish();
  }
  // Those that begin up to the user key, at which entries begin next; null: all. A table that they
  // fill ends where one begins, unless that is the user key itself, before which it may end anyway.
  absl::Status BeginTombstones(const std::string_view* user_key) {
    for (;;) {
      const RangeTombstoneFragment* const next = tombstones_.Next();
      if (next == nullptr) return absl::OkStatus();
      const int order =
          user_key == nullptr ? -1 : comparator_.CompareUserKeys(next->begin, *user_key);
      if (order > 0) return absl::OkStatus();
      // Without this, tombstones with no entries between them would all come into one table, of any
      // size.
      if (order < 0 && table_.is_open() && bytes() >= target_bytes_) {
        WINNOW_RETURN_IF_ERROR(EndTable(&next->begin));
      }
      if (!table_.is_open()) WINNOW_RETURN_IF_ERROR(table_.Start());
      tombstones_.Begin();
    }
  }

  const uint64_t target_bytes_;
  const InternalKeyComparator& comparator_;
  const EntryCollectorFactory* const collectors_;
  std::string last_user_key_;  // with collectors; empty: there was none
  OpenSstable table_;
  TableEnds ends_;
  TombstoneFeed tombstones_;
};

}  // namespace

// A table ends where the next entry starts a new user key and
//
// 1. the table has reached its target size (in tiers, half of it more while files of the run below
//    may end),
// 2. it is large enough and a file of the run below ends, or
// 3. it overlaps too much of that run.
//
// So a table may be larger than its target by all versions of one user key, and never splits them;
// where the family has collectors, by a group of keys (a range tombstone that begins within one may
// still split that).
absl::Status WriteSstables(const SstableOutputOptions& options,
                           const InternalKeyComparator& comparator, CompactionIterator* entries,
                           const std::vector<RangeTombstoneFragment>& tombstones,
                           SstableOutputResult* result) {
  SstableRun run(options, comparator, tombstones, result);
  uint64_t unchecked_bytes = kBytesBetweenCancelChecks;
  while (entries->Valid() || entries->is_paused()) {
    // Closing a database, or dropping a family, must not wait for a compaction of gigabytes;
    // looking at the flags for each entry would cost more than it is worth.
    if (unchecked_bytes >= kBytesBetweenCancelChecks || entries->is_paused()) {
      WINNOW_RETURN_IF_ERROR(CheckNotCancelled(options.cancelled));
      unchecked_bytes = 0;
    }
    if (entries->is_paused()) {
      entries->Resume();
      continue;
    }
    const std::string_view value = entries->value();
    if (entries->at_new_user_key()) {
      WINNOW_RETURN_IF_ERROR(run.BeginUserKey(UserKey(entries->key())));
    }
    WINNOW_RETURN_IF_ERROR(run.Add(entries->key(), value));
    unchecked_bytes += BytesForCancelCheck(value);
    entries->Next();
  }
  WINNOW_RETURN_IF_ERROR(entries->status());
  return run.End();
}

void RemoveOutputs(const SstableStore& store, const std::vector<FileMetadata>& files) {
  for (const FileMetadata& file : files) {
    // Some may not exist: a number is listed before its file is created.
    UnlessOutOfMemory([&] {
      store.file_system->Remove(SstableFileName(store.directory, file.number)).IgnoreError();
    });
  }
}

}  // namespace winnow
