#include "engine/compaction/covered_files.h"

#include <algorithm>
#include <span>

namespace winnow {

namespace {

using TombstoneRun = std::vector<const RangeTombstoneIndex*>;

// What no reader but those of older snapshots needs of a file.
struct Cover {
  SequenceNumber above;    // the newest that the file holds
  SequenceNumber at_most;  // every snapshot that sees something of the file sees this as well
};

// Whether the fragments of the run leave no gap in the range. They are walked one by one from its
// beginning, and the first gap ends it: without a cover that is a search by halves.
bool Covers(std::span<const RangeTombstoneIndex* const> run, const UserKeyRange& range,
            const Cover& cover) {
  if (run.empty()) return false;
  const InternalKeyComparator& comparator = run.front()->comparator();
  // The first that reaches beyond the beginning of the range.
  auto index = std::partition_point(run.begin(), run.end(), [&](const auto* candidate) {
    return comparator.CompareUserKeys(candidate->last_bound(), range.smallest) <= 0;
  });
  std::string_view key = range.smallest;
  // Invariant: all that lies in the range before `key` is covered.
  for (; index != run.end(); ++index) {
    const size_t bounds = (*index)->NumBoundsUpTo(key);
    // A gap: this index begins behind what the one before it covers.
    if (bounds == 0) return false;
    for (size_t fragment = bounds - 1; fragment < (*index)->num_fragments(); fragment++) {
      // A tombstone that some snapshot does not see cannot be counted on, however new it is: it is
      // looked for among those that all of them see.
      if ((*index)->NewestIn(fragment, cover.at_most) <= cover.above) return false;
      // Exclusive: a largest key equal to it is covered only if that is exclusive, too.
      key = (*index)->bound(fragment + 1);
      const int order = comparator.CompareUserKeys(range.largest, key);
      if (order < 0 || (order == 0 && range.excludes_largest)) return true;
    }
  }
  return false;
}

// The tombstones of a version, newest place first, and each file asked after those newer than it.
class CoveredFiles {
 public:
  CoveredFiles(const std::vector<SequenceNumber>& snapshots, Compaction* compaction)
      : snapshots_(snapshots), compaction_(compaction) {}

  void Visit(const Version& version) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    for (const auto& file : version.files(0)) {
      // Asked before its own tombstones join those that may cover it: they are no newer than what
      // it holds.
      Take(file, 0);
      // A run for each file: those of level 0 overlap, and are in no order of keys.
      if (file->range_tombstones() != nullptr) newer_.push_back({file->range_tombstones()});
    }
    for (int level = 1; level < kNumLevels; level++) {
      TombstoneRun of_level;
      for (const auto& file : version.files(level)) {
        Take(file, level);
        if (file->range_tombstones() != nullptr) of_level.push_back(file->range_tombstones());
      }
      if (!of_level.empty()) newer_.push_back(std::move(of_level));
    }
  }

 private:
  void Take(const std::shared_ptr<SstableFile>& file, int level)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    // One that could not be opened is left for Verify to name.
    if (newer_.empty() || !IsIdle(*file) || file->reader() == nullptr) return;
    const FileMetadata& metadata = file->metadata();
    // Snapshots before the file's smallest number see nothing of it.
    const auto oldest_reader =
        std::lower_bound(snapshots_.begin(), snapshots_.end(), metadata.smallest_sequence);
    const Cover cover = {metadata.largest_sequence,
                         oldest_reader == snapshots_.end() ? kMaxSequenceNumber : *oldest_reader};
    const bool is_covered = std::any_of(newer_.begin(), newer_.end(), [&](const auto& run) {
      return Covers(run, file->range(), cover);
    });
    if (!is_covered) return;
    // Nothing is written: the output level only tells LOG and listeners where files went from.
    compaction_->inputs[static_cast<size_t>(level)].push_back(file);
    compaction_->output_level = level;
  }

  const std::vector<SequenceNumber>& snapshots_;
  Compaction* const compaction_;
  std::vector<TombstoneRun> newer_;
};

}  // namespace

std::unique_ptr<Compaction> PickCoveredFiles(const std::shared_ptr<const Version>& version,
                                             const std::vector<SequenceNumber>& snapshots) {
  if (!version->has_range_tombstones()) return nullptr;
  auto compaction = std::make_unique<Compaction>();
  CoveredFiles(snapshots, compaction.get()).Visit(*version);
  if (compaction->num_input_files() == 0) return nullptr;
  compaction->version = version;
  compaction->reason = kRangeDeletedReason;
  compaction->drops_inputs = true;
  return compaction;
}

// Stretches without a gap, as far as they are few: where there are many they are narrow. A file
// that reaches out of a stretch counts by half.
uint64_t CoveredBytesBelow(const Version& version, int level, const SstableFile& file) {
  constexpr int kMostStretches = 16;
  const RangeTombstoneIndex* const tombstones = file.range_tombstones();
  if (tombstones == nullptr) return 0;
  const InternalKeyComparator& comparator = version.comparator();
  uint64_t bytes = 0;
  int stretches = 0;
  for (size_t begin = 0; begin < tombstones->num_fragments() && stretches < kMostStretches;) {
    size_t end = begin;
    // Any tombstone counts, whatever snapshots still see beside it: this is an estimate for who
    // picks.
    while (end < tombstones->num_fragments() &&
           tombstones->NewestIn(end, kMaxSequenceNumber) != 0) {
      end++;
    }
    if (end == begin) {
      begin++;
      continue;
    }
    const UserKeyRange stretch = {tombstones->bound(begin), tombstones->bound(end),
                                  /*excludes_largest=*/true};
    for (int below = level + 1; below < kNumLevels; below++) {
      for (const auto& older : version.Overlapping(below, stretch)) {
        const bool is_inside =
            comparator.CompareUserKeys(stretch.smallest, older->smallest_user_key()) <= 0 &&
            older->EndsBefore(stretch.largest, comparator);
        const uint64_t all = older->metadata().file_bytes;
        // The whole of a file, though entries newer than the tombstone may be in it: files below
        // are older as a rule.
        bytes += is_inside ? all : all / 2;
      }
    }
    stretches++;
    begin = end;
  }
  return bytes;
}

}  // namespace winnow
