// A database with a history, and what of its last state can still be read of any set of files.
#ifndef WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RESCUABLE_ENTRIES_H_
#define WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RESCUABLE_ENTRIES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/support/damage_database.h"

namespace winnow {

// The database of one seed: several families, one of them with write times and one of lists that
// operands are appended to, tables on several levels, overwritten and deleted keys, deleted ranges,
// filters in files of their own, unflushed writes in the log; closed, reopened, and written to in
// between.
struct AgedDatabase {
  std::vector<Files> ages;  // what lay in the directory, oldest first; the last one is the truth
  Contents contents;        // at the last one
  // Tables that flushes and compactions would make next: a process that is killed before its
  // manifest names them leaves some of them.
  Files unfinished;
  uint32_t list_family = 0;  // its values are numbers, each given once and in their order
  // Every value that a key ever had, or of a list each number: family, key -> values.
  std::map<std::pair<uint32_t, std::string>, std::set<std::string>> values;
  std::map<uint32_t, std::string> family_names;
  bool is_closed = false;  // at the last age
};

inline constexpr char kListDelimiter = '+';

AgedDatabase BuildAgedDatabase(uint64_t seed);
Options AgedOptions(FileSystem* file_system);

// A stretch of bytes that holds entries: a data block of a table, or a record of a log.
struct Holder {
  std::string file;
  std::string bytes;
  uint64_t offset = 0;
  uint64_t file_bytes = 0;      // of its file
  uint64_t file_id = 0;         // 0: a log
  std::string header = "";      // the table's, or the log's
  std::string properties = "";  // the table's properties block
  uint32_t family_id = 0;
  // Keys whose newest entry, a put or a deletion, it holds.
  std::vector<std::string> newest_keys = {};
  // A log: those whose newest entry a table holds as well.
  std::vector<std::string> flushed_keys = {};
};

// Of the last age; those of logs in the order in which they were written, one for each record and
// column family, and of each record one at least.
std::vector<Holder> HoldersOf(const AgedDatabase& database);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_RECOVERY_ORACLE_RESCUABLE_ENTRIES_H_
