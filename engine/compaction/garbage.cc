#include "engine/compaction/garbage.h"

#include "engine/compaction/covered_files.h"
#include "engine/compaction/picker.h"

namespace winnow {

namespace {

// Fewer deletions cost a reader who passes them less than to merge the file would.
constexpr uint64_t kFewestDeletions = 1000;
// Of what a compaction would read, this part of it or more is hidden by range deletions. The files
// at their ends count by half: two that are hidden almost whole are just enough.
constexpr uint64_t kLeastCoveredPart = 4;

uint64_t BytesBelow(const Version& version, const GarbagePath& path, const SstableFile& file) {
  return TotalBytes(version.Overlapping(path.below, file.range()));
}

bool HidesMuchBelow(const Version& version, const GarbagePath& path, const SstableFile& file) {
  if (file.metadata().num_range_deletions == 0) [[likely]]
    return false;
  const uint64_t merged_bytes = file.metadata().file_bytes + BytesBelow(version, path, file);
  const uint64_t covered_bytes = CoveredBytesBelow(version, path.level, file);
  // Something must be hidden at all: a quarter of a few bytes is rounded down to 0.
  return covered_bytes > 0 && covered_bytes >= merged_bytes / kLeastCoveredPart;
}

bool ReadersPassed(const SstableFile& file) {
  // What iterators passed in the file's range need not lie in it: without deletions it would come
  // out as it went in.
  const FileMetadata& metadata = file.metadata();
  return file.garbage_met() && metadata.num_deletions + metadata.num_range_deletions > 0;
}

}  // namespace

std::optional<GarbagePath> PathOfGarbage(const Version& version, const ColumnFamilyOptions& options,
                                         bool has_tiers, int level) {
  GarbagePath path;
  path.level = level;
  path.below = level + 1;
  if (!has_tiers) return path;
  path.most_times_larger = options.level_size_multiplier;
  const int last = LastCompactedLevel(version, options);
  // Empty levels are on nobody's way: a tier is merged with the next run, wherever that lies.
  while (path.below <= last && version.num_files(path.below) == 0) path.below++;
  if (path.below > last) return std::nullopt;
  return path;
}

// Each such compaction brings the deletions one level or run down, and ends at the last one, where
// nobody asks: there is no way round in a circle.
bool HasGarbage(const Version& version, const GarbagePath& path, const SstableFile& file) {
  const FileMetadata& metadata = file.metadata();
  // By rising cost: a flag, then counts, then the files below.
  if (ReadersPassed(file)) return true;
  if (metadata.num_deletions >= kFewestDeletions &&
      metadata.num_deletions >= metadata.num_entries / 2 &&
      static_cast<double>(BytesBelow(version, path, file)) <=
          path.most_times_larger * static_cast<double>(metadata.file_bytes)) {
    return true;
  }
  return HidesMuchBelow(version, path, file);
}

bool LevelZeroHasGarbage(const Version& version) {
  for (const auto& file : version.files(0)) {
    if (IsIdle(*file) && ReadersPassed(*file)) return true;
  }
  return false;
}

int LevelWithGarbage(const Version& version, const ColumnFamilyOptions& options, bool has_tiers) {
  if (LevelZeroHasGarbage(version)) return 0;
  // Linear in the number of files while none has garbage; files with range deletions cost a look at
  // those that they overlap.
  for (int level = 1; level < LastCompactedLevel(version, options); level++) {
    if (version.num_files(level) == 0) continue;
    const std::optional<GarbagePath> path = PathOfGarbage(version, options, has_tiers, level);
    if (!path.has_value()) continue;
    for (const auto& file : version.files(level)) {
      if (IsIdle(*file) && HasGarbage(version, *path, *file)) return level;
    }
  }
  return -1;
}

}  // namespace winnow
