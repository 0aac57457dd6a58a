// Files that a time to live makes work of: by the write times of values, or by the times that keys
// have in themselves where their owner says which are dead.
#ifndef WINNOW_ENGINE_COMPACTION_EXPIRED_FILES_H_
#define WINNOW_ENGINE_COMPACTION_EXPIRED_FILES_H_

#include <memory>

#include "engine/base/capabilities.h"
#include "engine/base/key_times.h"
#include "engine/base/write_time.h"
#include "engine/compaction/compaction.h"
#include "winnow/options.h"

namespace winnow {

// Why the compactions below are made.
inline constexpr const char* kExpiredReason = "expired";

struct FileExpiry {
  ExpiryMoment write_times;
  KeyExpiry key_times;
};

// Every value in the file has expired.
bool IsWhollyExpired(const FileMetadata& file, const FileExpiry& expiry);

// The file should be rewritten for what has expired in it: half of the time over which its values
// were written is up, and what is left of it is worth waiting for no longer; or all of it, and it
// could not be dropped. Each time halves the span, so that the bytes rewritten for one file are at
// most as many as it has in all, and the same file is never due twice at one moment.
bool IsDueForExpiry(const FileMetadata& file, const ExpiryMoment& moment);
bool IsDueForExpiry(const KeyTimes& times, const KeyExpiry& expiry);

// Files to remove without reading them; null if there are none. A file goes if everything in it has
// expired, and everything older in its key range, in deeper levels and in level 0, goes with it:
// its entries hide those, and must not cease to before they do, even where their write times are
// out of order, since the clock was set back or the time to live changed. With
// `allow_ingest_behind` older entries may be to come, and no file goes.
std::unique_ptr<Compaction> PickFilesToDrop(const std::shared_ptr<const Version>& version,
                                            const ColumnFamilyOptions& options,
                                            const FileExpiry& expiry)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

// One file that is due, rewritten where it lies: what has expired in it goes, or becomes a deletion
// where something older may lie below. By the times of keys no file is due that has anything below,
// since deletions have such times as well: it would be due again. Null if none is.
std::unique_ptr<Compaction> PickFileToRewrite(const std::shared_ptr<const Version>& version,
                                              const ColumnFamilyOptions& options,
                                              const FileExpiry& expiry)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_EXPIRED_FILES_H_
