// RepairDatabase (winnow/repair.h): the files first, then the logs by opening the database.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/db/merge_operator_stand_ins.h"
#include "engine/file_system/file_system_of.h"
#include "engine/recovery/repair.h"
#include "engine/version/foreign_database.h"
#include "filter/base/out_of_memory.h"
#include "winnow/db.h"
#include "winnow/repair.h"

namespace winnow {

namespace {

// Replayed entries lie above all tables, as those that are newer should. Beside tables that a
// manifest did not know a log may be the older one: in one sorted run sequence numbers decide.
absl::Status OrderBySequence(DB& db, ColumnFamily* family, const std::vector<std::string>& merged) {
  if (std::find(merged.begin(), merged.end(), family->name()) == merged.end()) {
    return absl::OkStatus();
  }
  WINNOW_ASSIGN_OR_RETURN(const std::string replayed,
                          db.GetProperty(family, "winnow.num-files-at-level0"));
  if (replayed == "0") return absl::OkStatus();
  return db.CompactRange(family, std::nullopt, std::nullopt);
}

// Opening replays what the logs still hold and keeps copies of logs with damage in them.
// In mode `salvage`: every other mode may refuse what a repair is there to save. Nothing may be
// created: a repair that found nothing must not answer with an empty database.
absl::Status ReplayLogs(Options options, const std::string& path, RepairedFiles* repaired) {
  options.recovery_mode = RecoveryMode::kSalvage;
  options.create_if_missing = false;
  options.error_if_exists = false;
  options.read_only = false;
  for (const std::string& name : repaired->missing_families) options.column_families.erase(name);
  AddMergeOperatorStandIns(repaired->missing_merge_operators, &options);
  WINNOW_ASSIGN_OR_RETURN(const auto db, DB::Open(options, path));
  // The property is the one place where an open says what it left out.
  WINNOW_ASSIGN_OR_RETURN(const std::string notes, db->GetProperty("winnow.recovery"));
  for (size_t begin = 0, end; begin < notes.size(); begin = end + 1) {
    end = std::min(notes.find('\n', begin), notes.size());
    if (end > begin) repaired->report.notes.push_back(notes.substr(begin, end - begin));
  }
  for (ColumnFamily* family : db->ColumnFamilies()) {
    WINNOW_RETURN_IF_ERROR(OrderBySequence(*db, family, repaired->merged_families));
  }
  return db->Close();
}

// Files before logs: replay needs a manifest to say which logs count, and families to put their
// entries in.
absl::StatusOr<RepairReport> Repair(const Options& options, const std::string& path) {
  WINNOW_RETURN_IF_ERROR(RefuseForeignDatabase(*FileSystemOf(options), path));
  WINNOW_ASSIGN_OR_RETURN(RepairedFiles repaired, RepairFiles(options, path));
  WINNOW_RETURN_IF_ERROR(ReplayLogs(options, path, &repaired));
  return std::move(repaired.report);
}

}  // namespace

absl::StatusOr<RepairReport> RepairDatabase(const Options& options, const std::string& path) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<RepairReport> {
    WINNOW_RETURN_IF_ERROR(ValidateOptions(options));
    return Repair(options, path);
  });
}

}  // namespace winnow
