// Range deletions, indexed for readers: which of them cover a key, in logarithmic time.
//
// The ends of the tombstones cut the key space into fragments, in each of which the same tombstones
// hold. Over the fragments stands a segment tree (Bentley, 1977): a tombstone is noted at the
// O(log n) nodes whose fragments together are its own, so that n tombstones take O(n log n) memory
// however they overlap. A list of all tombstones at each fragment would be quadratic where they
// nest.
#ifndef WINNOW_ENGINE_BASE_RANGE_TOMBSTONES_H_
#define WINNOW_ENGINE_BASE_RANGE_TOMBSTONES_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/base/internal_key.h"
#include "engine/base/shared_prefix.h"

namespace winnow {

// Hides all older entries of the keys in [begin, end), which is not empty.
struct RangeTombstone {
  std::string_view begin;
  std::string_view end;
  SequenceNumber sequence = 0;
};

// A part of the key space and the tombstones that are kept for it, the newest first.
struct RangeTombstoneFragment {
  std::string_view begin;
  std::string_view end;
  std::vector<SequenceNumber> sequences;  // descending, at least one
};

// Immutable; thread-safe. Borrows the keys' bytes.
class RangeTombstoneIndex {
 public:
  // In any order; at least one. They may overlap in any way.
  RangeTombstoneIndex(const InternalKeyComparator& comparator,
                      std::span<const RangeTombstone> tombstones);
  RangeTombstoneIndex(const RangeTombstoneIndex&) = delete;
  RangeTombstoneIndex& operator=(const RangeTombstoneIndex&) = delete;

  // Of the tombstones that cover the key and are no newer than `snapshot`, the newest one's number;
  // 0 if there is none.
  SequenceNumber NewestCovering(std::string_view user_key, SequenceNumber snapshot) const {
    const size_t bounds = NumBoundsUpTo(user_key);
    return bounds == 0 || bounds == bounds_.size() ? 0 : NewestIn(bounds - 1, snapshot);
  }

  // Fragment i is [bound(i), bound(i + 1)). Between two tombstones there are some without any.
  size_t num_fragments() const { return bounds_.size() - 1; }
  std::string_view bound(size_t i) const { return bounds_[i]; }
  std::string_view last_bound() const { return bounds_.back(); }
  // How many bounds are <= the key: it lies in the fragment before that one, if there is one.
  size_t NumBoundsUpTo(std::string_view user_key) const;
  // As NewestCovering, for the keys of a fragment.
  SequenceNumber NewestIn(size_t fragment, SequenceNumber snapshot) const {
    const SequenceNumber newest = newest_[fragment];
    if (newest <= snapshot) [[likely]]
      return newest;
    return NewestOnPath(fragment, snapshot);
  }

  // Of the fragments around this one, which is covered at `snapshot`, that are covered too, without
  // a gap: the first, and the one behind the last. Logarithmic where the snapshot sees all
  // tombstones, else linear in what is covered.
  size_t FirstCoveredWith(size_t fragment, SequenceNumber snapshot) const;
  size_t EndOfCoveredWith(size_t fragment, SequenceNumber snapshot) const;

  SequenceNumber smallest_sequence() const { return smallest_sequence_; }
  SequenceNumber largest_sequence() const { return largest_sequence_; }
  const InternalKeyComparator& comparator() const { return comparator_; }
  size_t memory_bytes() const;

 private:
  void TakeBounds(std::span<const RangeTombstone> tombstones);
  void FillTree(std::span<const RangeTombstone> tombstones);
  SequenceNumber NewestOnPath(size_t fragment, SequenceNumber snapshot) const;

  const InternalKeyComparator comparator_;
  std::vector<std::string_view> bounds_;  // ascending, distinct
  SharedPrefix shared_prefix_;            // of all bounds; bytewise order only
  std::vector<uint64_t> heads_;           // eight bytes of each bound behind the prefix
  std::vector<SequenceNumber> newest_;    // of each fragment; 0: no tombstone covers it
  std::vector<uint32_t> uncovered_;       // the fragments that no tombstone covers, ascending
  // Node i of the tree, 1 to 2 * num_fragments() - 1, has the numbers [starts_[i], starts_[i + 1])
  // of sequences_, descending. Its parent is node i / 2; fragment f is node f + num_fragments().
  std::vector<uint32_t> starts_;
  std::vector<SequenceNumber> sequences_;
  SequenceNumber smallest_sequence_ = kMaxSequenceNumber;
  SequenceNumber largest_sequence_ = 0;
};

// The present place in tombstones that are asked for keys next to each other: where the same
// fragment answers again, nothing is searched.
class RangeTombstoneCursor {
 public:
  // `run`: indexes in order of their keys, none of which reaches into the next one's. It and they
  // must outlive the cursor. No tombstone newer than `snapshot` counts.
  RangeTombstoneCursor(std::span<const RangeTombstoneIndex* const> run, SequenceNumber snapshot)
      : run_(run), snapshot_(snapshot) {}

  // The number of the newest tombstone that covers the key; 0: none does.
  SequenceNumber Find(std::string_view user_key) {
    if (!IsHere(user_key)) Search(user_key);
    return sequence_;
  }
  // After a Find that gave a tombstone: the keys around it that are covered too, be it by other
  // tombstones, begin at the one and end before the other.
  std::string_view CoveredFrom();
  std::string_view CoveredUpTo();

 private:
  bool IsHere(std::string_view user_key) const;
  void Search(std::string_view user_key);

  const std::span<const RangeTombstoneIndex* const> run_;
  const SequenceNumber snapshot_;
  bool has_place_ = false;
  SequenceNumber sequence_ = 0;
  const RangeTombstoneIndex* index_ = nullptr;  // whose fragment it is, if sequence_ is not 0
  size_t fragment_ = 0;
  // Keys k with begin_ <= k < end_, as far as they are set.
  bool has_begin_ = false;
  bool has_end_ = false;
  std::string_view begin_;
  std::string_view end_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_RANGE_TOMBSTONES_H_
