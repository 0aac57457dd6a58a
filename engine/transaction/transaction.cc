// Writes are kept in an indexed batch until Commit. What a key's write or GetForUpdate relies on is
// kept beside it: that nobody else has written the key since some moment; and of a range that is
// deleted the same for all of its keys. Commit makes sure of that and then writes the batch as
// DB::Write would.
#include "winnow/transaction.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/base/error_iterator.h"
#include "engine/base/status.h"
#include "engine/transaction/conflict_check.h"
#include "engine/transaction/database_transactions.h"
#include "engine/transaction/tracked_keys.h"
#include "filter/base/out_of_memory.h"
#include "winnow/indexed_write_batch.h"

namespace winnow {

namespace {

constexpr std::chrono::milliseconds kMaxLockTimeout = std::chrono::hours(1);
constexpr size_t kBytesOfPlace = 96;  // of what is relied on, beside the key's own

class TransactionImpl final : public Transaction {
 public:
  // `snapshot` is released at the end.
  TransactionImpl(std::shared_ptr<DatabaseTransactions> manager, const TransactionOptions& options,
                  const Snapshot* snapshot)
      : manager_(std::move(manager)),
        options_(options),
        id_(manager_->NextId()),
        default_family_(manager_->parts().db->DefaultColumnFamily()),
        database_number_(static_cast<ColumnFamilyState*>(default_family_)->database_number()),
        snapshot_(snapshot),
        updates_(*manager_->parts().db) {}
  ~TransactionImpl() override { End(); }

  uint64_t id() const override { return id_; }
  const Snapshot* snapshot() const override {
    return options_.snapshot_at_begin ? snapshot_ : nullptr;
  }
  const WriteBatch& writes() const override { return updates_.batch(); }
  ColumnFamily* DefaultColumnFamily() const override { return default_family_; }

  absl::Status Put(ColumnFamily* family, std::string_view key, std::string_view value) override {
    return Update(family, key, [&] { return updates_.Put(family, key, value); });
  }
  absl::Status Delete(ColumnFamily* family, std::string_view key) override {
    return Update(family, key, [&] { return updates_.Delete(family, key); });
  }
  absl::Status Merge(ColumnFamily* family, std::string_view key,
                     std::string_view operand) override {
    return Update(family, key, [&] { return updates_.Merge(family, key, operand); });
  }
  absl::Status DeleteRange(ColumnFamily* family, std::string_view begin,
                           std::string_view end) override {
    WINNOW_RETURN_IF_ERROR(RelyOnRange(family, begin, end));
    return updates_.DeleteRange(family, begin, end);
  }

  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   std::string* value) override {
    return GetInto(options, family, key, value);
  }
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   PinnedValue* value) override {
    return GetInto(options, family, key, value);
  }
  void MultiGet(const ReadOptions& options, ColumnFamily* family,
                std::span<const std::string_view> keys, std::span<PinnedValue> values,
                std::span<absl::Status> statuses) override;
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, ColumnFamily* family) override;
  absl::Status GetForUpdate(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                            std::string* value) override {
    return GetForUpdateInto(options, family, key, value);
  }
  absl::Status GetForUpdate(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                            PinnedValue* value) override {
    return GetForUpdateInto(options, family, key, value);
  }

  absl::Status SetSavepoint() override {
    WINNOW_RETURN_IF_ERROR(CheckGoesOn());
    return updates_.SetSavepoint();
  }
  absl::Status RollbackToSavepoint() override {
    WINNOW_RETURN_IF_ERROR(CheckGoesOn());
    return updates_.RollbackToSavepoint();
  }
  absl::Status PopSavepoint() override {
    WINNOW_RETURN_IF_ERROR(CheckGoesOn());
    return updates_.PopSavepoint();
  }

  absl::Status Commit(const WriteOptions& options) override;
  absl::Status Rollback() override;

 private:
  bool is_pessimistic() const { return options_.mode == TransactionOptions::Mode::kPessimistic; }
  // FailedPrecondition: the transaction is over, or the database closed.
  absl::Status CheckGoesOn() const;
  // `options` with the transaction's snapshot, where they have none. Kept here, since bounds would
  // make a copy ask for memory each time.
  const ReadOptions& WithSnapshot(const ReadOptions& options) {
    if (options.snapshot != nullptr || !options_.snapshot_at_begin) return options;
    read_options_ = options;
    read_options_.snapshot = snapshot_;
    return read_options_;
  }
  template <typename Value>
  absl::Status GetInto(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                       Value* value) {
    return CatchOutOfMemory([&]() -> absl::Status {
      WINNOW_RETURN_IF_ERROR(CheckGoesOn());
      return updates_.Get(WithSnapshot(options), family, key, value);
    });
  }
  template <typename Value>
  absl::Status GetForUpdateInto(const ReadOptions& options, ColumnFamily* family,
                                std::string_view key, Value* value);

  // Relies on the key, and updates it. If the update is refused, both are undone.
  template <typename Call>
  absl::Status Update(const ColumnFamily* family, std::string_view key, Call update) {
    bool is_new = false;
    WINNOW_RETURN_IF_ERROR(Rely(family, key, &is_new));
    absl::Status status = update();
    if (!status.ok() && is_new) Forget(*static_cast<const ColumnFamilyState*>(family), key);
    return status;
  }

  // From now on the transaction's success depends on nobody else's writing the key, which a
  // pessimistic one locks for that. `*is_new`: it did not yet.
  absl::Status Rely(const ColumnFamily* family, std::string_view key, bool* is_new);
  void Forget(const ColumnFamilyState& family, std::string_view key);
  absl::Status RelyOnNew(const ColumnFamilyState& family, std::string_view key,
                         TrackedFamily* tracked);
  // The same of all keys of a range, none of which is locked.
  absl::Status RelyOnRange(const ColumnFamily* family, std::string_view begin,
                           std::string_view end);
  // InvalidArgument: what is relied on would take too much.
  absl::Status CheckRoomFor(size_t more_bytes) const;
  // The number that later writes of others are measured by: that of the reads, where they have one
  // moment for all, else that of now.
  SequenceNumber UnchangedSince() const {
    return options_.snapshot_at_begin ? snapshot_->sequence()
                                      : manager_->parts().publishing->visible_sequence();
  }
  absl::Status Lock(const ColumnFamilyState& family, std::string_view key, TrackedKey* tracked);
  absl::StatusOr<const ColumnFamilyState*> CheckKey(const ColumnFamily* family,
                                                    std::string_view key) const;
  absl::Status Apply(const WriteOptions& options);
  // Gives locks and snapshot back.
  void End();

  // Lives as long as any transaction does, unlike the database.
  const std::shared_ptr<DatabaseTransactions> manager_;
  const TransactionOptions options_;
  const uint64_t id_;
  ColumnFamily* const default_family_;
  const uint64_t database_number_;
  // Held in any case: without it deletions could be dropped that are conflicts.
  const Snapshot* snapshot_;
  bool is_over_ = false;
  IndexedWriteBatch updates_;
  TrackedKeys tracked_;
  size_t tracked_bytes_ = 0;
  ReadOptions read_options_;
};

