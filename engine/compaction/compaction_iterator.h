// Which entries of a sorted stream are still needed by somebody.
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/entry_collector.h"
#include "engine/base/internal_iterator.h"
#include "engine/base/internal_key.h"
#include "engine/base/range_tombstones.h"
#include "engine/compaction/operand_chain.h"

namespace winnow {

// How much a job reads or writes until it looks again whether it has been cancelled: small entries
// count as 1 KiB, so that these are 1,024 of them, or one that is large.
inline constexpr uint64_t kBytesBetweenCancelChecks = uint64_t{1} << 20;
inline uint64_t BytesForCancelCheck(std::string_view value) {
  return std::max<uint64_t>(value.size(), uint64_t{1} << 10);
}

// Walks `input` (sorted, every version of the keys it covers that lies in the inputs) and shows the
// entries that must be kept. The snapshots s1 < s2 < ... cut history into stripes; readers of one
// stripe see only its newest version of a key. An entry is therefore dropped if
//   (a) a newer version of its key, or a newer range tombstone over it, lies in the same stripe, or
//   (b) it is a tombstone in the oldest stripe and no deeper level can hold its key.
// Merge operands of one stripe, and the value or deletion that they come upon there, become one
// value; without that one operand, where the operator can. Nothing else hides operands that are
// newer than itself, and operands hide nothing. What the operator refuses stays as it is.
// The newest stripe is that of readers without a snapshot. Dropping a tombstone in a younger stripe
// would uncover older versions that snapshots keep. An entry of the oldest stripe on the last level
// gets sequence number 0, which compresses better and is visible to the same readers; not where a
// range tombstone of the inputs covers it, which may stay, and would then hide it.
// The family's collector is shown the values of the oldest stripe that are left then. What it drops
// hides older versions of its key all the same.
class CompactionIterator {
 public:
  // `snapshots` ascending; taken once, so that a release in the middle changes nothing.
  // `is_last_level_for(user_key)`: no level below the output can hold the key; called with
  // ascending keys. Null: never so (flushes).
  // `end_user_key`: the walk ends before that key. Null: with the input.
  // `tombstones`: of all inputs; null: they have none. `collector`: null: there is none. They and
  // the operator outlive the iterator.
  CompactionIterator(InternalIterator* input, const InternalKeyComparator& comparator,
                     const MergeOperator* merge_operator, std::vector<SequenceNumber> snapshots,
                     std::function<bool(std::string_view user_key)> is_last_level_for,
                     const std::string* end_user_key = nullptr,
                     const RangeTombstoneIndex* tombstones = nullptr,
                     EntryCollector* collector = nullptr);

  // Starts where `input` stands.
  void Start() { FindNext(); }
  bool Valid() const { return valid_; }
  // Not Valid(), and yet not at its end: kBytesBetweenCancelChecks have been read without an entry
  // to show. Resume() reads on.
  bool is_paused() const { return is_paused_; }
  void Resume() { FindNext(); }
  void Next() {
    if (in_chain_) [[unlikely]] {
      NextOfChain();
      return;
    }
    input_->Next();
    FindNext();
  }
  std::string_view key() const { return key_; }
  std::string_view value() const {
    if (becomes_deletion_) return {};
    return in_chain_ ? chain_.value() : input_->value();
  }
  // True if key() belongs to another user key than the entry shown before: a file may end here.
  bool at_new_user_key() const { return at_new_user_key_; }
  // An error of the input, or DataLoss for an entry of unknown type.
  absl::Status status() const;

  // Entries read from the input, kept or dropped.
  uint64_t num_seen() const { return num_seen_; }
  uint64_t num_dropped() const { return num_dropped_; }
  // Chains of operands of which the operator made no value.
  uint64_t num_merge_failures() const { return num_merge_failures_; }
  // Of the first of them.
  const absl::Status& merge_failure() const { return merge_failure_; }
  // Of those that were dropped, the ones that a range tombstone hides.
  uint64_t num_range_deleted() const { return num_range_deleted_; }
  // What the collector dropped, or made a deletion of.
  uint64_t num_collected() const { return num_collected_; }

 private:
  void FindNext();
  bool IsPastEnd(std::string_view user_key) const;
  // Index of the stripe: the number of snapshots older than the sequence number.
  size_t Stripe(SequenceNumber sequence) const;
  bool IsKnown(std::string_view internal_key);
  // To be asked for each entry in turn.
  bool IsHidden(std::string_view internal_key);
  // Of one that is not hidden: the collector drops it, and nothing takes its place.
  bool IsCollected(std::string_view internal_key);
  bool MustKeep(std::string_view internal_key);
  // Shows an entry that is to be kept.
  void Show(std::string_view internal_key);
  // From an operand on, which the input stands on: reads all that are merged with it, and shows the
  // first that is to be kept. The input then stands behind them.
  void ShowChain();
  // kRangeDeleted: a range tombstone of the stripe comes before the next version.
  enum class ChainEnd { kOpen, kBase, kKey, kRangeDeleted };
  // How it ended; nothing after an error.
  std::optional<ChainEnd> ReadChain();
  void NextOfChain();
  // Of the present user key: a newer range tombstone of the present stripe covers it; any range
  // tombstone does.
  bool IsRangeDeleted(SequenceNumber sequence) const;
  bool IsCovered() const;
  // Keys ascend, so that bounds are passed once.
  void PassBounds(std::string_view user_key);

  InternalIterator* const input_;
  const InternalKeyComparator comparator_;
  const std::vector<SequenceNumber> snapshots_;
  const std::function<bool(std::string_view)> is_last_level_for_;
  const std::string* const end_user_key_;
  const RangeTombstoneIndex* const tombstones_;
  EntryCollector* const collector_;
  size_t num_bounds_ = 0;  // of tombstones_ that are <= the present user key

  std::string current_user_key_;
  bool has_current_user_key_ = false;
  size_t last_stripe_ = 0;
  // The entry before was no operand, which hides nothing.
  bool last_hides_ = false;
  OperandChain chain_;
  bool in_chain_ = false;  // key and value are the chain's
  // Of the present entry, by the collector.
  bool becomes_deletion_ = false;
  bool may_become_0_ = true;
  bool user_key_is_new_ = false;
  bool at_new_user_key_ = false;
  bool valid_ = false;
  bool is_paused_ = false;
  std::string_view key_;
  std::string rewritten_key_;
  uint64_t num_seen_ = 0;
  uint64_t num_dropped_ = 0;
  uint64_t num_merge_failures_ = 0;
  absl::Status merge_failure_;
  uint64_t num_range_deleted_ = 0;
  uint64_t num_collected_ = 0;
  absl::Status status_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTION_ITERATOR_H_
