// Put, Delete, Write: checks, and a place in the write queue.
#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/entry_limits.h"
#include "engine/base/large_buffer.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/db/option_checks.h"
#include "engine/write/batch_format.h"
#include "engine/write/write_times.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/per_thread.h"

namespace winnow {

namespace {

// Limits that the formats rely on. The batch has kept its largest sizes, so that this looks at no
// update.
absl::Status CheckBatch(const WriteBatch& batch) {
  WINNOW_RETURN_IF_ERROR(CheckEntryBytes(WriteBatchAccess::largest_key_bytes(batch),
                                         WriteBatchAccess::largest_value_bytes(batch)));
  if (batch.size_bytes() > kMaxBatchBytes) {
    return absl::InvalidArgumentError(absl::StrCat("write batch of ", batch.size_bytes(),
                                                   " bytes is over the limit of ", kMaxBatchBytes));
  }
  return absl::OkStatus();
}

// The thread's own, for single updates: no allocation when warm.
struct ReusedBatch {
  WriteBatch batch;
  bool in_use = false;
};

// A batch for the time of one call: the thread's, but inside another Put or Delete of the thread (a
// comparator, or a file system, that writes to a database of its own) a batch of the call's.
class SingleUpdate {
 public:
  SingleUpdate() : reused_(PerThread<ReusedBatch>::Get()), is_nested_(reused_.in_use) {
    // For as long as this lives: a call inside it finds the batch taken.
    reused_.in_use = true;
    if (is_nested_) {
      own_.emplace();
    } else {
      reused_.batch.Clear();
    }
  }
  ~SingleUpdate() {
    if (is_nested_) return;
    reused_.in_use = false;
    // The thread may live for long, and never write anything as large again.
    // Swapped: assigning a short string would keep the capacity.
    if (reused_.batch.size_bytes() > kLargeBufferBytes) [[unlikely]] {
      WriteBatch fresh;
      std::swap(reused_.batch, fresh);
    }
  }
  SingleUpdate(const SingleUpdate&) = delete;
  SingleUpdate& operator=(const SingleUpdate&) = delete;

  WriteBatch& batch() { return own_ ? *own_ : reused_.batch; }

 private:
  ReusedBatch& reused_;
  const bool is_nested_;
  std::optional<WriteBatch> own_;
};

}  // namespace

absl::Status DBImpl::Put(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                         std::string_view value) {
  return CatchOutOfMemory([&] {
    SingleUpdate update;
    // Checked again by the leader, since a drop may come first; here for the better message, and
    // because a null family has no id.
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    WINNOW_RETURN_IF_ERROR(CheckEntryBytes(key.size(), value.size()));
    update.batch().Put(family, key, value);
    return Write(options, update.batch());
  });
}

absl::Status DBImpl::Delete(const WriteOptions& options, ColumnFamily* family,
                            std::string_view key) {
  return CatchOutOfMemory([&] {
    SingleUpdate update;
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    if (key.size() > kMaxKeyBytes) return KeyTooLarge(key.size());
    update.batch().Delete(family, key);
    return Write(options, update.batch());
  });
}

absl::Status DBImpl::Merge(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                           std::string_view operand) {
  return CatchOutOfMemory([&] {
    SingleUpdate update;
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    WINNOW_RETURN_IF_ERROR(CheckEntryBytes(key.size(), operand.size()));
    update.batch().Merge(family, key, operand);
    return Write(options, update.batch());
  });
}

absl::Status DBImpl::DeleteRange(const WriteOptions& options, ColumnFamily* family,
                                 std::string_view begin, std::string_view end) {
  return CatchOutOfMemory([&] {
    SingleUpdate update;
    WINNOW_RETURN_IF_ERROR(CheckFamily(family));
    const size_t longer = std::max(begin.size(), end.size());
    if (longer > kMaxKeyBytes) return KeyTooLarge(longer);
    // The leader checks it once more, as it does every range of a batch: there the family is looked
    // up by its id.
    const int order = Own(family)->comparator().CompareUserKeys(begin, end);
    if (order > 0) return InvertedRange();
    // An empty range deletes nothing and is not written, but what else is wrong with the call is
    // said.
    if (order == 0) return CheckWrite(options, update.batch());
    update.batch().DeleteRange(family, begin, end);
    return Write(options, update.batch());
  });
}

absl::Status DBImpl::CheckWritable() const {
  if (!IsUsable()) [[unlikely]]
    return Unusable();
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  // Writes may have to wait until a flush or a compaction has made room, or for a call that waits
  // for one with the queue of writers stopped.
  return CheckMayWaitForJobs();
}

absl::Status DBImpl::CheckWrite(const WriteOptions& options, const WriteBatch& batch) const {
  WINNOW_RETURN_IF_ERROR(CheckWritable());
  if (options.sync && options.disable_wal) {
    return absl::InvalidArgumentError("sync and disable_wal contradict each other");
  }
  WINNOW_RETURN_IF_ERROR(CheckBatch(batch));
  if (!WriteBatchAccess::may_go_to(batch, families_.database_number())) [[unlikely]] {
    return absl::InvalidArgumentError(
        "the write batch names a column family that is null or of another open database");
  }
  return absl::OkStatus();
}

TransactionParts DBImpl::PartsForTransactions() {
  TransactionParts parts;
  parts.db = this;
  parts.publishing = &write_queue_.publishing();
  parts.recorder = &recorder_;
  parts.events = &events_;
  parts.write = [this](const WriteOptions& options, const WriteBatch& batch,
                       CommitValidator* validator) {
    return WriteIfValid(options, batch, validator);
  };
  return parts;
}

absl::Status DBImpl::WriteIfValid(const WriteOptions& options, const WriteBatch& batch,
                                  CommitValidator* validator, bool is_of_owner) {
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] { return CheckWrite(options, batch); }));
  // A batch with no plain origin may be no batch at all, which only the leader finds out.
  if (WriteBatchAccess::is_plain(batch) && batch.num_updates() == 0) return absl::OkStatus();
  // A relaxed load: without a time to live in the database, writes pay no more for it.
  if (families_.any_has_ttl()) [[unlikely]]
    return WriteWithTimes(options, batch, validator, is_of_owner);
  return Enqueue(options, batch, validator, is_of_owner);
}

