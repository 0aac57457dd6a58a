// The files that make up one column family at one moment, and how a key is looked up in them.
#ifndef WINNOW_ENGINE_VERSION_VERSION_H_
#define WINNOW_ENGINE_VERSION_VERSION_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/counter.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/key_times.h"
#include "engine/file_system/read_ring.h"
#include "engine/version/false_positive_cache.h"
#include "engine/version/filter_counter_table.h"
#include "engine/version/iterator_tombstones.h"
#include "engine/version/level_index.h"
#include "engine/version/range_questions.h"
#include "engine/version/sstable_file.h"
#include "winnow/explain.h"
#include "winnow/options.h"

namespace winnow {

// A key being looked up: hashed once, for every filter that it will meet.
struct LookupKey {
  std::string_view user_key;
  SequenceNumber snapshot = 0;
  uint64_t filter_hash = 0;
  FilterKeyIdentity filter_key_identity;  // what filter_hash was made with
};

// What a look-up may use and must count. The pointers outlive the call.
struct LookupContext {
  SstableReadOptions read_options;
  FilterCounterTable* filter_counters = nullptr;       // null: nothing is counted
  FalsePositiveCache* false_positive_cache = nullptr;  // null: false positives are not cached
  SingleWriterCounter* false_positive_cache_hits = nullptr;
  SingleWriterCounter* files_passed_by_time = nullptr;
  ReadRings* read_rings = nullptr;  // null: a batch reads its blocks one after the other
};

// One key of a batch; `result` and `status` are its answer.
struct BatchLookup {
  LookupKey key;
  PointResult result;
  absl::Status status;
  bool done = false;  // in: skip it; out: answered, found or failed
};

// Immutable; shared by readers. Level 0 is ordered newest first and its files may overlap; the
// files of each deeper level are sorted and do not.
class Version {
 public:
  using Files = std::vector<std::shared_ptr<SstableFile>>;

  Version(const InternalKeyComparator& comparator, std::array<Files, kNumLevels> levels);

  // Finds the newest version of the key with a sequence number <= key.snapshot, or, as an entry of
  // type kRangeDelete, the range tombstone that hides it and all older ones. A file's filter is
  // queried before its index and blocks; all filter lines are fetched before the first is tested.
  absl::Status Get(const LookupKey& key, const LookupContext& context, PointResult* result) const;

  // Keys of a batch that go through the steps of a look-up together. Enough to keep all of the
  // processor's miss buffers busy (10 to 16 lines), few enough that what was fetched in one step is
  // still in the first-level cache in the next.
  static constexpr size_t kKeysAtOnce = 32;
  // The same for many keys, level by level, so that memory accesses of different keys overlap. Of a
  // block that several of kKeysAtOnce keys are in there is one read: larger batches are best in key
  // order.
  void MultiGet(std::span<BatchLookup> batch, const LookupContext& context) const;

  // False if the filters and key ranges prove that no file holds the key. No I/O.
  bool MayContain(const LookupKey& key, const LookupContext& context) const;

  // Calls `visit` for the versions of the key with a sequence number <= key.snapshot, newest first,
  // until it returns false. With `newest_was_read`, Get has been asked for the key before, and what
  // it has counted is not counted again.
  absl::Status VisitVersions(
      const LookupKey& key, const LookupContext& context, bool newest_was_read,
      absl::FunctionRef<bool(uint64_t trailer, std::string_view value)> visit) const;
  // The sequence number of the newest entry of the key, if that is above `above`; else 0. Whatever
  // the key's snapshot. Files without such numbers are not looked at; nothing is counted.
  absl::StatusOr<SequenceNumber> NewestSequence(const LookupKey& key, SequenceNumber above,
                                                const SstableReadOptions& options) const;

  // The number of the newest range tombstone that covers the key and is no newer than its snapshot;
  // 0 if there is none.
  SequenceNumber NewestRangeDeletion(const LookupKey& key) const;

  // Appends what Get would look at, in order, to `steps`; counts nothing.
  void Explain(const LookupKey& key, std::vector<ExplainStep>* steps) const;
  // Appends the files that an iterator from `lower` to before `upper` would look at, with what
  // their range filters answer, and reads what they hold; counts nothing.
  void ExplainRange(std::string_view lower, std::string_view upper,
                    std::vector<ExplainStep>* steps) const;
  // What an iterator over one source finds that seeks to `begin`, an internal key: an entry before
  // `upper`, nothing, or an error.
  static void ExplainSeek(std::string_view begin, std::string_view upper,
                          const InternalKeyComparator& comparator, InternalIterator* entries,
                          ExplainStep* step);

  // Adds iterators that together cover the keys in [lower, upper) (both optional). Files that a
  // filter proves to hold nothing of the range are left out.
  struct IteratorRange {
    std::optional<std::string_view> lower;
    std::optional<std::string_view> upper;
    // With these bounds; outlives the iterators. Null: range filters are not asked.
    RangeQuestions* questions = nullptr;
    // Files whose times exclude what is wanted are left out as well.
    std::optional<KeyTimeBounds> times = std::nullopt;
  };
  // `tombstones`, if not null, has those of what is newer, and gets those of the files: iterators
  // that are added then show nothing that either hides.
  void AddIterators(const IteratorRange& range, const LookupContext& context,
                    IteratorTombstones* tombstones,
                    std::vector<std::unique_ptr<InternalIterator>>* iterators) const;

