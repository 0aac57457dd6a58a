// Put, Delete, Write: group commit into the log and the memtables.
#include <chrono>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/out_of_memory.h"
#include "engine/base/status.h"
#include "engine/db/db_impl.h"
#include "engine/write/batch_format.h"
#include "engine/write/exclusive_writes.h"

namespace winnow {

namespace {

// Members of a group insert on their own threads if that is worth waking them.
constexpr size_t kParallelInsertBytes = 2048;
// Bytes a second that writers may add while level 0 is between its slowdown and stop triggers; the
// rate falls to a tenth as the stop trigger comes nearer.
constexpr double kDelayedBytesPerSecond = 64.0 * (1 << 20);

absl::Status KeyTooLarge(size_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("key of ", bytes, " bytes is over the limit of ", kMaxKeyBytes, " bytes"));
}
absl::Status ValueTooLarge(size_t bytes) {
  return absl::InvalidArgumentError(
      absl::StrCat("value of ", bytes, " bytes is over the limit of ", kMaxValueBytes, " bytes"));
}

}  // namespace

absl::Status DBImpl::Put(const WriteOptions& options, ColumnFamily* family, std::string_view key,
                         std::string_view value) {
  WINNOW_RETURN_IF_ERROR(CheckFamily(family));
  if (key.size() > kMaxKeyBytes) return KeyTooLarge(key.size());
  if (value.size() > kMaxValueBytes) return ValueTooLarge(value.size());
  thread_local WriteBatch batch;  // reused: no allocation when warm
  batch.Clear();
  WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] {
    batch.Put(family, key, value);
    return absl::OkStatus();
  }));
  return Write(options, batch);
}

absl::Status DBImpl::Delete(const WriteOptions& options, ColumnFamily* family,
                            std::string_view key) {
  WINNOW_RETURN_IF_ERROR(CheckFamily(family));
  if (key.size() > kMaxKeyBytes) return KeyTooLarge(key.size());
  thread_local WriteBatch batch;
  batch.Clear();
  batch.Delete(family, key);
  return Write(options, batch);
}

