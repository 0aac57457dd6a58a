#include "engine/compaction/picker.h"

#include <algorithm>

#include "engine/compaction/early_compaction.h"
#include "engine/compaction/fifo_picker.h"
#include "engine/compaction/small_files.h"
#include "engine/compaction/tier_drain.h"
#include "engine/compaction/tiered_picker.h"
#include "engine/compaction/trivial_move.h"

namespace winnow {

namespace {

constexpr size_t kMinFilesWithinLevelZero = 4;

bool AnyCompacted(const Version::Files& files) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  for (const auto& file : files) {
    if (file->being_compacted) return true;
  }
  return false;
}

bool AnyCompactedInTiers(const Version& version, const ColumnFamilyOptions& options)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  for (int level = 1; level < LastCompactedLevel(version, options); level++) {
    if (AnyCompacted(version.files(level))) return true;
  }
  return false;
}

// The largest part of level 0 that may go down although some files, of level 0 or of the base
// level, are in quarantine. Those of the base level cut the keys into gaps, in one of which the
// output has to lie. In level 0 a file stays if it
//
// 1. is in quarantine itself, or overlaps a file of the base level that is;
// 2. is newer than one that stays and overlaps it: its entries would come to lie below older ones.
//
// Whatever overlaps a file that goes and is older lies in the same gap, and goes as well.
Version::Files LevelZeroAroundDamage(const Version& version, int base_level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  const InternalKeyComparator& comparator = version.comparator();
  Version::Files obstacles;  // by key
  for (const auto& file : version.files(base_level)) {
    if (file->quarantined) obstacles.push_back(file);
  }
  Version::Files staying;
  std::vector<Version::Files> gaps(obstacles.size() + 1);
  const Version::Files& files = version.files(0);
  for (size_t i = files.size(); i-- > 0;) {  // the oldest first
    const auto& file = files[i];
    size_t gap = 0;
    // Linear, for obstacles are few: files in quarantine.
    while (gap < obstacles.size() &&
           obstacles[gap]->EndsBefore(file->smallest_user_key(), comparator)) {
      gap++;
    }
    bool stays = file->quarantined || (gap < obstacles.size() &&
                                       Overlap(file->range(), obstacles[gap]->range(), comparator));
    for (const auto& older : staying) {
      stays = stays || Overlap(file->range(), older->range(), comparator);
    }
    (stays ? staying : gaps[gap]).push_back(file);
  }
  const auto largest = std::max_element(
      gaps.begin(), gaps.end(), [](const auto& a, const auto& b) { return a.size() < b.size(); });
  std::reverse(largest->begin(), largest->end());  // the newest first, as level 0 is
  return std::move(*largest);
}

// What a sequential load leaves in level 0: files that overlap nothing there or on their way. The
// oldest first, so that no older version stays above. A file moves, and is never rewritten, unless
// it is small: then it is merged with small ones that follow, and with small neighbours in the base
// level. Null if the oldest overlaps something.
std::unique_ptr<Compaction> FindSequential(const std::shared_ptr<const Version>& version,
                                           const ColumnFamilyOptions& options, int base_level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->output_level = base_level;
  compaction->reason = "level 0 is full";
  const Version::Files& files = version->files(0);
  Version::Files& run = compaction->inputs[0];
  for (size_t i = files.size(); i-- > 0;) {
    const auto& file = files[i];
    if (!IsIdle(*file) || version->Overlapping(0, file->range()).size() != 1) break;
    const bool is_small = IsSmall(*file, options);
    if (!run.empty() && !is_small) break;
    run.insert(run.begin(), file);  // the newest first, as level 0 is
    const UserKeyRange range = RangeOf(run, version->comparator());
    // By the range of the whole run, over which its output may reach, not of the file alone.
    if (!version->Overlapping(base_level, range).empty()) {
      run.erase(run.begin());
      break;
    }
    if (!is_small) break;
  }
  if (run.empty()) return nullptr;
  if (IsSmall(*run.back(), options)) JoinSmallNeighbours(options, compaction.get());
  compaction->is_trivial_move = CanMove(*compaction, options, 0);
  const bool is_alone = compaction->num_input_files() == 1;
  return is_alone && !compaction->is_trivial_move ? nullptr : std::move(compaction);
}

