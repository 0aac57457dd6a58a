// The value of a key whose newest version is a merge operand: the operands from there down to the
// value or deletion that ends them, combined by the family's operator.
//
// Versions come newest first, from the memtables and then from the tables, and each place ends the
// walk or passes it on. A range deletion ends it too, wherever it is: its number is looked up once,
// over all places, and no version below it is taken.
#include "engine/db/merge_reads.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/merge_context.h"
#include "engine/base/status.h"
#include "engine/base/write_time.h"

namespace winnow {

namespace {

// Takes versions of a key, newest first, up to the one that operands are merged with.
class OperandCollector {
 public:
  // `range_deletion`: the number of the newest range deletion of the key; 0: there is none.
  OperandCollector(const MergeOperator& merge_operator, std::string_view user_key,
                   SequenceNumber range_deletion)
      : operator_(&merge_operator),
        key_(user_key),
        range_deletion_(range_deletion),
        operands_(&merge_operator) {}

  bool IsRangeDeleted(SequenceNumber sequence) const { return sequence < range_deletion_; }

  // False: nothing older counts. `is_pinned`: the bytes stay until Merge.
  bool Take(uint64_t trailer, std::string_view value, bool is_pinned) {
    if (IsRangeDeleted(trailer >> 8)) return false;
    switch (static_cast<EntryType>(trailer & 0xff)) {
      case EntryType::kMerge:
        if (is_pinned) {
          operands_.AddOlderPinned(key_, value);
        } else {
          operands_.AddOlder(key_, value);
        }
        return true;
      case EntryType::kPut:
        existing_.emplace(value);
        return false;
      case EntryType::kPutWithTime:
        // From before there were operands: nothing that has some expires.
        has_unknown_ = !HasWriteTime(value);
        if (!has_unknown_) existing_.emplace(WithoutWriteTime(value));
        return false;
      case EntryType::kDelete:
        return false;
      default:
        has_unknown_ = true;
        return false;
    }
  }

  const MergeOperator& merge_operator() const { return *operator_; }
  size_t num_operands() const { return operands_.num_added(); }

  absl::Status Merge(std::string* value) const {
    // Not taken for a value and not for a deletion: either would be a wrong answer.
    if (has_unknown_) {
      return absl::DataLossError("entry of unknown type: a newer version of Winnow wrote it");
    }
    std::optional<std::string_view> existing;
    if (existing_.has_value()) existing = *existing_;
    return operands_.Merge(key_, existing, value);
  }

 private:
  const MergeOperator* const operator_;
  const std::string_view key_;
  const SequenceNumber range_deletion_;
  MergeContext operands_;
  std::optional<std::string> existing_;
  bool has_unknown_ = false;
};

// So many operands of one key in one memtable are worth a fold.
constexpr size_t kWorthAFold = 256;

// The version before `entry`; null if there is none here.
const BTree::Entry* NextIn(const Memtable& memtable, const LookupKey& key,
                           const BTree::Entry* entry) {
  const BTree::Entry* const next = BTree::Next(entry);
  if (next == nullptr) return nullptr;
  const bool same_key =
      memtable.comparator().CompareUserKeys(UserKey(next->internal_key()), key.user_key) == 0;
  return same_key ? next : nullptr;
}

// Walks a key's operands in one memtable. Long chains are combined for the reader who comes next:
// each operand is walked over about once, however often the key is read.
class MemtableChain {
 public:
  MemtableChain(const Memtable& memtable, const LookupKey& key, OperandCollector* collector)
      : memtable_(memtable), key_(key), collector_(collector) {}

