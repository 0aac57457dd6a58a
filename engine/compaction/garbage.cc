#include "engine/compaction/garbage.h"

namespace winnow {

namespace {

// Fewer deletions cost a reader who passes them less than to merge the file would.
constexpr uint64_t kFewestDeletions = 1000;

}  // namespace

// Each such compaction brings the deletions one level down, and ends at the last level, where
// nobody asks: there is no way round in a circle.
bool HasGarbage(const SstableFile& file) {
  const FileMetadata& metadata = file.metadata();
  if (file.garbage_met()) return metadata.num_deletions > 0;
  return metadata.num_deletions >= kFewestDeletions &&
         metadata.num_deletions >= metadata.num_entries / 2;
}

int LevelWithGarbage(const Version& version, int first, int last) {
  for (int level = first; level <= last; level++) {
    for (const auto& file : version.files(level)) {
      if (IsIdle(*file) && HasGarbage(*file)) return level;
    }
  }
  return -1;
}

}  // namespace winnow