// The database first: of a transaction that outlives it nothing else is worth saying.
absl::Status TransactionImpl::CheckGoesOn() const {
  WINNOW_RETURN_IF_ERROR(manager_->CheckUsable());
  if (!is_over_) [[likely]]
    return absl::OkStatus();
  return CatchOutOfMemory([] {
    return absl::FailedPreconditionError("the transaction has been committed or rolled back");
  });
}

void TransactionImpl::MultiGet(const ReadOptions& options, ColumnFamily* family,
                               std::span<const std::string_view> keys,
                               std::span<PinnedValue> values, std::span<absl::Status> statuses) {
  const absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(CheckGoesOn());
    updates_.MultiGet(WithSnapshot(options), family, keys, values, statuses);
    return absl::OkStatus();
  });
  if (status.ok()) return;
  for (PinnedValue& value : values) value.Reset();
  std::fill(statuses.begin(), statuses.end(), status);
}

std::unique_ptr<Iterator> TransactionImpl::NewIterator(const ReadOptions& options,
                                                       ColumnFamily* family) {
  std::unique_ptr<Iterator> iterator;
  // Whatever fails, the caller gets an iterator, and learns of it by its status.
  const bool had_memory = UnlessOutOfMemory([&] {
    const absl::Status status = CheckGoesOn();
    iterator = status.ok() ? updates_.NewIterator(WithSnapshot(options), family)
                           : NewErrorIterator(status);
  });
  return had_memory ? std::move(iterator) : NewOutOfMemoryIterator();
}

template <typename Value>
absl::Status TransactionImpl::GetForUpdateInto(const ReadOptions& options, ColumnFamily* family,
                                               std::string_view key, Value* value) {
  WINNOW_RETURN_IF_ERROR(CheckGoesOn());
  if (options.snapshot != nullptr) {
    return CatchOutOfMemory([] {
      return absl::InvalidArgumentError("GetForUpdate reads at the transaction's own snapshot");
    });
  }
  // The lock, or the number, comes before the read: a write that the read does not see is a
  // conflict.
  bool is_new = false;
  WINNOW_RETURN_IF_ERROR(Rely(family, key, &is_new));
  return GetInto(options, family, key, value);
}