// Level 0, or what of it can go, into the base level. Null: it must wait.
std::unique_ptr<Compaction> FindIntoBaseLevel(const std::shared_ptr<const Version>& version,
                                              int base_level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->output_level = base_level;
  compaction->reason = "level 0 is full";
  // All of level 0 and all that it overlaps below. Taking a part is right only if no file left
  // behind is older than one taken that it overlaps: a newer version would sink below an older one.
  compaction->inputs[0] = LevelZeroAroundDamage(*version, base_level);
  if (compaction->inputs[0].empty()) return nullptr;
  const UserKeyRange range = RangeOf(compaction->inputs[0], version->comparator());
  auto& below = compaction->inputs[static_cast<size_t>(base_level)];
  below = version->Overlapping(base_level, range);
  // Any file of the base level that is an input or in the output range of another compaction makes
  // this one wait: outputs of the two could overlap.
  if (!AllIdle(below)) return nullptr;
  return compaction;
}

// To rewrite a large base level for a few small files of level 0 is worth less than to merge those
// first. They are small where many column families share a bound of memory: memtables are then
// flushed long before they are full.
std::unique_ptr<Compaction> FindFromLevelZero(const std::shared_ptr<const Version>& version,
                                              const ColumnFamilyOptions& options, int base_level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  std::unique_ptr<Compaction> down;
  // One such compaction at a time: files of level 0 may overlap each other in any way.
  if (!AnyCompacted(version->files(0))) {
    if (auto sequential = FindSequential(version, options, base_level)) return sequential;
    down = FindIntoBaseLevel(version, base_level);
  }
  const auto bytes_of = [&down](int level) {
    return static_cast<double>(TotalBytes(down->inputs[static_cast<size_t>(level)]));
  };
  if (down == nullptr || bytes_of(base_level) > bytes_of(0) * options.level_size_multiplier) {
    if (auto within = CompactionPicker::PickWithinLevelZero(version, options)) return within;
  }
  // Only now: neighbours are there to be merged, and do not count against going down.
  if (down != nullptr) JoinSmallNeighbours(options, down.get());
  return down;
}

// Before level 0 is due.
std::unique_ptr<Compaction> FindEarlyOfLevelZero(const std::shared_ptr<const Version>& version,
                                                 const ColumnFamilyOptions& options, int base_level)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
  if (AnyCompacted(version->files(0))) return nullptr;
  auto down = FindIntoBaseLevel(version, base_level);
  if (down != nullptr) JoinSmallNeighbours(options, down.get());
  return down;
}

}  // namespace

int LastCompactedLevel(const Version& version, const ColumnFamilyOptions& options) {
  const int deepest = options.allow_ingest_behind ? kNumLevels - 2 : kNumLevels - 1;
  const int last = std::min(options.compaction.last_level(), deepest);
  for (int level = deepest; level > last; level--) {
    if (version.num_files(level) > 0) return level;
  }
  return last;
}

// With a base of 256 MB, a multiplier of 10 and 300 GB in the deepest level:
//
//   level      1       2        3        4       5        6
//   target     -    256 MB   300 MB    3 GB    30 GB   300 GB
//                    ^ base level
//
// The deepest level is always the last one. Its target is its size, so that it is never due by
// itself; each level above gets a tenth. The base level is the highest whose target is still
// derived from one above the base size: a small database writes from level 0 straight to the last
// level, and levels appear above it as it grows.
//
// A tenth may be less than what level 0 brings at a time, but the base level has at least the base
// size. All that comes would be sent on at once, file by file, and each would rewrite as many times
// itself in the next level as this level is smaller than that one: the emptier it is kept, the
// more.
LevelTargets ComputeLevelTargets(const Version& version, const ColumnFamilyOptions& options) {
  LevelTargets targets;
  const int deepest = LastCompactedLevel(version, options);
  uint64_t largest_bytes = 0;
  int first_with_files = kNumLevels;
  for (int level = 1; level <= deepest; level++) {
    if (version.num_files(level) == 0) continue;
    first_with_files = std::min(first_with_files, level);
    largest_bytes = std::max(largest_bytes, version.level_bytes(level));
  }
  double target = static_cast<double>(std::max(largest_bytes, options.level_base_bytes));
  targets.base_level = deepest;
  targets.target_bytes[static_cast<size_t>(deepest)] = static_cast<uint64_t>(target);
  // Go up while a level above would still deserve at least base/multiplier bytes.
  for (int level = deepest - 1; level >= 1; level--) {
    // Levels that have files but are no longer wanted (the database shrank, or the options changed)
    // keep a target, which is small, so that their score makes them drain.
    const bool wanted = target > static_cast<double>(options.level_base_bytes);
    if (!wanted && level < first_with_files) break;
    target /= options.level_size_multiplier;
    targets.target_bytes[static_cast<size_t>(level)] = static_cast<uint64_t>(std::max(target, 1.0));
    if (wanted) targets.base_level = level;
  }
  uint64_t& base_bytes = targets.target_bytes[static_cast<size_t>(targets.base_level)];
  base_bytes = std::max(base_bytes, options.level_base_bytes);
  // Files above the computed base (an older, smaller tree) must drain downwards first.
  targets.base_level = std::min(targets.base_level, first_with_files);
  return targets;
}

