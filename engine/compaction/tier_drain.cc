#include "engine/compaction/tier_drain.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <utility>

namespace winnow {

namespace {

// Of the target file size, as LevelDB's limit of a compaction that has been widened.
constexpr uint64_t kMostFilesOfDrain = 25;

using Inputs = std::array<Version::Files, kNumLevels>;

// What goes, grown step by step.
class DrainInputs {
 public:
  DrainInputs(const ColumnFamilyOptions& options, Compaction* compaction)
      : compaction_(*compaction),
        version_(*compaction->version),
        last_(compaction->output_level),
        most_bytes_(options.target_file_bytes > UINT64_MAX / kMostFilesOfDrain
                        ? UINT64_MAX
                        : options.target_file_bytes * kMostFilesOfDrain),
        top_(last_ - 1) {}

  // What is newer and stays behind may lie above anything that goes: so the levels that take part
  // are those from some level down, whole in the range.
  void TakeRunsAbove() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    while (top_ > 1 && !LevelZeroGoesTo(version_, top_ - 1)) {
      if (!Take(compaction_.inputs, top_ - 1)) return;
      top_--;
    }
  }

  // The files of the last level across the ends of the range are written again for nothing else:
  // the wider it is, the fewer they are.
  void TakeNeighbours() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    const Version::Files& files = version_.files(last_ - 1);
    size_t next = IndexOf(files, *deepest_run().back()) + 1;
    while (next < files.size() && TakeNeighbour(files[next])) {
      next = IndexOf(files, *deepest_run().back()) + 1;
    }
    size_t first = IndexOf(files, *deepest_run().front());
    while (first > 0 && TakeNeighbour(files[first - 1])) {
      first = IndexOf(files, *deepest_run().front());
    }
  }

 private:
  const Version::Files& deepest_run() const {
    return compaction_.inputs[static_cast<size_t>(last_) - 1];
  }
  static size_t IndexOf(const Version::Files& files, const SstableFile& file) {
    const auto found = std::find_if(files.begin(), files.end(),
                                    [&](const auto& other) { return other.get() == &file; });
    return static_cast<size_t>(found - files.begin());
  }

  bool TakeNeighbour(const std::shared_ptr<SstableFile>& file)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    // What overlaps nothing in the last level moves there, at no cost.
    if (version_.Overlapping(last_, file->range()).empty()) return false;
    Inputs wider = compaction_.inputs;
    wider[static_cast<size_t>(last_) - 1].push_back(file);
    return Take(std::move(wider), top_);
  }

  // The inputs become `wider`, from level `top` on, grown until no file of these levels lies across
  // their ends, and what that overlaps in the last level. False, and nothing has changed: something
  // is busy, or it is too much.
  bool Take(Inputs wider, int top) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    for (size_t count = 0;;) {
      Version::Files tiers;
      for (int level = top; level < last_; level++) {
        const Version::Files& files = wider[static_cast<size_t>(level)];
        tiers.insert(tiers.end(), files.begin(), files.end());
      }
      // Ends: each turn but the last adds a file, and the bytes are limited.
      if (tiers.size() == count) break;
      count = tiers.size();
      const UserKeyRange range = RangeOf(tiers, version_.comparator());
      uint64_t bytes = 0;
      for (int level = top; level <= last_; level++) {
        Version::Files& files = wider[static_cast<size_t>(level)];
        files = version_.Overlapping(level, range);
        bytes += TotalBytes(files);
        if (bytes > most_bytes_ || !AllIdle(files)) return false;
      }
    }
    compaction_.inputs = std::move(wider);
    return true;
  }

  Compaction& compaction_;
  const Version& version_;
  const int last_;
  const uint64_t most_bytes_;
  int top_;  // the first level that takes part
};

}  // namespace

void WidenDrain(const ColumnFamilyOptions& options, Compaction* compaction) {
  if (compaction->is_trivial_move) return;
  DrainInputs inputs(options, compaction);
  inputs.TakeRunsAbove();
  inputs.TakeNeighbours();
}

}  // namespace winnow
