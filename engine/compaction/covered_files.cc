#include "engine/compaction/covered_files.h"

#include <algorithm>
#include <span>
#include <utility>

#include "absl/functional/function_ref.h"

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
class CoverSearch {
 public:
  explicit CoverSearch(std::span<const SequenceNumber> snapshots) : snapshots_(snapshots) {}

  // Shows `take` the level and the index of each file that is covered.
  void Visit(const Version& version, absl::FunctionRef<void(int, size_t)> take) {
    const Version::Files& newest = version.files(0);
    for (size_t i = 0; i < newest.size(); i++) {
      // Asked before its own tombstones join those that may cover it: they are no newer than what
      // it holds.
      if (IsCovered(*newest[i])) take(0, i);
      // A run for each file: those of level 0 overlap, and are in no order of keys.
      const RangeTombstoneIndex* const tombstones = newest[i]->range_tombstones();
      if (tombstones != nullptr) newer_.push_back({tombstones});
    }
    for (int level = 1; level < kNumLevels; level++) {
      const Version::Files& files = version.files(level);
      TombstoneRun of_level;
      for (size_t i = 0; i < files.size(); i++) {
        if (IsCovered(*files[i])) take(level, i);
        const RangeTombstoneIndex* const tombstones = files[i]->range_tombstones();
        if (tombstones != nullptr) of_level.push_back(tombstones);
      }
      if (!of_level.empty()) newer_.push_back(std::move(of_level));
    }
  }

 private:
  bool IsCovered(const SstableFile& file) const {
    // One that could not be opened is left for Verify to name.
    if (newer_.empty() || file.reader() == nullptr) return false;
    const FileMetadata& metadata = file.metadata();
    // Snapshots before the file's smallest number see nothing of it.
    const auto oldest_reader =
        std::lower_bound(snapshots_.begin(), snapshots_.end(), metadata.smallest_sequence);
    const Cover cover = {metadata.largest_sequence,
                         oldest_reader == snapshots_.end() ? kMaxSequenceNumber : *oldest_reader};
    return std::any_of(newer_.begin(), newer_.end(),
                       [&](const auto& run) { return Covers(run, file.range(), cover); });
  }

  const std::span<const SequenceNumber> snapshots_;
  std::vector<TombstoneRun> newer_;
};

SequenceNumber NewestIn(const Version& version) {
  SequenceNumber newest = 0;
  for (int level = 0; level < kNumLevels; level++) {
    for (const auto& file : version.files(level)) {
      newest = std::max(newest, file->metadata().largest_sequence);
    }
  }
  return newest;
}

}  // namespace

void CoveredFilesPicker::Refresh(const std::shared_ptr<const Version>& version,
                                 const std::vector<SequenceNumber>& snapshots) {
  // By owner, which no later version can have.
  const bool is_known = !version_.owner_before(version) && !version.owner_before(version_);
  if (!is_known) {
    version_.reset();  // for as long as what follows is not whole
    newest_ = NewestIn(*version);
  }
  // Later ones, such as come and go all the time, see what everybody does.
  std::vector<SequenceNumber> older(snapshots.begin(),
                                    std::lower_bound(snapshots.begin(), snapshots.end(), newest_));
  if (is_known && older == snapshots_) return;
  std::vector<Place> covered;
  CoverSearch(older).Visit(*version, [&](int level, size_t index) {
    covered.push_back({level, index});
  });
  covered_ = std::move(covered);
  snapshots_ = std::move(older);
  version_ = version;
}

std::unique_ptr<Compaction> CoveredFilesPicker::Pick(const std::shared_ptr<const Version>& version,
                                                     const std::vector<SequenceNumber>& snapshots) {
  if (!version->has_range_tombstones()) return nullptr;
  Refresh(version, snapshots);
  std::unique_ptr<Compaction> compaction;
  for (const Place& place : covered_) {
    const auto& file = version->files(place.level)[place.index];
    if (!IsIdle(*file)) continue;
    if (compaction == nullptr) compaction = std::make_unique<Compaction>();
    // Nothing is written: the output level only tells LOG and listeners where files went from.
    compaction->inputs[static_cast<size_t>(place.level)].push_back(file);
    compaction->output_level = place.level;
  }
  if (compaction == nullptr) return nullptr;
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
