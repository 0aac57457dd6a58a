#include "engine/compaction/compacted_values.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/base/user_exception.h"
#include "winnow/options.h"

namespace winnow {

namespace {

class CompactedValues final : public InternalIterator {
 public:
  CompactedValues(std::unique_ptr<InternalIterator> input, const CompactedValueRules& rules,
                  CompactedValuesContext context)
      : input_(std::move(input)), rules_(rules), context_(std::move(context)) {}

  bool Valid() const override { return input_->Valid() && status_.ok(); }
  void SeekToFirst() override {
    input_->SeekToFirst();
    Start();
  }
  void Seek(std::string_view internal_key) override {
    input_->Seek(internal_key);
    Start();
  }
  void Next() override {
    input_->Next();
    Apply();
  }
  // Backwards, which no compaction goes, entries are shown as they are: which version of a key is
  // the newest shows last in this direction.
  void SeekToLast() override {
    is_rewritten_ = false;
    input_->SeekToLast();
  }
  void SeekForPrev(std::string_view internal_key) override {
    is_rewritten_ = false;
    input_->SeekForPrev(internal_key);
  }
  void Prev() override {
    is_rewritten_ = false;
    input_->Prev();
  }

  std::string_view key() const override { return is_rewritten_ ? key_ : input_->key(); }
  std::string_view value() const override {
    return is_rewritten_ ? std::string_view(value_) : input_->value();
  }
  absl::Status status() const override { return status_.ok() ? input_->status() : status_; }

 private:
  void Start() {
    has_last_key_ = false;
    status_ = absl::OkStatus();
    Apply();
  }

  void Apply() {
    is_rewritten_ = false;
    if (!input_->Valid()) return;
    const std::string_view key = input_->key();
    const bool is_newest = IsNewestOfItsKey(UserKey(key));
    if (!IsPut(Type(key)) || IsPastEnd(UserKey(key))) return;
    if (IsExpired(key)) {
      Rewrite(EntryType::kDelete);
      context_.counts->expired++;
      return;
    }
    if (rules_.filter == nullptr || !is_newest || IsSeenBySnapshot(Sequence(key))) return;
    AskFilter(key);
  }

  // Only the filter needs to know.
  bool IsNewestOfItsKey(std::string_view user_key) {
    if (rules_.filter == nullptr) return false;
    const bool same =
        has_last_key_ && context_.comparator.CompareUserKeys(user_key, last_key_) == 0;
    if (same) return false;
    last_key_.assign(user_key);
    has_last_key_ = true;
    return true;
  }
  bool IsPastEnd(std::string_view user_key) const {
    return context_.end_user_key != nullptr &&
           context_.comparator.CompareUserKeys(user_key, *context_.end_user_key) >= 0;
  }
  // A value without room for its time is left to whoever writes the table, which refuses it.
  bool IsExpired(std::string_view key) const {
    return Type(key) == EntryType::kPutWithTime && HasWriteTime(input_->value()) &&
           rules_.moment.HasExpired(WriteTime(input_->value()));
  }
  bool IsSeenBySnapshot(SequenceNumber sequence) const {
    return context_.newest_snapshot.has_value() && sequence <= *context_.newest_snapshot;
  }

  void AskFilter(std::string_view key) {
    const std::string_view stored = input_->value();
    const bool has_time = Type(key) == EntryType::kPutWithTime;
    if (has_time && !HasWriteTime(stored)) return;
    CompactionFilter::Entry entry;
    entry.key = UserKey(key);
    entry.value = has_time ? WithoutWriteTime(stored) : stored;
    entry.column_family = rules_.column_family;
    entry.level = rules_.output_level;
    entry.is_last_level = context_.is_last_level && context_.is_last_level(entry.key);
    new_value_.clear();
    auto decision = CompactionFilter::Decision::kKeep;
    status_ = CatchUserException([&] {
      decision = rules_.filter->Filter(entry, &new_value_);
      return absl::OkStatus();
    });
    if (!status_.ok()) {
      status_ = WithContext(status_, "the compaction filter");
      return;
    }
    switch (decision) {
      case CompactionFilter::Decision::kKeep:
        return;
      case CompactionFilter::Decision::kRemove:
        Rewrite(EntryType::kDelete);
        context_.counts->removed++;
        return;
      case CompactionFilter::Decision::kChangeValue:
        break;
    }
    if (new_value_.size() > kMaxValueBytes) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("the compaction filter made a value of ", new_value_.size(),
                       " bytes, which is over the limit of ", kMaxValueBytes, " bytes"));
      return;
    }
    if (has_time) AppendWriteTime(&new_value_, WriteTime(stored));
    Rewrite(Type(key));
    value_.swap(new_value_);
    context_.counts->changed++;
  }

  // The present entry, with this type and no value.
  void Rewrite(EntryType type) {
    const std::string_view stored = input_->key();
    key_.assign(stored);
    EncodeFixed64(key_.data() + key_.size() - kTrailerBytes, PackTrailer(Sequence(stored), type));
    value_.clear();
    is_rewritten_ = true;
  }

  const std::unique_ptr<InternalIterator> input_;
  const CompactedValueRules& rules_;
  const CompactedValuesContext context_;
  std::string last_key_;  // user key of the entry before
  bool has_last_key_ = false;
  bool is_rewritten_ = false;
  std::string key_;
  std::string value_;
  std::string new_value_;
  absl::Status status_;
};

}  // namespace

std::unique_ptr<InternalIterator> NewCompactedValues(std::unique_ptr<InternalIterator> input,
                                                     const CompactedValueRules& rules,
                                                     CompactedValuesContext context) {
  return std::make_unique<CompactedValues>(std::move(input), rules, std::move(context));
}

}  // namespace winnow
