#include "engine/file_system/recording_file_system.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/base/status.h"
#include "engine/file_system/memory_files.h"

namespace winnow {

using Kind = FileOperation::Kind;

namespace {

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

RecordingFileSystem::RecordingFileSystem(std::shared_ptr<MemoryNode> root)
    : root_(std::move(root)), next_id_(LargestId(*root_) + 1), base_(CopyTree(*root_)) {}

absl::Status RecordingFileSystem::Allow(const FileOperation& operation) const {
  std::shared_ptr<const ErrorHook> hook;
  {
    MutexLock lock(&mutex_);
    hook = error_hook_;
  }
  return hook == nullptr ? absl::OkStatus() : (*hook)(operation);
}

void RecordingFileSystem::Record(RecordedOperation recorded) {
  if (!recording_) return;
  operations_.push_back(std::make_shared<const RecordedOperation>(std::move(recorded)));
}

void RecordingFileSystem::RecordFileOperation(FileOperation operation, MemoryNode& node,
                                              std::string_view new_bytes) {
  MutexLock lock(&mutex_);
  node.content.append(new_bytes);
  RecordedOperation recorded;
  recorded.operation = std::move(operation);
  recorded.node = node.id;
  Record(std::move(recorded));
}

size_t RecordingFileSystem::ReadContent(const MemoryNode& node, uint64_t offset, size_t length,
                                        char* buffer) const {
  MutexLock lock(&mutex_);
  if (offset >= node.content.size()) return 0;
  length = std::min<size_t>(length, node.content.size() - offset);
  std::memcpy(buffer, node.content.data() + offset, length);
  return length;
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RecordingFileSystem::OpenRandomAccess(
    const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<MemoryNode> node,
                          Inspect(Kind::kOpenForReading, path));
  if (node == nullptr) return NotFound(path);
  if (node->is_directory) return IsADirectory(path);
  MutexLock lock(&mutex_);
  return std::unique_ptr<RandomAccessFile>(
      std::make_unique<MemoryRandomAccessFile>(this, path, node, node->content.size()));
}

absl::StatusOr<std::shared_ptr<MemoryNode>> RecordingFileSystem::CreateNode(const std::string& path,
                                                                            bool log_mode) {
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry entry, FindEntry(root_, path));
  std::shared_ptr<MemoryNode> node = entry.node();
  const bool is_new = node == nullptr;
  if (is_new) {
    node = std::make_shared<MemoryNode>();
    node->id = next_id_++;
    entry.directory->entries[entry.name] = node;
  } else if (node->is_directory) {
    return IsADirectory(path);
  }
  node->content.clear();
  RecordedOperation recorded;
  recorded.operation = {Kind::kCreate, path, {}, {}, 0, 0};
  recorded.node = node->id;
  recorded.is_new = is_new;
  recorded.log_mode = log_mode;
  recorded.place = {entry.directory->id, entry.name};
  Record(std::move(recorded));
  return node;
}

absl::StatusOr<std::unique_ptr<WritableFile>> RecordingFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kCreate, path, {}, {}, 0, 0}));
  const bool log_mode = options.mode == WritableFileOptions::Mode::kLog;
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(std::shared_ptr<MemoryNode> node, CreateNode(path, log_mode));
  return std::unique_ptr<WritableFile>(
      std::make_unique<MemoryWritableFile>(this, path, std::move(node), log_mode));
}

absl::Status RecordingFileSystem::Link(const std::string& from, const std::string& to) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kLink, from, to, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry source, FindEntry(root_, from));
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry target, FindEntry(root_, to));
  const std::shared_ptr<MemoryNode> node = source.node();
  if (node == nullptr) return NotFound(from);
  if (node->is_directory) return IsADirectory(from);
  if (target.node() != nullptr) {
    return absl::AlreadyExistsError(absl::StrCat(to, ": File exists"));
  }
  target.directory->entries[target.name] = node;
  recorded.node = node->id;
  recorded.place = {source.directory->id, source.name};
  recorded.target_place = {target.directory->id, target.name};
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::Rename(const std::string& from, const std::string& to) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kRename, from, to, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry source, FindEntry(root_, from));
  WINNOW_ASSIGN_OR_RETURN(const MemoryEntry target, FindEntry(root_, to));
  const std::shared_ptr<MemoryNode> node = source.node();
  const std::shared_ptr<MemoryNode> replaced = target.node();
  if (node == nullptr) return NotFound(from);
  if (node == replaced) return absl::OkStatus();
  if (replaced != nullptr && replaced->is_directory) return IsADirectory(to);
  if (replaced != nullptr && node->is_directory) return NotADirectory(to);
  const std::vector<std::string> from_names = SplitPath(from);
  const std::vector<std::string> to_names = SplitPath(to);
  if (to_names.size() > from_names.size() &&
      std::equal(from_names.begin(), from_names.end(), to_names.begin())) {
    return absl::InvalidArgumentError(absl::StrCat(from, ": cannot move into itself: ", to));
  }
  source.directory->entries.erase(source.name);
  target.directory->entries[target.name] = node;
  recorded.node = node->id;
  recorded.place = {source.directory->id, source.name};
  recorded.target_place = {target.directory->id, target.name};
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::RemoveEntry(Kind kind, const std::string& path,
                                              bool is_directory) {
  RecordedOperation recorded;
  recorded.operation = {kind, path, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
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
  entry.directory->entries.erase(entry.name);
  recorded.node = node->id;
  recorded.place = {entry.directory->id, entry.name};
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::Remove(const std::string& path) {
  return RemoveEntry(Kind::kRemove, path, false);
}

absl::Status RecordingFileSystem::RemoveDirectory(const std::string& path) {
  return RemoveEntry(Kind::kRemoveDirectory, path, true);
}

absl::Status RecordingFileSystem::CreateDirectories(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kCreateDirectory, path, {}, {}, 0, 0}));
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
      RecordedOperation recorded;
      recorded.operation = {Kind::kCreateDirectory, prefix, {}, {}, 0, 0};
      recorded.node = child->id;
      recorded.place = {directory->id, name};
      Record(std::move(recorded));
    }
    if (!child->is_directory) return NotADirectory(prefix);
    directory = child;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::shared_ptr<MemoryNode>> RecordingFileSystem::Inspect(
    Kind kind, const std::string& path) const {
  WINNOW_RETURN_IF_ERROR(Allow({kind, path, {}, {}, 0, 0}));
  MutexLock lock(&mutex_);
  return FindNode(root_, path);
}

