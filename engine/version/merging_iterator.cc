#include "engine/version/merging_iterator.h"

#include <algorithm>

namespace winnow {

namespace {

// A binary heap of the valid children, ordered by key for the present direction. What a child
// stands on is cached, with the key's first eight bytes, so that most comparisons touch no key.
// Invariants while valid:
//
// 1. Every child that is valid is in heap_, exactly once, and no other.
// 2. The heap's order is that of direction_; heap_[0] is what the iterator shows.
// 3. Going forward, every child stands on its first key at or after the one shown; going backward,
//    on its last key at or before it. Hence the neighbour in the direction of travel is found by
//    moving heap_[0] alone, and turning round repositions all others.
// 4. status_ is OK. The first error of a child empties the heap: from then on the iterator is
//    invalid until the next seek. Leaving out just that child would show keys that it might have
//    preceded, or hidden by a tombstone.
class MergingIterator final : public InternalIterator {
 public:
  MergingIterator(const InternalKeyComparator& comparator,
                  std::vector<std::unique_ptr<InternalIterator>> iterators)
      : comparator_(comparator), bytewise_(comparator.is_bytewise()) {
    // Never moved again: heap_ points to the children.
    children_.reserve(iterators.size());
    for (size_t i = 0; i < iterators.size(); i++) {
      children_.push_back({std::move(iterators[i]), {}, 0, i});
    }
    heap_.reserve(children_.size());
  }

  bool Valid() const override { return !heap_.empty(); }
  std::string_view key() const override { return heap_[0]->key; }
  std::string_view value() const override { return heap_[0]->iterator->value(); }
  absl::Status status() const override { return status_; }

  void SeekToFirst() override {
    Restart(kForward, [](InternalIterator& child) { child.SeekToFirst(); });
  }
  void SeekToLast() override {
    Restart(kBackward, [](InternalIterator& child) { child.SeekToLast(); });
  }
  void Seek(std::string_view internal_key) override {
    Restart(kForward, [&](InternalIterator& child) { child.Seek(internal_key); });
  }
  void SeekForPrev(std::string_view internal_key) override {
    Restart(kBackward, [&](InternalIterator& child) { child.SeekForPrev(internal_key); });
  }

  void Next() override {
    if (direction_ == kBackward) {
      TurnAround(kForward);
    } else {
      heap_[0]->iterator->Next();
      AfterMove();
    }
  }
  void Prev() override {
    if (direction_ == kForward) {
      TurnAround(kBackward);
    } else {
      heap_[0]->iterator->Prev();
      AfterMove();
    }
  }

 private:
  enum Direction { kForward, kBackward };
  struct Child {
    std::unique_ptr<InternalIterator> iterator;
    std::string_view key;
    uint64_t prefix;
    size_t rank;  // position among the children: breaks ties
  };

  // Under the bytewise order prefixes decide unless they are equal, without reading either key.
  int Compare(const Child& a, const Child& b) const {
    if (bytewise_ && a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
    const int order = comparator_.Compare(a.key, b.key);
    if (order != 0) return order;
    return a.rank < b.rank ? -1 : 1;
  }
  // Should `a` come out before `b`?
  // Going backwards the order is exactly reversed, ranks included, so that entries which compare
  // equal come in the reverse of their forward order.
  bool Precedes(const Child& a, const Child& b) const {
    return direction_ == kForward ? Compare(a, b) < 0 : Compare(a, b) > 0;
  }

  // Caches where the child stands; false if it has ended. An error clears the heap.
  bool Load(Child* child) {
    if (!child->iterator->Valid()) {
      if (absl::Status status = child->iterator->status(); !status.ok() && status_.ok()) {
        status_ = std::move(status);
      }
      return false;
    }
    child->key = child->iterator->key();
    child->prefix = bytewise_ ? KeyPrefix64(UserKey(child->key)) : 0;
    return true;
  }

  // Errors are cleared by a seek and by nothing else: after one, Next and Prev must not be called,
  // as on any invalid iterator.
  template <typename Position>
  void Restart(Direction direction, Position position) {
    direction_ = direction;
    status_ = absl::OkStatus();
    for (Child& child : children_) position(*child.iterator);
    Rebuild();
  }

  // Builds the heap bottom-up in linear time (Floyd 1964).
  void Rebuild() {
    heap_.clear();
    for (Child& child : children_) {
      if (Load(&child)) heap_.push_back(&child);
    }
    if (!status_.ok()) {
      heap_.clear();
      return;
    }
    for (size_t i = heap_.size() / 2; i-- > 0;) SiftDown(i);
  }

  // The common case of a merge: the child that moved still has the smallest key, and SiftDown ends
  // after two comparisons.
  void AfterMove() {
    if (Load(heap_[0])) {
      SiftDown(0);
    } else if (!status_.ok()) {
      heap_.clear();
    } else {
      heap_[0] = heap_.back();
      heap_.pop_back();
      if (!heap_.empty()) SiftDown(0);
    }
  }

  // Moves the hole down rather than swapping: one store a level.
  void SiftDown(size_t position) {
    Child* const moving = heap_[position];
    for (;;) {
      size_t smaller = 2 * position + 1;
      if (smaller >= heap_.size()) break;
      if (smaller + 1 < heap_.size() && Precedes(*heap_[smaller + 1], *heap_[smaller])) smaller++;
      if (!Precedes(*heap_[smaller], *moving)) break;
      heap_[position] = heap_[smaller];
      position = smaller;
    }
    heap_[position] = moving;
  }

  // Moves to the neighbour in the other direction: every child is placed beyond the present key.
  void TurnAround(Direction direction) {
    const Child* const current = heap_[0];
    // Copied: the child's own memory changes as soon as it moves.
    const std::string key(current->key);
    direction_ = direction;
    for (Child& child : children_) {
      InternalIterator& iterator = *child.iterator;
      if (direction == kForward) {
        iterator.Seek(key);
        if (iterator.Valid() && comparator_.Compare(iterator.key(), key) == 0) iterator.Next();
      } else {
        iterator.SeekForPrev(key);
        if (iterator.Valid() && comparator_.Compare(iterator.key(), key) == 0) iterator.Prev();
      }
    }
    Rebuild();
  }

  const InternalKeyComparator comparator_;
  const bool bytewise_;
  std::vector<Child> children_;
  std::vector<Child*> heap_;
  Direction direction_ = kForward;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewMergingIterator(
    const InternalKeyComparator& comparator,
    std::vector<std::unique_ptr<InternalIterator>> children) {
  // A merge of one needs no heap. It has the same error behaviour: its status is the child's.
  if (children.size() == 1) return std::move(children[0]);
  return std::make_unique<MergingIterator>(comparator, std::move(children));
}

}  // namespace winnow
