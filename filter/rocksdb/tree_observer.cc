#include "filter/rocksdb/tree_observer.h"

#include <algorithm>

namespace winnow::filter::internal {

TreeObserver::Seen& TreeObserver::SeenOf(const TreeId& tree) {
  if (seen_.size() >= kMaxTrees && !seen_.contains(tree)) {
    const auto is_older = [](const auto& a, const auto& b) {
      return a.second.last_use < b.second.last_use;
    };
    // O(kMaxTrees), for a policy that a thousand families share, and only where another one comes.
    seen_.erase(std::min_element(seen_.begin(), seen_.end(), is_older));
  }
  Seen& seen = seen_[tree];
  if (seen.number == 0) seen.number = ++num_trees_;
  seen.last_use = ++num_uses_;
  return seen;
}

ObservedTree TreeObserver::Observe(const NewFile& file) {
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
      seen.last_level = std::max(seen.last_level.value_or(deepest), deepest);
    }
  }
  ObservedTree tree;
  tree.number = seen.number;
  tree.flushed_keys = seen.flushed_keys;
  if (seen.last_level) tree.shape = TreeShape{*seen.base_level, *seen.last_level, size_ratio_};
  return tree;
}

void TreeObserver::CountKeys(const NewFile& file, uint64_t num_keys) {
  const MutexLock lock(&mutex_);
  if (file.level == 0) SeenOf(file.tree).flushed_keys = num_keys;
}

}  // namespace winnow::filter::internal
