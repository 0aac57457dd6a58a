// Two cursors, one on the base and one on the batch's updates, go the same way; the nearer one is
// shown, and where both stand on one key the update hides the base's entry. A deletion is stepped
// over, with the entry that it hides, and so is what a later range deletion hides; of the base such
// keys are not shown at all. To turn round, both seek the present key.
#include "engine/transaction/overlay_iterator.h"

#include <utility>

#include "absl/status/status.h"
#include "engine/base/merge_context.h"
#include "engine/transaction/uncovered_iterator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Walks the keys of a batch, from newest update to newest update, as the batch was when the cursor
// was made.
// Places of the index are kept across calls, which a set allows as long as nothing is erased; the
// index counts removals, and OverlayIterator looks at the count before it moves. What is inserted
// meanwhile has larger offsets, and `below_` hides it.
class UpdateCursor {
 public:
  UpdateCursor(const BatchIndex* index, const BatchIndex::Updates* updates)
      : updates_(updates), order_(updates->key_comp()), below_(index->end()), at_(updates->end()) {}

  bool Valid() const { return at_ != updates_->end(); }
  std::string_view key() const { return order_.Key(*at_); }
  EntryType type() const { return at_->type; }
  uint32_t offset() const { return at_->key_offset; }
  BatchIndex::KeyUpdates Collect(uint32_t covering) const {
    return BatchIndex::Collect(*updates_, key(), below_, covering);
  }
  const InternalKeyComparator& comparator() const { return order_.comparator(); }

  void SeekToFirst() { TakeFrom(updates_->begin()); }
  void Seek(std::string_view key) {
    TakeFrom(updates_->lower_bound(BatchIndex::Place{key, BatchIndex::kBeforeAll}));
  }
  void SeekToLast() { TakeBefore(updates_->end()); }
  void SeekForPrev(std::string_view key) {
    TakeBefore(updates_->lower_bound(BatchIndex::Place{key, BatchIndex::kBehindAll}));
  }
  void SeekBefore(std::string_view key) {
    TakeBefore(updates_->lower_bound(BatchIndex::Place{key, BatchIndex::kBeforeAll}));
  }
  // Over all versions of the key at once, however many there are.
  void Next() { TakeFrom(updates_->lower_bound(BatchIndex::Place{key(), BatchIndex::kBehindAll})); }
  void Prev() { SeekBefore(key()); }
  void Leave() { at_ = updates_->end(); }

 private:
  using Place = BatchIndex::Updates::const_iterator;

  // The first key, from `at` on, that has an update old enough; `at` is the newest of its own.
  void TakeFrom(Place at) {
    // To an older update of the key or, if all are younger than the cursor, to the newest of the
    // next.
    while (at != updates_->end() && at->key_offset >= below_) {
      at = updates_->lower_bound(BatchIndex::Place{order_.Key(*at), below_});
    }
    at_ = at;
  }
  // The last key before `end`, which begins a key, that has one.
  void TakeBefore(Place end) {
    while (end != updates_->begin()) {
      const Place oldest = std::prev(end);
      const std::string_view key = order_.Key(*oldest);
      // Some update of the key is old enough if its oldest one is.
      if (oldest->key_offset < below_) {
        at_ = updates_->lower_bound(BatchIndex::Place{key, below_});
        return;
      }
      end = updates_->lower_bound(BatchIndex::Place{key, BatchIndex::kBeforeAll});
    }
    at_ = updates_->end();
  }

  const BatchIndex::Updates* updates_;
  BatchIndex::Order order_;
  uint32_t below_;  // updates that were made later are not shown
  Place at_;
};

class OverlayIterator final : public Iterator {
 public:
  OverlayIterator(const BatchIndex* index, const BatchIndex::FamilyUpdates* updates,
                  const MergeOperator& merge_operator, std::unique_ptr<Iterator> base,
                  OverlayBounds bounds)
      : index_(index),
        removals_(index->removals()),
        merge_operator_(merge_operator),
        base_(std::move(base)),
        updates_(index, &updates->points),
        covers_(updates->range_deletions.Indexed()),
        bounds_(std::move(bounds)) {}

