// Keeps small files from piling up in a level: they join compactions that write next to them.
#ifndef WINNOW_ENGINE_COMPACTION_SMALL_FILES_H_
#define WINNOW_ENGINE_COMPACTION_SMALL_FILES_H_

#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// Well below what a flush of a full memtable writes, compressed: those move without being merged.
inline bool IsSmall(const SstableFile& file, const ColumnFamilyOptions& options) {
  constexpr uint64_t kPart = 8;
  return file.metadata().file_bytes < options.target_file_bytes / kPart;
}

// Adds small files of the output level, on both sides of the inputs' range, to the inputs, as far
// as each is at most a few times as large as all inputs before it: so each entry is rewritten a
// logarithmic number of times, and a logarithmic number of small files stays. For compactions of
// level 0, beside which no other writes to their output level: between the neighbours nothing may
// be added meanwhile.
void JoinSmallNeighbours(const ColumnFamilyOptions& options, Compaction* compaction)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_SMALL_FILES_H_
