#include "engine/compaction/early_compaction.h"

#include <algorithm>

#include "engine/compaction/covered_files.h"
#include "engine/compaction/picker.h"

namespace winnow {

namespace {

// Fewer deletions cost a reader who passes them less than to merge the file would.
constexpr uint64_t kFewestDeletions = 1000;
// Of what a compaction would read, this part of it or more is hidden by range deletions. The files
// at their ends count by half: two that are hidden almost whole are just enough.
constexpr uint64_t kLeastCoveredPart = 4;
constexpr const char* kManyDeletions = "many deletions";
constexpr const char* kReadersPassedDeletions = "readers passed many deletions";
constexpr const char* kReadInVain = "look-ups read blocks in vain";

uint64_t BytesBelow(const Version& version, const EarlyPath& path, const SstableFile& file) {
  return TotalBytes(version.Overlapping(path.below, file.range()));
}

bool HidesMuchBelow(const Version& version, const EarlyPath& path, const SstableFile& file) {
  if (file.metadata().num_range_deletions == 0) [[likely]]
    return false;
  const uint64_t merged_bytes = file.metadata().file_bytes + BytesBelow(version, path, file);
  const uint64_t covered_bytes = CoveredBytesBelow(version, path.level, file);
  // Something must be hidden at all: a quarter of a few bytes is rounded down to 0.
  return covered_bytes > 0 && covered_bytes >= merged_bytes / kLeastCoveredPart;
}

bool HasManyDeletions(const Version& version, const EarlyPath& path, const SstableFile& file) {
  const FileMetadata& metadata = file.metadata();
  return metadata.num_deletions >= kFewestDeletions &&
         metadata.num_deletions >= metadata.num_entries / 2 &&
         static_cast<double>(BytesBelow(version, path, file)) <=
             path.most_times_larger * static_cast<double>(metadata.file_bytes);
}

bool ReadersPassed(const SstableFile& file) {
  // What iterators passed in the file's range need not lie in it: without deletions it would come
  // out as it went in.
  const FileMetadata& metadata = file.metadata();
  return file.garbage_met() && metadata.num_deletions + metadata.num_range_deletions > 0;
}

double BytesReadInVain(const SstableFile& file) {
  const double reads = file.reads_in_vain();
  if (reads == 0 || file.reader() == nullptr) return 0;
  const SstableFigures& figures = file.reader()->figures();
  return reads * static_cast<double>(figures.data_bytes) /
         static_cast<double>(std::max<uint64_t>(1, figures.num_data_blocks));
}

// What is merged is read, and written again.
double BytesToMerge(uint64_t file_bytes) { return 2 * static_cast<double>(file_bytes); }

bool ReadersHavePaid(const Version& version, const EarlyPath& path, const SstableFile& file) {
  const double paid = BytesReadInVain(file);
  // Most have not even for the file alone, which is quicker to say.
  if (paid < BytesToMerge(std::max<uint64_t>(1, file.metadata().file_bytes))) [[likely]]
    return false;
  const uint64_t below = BytesBelow(version, path, file);
  // With nothing to meet there it would be asked as often as here.
  return below > 0 && paid >= BytesToMerge(file.metadata().file_bytes + below);
}

// What would go from level 0 into the base level, but for detours around damage.
struct LevelZeroMerge {
  size_t num_files = 0;  // of level 0
  uint64_t bytes = 0;    // theirs
  uint64_t bytes_below = 0;
};

LevelZeroMerge MergeOfLevelZero(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  Version::Files files;
  for (const auto& file : version.files(0)) {
    if (IsIdle(*file)) files.push_back(file);
  }
  LevelZeroMerge merge;
  merge.num_files = files.size();
  merge.bytes = TotalBytes(files);
  if (files.empty()) return merge;
  const int base_level = ComputeLevelTargets(version, options).base_level;
  merge.bytes_below =
      TotalBytes(version.Overlapping(base_level, RangeOf(files, version.comparator())));
  return merge;
}

}  // namespace

std::optional<EarlyPath> EarlyPathFrom(const Version& version, const ColumnFamilyOptions& options,
                                       bool has_tiers, int level) {
  EarlyPath path;
  path.level = level;
  path.below = level + 1;
  if (!has_tiers) return path;
  path.most_times_larger = options.level_size_multiplier;
  path.readers_may_pay = false;
  const int last = LastCompactedLevel(version, options);
  // Empty levels are on nobody's way: a tier is merged with the next run, wherever that lies.
  while (path.below <= last && version.num_files(path.below) == 0) path.below++;
  if (path.below > last) return std::nullopt;
  return path;
}

// Each such compaction brings a file's entries one level or run down, and ends at the last one,
// where nobody asks: there is no way round in a circle. What comes out has met no readers yet.
const char* EarlyReason(const Version& version, const EarlyPath& path, const SstableFile& file) {
  // By rising cost: a flag, then counts, then the files below.
  if (ReadersPassed(file)) return kReadersPassedDeletions;
  if (HasManyDeletions(version, path, file)) return kManyDeletions;
  if (path.readers_may_pay && ReadersHavePaid(version, path, file)) return kReadInVain;
  return HidesMuchBelow(version, path, file) ? kManyDeletions : nullptr;
}

const char* EarlyReasonOfLevelZero(const Version& version, const ColumnFamilyOptions& options,
                                   bool has_tiers) {
  bool passed = false;
  double paid = 0;
  uint64_t bytes = 0;
  for (const auto& file : version.files(0)) {
    if (!IsIdle(*file)) continue;
    bytes += file->metadata().file_bytes;
    passed = passed || ReadersPassed(*file);
    paid += BytesReadInVain(*file);
  }
  if (has_tiers) return passed ? kReadersPassedDeletions : nullptr;
  // As in ReadersHavePaid: before anything below is looked at.
  if (!passed && paid < BytesToMerge(std::max<uint64_t>(1, bytes))) [[likely]]
    return nullptr;
  const LevelZeroMerge merge = MergeOfLevelZero(version, options);
  if (passed && static_cast<double>(merge.bytes_below) <=
                    static_cast<double>(merge.bytes) * options.level_size_multiplier) {
    return kReadersPassedDeletions;
  }
  const bool meet_any = merge.bytes_below > 0 || merge.num_files > 1;
  const bool have_paid = meet_any && paid >= BytesToMerge(merge.bytes + merge.bytes_below);
  return have_paid ? kReadInVain : nullptr;
}

int FirstEarlyLevel(const Version& version, const ColumnFamilyOptions& options, bool has_tiers) {
  if (EarlyReasonOfLevelZero(version, options, has_tiers) != nullptr) return 0;
  // Linear in the number of files while none has a reason; files with range deletions cost a look
  // at those that they overlap.
  for (int level = 1; level < LastCompactedLevel(version, options); level++) {
    if (version.num_files(level) == 0) continue;
    const std::optional<EarlyPath> path = EarlyPathFrom(version, options, has_tiers, level);
    if (!path.has_value()) continue;
    for (const auto& file : version.files(level)) {
      if (IsIdle(*file) && EarlyReason(version, *path, *file) != nullptr) return level;
    }
  }
  return -1;
}

}  // namespace winnow