ColumnFamilyState* DBImpl::FamilyForWrite(uint32_t id) {
  if (id == 0) return default_family_;
  const auto family = families_.find(id);
  if (family == families_.end() || family->second->dropped.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  return family->second.get();
}

absl::Status DBImpl::CheckBatch(const WriteBatch& batch) {
  if (WriteBatchAccess::largest_key_bytes(batch) > kMaxKeyBytes) {
    return KeyTooLarge(WriteBatchAccess::largest_key_bytes(batch));
  }
  if (WriteBatchAccess::largest_value_bytes(batch) > kMaxValueBytes) {
    return ValueTooLarge(WriteBatchAccess::largest_value_bytes(batch));
  }
  if (batch.size_bytes() > kMaxBatchBytes) {
    return absl::InvalidArgumentError(absl::StrCat("write batch of ", batch.size_bytes(),
                                                   " bytes is over the limit of ", kMaxBatchBytes));
  }
  return absl::OkStatus();
}

absl::Status DBImpl::Write(const WriteOptions& options, const WriteBatch& batch) {
  if (closed_.load(std::memory_order_relaxed)) [[unlikely]] {
    return absl::FailedPreconditionError("the database is closed");
  }
  if (options_.read_only) return absl::FailedPreconditionError("the database is open read-only");
  if (options.sync && options.disable_wal) {
    return absl::InvalidArgumentError("sync and disable_wal contradict each other");
  }
  WINNOW_RETURN_IF_ERROR(CheckBatch(batch));
  if (WriteBatchAccess::is_plain(batch) && batch.num_updates() == 0) return absl::OkStatus();

  ThreadCounters& counters = recorder_.Local();
  SampledTimer timer(counters, LatencyHistogram::kWrite);
  WriteRequest request;
  request.batch = &batch;
  request.options = options;
  WriteRequest::State state = write_queue_.Join(&request);
  if (state == WriteRequest::kInserts) {
    request.status = InsertBatch(batch, request.first_sequence);
    write_queue_.FinishInsert(&request);
  } else if (state == WriteRequest::kLeads) {
    WriteGroup group;
    write_queue_.FormGroup(&request, &group);
    const absl::Status status = CommitGroup(&group);
    if (!status.ok()) {
      for (WriteRequest* member : group.requests) member->status.Update(status);
    }
    write_queue_.Complete(&group);
  }
  if (request.status.ok()) {
    counters.Add(Ticker::kWrites);
    counters.Add(Ticker::kKeysWritten, batch.num_updates());
    counters.Add(Ticker::kUserBytesWritten, batch.size_bytes() - kBatchHeaderBytes);
  }
  return request.status;
}

absl::Status DBImpl::CommitGroup(WriteGroup* group) {
  if (leader_work_pending_.load(std::memory_order_acquire)) [[unlikely]] {
    WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] { return PrepareForGroup(group->batch_bytes); }));
  }
  // Batches that were not built through the public functions, or that name column families, are
  // looked through; one that is wrong is refused alone.
  for (WriteRequest* request : group->requests) {
    if (WriteBatchAccess::is_plain(*request->batch)) continue;
    BatchReader reader(request->batch->encoded());
    BatchUpdate update;
    for (bool more = true; more && request->status.ok();) {
      request->status = reader.Next(&update, &more);
      if (request->status.ok() && more && FamilyForWrite(update.family_id) == nullptr) {
        request->status = absl::FailedPreconditionError(absl::StrCat(
            "column family ", update.family_id, " does not exist or has been dropped"));
      }
    }
  }
  uint32_t num_updates = 0;
  for (WriteRequest* request : group->requests) {
    if (!request->status.ok()) continue;
    request->first_sequence = allocated_sequence_ + 1 + num_updates;
    num_updates += request->batch->num_updates();
  }
  if (num_updates == 0) return absl::OkStatus();
  if (allocated_sequence_ + num_updates > kMaxSequenceNumber) {
    return absl::ResourceExhaustedError("sequence numbers are used up");
  }
  if (!group->disable_wal) {
    WINNOW_RETURN_IF_ERROR(CatchOutOfMemory([&] { return EncodeForLog(*group, num_updates); }));
    absl::Status logged = logs_.Append(log_payload_);
    const bool appended = logged.ok();
    if (appended && group->wants_sync) {
      logged = logs_.Sync();
      recorder_.Local().Add(Ticker::kLogSyncs);
    }
    if (!logged.ok()) {
      // What reached the disk is unknown: these sequence numbers are never given out again.
      allocated_sequence_ += num_updates;
      MutexLock lock(&mutex_);
      if (!appended && absl::IsResourceExhausted(logged)) {
        log_error_ = WithContext(logged, "appending to the write-ahead log failed");
        leader_work_pending_.store(true, std::memory_order_release);
      } else {
        SetBackgroundError(logged, "the write-ahead log");
      }
      return absl::Status(logged.code(),
                          absl::StrCat("write failed, its outcome is unknown until the database "
                                       "has been reopened: ",
                                       logged.message()));
    }
  }
  if (group->disable_wal) has_unlogged_writes_.store(true, std::memory_order_relaxed);
  const absl::Status inserted = InsertGroup(group);
  allocated_sequence_ += num_updates;
  if (!inserted.ok()) {
    // The log has the batches, the memtables a part of them, which no reader may ever see.
    MutexLock lock(&mutex_);
    SetBackgroundError(inserted, "keeping a write in memory");
    return absl::Status(inserted.code(),
                        absl::StrCat("write failed, its outcome is unknown until the database has "
                                     "been reopened: ",
                                     inserted.message()));
  }
  // Release: whoever reads this sequence sees all insertions up to it.
  visible_sequence_.store(allocated_sequence_, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status DBImpl::EncodeForLog(const WriteGroup& group, uint32_t num_updates) {
  log_payload_.assign(1, static_cast<char>(LogPayload::kBatches));
  PutFixed64(&log_payload_, allocated_sequence_ + 1);
  PutFixed32(&log_payload_, num_updates);
  for (const WriteRequest* request : group.requests) {
    if (request->status.ok())
      log_payload_.append(request->batch->encoded().substr(kBatchHeaderBytes));
  }
  recorder_.Local().Add(Ticker::kLogBytesWritten, log_payload_.size());
  return absl::OkStatus();
}

absl::Status DBImpl::InsertGroup(WriteGroup* group) {
  const bool parallel = group->requests.size() > 1 && group->batch_bytes >= kParallelInsertBytes;
  bool all_ok = true;
  for (const WriteRequest* request : group->requests) all_ok = all_ok && request->status.ok();
  if (!parallel || !all_ok) {
    for (const WriteRequest* request : group->requests) {
      if (!request->status.ok()) continue;
      WINNOW_RETURN_IF_ERROR(InsertBatch(*request->batch, request->first_sequence));
    }
    return absl::OkStatus();
  }
  write_queue_.StartInserts(group);
  absl::Status status = InsertBatch(*group->requests[0]->batch, group->requests[0]->first_sequence);
  write_queue_.WaitForInserts(group);
  for (const WriteRequest* request : group->requests) status.Update(request->status);
  return status;
}

absl::Status DBImpl::InsertBatch(const WriteBatch& batch, SequenceNumber first_sequence) {
  return CatchOutOfMemory([&] {
    AddToMemtables(batch, first_sequence);
    return absl::OkStatus();
  });
}

void DBImpl::AddToMemtables(const WriteBatch& batch, SequenceNumber first_sequence) {
  BatchReader reader(batch.encoded());
  BatchUpdate update;
  SequenceNumber sequence = first_sequence;
  // The batch was checked before it went to the log.
  for (bool more = true; reader.Next(&update, &more).ok() && more; sequence++) {
    ColumnFamilyState* family = FamilyForWrite(update.family_id);
    Memtable* memtable = family->active.get();
    memtable->Add(sequence, update.type, update.key, update.value,
                  filter::HashKey(update.key, family->hash_seed()));
    if (memtable->memory_bytes() >= family->options().write_buffer_bytes) {
      leader_work_pending_.store(true, std::memory_order_release);
    }
  }
}

absl::Status DBImpl::PrepareForGroup(size_t group_bytes) {
  MutexLock lock(&mutex_);
  leader_work_pending_.store(false, std::memory_order_relaxed);
  absl::Status status = log_error_.ok() ? StallIfNeeded(group_bytes) : ReplaceFailedLog();
  if (status.ok()) status = SwitchFullMemtables();
  // Looked at again before the next write, which may find that the cause has passed.
  if (!status.ok() || !stalled_family_.empty())
    leader_work_pending_.store(true, std::memory_order_relaxed);
  if (!background_error_.ok()) {
    leader_work_pending_.store(true, std::memory_order_relaxed);
    return absl::FailedPreconditionError(absl::StrCat(
        "the database takes no writes until it is reopened: ", background_error_.message()));
  }
  UpdateStallState();
  return status;
}

void DBImpl::UpdateStallState() {
  for (const auto& [id, family] : families_) {
    if (family->dropped.load(std::memory_order_relaxed)) continue;
    const auto level0_files = static_cast<int>(family->version()->num_files(0));
    const bool memtables_full =
        static_cast<int>(family->immutables.size()) + 1 >= family->options().max_write_buffers;
    if (level0_files >= family->options().level0_slowdown_trigger || memtables_full) {
      leader_work_pending_.store(true, std::memory_order_release);
    }
  }
}

absl::Status DBImpl::StallIfNeeded(size_t group_bytes) {
  const auto start = std::chrono::steady_clock::now();
  bool stalled = false;
  const ColumnFamilyState* delaying = nullptr;
  for (const auto& [id, owned] : families_) {
    ColumnFamilyState* family = owned.get();
    const ColumnFamilyOptions& options = family->options();
    const auto must_wait = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      const bool memtables_full =
          static_cast<int>(family->immutables.size()) + 1 >= options.max_write_buffers &&
          family->active->memory_bytes() >= options.write_buffer_bytes;
      const bool level0_full =
          !options.disable_auto_compactions &&
          static_cast<int>(family->version()->num_files(0)) >= options.level0_stop_trigger;
      return !family->dropped.load(std::memory_order_relaxed) && background_error_.ok() &&
             !stopping_ && (memtables_full || level0_full);
    };
    while (must_wait()) {
      WINNOW_RETURN_IF_ERROR(StallError());
      stalled = true;
      NoteStall(family, "writes wait for flushes or compactions");
      work_available_.SignalAll();
      work_done_.Wait(&mutex_);
    }
    const auto level0_files = static_cast<int>(family->version()->num_files(0));
    if (background_error_.ok() && !options.disable_auto_compactions &&
        level0_files >= options.level0_slowdown_trigger) {
      const double room = static_cast<double>(options.level0_stop_trigger - level0_files) /
                          (options.level0_stop_trigger - options.level0_slowdown_trigger + 1);
      const double rate = kDelayedBytesPerSecond * std::max(room, 0.1);
      delayed_seconds_ += static_cast<double>(group_bytes) / rate;
      delaying = family;
    }
  }
  NoteStall(delaying, "writes are delayed: level 0 has many files");
  if (delayed_seconds_ > 0.001) {  // shorter sleeps are not kept by the system
    stalled = true;
    MutexUnlock unlock(&mutex_);
    std::this_thread::sleep_for(std::chrono::duration<double>(delayed_seconds_));
    delayed_seconds_ = 0;
  }
  if (stalled) {
    ThreadCounters& counters = recorder_.Local();
    counters.Add(Ticker::kWriteStalls);
    const auto waited = std::chrono::steady_clock::now() - start;
    counters.Add(Ticker::kWriteStallMicros,
                 static_cast<uint64_t>(
                     std::chrono::duration_cast<std::chrono::microseconds>(waited).count()));
  }
  return absl::OkStatus();
}

