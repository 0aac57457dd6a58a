#include "engine/compaction/compaction_iterator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

CompactionIterator::CompactionIterator(InternalIterator* input,
                                       const InternalKeyComparator& comparator,
                                       std::vector<SequenceNumber> snapshots,
                                       std::function<bool(std::string_view)> is_last_level_for,
                                       const std::string* end_user_key,
                                       const RangeTombstoneIndex* tombstones)
    : input_(input),
      comparator_(comparator),
      snapshots_(std::move(snapshots)),
      is_last_level_for_(std::move(is_last_level_for)),
      end_user_key_(end_user_key),
      tombstones_(tombstones) {}

// By user key: a part ends between two user keys, never between versions of one.
bool CompactionIterator::IsPastEnd(std::string_view user_key) const {
  return end_user_key_ != nullptr && comparator_.CompareUserKeys(user_key, *end_user_key_) >= 0;
}

// Snapshots s1 < s2 < s3 cut sequence numbers into stripes; a snapshot sees entries up to and
// including its own number, so the number s1 itself belongs to the oldest stripe:
//
//   sequence   0 ......... s1 | ......... s2 | ......... s3 | .........
//   stripe          0               1              2              3
size_t CompactionIterator::Stripe(SequenceNumber sequence) const {
  if (snapshots_.empty()) return 0;
  return static_cast<size_t>(std::lower_bound(snapshots_.begin(), snapshots_.end(), sequence) -
                             snapshots_.begin());
}

void CompactionIterator::PassBounds(std::string_view user_key) {
  while (num_bounds_ <= tombstones_->num_fragments() &&
         comparator_.CompareUserKeys(tombstones_->bound(num_bounds_), user_key) <= 0) {
    num_bounds_++;
  }
}

bool CompactionIterator::IsRangeDeleted(SequenceNumber sequence, size_t stripe) const {
  if (num_bounds_ == 0 || num_bounds_ > tombstones_->num_fragments()) return false;
  const SequenceNumber newest_of_stripe =
      stripe == snapshots_.size() ? kMaxSequenceNumber : snapshots_[stripe];
  return tombstones_->NewestIn(num_bounds_ - 1, newest_of_stripe) > sequence;
}

bool CompactionIterator::IsCovered() const {
  if (tombstones_ == nullptr || num_bounds_ == 0) return false;
  return num_bounds_ <= tombstones_->num_fragments() &&
         tombstones_->NewestIn(num_bounds_ - 1, kMaxSequenceNumber) != 0;
}

// Entries of one user key come newest first. An entry is shadowed if the entry just before it has
// its user key and its stripe: every reader that could see it sees that newer one. Comparing with
// the entry before suffices, because stripes only go down within a key.
//
// 1. Tombstones shadow as puts do, even those that are then dropped themselves: last_stripe_ is set
//    before the decision.
// 2. Rule (b) needs both conditions. In a younger stripe, an older version that a snapshot keeps
//    may follow in this very stream; and above the last level one may lie in a file that is no
//    input.
// 3. The oldest stripe's surviving put of the last level is the last version of its key, for
//    everybody: its sequence number can become 0. Equal keys cannot arise: there is at most one
//    such entry per key.
bool CompactionIterator::MustKeep(std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const SequenceNumber sequence = Sequence(internal_key);
  const size_t stripe = Stripe(sequence);
  // Not the empty key at the very beginning: current_user_key_ is empty before the first entry too.
  const bool same_key =
      has_current_user_key_ && comparator_.CompareUserKeys(user_key, current_user_key_) == 0;
  if (!same_key) {
    current_user_key_.assign(user_key);
    has_current_user_key_ = true;
    user_key_is_new_ = true;
    if (tombstones_ != nullptr) [[unlikely]]
      PassBounds(user_key);
  }
  const bool shadowed = same_key && stripe == last_stripe_;
  last_stripe_ = stripe;
  if (shadowed) return false;
  if (tombstones_ != nullptr && IsRangeDeleted(sequence, stripe)) [[unlikely]] {
    num_range_deleted_++;
    return false;
  }

  key_ = internal_key;
  if (stripe != 0 || !is_last_level_for_) return true;
  const EntryType type = Type(internal_key);
  if (type == EntryType::kDelete) {
    return !is_last_level_for_(user_key);
  }
  if (type == EntryType::kPut && sequence != 0 && !IsCovered() && is_last_level_for_(user_key)) {
    rewritten_key_.assign(internal_key);
    // The input's key is not ours to change.
    EncodeFixed64(rewritten_key_.data() + user_key.size(), PackTrailer(0, type));
    key_ = rewritten_key_;
  }
  return true;
}

// An unknown entry type ends the walk with an error: an entry whose meaning is unknown can neither
// be dropped nor be known to shadow others.
//
// user_key_is_new_ outlives the entries that are dropped: the first entry shown of a user key need
// not be the first one read.
void CompactionIterator::FindNext() {
  valid_ = false;
  for (; input_->Valid(); input_->Next()) {
    const std::string_view internal_key = input_->key();
    if (IsPastEnd(UserKey(internal_key))) return;
    num_seen_++;
    if (static_cast<uint8_t>(Type(internal_key)) > kMaxKnownEntryType) {
      status_ = absl::DataLossError(
          absl::StrCat("entry of unknown type ", static_cast<int>(Type(internal_key)),
                       "; a newer version of Winnow may have written it"));
      return;
    }
    if (MustKeep(internal_key)) {
      at_new_user_key_ = user_key_is_new_;
      user_key_is_new_ = false;
      valid_ = true;
      return;
    }
    num_dropped_++;
  }
}

// An input that has ended and one that has failed are both invalid; only its status tells them
// apart.
absl::Status CompactionIterator::status() const {
  return status_.ok() ? input_->status() : status_;
}

}  // namespace winnow
