// Resolves write times for iterators.
//
// It stands between the merge and the iterator of the user, which so sees plain values and
// deletions alone, and needs to know nothing of time. What has expired becomes a deletion here and
// not a gap: it must hide older versions of its key, which may have no time or a later one.
#include "engine/db/expiring_iterator.h"

#include <string>
#include <utility>

#include "engine/base/coding.h"
#include "engine/base/internal_key.h"

namespace winnow {

namespace {

// An entry as it stands in the input is shown by the input's own bytes. One with a write time has
// another type for readers, and with it another trailer: its key is a copy. The order of entries
// stays, since no two differ in their types alone.
class ExpiringIterator final : public InternalIterator {
 public:
  ExpiringIterator(std::unique_ptr<InternalIterator> input, const ExpiryMoment* moment)
      : input_(std::move(input)), moment_(*moment) {}

  // An error of its own ends the walk as one of the input does, and stays until the next seek.
  bool Valid() const override { return input_->Valid() && status_.ok(); }
  void SeekToFirst() override {
    status_ = absl::OkStatus();
    input_->SeekToFirst();
    Resolve();
  }
  void SeekToLast() override {
    status_ = absl::OkStatus();
    input_->SeekToLast();
    Resolve();
  }
  void Seek(std::string_view internal_key) override {
    status_ = absl::OkStatus();
    input_->Seek(internal_key);
    Resolve();
  }
  void SeekForPrev(std::string_view internal_key) override {
    status_ = absl::OkStatus();
    input_->SeekForPrev(internal_key);
    Resolve();
  }
  void Next() override {
    input_->Next();
    Resolve();
  }
  void Prev() override {
    input_->Prev();
    Resolve();
  }

  std::string_view key() const override { return is_timed_ ? key_ : input_->key(); }
  std::string_view value() const override { return is_timed_ ? value_ : input_->value(); }
  absl::Status status() const override { return status_.ok() ? input_->status() : status_; }

 private:
  void Resolve() {
    is_timed_ = input_->Valid() && Type(input_->key()) == EntryType::kPutWithTime;
    if (!is_timed_) return;
    EntryType type = EntryType::kPutWithTime;
    value_ = input_->value();
    status_ = ResolveWriteTime(moment_, &type, &value_);
    const std::string_view stored = input_->key();
    key_.assign(stored);
    // After an error too, when the key is not shown: Valid() is false.
    EncodeFixed64(key_.data() + key_.size() - kTrailerBytes, PackTrailer(Sequence(stored), type));
  }

  const std::unique_ptr<InternalIterator> input_;
  const ExpiryMoment& moment_;
  bool is_timed_ = false;
  std::string key_;
  std::string_view value_;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewExpiringIterator(std::unique_ptr<InternalIterator> input,
                                                      const ExpiryMoment* moment) {
  return std::make_unique<ExpiringIterator>(std::move(input), moment);
}

}  // namespace winnow