void DBImpl::NoteStall(const ColumnFamilyState* cause, std::string_view why) {
  if ((cause != nullptr) != stalled_family_.empty()) return;
  Event event;
  if (cause != nullptr) {
    stalled_family_ = std::string(cause->name());
    stalled_since_ = std::chrono::steady_clock::now();
    event.kind = Event::Kind::kWriteStallBegin;
    event.message = std::string(why);
    event.column_family = stalled_family_;
  } else {
    event.kind = Event::Kind::kWriteStallEnd;
    event.column_family = std::exchange(stalled_family_, std::string());
    event.duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - stalled_since_);
  }
  events_.Add(std::move(event));
}

absl::Status DBImpl::SwitchFullMemtables() {
  // Whose oldest entries keep the logs from shrinking.
  ColumnFamilyState* oldest = nullptr;
  for (const auto& [id, family] : families_) {
    if (family->dropped.load(std::memory_order_relaxed)) continue;
    if (family->active->memory_bytes() >= family->options().write_buffer_bytes) {
      WINNOW_RETURN_IF_ERROR(SwitchMemtable(family.get()));
    } else if (!family->active->empty() &&
               (oldest == nullptr || family->active->log_number() < oldest->active->log_number())) {
      oldest = family.get();
    }
  }
  if (oldest != nullptr && logs_.total_bytes() > options_.max_log_bytes) {
    return SwitchMemtable(oldest);
  }
  return absl::OkStatus();
}

absl::Status DBImpl::SwitchMemtable(ColumnFamilyState* family) {
  uint64_t log_number = logs_.current_number();
  if (logs_.current_has_records()) {
    log_number = versions_.NewFileNumber();
    absl::Status started;
    {
      MutexUnlock unlock(&mutex_);
      started = logs_.StartNew(log_number);
    }
    if (!started.ok()) {
      // With a full disk the old log is as good as before, and the write is refused.
      if (!absl::IsResourceExhausted(started)) {
        SetBackgroundError(started, "starting a new write-ahead log");
      }
      return started;
    }
    // Families without entries need none of the older logs.
    for (const auto& [id, other] : families_) {
      if (other.get() != family && other->active->empty() && other->immutables.empty()) {
        other->active = other->NewMemtable(log_number);
        other->InstallView();
      }
    }
  }
  family->SwitchMemtable(log_number);
  family->flush_wanted = true;
  work_available_.SignalAll();
  return absl::OkStatus();
}

}  // namespace winnow
