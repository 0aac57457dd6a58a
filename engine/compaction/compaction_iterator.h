// Which entries of a sorted stream are still needed by somebody.
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"

namespace winnow {

// Walks `input` (sorted, every version of the keys it covers that lies in the inputs) and shows the
// entries that must be kept. The snapshots s1 < s2 < ... cut history into stripes; readers of one
// stripe see only its newest version of a key. An entry is therefore dropped if
//   (a) a newer version of its key, or a newer range tombstone over it, lies in the same stripe, or
//   (b) it is a tombstone in the oldest stripe and no deeper level can hold its key.
// The newest stripe is that of readers without a snapshot. Dropping a tombstone in a younger stripe
// would uncover older versions that snapshots keep. An entry of the oldest stripe on the last level
// gets sequence number 0, which compresses better and is visible to the same readers; not where a
// range tombstone of the inputs covers it, which may stay, and would then hide it.
class CompactionIterator {
 public:
  // `snapshots` ascending; taken once, so that a release in the middle changes nothing.
  // `is_last_level_for(user_key)`: no level below the output can hold the key; called with
  // ascending keys. Null: never so (flushes).
  // `end_user_key`: the walk ends before that key. Null: with the input.
  // `tombstones`: of all inputs; null: they have none. Outlives the iterator.
  CompactionIterator(InternalIterator* input, const InternalKeyComparator& comparator,
                     std::vector<SequenceNumber> snapshots,
                     std::function<bool(std::string_view user_key)> is_last_level_for,
                     const std::string* end_user_key = nullptr,
                     const RangeTombstoneIndex* tombstones = nullptr);

  // Starts where `input` stands.
  void Start() { FindNext(); }
  bool Valid() const { return valid_; }
  void Next() {
    input_->Next();
    FindNext();
  }
  std::string_view key() const { return key_; }
  std::string_view value() const { return input_->value(); }
  // True if key() belongs to another user key than the entry shown before: a file may end here.
  bool at_new_user_key() const { return at_new_user_key_; }
  // An error of the input, or DataLoss for an entry of unknown type.
  absl::Status status() const;

  // Entries read from the input, kept or dropped.
  uint64_t num_seen() const { return num_seen_; }
  uint64_t num_dropped() const { return num_dropped_; }
  // Of those that were dropped, the ones that a range tombstone hides.
  uint64_t num_range_deleted() const { return num_range_deleted_; }

 private:
  void FindNext();
  bool IsPastEnd(std::string_view user_key) const;
  // Index of the stripe: the number of snapshots older than the sequence number.
  size_t Stripe(SequenceNumber sequence) const;
  bool MustKeep(std::string_view internal_key);
  // Of the present user key: a newer range tombstone of the stripe of `sequence` covers it; any
  // range tombstone does.
  bool IsRangeDeleted(SequenceNumber sequence, size_t stripe) const;
  bool IsCovered() const;
  // Keys ascend, so that bounds are passed once.
  void PassBounds(std::string_view user_key);

  InternalIterator* const input_;
  const InternalKeyComparator comparator_;
  const std::vector<SequenceNumber> snapshots_;
  const std::function<bool(std::string_view)> is_last_level_for_;
  const std::string* const end_user_key_;
  const RangeTombstoneIndex* const tombstones_;
  size_t num_bounds_ = 0;  // of tombstones_ that are <= the present user key

  std::string current_user_key_;
  bool has_current_user_key_ = false;
  size_t last_stripe_ = 0;
  bool user_key_is_new_ = false;
  bool at_new_user_key_ = false;
  bool valid_ = false;
  std::string_view key_;
  std::string rewritten_key_;
  uint64_t num_seen_ = 0;
  uint64_t num_dropped_ = 0;
  uint64_t num_range_deleted_ = 0;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_