  bool Valid() const override { return shown_ != Shown::kNothing; }
  void SeekToFirst() override {
    Move([this] {
      base_->SeekToFirst();
      bounds_.lower ? updates_.Seek(*bounds_.lower) : updates_.SeekToFirst();
      ShowForward();
    });
  }
  void SeekToLast() override {
    Move([this] {
      base_->SeekToLast();
      bounds_.upper ? updates_.SeekBefore(*bounds_.upper) : updates_.SeekToLast();
      ShowBackward();
    });
  }
  void Seek(std::string_view key) override {
    // A copy, made where a want of memory is caught: the key may be this iterator's, which moves.
    Move([this, key] { SeekForward(std::string(key)); });
  }
  void SeekForPrev(std::string_view key) override {
    Move([this, key] { SeekBackward(std::string(key)); });
  }
  void Next() override {
    Move([this] {
      if (forward_) {
        StepOver(/*forward=*/true);
      } else {
        Turn(/*forward=*/true);
      }
      ShowForward();
    });
  }
  void Prev() override {
    Move([this] {
      if (forward_) {
        Turn(/*forward=*/false);
      } else {
        StepOver(/*forward=*/false);
      }
      ShowBackward();
    });
  }

  std::string_view key() const override { return shown_ == Shown::kBase ? base_->key() : key_; }
  std::string_view value() const override {
    return shown_ == Shown::kBase ? base_->value() : value_;
  }
  absl::Status status() const override { return status_.ok() ? base_->status() : status_; }

 private:
  enum class Shown { kNothing, kBase, kUpdate };

  template <typename Call>
  void Move(Call call) {
    // The cursor's place may have been erased with the updates: nothing of it may be touched any
    // more.
    if (index_->removals() != removals_) {
      shown_ = Shown::kNothing;
      status_ = CatchOutOfMemory([] {
        return absl::FailedPreconditionError(
            "updates that the iterator showed have been rolled back");
      });
      return;
    }
    // Each move is a new beginning: a merge that failed, or a want of memory, is of the last one.
    status_ = absl::OkStatus();
    if (UnlessOutOfMemory(call)) return;
    shown_ = Shown::kNothing;
    status_ = OutOfMemory();
  }

  int Compare(std::string_view a, std::string_view b) const {
    return updates_.comparator().CompareUserKeys(a, b);
  }

  void SeekForward(const std::string& target) {
    base_->Seek(target);
    // The base has bounds of its own; the updates are all of the family's.
    const bool below = bounds_.lower && Compare(target, *bounds_.lower) < 0;
    updates_.Seek(below ? *bounds_.lower : target);
    ShowForward();
  }
  void SeekBackward(const std::string& target) {
    base_->SeekForPrev(target);
    const bool above = bounds_.upper && Compare(target, *bounds_.upper) >= 0;
    above ? updates_.SeekBefore(*bounds_.upper) : updates_.SeekForPrev(target);
    ShowBackward();
  }

  // Both cursors leave the key that is shown, in the direction that they have.
  void StepOver(bool forward) {
    // One alone may be at the key, or both: both must leave it, or it would be shown twice.
    const bool base_too = shown_ == Shown::kBase || hides_base_;
    if (base_too) forward ? base_->Next() : base_->Prev();
    if (shown_ == Shown::kUpdate) forward ? updates_.Next() : updates_.Prev();
  }
  // The same in the other direction.
  void Turn(bool forward) {
    // The cursor that is not shown stands on the far side of the key, and has to come back over it:
    // both seek, and leave the key itself. A copy, since the key goes as they move.
    const std::string from(key());
    forward ? base_->Seek(from) : base_->SeekForPrev(from);
    if (base_->Valid() && Compare(base_->key(), from) == 0) forward ? base_->Next() : base_->Prev();
    forward ? updates_.Seek(from) : updates_.SeekForPrev(from);
    if (updates_.Valid() && Compare(updates_.key(), from) == 0) {
      forward ? updates_.Next() : updates_.Prev();
    }
  }

