#include "engine/compaction/compacted_values.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"
#include "engine/base/user_exception.h"
#include "winnow/options.h"

namespace winnow {

namespace {

// While is_rewritten_ is set, key_ and value_ stand for the entry that the input is at; every move
// clears it before anything else looks. An error is kept until the next seek forward, and makes the
// iterator invalid: the compaction above takes it for an error of its input, and keeps the input's
// files.
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
    // Noted for entries of every type: behind an operand or a deletion a value is not the newest,
    // and is not shown to the filter.
    const bool is_newest = IsNewestOfItsKey(UserKey(key));
    // The input runs on into the next part of the compaction, which counts and filters what lies
    // there.
    if (!IsPut(Type(key)) || IsPastEnd(UserKey(key))) return;
    // Before the filter, which is to see no value that readers do not see. Snapshots do not matter
    // here: their readers take an expired value for a deletion, too.
    if (IsExpired(key)) {
      Rewrite(EntryType::kDelete);
      context_.counts->expired++;
      return;
    }
    if (rules_.filter == nullptr || !is_newest || IsSeenBySnapshot(Sequence(key))) return;
    if (IsRangeDeleted(key)) return;
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
  bool IsRangeDeleted(std::string_view key) const {
    return context_.tombstones != nullptr &&
           context_.tombstones->NewestCovering(UserKey(key), kMaxSequenceNumber) > Sequence(key);
  }

  void AskFilter(std::string_view key) {
    const std::string_view stored = input_->value();
    const bool has_time = Type(key) == EntryType::kPutWithTime;
    // Too short to end with a time: as in IsExpired.
    if (has_time && !HasWriteTime(stored)) return;
    CompactionFilter::Entry entry;
    entry.key = UserKey(key);
    entry.value = has_time ? WithoutWriteTime(stored) : stored;
    entry.column_family = rules_.column_family;
    entry.level = rules_.output_level;
    // A checker of this iterator's own: each wants to be asked for ascending keys, and the
    // compaction iterator asks one for the entries that it keeps.
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
    // The limit of every write holds for what comes in this way, too.
    if (new_value_.size() > kMaxValueBytes) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("the compaction filter made a value of ", new_value_.size(),
                       " bytes, which is over the limit of ", kMaxValueBytes, " bytes"));
      return;
    }
    // A value that is changed keeps the time of its write: a filter does not make data younger.
    if (has_time) AppendWriteTime(&new_value_, WriteTime(stored));
    Rewrite(Type(key));
    value_.swap(new_value_);
    context_.counts->changed++;
  }

  // The present entry, with this type and no value.
  void Rewrite(EntryType type) {
    // The sequence number stays, so that snapshots and range tombstones judge the entry as they did
    // before. Another type moves it nowhere: no other entry has its key and number.
    const std::string_view stored = input_->key();
    key_.assign(stored);
    EncodeFixed64(key_.data() + key_.size() - kTrailerBytes, PackTrailer(Sequence(stored), type));
    value_.clear();
    is_rewritten_ = true;
  }

  const std::unique_ptr<InternalIterator> input_;
  // Of the job's options, which outlive every part of it.
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
