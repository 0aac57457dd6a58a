// Repair of the files of a closed database; replaying its logs is left to the next opening.
#ifndef WINNOW_ENGINE_RECOVERY_REPAIR_H_
#define WINNOW_ENGINE_RECOVERY_REPAIR_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/options.h"
#include "winnow/repair.h"

namespace winnow {

struct RepairedFiles {
  RepairReport report;
  // Their tables were merged without a manifest that knew all of them.
  std::vector<std::string> merged_families;
  // The options name them, and they are not there.
  std::vector<std::string> missing_families;
  // Recorded for families whose operator the options do not give: what they have is not merged.
  std::map<std::string, std::string> missing_merge_operators;
};

// What RepairDatabase does before it opens the database: SSTables are kept, rewritten or put aside,
// and a manifest and CURRENT that fit them are written. `options` have been validated.
absl::StatusOr<RepairedFiles> RepairFiles(const Options& options, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_RECOVERY_REPAIR_H_
