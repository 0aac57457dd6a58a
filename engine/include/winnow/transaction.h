// Several reads and writes that take effect together or not at all, beside those of others.
//
//   auto begun = db->BeginTransaction();
//   if (!begun.ok()) return Report(begun.status());
//   std::unique_ptr<winnow::Transaction> transaction = *std::move(begun);
//   std::string balance;
//   absl::Status read = transaction->GetForUpdate(winnow::ReadOptions(), "alice", &balance);
//   if (!read.ok()) return Report(read);
//   absl::Status put = transaction->Put("alice", Less(balance));
//   absl::Status committed = transaction->Commit();   // Aborted: somebody was faster, begin anew
//
// Isolation. A transaction reads the database as it was when it began (snapshot isolation: Berenson
// et al., "A Critique of ANSI SQL Isolation Levels", SIGMOD 1995), and over that its own writes. Of
// two transactions that overlap and write the same key one fails: nobody's update is lost. What
// others have written without a transaction counts as well.
//
// What may still happen that could not if transactions ran one after the other:
//   - Write skew: two transactions read the same keys, and each writes another of them.
//     GetForUpdate for the keys that are read and not written prevents it.
//   - Read-only anomaly (Fekete, O'Neil, O'Neil, SIGMOD Record 2004): one that only reads may see
//     the effect of a later transaction and not of an earlier one that it depends on. Reading with
//     GetForUpdate, and committing, prevents it.
//   - Phantoms: GetForUpdate guards keys that it was given, absent ones too, but no ranges: a key
//     that another transaction adds to a range that was iterated over is no conflict. One that is
//     added to a range that this one deletes is.
//   - Without `snapshot_at_begin`, besides: two reads of a key may differ, and reads of several
//     keys may see different moments, unless they are made by GetForUpdate.
//   - What nobody writes is no conflict: a value whose time to live ends meanwhile; without
//     `snapshot_at_begin` one that a compaction filter removes or changes; and what is ingested
//     with IngestOptions::behind, which shows through whatever snapshot.
//
// What is no conflict may be taken for one where old files are dropped unread (`compaction = fifo`,
// or values whose time to live is up): once a file of the column family has gone that was written
// to after the transaction relied on a key, whether the key was in it is not known any more.
//
// DeleteRange is a write of every key of the range, absent ones too: what another writes into it
// before the commit, and what another deletes of it, is a conflict, and so is a range deletion of
// others over a key that was written or read for update here. No range is ever locked. In a
// pessimistic transaction DeleteRange waits for nobody who holds locks on keys of the range, and
// nobody waits for it: of two that meet so the second to commit is refused, as if both were
// optimistic.
//
// A commit is one record of the write-ahead log: after a crash it is there whole or not at all, and
// nothing of a transaction is there that was not committed.
#ifndef WINNOW_TRANSACTION_H_
#define WINNOW_TRANSACTION_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/iterator.h"
#include "winnow/options.h"
#include "winnow/pinned_value.h"

namespace winnow {

class ColumnFamily;
class Snapshot;
class WriteBatch;

struct TransactionOptions {
  enum class Mode {
    // Nothing is locked. Commit finds out whether a key that was written, or read for update, has
    // been written by another since: best where conflicts are rare.
    kOptimistic,
    // Writes and GetForUpdate lock their key until the end of the transaction, and wait for the one
    // that holds it: best where many want the same keys. Locks are among transactions of this mode;
    // the writes of all others, and deletions of ranges, are found at commit, as above.
    kPessimistic,
  };
  Mode mode = Mode::kOptimistic;

  // True (default): reads see the moment of BeginTransaction, and a key that was written since is a
  // conflict for whoever writes it or reads it for update. False: each read sees what is committed
  // at its own moment, and a key conflicts only if it is written after it was first written, locked
  // or read for update here. A pessimistic transaction then meets no conflict with others of its
  // kind, whatever it has waited for, but where one of them deletes a range.
  bool snapshot_at_begin = true;

  // Pessimistic: how long a call waits for a lock; then it fails with DeadlineExceeded. Default one
  // second, range 0 (no wait) to one hour.
  std::chrono::milliseconds lock_timeout{1000};
  // Pessimistic: a wait that would close a circle of transactions that wait for each other fails at
  // once, with Aborted and a message that names the circle. False: it ends by `lock_timeout`.
  bool detect_deadlocks = true;
};

// Made by DB::BeginTransaction. Used by one thread at a time. While it lives it holds a snapshot,
// so that what it can see stays on disk. Its writes are in memory until they are committed, with an
// index over them, and so are the keys that it has written or read for update, and the ends of the
// ranges that it has deleted: each of both may take up to kMaxBatchBytes.
//
// After Commit, whatever it returns, and after Rollback the transaction is over: every call is
// refused with FailedPrecondition. Destroying it rolls it back. It may outlive the database: once
// that is closed, every call is refused, and the transaction is destroyed like any other. Calls
// that are running when the database is destroyed are in error, as for DB; those that wait for a
// lock end when it is closed.
//
// Errors, besides those of DB's calls of the same name:
//   Aborted            a conflict: the message names the key or the range; or a deadlock, which
//                      it describes. Begin anew. After an Aborted call other than Commit the
//                      transaction is still there, without that call, but can hardly succeed.
//   DeadlineExceeded   a lock was not to be had in time; the message names key and holder. The
//                      transaction is as it was, and the call may be made again.
//   InvalidArgument    the writes, or the keys, would take more than kMaxBatchBytes; a column
//                      family that is null or of another database
class Transaction {
 public:
  virtual ~Transaction() = default;

