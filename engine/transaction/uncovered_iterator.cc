// A cover is passed by one seek of the base, whatever it hides; covers of one run that touch or
// overlap are one. The base's bounds end a walk as they do without covers.
#include "engine/transaction/uncovered_iterator.h"

#include <utility>

namespace winnow {

namespace {

class UncoveredIterator final : public Iterator {
 public:
  UncoveredIterator(const InternalKeyComparator& comparator, BatchTombstones::Runs runs,
                    std::unique_ptr<Iterator> base)
      : comparator_(comparator), covers_(std::move(runs)), base_(std::move(base)) {}

  bool Valid() const override { return base_->Valid(); }
  std::string_view key() const override { return base_->key(); }
  std::string_view value() const override { return base_->value(); }
  absl::Status status() const override { return base_->status(); }

  void SeekToFirst() override {
    base_->SeekToFirst();
    SkipForward();
  }
  void SeekToLast() override {
    base_->SeekToLast();
    SkipBackward();
  }
  void Seek(std::string_view key) override {
    base_->Seek(key);
    SkipForward();
  }
  void SeekForPrev(std::string_view key) override {
    base_->SeekForPrev(key);
    SkipBackward();
  }
  void Next() override {
    base_->Next();
    SkipForward();
  }
  void Prev() override {
    base_->Prev();
    SkipBackward();
  }

 private:
  void SkipForward() {
    // More than once only where the base finds its next key in another cover.
    while (base_->Valid() && covers_.Find(base_->key()) != 0) base_->Seek(covers_.CoveredUpTo());
  }
  // The key where the cover begins is covered as well.
  void SkipBackward() {
    while (base_->Valid() && covers_.Find(base_->key()) != 0) {
      const std::string_view from = covers_.CoveredFrom();
      base_->SeekForPrev(from);
      // SeekForPrev may end on it.
      if (base_->Valid() && comparator_.CompareUserKeys(base_->key(), from) == 0) base_->Prev();
    }
  }

  const InternalKeyComparator comparator_;
  BatchTombstoneCursor covers_;
  const std::unique_ptr<Iterator> base_;
};

}  // namespace

std::unique_ptr<Iterator> NewUncoveredIterator(const InternalKeyComparator& comparator,
                                               BatchTombstones::Runs runs,
                                               std::unique_ptr<Iterator> base) {
  return std::make_unique<UncoveredIterator>(comparator, std::move(runs), std::move(base));
}

}  // namespace winnow