// The time is that of the call, and not of its turn: what waits longest has not less to live. Each
// value's is in the log, so that it is the same after a replay.
absl::Status DBImpl::WriteWithTimes(const WriteOptions& options, const WriteBatch& batch,
                                    CommitValidator* validator, bool is_of_owner) {
  std::optional<WriteBatch> timed;
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    const Clock& clock = *TimeToLiveOf(options_, 0).clock;
    timed = WithWriteTimes(
        batch, [this](uint32_t id) { return families_.TtlOf(id).is_on(); }, clock.NowMicros());
    return CheckBatch(*timed);  // of its bytes there are more
  }));
  return Enqueue(options, *timed, validator, is_of_owner);
}

absl::Status DBImpl::Enqueue(const WriteOptions& options, const WriteBatch& batch,
                             CommitValidator* validator, bool is_of_owner) {
  ThreadCounters& counters = recorder_.Local();
  SampledTimer timer(counters, LatencyHistogram::kWrite);
  // On this stack: it must outlive the queue's last touch, which is the change of state that Join
  // or the scopes below wait for.
  WriteRequest request;
  request.batch = &batch;
  request.options = options;
  request.validator = validator;
  request.is_of_owner = is_of_owner;
  const WriteRequest::State state = write_queue_.Join(&request);
  // kDone asks for nothing: the leader has inserted this batch with its own, or refused it.
  if (state == WriteRequest::kInserts) {
    InsertScope insert(&write_queue_, &request);
    request.status = leader_.InsertBatch(batch, request.first_sequence);
  } else if (state == WriteRequest::kLeads) {
    LeaderScope leader(&write_queue_, &request);
    // While this thread leads, nobody else appends to the log or numbers updates.
    absl::Status status = leader_.LogGroup(leader.group());
    // Before the insertion: the next group is logged while this one goes to memory. The publish
    // queue keeps them in the order of the log.
    leader.HandOn();
    if (status.ok()) status = leader_.InsertAndPublish(leader.group());
    // Update keeps what is there: a member that was refused alone keeps its own reason.
    if (!status.ok()) {
      for (WriteRequest* member : leader.group()->requests()) member->status.Update(status);
    }
  }
  // Each writer counts for itself, on its own thread's counters.
  if (request.status.ok()) {
    if (trace_.is_on()) [[unlikely]]
      TraceBatch(batch);
    counters.Add(Ticker::kWrites);
    counters.Add(Ticker::kKeysWritten, batch.num_updates());
    if (request.num_range_deletions != 0) [[unlikely]]
      counters.Add(Ticker::kRangeDeletions, request.num_range_deletions);
    // The updates alone; write amplification is measured against these bytes.
    counters.Add(Ticker::kUserBytesWritten, batch.size_bytes() - kBatchHeaderBytes);
  }
  return request.status;
}

}  // namespace winnow
