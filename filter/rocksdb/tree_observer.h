// What a policy learns of a column family's tree from the files that are built for it: RocksDB
// gives a policy the level of each new file, but not the shape of the tree.

#ifndef WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_
#define WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"
#include "winnow/filter/level_allocation.h"

namespace winnow::filter::internal {

// A column family of one database: databases that share a policy have families of the same name.
struct TreeId {
  const void* database = nullptr;  // compared only
  std::string column_family;

  friend auto operator<=>(const TreeId&, const TreeId&) = default;
};

// The facts about a new file that matter here.
struct NewFile {
  TreeId tree;
  int level = 0;  // where it is built
  // No older run holds keys of its range.
  bool is_last_run = false;
};

// What is known of a tree.
struct ObservedTree {
  uint64_t number = 0;  // another for each tree, from 1
  // Nothing until a file was built for the last run, which is what shows where the tree ends.
  std::optional<TreeShape> shape;
  uint64_t flushed_keys = 0;  // in the newest file of level 0; 0: none was built
};

// Thread-safe.
class TreeObserver {
 public:
  // The trees that are remembered. Of more, those that no file was built for the longest are
  // forgotten, and uniform until a file of the last run is built again.
  static constexpr size_t kMaxTrees = 1000;

  // `size_ratio` is the shapes'.
  explicit TreeObserver(double size_ratio) : size_ratio_(size_ratio) {}

  // Takes note of `file`, and returns what is known of its tree.
  ObservedTree Observe(const NewFile& file);

  // Takes note that `file`, which was observed, has ended with so many keys.
  void CountKeys(const NewFile& file, uint64_t num_keys);

 private:
  struct Seen {
    uint64_t number = 0;
    std::optional<int> base_level;
    std::optional<int> last_level;
    uint64_t flushed_keys = 0;
    uint64_t last_use = 0;
  };

  Seen& SeenOf(const TreeId& tree) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const double size_ratio_;
  Mutex mutex_;
  std::map<TreeId, Seen> seen_ ABSL_GUARDED_BY(mutex_);
  uint64_t num_trees_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t num_uses_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_
