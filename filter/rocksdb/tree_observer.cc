#include "filter/rocksdb/tree_observer.h"

#include <algorithm>
#include <cmath>

namespace winnow::filter::internal {

TreeObserver::Seen& TreeObserver::SeenOf(const TreeId& tree) {
  if (seen_.size() >= kMaxTrees && !seen_.contains(tree)) {
    const auto is_older = [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    };
    seen_.erase(std::min_element(seen_.begin(), seen_.end(), is_older));
  }
  Seen& seen = seen_[tree];
  seen.last_use = ++num_uses_;
  return seen;
}

// SpreadBits takes the last level as ratio^steps times the base level, and that as kLevelZeroRuns
// flushes: the ratio at which the last level has the keys that were built for it. Those that are
// built again count again, so that a tree which is at work soon has its nominal ratio; one whose
// last level has only begun has a smaller one.
double TreeObserver::RatioOf(const Seen& seen) const {
  const int steps = *seen.last_level - *seen.base_level;
  if (seen.flushed_keys == 0 || steps == 0) return size_ratio_;
  const double base_keys = kLevelZeroRuns * static_cast<double>(seen.flushed_keys);
  const double ratio = std::pow(static_cast<double>(seen.last_run_keys) / base_keys, 1.0 / steps);
  return std::clamp(ratio, 1.0, size_ratio_);
}

std::optional<TreeShape> TreeObserver::Observe(const NewFile& file) {
  const MutexLock lock(&mutex_);
  // Levels seen so far bound the tree from both ends. They only widen: a tree that has shrunk is
  // taken for deeper than it is, which costs its files some bits but no key. Level 0 says nothing
  // about the rest.
  Seen& seen = SeenOf(file.tree);
  if (file.level > 0) {
    seen.base_level = std::min(seen.base_level.value_or(file.level), file.level);
    // A file that is not the last run has another below it.
    const int deepest = file.is_last_run ? file.level : file.level + 1;
    if (file.is_last_run || seen.last_level) {
      // A new last level has no keys yet.
      if (deepest > seen.last_level.value_or(deepest)) seen.last_run_keys = 0;
      seen.last_level = std::max(seen.last_level.value_or(deepest), deepest);
    }
  }
  if (!seen.last_level) return std::nullopt;
  return TreeShape{*seen.base_level, *seen.last_level, RatioOf(seen)};
}

void TreeObserver::CountKeys(const NewFile& file, uint64_t num_keys) {
  const MutexLock lock(&mutex_);
  Seen& seen = SeenOf(file.tree);
  if (file.level == 0) seen.flushed_keys = num_keys;
  // Files above the last level may be the last run of their keys; they pay for none.
  if (file.is_last_run && file.level == seen.last_level) seen.last_run_keys += num_keys;
}

}  // namespace winnow::filter::internal
