// Files that range tombstones make work of.
#ifndef WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_
#define WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_

#include <memory>
#include <vector>

#include "engine/base/capabilities.h"
#include "engine/compaction/compaction.h"

namespace winnow {

// Why the compaction below is made.
inline constexpr const char* kRangeDeletedReason = "range deleted";

// Of one column family: files to remove without reading them. A file goes if the range tombstones
// of one newer place, a file of level 0 or a level, cover all of its keys, are newer than all that
// it holds, and no snapshot sees any of it without them. What it hides itself lies deeper and is
// older, and so they hide that too. They stay as long as anything below does, and so nothing comes
// back in between. As Pebble's delete-only compactions.
class CoveredFilesPicker {
 public:
  // Those that are idle; null if there are none. Which files are covered is found once for a
  // version and the snapshots (ascending) there are, however often it is asked.
  std::unique_ptr<Compaction> Pick(const std::shared_ptr<const Version>& version,
                                   const std::vector<SequenceNumber>& snapshots)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

 private:
  struct Place {
    int level;
    size_t index;
  };

  void Refresh(const std::shared_ptr<const Version>& version,
               const std::vector<SequenceNumber>& snapshots)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // What `covered_` was found for. Not held: files of a version are removed when it is destroyed.
  std::weak_ptr<const Version> version_ ABSL_GUARDED_BY(database_mutex);
  std::vector<SequenceNumber> snapshots_ ABSL_GUARDED_BY(database_mutex);
  // The newest number in the version: snapshots from there on see all of it.
  SequenceNumber newest_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::vector<Place> covered_ ABSL_GUARDED_BY(database_mutex);  // idle or not
};

// Of the files in deeper levels, roughly, the bytes that range tombstones of a file of `level` hide
// from who reads at present.
uint64_t CoveredBytesBelow(const Version& version, int level, const SstableFile& file);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_COVERED_FILES_H_
