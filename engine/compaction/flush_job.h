// A flush: memtables become SSTables.
#ifndef WINNOW_ENGINE_COMPACTION_FLUSH_JOB_H_
#define WINNOW_ENGINE_COMPACTION_FLUSH_JOB_H_

#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/entry_collector.h"
#include "engine/compaction/sstable_output.h"
#include "engine/memtable/memtable.h"
#include "engine/version/version.h"

namespace winnow {

struct FlushJobOptions {
  SstableOutputOptions output;
  std::vector<SequenceNumber> snapshots;          // ascending
  const MergeOperator* merge_operator = nullptr;  // the family's
  // Null: nothing is collected. Otherwise the family's files, and the moment, are of when the
  // memtables were taken: those were all that it had in memory but for its active one.
  EntryCollectorFactory* collectors = nullptr;
  CollectionMoment moment;
  std::shared_ptr<const Version> version;
};

// Writes what the memtables of one column family hold, less what no snapshot can see any more, and
// what its collector calls garbage. They take no more writes, and must outlive the call. Internal
// if entries were not met on the way: a flush must never drop a memtable's data silently. On an
// error all outputs have been removed.
absl::Status RunFlush(std::span<const Memtable* const> memtables, const FlushJobOptions& options,
                      SstableOutputResult* result);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_FLUSH_JOB_H_
