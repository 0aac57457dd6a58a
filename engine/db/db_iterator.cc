#include "engine/db/db_iterator.h"

#include <array>
#include <utility>

#include "engine/base/merge_context.h"
#include "engine/base/status.h"
#include "engine/db/merge_reads.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// About what a seek costs, in steps.
constexpr size_t kStepsBeforeSeek = 16;
// Entries passed between two that are shown. To pass as many takes about as long as to read a few
// blocks from a disk.
constexpr size_t kMuchGarbage = 1024;
// About what a look-up of a key costs.
constexpr size_t kOperandsBeforeLookup = 64;

// Forward, the internal iterator stands on the entry that is shown, and key and value are its own
// bytes. Backward it stands before all versions of the key that is shown, and key and value are
// copies. They are copies, too, forward, where the value is made of merge operands: then the
// internal iterator stands on the version that ended them, or after all versions of the key.
//
// Below are internal entries: of each key all versions, newest first. A user is shown at most one
// of them, the newest that the snapshot includes, and not even that if it is a deletion. Going
// forward it is the first version that is not too new, so that it can be shown where it stands.
// Going backward the versions come oldest first, and only on leaving the key is it known which was
// the last: hence the copy, and hence the internal iterator standing one key further along.
//
// Of a key with many versions a few are stepped over, and the rest is passed by a seek.
//
// An error ends the iteration at once: the merging iterator becomes invalid when any child fails,
// since the key that comes next may be one that the failed child would have hidden or preceded.
class DbIterator final : public Iterator {
 public:
  DbIterator(DbIteratorInput input, DbIteratorOptions options)
      : view_(std::move(input.view)),
        comparator_(view_->comparator),
        options_(std::move(options)),
        moment_(std::move(input.moment)),
        questions_(std::move(input.questions)),
        steps_under_tombstones_(std::move(input.steps_under_tombstones)),
        internal_(std::move(input.internal)),
        snapshot_(input.snapshot) {}

  ~DbIterator() override {
    HandOverCounts();
    options_.events->AddIfCorruption(status());
  }

  bool Valid() const override { return valid_; }
  std::string_view key() const override {
    return shows_entry_ ? UserKey(internal_->key()) : std::string_view(saved_key_);
  }
  std::string_view value() const override {
    return shows_entry_ ? internal_->value() : std::string_view(saved_value_);
  }
  // An error found here stays until the next seek, as does one of the internal iterator.
  absl::Status status() const override { return status_.ok() ? internal_->status() : status_; }

  // The old iterator goes before the old view, into which it points.
  absl::Status Refresh() override {
    if (options_.has_user_snapshot) {
      return absl::FailedPreconditionError("the iterator shows a snapshot, and stays with it");
    }
    return CatchOutOfMemory([&]() -> absl::Status {
      HandOverCounts();
      DbIteratorInput input;
      WINNOW_RETURN_IF_ERROR(options_.owner->RenewInput(options_, &input));
      internal_ = std::move(input.internal);
      questions_ = std::move(input.questions);
      moment_ = std::move(input.moment);
      steps_under_tombstones_ = std::move(input.steps_under_tombstones);
      view_ = std::move(input.view);
      snapshot_ = input.snapshot;
      valid_ = false;
      ClearOperands();
      direction_ = kForward;
      status_ = absl::OkStatus();
      return absl::OkStatus();
    });
  }

  void SeekToFirst() override {
    OrEnd([&] {
      if (options_.lower_bound.has_value()) {
        Seek(*options_.lower_bound);
        return;
      }
      const SampledTimer timer(options_.recorder->Local(), LatencyHistogram::kSeek);
      Start(kForward);
      internal_->SeekToFirst();
      FindNextVisible(/*skipping=*/false);
    });
  }

  void Seek(std::string_view key) override {
    OrEnd([&] {
      const SampledTimer timer(options_.recorder->Local(), LatencyHistogram::kSeek);
      Start(kForward);
      // The lower bound is enforced by where a seek lands; steps forward only lead away from it.
      if (options_.lower_bound.has_value() &&
          comparator_.CompareUserKeys(key, *options_.lower_bound) < 0) {
        key = *options_.lower_bound;
      }
      seek_key_.clear();
      // With the snapshot's own number the seek passes over all versions that are too new.
      AppendInternalKey(&seek_key_, key, snapshot_, kEntryTypeForSeek);
      internal_->Seek(seek_key_);
      FindNextVisible(/*skipping=*/false);
    });
  }

