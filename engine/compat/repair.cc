#include "engine/compat/repair.h"

#include "engine/base/status.h"
#include "winnow/db.h"

namespace winnow {

absl::Status RecoverDamagedLogs(Options options, const std::string& path) {
  options.recovery_mode = RecoveryMode::kSalvage;
  options.create_if_missing = false;
  options.error_if_exists = false;
  options.read_only = false;
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, DB::Open(options, path));
  for (ColumnFamily* family : db->ColumnFamilies()) WINNOW_RETURN_IF_ERROR(db->Flush(family));
  return db->Close();
}

}  // namespace winnow
