#include "engine/compaction/garbage.h"

#include "engine/compaction/covered_files.h"

namespace winnow {

namespace {

// Fewer deletions cost a reader who passes them less than to merge the file would.
constexpr uint64_t kFewestDeletions = 1000;
// Of what a compaction would read, this part of it or more is hidden by range deletions. The files
// at their ends count by half: two that are hidden almost whole are just enough.
constexpr uint64_t kLeastCoveredPart = 4;

bool HidesMuchBelow(const Version& version, int level, const SstableFile& file) {
  if (file.metadata().num_range_deletions == 0) [[likely]]
    return false;
  uint64_t merged_bytes = file.metadata().file_bytes;
  for (const auto& below : version.Overlapping(level + 1, file.range())) {
    merged_bytes += below->metadata().file_bytes;
  }
  const uint64_t covered_bytes = CoveredBytesBelow(version, level, file);
  return covered_bytes > 0 && covered_bytes >= merged_bytes / kLeastCoveredPart;
}

}  // namespace

// Each such compaction brings the deletions one level down, and ends at the last level, where
// nobody asks: there is no way round in a circle.
bool HasGarbage(const Version& version, int level, const SstableFile& file) {
  const FileMetadata& metadata = file.metadata();
  if (file.garbage_met() && metadata.num_deletions + metadata.num_range_deletions > 0) return true;
  if (metadata.num_deletions >= kFewestDeletions &&
      metadata.num_deletions >= metadata.num_entries / 2) {
    return true;
  }
  return HidesMuchBelow(version, level, file);
}

int LevelWithGarbage(const Version& version, int first, int last) {
  for (int level = first; level <= last; level++) {
    for (const auto& file : version.files(level)) {
      if (IsIdle(*file) && HasGarbage(version, level, *file)) return level;
    }
  }
  return -1;
}

}  // namespace winnow
