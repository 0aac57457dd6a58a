#include "engine/compaction/tiered_picker.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "engine/compaction/early_compaction.h"
#include "engine/compaction/tiers.h"
#include "engine/compaction/trivial_move.h"

namespace winnow {

namespace {

// What is above the last level of a tiered tree may be as many times as large: RocksDB's universal
// compaction has the same default (max_size_amplification_percent = 200).
constexpr uint64_t kMostTimesLastLevel = 2;

// What lazy leveling lets gather above the last level, for each byte of it. What goes down meets
// that part of the last level at once: the more lies above it, the less is written for each byte.
constexpr double kMostAboveLastLevel = 0.5;

constexpr const char* kLevelZeroIsFull = "level 0 is full";
constexpr const char* kRunOverEmptyLevel = "a run lies over an empty level";
constexpr const char* kTooMuchAboveLastLevel = "too much lies above the last level";

bool IsLazy(const ColumnFamilyOptions& options) {
  return options.compaction.kind == CompactionStyle::Kind::kLazyLeveled;
}

uint64_t BytesAboveLastLevel(const Version& version, int last) {
  uint64_t bytes = 0;
  for (int level = 1; level < last; level++) bytes += version.level_bytes(level);
  return bytes;
}

double MostBytesAboveLastLevel(const Version& version, const ColumnFamilyOptions& options) {
  const uint64_t last_bytes = version.level_bytes(LastCompactedLevel(version, options));
  return kMostAboveLastLevel * static_cast<double>(std::max(last_bytes, options.level_base_bytes));
}

std::unique_ptr<Compaction> MoveOfRun(const std::shared_ptr<const Version>& version,
                                      const ColumnFamilyOptions& options, int from, int to) {
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->output_level = to;
  compaction->reason = kRunOverEmptyLevel;
  compaction->inputs[static_cast<size_t>(from)] = version->files(from);
  // Where the files had better be written anew, for another compression, say, it is a merge of this
  // run alone.
  compaction->is_trivial_move = CanMoveTogether(*compaction, options);
  return compaction;
}

// Null: none lies over an empty level, or what does is busy.
std::unique_ptr<Compaction> FindRunOverEmptyLevel(const std::shared_ptr<const Version>& version,
                                                  const ColumnFamilyOptions& options, int deepest)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  for (int to = deepest; to > 1; to--) {
    if (version->num_files(to) > 0) continue;
    int from = to - 1;
    while (from >= 1 && version->num_files(from) == 0) from--;
    // What lies above a busy run must not pass it.
    if (from < 1 || !AllIdle(version->files(from))) return nullptr;
    return MoveOfRun(version, options, from, to);
  }
  return nullptr;
}

}  // namespace

bool HasTiers(const Version& version, const ColumnFamilyOptions& options) {
  if (!IsLazy(options) && options.compaction.kind != CompactionStyle::Kind::kTiered) return false;
  for (int level = 0; level <= LastCompactedLevel(version, options); level++) {
    // Linear in the number of files at every pick, for a look at one flag of each.
    for (const auto& file : version.files(level)) {
      if (file->quarantined) return false;
    }
  }
  return true;
}

LevelScores ComputeTierScores(const Version& version, const ColumnFamilyOptions& options) {
  LevelScores scores;
  size_t idle_level0_files = 0;
  for (const auto& file : version.files(0)) idle_level0_files += IsIdle(*file) ? 1 : 0;
  scores.score[0] = static_cast<double>(idle_level0_files) /
                    static_cast<double>(options.level0_compaction_trigger);
  const int last = LastCompactedLevel(version, options);
  if (IsLazy(options)) {
    scores.score[static_cast<size_t>(last) - 1] =
        static_cast<double>(BytesAboveLastLevel(version, last)) /
        std::max(MostBytesAboveLastLevel(version, options), 1.0);
  }
  scores.FindMostUrgent(last);
  return scores;
}

bool GoesToLastLevel(const Version& version, const ColumnFamilyOptions& options) {
  return IsLazy(options) &&
         BytesAboveLastLevel(version, LastCompactedLevel(version, options)) == 0 &&
         static_cast<double>(version.level_bytes(0)) >= MostBytesAboveLastLevel(version, options);
}

