// The rule of the tree: of two entries of a key the newer lies above, in a higher level or, in
// level 0, in a newer file. So a table that is newer than all others may sink as long as it passes
// nothing of its range, and one that is older than all others must find nothing of it in the last
// level. Compactions that run are reckoned with by where they write, since their outputs are in no
// version yet; that none begins before the table is in the version the caller sees to
// (ColumnFamilyState::ingest_running).
#include "engine/ingest/ingest_placement.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"

namespace winnow {

namespace {

const SstableFile* FirstOverlap(const Version& version, int level, const UserKeyRange& range) {
  const Version::Files files = version.Overlapping(level, range);
  return files.empty() ? nullptr : files.front().get();
}

// A compaction may write one file from its smallest to its largest key, over ranges that none of
// its inputs has. What several write into one level is taken for one range: at worst the table goes
// to another level than it might.
bool CompactionMayCover(const Version& version, int output_level, const UserKeyRange& range)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  Version::Files inputs;
  // Inputs come from the output's level and those above it.
  for (int level = 0; level <= output_level; level++) {
    for (const auto& file : version.files(level)) {
      if (file->being_compacted && file->compacted_into == output_level) inputs.push_back(file);
    }
  }
  return !inputs.empty() &&
         Overlap(RangeOf(inputs, version.comparator()), range, version.comparator());
}

}  // namespace

bool HasKeyIn(const Memtable& memtable, const UserKeyRange& range) {
  if (memtable.empty()) return false;
  // Kept apart from the entries, which the iterator walks.
  if (memtable.has_range_deletions() &&
      memtable.range_tombstones().Shared()->Overlap(range.smallest, range.largest)) {
    return true;
  }
  const std::unique_ptr<InternalIterator> iterator = memtable.NewIterator();
  // Before every version of the smallest key.
  iterator->Seek(MakeInternalKey(range.smallest, kMaxSequenceNumber, kEntryTypeForSeek));
  return iterator->Valid() &&
         memtable.comparator().CompareUserKeys(UserKey(iterator->key()), range.largest) <= 0;
}

// A level that a compaction writes to can be passed: what it moves has no key of the table's range,
// or the level that it comes from would have ended the way.
int LevelForNewer(const Version& version, const UserKeyRange& range, int deepest) {
  int found = 0;
  if (FirstOverlap(version, 0, range) != nullptr) return found;
  for (int level = 1; level <= deepest; level++) {
    if (FirstOverlap(version, level, range) != nullptr) break;
    if (!CompactionMayCover(version, level, range)) found = level;
  }
  return found;
}

absl::Status CheckRoomBehind(const Version& version, const UserKeyRange& range) {
  const int last = kNumLevels - 1;
  if (const SstableFile* file = FirstOverlap(version, last, range); file != nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat("nothing can be ingested behind SSTable ", file->number(),
                     ", which has keys of its range ", "and is at the last level itself"));
  }
  // Its output may lie across the range, and tables of a level do not overlap.
  if (CompactionMayCover(version, last, range)) {
    return absl::FailedPreconditionError(
        "a compaction is writing keys of its range to the last level, behind which nothing can be "
        "ingested");
  }
  for (int level = 0; level < last; level++) {
    for (const auto& file : version.files(level)) {
      const bool overlaps = Overlap(file->range(), range, version.comparator());
      // What comes in behind has the number 0 too: a compaction that merged both could not say
      // which entry of a key hides the other.
      if (overlaps && file->metadata().smallest_sequence == 0) {
        return absl::FailedPreconditionError(
            absl::StrCat("nothing can be ingested behind SSTable ", file->number(),
                         ", which was compacted while allow_ingest_behind was not set"));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace winnow
