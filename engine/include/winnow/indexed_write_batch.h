// A write batch that can be read: its updates over the database that they will be written to.
#ifndef WINNOW_INDEXED_WRITE_BATCH_H_
#define WINNOW_INDEXED_WRITE_BATCH_H_

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/db.h"
#include "winnow/iterator.h"
#include "winnow/options.h"
#include "winnow/pinned_value.h"
#include "winnow/write_batch.h"

namespace winnow {

//   winnow::IndexedWriteBatch updates(*db);
//   absl::Status put = updates.Put("key", "new value");
//   absl::Status read = updates.Get(winnow::ReadOptions(), "key", &value);   // "new value"
//   absl::Status written = db->Write(winnow::WriteOptions(), updates.batch());
//
// What a transaction (winnow/transaction.h) keeps its writes in, without the rest of it: nothing is
// checked for conflicts. Used by one thread at a time. Move-only; one that was moved from may only
// be destroyed or assigned to. An update takes some 80 bytes for its place in the index besides
// those of the batch; one that deletes a range some 300, and its ends once more, and reads take
// time logarithmic in the number of those.
class IndexedWriteBatch {
 public:
  // For `db`, which must outlive it.
  explicit IndexedWriteBatch(DB& db);
  ~IndexedWriteBatch();
  IndexedWriteBatch(IndexedWriteBatch&&) noexcept;
  IndexedWriteBatch& operator=(IndexedWriteBatch&&) noexcept;

  // InvalidArgument: a key or value over its limit, a batch that would be over kMaxBatchBytes, a
  // column family that is null or of another database. ResourceExhausted: no memory. The batch is
  // then as it was.
  absl::Status Put(ColumnFamily* family, std::string_view key, std::string_view value);
  absl::Status Delete(ColumnFamily* family, std::string_view key);
  // FailedPrecondition: the family has no merge operator; InvalidArgument: it refuses the operand.
  absl::Status Merge(ColumnFamily* family, std::string_view key, std::string_view operand);
  // Deletes the keys from `begin` to before `end`, those of the batch too; later updates show above
  // it. Equal ends delete nothing. InvalidArgument: `end` comes before `begin`.
  absl::Status DeleteRange(ColumnFamily* family, std::string_view begin, std::string_view end);

  // What DB's call of the same name would return if the batch were written.
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   std::string* value);
  absl::Status Get(const ReadOptions& options, ColumnFamily* family, std::string_view key,
                   PinnedValue* value);
  void MultiGet(const ReadOptions& options, ColumnFamily* family,
                std::span<const std::string_view> keys, std::span<PinnedValue> values,
                std::span<absl::Status> statuses);
  // Shows the updates made so far; later ones are not shown. Must be destroyed before the batch and
  // before the database is closed. Once Clear or RollbackToSavepoint has removed updates it still
  // shows the entry where it stands, and its next move ends it with FailedPrecondition. A key whose
  // operands in the database make no value ends it as it ends DB's, also if the batch has a value
  // for the key.
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options, ColumnFamily* family);

  absl::Status SetSavepoint();
  // Removes the updates since the newest savepoint, which is gone then. FailedPrecondition: there
  // is no savepoint.
  absl::Status RollbackToSavepoint();
  // The newest savepoint goes, the updates stay. FailedPrecondition: there is no savepoint.
  absl::Status PopSavepoint();

  // Updates and savepoints are gone.
  void Clear();
  // For DB::Write, which changes nothing of it.
  const WriteBatch& batch() const;

  // --- The same calls for the default column family ---
  absl::Status Put(std::string_view key, std::string_view value);
  absl::Status Delete(std::string_view key);
  absl::Status Merge(std::string_view key, std::string_view operand);
  absl::Status DeleteRange(std::string_view begin, std::string_view end);
  absl::Status Get(const ReadOptions& options, std::string_view key, std::string* value);
  absl::Status Get(const ReadOptions& options, std::string_view key, PinnedValue* value);
  void MultiGet(const ReadOptions& options, std::span<const std::string_view> keys,
                std::span<PinnedValue> values, std::span<absl::Status> statuses);
  std::unique_ptr<Iterator> NewIterator(const ReadOptions& options);

 private:
  struct Rep;
  std::unique_ptr<Rep> rep_;
};

}  // namespace winnow

#endif  // WINNOW_INDEXED_WRITE_BATCH_H_
