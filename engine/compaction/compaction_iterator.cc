#include "engine/compaction/compaction_iterator.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace winnow {

CompactionIterator::CompactionIterator(InternalIterator* input,
                                       const InternalKeyComparator& comparator,
                                       std::vector<SequenceNumber> snapshots,
                                       std::function<bool(std::string_view)> is_last_level_for,
                                       const std::string* end_user_key)
    : input_(input),
      comparator_(comparator),
      snapshots_(std::move(snapshots)),
      is_last_level_for_(std::move(is_last_level_for)),
      end_user_key_(end_user_key) {}

bool CompactionIterator::IsPastEnd(std::string_view user_key) const {
  return end_user_key_ != nullptr && comparator_.CompareUserKeys(user_key, *end_user_key_) >= 0;
}

size_t CompactionIterator::Stripe(SequenceNumber sequence) const {
  if (snapshots_.empty()) return 0;
  return static_cast<size_t>(std::lower_bound(snapshots_.begin(), snapshots_.end(), sequence) -
                             snapshots_.begin());
}

bool CompactionIterator::MustKeep(std::string_view internal_key) {
  const std::string_view user_key = UserKey(internal_key);
  const SequenceNumber sequence = Sequence(internal_key);
  const size_t stripe = Stripe(sequence);
  const bool same_key =
      has_current_user_key_ && comparator_.CompareUserKeys(user_key, current_user_key_) == 0;
  if (!same_key) {
    current_user_key_.assign(user_key);
    has_current_user_key_ = true;
    user_key_is_new_ = true;
  }
  const bool shadowed = same_key && stripe == last_stripe_;
  last_stripe_ = stripe;
  if (shadowed) return false;

  key_ = internal_key;
  if (stripe != 0 || !is_last_level_for_) return true;
  const EntryType type = Type(internal_key);
  if (type == EntryType::kDelete) {
    return !is_last_level_for_(user_key);
  }
  if (type == EntryType::kPut && sequence != 0 && is_last_level_for_(user_key)) {
    rewritten_key_.assign(internal_key);
    EncodeFixed64(rewritten_key_.data() + user_key.size(), PackTrailer(0, type));
    key_ = rewritten_key_;
  }
  return true;
}

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

absl::Status CompactionIterator::status() const {
  return status_.ok() ? input_->status() : status_;
}

}  // namespace winnow
