// The SSTables of a column family as a table for people and as JSON for machines.
#ifndef WINNOW_ENGINE_STATISTICS_SSTABLES_REPORT_H_
#define WINNOW_ENGINE_STATISTICS_SSTABLES_REPORT_H_

#include <string>

#include "engine/version/version.h"

namespace winnow {

// One row for each file, level 0 newest first, deeper levels in key order.
std::string SstablesTable(const Version& version);
std::string SstablesJson(const Version& version);

// As LevelDB shows them: a heading for each level, empty ones too, and for each of its files a line
// with number, bytes, first and last key: " 17:4096['a' .. 'd']".
std::string SstablesByLevel(const Version& version);

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_SSTABLES_REPORT_H_
