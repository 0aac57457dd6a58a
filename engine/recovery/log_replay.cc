#include "engine/recovery/log_replay.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/compaction/flush_job.h"
#include "engine/file_system/directory_for_file.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/file_names.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"

namespace winnow {

namespace {

LogRecoveryMode ModeOf(RecoveryMode mode) {
  switch (mode) {
    case RecoveryMode::kStrict:
      return LogRecoveryMode::kStrict;
    case RecoveryMode::kSalvage:
      return LogRecoveryMode::kSalvage;
    case RecoveryMode::kPointInTime:
      break;
  }
  return LogRecoveryMode::kPointInTime;
}

// What makes a record one that cannot be applied whole.
absl::Status CheckBatches(std::string_view payload) {
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) {
    return absl::DataLossError("log record of unknown kind");
  }
  BatchReader reader(payload.substr(1));
  BatchUpdate update;
  for (bool more = true; more;) WINNOW_RETURN_IF_ERROR(reader.Next(&update, &more));
  return absl::OkStatus();
}

}  // namespace

// What refuses to open says how to go on all the same. No way leads past an I/O error.
absl::Status LogReplay::WithWayOut(const absl::Status& status) const {
  if (!IsCorruption(status) || options_.recovery_mode == RecoveryMode::kSalvage) return status;
  return absl::DataLossError(
      absl::StrCat(status.message(), " (`winnow repair --db=", path_,
                   "`, or recovery mode salvage, goes on with all that is intact)"));
}

void LogReplay::AddLoss(std::string note) {
  losses_.push_back(note);
  notes_.push_back(std::move(note));
}

// What is replayed is a prefix of what was written, since later writes may rest on earlier ones:
// without those the database would show a state in which it never was. At the end of the prefix
//
// kStrict       refuses to open, and names the file and the place,
// kPointInTime  does so too if the database was closed, since no crash explains it then; otherwise
//               it applies nothing behind it, in this log or a later one,
// kSalvage      gives the prefix up: it passes over bad bytes and reads the later logs too.
//
// `first_number_after_close_` is taken here, before FindLogs raises the counter.
LogReplay::LogReplay(const Options& options, std::string path, FileSystem* file_system,
                     VersionSet* versions, ColumnFamilySet* families)
    : options_(options),
      path_(std::move(path)),
      file_system_(file_system),
      versions_(versions),
      families_(families),
      last_sequence_(versions->last_sequence()),
      first_number_after_close_(versions->next_file_number()) {}

absl::Status LogReplay::FindLogs() {
  WINNOW_ASSIGN_OR_RETURN(const std::vector<std::string> names, file_system_->List(path_));
  for (const std::string& name : names) {
    FileType type;
    uint64_t number;
    if (!ParseFileName(name, &type, &number)) continue;
    // Numbers of orphans are not used again either: a crash must not mix old and new files.
    // All kinds of files count, not only logs: SSTables that no manifest ever named have their
    // numbers from the same counter.
    versions_->MarkFileNumberUsed(number);
    if (type != FileType::kLog) continue;
    const std::string path = absl::StrCat(path_, "/", name);
    if (IsDirectoryForFile(*file_system_, path)) {
      notes_.push_back(absl::StrCat(path, ": is a directory and no log; it is left alone"));
      continue;
    }
    WINNOW_ASSIGN_OR_RETURN(logs_[number], file_system_->FileSize(path));
    paths_[number] = path;
  }
  return options_.recovery_mode == RecoveryMode::kSalvage ? MatchLogsByContent() : absl::OkStatus();
}

absl::Status LogReplay::CheckRecordedLogsExist() {
  const uint64_t newest = versions_->newest_log_at_close();
  bool newest_is_named = false;
  for (const auto& [id, family] : versions_->families()) {
    // A log is durable before the manifest names it. 0: the database is being created.
    // No crash explains a log that is missing, so that kPointInTime has no last write to end at and
    // refuses like kStrict.
    if (family.log_number == 0 || paths_.contains(family.log_number)) continue;
    // A family that has not been written to since: logs of others have come and gone.
    if (family.log_number < versions_->OldestNeededLog()) continue;
    const std::string path = LogFileName(path_, family.log_number);
    if (options_.recovery_mode != RecoveryMode::kSalvage) {
      return WithWayOut(CorruptionError(
          path, absl::StrCat("is missing, but column family '", family.name, "' needs it")));
    }
    AddLoss(absl::StrCat(path, ": is missing, with writes of column family '", family.name, "'"));
    newest_is_named |= family.log_number == newest;
  }
  return newest_is_named ? absl::OkStatus() : CheckNewestLogExists();
}