  // A number that no other transaction of this opening of the database has; messages tell of it.
  virtual uint64_t id() const = 0;
  // What the reads see. Null without `snapshot_at_begin`, and when the transaction is over.
  virtual const Snapshot* snapshot() const = 0;

  // --- Writing ---
  virtual absl::Status Put(ColumnFamily* family, std::string_view key, std::string_view value) = 0;
  virtual absl::Status Delete(ColumnFamily* family, std::string_view key) = 0;
  // As DB::Merge. The operand counts as a write of the key: two transactions that add to one key
  // conflict.
  virtual absl::Status Merge(ColumnFamily* family, std::string_view key,
                             std::string_view operand) = 0;
  // Deletes the keys from `begin` to before `end`, those that were written here before too; later
  // writes show above it. Equal ends delete nothing, and nothing rests on them. InvalidArgument:
  // `end` comes before `begin`.
  //
  // Commit looks at what memtables hold of the range entry by entry, and at tables that are newer
  // than what it rests on: its time grows with these.
  virtual absl::Status DeleteRange(ColumnFamily* family, std::string_view begin,
                                   std::string_view end) = 0;
  // What Commit will write.
  virtual const WriteBatch& writes() const = 0;

  // --- Reading: the transaction's own writes over what it sees of the database ---
  // ReadOptions::snapshot, if it is given, is read instead of the transaction's own.
  virtual absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                           std::string* value) = 0;
  virtual absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                           PinnedValue* value) = 0;
  virtual void MultiGet(const ReadOptions& options, ColumnFamily* family,
                        std::span<const std::string_view> keys, std::span<PinnedValue> values,
                        std::span<absl::Status> statuses) = 0;
  // Shows the writes made so far; later ones are not shown. Never null. To be destroyed before the
  // transaction and before the database is closed; it may be used after Commit. Once a
  // rollback, to a savepoint too, has undone writes, the next move of one that showed writes ends
  // it with FailedPrecondition.
  virtual std::unique_ptr<Iterator> NewIterator(const ReadOptions& options,
                                                ColumnFamily* family) = 0;

  // Reads a key on which the transaction's success shall depend: if another writes it before this
  // one commits, that fails, as if this one had written it. True of absent keys too (NotFound).
  // InvalidArgument: ReadOptions::snapshot is given.
  virtual absl::Status GetForUpdate(const ReadOptions& options, ColumnFamily* family,
                                    std::string_view key, std::string* value) = 0;
  virtual absl::Status GetForUpdate(const ReadOptions& options, ColumnFamily* family,
                                    std::string_view key, PinnedValue* value) = 0;

  // --- Savepoints ---
  virtual absl::Status SetSavepoint() = 0;
  // Undoes the writes since the newest savepoint, which is gone then. Locks stay, and so does what
  // the success depends on: what was read since may have been acted on. FailedPrecondition: there
  // is no savepoint.
  virtual absl::Status RollbackToSavepoint() = 0;
  // The newest savepoint goes, the writes stay. FailedPrecondition: there is no savepoint.
  virtual absl::Status PopSavepoint() = 0;

  // --- The end ---
  // Applies the writes, whole or not at all, if no key of them, none read for update and none of a
  // range that was deleted has been written by another. After any error but a failed write to the
  // log, whose outcome is unknown as after DB::Write, nothing of them is applied.
  virtual absl::Status Commit(const WriteOptions& options) = 0;
  virtual absl::Status Rollback() = 0;

  // --- The same calls for the default column family ---
  virtual ColumnFamily* DefaultColumnFamily() const = 0;
  absl::Status Put(std::string_view key, std::string_view value) {
    return Put(DefaultColumnFamily(), key, value);
  }
  absl::Status Delete(std::string_view key) { return Delete(DefaultColumnFamily(), key); }
  absl::Status Merge(std::string_view key, std::string_view operand) {
    return Merge(DefaultColumnFamily(), key, operand);
  }
  absl::Status DeleteRange(std::string_view begin, std::string_view end) {
    return DeleteRange(DefaultColumnFamily(), begin, end);
  }
  absl::Status Get(const ReadOptions& options, std::string_view key, std::string* value) {
    return Get(options, DefaultColumnFamily(), key, value);
  }
  absl::Status Get(const ReadOptions& options, std::string_view key, PinnedValue* value) {
    return Get(options, DefaultColumnFamily(), key, value);
  }
  void MultiGet(const ReadOptions& options, std::span<const std::string_view> keys,
                std::span<PinnedValue> values, std::span<absl::Status> statuses) {
    MultiGet(options, DefaultColumnFamily(), keys, values, statuses);
  }
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options) {
    return NewIterator(options, DefaultColumnFamily());
  }
  absl::Status GetForUpdate(const ReadOptions& options, std::string_view key, std::string* value) {
    return GetForUpdate(options, DefaultColumnFamily(), key, value);
  }
  absl::Status GetForUpdate(const ReadOptions& options, std::string_view key, PinnedValue* value) {
    return GetForUpdate(options, DefaultColumnFamily(), key, value);
  }
  absl::Status Commit() { return Commit(WriteOptions()); }
};

}  // namespace winnow

#endif  // WINNOW_TRANSACTION_H_
