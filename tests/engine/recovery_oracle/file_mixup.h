// Ways in which the files of a database are taken away, swapped, cut, aged and mixed.
#ifndef WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_FILE_MIXUP_H_
#define WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_FILE_MIXUP_H_

#include <set>
#include <string>

#include "tests/engine/recovery_oracle/rescuable_entries.h"

namespace winnow {

enum class Mixup {
  kNothing,
  kRemoveTable,
  kRemoveManifest,
  kRemoveCurrent,
  kSwapTables,
  kRenameTable,
  kCopyTable,  // over another one
  kCutTable,   // bytes from its end
  kCutTableFront,
  kAppendToTable,
  kPrependToTable,
  kEraseInTable,  // bytes from its middle
  kFlipInTable,
  kZeroInTable,
  kUnfinishedTables,  // that no manifest names yet
  kCutManifest,
  kFlipInManifest,
  kAgeManifest,      // that of an earlier time, with CURRENT, beside or instead of the newest
  kAgeLog,           // a log of an earlier time comes back
  kForeignTable,     // of another database, over one or beside all
  kForeignManifest,  // with CURRENT
  kRemoveLog,
  kCutLog,
  kAppendToLog,
  kFlipInLog,
  kCopyLog,  // under another number
  kSwapLogs,
  kForeignLog,  // over one or beside all
  kCutCurrent,
  kForeignCurrent,
  kRemoveFilter,
  kCutFilter,
  kFlipInFilter,
  kForeignFilter,  // over one or beside all
  kEnd
};

const char* MixupName(Mixup mixup);

struct MixedFiles {
  Files files;
  std::string done;               // what was done, for messages
  std::set<std::string> touched;  // manifests that are no longer as they were, or where
  bool has_older_files = false;   // logs or tables that had been removed
};

void Apply(Mixup mixup, uint64_t seed, const AgedDatabase& database, const AgedDatabase& other,
           MixedFiles* mixed);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_FILE_MIXUP_H_
