#include "engine/compaction/level_order.h"

#include <algorithm>
#include <numeric>

#include "engine/compaction/compaction.h"

namespace winnow {

namespace {

double BytesOfAnEntry(const Version::Files& files) {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  for (const auto& file : files) {
    bytes += file->metadata().file_bytes;
    entries += file->metadata().num_entries;
  }
  // In a level without entries a deletion finds nothing to drop.
  return entries == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(entries);
}

}  // namespace

// Both levels are sorted: what a file overlaps begins no further left than what the one before it
// did.
std::vector<double> OverlapRatios(const Version& version, int level) {
  const InternalKeyComparator& comparator = version.comparator();
  const Version::Files& below = version.files(level + 1);
  const double entry_bytes_below = BytesOfAnEntry(below);
  std::vector<double> ratios;
  ratios.reserve(version.num_files(level));
  size_t first = 0;
  for (const auto& file : version.files(level)) {
    while (first < below.size() &&
           below[first]->EndsBefore(file->smallest_user_key(), comparator)) {
      first++;
    }
    // `first` stays where it is: the next file may overlap the same one. Neighbours have at most
    // one file below in common, so that all in all the pass is linear.
    uint64_t overlapped = 0;
    for (size_t i = first;
         i < below.size() && !file->EndsBefore(below[i]->smallest_user_key(), comparator); i++) {
      overlapped += below[i]->metadata().file_bytes;
    }
    const FileMetadata& metadata = file->metadata();
    const double relieved = static_cast<double>(metadata.file_bytes) +
                            static_cast<double>(metadata.num_deletions) * entry_bytes_below;
    ratios.push_back(static_cast<double>(overlapped) / std::max(relieved, 1.0));
  }
  return ratios;
}

size_t LevelOrder::NextInTurn(const Version& version, int level) const {
  // A user's comparator may know no key but those that were written: it is asked for nothing else.
  if (!last_in_turn_.has_value()) return 0;
  const Version::Files& files = version.files(level);
  const std::string_view last = *last_in_turn_;
  const auto next = std::partition_point(files.begin(), files.end(), [&](const auto& file) {
    return version.comparator().CompareUserKeys(file->largest_user_key(), last) <= 0;
  });
  return next == files.end() ? 0 : static_cast<size_t>(next - files.begin());
}

// Made once for a version, however often it is asked: what changes without one is which files are
// idle.
void LevelOrder::Refresh(const std::shared_ptr<const Version>& version, int level) {
  // By owner, which no later version can have.
  // An address could be that of a version that is gone; the owner lives as long as the weak
  // pointer.
  if (!version_.owner_before(version) && !version.owner_before(version_)) return;
  const Version::Files& files = version->files(level);
  const std::vector<double> ratios = OverlapRatios(*version, level);
  std::vector<uint32_t> order(files.size());
  std::iota(order.begin(), order.end(), 0u);
  // Of equals, such as files that overlap nothing, the next in turn.
  const auto start = static_cast<std::ptrdiff_t>(NextInTurn(*version, level));
  std::rotate(order.begin(), order.begin() + start, order.end());
  std::stable_sort(order.begin(), order.end(),
                   [&](uint32_t a, uint32_t b) { return ratios[a] < ratios[b]; });
  // Numbers of files that have left are forgotten: no file has them again.
  std::set<uint64_t> still_there;
  for (const auto& file : files) {
    if (picked_.contains(file->number())) still_there.insert(file->number());
  }
  by_overlap_ = std::move(order);
  picked_ = std::move(still_there);
  version_ = version;
}

void LevelOrder::Offer(const std::shared_ptr<const Version>& version, int level,
                       absl::FunctionRef<bool(const std::shared_ptr<SstableFile>&)> take) {
  const Version::Files& files = version->files(level);
  const auto offer = [&](const std::shared_ptr<SstableFile>& file) ABSL_EXCLUSIVE_LOCKS_REQUIRED(
                         database_mutex) { return IsIdle(*file) && take(file); };
  if (is_turn()) {
    const size_t start = NextInTurn(*version, level);
    for (size_t i = 0; i < files.size(); i++) {
      if (offer(files[(start + i) % files.size()])) return;
    }
    return;
  }
  Refresh(version, level);
  // Files whose compaction came to nothing come after all others, in the same order.
  for (const bool were_picked : {false, true}) {
    for (const uint32_t index : by_overlap_) {
      const auto& file = files[index];
      if (picked_.contains(file->number()) == were_picked && offer(file)) return;
    }
  }
}

void LevelOrder::Picked(const Version::Files& files) {
  for (const auto& file : files) {
    picked_.insert(file->number());
    // Where nobody asks for the order, nothing else forgets those that have left.
    if (picked_.size() > kMostPicked) picked_.erase(picked_.begin());
  }
  // A copy: the file, and its key, will be gone by the next turn.
  if (is_turn()) last_in_turn_ = files.back()->largest_user_key();
  num_picks_++;
}

}  // namespace winnow