  const Files& files(int level) const { return levels_[static_cast<size_t>(level)]; }
  size_t num_files(int level) const { return files(level).size(); }
  // Levels 1 and deeper that have files: most trees have one or two.
  struct SortedLevel {
    int level;
    LevelIndex index;
    // Those of its files, in order.
    std::vector<const RangeTombstoneIndex*> tombstones;
  };
  std::span<const SortedLevel> sorted_levels() const { return sorted_levels_; }
  uint64_t level_bytes(int level) const;
  // Roughly the bytes of files that hold keys smaller than `user_key`.
  uint64_t ApproximateBytesBefore(std::string_view user_key) const;
  // Some file has values with write times.
  bool has_write_times() const { return has_write_times_; }
  // The deepest level with files; -1 if there is none.
  int deepest_level() const;
  const InternalKeyComparator& comparator() const { return comparator_; }

  // The files of `level` that overlap [smallest, largest] (user keys; null: unbounded). On level 0
  // the range grows until no file outside overlaps a file inside.
  Files Overlapping(int level, const std::string_view* smallest,
                    const std::string_view* largest) const {
    return OverlappingFiles(level, smallest, largest, /*excludes_largest=*/false);
  }
  Files Overlapping(int level, const UserKeyRange& range) const {
    return OverlappingFiles(level, &range.smallest, &range.largest, range.excludes_largest);
  }

  // Some file, of those that could be opened, has range tombstones.
  bool has_range_tombstones() const { return has_range_tombstones_; }
  // In files of the deepest level, where they have nothing to hide but for snapshots.
  bool has_deepest_deletions() const { return has_deepest_deletions_; }
  // Some file, of those that could be opened, has a range filter.
  bool has_range_filters() const { return has_range_filters_; }

  // One line a file, in level order; the same in tools and tests.
  std::string DebugString() const;

 private:
  // A step for a file of the level; null: it could not be opened, which the step says.
  static ExplainStep* AddStep(const SstableFile& file, int level, std::vector<ExplainStep>* steps);
  // The filter of a step's table; what it has answered, or why it could not be asked.
  static std::string FilterText(const SstableReader& reader);
  static void NoteFilterAnswer(const SstableReader& reader, FilterAnswer answer, ExplainStep* step);
  void ExplainPart(const SstableReader& reader, std::string_view lower, std::string_view upper,
                   ExplainStep* step) const;

  // A file whose key range includes the key of a look-up.
  struct Candidate {
    const SstableFile* file;
    uint64_t hash;  // of the key, as the file's filter takes it
    int level;
    // Each look-up queries a filter once: a user's policy may be behind it, and its answers are
    // counted.
    FilterAnswer answer;
    bool has_place;               // false: nobody has looked
    BlockDirectory::Place place;  // of the key in the file's index
  };
  class CandidateWalk;

  Files OverlappingFiles(int level, const std::string_view* smallest,
                         const std::string_view* largest, bool excludes_largest) const;
  Files OverlappingInLevelZero(const std::string_view* smallest, const std::string_view* largest,
                               bool excludes_largest) const;
  bool InRange(const SstableFile& file, std::string_view user_key, uint64_t prefix) const;
  // Has fetched what is read first of the candidate.
  static void FetchFilter(Candidate* candidate, const LookupKey& key, const LookupContext& context);
  // Queries the filter, and reads the file if that does not say no.
  static absl::Status GetFromCandidate(Candidate* candidate, const LookupKey& key,
                                       const LookupContext& context, PointResult* result);
  // Null: not counted.
  static FilterCounters* CountersOf(const Candidate& candidate, const LookupContext& context);
  static constexpr uint64_t kRefutableSampled = 64;
  static bool IsSampled(uint64_t number);
  // Of a look-up of what is not there.
  static void CountRefutable(SingleWriterCounter* counter, const Candidate& candidate);
  // Of a file whose filter could not be asked.
  static void CountUnasked(const Candidate& candidate, const LookupContext& context,
                           const PointResult& result);
  // The filter, which has been queried, says no, which is then counted.
  static bool IsRejected(const Candidate& candidate, const LookupContext& context);
  // Of a file that is not rejected. False: the filter is known to be wrong about the key, which is
  // then counted.
  static bool MustRead(const Candidate& candidate, const LookupKey& key,
                       const LookupContext& context);
  // What the read that followed says of the filter's answer.
  static void CountRead(const Candidate& candidate, const LookupKey& key,
                        const LookupContext& context, const PointResult& result);
  // The newest range tombstone of the file that covers the key takes the place of the entry that
  // was found in it, if there is none or it is older.
  static void ApplyTombstones(const SstableFile& file, const LookupKey& key, PointResult* result);
  // Looks the key up in one file, whose filter does not reject it, and counts what came of it.
  static absl::Status GetFromFile(const Candidate& candidate, const LookupKey& key,
                                  const LookupContext& context, PointResult* result);
  struct BatchRead;
  struct BatchSteps;
  static void MultiGetFrom(std::span<BatchRead> reads, const LookupContext& context,
                           BatchSteps* steps);
  static void LoadMissing(std::span<BatchRead* const> reads, const LookupContext& context);
  // Whether the times of its keys, if they are known, leave the file out; counted.
  static bool IsPassed(const SstableFile& file, const IteratorRange& range,
                       const LookupContext& context);
  static void KeepWanted(const IteratorRange& range, const LookupContext& context,
                         std::span<const std::shared_ptr<SstableFile>>* files, Files* copy);
  void AddFileIterator(const std::shared_ptr<SstableFile>& file, int level,
                       const IteratorRange& range, const LookupContext& context,
                       std::vector<std::unique_ptr<InternalIterator>>* iterators) const;

  const InternalKeyComparator comparator_;
  const std::array<Files, kNumLevels> levels_;
  std::vector<SortedLevel> sorted_levels_;
  bool has_range_tombstones_ = false;
  bool has_deepest_deletions_ = false;
  bool has_range_filters_ = false;
  bool has_write_times_ = false;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_VERSION_H_
