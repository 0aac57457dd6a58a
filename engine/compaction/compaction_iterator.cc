#include "engine/compaction/compaction_iterator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

CompactionIterator::CompactionIterator(
    InternalIterator* input, const InternalKeyComparator& comparator,
    const MergeOperator* merge_operator, std::vector<SequenceNumber> snapshots,
    std::function<bool(std::string_view)> is_last_level_for, const std::string* end_user_key,
    const RangeTombstoneIndex* tombstones, EntryCollector* collector)
    : input_(input),
      comparator_(comparator),
      snapshots_(std::move(snapshots)),
      is_last_level_for_(std::move(is_last_level_for)),
      end_user_key_(end_user_key),
      tombstones_(tombstones),
      collector_(collector),
      chain_(merge_operator) {}

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
  // One comparison for each key, and one for each bound of a whole walk.
  while (num_bounds_ <= tombstones_->num_fragments() &&
         comparator_.CompareUserKeys(tombstones_->bound(num_bounds_), user_key) <= 0) {
    num_bounds_++;
  }
}

bool CompactionIterator::IsRangeDeleted(SequenceNumber sequence) const {
  if (tombstones_ == nullptr) [[likely]]
    return false;
  // The key lies in the fragment between the bounds num_bounds_ - 1 and num_bounds_; before the
  // first bound and behind the last there is none.
  if (num_bounds_ == 0 || num_bounds_ > tombstones_->num_fragments()) return false;
  const SequenceNumber newest_of_stripe =
      last_stripe_ == snapshots_.size() ? kMaxSequenceNumber : snapshots_[last_stripe_];
  return tombstones_->NewestIn(num_bounds_ - 1, newest_of_stripe) > sequence;
}

bool CompactionIterator::IsCovered() const {
  if (tombstones_ == nullptr || num_bounds_ == 0) return false;
  // Tombstones of any stripe count: the number 0 would put the entry below every one of them.
  return num_bounds_ <= tombstones_->num_fragments() &&
         tombstones_->NewestIn(num_bounds_ - 1, kMaxSequenceNumber) != 0;
}

// Entries of one user key come newest first. An entry is hidden if the entry just before it has its
// user key and its stripe: every reader that could see it sees that newer one, unless that is an
// operand. Comparing with the entry before suffices, because stripes only go down within a key.
// Tombstones hide as puts do, even those that are then dropped themselves.
bool CompactionIterator::IsHidden(std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const size_t stripe = Stripe(Sequence(internal_key));
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
  const bool hidden = same_key && stripe == last_stripe_ && last_hides_;
  last_stripe_ = stripe;
  if (!hidden) last_hides_ = Type(internal_key) != EntryType::kMerge;
  return hidden;
}

// Of the oldest stripe alone, whose entries every snapshot sees: what is garbage by them is so for
// everybody.
bool CompactionIterator::IsCollected(std::string_view internal_key) {
  becomes_deletion_ = false;
  may_become_0_ = true;
  if (collector_ == nullptr || last_stripe_ != 0 || !IsPut(Type(internal_key))) [[likely]]
    return false;
  auto decision = EntryCollector::Decision::kKeepNumber;
  // A value with a write time at its end is none that the owner of the family has written.
  if (Type(internal_key) == EntryType::kPut) {
    decision = collector_->Decide(UserKey(internal_key), Sequence(internal_key), input_->value());
  }
  switch (decision) {
    case EntryCollector::Decision::kKeep:
      return false;
    case EntryCollector::Decision::kKeepNumber:
      may_become_0_ = false;
      return false;
    case EntryCollector::Decision::kDrop:
      num_collected_++;
      return true;
    case EntryCollector::Decision::kDelete:
      break;
  }
  num_collected_++;
  becomes_deletion_ = is_last_level_for_ == nullptr || !is_last_level_for_(UserKey(internal_key));
  return !becomes_deletion_;
}

// Of an entry that is not hidden. Rule (b) needs both conditions: in a younger stripe, an older
// version that a snapshot keeps may follow in this very stream; and above the last level one may
// lie in a file that is no input.
bool CompactionIterator::MustKeep(std::string_view internal_key) {
  const bool may_go = Type(internal_key) == EntryType::kDelete && last_stripe_ == 0 &&
                      is_last_level_for_ != nullptr;
  return !may_go || !is_last_level_for_(UserKey(internal_key));
}