// A later log tells of one before it that is missing; nothing but the manifest tells of the last.
absl::Status LogReplay::CheckNewestLogExists() {
  const uint64_t newest = versions_->newest_log_at_close();
  const bool is_needed = newest != 0 && newest >= versions_->OldestNeededLog();
  if (!is_needed || paths_.contains(newest)) return absl::OkStatus();
  const std::string path = LogFileName(path_, newest);
  constexpr std::string_view kMissing =
      "is missing, but it was the newest log when the database was closed";
  if (options_.recovery_mode != RecoveryMode::kSalvage) {
    return WithWayOut(CorruptionError(path, kMissing));
  }
  AddLoss(absl::StrCat(path, ": ", ToAbsl(kMissing)));
  return absl::OkStatus();
}

uint64_t LogReplay::DatabaseOfLogs() const {
  return versions_->manifest_number() == 0 ? 0 : versions_->hash_seed();
}

absl::Status LogReplay::Run() {
  WINNOW_RETURN_IF_ERROR(FindLogs());
  WINNOW_RETURN_IF_ERROR(CheckRecordedLogsExist());
  const uint64_t oldest_needed = versions_->OldestNeededLog();
  bool stop = false;
  std::vector<uint64_t> unread;
  for (const auto& [number, path] : paths_) {
    if (number < oldest_needed) continue;
    if (stop) {
      AddLoss(absl::StrCat(path, ": not replayed, since records before it are missing"));
      unread.push_back(number);
    } else {
      WINNOW_RETURN_IF_ERROR(ReplayLog(number, &stop));
    }
  }
  // The manifest that this opening will write lets them be removed: their copies are all that
  // remains.
  for (const uint64_t number : unread) {
    WINNOW_RETURN_IF_ERROR(SetAside(number, kUnreadLogSuffix));
  }
  if (!write_tables_) return absl::OkStatus();
  // The same goes for logs that were replayed: what they hold must be in SSTables by then.
  for (const auto& [id, family] : families_->all()) {
    if (!family->active().empty()) WINNOW_RETURN_IF_ERROR(WriteSstable(family.get()));
  }
  return absl::OkStatus();
}

absl::Status LogReplay::ReplayLog(uint64_t number, bool* stop) {
  const std::string& path = paths_.at(number);
  const bool salvage = options_.recovery_mode == RecoveryMode::kSalvage;
  auto opened = LogReader::Open(*file_system_, path, {number, DatabaseOfLogs()},
                                ModeOf(options_.recovery_mode));
  if (!opened.ok()) return WithWayOut(opened.status());
  LogReader& reader = **opened;
  uint64_t records = 0;
  for (;;) {
    std::string_view payload;
    uint64_t offset = 0;
    const absl::StatusOr<bool> more = reader.Read(&payload, &offset);
    if (!more.ok()) return WithWayOut(more.status());
    if (!*more) break;
    absl::Status status;
    // Not a record of batches: the count that the next log has of this one leaves it out too.
    if (!payload.empty() && payload[0] == static_cast<char>(LogPayload::kLogStart)) {
      bool hole = false;
      status = CheckContinues(number, payload, &hole);
      if (hole) {
        *stop = true;
        AddLoss(absl::StrCat(path, ": not replayed, since the log before it lost its end"));
        return SetAside(number, kUnreadLogSuffix);
      }
    } else {
      if (salvage) status = CheckBatches(payload);
      if (status.ok()) status = ApplyBatches(number, payload);
      records++;
    }
    // The record's checksum was right, so the bytes are what was written: to another file.
    if (IsCorruption(status) && salvage) {
      if (!has_foreign_records_.insert(number).second) continue;
      AddLoss(absl::StrCat(path, ": at offset ", offset, ": ", status.message(), "; left out"));
    } else if (IsCorruption(status)) {
      return WithWayOut(CorruptionError(path, offset, ToStd(status.message())));
    } else if (!status.ok()) {
      return status;
    }
  }
  previous_log_ = number;
  previous_records_ = records;
  return CheckEnd(number, reader, number == paths_.rbegin()->first, stop);
}

