#include "engine/compaction/range_tombstone_merge.h"

#include <algorithm>
#include <utility>

namespace winnow {

const RangeTombstoneIndex* RangeTombstoneMerge::index() {
  if (index_.has_value()) return &*index_;
  if (tombstones_.empty()) return nullptr;
  // The list is needed no more: the index has copied bounds and numbers, and borrows the keys'
  // bytes from the inputs, as the list did.
  index_.emplace(comparator_, tombstones_);
  tombstones_ = {};
  return &*index_;
}

// Readers of one stripe see all that its newest tombstone hides as hidden by it.
std::vector<SequenceNumber> RangeTombstoneMerge::KeptIn(
    size_t fragment, const std::vector<SequenceNumber>& snapshots,
    const std::function<bool()>& is_last_level) const {
  std::vector<SequenceNumber> kept;
  // From the newest stripe down: `upper` is the largest number of the stripe, `lower` that of the
  // one below it.
  SequenceNumber upper = kMaxSequenceNumber;
  for (size_t stripe = snapshots.size() + 1; stripe-- > 0;) {
    const SequenceNumber lower = stripe == 0 ? 0 : snapshots[stripe - 1];
    const SequenceNumber newest = index_->NewestIn(fragment, upper);
    // No tombstone is as old as that, and so none is older.
    if (newest == 0) break;
    // A number up to `lower` belongs to an older stripe, which finds it again. Whether anything
    // lies below is asked last, since files have to be searched for that.
    if (newest > lower && (stripe > 0 || !is_last_level())) kept.push_back(newest);
    upper = lower;
  }
  return kept;
}

// Neighbours of which the same is kept become one again: what cut them apart may be gone.
std::vector<RangeTombstoneFragment> RangeTombstoneMerge::Kept(
    const std::vector<SequenceNumber>& snapshots, const IsLastLevelFor& is_last_level_for,
    const std::optional<std::string>& begin, const std::optional<std::string>& end) {
  std::vector<RangeTombstoneFragment> fragments;
  const RangeTombstoneIndex* const all = index();
  if (all == nullptr) return fragments;
  for (size_t i = 0; i < all->num_fragments(); i++) {
    std::string_view low = all->bound(i);
    std::string_view high = all->bound(i + 1);
    // Of a tombstone that reaches over several parts of a compaction each writes the piece in its
    // own range: the pieces meet at the parts' borders.
    if (begin.has_value() && comparator_.CompareUserKeys(low, *begin) < 0) low = *begin;
    if (end.has_value() && comparator_.CompareUserKeys(*end, high) < 0) high = *end;
    if (comparator_.CompareUserKeys(low, high) >= 0) continue;
    std::vector<SequenceNumber> kept =
        KeptIn(i, snapshots, [&] { return is_last_level_for && is_last_level_for(low, high); });
    if (kept.empty()) continue;
    if (!fragments.empty() && fragments.back().sequences == kept &&
        comparator_.CompareUserKeys(fragments.back().end, low) == 0) {
      fragments.back().end = high;
    } else {
      fragments.push_back({low, high, std::move(kept)});
    }
  }
  return fragments;
}

bool IsBottommostFor(const Compaction& compaction, std::string_view begin, std::string_view end) {
  if (compaction.output_level == 0) return false;
  // By the version in which the inputs were picked: whatever has been moved since then has only
  // gone further down.
  const UserKeyRange range{begin, end, /*excludes_largest=*/true};
  for (int level = compaction.output_level + 1; level < kNumLevels; level++) {
    if (!compaction.version->Overlapping(level, range).empty()) return false;
  }
  return true;
}

}  // namespace winnow
