#include "engine/recovery/log_replay.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/compaction/flush_job.h"
#include "engine/file_system/durable_files.h"
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

}  // namespace

// What is replayed is a prefix of what was written, since later writes may rest on earlier ones:
// without those the database would show a state in which it never was. At the end of the prefix
//
// kStrict       refuses to open, and names the file and the place,
// kPointInTime  applies nothing behind it, in this log or a later one,
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
    WINNOW_ASSIGN_OR_RETURN(logs_[number], file_system_->FileSize(absl::StrCat(path_, "/", name)));
  }
  return absl::OkStatus();
}

absl::Status LogReplay::CheckRecordedLogsExist() {
  for (const auto& [id, family] : versions_->families()) {
    // A log is durable before the manifest names it. 0: the database is being created.
    // No crash explains a log that is missing, so that kPointInTime has no last write to end at and
    // refuses like kStrict.
    if (family.log_number == 0 || logs_.contains(family.log_number)) continue;
    // A family that has not been written to since: logs of others have come and gone.
    if (family.log_number < versions_->OldestNeededLog()) continue;
    const std::string path = LogFileName(path_, family.log_number);
    if (options_.recovery_mode != RecoveryMode::kSalvage) {
      return CorruptionError(path, absl::StrCat("is missing, but column family '", family.name,
                                                "' needs it (recovery mode salvage opens without "
                                                "it)"));
    }
    notes_.push_back(
        absl::StrCat(path, ": is missing, with writes of column family '", family.name, "'"));
  }
  return absl::OkStatus();
}

absl::Status LogReplay::Run() {
  WINNOW_RETURN_IF_ERROR(FindLogs());
  WINNOW_RETURN_IF_ERROR(CheckRecordedLogsExist());
  const uint64_t oldest_needed = versions_->OldestNeededLog();
  bool stop = false;
  std::vector<uint64_t> unread;
  for (const auto& [number, bytes] : logs_) {
    if (number < oldest_needed) continue;
    if (stop) {
      notes_.push_back(absl::StrCat(LogFileName(path_, number),
                                    ": not replayed, since records before it are missing"));
      unread.push_back(number);
    } else {
      WINNOW_RETURN_IF_ERROR(ReplayLog(number, &stop));
    }
  }
  // The manifest that this opening will write lets them be removed: their copies are all that
  // remains.
  for (const uint64_t number : unread) WINNOW_RETURN_IF_ERROR(SetAside(number));
  if (!write_tables_) return absl::OkStatus();
  // The same goes for logs that were replayed: what they hold must be in SSTables by then.
  for (const auto& [id, family] : families_->all()) {
    if (!family->active().empty()) WINNOW_RETURN_IF_ERROR(WriteSstable(family.get()));
  }
  return absl::OkStatus();
}

absl::Status LogReplay::ReplayLog(uint64_t number, bool* stop) {
  auto opened = LogReader::Open(*file_system_, LogFileName(path_, number), number,
                                ModeOf(options_.recovery_mode));
  if (!opened.ok()) return opened.status();
  LogReader& reader = **opened;
  uint64_t records = 0;
  for (;;) {
    std::string_view payload;
    uint64_t offset = 0;
    WINNOW_ASSIGN_OR_RETURN(const bool more, reader.Read(&payload, &offset));
    if (!more) break;
    absl::Status status;
    // Not a record of batches: the count that the next log has of this one leaves it out too.
    if (!payload.empty() && payload[0] == static_cast<char>(LogPayload::kLogStart)) {
      bool hole = false;
      status = CheckContinues(number, payload, &hole);
      if (hole) {
        *stop = true;
        notes_.push_back(absl::StrCat(LogFileName(path_, number),
                                      ": not replayed, since the log before it lost its end"));
        return SetAside(number);
      }
    } else {
      status = ApplyBatches(number, payload);
      records++;
    }
    if (IsCorruption(status)) {
      // The record's checksum was right, so the bytes are what was written.
      // No mode passes over such a record.
      return CorruptionError(LogFileName(path_, number), offset, ToStd(status.message()));
    }
    WINNOW_RETURN_IF_ERROR(status);
  }
  previous_log_ = number;
  previous_records_ = records;
  return CheckEnd(number, reader, number == logs_.rbegin()->first, stop);
}