// A score is size over limit, and 1 is where work is due: the number of files for level 0, each
// of which a read may have to look into, and bytes for the others. Files that are being compacted
// do not count: their level is already being relieved, and counting them would start work that
// finds nothing idle. The last level has no score; there is nowhere to go.
LevelScores ComputeScores(const Version& version, const ColumnFamilyOptions& options) {
  if (options.compaction.kind == CompactionStyle::Kind::kFifo) {
    return ComputeFifoScores(version, options);
  }
  if (HasTiers(version, options)) return ComputeTierScores(version, options);
  const LevelTargets targets = ComputeLevelTargets(version, options);
  LevelScores scores;
  size_t idle_level0_files = 0;
  for (const auto& file : version.files(0)) idle_level0_files += IsIdle(*file) ? 1 : 0;
  scores.score[0] = static_cast<double>(idle_level0_files) /
                    static_cast<double>(options.level0_compaction_trigger);
  const int last = LastCompactedLevel(version, options);
  for (int level = targets.base_level; level < last; level++) {
    uint64_t idle_bytes = 0;
    for (const auto& file : version.files(level)) {
      if (IsIdle(*file)) idle_bytes += file->metadata().file_bytes;
    }
    const uint64_t target = std::max<uint64_t>(targets.target_bytes[static_cast<size_t>(level)], 1);
    scores.score[static_cast<size_t>(level)] =
        static_cast<double>(idle_bytes) / static_cast<double>(target);
  }
  scores.FindMostUrgent(last);
  return scores;
}

// At equal scores the deeper level is the more urgent: it makes room for what comes from above.
void LevelScores::FindMostUrgent(int last) {
  double highest = 1;
  for (int level = 0; level < last; level++) {
    if (score[static_cast<size_t>(level)] < highest) continue;
    highest = score[static_cast<size_t>(level)];
    most_urgent = level;
  }
}

// By falling score: if the most urgent level cannot be worked on because its files are busy, the
// next one is. Scores below 1 are no reason to write anything.
std::unique_ptr<Compaction> CompactionPicker::Find(const std::shared_ptr<const Version>& version,
                                                   const ColumnFamilyOptions& options) const {
  if (options.compaction.kind == CompactionStyle::Kind::kFifo) return FindFifo(version, options);
  const bool has_tiers = HasTiers(*version, options);
  const LevelTargets targets = ComputeLevelTargets(*version, options);
  const LevelScores scores = Scores(*version, options);
  std::array<int, kNumLevels> order;
  for (int level = 0; level < kNumLevels; level++) order[static_cast<size_t>(level)] = level;
  std::sort(order.begin(), order.end(), [&](int a, int b) {
    return scores.score[static_cast<size_t>(a)] > scores.score[static_cast<size_t>(b)];
  });
  for (const int level : order) {
    if (scores.score[static_cast<size_t>(level)] < 1) break;
    auto compaction = has_tiers    ? FindInTiers(version, options, level)
                      : level == 0 ? FindFromLevelZero(version, options, targets.base_level)
                                   : FindInLevel(version, options, level);
    if (compaction != nullptr) return compaction;
  }
  return scores.early < 0 ? nullptr : FindEarly(version, options, scores.early);
}

