// Runs a compaction: merges the inputs, drops what nobody needs, writes the outputs.
#ifndef WINNOW_ENGINE_COMPACTION_COMPACTION_JOB_H_
#define WINNOW_ENGINE_COMPACTION_COMPACTION_JOB_H_

#include <vector>

#include "absl/status/status.h"
#include "engine/base/entry_collector.h"
#include "engine/compaction/compacted_values.h"
#include "engine/compaction/compaction.h"
#include "engine/compaction/sstable_output.h"

namespace winnow {

struct CompactionJobOptions {
  SstableOutputOptions output;
  std::vector<SequenceNumber> snapshots;          // ascending
  const MergeOperator* merge_operator = nullptr;  // the family's
  bool verify_checksums = true;
  // What becomes of values before it is decided which entries stay.
  CompactedValueRules values;
  // The family's collectors; null: there are none. With the moment of picking.
  EntryCollectorFactory* collectors = nullptr;
  CollectionMoment moment;
  // Older entries may come, for which deletions and sequence numbers stay.
  bool keep_for_older = false;
  // Read ahead of all inputs together.
  size_t readahead_bytes = size_t{16} << 20;
  // The key range may be cut into this many parts that run on threads of their own.
  int max_threads = 1;
};

struct CompactionJobResult {
  SstableOutputResult output;  // in key order
  uint64_t bytes_read = 0;
  uint64_t entries_seen = 0;
  uint64_t entries_dropped = 0;
  uint64_t entries_range_deleted = 0;  // of those dropped
  CompactedValueCounts values;
};

// Runs without the database's mutex. DataLoss also if the inputs gave another number of entries
// than the manifest says: a compaction must never drop data silently. On an error all
// outputs have been removed.
absl::Status RunCompaction(const Compaction& compaction, const CompactionJobOptions& options,
                           CompactionJobResult* result);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COMPACTION_JOB_H_