absl::StatusOr<std::vector<std::string>> RecordingFileSystem::List(const std::string& directory) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<MemoryNode> node, Inspect(Kind::kList, directory));
  if (node == nullptr) return NotFound(directory);
  if (!node->is_directory) return NotADirectory(directory);
  std::vector<std::string> names;
  MutexLock lock(&mutex_);
  for (const auto& [name, child] : node->entries) names.push_back(name);
  return names;
}

absl::StatusOr<bool> RecordingFileSystem::Exists(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<MemoryNode> node, Inspect(Kind::kInspect, path));
  return node != nullptr;
}

absl::StatusOr<bool> RecordingFileSystem::IsDirectory(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<MemoryNode> node, Inspect(Kind::kInspect, path));
  return node != nullptr && node->is_directory;
}

absl::StatusOr<uint64_t> RecordingFileSystem::FileSize(const std::string& path) {
  WINNOW_ASSIGN_OR_RETURN(const std::shared_ptr<MemoryNode> node, Inspect(Kind::kInspect, path));
  if (node == nullptr) return NotFound(path);
  if (node->is_directory) return IsADirectory(path);
  MutexLock lock(&mutex_);
  return node->content.size();
}

absl::Status RecordingFileSystem::SyncDirectory(const std::string& directory) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kSyncDirectory, directory, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  const std::shared_ptr<MemoryNode> node = FindNode(root_, directory);
  if (node == nullptr) return NotFound(directory);
  if (!node->is_directory) return NotADirectory(directory);
  recorded.node = node->id;
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> RecordingFileSystem::Lock(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kLock, path, {}, {}, 0, 0}));
  MutexLock lock(&mutex_);
  std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  if (node == nullptr) {
    WINNOW_ASSIGN_OR_RETURN(node, CreateNode(path, false));
  }
  if (node->is_directory) return IsADirectory(path);
  if (!locked_.insert(node->id).second) {
    return absl::FailedPreconditionError(absl::StrCat(path, ": locked by process ", ::getpid(),
                                                      "; a database can be open only once"));
  }
  return std::unique_ptr<FileLock>(std::make_unique<MemoryFileLock>(this, node->id));
}

void RecordingFileSystem::Unlock(uint64_t node) {
  MutexLock lock(&mutex_);
  locked_.erase(node);
}

size_t RecordingFileSystem::num_operations() const {
  MutexLock lock(&mutex_);
  return operations_.size();
}

FileOperation RecordingFileSystem::operation(size_t index) const {
  MutexLock lock(&mutex_);
  return operations_.at(index)->operation;
}

std::unique_ptr<MemoryFileSystem> RecordingFileSystem::StateAfterCrash(
    size_t num_operations, const CrashChoice& choice) const {
  std::shared_ptr<const MemoryNode> base;
  Operations operations;
  {
    MutexLock lock(&mutex_);
    base = base_;
    operations.assign(operations_.begin(),
                      operations_.begin() + static_cast<std::ptrdiff_t>(
                                                std::min(num_operations, operations_.size())));
  }
  DiskModel disk(*base);
  for (const std::shared_ptr<const RecordedOperation>& recorded : operations) {
    disk.Apply(*recorded);
  }
  return std::make_unique<RecordingFileSystem>(disk.Crash(choice));
}

void RecordingFileSystem::set_recording(bool recording) {
  MutexLock lock(&mutex_);
  recording_ = recording;
  operations_.clear();
  base_ = CopyTree(*root_);
}

void RecordingFileSystem::set_error_hook(ErrorHook hook) {
  MutexLock lock(&mutex_);
  error_hook_ = hook == nullptr ? nullptr : std::make_shared<const ErrorHook>(std::move(hook));
}

std::unique_ptr<MemoryFileSystem> NewMemoryFileSystem() {
  auto root = std::make_shared<MemoryNode>();
  root->id = 1;
  root->is_directory = true;
  return std::make_unique<RecordingFileSystem>(std::move(root));
}

}  // namespace winnow