// Of a level whose files are all busy the next one is asked.
std::unique_ptr<Compaction> CompactionPicker::FindEarly(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options,
    int from) const {
  const bool has_tiers = HasTiers(*version, options);
  const char* const reason_of_zero =
      from == 0 ? EarlyReasonOfLevelZero(*version, options, has_tiers) : nullptr;
  if (reason_of_zero != nullptr) {
    const int base_level = ComputeLevelTargets(*version, options).base_level;
    auto compaction = has_tiers ? FindInTiers(version, options, 0)
                                : FindEarlyOfLevelZero(version, options, base_level);
    if (compaction != nullptr) {
      if (!compaction->inputs[0].empty()) compaction->reason = reason_of_zero;
      return compaction;
    }
  }
  for (int level = std::max(from, 1); level < LastCompactedLevel(*version, options); level++) {
    const std::optional<EarlyPath> path = EarlyPathFrom(*version, options, has_tiers, level);
    if (!path.has_value()) continue;
    for (const auto& file : version->files(level)) {
      if (!IsIdle(*file)) continue;
      const char* const reason = EarlyReason(*version, *path, *file);
      if (reason == nullptr) continue;
      if (auto compaction = OneFileDown(version, options, level, path->below, file)) {
        compaction->reason = reason;
        return compaction;
      }
    }
  }
  return nullptr;
}

// Remembered when picked, not when done: a compaction that fails is not tried again at once with
// the same file.
std::unique_ptr<Compaction> CompactionPicker::Pick(const std::shared_ptr<const Version>& version,
                                                   const ColumnFamilyOptions& options) {
  is_draining_ = IsDraining(*version, options);
  std::unique_ptr<Compaction> compaction = Find(version, options);
  for (size_t level = 1; compaction != nullptr && level < kNumLevels; level++) {
    // Below level 0 one file goes down, and the level after it is the output.
    if (compaction->output_level != static_cast<int>(level) + 1) continue;
    if (compaction->inputs[level].empty()) break;
    // That of a file which went early, too: it need not go again in its turn.
    orders_[static_cast<int>(level)].Picked(compaction->inputs[level]);
  }
  return compaction;
}

std::unique_ptr<Compaction> CompactionPicker::FindInTiers(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options,
    int level) const {
  if (level > 0) {
    // Level 0 needs whole runs, all idle at one moment, which ranges that go down one beside
    // another would never leave it.
    const bool level_zero_waits = ComputeTierScores(*version, options).score[0] >= 1;
    if (level_zero_waits && AnyCompactedInTiers(*version, options)) return nullptr;
    if (auto move = FindRunToDrain(version, options)) return move;
    return FindInLevel(version, options, level);
  }
  const int last = LastCompactedLevel(*version, options);
  if (GoesToLastLevel(*version, options)) return FindFromLevelZero(version, options, last);
  if (!AnyCompacted(version->files(0))) {
    if (auto merge = FindTierMerge(version, options, IsDraining(*version, options))) return merge;
  }
  return PickWithinLevelZero(version, options);
}

// As RocksDB's compaction within level 0. Only neighbours in age are merged, so that level 0 stays
// in the order of its writes. An older file joins if it is no larger than the newer ones together:
// each entry is rewritten a logarithmic number of times, and as many files remain.
std::unique_ptr<Compaction> CompactionPicker::PickWithinLevelZero(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options) {
  const Version::Files& files = version->files(0);
  const auto trigger = static_cast<size_t>(options.level0_compaction_trigger);
  size_t idle = 0;
  const SstableFile* oldest = nullptr;
  for (const auto& file : files) {
    idle += IsIdle(*file) ? 1 : 0;
    if (!file->quarantined) oldest = file.get();
  }
  if (idle < std::max<size_t>(trigger, 2)) return nullptr;
  // What is being compacted without the oldest is another merge within level 0. One at a time: the
  // way down is free only between two of them, and a chain that overlaps would never leave it so.
  if (AnyCompacted(files) && IsIdle(*oldest)) return nullptr;
  // Near the point where writes would be delayed any two are worth it.
  const bool urgent = files.size() >= static_cast<size_t>(options.level0_slowdown_trigger);
  const size_t fewest = urgent ? 2 : std::clamp<size_t>(trigger, 2, kMinFilesWithinLevelZero);
  const uint64_t most_bytes = MostBytesOfMergedFile(options);
  Version::Files best;
  for (size_t begin = 0; begin < files.size();) {
    Version::Files run;
    uint64_t bytes = 0;
    size_t end = begin;
    for (; end < files.size() && IsIdle(*files[end]); end++) {
      const uint64_t file_bytes = files[end]->metadata().file_bytes;
      if (!run.empty() && (bytes + file_bytes > most_bytes || (!urgent && file_bytes > bytes)))
        break;
      run.push_back(files[end]);
      bytes += file_bytes;
    }
    if (run.size() > best.size()) best = std::move(run);
    begin = std::max(end, begin + 1);
  }
  if (best.size() < fewest) return nullptr;
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->output_level = 0;
  compaction->reason = "level 0 is full";
  compaction->inputs[0] = std::move(best);
  return compaction;
}

