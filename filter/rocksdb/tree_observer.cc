#include "filter/rocksdb/tree_observer.h"

#include <algorithm>

namespace winnow::filter::internal {

std::optional<TreeShape> TreeObserver::Observe(const NewFile& file) {
  const MutexLock lock(&mutex_);
  // Levels seen so far bound the tree from both ends. They only widen: a tree that has shrunk is
  // taken for deeper than it is, which costs its files some bits but no key. Level 0 says nothing
  // about the rest.
  Seen& seen = seen_[file.column_family];
  if (file.level > 0) {
    seen.base_level = std::min(seen.base_level.value_or(file.level), file.level);
    // A file that is not the last run has another below it.
    const int deepest = file.is_last_run ? file.level : file.level + 1;
    if (file.is_last_run || seen.last_level) {
      seen.last_level = std::max(seen.last_level.value_or(deepest), deepest);
    }
  }
  if (!seen.last_level) return std::nullopt;
  return TreeShape{*seen.base_level, *seen.last_level, size_ratio_};
}

}  // namespace winnow::filter::internal