// What the database would refuse later is refused before anything is locked.
absl::StatusOr<const ColumnFamilyState*> TransactionImpl::CheckKey(const ColumnFamily* family,
                                                                   std::string_view key) const {
  WINNOW_RETURN_IF_ERROR(CheckGoesOn());
  if (family == nullptr) return absl::InvalidArgumentError("the column family is null");
  const auto* state = static_cast<const ColumnFamilyState*>(family);
  if (state->database_number() != database_number_) {
    return absl::InvalidArgumentError(
        absl::StrCat("column family '", ToAbsl(family->name()), "' belongs to another database"));
  }
  if (state->is_dropped()) {
    return absl::FailedPreconditionError(
        absl::StrCat("column family '", ToAbsl(family->name()), "' has been dropped"));
  }
  if (key.size() > kMaxKeyBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("key of ", key.size(), " bytes is over the limit of ", kMaxKeyBytes));
  }
  return state;
}

absl::Status TransactionImpl::Rely(const ColumnFamily* family, std::string_view key, bool* is_new) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const ColumnFamilyState* const state, CheckKey(family, key));
    // A key that is relied on already keeps its number, which is the older and stricter one, and
    // its lock.
    TrackedFamily& tracked = tracked_.try_emplace(state->id(), state).first->second;
    if (tracked.keys.contains(key)) return absl::OkStatus();
    WINNOW_RETURN_IF_ERROR(RelyOnNew(*state, key, &tracked));
    *is_new = true;
    return absl::OkStatus();
  });
}

void TransactionImpl::Forget(const ColumnFamilyState& family, std::string_view key) {
  const auto tracked = tracked_.find(family.id());
  if (tracked == tracked_.end()) return;
  const auto place = tracked->second.keys.find(key);
  if (place == tracked->second.keys.end()) return;
  // As End does: with the database closed the lock has gone.
  if (place->second.is_locked && manager_->IsUsable()) manager_->locks().Unlock(family, key);
  tracked_bytes_ -= key.size() + kBytesOfPlace;
  tracked->second.keys.erase(place);
}

absl::Status TransactionImpl::CheckRoomFor(size_t more_bytes) const {
  if (tracked_bytes_ + more_bytes <= kMaxBatchBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the keys that the transaction relies on are over the limit of ", kMaxBatchBytes, " bytes"));
}

// However many pieces are there already, the ranges together come to two for each.
absl::Status TransactionImpl::RelyOnRange(const ColumnFamily* family, std::string_view begin,
                                          std::string_view end) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const ColumnFamilyState* const state, CheckKey(family, begin));
    WINNOW_RETURN_IF_ERROR(CheckKey(family, end).status());
    // As IndexedWriteBatch::DeleteRange will judge it, before anything rests on it.
    const int order = state->comparator().CompareUserKeys(begin, end);
    if (order > 0) return InvertedRange();
    if (order == 0) return absl::OkStatus();
    const size_t bytes = 2 * (begin.size() + end.size() + kBytesOfPlace);
    WINNOW_RETURN_IF_ERROR(CheckRoomFor(bytes));
    TrackedFamily& tracked = tracked_.try_emplace(state->id(), state).first->second;
    // Pieces that are there keep their older number; only gaps between them get this one.
    tracked.ranges.Add(begin, end, UnchangedSince());
    tracked_bytes_ += bytes;
    return absl::OkStatus();
  });
}

// The key's place is made before the lock is taken, so that no lock can be forgotten.
absl::Status TransactionImpl::RelyOnNew(const ColumnFamilyState& family, std::string_view key,
                                        TrackedFamily* tracked) {
  WINNOW_RETURN_IF_ERROR(CheckRoomFor(key.size() + kBytesOfPlace));
  const auto place = tracked->keys.try_emplace(std::string(key)).first;
  absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    if (is_pessimistic()) WINNOW_RETURN_IF_ERROR(Lock(family, key, &place->second));
    // After the lock is there: what was written while this one waited has been seen by nobody here.
    place->second.unchanged_since = UnchangedSince();
    if (!is_pessimistic() || !options_.snapshot_at_begin) return absl::OkStatus();
    // Sooner than at commit, for whoever would go on in vain.
    bool is_conflict = false;
    absl::Status checked = CheckUnchanged(family, key, snapshot_->sequence(), &is_conflict);
    if (is_conflict) manager_->Count(Ticker::kTransactionConflicts);
    return checked;
  });
  if (status.ok()) {
    tracked_bytes_ += key.size() + kBytesOfPlace;
    return status;
  }
  // As it was before the call: neither the lock nor the reliance stays behind.
  if (place->second.is_locked) manager_->locks().Unlock(family, key);
  tracked->keys.erase(place);
  return status;
}

