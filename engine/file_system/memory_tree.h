// The tree of files and directories inside a MemoryFileSystem. Its owner guards it: nothing here
// locks.
#ifndef WINNOW_ENGINE_FILE_SYSTEM_MEMORY_TREE_H_
#define WINNOW_ENGINE_FILE_SYSTEM_MEMORY_TREE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace winnow {

// A file or a directory. `id` is its identity through renames, as an inode number is.
struct MemoryNode {
  uint64_t id = 0;
  bool is_directory = false;
  std::string content;                                         // files
  std::map<std::string, std::shared_ptr<MemoryNode>> entries;  // directories
};

// A name in a directory, which may or may not exist there.
struct MemoryEntry {
  std::shared_ptr<MemoryNode> directory;
  std::string name;

  // Null if there is no such entry.
  std::shared_ptr<MemoryNode> node() const;
};

// An empty root directory, with the id 1.
std::shared_ptr<MemoryNode> NewMemoryRoot();

// The names that lead to `path` from the root: "", "." vanish and ".." goes up.
std::vector<std::string> SplitPath(std::string_view path);

// Null if nothing has that path.
std::shared_ptr<MemoryNode> FindNode(const std::shared_ptr<MemoryNode>& root,
                                     std::string_view path);

// The entry that `path` names. NotFound if its directory does not exist, InvalidArgument if that
// is a file or if `path` is the root.
absl::StatusOr<MemoryEntry> FindEntry(const std::shared_ptr<MemoryNode>& root,
                                      std::string_view path);

// The largest id in the tree.
uint64_t LargestId(const MemoryNode& root);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILE_SYSTEM_MEMORY_TREE_H_
