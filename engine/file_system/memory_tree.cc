#include "engine/file_system/memory_tree.h"

#include <algorithm>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

// Looked up each time: an entry is a place, and what stands there may have changed.
std::shared_ptr<MemoryNode> MemoryEntry::node() const {
  const auto found = directory->entries.find(name);
  return found == directory->entries.end() ? nullptr : found->second;
}

std::shared_ptr<MemoryNode> NewMemoryRoot() {
  auto root = std::make_shared<MemoryNode>();
  // 0 is no node.
  root->id = 1;
  root->is_directory = true;
  return root;
}

// Lexical, as there are no symbolic links: ".." at the root stays at the root.
std::vector<std::string> SplitPath(std::string_view path) {
  std::vector<std::string> names;
  while (!path.empty()) {
    const size_t slash = path.find('/');
    const std::string_view name = path.substr(0, slash);
    if (name == "..") {
      if (!names.empty()) names.pop_back();
    } else if (!name.empty() && name != ".") {
      names.emplace_back(name);
    }
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return names;
}

// A path through a file leads nowhere, like one through a name that does not exist: Exists and its
// like need no more. FindEntry, for calls that change something, tells the two apart.
std::shared_ptr<MemoryNode> FindNode(const std::shared_ptr<MemoryNode>& root,
                                     std::string_view path) {
  std::shared_ptr<MemoryNode> node = root;
  for (std::string& name : SplitPath(path)) {
    if (node == nullptr || !node->is_directory) return nullptr;
    node = MemoryEntry{node, std::move(name)}.node();
  }
  return node;
}

// The directory must exist, the name need not: the result is a place to create, replace or remove.
absl::StatusOr<MemoryEntry> FindEntry(const std::shared_ptr<MemoryNode>& root,
                                      std::string_view path) {
  // The root has no entry in a directory: it cannot be created, replaced or removed.
  std::vector<std::string> names = SplitPath(path);
  if (names.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(ToAbsl(path), ": is the root directory"));
  }
  // The error names the component that is in the way, which the path alone does not show.
  std::shared_ptr<MemoryNode> directory = root;
  for (size_t i = 0; i + 1 < names.size(); i++) {
    directory = MemoryEntry{directory, names[i]}.node();
    if (directory == nullptr) {
      return absl::NotFoundError(
          absl::StrCat(ToAbsl(path), ": No such file or directory (", names[i], ")"));
    }
    if (!directory->is_directory) {
      return absl::InvalidArgumentError(
          absl::StrCat(ToAbsl(path), ": Not a directory (", names[i], ")"));
    }
  }
  return MemoryEntry{std::move(directory), std::move(names.back())};
}

// New nodes of a copied tree take identities above this.
uint64_t LargestId(const MemoryNode& root) {
  uint64_t largest = root.id;
  // A file with several names is met more than once, which changes nothing.
  for (const auto& [name, node] : root.entries) largest = std::max(largest, LargestId(*node));
  return largest;
}

}  // namespace winnow
