#include "engine/file_system/memory_file_system.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/status.h"
#include "engine/file_system/memory_files.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// The codes and texts are those of the POSIX file system, so that code tested in memory handles the
// errors that it will meet on disk.
absl::Status NotFound(const std::string& path) {
  return absl::NotFoundError(absl::StrCat(path, ": No such file or directory"));
}
absl::Status IsADirectory(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": Is a directory"));
}
absl::Status NotADirectory(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": Not a directory"));
}

}  // namespace

// Identities go on from the largest in the tree: they are never reused, as locks go by them.
MemoryFileSystem::MemoryFileSystem(std::shared_ptr<MemoryNode> root)
    : root_(std::move(root)), next_id_(LargestId(*root_) + 1) {}

// One mutex guards the whole tree, names and contents: tests need it right and not fast.
void MemoryFileSystem::AppendContent(MemoryNode& node, std::string_view bytes) {
  MutexLock lock(&mutex_);
  node.content.append(bytes);
}

size_t MemoryFileSystem::ReadContent(const MemoryNode& node, uint64_t offset, size_t length,
                                     char* buffer) const {
  MutexLock lock(&mutex_);
  // Behind the end is no error, as with pread(2).
  if (offset >= node.content.size()) return 0;
  length = std::min<size_t>(length, node.content.size() - offset);
  std::memcpy(buffer, node.content.data() + offset, length);
  return length;
}

// The file keeps its node, so that it outlives its name, as on POSIX. Its size is that of now; what
// is appended later can be read all the same.
absl::StatusOr<std::unique_ptr<RandomAccessFile>> MemoryFileSystem::OpenRandomAccess(
    const std::string& path) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) return NotFound(path);
  if (node->is_directory) return IsADirectory(path);
  return std::unique_ptr<RandomAccessFile>(
      std::make_unique<MemoryRandomAccessFile>(this, node, node->content.size()));
}

// An existing file is truncated in place and keeps its identity, its other names and its open
// files.
absl::StatusOr<std::shared_ptr<MemoryNode>> MemoryFileSystem::CreateNode(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry entry, FindEntry(root_, path));
  std::shared_ptr<MemoryNode> node = entry.node();
  if (node == nullptr) {
    node = std::make_shared<MemoryNode>();
    node->id = next_id_++;
    entry.directory->entries[entry.name] = node;
  } else if (node->is_directory) {
    return IsADirectory(path);
  }
  // Also for those who have the file open: they read the new content, as on POSIX.
  node->content.clear();
  return node;
}

absl::StatusOr<std::unique_ptr<WritableFile>> MemoryFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<MemoryNode> node, CreateNode(path));
  return std::unique_ptr<WritableFile>(
      std::make_unique<MemoryWritableFile>(this, path, std::move(node), options.mode));
}

// A second name for the node: bytes appended through one are seen through the other.
absl::Status MemoryFileSystem::Link(const std::string& from, const std::string& to) {
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry source, FindEntry(root_, from));
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry target, FindEntry(root_, to));
  const std::shared_ptr<MemoryNode> node = source.node();
  if (node == nullptr) return NotFound(from);
  if (node->is_directory) return IsADirectory(from);
  // Links never replace, unlike renames.
  if (target.node() != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(to, ": File exists"));
  }
  target.directory->entries[target.name] = node;
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::Rename(const std::string& from, const std::string& to) {
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry source, FindEntry(root_, from));
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry target, FindEntry(root_, to));
  const std::shared_ptr<MemoryNode> node = source.node();
  const std::shared_ptr<MemoryNode> replaced = target.node();
  if (node == nullptr) return NotFound(from);
  // As rename(2): two names of one file both stay.
  if (node == replaced) return absl::OkStatus();
  if (replaced != nullptr && replaced->is_directory) return IsADirectory(to);
  if (replaced != nullptr && node->is_directory) return NotADirectory(to);
  // A directory below itself would be a cycle that nothing but its own entries reaches.
  const std::vector<std::string> from_names = SplitPath(from);
  const std::vector<std::string> to_names = SplitPath(to);
  if (to_names.size() > from_names.size() &&
      std::equal(from_names.begin(), from_names.end(), to_names.begin())) {
    return absl::InvalidArgumentError(absl::StrCat(from, ": cannot move into itself: ", to));
  }
  // Both under one lock: nobody sees the file under two names, or under none.
  source.directory->entries.erase(source.name);
  target.directory->entries[target.name] = node;
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::RemoveEntry(const std::string& path, bool is_directory) {
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry entry, FindEntry(root_, path));
  const std::shared_ptr<MemoryNode> node = entry.node();
  if (node == nullptr) return NotFound(path);
  if (node->is_directory != is_directory) {
    return is_directory ? NotADirectory(path) : IsADirectory(path);
  }
  if (!node->entries.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": Directory not empty"));
  }
  // Only the name goes: open files and other names keep the node alive.
  entry.directory->entries.erase(entry.name);
  return absl::OkStatus();
}

