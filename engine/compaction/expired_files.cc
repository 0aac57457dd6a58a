#include "engine/compaction/expired_files.h"

#include <algorithm>
#include <set>

namespace winnow {

namespace {

// Of the time to live: a file whose values were written over less of it is waited for until all of
// them have expired, and then costs nothing.
constexpr uint64_t kSpanWorthRewriting = 4;

// The files of deeper levels that have keys in the range of `file` are all in `chosen`.
bool EverythingBelowIsChosen(const Version& version, const SstableFile& file, int level,
                             const std::set<const SstableFile*>& chosen) {
  for (int below = std::max(level + 1, 1); below < kNumLevels; below++) {
    for (const auto& older : version.Overlapping(below, file.range())) {
      if (!chosen.contains(older.get())) return false;
    }
  }
  return true;
}

// Level 0 is newest first; `index` is the place of the file.
bool EverythingOlderInLevelZeroIsChosen(const Version& version, size_t index,
                                        const std::set<const SstableFile*>& chosen) {
  const Version::Files& files = version.files(0);
  for (size_t i = index + 1; i < files.size(); i++) {
    if (!chosen.contains(files[i].get()) &&
        Overlap(files[i]->range(), files[index]->range(), version.comparator())) {
      return false;
    }
  }
  return true;
}

}  // namespace

// The newest says it of all: older ones have expired before it.
bool IsWhollyExpired(const FileMetadata& file, const FileExpiry& expiry) {
  // Not with its markers, whose reach goes beyond the file's keys: what they hide would come back
  // once keys live longer.
  if (file.key_times.has_value() && !file.key_times->has_markers() &&
      expiry.key_times.HasAllExpired(*file.key_times)) {
    return true;
  }
  const WriteTimes& times = file.write_times;
  // Values and operands without a time never expire. Deletions have none and need none: what they
  // hide is older, and goes at the same time.
  const bool all_have_times = times.num_entries + file.num_deletions == file.num_entries;
  return times.num_entries > 0 && all_have_times && expiry.write_times.HasExpired(times.newest);
}

bool IsDueForExpiry(const FileMetadata& file, const ExpiryMoment& moment) {
  const WriteTimes& times = file.write_times;
  if (times.num_entries == 0) return false;
  // It could not be dropped whole, or it would have been: that is tried first.
  if (moment.HasExpired(times.newest)) return true;
  const uint64_t span = times.newest - times.oldest;
  return span > moment.ttl_micros / kSpanWorthRewriting &&
         moment.HasExpired(times.oldest + span / 2);
}

bool IsDueForExpiry(const KeyTimes& times, const KeyExpiry& expiry) {
  if (times.end == 0 || times.oldest >= expiry.first_alive) return false;
  // It does not go unread (IsWhollyExpired).
  if (times.has_markers() && expiry.HasAllExpired(times)) return true;
  const uint64_t span = times.end - 1 - times.oldest;
  return span > expiry.lifetime / kSpanWorthRewriting &&
         times.oldest + span / 2 < expiry.first_alive;
}

// From the oldest data to the newest, so that what a file needs to be gone has been chosen before.
std::unique_ptr<Compaction> PickFilesToDrop(const std::shared_ptr<const Version>& version,
                                            const ColumnFamilyOptions& options,
                                            const FileExpiry& expiry) {
  if (options.allow_ingest_behind) return nullptr;
  std::set<const SstableFile*> chosen;
  auto compaction = std::make_unique<Compaction>();
  for (int level = kNumLevels - 1; level >= 0; level--) {
    const Version::Files& files = version->files(level);
    Version::Files& inputs = compaction->inputs[static_cast<size_t>(level)];
    for (size_t i = files.size(); i-- > 0;) {
      const SstableFile& file = *files[i];
      if (!IsIdle(file) || !IsWhollyExpired(file.metadata(), expiry) ||
          !EverythingBelowIsChosen(*version, file, level, chosen) ||
          (level == 0 && !EverythingOlderInLevelZeroIsChosen(*version, i, chosen))) {
        continue;
      }
      chosen.insert(&file);
      inputs.push_back(files[i]);
      compaction->output_level = level;
    }
    // The level was walked from its end: inputs have the level's order.
    std::reverse(inputs.begin(), inputs.end());
  }
  if (chosen.empty()) return nullptr;
  compaction->version = version;
  compaction->reason = kExpiredReason;
  compaction->key_expiry = expiry.key_times;
  compaction->drops_inputs = true;
  return compaction;
}

// The deepest levels first: what goes from there leaves no deletion behind.
std::unique_ptr<Compaction> PickFileToRewrite(const std::shared_ptr<const Version>& version,
                                              const ColumnFamilyOptions& options,
                                              const FileExpiry& expiry) {
  const auto is_due_by_keys = [&](const SstableFile& file,
                                  int level) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    const std::optional<KeyTimes>& times = file.metadata().key_times;
    return level > 0 && times.has_value() && IsDueForExpiry(*times, expiry.key_times) &&
           !file.expired_keys_stay && !options.allow_ingest_behind &&
           EverythingBelowIsChosen(*version, file, level, {});
  };
  for (int level = kNumLevels - 1; level >= 0; level--) {
    for (const auto& file : version->files(level)) {
      if (!IsIdle(*file) || (!IsDueForExpiry(file->metadata(), expiry.write_times) &&
                             !is_due_by_keys(*file, level))) {
        continue;
      }
      auto compaction = std::make_unique<Compaction>();
      compaction->version = version;
      // Into its own level: outputs lie within the range that the file had, so that no neighbour
      // need be an input. In level 0 it keeps its place by its epoch number.
      compaction->inputs[static_cast<size_t>(level)] = {file};
      compaction->output_level = level;
      compaction->reason = kExpiredReason;
      compaction->key_expiry = expiry.key_times;
      return compaction;
    }
  }
  return nullptr;
}

}  // namespace winnow
