// Repair of the files of a closed database; replaying its logs is left to the next opening.
#ifndef WINNOW_ENGINE_RECOVERY_REPAIR_H_
#define WINNOW_ENGINE_RECOVERY_REPAIR_H_

#include <string>

#include "absl/status/statusor.h"
#include "winnow/options.h"
#include "winnow/repair.h"

namespace winnow {

// What RepairDatabase does before it opens the database: SSTables are kept, rewritten or put aside,
// and a manifest and CURRENT that fit them are written. `options` have been validated.
absl::StatusOr<RepairReport> RepairFiles(const Options& options, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_REPAIR_H_
