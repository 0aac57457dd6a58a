// What the transactions of one open database share.
#ifndef WINNOW_ENGINE_TRANSACTION_DATABASE_TRANSACTIONS_H_
#define WINNOW_ENGINE_TRANSACTION_DATABASE_TRANSACTIONS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/base/owning_process.h"
#include "engine/events/event_queue.h"
#include "engine/statistics/recorder.h"
#include "engine/transaction/point_locks.h"
#include "engine/write/commit_validator.h"
#include "engine/write/publish_queue.h"
#include "winnow/db.h"
#include "winnow/transaction.h"

namespace winnow {

// The database as transactions need it. Nothing of it is touched once the manager is closed.
struct TransactionParts {
  DB* db = nullptr;
  const PublishQueue* publishing = nullptr;
  Recorder* recorder = nullptr;
  EventQueue* events = nullptr;
  // DB::Write of a batch that is validated.
  std::function<absl::Status(const WriteOptions&, const WriteBatch&, CommitValidator*)> write;
};

// Thread-safe. Shared by the database and its transactions, which may outlive it.
class DatabaseTransactions {
 public:
  explicit DatabaseTransactions(TransactionParts parts) : parts_(std::move(parts)) {}

  // The database closes: waits for locks end, and every call of a transaction is refused.
  void Close();
  // FailedPrecondition: the database is closed, or this is a child made by fork(2).
  absl::Status CheckUsable() const;
  bool IsUsable() const { return !closed_.load(std::memory_order_acquire) && process_.IsThisOne(); }

  uint64_t NextId() { return last_id_.fetch_add(1, std::memory_order_relaxed) + 1; }
  const TransactionParts& parts() const { return parts_; }
  PointLocks& locks() { return locks_; }
  // Of the calling thread.
  void Count(Ticker ticker) const { parts_.recorder->Local().Add(ticker); }

 private:
  const TransactionParts parts_;
  const OwningProcess process_;
  std::atomic<bool> closed_{false};
  std::atomic<uint64_t> last_id_{0};
  PointLocks locks_;
};

// InvalidArgument: options out of range. ResourceExhausted: no memory for a snapshot.
absl::StatusOr<std::unique_ptr<Transaction>> NewTransaction(
    std::shared_ptr<DatabaseTransactions> manager, const TransactionOptions& options);

}  // namespace winnow

#endif  // WINNOW_ENGINE_TRANSACTION_DATABASE_TRANSACTIONS_H_
