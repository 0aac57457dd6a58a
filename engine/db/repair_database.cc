// RepairDatabase (winnow/repair.h): the files first, then the logs by opening the database.
#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/file_system/file_system_of.h"
#include "engine/recovery/repair.h"
#include "engine/version/foreign_database.h"
#include "filter/base/out_of_memory.h"
#include "winnow/db.h"
#include "winnow/merge_operator.h"
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

// Stands for an operator that the options do not give: what is written meanwhile keeps all
// operands.
class UnknownMergeOperator final : public MergeOperator {
 public:
  explicit UnknownMergeOperator(std::string name) : name_(std::move(name)) {}
  std::string_view Name() const override { return name_; }
  absl::Status FullMerge(std::string_view, std::optional<std::string_view>,
                         std::span<const std::string_view>, std::string*) const override {
    return absl::FailedPreconditionError("the repair has no merge operator");
  }

 private:
  const std::string name_;
};

// An opening that writes wants every family's operator.
void AddMissingMergeOperators(const RepairedFiles& repaired, Options* options) {
  for (const auto& [family, name] : repaired.missing_merge_operators) {
    auto merge_operator = std::make_shared<const UnknownMergeOperator>(name);
    if (family == "default") {
      options->merge_operator = std::move(merge_operator);
      continue;
    }
    const ColumnFamilyOptions& inherited = *options;
    const auto [named, is_new] = options->column_families.try_emplace(family, inherited);
    // A family that the options do not name keeps its own time to live.
    if (is_new) named->second.ttl_seconds.reset();
    named->second.merge_operator = std::move(merge_operator);
  }
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
  AddMissingMergeOperators(*repaired, &options);
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
