#include "engine/version/iterator_tombstones.h"

#include <utility>

namespace winnow {

// Invariant: it stands on an entry that is not hidden, or is too new for the snapshot, or lies
// beyond the bounds; or at its end. What an entry is does not depend on how it was come to, so that
// forwards and backwards the same are shown.
class IteratorTombstones::HidingIterator final : public InternalIterator {
 public:
  HidingIterator(const IteratorTombstones& tombstones, std::unique_ptr<InternalIterator> iterator)
      : comparator_(tombstones.comparator_),
        snapshot_(tombstones.snapshot_),
        bounds_(tombstones.bounds_),
        steps_(tombstones.steps_),
        runs_(tombstones.runs_),
        iterator_(std::move(iterator)) {
    // What was added before the source began is of newer sources, the rest its own.
    for (size_t i = 0; i < runs_.size(); i++) {
      (i < tombstones.first_of_source_ ? newer_ : own_).emplace_back(runs_[i]->indexes, snapshot_);
    }
  }

  bool Valid() const override { return iterator_->Valid(); }
  std::string_view key() const override { return iterator_->key(); }
  std::string_view value() const override { return iterator_->value(); }
  absl::Status status() const override { return iterator_->status(); }

  void SeekToFirst() override {
    iterator_->SeekToFirst();
    SkipForward();
  }
  void SeekToLast() override {
    iterator_->SeekToLast();
    SkipBackward();
  }
  void Seek(std::string_view internal_key) override {
    iterator_->Seek(internal_key);
    SkipForward();
  }
  void SeekForPrev(std::string_view internal_key) override {
    iterator_->SeekForPrev(internal_key);
    SkipBackward();
  }
  void Next() override {
    iterator_->Next();
    SkipForward();
  }
  void Prev() override {
    iterator_->Prev();
    SkipBackward();
  }

 private:
  RangeTombstoneCursor* FindNewer(std::string_view user_key) {
    for (RangeTombstoneCursor& cursor : newer_) {
      // Whatever its number: all of this source is older.
      if (cursor.Find(user_key) != 0) return &cursor;
    }
    return nullptr;
  }
  bool IsHiddenByOwn(std::string_view user_key, SequenceNumber sequence) {
    for (RangeTombstoneCursor& cursor : own_) {
      // Within one source an entry may be newer than a tombstone over it.
      if (cursor.Find(user_key) > sequence) return true;
    }
    return false;
  }
  // The `in_a_row`-th entry that is stepped over.
  void CountStep(std::string_view user_key, uint64_t in_a_row) {
    steps_->num_entries++;
    if (in_a_row % StepsUnderTombstones::kMany != 0 || in_a_row <= steps_->most_in_a_row) return;
    steps_->most_in_a_row = in_a_row;
    steps_->key.assign(user_key);
  }
  // In front of all versions of a user key.
  void SetSeekKey(std::string_view user_key) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, user_key, kMaxSequenceNumber, kEntryTypeForSeek);
  }

  void SkipForward() {
    // Each turn ends at an entry that may be shown, or moves on. An error makes the iterator
    // invalid, and ends the loop with it.
    uint64_t in_a_row = 0;
    while (iterator_->Valid()) {
      const std::string_view internal_key = iterator_->key();
      const std::string_view user_key = UserKey(internal_key);
      // Beyond the bound nobody looks: to pass over what is hidden there would only read more.
      if (bounds_->upper.has_value() &&
          comparator_.CompareUserKeys(user_key, *bounds_->upper) >= 0) {
        return;
      }
      if (RangeTombstoneCursor* const cover = FindNewer(user_key); cover != nullptr) {
        // Exclusive: all before it is covered, and what stands there is looked at anew, for other
        // tombstones may begin.
        SetSeekKey(cover->CoveredUpTo());
        iterator_->Seek(seek_key_);
      } else if (IsHiddenByOwn(user_key, Sequence(internal_key))) {
        CountStep(user_key, ++in_a_row);
        iterator_->Next();
      } else {
        return;
      }
    }
  }

  void SkipBackward() {
    uint64_t in_a_row = 0;
    while (iterator_->Valid()) {
      const std::string_view internal_key = iterator_->key();
      const std::string_view user_key = UserKey(internal_key);
      if (bounds_->lower.has_value() &&
          comparator_.CompareUserKeys(user_key, *bounds_->lower) < 0) {
        return;
      }
      if (RangeTombstoneCursor* const cover = FindNewer(user_key); cover != nullptr) {
        // In front of the first covered key, at the last entry before it.
        SetSeekKey(cover->CoveredFrom());
        iterator_->SeekForPrev(seek_key_);
      } else if (IsHiddenByOwn(user_key, Sequence(internal_key))) {
        CountStep(user_key, ++in_a_row);
        iterator_->Prev();
      } else {
        return;
      }
    }
  }

  const InternalKeyComparator comparator_;
  const SequenceNumber snapshot_;
  const std::shared_ptr<const Bounds> bounds_;
  StepsUnderTombstones* const steps_;
  // Shared with the iterators of other sources, and kept for as long as one of them lives: the
  // cursors point into them.
  const std::vector<std::shared_ptr<const Run>> runs_;
  const std::unique_ptr<InternalIterator> iterator_;
  std::vector<RangeTombstoneCursor> newer_;
  std::vector<RangeTombstoneCursor> own_;
  std::string seek_key_;
};

IteratorTombstones::IteratorTombstones(const InternalKeyComparator& comparator,
                                       SequenceNumber snapshot, std::optional<std::string> lower,
                                       std::optional<std::string> upper,
                                       StepsUnderTombstones* steps)
    : comparator_(comparator),
      snapshot_(snapshot),
      bounds_(std::make_shared<const Bounds>(Bounds{std::move(lower), std::move(upper)})),
      steps_(steps) {}

void IteratorTombstones::AddRun(std::vector<const RangeTombstoneIndex*> run,
                                std::shared_ptr<const void> holder) {
  runs_.push_back(std::make_shared<const Run>(Run{std::move(run), std::move(holder)}));
}

std::unique_ptr<InternalIterator> IteratorTombstones::Hide(
    std::unique_ptr<InternalIterator> iterator) const {
  // Neither this source nor a newer one has any: the iterator goes unwrapped, and a scan pays
  // nothing.
  if (runs_.empty()) return iterator;
  return std::make_unique<HidingIterator>(*this, std::move(iterator));
}

}  // namespace winnow