  // False: nothing older counts.
  bool Take() {
    bool wants_older = true;
    const BTree::Entry* entry = memtable_.Find(key_.user_key, key_.snapshot);
    if (entry != nullptr && !memtable_.folds().empty()) {
      // By the newest entry that the snapshot sees: a fold that goes beyond it has operands that it
      // does not see.
      fold_ = memtable_.folds().Find(key_.user_key, Sequence(entry->internal_key()));
    }
    while (entry != nullptr && wants_older) {
      const SequenceNumber sequence = Sequence(entry->internal_key());
      // What is deleted must not get into a fold.
      if (collector_->IsRangeDeleted(sequence)) {
        wants_older = false;
        break;
      }
      if (fold_ != nullptr && !took_fold_ && sequence == fold_->newest) {
        collector_->Take(PackTrailer(fold_->newest, EntryType::kMerge), fold_->operand,
                         /*is_pinned=*/false);
        took_fold_ = true;
        oldest_ = fold_->oldest;
        // An operand has a sequence number of its own, and none is 0 in a memtable.
        entry = memtable_.Find(key_.user_key, fold_->oldest - 1);
        continue;
      }
      wants_older = TakeOne(entry);
      entry = wants_older ? NextIn(memtable_, key_, entry) : nullptr;
    }
    // Not counting what the fold saved: a chain that grows is folded once for so many new operands.
    if (walked_.size() >= kWorthAFold) KeepFold();
    return wants_older;
  }

 private:
  bool TakeOne(const BTree::Entry* entry) {
    const uint64_t trailer = Trailer(entry->internal_key());
    if (static_cast<EntryType>(trailer & 0xff) == EntryType::kMerge) {
      if (newest_ == 0) newest_ = trailer >> 8;
      // What lies behind a fold is in no other.
      if (!took_fold_) {
        walked_.push_back(entry->value());
        oldest_ = trailer >> 8;
      }
    }
    return collector_->Take(trailer, entry->value(), /*is_pinned=*/true);
  }

  void KeepFold() {
    std::vector<std::string_view> operands;
    operands.reserve(walked_.size() + 1);
    if (took_fold_) operands.push_back(fold_->operand);
    // The operator takes operands from the oldest on, and the walk met the newest first.
    operands.insert(operands.end(), walked_.rbegin(), walked_.rend());
    OperandFold fold;
    fold.newest = newest_;
    fold.oldest = oldest_;
    fold.num_operands = walked_.size() + (took_fold_ ? fold_->num_operands : 0);
    // An operator that cannot combine these has readers walk the chain each time.
    if (!CombineOperands(collector_->merge_operator(), key_.user_key, operands, &fold.operand)) {
      return;
    }
    memtable_.folds().Keep(key_.user_key, std::move(fold));
  }

  const Memtable& memtable_;
  const LookupKey& key_;
  OperandCollector* const collector_;
  std::vector<std::string_view> walked_;  // newest first, up to the fold
  SequenceNumber newest_ = 0;
  SequenceNumber oldest_ = 0;
  std::shared_ptr<const OperandFold> fold_;
  bool took_fold_ = false;
};

// False: nothing older counts.
bool TakeFromMemtable(const Memtable& memtable, uint64_t whole_key_hash, const LookupKey& key,
                      OperandCollector* collector) {
  if (memtable.empty() || !memtable.MayContain(key.user_key, whole_key_hash)) return true;
  return MemtableChain(memtable, key, collector).Take();
}

}  // namespace

absl::Status ReadMergedValue(const ReadView& view, const LookupKey& key,
                             const LookupContext& context, bool in_tables, ThreadCounters& counters,
                             std::string* value) {
  OperandCollector collector(*view.merge_operator, key.user_key, view.NewestRangeDeletion(key));
  // With an operand found in a table the memtables have been asked, and have nothing of the key
  // that counts: FinishMerge looks from that operand's number down, and the memtables' entries are
  // newer.
  bool wants_older = true;
  if (!in_tables) {
    const uint64_t hash = view.WholeKeyHash(key);
    wants_older = TakeFromMemtable(*view.active, hash, key, &collector);
    for (size_t i = 0; i < view.immutables.size() && wants_older; i++) {
      wants_older = TakeFromMemtable(*view.immutables[i], hash, key, &collector);
    }
  }
  if (wants_older) {
    WINNOW_RETURN_IF_ERROR(view.version->VisitVersions(
        key, context, in_tables, [&](uint64_t trailer, std::string_view bytes) {
          // A block's bytes may go before the merge, and are copied. Those of a memtable stay with
          // the view.
          return collector.Take(trailer, bytes, /*is_pinned=*/false);
        }));
  }
  counters.Add(Ticker::kMergedReads);
  counters.Add(Ticker::kMergeOperandsRead, collector.num_operands());
  absl::Status merged = collector.Merge(value);
  if (!merged.ok()) counters.Add(Ticker::kMergeFailures);
  return merged;
}

}  // namespace winnow