// The oldest stripe's surviving put of the last level is the last version of its key, for
// everybody: its sequence number can become 0. Equal keys cannot arise: there is at most one such
// entry per key.
//
// user_key_is_new_ outlives the entries that are dropped: the first entry shown of a user key need
// not be the first one read.
void CompactionIterator::Show(std::string_view internal_key) {
  at_new_user_key_ = user_key_is_new_;
  user_key_is_new_ = false;
  valid_ = true;
  key_ = internal_key;
  const std::string_view user_key = UserKey(internal_key);
  if (becomes_deletion_) [[unlikely]] {
    // Its number stays, so that snapshots and range tombstones judge it as they did before.
    rewritten_key_.assign(internal_key);
    EncodeFixed64(rewritten_key_.data() + user_key.size(),
                  PackTrailer(Sequence(internal_key), EntryType::kDelete));
    key_ = rewritten_key_;
    return;
  }
  if (last_stripe_ != 0 || is_last_level_for_ == nullptr || !may_become_0_) return;
  const EntryType type = Type(internal_key);
  // Not below operands that are kept beside it: they end where it stands.
  const bool stands_alone = !in_chain_ || chain_.size() == 1;
  if (IsPut(type) && Sequence(internal_key) != 0 && stands_alone && !IsCovered() &&
      is_last_level_for_(user_key)) {
    rewritten_key_.assign(internal_key);
    // The input's key is not ours to change.
    EncodeFixed64(rewritten_key_.data() + user_key.size(), PackTrailer(0, type));
    key_ = rewritten_key_;
  }
}

// An unknown entry type ends the walk with an error: an entry whose meaning is unknown can neither
// be dropped nor be known to hide others.
bool CompactionIterator::IsKnown(std::string_view internal_key) {
  if (IsKnownEntryType(Type(internal_key))) [[likely]]
    return true;
  status_ = absl::DataLossError(absl::StrCat("entry of unknown type ",
                                             static_cast<int>(Type(internal_key)),
                                             "; a newer version of Winnow may have written it"));
  return false;
}

void CompactionIterator::FindNext() {
  valid_ = false;
  is_paused_ = false;
  becomes_deletion_ = false;
  for (uint64_t passed_bytes = 0; input_->Valid(); input_->Next()) {
    if (passed_bytes >= kBytesBetweenCancelChecks) [[unlikely]] {
      is_paused_ = true;
      return;
    }
    const std::string_view internal_key = input_->key();
    if (IsPastEnd(UserKey(internal_key))) return;
    // Once for each entry, pauses or not: the sum of all parts is compared with the manifest's
    // count.
    num_seen_++;
    if (!IsKnown(internal_key)) return;
    if (!IsHidden(internal_key)) {
      if (IsRangeDeleted(Sequence(internal_key))) [[unlikely]] {
        num_range_deleted_++;
      } else if (Type(internal_key) == EntryType::kMerge) {
        may_become_0_ = true;
        ShowChain();
        return;
      } else if (!IsCollected(internal_key) && MustKeep(internal_key)) {
        Show(internal_key);
        return;
      }
    }
    num_dropped_++;
    passed_bytes += BytesForCancelCheck(input_->value());
  }
}

// Reads on to the end of key, stripe or chain. Readers of one stripe see all of a chain or none of
// it; what lies in an older stripe is a snapshot's, and stays.
std::optional<CompactionIterator::ChainEnd> CompactionIterator::ReadChain() {
  chain_.Start(current_user_key_);
  chain_.Add(input_->key(), input_->value());
  for (input_->Next(); input_->Valid(); input_->Next()) {
    const std::string_view internal_key = input_->key();
    if (comparator_.CompareUserKeys(UserKey(internal_key), current_user_key_) != 0) {
      return ChainEnd::kKey;
    }
    if (Stripe(Sequence(internal_key)) != last_stripe_ || chain_.IsFull()) return ChainEnd::kOpen;
    // That entry, and all older ones of the stripe, are dropped behind the chain.
    if (IsRangeDeleted(Sequence(internal_key))) return ChainEnd::kRangeDeleted;
    num_seen_++;
    if (!IsKnown(internal_key)) return std::nullopt;
    chain_.Add(internal_key, input_->value());
    if (Type(internal_key) == EntryType::kMerge) continue;
    last_hides_ = true;
    input_->Next();
    return ChainEnd::kBase;
  }
  if (!input_->status().ok()) return std::nullopt;
  return ChainEnd::kKey;
}

// Where the operator makes no value, nothing is lost: readers are told of it, and another version
// of the operator may know better.
void CompactionIterator::ShowChain() {
  const std::optional<ChainEnd> end = ReadChain();
  if (!end.has_value()) return;
  const size_t read = chain_.size();
  const bool nothing_is_older =
      *end == ChainEnd::kRangeDeleted || (*end == ChainEnd::kKey && is_last_level_for_ != nullptr &&
                                          is_last_level_for_(current_user_key_));
  if (*end != ChainEnd::kBase && !nothing_is_older) {
    chain_.Combine();
  } else if (absl::Status merged = chain_.MergeWhole(); !merged.ok()) {
    if (num_merge_failures_++ == 0) merge_failure_ = std::move(merged);
  }
  // All but the one entry that stands for them; where the operator refused, none.
  num_dropped_ += read - chain_.size();
  in_chain_ = true;
  Show(chain_.key());
}

void CompactionIterator::NextOfChain() {
  chain_.NextOutput();
  if (chain_.has_output()) {
    Show(chain_.key());
    return;
  }
  in_chain_ = false;
  FindNext();
}

// An input that has ended and one that has failed are both invalid; only its status tells them
// apart.
absl::Status CompactionIterator::status() const {
  return status_.ok() ? input_->status() : status_;
}

}  // namespace winnow