absl::Status LogReplay::ApplyBatches(uint64_t log_number, std::string_view payload) {
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) {
    return absl::DataLossError("log record of unknown kind");
  }
  BatchReader reader(payload.substr(1));
  SequenceNumber sequence = reader.first_sequence();
  // 0 is for entries that every reader sees, which only compactions make.
  if (sequence == 0 || sequence > kMaxSequenceNumber - reader.num_updates()) {
    return absl::DataLossError("sequence number is out of range");
  }
  BatchUpdate update;
  for (;; sequence++) {
    bool more;
    WINNOW_RETURN_IF_ERROR(reader.Next(&update, &more));
    if (!more) break;
    const auto family = families_->all().find(update.family_id);
    // Families that were dropped, and those whose SSTables hold the entry already.
    // Each family has a log number of its own, so that of one batch some updates may be needed and
    // others not.
    if (family == families_->all().end()) {
      // Creating a family is durable before anything is written to it.
      // Identities ascend: up to the largest known one a missing family was dropped, beyond it the
      // manifest is older than this log.
      if (update.family_id > versions_->largest_family_id()) {
        const std::string reason =
            absl::StrCat("writes to column family ", update.family_id,
                         ", which the manifest does not know: it has lost its end");
        if (options_.recovery_mode != RecoveryMode::kSalvage) return absl::DataLossError(reason);
        if (has_unknown_families_.insert(log_number).second) {
          AddLoss(absl::StrCat(paths_.at(log_number), ": ", reason));
        }
      }
      continue;
    }
    const uint64_t needed_from = versions_->families().at(update.family_id).log_number;
    if (log_number < needed_from) continue;
    ColumnFamilyState& state = *family->second;
    InsertUpdate(update, sequence, state.active_for_insert());
    if (write_tables_) {
      // The SSTable will hold this number: no later write may get it.
      last_sequence_ = std::max(last_sequence_, sequence);
      WINNOW_RETURN_IF_ERROR(WriteFullMemtables(&state));
    }
  }
  // Updates that were passed over count too, as their numbers have been given out.
  last_sequence_ = std::max(last_sequence_, sequence - 1);
  return absl::OkStatus();
}

// Bounds memory to one memtable for each family, and to the budget of all, however much the logs
// hold.
absl::Status LogReplay::WriteFullMemtables(ColumnFamilyState* last_grown) {
  const WriteBufferBudget& budget = *families_->write_buffers();
  if (last_grown->active().memory_bytes() >= last_grown->write_buffer_bytes()) {
    WINNOW_RETURN_IF_ERROR(WriteSstable(last_grown));
  }
  while (budget.active_bytes() > budget.switch_above_bytes()) {
    ColumnFamilyState* largest = last_grown;
    for (const auto& [id, family] : families_->all()) {
      if (family->active().memory_bytes() > largest->active().memory_bytes()) {
        largest = family.get();
      }
    }
    if (largest->active().empty()) break;
    WINNOW_RETURN_IF_ERROR(WriteSstable(largest));
  }
  return absl::OkStatus();
}

// Until the new manifest is durable the SSTables are orphans: after a crash the logs are replayed
// again, into files with new numbers. No snapshot outlives its process, so that the flush keeps
// each key's newest version only.
absl::Status LogReplay::WriteSstable(ColumnFamilyState* family) {
  FlushJobOptions job;
  job.output.store = versions_->store();
  job.output.builder = family->BuilderOptions(0);
  job.merge_operator = &family->merge_operator();
  job.output.new_file_number = [this] { return versions_->NewFileNumber(); };
  const Memtable* const replayed = &family->active();
  SstableOutputResult result;
  WINNOW_RETURN_IF_ERROR(RunFlush({&replayed, 1}, job, &result));
  WINNOW_RETURN_IF_ERROR(versions_->AddReplayedSstables(family->id(), result.files));
  family->ReplaceActiveMemtable();
  // The view that the family was added with would hold its first memtable.
  family->InstallView(family->version());
  family->views.Reclaim();
  return absl::OkStatus();
}

}  // namespace winnow
