// One group's way: checked, numbered, logged; then, while the next group is on that way, inserted
// and made visible. What fails before the log has left no trace, and the database goes on. What
// fails from the log on has an unknown outcome: the write may be there after reopening, whatever
// its caller was told, so that its sequence numbers are used up and, where nothing can be repaired,
// no further write is taken.
#include "engine/write/write_leader.h"

#include "engine/base/coding.h"
#include "engine/base/database_closed.h"
#include "engine/base/status.h"
#include "engine/write/batch_format.h"
#include "engine/write/commit_validator.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

// Members of a group insert on their own threads if that is worth waking them.
constexpr size_t kParallelInsertBytes = 2048;

absl::Status OutcomeUnknown(const absl::Status& cause) {
  return WithContext(cause,
                     "write failed, its outcome is unknown until the database has been reopened");
}

}  // namespace

WriteLeader::WriteLeader(const WriteLeaderParts& parts)
    : parts_(parts), switch_buffers_above_(parts.families->write_buffers()->switch_above_bytes()) {}

void WriteLeader::StartAt(SequenceNumber last) {
  allocated_sequence_ = last;
  parts_.queue->publishing().StartAt(last);
}

absl::StatusOr<SequenceNumber> WriteLeader::AllocateSequence() {
  if (allocated_sequence_ >= kMaxSequenceNumber) {
    return absl::ResourceExhaustedError("sequence numbers are used up");
  }
  return ++allocated_sequence_;
}

void WriteLeader::Stop() {
  stopped_ = true;
  RequestWork();  // so that the next group is looked at before it is committed
}

bool WriteLeader::EndUnloggedWrites() {
  unlogged_writes_ended_.store(true);
  return has_unlogged_writes_.load();
}

absl::Status WriteLeader::CheckRunning() const {
  return stopped_ ? DatabaseClosedError() : absl::OkStatus();
}

// Out of memory is no exception from that: what comes before the log may end here, and what comes
// after it says what it has met, or takes no memory.
absl::Status WriteLeader::LogGroup(WriteGroup* group) {
  // First: a memtable that large groups fill while this one waits for them is then found full.
  parts_.queue->publishing().MakeRoomFor(group->batch_bytes);
  const absl::Status begun =
      CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
        if (leader_work_pending_.load(std::memory_order_acquire)) [[unlikely]] {
          WINNOW_RETURN_IF_ERROR(PrepareForGroup(group->batch_bytes));
        }
        // After the preparation, which may give the mutex back for long, but not leadership: no
        // family can be dropped between this check and the insertion.
        CheckMembers(group);
        return group->has_validators ? ValidateMembers(group) : absl::OkStatus();
      });
  if (!begun.ok()) {
    RequestWork();  // what was to be looked at may not have been
    return begun;
  }
  uint32_t num_updates = 0;
  for (WriteRequest* request : group->requests()) {
    if (!request->status.ok()) continue;
    request->first_sequence = allocated_sequence_ + 1 + num_updates;
    num_updates += request->batch->num_updates();
  }
  if (num_updates == 0) return absl::OkStatus();
  if (allocated_sequence_ + num_updates > kMaxSequenceNumber) {
    return absl::ResourceExhaustedError("sequence numbers are used up");
  }
  // The members of a group agree in this: the queue sees to it. The flag is for Close and
  // Checkpoint, which must flush what no log holds.
  if (group->disable_wal) {
    has_unlogged_writes_.store(true);
    if (unlogged_writes_ended_.load()) return CatchOutOfMemory(DatabaseClosedError);
  } else {
    WINNOW_RETURN_IF_ERROR(AppendToLog(*group, num_updates));
  }
  // Whatever becomes of the insertion: the log has these numbers.
  allocated_sequence_ += num_updates;
  group->publication.last_sequence = allocated_sequence_;
  parts_.queue->publishing().Enter(&group->publication);
  if (LogsAreOverLimit()) [[unlikely]]
    RequestWork();
  return absl::OkStatus();
}

// The log has the batches; if one fails, the memtables have a part of them, which no reader may
// ever see, and neither may they see what comes after it. The error is set before the group leaves:
// who waits for all groups, to switch memtables, finds it.
absl::Status WriteLeader::InsertAndPublish(WriteGroup* group) {
  if (group->publication.last_sequence == 0) return absl::OkStatus();  // all were refused
  {
    PublishScope publish(&parts_.queue->publishing(), &group->publication);
    const absl::Status inserted = InsertGroup(group);
    if (!inserted.ok()) return InsertionFailed(inserted);
    if (publish.Publish()) {
      if (WriteBuffersNeedCare()) [[unlikely]]
        RequestWork();
      return absl::OkStatus();
    }
  }
  return InsertionFailed(OutOfMemory());  // of a group before
}

