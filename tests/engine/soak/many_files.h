// A database of very many SSTables in a process that may open few files.
#ifndef WINNOW_TESTS_ENGINE_SOAK_MANY_FILES_H_
#define WINNOW_TESTS_ENGINE_SOAK_MANY_FILES_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/engine/soak/usage.h"

namespace winnow::soak {

struct FilesCell {
  uint64_t files = 20'000;  // each a flush of 64 KiB whose keys lie above all earlier ones
  uint64_t families = 1;
  uint64_t descriptors = 1024;  // as `ulimit -n`; 0: as many as the process has
  bool leaks = false;           // keeps what it should delete: a planted mistake
};

struct FilesReport {
  Usage before;  // of the open and empty database
  Usage most;
  Usage after;  // once everything has been deleted and compacted
  // The most that was resident in each phase.
  uint64_t writing_bytes = 0;
  uint64_t reading_bytes = 0;  // of the database opened again
  uint64_t compacting_bytes = 0;
  uint64_t flushed_tables = 0;
  uint64_t compacted_tables = 0;  // in the last level
  uint64_t open_milliseconds = 0;
  uint64_t compact_milliseconds = 0;
  uint64_t close_milliseconds = 0;
  uint64_t longest_milliseconds = 0;
  std::string longest_call;  // of those that read and write, beside the compaction too
  std::vector<std::string> problems;
};

// Writes them, opens the database again, looks keys up, walks over all of them, compacts them to as
// many files in the last level while another thread reads and writes, walks again, and deletes
// everything. As RunCell of limits.h does.
FilesReport RunFilesCell(const FilesCell& cell, const std::string& directory,
                         std::chrono::seconds patience);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_MANY_FILES_H_
