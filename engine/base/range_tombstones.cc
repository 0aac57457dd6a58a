#include "engine/base/range_tombstones.h"

#include <algorithm>
#include <functional>
#include <iterator>

namespace winnow {

RangeTombstoneIndex::RangeTombstoneIndex(const InternalKeyComparator& comparator,
                                         std::span<const RangeTombstone> tombstones)
    : comparator_(comparator) {
  for (const RangeTombstone& tombstone : tombstones) {
    smallest_sequence_ = std::min(smallest_sequence_, tombstone.sequence);
    largest_sequence_ = std::max(largest_sequence_, tombstone.sequence);
  }
  TakeBounds(tombstones);
  FillTree(tombstones);
}

void RangeTombstoneIndex::TakeBounds(std::span<const RangeTombstone> tombstones) {
  bounds_.reserve(2 * tombstones.size());
  for (const RangeTombstone& tombstone : tombstones) {
    bounds_.push_back(tombstone.begin);
    bounds_.push_back(tombstone.end);
  }
  std::sort(bounds_.begin(), bounds_.end(), [this](std::string_view a, std::string_view b) {
    return comparator_.CompareUserKeys(a, b) < 0;
  });
  const auto last =
      std::unique(bounds_.begin(), bounds_.end(), [this](std::string_view a, std::string_view b) {
        return comparator_.CompareUserKeys(a, b) == 0;
      });
  bounds_.erase(last, bounds_.end());
  // Ends that tombstones share are there once; the index lives as long as its table.
  bounds_.shrink_to_fit();
  // Heads order as whole keys do in the bytewise order alone. Without them whole keys are searched.
  if (!comparator_.is_bytewise()) return;
  // They are sorted: what the first and the last share, all share.
  const std::string_view a = bounds_.front();
  const std::string_view b = bounds_.back();
  const size_t shared = CommonPrefix(a, b);
  shared_prefix_ = SharedPrefix(a.substr(0, shared));
  heads_.reserve(bounds_.size());
  for (const std::string_view bound : bounds_) heads_.push_back(KeyPrefix64(bound.substr(shared)));
}

// The tree is that of an array of leaves of any number, without pointers; a range is the nodes that
// are met on its two edges on the way up. Numbers are noted newest first, so that each node's are
// descending.
void RangeTombstoneIndex::FillTree(std::span<const RangeTombstone> tombstones) {
  const size_t num_leaves = num_fragments();
  std::vector<const RangeTombstone*> newest_first;
  newest_first.reserve(tombstones.size());
  for (const RangeTombstone& tombstone : tombstones) newest_first.push_back(&tombstone);
  std::sort(newest_first.begin(), newest_first.end(),
            [](const auto* a, const auto* b) { return a->sequence > b->sequence; });
  const auto for_each_node = [&](const RangeTombstone& tombstone, auto&& visit) {
    // Both are among the bounds.
    size_t left = NumBoundsUpTo(tombstone.begin) - 1 + num_leaves;
    size_t right = NumBoundsUpTo(tombstone.end) - 1 + num_leaves;
    // [left, right) is still to be noted. An edge whose parent would reach beyond the range is
    // noted itself, and moves inwards; otherwise the parent stands for it.
    for (; left < right; left /= 2, right /= 2) {
      if (left % 2 == 1) visit(left++);
      if (right % 2 == 1) visit(--right);
    }
  };
  // Counted first and placed then, as in a counting sort: one array has the numbers of all nodes.
  starts_.assign(2 * num_leaves + 1, 0);
  for (const RangeTombstone* tombstone : newest_first) {
    for_each_node(*tombstone, [&](size_t node) { starts_[node + 1]++; });
  }
  for (size_t i = 1; i < starts_.size(); i++) starts_[i] += starts_[i - 1];
  sequences_.resize(starts_.back());
  std::vector<uint32_t> next(starts_.begin(), starts_.end() - 1);
  for (const RangeTombstone* tombstone : newest_first) {
    for_each_node(*tombstone, [&](size_t node) { sequences_[next[node]++] = tombstone->sequence; });
  }
  // Parents have smaller numbers than their children, so that one pass carries the newest number on
  // the way from the root down to each leaf.
  std::vector<SequenceNumber> newest(2 * num_leaves, 0);
  for (size_t node = 1; node < 2 * num_leaves; node++) {
    const SequenceNumber own = starts_[node] == starts_[node + 1] ? 0 : sequences_[starts_[node]];
    newest[node] = std::max(own, newest[node / 2]);
  }
  newest_.assign(newest.begin() + static_cast<ptrdiff_t>(num_leaves), newest.end());
  for (size_t fragment = 0; fragment < num_leaves; fragment++) {
    if (newest_[fragment] == 0) uncovered_.push_back(static_cast<uint32_t>(fragment));
  }
  uncovered_.shrink_to_fit();
}

// With all tombstones in sight, a covered stretch reaches from one uncovered fragment to the next.
// At an older snapshot others may be uncovered too: neighbours are asked one by one.
size_t RangeTombstoneIndex::FirstCoveredWith(size_t fragment, SequenceNumber snapshot) const {
  if (snapshot >= largest_sequence_) [[likely]] {
    const auto after = std::lower_bound(uncovered_.begin(), uncovered_.end(), fragment);
    return after == uncovered_.begin() ? 0 : size_t{*std::prev(after)} + 1;
  }
  while (fragment > 0 && NewestIn(fragment - 1, snapshot) != 0) fragment--;
  return fragment;
}

size_t RangeTombstoneIndex::EndOfCoveredWith(size_t fragment, SequenceNumber snapshot) const {
  if (snapshot >= largest_sequence_) [[likely]] {
    const auto after = std::lower_bound(uncovered_.begin(), uncovered_.end(), fragment);
    return after == uncovered_.end() ? num_fragments() : size_t{*after};
  }
  do {
    fragment++;
  } while (fragment < num_fragments() && NewestIn(fragment, snapshot) != 0);
  return fragment;
}

// By halves over the heads, without branches; whole keys are compared only where heads are equal.
size_t RangeTombstoneIndex::NumBoundsUpTo(std::string_view user_key) const {
  const auto is_after = [this](std::string_view key, std::string_view bound) {
    return comparator_.CompareUserKeys(key, bound) < 0;
  };
  if (heads_.empty()) {
    return static_cast<size_t>(
        std::upper_bound(bounds_.begin(), bounds_.end(), user_key, is_after) - bounds_.begin());
  }
  if (const int order = shared_prefix_.Compare(user_key); order != 0) {
    return order < 0 ? 0 : bounds_.size();
  }
  const uint64_t head = shared_prefix_.HeadOf(user_key);
  size_t first = 0;
  // Invariant: all heads before `first` are smaller than `head`, none from first + length on is.
  for (size_t length = heads_.size(); length > 1;) {
    const size_t half = length / 2;
    first += heads_[first + half - 1] < head ? half : 0;
    length -= half;
  }
  if (heads_[first] < head) return bounds_.size();  // behind the last
  if (heads_[first] > head) return first;
  // Equal heads say nothing of the order: a key may be longer, or end in zeros.
  const auto tie_begin = heads_.begin() + static_cast<ptrdiff_t>(first);
  const auto tie_end = std::upper_bound(tie_begin, heads_.end(), head);
  const auto begin = bounds_.begin() + static_cast<ptrdiff_t>(first);
  const auto end = begin + (tie_end - tie_begin);
  return static_cast<size_t>(std::upper_bound(begin, end, user_key, is_after) - bounds_.begin());
}

// O(log^2 n): in each node from the leaf to the root, the first of the descending numbers that the
// snapshot sees.
SequenceNumber RangeTombstoneIndex::NewestOnPath(size_t fragment, SequenceNumber snapshot) const {
  SequenceNumber newest = 0;
  for (size_t node = fragment + num_fragments(); node > 0; node /= 2) {
    const auto begin = sequences_.begin() + starts_[node];
    const auto end = sequences_.begin() + starts_[node + 1];
    if (begin == end) continue;
    const auto found = std::lower_bound(begin, end, snapshot, std::greater<>());
    if (found != end) newest = std::max(newest, *found);
  }
  return newest;
}

size_t RangeTombstoneIndex::memory_bytes() const {
  return sizeof(*this) + bounds_.capacity() * sizeof(bounds_[0]) +
         heads_.capacity() * sizeof(heads_[0]) + newest_.capacity() * sizeof(newest_[0]) +
         uncovered_.capacity() * sizeof(uncovered_[0]) + starts_.capacity() * sizeof(starts_[0]) +
         sequences_.capacity() * sizeof(sequences_[0]);
}

// The fragment of the last search, or the gap that it fell into, bounded on either side as far as
// there is a bound: two comparisons where keys follow each other.
bool RangeTombstoneCursor::IsHere(std::string_view user_key) const {
  if (!has_place_) return false;
  const InternalKeyComparator& comparator = run_.front()->comparator();
  return (!has_begin_ || comparator.CompareUserKeys(begin_, user_key) <= 0) &&
         (!has_end_ || comparator.CompareUserKeys(user_key, end_) < 0);
}

void RangeTombstoneCursor::Search(std::string_view user_key) {
  has_place_ = !run_.empty();
  sequence_ = 0;
  if (!has_place_) return;
  const InternalKeyComparator& comparator = run_.front()->comparator();
  const auto found = std::partition_point(run_.begin(), run_.end(), [&](const auto* index) {
    return comparator.CompareUserKeys(index->last_bound(), user_key) <= 0;
  });
  // Between two indexes, before the first or behind the last: nothing covers the key.
  has_begin_ = found != run_.begin();
  if (has_begin_) begin_ = (*std::prev(found))->last_bound();
  has_end_ = found != run_.end();
  if (!has_end_) return;
  const RangeTombstoneIndex& index = **found;
  const size_t bounds = index.NumBoundsUpTo(user_key);
  end_ = index.bound(bounds);  // not the last bound, which is greater
  if (bounds == 0) return;
  index_ = &index;
  fragment_ = bounds - 1;
  has_begin_ = true;
  begin_ = index.bound(fragment_);
  sequence_ = index.NewestIn(fragment_, snapshot_);
}

// Goes no further than the index that answered: those of its neighbours are found with their own
// keys.
std::string_view RangeTombstoneCursor::CoveredFrom() {
  return index_->bound(index_->FirstCoveredWith(fragment_, snapshot_));
}

std::string_view RangeTombstoneCursor::CoveredUpTo() {
  return index_->bound(index_->EndOfCoveredWith(fragment_, snapshot_));
}

}  // namespace winnow