absl::Status WriteLeader::InsertionFailed(const absl::Status& cause) {
  DatabaseLock lock(parts_.mutex);
  parts_.scheduler->errors().SetFatal(cause, "keeping a write in memory");
  return OutcomeUnknown(cause);
}

// Before anything of the group is in the log; a batch that is wrong is refused alone. Those that
// were built through the public functions, of puts and deletes in one family, need not be looked
// through. What passes here is not found wrong later, so that a record in the log is one that
// replay understands.
void WriteLeader::CheckMembers(WriteGroup* group) {
  for (WriteRequest* request : group->requests()) {
    const WriteBatch& batch = *request->batch;
    request->status = WriteBatchAccess::is_plain(batch)
                          ? FamilyFor(WriteBatchAccess::family_id(batch), *request).status()
                          : CheckUpdates(request);
  }
}

absl::StatusOr<const ColumnFamilyState*> WriteLeader::FamilyFor(uint32_t id,
                                                                const WriteRequest& request) const {
  const ColumnFamilyState* const family = parts_.families->FindForLeader(id);
  if (family == nullptr) [[unlikely]] {
    return absl::FailedPreconditionError(
        absl::StrCat("column family ", id, " does not exist or has been dropped"));
  }
  if (family->is_reserved() && !request.is_of_owner) [[unlikely]]
    return family->ReservedError();
  return family;
}

absl::Status WriteLeader::CheckUpdates(WriteRequest* request) const {
  BatchReader reader(request->batch->encoded());
  BatchUpdate update;
  for (bool more = true;;) {
    WINNOW_RETURN_IF_ERROR(reader.Next(&update, &more));
    if (!more) return absl::OkStatus();
    WINNOW_ASSIGN_OR_RETURN(const ColumnFamilyState* const family,
                            FamilyFor(update.family_id, *request));
    if (update.type == EntryType::kMerge) {
      WINNOW_RETURN_IF_ERROR(family->CheckOperand(update.value));
    } else if (update.type == EntryType::kRangeDelete) {
      request->num_range_deletions++;
      const bool is_inverted = family->comparator().CompareUserKeys(update.key, update.value) > 0;
      if (is_inverted) return InvertedRange();
    }
  }
}

// What a validator looks for is in the memtables, in tables, or among the members before its own:
// so the groups that are on their way are waited for. One that ended without its entries, for want
// of memory, has left an error: its batches are in the log, and nothing may rest on their absence.
absl::Status WriteLeader::ValidateMembers(WriteGroup* group) {
  parts_.queue->publishing().AwaitAll();
  if (visible_sequence() != allocated_sequence_) {
    DatabaseLock lock(parts_.mutex);
    WINNOW_RETURN_IF_ERROR(parts_.scheduler->errors().fatal());
  }
  EarlierUpdates earlier;
  for (WriteRequest* request : group->requests()) {
    if (!request->status.ok()) continue;
    if (request->validator != nullptr) {
      request->status = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
        return request->validator->Validate(&earlier);
      });
    }
    if (request->status.ok()) earlier.Add(*request->batch);
  }
  return absl::OkStatus();
}

// One record for the whole group, so that replay finds all of it or nothing.
absl::Status WriteLeader::AppendToLog(const WriteGroup& group, uint32_t num_updates) {
  const absl::Status encoded =
      CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
        if (group.wants_sync) WINNOW_RETURN_IF_ERROR(SyncLogNames());
        // Before anything is written: running out of memory here is an error of this group alone.
        return EncodeForLog(group, num_updates);
      });
  WINNOW_RETURN_IF_ERROR(encoded);
  absl::Status logged = CatchOutOfMemory([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) {
    return parts_.logs->AppendBegunRecord();
  });
  const bool appended = logged.ok();
  // The sync comes before anything of the group is visible: nobody reads a synced write that a
  // power failure may still take.
  if (appended && group.wants_sync) {
    logged = CatchOutOfMemory(
        [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(write_leadership) { return parts_.logs->Sync(); });
    parts_.recorder->Local().Add(Ticker::kLogSyncs);
  }
  if (logged.ok()) return absl::OkStatus();
  // What reached the disk is unknown: these sequence numbers are never given out again.
  allocated_sequence_ += num_updates;
  if (!appended && absl::IsResourceExhausted(logged)) {
    // A log whose end is uncertain can be replaced. A log whose sync failed cannot: a later sync
    // that succeeds would prove nothing about the bytes of this one.
    log_error_ = WithContext(logged, "appending to the write-ahead log failed");
    log_state_ = LogState::kFailed;
    RequestWork();
  } else {
    DatabaseLock lock(parts_.mutex);
    parts_.scheduler->errors().SetFatal(logged, "the write-ahead log");
  }
  return OutcomeUnknown(logged);
}

