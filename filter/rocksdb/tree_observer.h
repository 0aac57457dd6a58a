// What a policy learns of a column family's tree from the files that are built for it: RocksDB
// gives a policy the level of each new file, but not the shape of the tree.

#ifndef WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_
#define WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_

#include <map>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "filter/base/mutex.h"
#include "winnow/filter/level_allocation.h"

namespace winnow::filter::internal {

// The facts about a new file that matter here.
struct NewFile {
  std::string column_family;
  int level = 0;  // where it is built
  // No older run holds keys of its range.
  bool is_last_run = false;
};

// Thread-safe.
class TreeObserver {
 public:
  explicit TreeObserver(double size_ratio) : size_ratio_(size_ratio) {}

  // Takes note of `file`, and returns the shape of its tree; nothing until a file was built for the
  // last run, which is what shows where the tree ends.
  std::optional<TreeShape> Observe(const NewFile& file);

 private:
  struct Seen {
    std::optional<int> base_level;
    std::optional<int> last_level;
  };

  const double size_ratio_;
  Mutex mutex_;
  std::map<std::string, Seen> seen_ ABSL_GUARDED_BY(mutex_);  // by column family
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_TREE_OBSERVER_H_