// One such merge at a time: it takes level 0 whole, and every level on its way. What comes to level
// 0 meanwhile waits there.
std::unique_ptr<Compaction> FindTierMerge(const std::shared_ptr<const Version>& version,
                                          const ColumnFamilyOptions& options, bool draining) {
  const int last = LastCompactedLevel(*version, options);
  int deepest = !IsLazy(options) ? last : (draining ? last - 2 : last - 1);
  // What is being compacted, and below it, takes nothing from above.
  for (int level = 0; level <= deepest; level++) {
    if (!AllIdle(version->files(level))) deepest = level - 1;
  }
  if (deepest < 1 || version->num_files(0) == 0) return nullptr;
  if (auto move = FindRunOverEmptyLevel(version, options, deepest)) return move;

  std::array<uint64_t, kNumLevels> bytes{};
  uint64_t above_deepest = version->level_bytes(0);
  for (int level = 1; level <= deepest; level++) {
    bytes[static_cast<size_t>(level)] = version->level_bytes(level);
    if (level < deepest) above_deepest += bytes[static_cast<size_t>(level)];
  }
  const uint64_t deepest_bytes = bytes[static_cast<size_t>(deepest)];
  const bool is_too_much =
      !IsLazy(options) && deepest_bytes > 0 && above_deepest >= kMostTimesLastLevel * deepest_bytes;
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->reason = is_too_much ? kTooMuchAboveLastLevel : kLevelZeroIsFull;
  compaction->output_level =
      is_too_much ? deepest
                  : TierToMergeInto(version->level_bytes(0),
                                    std::span(bytes).subspan(1, static_cast<size_t>(deepest)));
  for (int level = 0; level <= compaction->output_level; level++) {
    compaction->inputs[static_cast<size_t>(level)] = version->files(level);
  }
  compaction->is_trivial_move = CanMoveTogether(*compaction, options);
  return compaction;
}

std::unique_ptr<Compaction> FindRunToDrain(const std::shared_ptr<const Version>& version,
                                           const ColumnFamilyOptions& options) {
  const int drained = LastCompactedLevel(*version, options) - 1;
  // A merge that writes there has its output anywhere in its range, and the run must not come
  // between.
  if (version->num_files(drained) > 0 || LevelZeroGoesTo(*version, drained)) return nullptr;
  int from = drained - 1;
  while (from >= 1 && version->num_files(from) == 0) from--;
  if (from < 1 || !AllIdle(version->files(from))) return nullptr;
  return MoveOfRun(version, options, from, drained);
}

// Early ones only where nothing is due by size: what is due takes its deletions along. With fifo
// nothing is merged.
LevelScores CompactionPicker::Scores(const Version& version,
                                     const ColumnFamilyOptions& options) const {
  LevelScores scores = ComputeScores(version, options);
  const int last = LastCompactedLevel(version, options);
  if (IsDraining(version, options)) {
    double& drained = scores.score[static_cast<size_t>(last) - 1];
    drained = std::max(drained, 1.0);
    scores.FindMostUrgent(last);
  }
  const bool is_fifo = options.compaction.kind == CompactionStyle::Kind::kFifo;
  if (scores.most_urgent >= 0 || is_fifo) return scores;
  scores.early = FirstEarlyLevel(version, options, HasTiers(version, options));
  scores.most_urgent = scores.early;
  return scores;
}

// The whole run goes down once it has begun to. If it went on taking what comes from above at every
// other turn, as a level of leveled compaction does, it would be written again each time.
bool CompactionPicker::IsDraining(const Version& version,
                                  const ColumnFamilyOptions& options) const {
  const bool is_lazy = options.compaction.kind == CompactionStyle::Kind::kLazyLeveled;
  if (!is_lazy || !HasTiers(version, options)) return false;
  const int drained = LastCompactedLevel(version, options) - 1;
  if (version.num_files(drained) == 0) return false;
  return is_draining_ ||
         ComputeTierScores(version, options).score[static_cast<size_t>(drained)] >= 1;
}

}  // namespace winnow