// Before anything is written, too: a directory that cannot be opened, for want of a file
// descriptor, refuses this group alone.
absl::Status WriteLeader::SyncLogNames() {
  const absl::Status status = parts_.logs->SyncNames();
  if (!status.ok() && !absl::IsResourceExhausted(status)) {
    DatabaseLock lock(parts_.mutex);
    parts_.scheduler->errors().SetFatal(status, "making a write-ahead log's name durable");
  }
  return status;
}

// Members' updates stand one after the other under one header: their sequence numbers are
// consecutive in the order of the group, and members that were refused have none.
absl::Status WriteLeader::EncodeForLog(const WriteGroup& group, uint32_t num_updates) {
  std::string* const record = parts_.logs->BeginRecord();
  const size_t header_bytes = record->size();
  // At once: a value of a gigabyte is not to be moved as the buffer grows.
  record->reserve(header_bytes + 1 + kBatchHeaderBytes + group.batch_bytes);
  record->push_back(static_cast<char>(LogPayload::kBatches));
  PutFixed64(record, allocated_sequence_ + 1);
  PutFixed32(record, num_updates);
  for (const WriteRequest* request : group.requests()) {
    if (!request->status.ok()) continue;
    record->append(request->batch->encoded().substr(kBatchHeaderBytes));
  }
  parts_.recorder->Local().Add(Ticker::kLogBytesWritten, record->size() - header_bytes);
  return absl::OkStatus();
}

// A refused member must not be woken to insert, which is why a group that has one is inserted here.
absl::Status WriteLeader::InsertGroup(WriteGroup* group) {
  const bool parallel = group->requests().size() > 1 && group->batch_bytes >= kParallelInsertBytes;
  bool all_ok = true;
  for (const WriteRequest* request : group->requests()) all_ok = all_ok && request->status.ok();
  if (!parallel || !all_ok) {
    for (const WriteRequest* request : group->requests()) {
      if (!request->status.ok()) continue;
      WINNOW_RETURN_IF_ERROR(InsertBatch(*request->batch, request->first_sequence));
    }
    return absl::OkStatus();
  }
  parts_.queue->StartInserts(group);
  absl::Status status =
      InsertBatch(*group->requests()[0]->batch, group->requests()[0]->first_sequence);
  parts_.queue->WaitForInserts(group);
  // One member out of memory fails all: the group is one record in the log and becomes visible as
  // one.
  for (const WriteRequest* request : group->requests()) status.Update(request->status);
  return status;
}

absl::Status WriteLeader::InsertBatch(const WriteBatch& batch, SequenceNumber first_sequence) {
  return CatchOutOfMemory([&]() ABSL_SHARED_LOCKS_REQUIRED(memtable_insertion) {
    AddToMemtables(batch, first_sequence);
    return absl::OkStatus();
  });
}

void WriteLeader::AddToMemtables(const WriteBatch& batch, SequenceNumber first_sequence) {
  BatchReader reader(batch.encoded());
  BatchUpdate update;
  SequenceNumber sequence = first_sequence;
  // The batch was checked before it went to the log.
  for (bool more = true; reader.Next(&update, &more).ok() && more; sequence++) {
    // Not null: see CheckMembers. Dropping a family waits for this to end.
    ColumnFamilyState* family = parts_.families->FindForWrite(update.family_id);
    Memtable* memtable = family->active_for_insert();
    // Or the memtable would need a log, and nothing in it would ever make it be flushed.
    if (IsEmptyRange(update, family->comparator())) [[unlikely]]
      continue;
    memtable->NoteLog(parts_.logs->current_number());
    InsertUpdate(update, sequence, memtable);
    // A memtable that fills in the middle of a group takes the rest of it, and of those beside it:
    // the next leader switches.
    if (memtable->memory_bytes() >= family->write_buffer_bytes()) [[unlikely]] {
      NoteFullMemtable(family);
    }
  }
}

}  // namespace winnow