  void SeekToLast() override {
    OrEnd([&] {
      const SampledTimer timer(options_.recorder->Local(), LatencyHistogram::kSeek);
      Start(kBackward);
      if (options_.upper_bound.has_value()) {
        SeekBefore(*options_.upper_bound);
      } else {
        internal_->SeekToLast();
      }
      FindPreviousVisible();
    });
  }

  void SeekForPrev(std::string_view key) override {
    OrEnd([&] {
      // The upper bound likewise, for steps backward. Being exclusive, it is sought before.
      if (options_.upper_bound.has_value() &&
          comparator_.CompareUserKeys(key, *options_.upper_bound) >= 0) {
        SeekToLast();
        return;
      }
      const SampledTimer timer(options_.recorder->Local(), LatencyHistogram::kSeek);
      Start(kBackward);
      // The oldest possible version of the key is the last entry that may be shown.
      seek_key_.clear();
      AppendInternalKey(&seek_key_, key, 0, EntryType::kDelete);
      internal_->SeekForPrev(seek_key_);
      FindPreviousVisible();
    });
  }

  void Next() override {
    OrEnd([&] {
      steps_++;
      if (direction_ == kBackward) {
        // The internal iterator stands before the versions of saved_key_, perhaps at no entry.
        // From no entry the way forward begins at the first: everything up to saved_key_ is skipped
        // below. If it stands at no entry because of an error, it stays there.
        direction_ = kForward;
        if (internal_->Valid()) {
          internal_->Next();
        } else if (internal_->status().ok()) {
          internal_->SeekToFirst();
        }
      } else {
        // A copy, since the step invalidates the key's bytes. Older versions follow and are skipped
        // by it. Of a merged value the copy is there, and the step has been made.
        if (shows_entry_) {
          saved_key_.assign(UserKey(internal_->key()));
          internal_->Next();
        }
      }
      FindNextVisible(/*skipping=*/true);
    });
  }

  void Prev() override {
    OrEnd([&] {
      steps_++;
      if (direction_ == kForward) {
        // Go before all versions of the present key.
        // A seek and not steps: newer versions, which the snapshot does not include, may precede
        // the one that is shown, any number of them.
        if (shows_entry_) saved_key_.assign(UserKey(internal_->key()));
        direction_ = kBackward;
        SeekBefore(saved_key_);
      }
      FindPreviousVisible();
    });
  }

 private:
  enum Direction { kForward, kBackward };

  // A step or seek. Where there is no memory for it the iteration ends, with the error.
  template <typename Move>
  void OrEnd(Move&& move) {
    if (UnlessOutOfMemory(std::forward<Move>(move))) return;
    valid_ = false;
    status_ = OutOfMemory();
  }
  void TakeStepsUnderTombstones() {
    if (steps_under_tombstones_ == nullptr) [[likely]]
      return;
    StepsUnderTombstones& steps = *steps_under_tombstones_;
    all_skipped_ += std::exchange(steps.num_entries, 0);
    const uint64_t in_a_row = std::exchange(steps.most_in_a_row, 0);
    if (in_a_row <= most_skipped_) return;
    most_skipped_ = in_a_row;
    garbage_key_ = std::move(steps.key);
  }
  // Counts go to the thread that calls now, which may be another each time. What has been handed
  // over before is subtracted, since `reads` only grows.
  void HandOverCounts() {
    TakeStepsUnderTombstones();
    ThreadCounters& counters = options_.recorder->Local();
    counters.Add(Ticker::kIteratorSteps, std::exchange(steps_, 0));
    counters.Add(Ticker::kIteratorEntriesSkipped,
                 std::exchange(all_skipped_, 0) + std::exchange(skipped_, 0));
    if (most_skipped_ > 0) {
      options_.owner->NoteGarbage(options_.family, *view_, garbage_key_,
                                  std::exchange(most_skipped_, 0));
    }
    ReadCounters& reads = *options_.reads;
    const auto hand_over = [](SingleWriterCounter& from, uint64_t* handed,
                              SingleWriterCounter& to) {
      to.Add(from.value() - *handed);
      *handed = from.value();
    };
    hand_over(reads.data_blocks_read, &handed_[0], counters.reads().data_blocks_read);
    hand_over(reads.index_blocks_read, &handed_[1], counters.reads().index_blocks_read);
    hand_over(reads.bytes_read, &handed_[2], counters.reads().bytes_read);
    hand_over(reads.block_cache_hits, &handed_[3], counters.reads().block_cache_hits);
    hand_over(reads.block_cache_misses, &handed_[4], counters.reads().block_cache_misses);
    hand_over(reads.block_load_waits, &handed_[5], counters.reads().block_load_waits);
    hand_over(reads.filter_blocks_read, &handed_[6], counters.reads().filter_blocks_read);
    if (questions_ != nullptr && questions_->has_counted()) {
      UnlessOutOfMemory([&] {
        const HazardGuard guard(HazardSlot::kReadView);
        questions_->HandOver(&counters.Filters(options_.family_id, FilterCall::kSeek));
      });
    }
  }
  void Start(Direction direction) {
    HandOverCounts();
    options_.recorder->Local().Add(Ticker::kSeeks);
    if (moment_ != nullptr) [[unlikely]]
      moment_->Renew();
    direction_ = direction;
    status_ = absl::OkStatus();
  }

