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
    versions_->MarkFileNumberUsed(number);
    if (type != FileType::kLog) continue;
    WINNOW_ASSIGN_OR_RETURN(logs_[number], file_system_->FileSize(absl::StrCat(path_, "/", name)));
  }
  return absl::OkStatus();
}

absl::Status LogReplay::CheckRecordedLogsExist() {
  for (const auto& [id, family] : versions_->families()) {
    // A log is durable before the manifest names it. 0: the database is being created.
    if (family.log_number == 0 || logs_.contains(family.log_number)) continue;
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
  for (const uint64_t number : unread) WINNOW_RETURN_IF_ERROR(SetAside(number));
  if (!write_tables_) return absl::OkStatus();
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
  if (start.previous_log < versions_->OldestNeededLog() || start.previous_log == 0) {
    return absl::OkStatus();
  }
  const uint64_t found = start.previous_log == previous_log_ ? previous_records_ : 0;
  if (found >= start.previous_records) return absl::OkStatus();
  if (options_.recovery_mode == RecoveryMode::kStrict) {
    return absl::DataLossError(absl::StrCat("log ", start.previous_log, " had ",
                                            start.previous_records, " records, ", found,
                                            " are left, and log ", number, " follows it"));
  }
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
  if (end.kind == LogEnd::Kind::kTornTail && !is_newest) {
    notes_.push_back(absl::StrCat(LogFileName(path_, number), ": at offset ", end.offset,
                                  ": torn record, ", end.bytes_dropped, " bytes dropped"));
  }
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
    if (family == families_->all().end()) {
      // Creating a family is durable before anything is written to it.
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
    if (write_tables_ && state.active().memory_bytes() >= state.options().write_buffer_bytes) {
      last_sequence_ = std::max(last_sequence_, sequence);
      WINNOW_RETURN_IF_ERROR(WriteSstable(&state));
    }
  }
  last_sequence_ = std::max(last_sequence_, sequence - 1);
  return absl::OkStatus();
}

absl::Status LogReplay::WriteSstable(ColumnFamilyState* family) {
  FlushJobOptions job;
  job.output.store = versions_->store();
  job.output.builder = family->BuilderOptions(0);
  job.output.new_file_number = [this] { return versions_->NewFileNumber(); };
  const Memtable* const replayed = &family->active();
  SstableOutputResult result;
  WINNOW_RETURN_IF_ERROR(RunFlush({&replayed, 1}, job, &result));
  WINNOW_RETURN_IF_ERROR(versions_->AddReplayedSstables(family->id(), result.files));
  family->ReplaceActiveMemtable(replayed->log_number());
  return absl::OkStatus();
}

}  // namespace winnow
