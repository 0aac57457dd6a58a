#include "engine/recovery/kept_logs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "engine/base/status.h"
#include "engine/log/log_reader.h"
#include "engine/recovery/found_files.h"
#include "engine/version/file_names.h"
#include "engine/write/batch_format.h"
#include "engine/write/log_set.h"

namespace winnow {

// False if the bytes are no batches that follow those before.
bool KeptLogs::AddBatches(std::string_view payload, Log* log) {
  if (payload.empty() || payload[0] != static_cast<char>(LogPayload::kBatches)) return false;
  BatchReader reader(payload.substr(1));
  BatchUpdate update;
  SequenceNumber sequence = reader.first_sequence();
  // As LogReplay demands it: a batch that the opening would refuse must not be counted on.
  if (sequence == 0 || sequence > kMaxSequenceNumber - reader.num_updates()) return false;
  const bool is_first = log->first_sequence == 0;
  // The number in between went to an ingested table or a write without log, which may be the newest
  // version of a key that this log names.
  if (!is_first && sequence != log->last_sequence + 1) return false;
  if (is_first) log->first_sequence = sequence;
  // Counted on the way, also of a batch that turns out to be malformed: nothing of its log is
  // replayed then, and the counts only say that it may hold entries of the family.
  for (bool more = true;; sequence++) {
    if (!reader.Next(&update, &more).ok()) return false;
    if (!more) break;
    Entries& entries = log->families[update.family_id];
    entries.count++;
    entries.has_operands |= update.type == EntryType::kMerge;
  }
  log->last_sequence = sequence - 1;
  log->records++;
  return true;
}

absl::StatusOr<KeptLogs::Log> KeptLogs::Read(uint64_t number) const {
  Log log;
  const auto opened = LogReader::Open(file_system_, LogFileName(directory_, number),
                                      {number, database_}, LogRecoveryMode::kSalvage);
  if (MustEndRepair(opened.status())) return opened.status();
  // Not sound: it ends the suffix, and is kept for people to look at.
  if (!opened.ok()) return log;
  LogReader& reader = **opened;
  bool is_sound = true;
  for (;;) {
    std::string_view payload;
    const absl::StatusOr<bool> more = reader.Read(&payload);
    if (MustEndRepair(more.status())) return more.status();
    if (!more.ok()) return log;
    if (!*more) break;
    LogStart start;
    // Stands once, at the beginning: which log came before, and how many records that had in the
    // end.
    if (LogStart::Decode(payload, &start)) {
      log.previous_log = start.previous_log;
      log.previous_records = start.previous_records;
    } else if (!AddBatches(payload, &log)) {
      is_sound = false;
    }
  }
  const LogEnd& end = reader.end();
  // A torn tail is sound. If a record was lost with it, the next log's count says so; in the newest
  // log it was the write that a crash cut off.
  log.is_sound = is_sound && end.skipped.empty() && end.kind != LogEnd::Kind::kDamaged;
  return log;
}

absl::Status KeptLogs::ReadAll() {
  // Once for all families, as it reads all bytes of all logs. An error ends the repair, so that
  // nobody asks again with only some of them read.
  if (std::exchange(has_read_, true)) return absl::OkStatus();
  for (const uint64_t number : logs_) {
    WINNOW_ASSIGN_OR_RETURN(Log log, Read(number));
    read_.emplace(number, std::move(log));
  }
  return absl::OkStatus();
}

// From the newest log backwards, as far as each is sound, has the records that its successor
// counts, and ends with the sequence number before the successor's first. Invariant: of every key
// that the logs from `first` on name, they hold the newest version.
uint64_t KeptLogs::FirstOfSuffix() const {
  uint64_t first = UINT64_MAX;
  SequenceNumber next_sequence = 0;  // of the batch that follows; 0: none does
  const Log* next = nullptr;
  for (auto entry = read_.rbegin(); entry != read_.rend(); ++entry) {
    const auto& [number, log] = *entry;
    const bool is_continued =
        next == nullptr || (next->previous_log == number && next->previous_records == log.records);
    if (!log.is_sound || !is_continued) break;
    if (log.first_sequence != 0) {
      // What the manifest knows beyond the last log has lost its record, or never had one.
      const bool is_whole = next_sequence == 0 ? log.last_sequence >= recorded_sequence_
                                               : log.last_sequence + 1 == next_sequence;
      if (!is_whole) break;
      next_sequence = log.first_sequence;
    }
    first = number;
    next = &log;
  }
  return first;
}

absl::StatusOr<KeptLogs::OfFamily> KeptLogs::Find(uint32_t family_id, uint64_t log_number,
                                                  uint64_t oldest_log) {
  WINNOW_RETURN_IF_ERROR(ReadAll());
  OfFamily found;
  uint64_t first = std::max(FirstOfSuffix(), oldest_log);
  const auto end = read_.lower_bound(log_number);
  for (auto entry = read_.begin(); entry != end; ++entry) {
    const auto entries = entry->second.families.find(family_id);
    if (entries == entry->second.families.end()) continue;
    if (entries->second.has_operands) first = std::max(first, entry->first + 1);
  }
  for (auto entry = read_.begin(); entry != end; ++entry) {
    const auto& [number, log] = *entry;
    const auto entries = log.families.find(family_id);
    const uint64_t count = entries == log.families.end() ? 0 : entries->second.count;
    if (number < first) {
      if (count > 0 || !log.is_sound) found.not_replayed.push_back(number);
    } else if (count > 0) {
      if (found.first_log == 0) found.first_log = number;
      found.entries += count;
    }
  }
  return found;
}

absl::StatusOr<bool> KeptLogs::Hold(uint64_t first_log, SequenceNumber smallest,
                                    SequenceNumber largest) {
  WINNOW_RETURN_IF_ERROR(ReadAll());
  SequenceNumber first_held = 0;
  SequenceNumber last_held = 0;
  // Nothing is missing within the suffix, so that its ends say all.
  for (auto entry = read_.lower_bound(std::max(FirstOfSuffix(), first_log)); entry != read_.end();
       ++entry) {
    const Log& log = entry->second;
    if (log.first_sequence == 0) continue;
    if (first_held == 0) first_held = log.first_sequence;
    last_held = log.last_sequence;
  }
  return first_held != 0 && first_held <= smallest && largest <= last_held;
}

}  // namespace winnow
