// What LevelDB's RepairDB asks for, as far as Winnow does it.
#ifndef WINNOW_ENGINE_COMPAT_REPAIR_H_
#define WINNOW_ENGINE_COMPAT_REPAIR_H_

#include <string>

#include "absl/status/status.h"
#include "winnow/options.h"

namespace winnow {

// Opens the database in `path` keeping every record of its write-ahead logs that can be read,
// writes what they hold to SSTables and closes it. NotFound if there is none; DataLoss if the
// manifest is damaged: nothing is changed then.
absl::Status RecoverDamagedLogs(Options options, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPAT_REPAIR_H_
