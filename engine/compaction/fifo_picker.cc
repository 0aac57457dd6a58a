#include "engine/compaction/fifo_picker.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace winnow {

namespace {

// One file is what is dropped at a time: the limit is kept to within this share.
constexpr uint64_t kShareOfOneFile = 8;

uint64_t BytesOfAllLevels(const Version& version) {
  uint64_t bytes = 0;
  for (int level = 0; level < kNumLevels; level++) bytes += version.level_bytes(level);
  return bytes;
}

struct FileOfLevel {
  int level;
  std::shared_ptr<SstableFile> file;
};

// Oldest first: deeper levels, which other styles left, hold older versions of what is above.
// Within one level below level 0 no two files have a key in common, so that any may go first; the
// one that was written to longest ago does.
std::vector<FileOfLevel> OldestFirst(const Version& version) {
  std::vector<FileOfLevel> oldest;
  for (int level = kNumLevels - 1; level >= 0; level--) {
    Version::Files files = version.files(level);
    std::reverse(files.begin(), files.end());  // level 0 has its newest first
    if (level > 0) {
      std::stable_sort(files.begin(), files.end(), [](const auto& a, const auto& b) {
        return a->metadata().largest_sequence < b->metadata().largest_sequence;
      });
    }
    for (auto& file : files) oldest.push_back({level, std::move(file)});
  }
  return oldest;
}

std::unique_ptr<Compaction> FindFilesToDrop(const std::shared_ptr<const Version>& version,
                                            uint64_t most_bytes)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  uint64_t bytes = BytesOfAllLevels(*version);
  if (bytes <= most_bytes) return nullptr;
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->drops_inputs = true;
  compaction->reason = "over the limit of fifo";
  const std::vector<FileOfLevel> files = OldestFirst(*version);
  // In order, or older versions would come to light: what is busy makes the rest wait. Damage does
  // not, which nobody reads.
  // The newest file stays even where it is over the limit by itself, or one large flush would leave
  // nothing at all.
  for (size_t i = 0; i + 1 < files.size() && bytes > most_bytes; i++) {
    const auto& file = files[i].file;
    if (file->being_compacted) break;
    compaction->output_level = files[i].level;
    compaction->inputs[static_cast<size_t>(files[i].level)].push_back(file);
    bytes -= file->metadata().file_bytes;
  }
  return compaction->num_input_files() == 0 ? nullptr : std::move(compaction);
}

}  // namespace

LevelScores ComputeFifoScores(const Version& version, const ColumnFamilyOptions& options) {
  LevelScores scores;
  size_t idle = 0;
  for (const auto& file : version.files(0)) idle += IsIdle(*file) ? 1 : 0;
  const double full = static_cast<double>(BytesOfAllLevels(version)) /
                      static_cast<double>(std::max<uint64_t>(options.compaction.fifo_bytes, 1));
  // Exactly at the limit nothing has to go.
  scores.score[0] = std::max(full > 1 ? full : 0.0,
                             static_cast<double>(idle) / options.level0_compaction_trigger);
  // Level 0 stands for all levels here; no other has a score.
  scores.FindMostUrgent(1);
  return scores;
}

std::unique_ptr<Compaction> FindFifo(const std::shared_ptr<const Version>& version,
                                     const ColumnFamilyOptions& options) {
  const uint64_t most_bytes = options.compaction.fifo_bytes;
  // First: what is about to be dropped is not merged before that.
  if (auto drop = FindFilesToDrop(version, most_bytes)) return drop;
  return CompactionPicker::PickWithinLevelZero(version, options);
}

uint64_t MostBytesOfMergedFile(const ColumnFamilyOptions& options) {
  const bool is_fifo = options.compaction.kind == CompactionStyle::Kind::kFifo;
  return is_fifo ? options.compaction.fifo_bytes / kShareOfOneFile : UINT64_MAX;
}

}  // namespace winnow