// Within a level below 0 user keys never part into two files, so that one file can go alone.
// Nothing comes to empty levels on its way meanwhile: whatever goes below `level` takes all of it
// along, or what overlaps the file.
std::unique_ptr<Compaction> CompactionPicker::OneFileDown(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options, int level,
    int to, const std::shared_ptr<SstableFile>& file) {
  if (LevelZeroGoesTo(*version, to)) return nullptr;
  Version::Files below = version->Overlapping(to, file->range());
  if (!AllIdle(below)) return nullptr;
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->output_level = to;
  compaction->reason = "level is over its target";
  compaction->inputs[static_cast<size_t>(level)] = {file};
  compaction->inputs[static_cast<size_t>(to)] = std::move(below);
  compaction->is_trivial_move = CanMove(*compaction, options, level);
  return compaction;
}

std::unique_ptr<Compaction> CompactionPicker::FindInLevel(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options,
    int level) const {
  std::unique_ptr<Compaction> compaction;
  const auto take = [&](const std::shared_ptr<SstableFile>& file)
                        ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
                          compaction = OneFileDown(version, options, level, level + 1, file);
                          if (compaction == nullptr) return false;
                          if (HasTiers(*version, options)) WidenDrain(options, compaction.get());
                          return true;
                        };
  orders_[level].Offer(version, level, take);
  return compaction;
}

std::unique_ptr<Compaction> CompactionPicker::PickRange(
    const std::shared_ptr<const Version>& version, const ColumnFamilyOptions& options,
    std::optional<std::string_view> begin, std::optional<std::string_view> end) {
  if (options.compaction.kind == CompactionStyle::Kind::kFifo) return nullptr;
  auto compaction = std::make_unique<Compaction>();
  compaction->version = version;
  compaction->reason = "manual compaction";
  const InternalKeyComparator& comparator = version->comparator();
  // An end that is open stays so, and is never compared: the empty key may be none that a user's
  // comparator knows.
  std::optional<std::string> low(begin);
  std::optional<std::string> high(end);
  // All files that overlap the range join, which may widen it, until nothing outside overlaps: then
  // the inputs hold every version of their keys and can go straight to the deepest level.
  const int last = LastCompactedLevel(*version, options);
  for (size_t count = 0;;) {
    for (int level = 0; level <= last; level++) {
      const std::string_view low_view = low.has_value() ? *low : std::string_view();
      const std::string_view high_view = high.has_value() ? *high : std::string_view();
      auto& inputs = compaction->inputs[static_cast<size_t>(level)];
      inputs = version->Overlapping(level, low.has_value() ? &low_view : nullptr,
                                    high.has_value() ? &high_view : nullptr);
      if (inputs.empty()) continue;
      const UserKeyRange range = RangeOf(inputs, comparator);
      if (low.has_value() && comparator.CompareUserKeys(range.smallest, *low) < 0) {
        low = range.smallest;
      }
      // An exclusive end that is taken for an inclusive one adds the neighbour that begins there.
      if (high.has_value() && comparator.CompareUserKeys(range.largest, *high) > 0) {
        high = range.largest;
      }
    }
    // Ends: each turn but the last adds a file, and there are finitely many. The range grows over
    // all levels together because a file of one level may reach over files of another that the
    // first turn left out.
    const size_t now = compaction->num_input_files();
    if (now == count) break;
    count = now;
  }
  if (compaction->num_input_files() == 0) return nullptr;
  const int deepest = std::min(version->deepest_level(), last);
  compaction->output_level =
      deepest >= 1 ? deepest : ComputeLevelTargets(*version, options).base_level;
  return compaction;
}

}  // namespace winnow