  void ShowForward() {
    forward_ = true;
    Show([](int order) { return order <= 0; },
         [this](std::string_view key) {
           return !bounds_.upper || Compare(key, *bounds_.upper) < 0;
         });
  }
  void ShowBackward() {
    forward_ = false;
    Show([](int order) { return order >= 0; },
         [this](std::string_view key) {
           return !bounds_.lower || Compare(key, *bounds_.lower) >= 0;
         });
  }

  // Shows the nearer of both cursors. `update_first` is given how the update's key compares with
  // the base's.
  template <typename UpdateFirst, typename InBounds>
  void Show(UpdateFirst update_first, InBounds in_bounds) {
    for (;;) {
      shown_ = Shown::kNothing;
      hides_base_ = false;
      // What the base might have shown is not known to lie behind the update.
      if (!base_->Valid() && !base_->status().ok()) return;
      if (updates_.Valid() && !in_bounds(updates_.key())) updates_.Leave();
      if (!updates_.Valid()) {
        if (base_->Valid()) shown_ = Shown::kBase;
        return;
      }
      // Where one cursor is at its end the other is the nearer.
      const int order = base_->Valid() ? Compare(updates_.key(), base_->key()) : 0;
      if (base_->Valid() && !update_first(order)) {
        shown_ = Shown::kBase;
        return;
      }
      hides_base_ = base_->Valid() && order == 0;
      shown_ = Shown::kUpdate;
      // By a range deletion that came later; one that came before the update is below it.
      const bool is_covered = covers_.Find(updates_.key()) > updates_.offset();
      if (updates_.type() != EntryType::kDelete && !is_covered) break;
      StepOver(forward_);
    }
    TakeUpdate();
  }

  // Copies: the batch may grow, and its bytes move, while the iterator stands here.
  void TakeUpdate() {
    key_.assign(updates_.key());
    const BatchIndex::KeyUpdates updates = updates_.Collect(covers_.Find(key_));
    if (updates.operands.empty()) {
      // Not a deletion, which Show has stepped over: the newest update is a put, or there are
      // operands.
      value_.assign(*updates.value);
      return;
    }
    std::optional<std::string_view> existing = updates.value;
    // The base stands on this key, and nothing in the batch lies between its value and the
    // operands.
    if (!updates.hides_base && hides_base_) existing = base_->value();
    status_ = MergeOperands(merge_operator_, key_, existing, updates.operands, &value_);
    if (!status_.ok()) shown_ = Shown::kNothing;
  }

  const BatchIndex* const index_;
  const uint64_t removals_;
  const MergeOperator& merge_operator_;
  const std::unique_ptr<Iterator> base_;
  UpdateCursor updates_;
  BatchTombstoneCursor covers_;
  const OverlayBounds bounds_;
  Shown shown_ = Shown::kNothing;
  bool forward_ = true;
  bool hides_base_ = false;  // the base stands on the key of the update
  std::string key_;          // of the update that is shown
  std::string value_;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewOverlayIterator(const BatchIndex* index,
                                             const BatchIndex::FamilyUpdates* updates,
                                             const MergeOperator& merge_operator,
                                             std::unique_ptr<Iterator> base, OverlayBounds bounds) {
  const BatchTombstones& range_deletions = updates->range_deletions;
  if (!range_deletions.empty()) {
    // Below the merge, as if the base had never had those keys.
    base = NewUncoveredIterator(updates->points.key_comp().comparator(), range_deletions.Indexed(),
                                std::move(base));
  }
  return std::make_unique<OverlayIterator>(index, updates, merge_operator, std::move(base),
                                           std::move(bounds));
}

}  // namespace winnow