absl::Status MemoryFileSystem::Remove(const std::string& path) { return RemoveEntry(path, false); }

absl::Status MemoryFileSystem::RemoveDirectory(const std::string& path) {
  return RemoveEntry(path, true);
}

// Goes down from the root and makes what is missing; directories made before an error stay, as with
// mkdir -p.
absl::Status MemoryFileSystem::CreateDirectories(const std::string& path) {
  MutexLock lock(&mutex_);
  std::string prefix;
  std::shared_ptr<MemoryNode> directory = root_;
  for (const std::string& name : SplitPath(path)) {
    absl::StrAppend(&prefix, "/", name);
    std::shared_ptr<MemoryNode>& child = directory->entries[name];
    if (child == nullptr) {
      child = std::make_shared<MemoryNode>();
      child->id = next_id_++;
      child->is_directory = true;
    }
    if (!child->is_directory) return NotADirectory(prefix);
    directory = child;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> MemoryFileSystem::List(const std::string& directory) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, directory);
  if (node == nullptr) return NotFound(directory);
  if (!node->is_directory) return NotADirectory(directory);
  std::vector<std::string> names;
  // In the order of the names, which the interface does not promise.
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

// Nothing in memory can fail to be looked at: a StatusOr for the sake of the interface.
absl::StatusOr<bool> MemoryFileSystem::Exists(const std::string& path) {
  MutexLock lock(&mutex_);
  return FindNode(root_, path) != nullptr;
}

// Something missing is no directory, and no error.
absl::StatusOr<bool> MemoryFileSystem::IsDirectory(const std::string& path) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  return node != nullptr && node->is_directory;
}

absl::StatusOr<uint64_t> MemoryFileSystem::FileSize(const std::string& path) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) return NotFound(path);
  if (node->is_directory) return IsADirectory(path);
  return node->content.size();
}

absl::StatusOr<FileIdentity> MemoryFileSystem::Identify(const std::string& path) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) return NotFound(path);
  return FileIdentity{0, node->id, node->content.size()};
}

// Memory survives nothing, so that there is nothing to do but to refuse what POSIX would refuse.
absl::Status MemoryFileSystem::SyncFile(const std::string& path) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) return NotFound(path);
  return node->is_directory ? IsADirectory(path) : absl::OkStatus();
}

absl::Status MemoryFileSystem::SyncDirectory(const std::string& directory) {
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, directory);
  if (node == nullptr) return NotFound(directory);
  return node->is_directory ? absl::OkStatus() : NotADirectory(directory);
}

absl::StatusOr<std::unique_ptr<FileLock>> MemoryFileSystem::Lock(const std::string& path) {
  MutexLock lock(&mutex_);
  std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) {
    // Not for a file that exists: CreateNode would truncate it.
    WINNOW_ASSIGN_OR_RETURN(node, CreateNode(path));
  }
  if (node->is_directory) return IsADirectory(path);
  // By identity, not by path: another spelling or another name is the same file.
  if (!locked_.insert(node->id).second) {
    return absl::FailedPreconditionError(absl::StrCat(
        "lock ", path, ": held by process ", ::getpid(), "; a database can be open only once"));
  }
  return std::unique_ptr<FileLock>(std::make_unique<MemoryFileLock>(this, node->id));
}

void MemoryFileSystem::Unlock(uint64_t node) {
  MutexLock lock(&mutex_);
  // The file stays, as it does on disk.
  locked_.erase(node);
}

std::unique_ptr<FileSystem> NewMemoryFileSystem() {
  return std::make_unique<MemoryFileSystem>(NewMemoryRoot());
}

}  // namespace winnow