absl::Status TransactionImpl::Lock(const ColumnFamilyState& family, std::string_view key,
                                   TrackedKey* tracked) {
  LockResult result =
      manager_->locks().Lock(id_, family, key, {options_.lock_timeout, options_.detect_deadlocks});
  // Of a closed database nothing is there to count with.
  if (result.outcome == LockOutcome::kClosed) return std::move(result.status);
  if (result.waited) manager_->Count(Ticker::kTransactionLockWaits);
  if (result.outcome == LockOutcome::kTimedOut) {
    manager_->Count(Ticker::kTransactionLockTimeouts);
  } else if (result.outcome == LockOutcome::kDeadlock) {
    manager_->Count(Ticker::kTransactionDeadlocks);
    manager_->parts().events->AddDeadlock(family.name(), result.status);
  }
  tracked->is_locked = result.outcome == LockOutcome::kGranted;
  return std::move(result.status);
}

absl::Status TransactionImpl::Commit(const WriteOptions& options) {
  WINNOW_RETURN_IF_ERROR(CheckGoesOn());
  absl::Status status = CatchOutOfMemory([&] { return Apply(options); });
  if (status.ok()) manager_->Count(Ticker::kTransactionCommits);
  End();
  return status;
}

// Without writes there is nothing to lead the queue for: what was true at one moment after all
// reads is enough.
absl::Status TransactionImpl::Apply(const WriteOptions& options) {
  ConflictCheck check(&tracked_, manager_->parts().publishing);
  absl::Status status = check.CheckBefore();
  if (status.ok() && updates_.batch().num_updates() > 0) {
    // `check` is on this stack: the leader that asks it does so while this thread waits in the
    // queue.
    status = manager_->parts().write(options, updates_.batch(), &check);
  }
  if (check.found_conflict()) manager_->Count(Ticker::kTransactionConflicts);
  return status;
}

absl::Status TransactionImpl::Rollback() {
  WINNOW_RETURN_IF_ERROR(CheckGoesOn());
  // Its iterators end with an error; those of a transaction that has been committed go on.
  updates_.Clear();
  End();
  return absl::OkStatus();
}

// Where the database is closed, snapshot and locks have gone with it; in a child made by fork a
// mutex may be held by a thread that does not exist there.
void TransactionImpl::End() {
  if (is_over_) return;
  is_over_ = true;
  if (manager_->IsUsable()) {
    for (const auto& [id, tracked] : tracked_) {
      for (const auto& [key, state] : tracked.keys) {
        if (state.is_locked) manager_->locks().Unlock(*tracked.family, key);
      }
    }
    // After the last check that needs it (CheckUnchanged).
    manager_->parts().db->ReleaseSnapshot(snapshot_);
  }
  snapshot_ = nullptr;
  tracked_.clear();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Transaction>> NewTransaction(
    std::shared_ptr<DatabaseTransactions> manager, const TransactionOptions& options) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<Transaction>> {
    WINNOW_RETURN_IF_ERROR(manager->CheckUsable());
    if (options.mode != TransactionOptions::Mode::kOptimistic &&
        options.mode != TransactionOptions::Mode::kPessimistic) {
      return absl::InvalidArgumentError(
          absl::StrCat("mode ", static_cast<int>(options.mode), " is none of a transaction"));
    }
    if (options.lock_timeout.count() < 0 || options.lock_timeout > kMaxLockTimeout) {
      return absl::InvalidArgumentError(
          absl::StrCat("lock_timeout of ", options.lock_timeout.count(),
                       " ms is not in the range 0", " to ", kMaxLockTimeout.count()));
    }
    DB& db = *manager->parts().db;
    // Before the transaction exists, since without one it would rely on deletions that may be gone.
    const Snapshot* const snapshot = db.GetSnapshot();
    if (snapshot == nullptr) return OutOfMemory();
    std::unique_ptr<Transaction> transaction;
    // A constructor that fails runs no destructor: the snapshot is given back below.
    const bool had_memory = UnlessOutOfMemory([&] {
      transaction = std::make_unique<TransactionImpl>(std::move(manager), options, snapshot);
    });
    if (had_memory) return transaction;
    db.ReleaseSnapshot(snapshot);
    return OutOfMemory();
  });
}

}  // namespace winnow
