// Deletions that lie at the bottom of the tree, with what they hide, since a snapshot needed that.
#ifndef WINNOW_ENGINE_COMPACTION_KEPT_FOR_SNAPSHOTS_H_
#define WINNOW_ENGINE_COMPACTION_KEPT_FOR_SNAPSHOTS_H_

#include <memory>

#include "engine/base/capabilities.h"
#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// Why the compaction below is made.
inline constexpr const char* kSnapshotsReleasedReason = "snapshots released";

struct KeptForSnapshots {
  std::unique_ptr<Compaction> compaction;  // null: nothing is to be done now
  // Once the oldest snapshot is no older than that, there is something; kMaxSequenceNumber: there
  // are no such files.
  SequenceNumber due_from = kMaxSequenceNumber;
};

// No compaction comes to a file of the deepest level by itself, and what a snapshot kept in it
// would stay for as long as nothing is written over it. So a file is rewritten where it lies, once
// every snapshot sees all of it, if it has range deletions, or at least a tenth of its entries are
// deletions and what they hide. RocksDB rewrites every such file, however little there is to gain.
KeptForSnapshots PickKeptForSnapshots(const std::shared_ptr<const Version>& version,
                                      const ColumnFamilyOptions& options,
                                      SequenceNumber oldest_snapshot)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_KEPT_FOR_SNAPSHOTS_H_
