// Which level of a column family an ingested table goes to.
#ifndef WINNOW_ENGINE_INGEST_INGEST_PLACEMENT_H_
#define WINNOW_ENGINE_INGEST_INGEST_PLACEMENT_H_

#include "absl/status/statusor.h"
#include "engine/base/capabilities.h"
#include "engine/compaction/compaction.h"
#include "engine/memtable/memtable.h"
#include "engine/version/version.h"

namespace winnow {

// Does the memtable hold an entry of a key in the range, or a range deletion of one? Beside
// writers: one that was there before the call.
bool HasKeyIn(const Memtable& memtable, const UserKeyRange& range);

// The deepest level, of 0 to `deepest`, for a table that is newer than everything in the version:
// no file of it or of a level above has keys of its range, and no compaction writes files there
// that may come to lie across it. Level 0 if the first level that is met has some.
int LevelForNewer(const Version& version, const UserKeyRange& range, int deepest)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// OK if a table that is older than everything in the version can go to the last level.
// FailedPrecondition: files of that level have keys of its range, a compaction is about to write
// some, or entries above have lost their sequence numbers, beside which nothing is older.
absl::Status CheckRoomBehind(const Version& version, const UserKeyRange& range)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_INGEST_INGEST_PLACEMENT_H_