absl::Status LogReplay::CheckContinues(uint64_t number, std::string_view payload, bool* hole) {
  LogStart start;
  if (!LogStart::Decode(payload, &start)) {
    return absl::DataLossError("log start record is malformed");
  }
  // Logs before the oldest needed one are not looked at, so nothing is known about their end.
  // 0 stands in the first log of an opening, and in the one after a log that was given up.
  if (start.previous_log < versions_->OldestNeededLog() || start.previous_log == 0) {
    return absl::OkStatus();
  }
  // A log that is missing altogether has lost all its records.
  const uint64_t found = start.previous_log == previous_log_ ? previous_records_ : 0;
  if (found >= start.previous_records) return absl::OkStatus();
  if (options_.recovery_mode == RecoveryMode::kStrict) {
    return absl::DataLossError(absl::StrCat("log ", start.previous_log, " had ",
                                            start.previous_records, " records, ", found,
                                            " are left, and log ", number, " follows it"));
  }
  // A hole. The older log does not show it, as it just ends early; only the later one tells of it.
  // A power failure took unsynced records from the end of the older log. What follows them was not
  // synced either and goes with them, so that the loss is a suffix.
  *hole = options_.recovery_mode == RecoveryMode::kPointInTime;
  return absl::OkStatus();
}

absl::Status LogReplay::CheckEnd(uint64_t number, const LogReader& reader, bool is_newest,
                                 bool* stop) {
  const LogEnd& end = reader.end();
  if (end.kind != LogEnd::Kind::kDamaged && end.kind != LogEnd::Kind::kCleanClose &&
      versions_->was_closed_cleanly() && number < first_number_after_close_) {
    // The manifest is closed after the logs: this one had its marker once. (A log with a later
    // number was begun by an open that did not get as far as its own manifest.)
    constexpr std::string_view kLostEnd =
        "the database was closed, but the end of this log is gone";
    if (options_.recovery_mode == RecoveryMode::kStrict) {
      return CorruptionError(LogFileName(path_, number), end.offset, kLostEnd);
    }
    *stop = options_.recovery_mode == RecoveryMode::kPointInTime;
    notes_.push_back(absl::StrCat(LogFileName(path_, number), ": at offset ", end.offset, ": ",
                                  ToAbsl(kLostEnd)));
    return SetAside(number);
  }
  for (const LogEnd::SkippedRange& skipped : end.skipped) {
    notes_.push_back(absl::StrCat(LogFileName(path_, number), ": at offset ", skipped.offset, ": ",
                                  skipped.length, " bytes skipped: ", skipped.reason));
  }
  // In the newest log a torn record is the write that was going on when the machine stopped. In an
  // older one it is worth a note; whether writes are missing shows the start of the log after it.
  if (end.kind == LogEnd::Kind::kTornTail && !is_newest) {
    notes_.push_back(absl::StrCat(LogFileName(path_, number), ": at offset ", end.offset,
                                  ": torn record, ", end.bytes_dropped, " bytes dropped"));
  }
  // kStrict does not get here with damage: Read has returned it as an error.
  if (end.kind != LogEnd::Kind::kDamaged && end.skipped.empty()) return absl::OkStatus();
  if (options_.recovery_mode == RecoveryMode::kPointInTime) {
    *stop = true;
    notes_.push_back(absl::StrCat(
        LogFileName(path_, number), ": at offset ", end.offset, ": ", end.reason, "; ",
        end.bytes_dropped, " bytes from there on were not replayed",
        end.valid_records_follow ? ", intact records among them (recovery mode salvage reads them)"
                                 : ""));
  }
  return SetAside(number);
}

absl::Status LogReplay::SetAside(uint64_t number) {
  if (!write_tables_) return absl::OkStatus();  // read-only: nothing is touched
  const std::string path = LogFileName(path_, number);
  // Copied, not renamed: until a new manifest is durable, another crash must find the log where it
  // was, or what has been replayed from it would be lost. After that the log is removed.
  WINNOW_RETURN_IF_ERROR(CopyFile(*file_system_, path, path + ".damaged").status());
  notes_.push_back(absl::StrCat(path, ": kept as ", path, ".damaged"));
  return absl::OkStatus();
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
          notes_.push_back(absl::StrCat(LogFileName(path_, log_number), ": ", reason));
          WINNOW_RETURN_IF_ERROR(SetAside(log_number));
        }
      }
      continue;
    }
    const uint64_t needed_from = versions_->families().at(update.family_id).log_number;
    if (log_number < needed_from) continue;
    ColumnFamilyState& state = *family->second;
    state.active_for_insert()->Add(sequence, update.type, update.key, update.value,
                                   filter::HashKey(update.key, state.hash_seed()));
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
  if (last_grown->active().memory_bytes() >= last_grown->options().write_buffer_bytes) {
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
  job.output.new_file_number = [this] { return versions_->NewFileNumber(); };
  const Memtable* const replayed = &family->active();
  SstableOutputResult result;
  WINNOW_RETURN_IF_ERROR(RunFlush({&replayed, 1}, job, &result));
  WINNOW_RETURN_IF_ERROR(versions_->AddReplayedSstables(family->id(), result.files));
  family->ReplaceActiveMemtable();
  // The view that the family was added with would hold its first memtable.
  family->InstallView();
  family->views.Reclaim();
  return absl::OkStatus();
}

}  // namespace winnow
