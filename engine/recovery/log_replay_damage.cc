// What is wrong with a log, what follows from it by recovery mode, and what is kept of it.
#include <algorithm>
#include <utility>
#include <vector>

#include "engine/base/counted.h"
#include "engine/base/status.h"
#include "engine/file_system/durable_files.h"
#include "engine/recovery/log_replay.h"
#include "engine/recovery/set_aside.h"
#include "engine/version/file_names.h"
#include "engine/write/log_set.h"

namespace winnow {

// Reads the whole log: only where salvage has two files for one.
absl::StatusOr<uint64_t> LogReplay::CountRecords(const std::string& path, uint64_t number) const {
  auto opened =
      LogReader::Open(*file_system_, path, {number, DatabaseOfLogs()}, LogRecoveryMode::kSalvage);
  if (IsCorruption(opened.status())) return 0;
  if (!opened.ok()) return opened.status();
  std::string_view payload;
  uint64_t offset = 0;
  for (uint64_t records = 0;; records++) {
    WINNOW_ASSIGN_OR_RETURN(const bool more, (*opened)->Read(&payload, &offset));
    if (!more) return records;
  }
}

// Names may be swapped, or a copy put in the place of another log; the file header says which log
// it is. Of copies of a log, one of which may have lost its end, that with the most is replayed.
// One that nothing needs is not replayed: its records are right by themselves, and would bring back
// what was deleted long ago. Neither is one with a number that was never given out here.
absl::Status LogReplay::MatchLogsByContent() {
  std::map<uint64_t, uint64_t> misnamed;  // number in the name -> the log's own
  std::vector<uint64_t> foreign;
  for (const auto& [number, path] : paths_) {
    const absl::StatusOr<LogIdentity> stated = ReadLogIdentity(*file_system_, path);
    if (IsCorruption(stated.status())) continue;  // the reader makes of it what it can
    if (!stated.ok()) return stated.status();
    if (DatabaseOfLogs() != 0 && stated->database != DatabaseOfLogs()) {
      foreign.push_back(number);
      continue;
    }
    if (stated->number == number) continue;
    // A strange header may stand before records of the log that the name says.
    const absl::Status opened =
        LogReader::Open(*file_system_, path, number, LogRecoveryMode::kSalvage).status();
    if (IsCorruption(opened)) {
      misnamed[number] = stated->number;
    } else if (!opened.ok()) {
      return opened;
    }
  }
  for (const uint64_t number : foreign) {
    const std::string path = paths_.extract(number).mapped();
    AddLoss(absl::StrCat(path, ": not replayed: it is a log of another database"));
    WINNOW_RETURN_IF_ERROR(KeepInLost(path));
  }
  std::map<uint64_t, std::string> found;
  // All of them leave their places before any gets another: two logs may have each other's name.
  for (const auto& [number, stated] : misnamed) found[number] = paths_.extract(number).mapped();
  const uint64_t oldest_needed = versions_->OldestNeededLog();
  for (const auto& [number, stated] : misnamed) {
    const std::string& path = found.at(number);
    const bool is_wanted = stated >= oldest_needed && stated < versions_->next_file_number();
    const auto leave_out = [&, stated = stated](const std::string& log, std::string_view why) {
      AddLoss(absl::StrCat(log, ": not replayed: it is log ", stated, " by its content, ",
                           ToAbsl(why)));
      return KeepInLost(log);
    };
    if (!is_wanted) {
      WINNOW_RETURN_IF_ERROR(leave_out(path, "which nothing needs"));
      continue;
    }
    // The place is taken where the log has a file of its right name too, or several misnamed
    // copies.
    const auto [replayed, is_first] = paths_.emplace(stated, path);
    std::string shorter;
    if (!is_first) {
      WINNOW_ASSIGN_OR_RETURN(const uint64_t records, CountRecords(path, stated));
      WINNOW_ASSIGN_OR_RETURN(const uint64_t present, CountRecords(replayed->second, stated));
      if (records <= present) {
        WINNOW_RETURN_IF_ERROR(leave_out(path, "which is there already"));
        continue;
      }
      shorter = std::exchange(replayed->second, path);
    }
    AddLoss(absl::StrCat(path, ": is log ", stated, " by its content, and replayed as that"));
    if (shorter.empty()) continue;
    WINNOW_RETURN_IF_ERROR(leave_out(shorter, "of which there is a copy with more records"));
  }
  return absl::OkStatus();
}

// A log with a later number was begun by an open that did not get as far as its own manifest.
bool LogReplay::WasClosed(uint64_t number) const {
  return versions_->was_closed_cleanly() && number < first_number_after_close_;
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
  if (options_.recovery_mode == RecoveryMode::kStrict ||
      (options_.recovery_mode == RecoveryMode::kPointInTime && WasClosed(number))) {
    return absl::DataLossError(absl::StrCat("log ", start.previous_log, " had ",
                                            Counted(start.previous_records, "record"), ", ", found,
                                            " are left, and log ", number, " follows it"));
  }
  if (options_.recovery_mode == RecoveryMode::kSalvage) {
    AddLoss(absl::StrCat(LogFileName(path_, start.previous_log), ": had ",
                         Counted(start.previous_records, "record"), ", of which ", found,
                         " were found"));
    return absl::OkStatus();
  }
  // A hole. The older log does not show it, as it just ends early; only the later one tells of it.
  // A power failure took unsynced records from the end of the older log. What follows them was not
  // synced either and goes with them, so that the loss is a suffix.
  *hole = true;
  return absl::OkStatus();
}

absl::Status LogReplay::CheckEnd(uint64_t number, const LogReader& reader, bool is_newest,
                                 bool* stop) {
  const LogEnd& end = reader.end();
  const std::string& path = paths_.at(number);
  if (end.kind != LogEnd::Kind::kDamaged && end.kind != LogEnd::Kind::kCleanClose &&
      WasClosed(number)) {
    // The manifest is closed after the logs: this one had its marker once.
    constexpr std::string_view kLostEnd =
        "the database was closed, but the end of this log is gone";
    if (options_.recovery_mode != RecoveryMode::kSalvage) {
      return WithWayOut(CorruptionError(path, end.offset, kLostEnd));
    }
    AddLoss(absl::StrCat(path, ": at offset ", end.offset, ": ", ToAbsl(kLostEnd)));
    return KeepInLost(path);
  }
  // In the newest log a torn record is the write that was going on when the machine stopped. In an
  // older one it is worth a note; whether writes are missing shows the start of the log after it.
  if (end.kind == LogEnd::Kind::kTornTail && !is_newest) {
    notes_.push_back(absl::StrCat(path, ": at offset ", end.offset, ": torn record, ",
                                  Counted(end.bytes_dropped, "byte"), " dropped"));
  }
  return CheckDamage(number, reader, stop);
}

// kStrict does not get here with damage: Read has returned it as an error.
absl::Status LogReplay::CheckDamage(uint64_t number, const LogReader& reader, bool* stop) {
  const LogEnd& end = reader.end();
  const std::string& path = paths_.at(number);
  if (options_.recovery_mode == RecoveryMode::kSalvage) {
    // The reader has passed over these and gone on; what they held is lost to the database, and the
    // copy in lost/ is all that is left of it.
    constexpr size_t kMostNotes = 100;
    for (size_t i = 0; i < std::min(end.skipped.size(), kMostNotes); i++) {
      const LogEnd::SkippedRange& skipped = end.skipped[i];
      AddLoss(absl::StrCat(path, ": at offset ", skipped.offset, ": ",
                           Counted(skipped.length, "byte"), " skipped: ", skipped.reason));
    }
    if (end.skipped.size() > kMostNotes) {
      AddLoss(absl::StrCat(path, ": ... and ",
                           Counted(end.skipped.size() - kMostNotes, "more place"), "; ",
                           Counted(end.bytes_dropped, "byte"), " skipped in all"));
    }
    const bool left_out =
        has_unknown_families_.contains(number) || has_foreign_records_.contains(number);
    return left_out || !end.skipped.empty() ? KeepInLost(path) : absl::OkStatus();
  }
  if (end.kind != LogEnd::Kind::kDamaged) return absl::OkStatus();
  if (end.valid_records_follow && WasClosed(number)) {
    return WithWayOut(CorruptionError(
        path, end.offset,
        absl::StrCat(end.reason,
                     "; intact records follow, and the database was closed, so that no ",
                     "crash explains it")));
  }
  AddLoss(absl::StrCat(path, ": at offset ", end.offset, ": ", end.reason, "; ", end.bytes_dropped,
                       " bytes from there on were not replayed",
                       end.valid_records_follow ? ", intact records among them" : ""));
  // Bytes behind the marker of a clean close, and no record among them: nothing is missing.
  if (!end.valid_records_follow) return KeepInLost(path);
  *stop = true;
  return SetAside(number, kDamagedLogSuffix);
}

absl::Status LogReplay::SetAside(uint64_t number, std::string_view suffix) {
  if (!write_tables_) return absl::OkStatus();  // read-only: nothing is touched
  const std::string& path = paths_.at(number);
  // The same name at every attempt: one that a crash left half copied is written anew.
  const std::string copy = absl::StrCat(path, ToAbsl(suffix));
  // Copied, not renamed: until a new manifest is durable, another crash must find the log where it
  // was, or what has been replayed from it would be lost. After that the log is removed.
  WINNOW_RETURN_IF_ERROR(CopyFile(*file_system_, path, copy).status());
  notes_.push_back(absl::StrCat(path, ": kept as ", copy, "; `winnow replay ", copy,
                                " --db=", path_, "` writes again what was not replayed"));
  return absl::OkStatus();
}

absl::Status LogReplay::KeepInLost(const std::string& log) {
  if (!write_tables_) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const std::string copy,
                          FreePathInLost(*file_system_, path_, log.substr(log.rfind('/') + 1)));
  WINNOW_RETURN_IF_ERROR(CopyFile(*file_system_, log, copy).status());
  WINNOW_RETURN_IF_ERROR(
      file_system_->SyncDirectory(absl::StrCat(path_, "/", ToAbsl(kLostDirectory))));
  notes_.push_back(absl::StrCat(log, ": kept as ", copy));
  return absl::OkStatus();
}

}  // namespace winnow
