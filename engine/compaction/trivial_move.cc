#include "engine/compaction/trivial_move.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "engine/compaction/small_files.h"

namespace winnow {

namespace {

// A move must not leave a file that overlaps too much of the next level, or compacting it later
// becomes expensive.
constexpr uint64_t kMaxMoveOverlapFiles = 10;

Compression CompressionOf(const ColumnFamilyOptions& options, int level) {
  if (options.compression_per_level.empty()) return options.compression;
  // Deeper levels than the list has entries take its last.
  const size_t index =
      std::min(static_cast<size_t>(level), options.compression_per_level.size() - 1);
  return options.compression_per_level[index];
}

// Whether writing the file anew would leave out its deletions, and they are a tenth of it or more,
// as Pebble asks for, or are of ranges.
bool HasManyDeletionsWithNothingBelow(const SstableFile& file, const Compaction& compaction,
                                      const ColumnFamilyOptions& options) {
  // Something older may come in below at any time: then a rewrite keeps every deletion.
  if (options.allow_ingest_behind) return false;
  const FileMetadata& metadata = file.metadata();
  // One more than a tenth, rounded down: a file without deletions never has many.
  const bool has_many = metadata.num_deletions >= metadata.num_entries / 10 + 1;
  if (!has_many && metadata.num_range_deletions == 0) return false;
  // From the output level on, where it would be merged with nothing: then a rewrite drops its
  // deletions, as far as no snapshot needs them.
  for (int level = compaction.output_level; level < kNumLevels; level++) {
    if (!compaction.version->Overlapping(level, file.range()).empty()) return false;
  }
  return true;
}

}  // namespace

bool CanMove(const Compaction& compaction, const ColumnFamilyOptions& options, int from_level) {
  const auto& files = compaction.inputs[static_cast<size_t>(from_level)];
  if (files.size() != 1 || compaction.num_input_files() != 1) return false;
  if (files[0]->reader() == nullptr) return false;
  if (HasManyDeletionsWithNothingBelow(*files[0], compaction, options)) return false;
  if (CompressionOf(options, from_level) != CompressionOf(options, compaction.output_level)) {
    return false;
  }
  // Below the last level there is none to be rewritten with it later.
  if (compaction.output_level + 1 >= kNumLevels) return true;
  const uint64_t bytes_below =
      TotalBytes(compaction.version->Overlapping(compaction.output_level + 1, files[0]->range()));
  return bytes_below <= kMaxMoveOverlapFiles * options.target_file_bytes;
}

bool CanMoveTogether(const Compaction& compaction, const ColumnFamilyOptions& options) {
  const InternalKeyComparator& comparator = compaction.version->comparator();
  Version::Files files;
  for (int level = 0; level <= compaction.output_level; level++) {
    for (const auto& file : compaction.inputs[static_cast<size_t>(level)]) {
      if (file->reader() == nullptr) return false;
      if (CompressionOf(options, level) != CompressionOf(options, compaction.output_level)) {
        return false;
      }
      if (level == 0 && IsSmall(*file, options)) return false;
      if (HasManyDeletionsWithNothingBelow(*file, compaction, options)) return false;
      files.push_back(file);
    }
  }
  std::sort(files.begin(), files.end(), [&](const auto& a, const auto& b) {
    return comparator.CompareUserKeys(a->smallest_user_key(), b->smallest_user_key()) < 0;
  });
  // In order of their first keys, only neighbours can be the first two to overlap.
  for (size_t i = 1; i < files.size(); i++) {
    if (!files[i - 1]->EndsBefore(files[i]->smallest_user_key(), comparator)) return false;
  }
  return true;
}

}  // namespace winnow