  // To the last entry before every version of the key.
  // The largest number sorts first, so that nothing of the key itself is left before.
  void SeekBefore(std::string_view key) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, key, kMaxSequenceNumber, kEntryTypeForSeek);
    internal_->SeekForPrev(seek_key_);
  }

  // Whether so many versions of this key have been skipped in a row that a seek is the shorter way
  // past the others. Looks at the keys a few entries apart, so that steps over different keys cost
  // no comparison.
  bool HasManyVersions(std::string_view user_key) {
    if (++skipped_ % kStepsBeforeSeek != 0) return false;
    if (skipped_ >= kMuchGarbage && skipped_ > most_skipped_) {
      most_skipped_ = skipped_;
      garbage_key_.assign(user_key);
    }
    const bool many =
        skipped_ > kStepsBeforeSeek && comparator_.CompareUserKeys(user_key, skipped_key_) == 0;
    skipped_key_.assign(user_key);
    return many;
  }

  // To the entry after one that is not shown, or further, past versions of its key that are not
  // shown either.
  void SkipForward(std::string_view internal_key) {
    if (!HasManyVersions(UserKey(internal_key))) {
      internal_->Next();
      return;
    }
    seek_key_.clear();
    // A version that is too new: to the first that is not. Any other has been shown or is hidden,
    // and all the versions after it are.
    if (Sequence(internal_key) > snapshot_) {
      AppendInternalKey(&seek_key_, skipped_key_, snapshot_, kEntryTypeForSeek);
    } else {
      AppendInternalKey(&seek_key_, skipped_key_, 0, EntryType::kDelete);
    }
    internal_->Seek(seek_key_);
  }

  // From where the internal iterator stands to the next entry to show. `skipping`: entries of
  // saved_key_ have been shown or are hidden. Without a bound on the entries skipped: a range full
  // of deletions is walked through to its end.
  void FindNextVisible(bool skipping) {
    valid_ = false;
    shows_entry_ = true;
    all_skipped_ += std::exchange(skipped_, 0);
    for (; internal_->Valid(); SkipForward(internal_->key())) {
      const std::string_view internal_key = internal_->key();
      const std::string_view user_key = UserKey(internal_key);
      // Before anything else: the walk ends at the first entry beyond the bound, be it visible or
      // not.
      if (options_.upper_bound.has_value() &&
          comparator_.CompareUserKeys(user_key, *options_.upper_bound) >= 0) {
        return;
      }
      if (Sequence(internal_key) > snapshot_) continue;
      // Smaller keys too, not only equal ones: after a turn-around the walk may begin further back.
      if (skipping && comparator_.CompareUserKeys(user_key, saved_key_) <= 0) continue;
      if (Type(internal_key) == EntryType::kPut) {
        valid_ = true;
        return;
      }
      if (!CheckType(internal_key)) return;
      if (Type(internal_key) == EntryType::kMerge) {
        shows_entry_ = false;
        valid_ = MergeForward();
        return;
      }
      saved_key_.assign(user_key);  // deleted: older versions are hidden
      skipping = true;
    }
  }

  // From an entry before the shown key back to the newest visible version of an earlier key.
  // Entries of a key come oldest first in this direction.
  void FindPreviousVisible() {
    valid_ = false;
    shows_entry_ = false;
    all_skipped_ += std::exchange(skipped_, 0);
    ClearOperands();
    bool have_value = false;
    while (internal_->Valid()) {
      const std::string_view internal_key = internal_->key();
      const std::string_view user_key = UserKey(internal_key);
      // The versions of saved_key_ are all seen, the last of them the newest that is visible.
      if (have_value && comparator_.CompareUserKeys(user_key, saved_key_) < 0) break;
      if (options_.lower_bound.has_value() &&
          comparator_.CompareUserKeys(user_key, *options_.lower_bound) < 0) {
        break;
      }
      if (HasManyVersions(user_key)) {
        if (!SaveNewestVisible(&have_value)) return;
        SeekBefore(skipped_key_);
        if (have_value) break;
        continue;
      }
      if (!SaveIfVisible(internal_key, &have_value)) return;
      internal_->Prev();
    }
    // The internal iterator may have ended for an error before the newest version was seen; what
    // was saved is then perhaps an older one, and must not be shown.
    valid_ = have_value && internal_->status().ok();
    if (valid_ && HasOperands()) valid_ = MergeSaved();
  }

  // From the newest visible operand of a key: saves the key, and what its versions make together.
  // False: an error, which status() says.
  bool MergeForward() {
    saved_key_.assign(UserKey(internal_->key()));
    const SequenceNumber newest = Sequence(internal_->key());
    ClearOperands();
    has_saved_base_ = false;
    for (; internal_->Valid(); internal_->Next()) {
      if (HasOperands() && operands_->num_added() == kOperandsBeforeLookup) {
        return MergeByLookup(newest);
      }
      const std::string_view internal_key = internal_->key();
      if (comparator_.CompareUserKeys(UserKey(internal_key), saved_key_) != 0) break;
      if (!CheckType(internal_key)) return false;
      if (Type(internal_key) != EntryType::kMerge) {
        has_saved_base_ = Type(internal_key) == EntryType::kPut;
        if (has_saved_base_) saved_value_.assign(internal_->value());
        break;
      }
      Operands().AddOlder(saved_key_, internal_->value());
    }
    return internal_->status().ok() && MergeSaved();
  }

  // A long chain: a look-up finds what others have combined of it, where steps would meet each
  // operand.
  bool MergeByLookup(SequenceNumber newest) {
    ClearOperands();
    LookupContext context;
    context.read_options.fill_cache = options_.fill_cache;
    context.read_options.verify_checksums = options_.verify_checksums;
    context.read_options.counters = options_.reads.get();
    status_ = ReadMergedValue(*view_, view_->MakeLookupKey(saved_key_, newest), context,
                              /*in_tables=*/false, options_.recorder->Local(), &saved_value_);
    if (!status_.ok()) {
      ReportMergeFailure();
      return false;
    }
    seek_key_.clear();
    AppendInternalKey(&seek_key_, saved_key_, 0, EntryType::kDelete);
    internal_->Seek(seek_key_);
    return internal_->status().ok();
  }

  // Replaces the saved value, if there is one, by what the operands make of it.
  bool MergeSaved() {
    ThreadCounters& counters = options_.recorder->Local();
    counters.Add(Ticker::kMergedReads);
    counters.Add(Ticker::kMergeOperandsRead, operands_->num_added());
    std::optional<std::string_view> existing;
    if (has_saved_base_) existing = saved_value_;
    std::string merged;
    status_ = operands_->Merge(saved_key_, existing, &merged);
    ClearOperands();
    if (!status_.ok()) {
      counters.Add(Ticker::kMergeFailures);
      ReportMergeFailure();
      return false;
    }
    saved_value_.swap(merged);
    return true;
  }

  void ReportMergeFailure() {
    if (!absl::IsFailedPrecondition(status_)) return;
    options_.events->AddMergeFailures(options_.family->name(), "iterator", status_, 1);
  }

  MergeContext& Operands() {
    if (!operands_.has_value()) operands_.emplace(view_->merge_operator);
    return *operands_;
  }
  bool HasOperands() const { return operands_.has_value() && !operands_->empty(); }
  void ClearOperands() {
    if (HasOperands()) operands_->Clear();
  }

  // Takes a version that is newer than those of its key before it. False: status_ says why.
  bool SaveIfVisible(std::string_view internal_key, bool* have_value) {
    if (Sequence(internal_key) > snapshot_) return true;
    if (Type(internal_key) == EntryType::kMerge) {
      // Its key has the saved value, if there is one at all: that of another ends the walk.
      if (!*have_value) has_saved_base_ = false;
      saved_key_.assign(UserKey(internal_key));
      Operands().AddNewer(saved_key_, internal_->value());
      *have_value = true;
      return true;
    }
    ClearOperands();  // they are older
    if (Type(internal_key) == EntryType::kDelete) {
      *have_value = false;  // hides the older versions seen so far
      return true;
    }
    if (!CheckType(internal_key)) return false;
    // Copied for each version that may be the one: the next step takes the bytes away.
    saved_key_.assign(UserKey(internal_key));
    saved_value_.assign(internal_->value());
    has_saved_base_ = true;
    *have_value = true;
    return true;
  }

  // Seeks the newest visible version of skipped_key_, which, if there is one, replaces what was
  // saved. False: the internal iterator's status, or status_, says why.
  bool SaveNewestVisible(bool* have_value) {
    seek_key_.clear();
    AppendInternalKey(&seek_key_, skipped_key_, snapshot_, kEntryTypeForSeek);
    internal_->Seek(seek_key_);
    if (!internal_->Valid()) return internal_->status().ok();
    const std::string_view internal_key = internal_->key();
    if (comparator_.CompareUserKeys(UserKey(internal_key), skipped_key_) != 0) return true;
    if (Type(internal_key) == EntryType::kMerge) {
      *have_value = MergeForward();
      return *have_value;
    }
    return SaveIfVisible(internal_key, have_value);
  }

  bool CheckType(std::string_view internal_key) {
    if (IsKnownEntryType(Type(internal_key))) return true;
    status_ = absl::DataLossError("entry of unknown type: a newer version of Winnow wrote it");
    return false;
  }

  // Before internal_, whose iterators point into the view's memtables and files: destroyed after
  // it.
  std::shared_ptr<const ReadView> view_;
  const InternalKeyComparator comparator_;
  const DbIteratorOptions options_;
  // If there are values with write times; internal_ looks at it.
  std::unique_ptr<IteratorMoment> moment_;
  std::unique_ptr<RangeQuestions> questions_;  // may be null; internal_ asks them
  std::unique_ptr<StepsUnderTombstones> steps_under_tombstones_;  // may be null; as questions_
  std::unique_ptr<InternalIterator> internal_;
  SequenceNumber snapshot_;
  Direction direction_ = kForward;
  bool valid_ = false;
  bool shows_entry_ = true;  // key and value are the internal iterator's, and no copies
  std::string seek_key_;
  std::string saved_key_;
  std::string saved_value_;
  bool has_saved_base_ = false;           // operands are merged with saved_value_
  std::optional<MergeContext> operands_;  // of saved_key_; made for the first
  size_t skipped_ = 0;                    // entries, since the last one that was shown
  std::string skipped_key_;    // of the last of them whose number kStepsBeforeSeek divides
  uint64_t all_skipped_ = 0;   // before those, and not handed over yet
  uint64_t most_skipped_ = 0;  // in a row, if they were much garbage; not handed over yet
  std::string garbage_key_;    // of the last of these
  uint64_t steps_ = 0;
  std::array<uint64_t, 7> handed_{};  // of options_.reads, already counted
  absl::Status status_;
};

}  // namespace

std::unique_ptr<Iterator> NewDbIterator(DbIteratorInput input, DbIteratorOptions options) {
  return std::make_unique<DbIterator>(std::move(input), std::move(options));
}

}  // namespace winnow
