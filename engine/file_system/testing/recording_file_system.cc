#include "engine/file_system/testing/recording_file_system.h"

#include <map>

#include <algorithm>
#include <utility>

#include "engine/base/status.h"
#include "engine/file_system/testing/recording_files.h"

namespace winnow {

namespace {

// By identity: a file with two names is copied once, and both names show the copy.
std::shared_ptr<MemoryNode> CopyNode(const MemoryNode& node,
                                     std::map<uint64_t, std::shared_ptr<MemoryNode>>& copies) {
  std::shared_ptr<MemoryNode>& copy = copies[node.id];
  if (copy != nullptr) return copy;  // another name of the same file
  copy = std::make_shared<MemoryNode>();
  copy->id = node.id;
  copy->is_directory = node.is_directory;
  copy->content = node.content;
  for (const auto& [name, entry] : node.entries) copy->entries[name] = CopyNode(*entry, copies);
  return copy;
}

// A deep copy, ids included; names of one file stay names of one file.
std::shared_ptr<MemoryNode> CopyTree(const MemoryNode& root) {
  std::map<uint64_t, std::shared_ptr<MemoryNode>> copies;
  return CopyNode(root, copies);
}

}  // namespace

using Kind = FileOperation::Kind;

RecordingFileSystem::RecordingFileSystem() : RecordingFileSystem(NewMemoryRoot()) {}

RecordingFileSystem::RecordingFileSystem(std::shared_ptr<MemoryNode> root)
    : root_(std::move(root)), memory_(root_), base_(CopyTree(*root_)) {}

// Every operation asks here first. One that is refused has not happened: nothing is changed and
// nothing recorded, like a system call that fails at once.
absl::Status RecordingFileSystem::Allow(const FileOperation& operation) const {
  // Copied under the lock and called without it: hooks wait for other threads, and write
  // themselves.
  std::shared_ptr<const ErrorHook> hook;
  {
    MutexLock lock(&mutex_);
    hook = error_hook_;
  }
  return hook == nullptr ? absl::OkStatus() : (*hook)(operation);
}

// Shared and never changed, so that StateAfterCrash copies pointers and not contents.
void RecordingFileSystem::Record(RecordedOperation recorded) {
  if (!recording_) return;
  operations_.push_back(std::make_shared<const RecordedOperation>(std::move(recorded)));
}

// Identities and not paths are recorded: what a path names changes with each rename, and an open
// file outlives its name.
uint64_t RecordingFileSystem::IdOf(const std::string& path) const {
  const std::shared_ptr<MemoryNode> node = FindNode(root_, path);
  return node == nullptr ? 0 : node->id;
}

RecordedOperation::Place RecordingFileSystem::PlaceOf(const std::string& path) const {
  absl::StatusOr<MemoryEntry> entry = FindEntry(root_, path);
  if (!entry.ok()) return {};
  return {entry->directory->id, std::move(entry->name)};
}

// The record has the order in which the changes really happened, since both are made under one
// lock. What failed is not recorded.
absl::Status RecordingFileSystem::Perform(FileOperation operation, uint64_t node,
                                          absl::FunctionRef<absl::Status()> perform) {
  MutexLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(perform());
  RecordedOperation recorded;
  recorded.operation = std::move(operation);
  recorded.node = node;
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> RecordingFileSystem::OpenRandomAccess(
    const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kOpenForReading, path, {}, {}, 0, 0}));
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<RandomAccessFile> file, memory_.OpenRandomAccess(path));
  return std::unique_ptr<RandomAccessFile>(
      std::make_unique<RecordingRandomAccessFile>(this, path, std::move(file)));
}

absl::StatusOr<std::unique_ptr<WritableFile>> RecordingFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kCreate, path, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  // A new file is a change of its directory; truncating one that exists is a change of the file.
  recorded.is_new = IdOf(path) == 0;
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<WritableFile> file, memory_.Create(path, options));
  // The file has its identity from here on, under whatever name it will have.
  const uint64_t node = IdOf(path);
  recorded.node = node;
  recorded.log_mode = options.mode == WritableFileOptions::Mode::kLog;
  recorded.place = PlaceOf(path);
  const bool log_mode = recorded.log_mode;
  Record(std::move(recorded));
  return std::unique_ptr<WritableFile>(
      std::make_unique<RecordingWritableFile>(this, path, node, std::move(file), log_mode));
}

absl::Status RecordingFileSystem::Link(const std::string& from, const std::string& to) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kLink, from, to, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  // Identities are looked up after the change here, and before it where the change takes the name
  // away.
  WINNOW_RETURN_IF_ERROR(memory_.Link(from, to));
  recorded.node = IdOf(to);
  recorded.place = PlaceOf(from);
  recorded.target_place = PlaceOf(to);
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::Rename(const std::string& from, const std::string& to) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kRename, from, to, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  // rename(2) of two names of one file does nothing: no crash may see an effect of it.
  const bool is_change = IdOf(from) != IdOf(to);
  WINNOW_RETURN_IF_ERROR(memory_.Rename(from, to));
  if (!is_change) return absl::OkStatus();
  recorded.node = IdOf(to);
  recorded.place = PlaceOf(from);
  recorded.target_place = PlaceOf(to);
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::Status RecordingFileSystem::RemoveEntry(Kind kind, const std::string& path) {
  RecordedOperation recorded;
  recorded.operation = {kind, path, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  recorded.node = IdOf(path);
  recorded.place = PlaceOf(path);
  WINNOW_RETURN_IF_ERROR(kind == Kind::kRemove ? memory_.Remove(path)
                                               : memory_.RemoveDirectory(path));
  Record(std::move(recorded));
  return absl::OkStatus();
}

// Two kinds of record, so that error hooks can tell them apart; to the model they are one.
absl::Status RecordingFileSystem::Remove(const std::string& path) {
  return RemoveEntry(Kind::kRemove, path);
}

absl::Status RecordingFileSystem::RemoveDirectory(const std::string& path) {
  return RemoveEntry(Kind::kRemoveDirectory, path);
}

// One record for each directory that is made: a crash may keep some of them and lose others.
absl::Status RecordingFileSystem::CreateDirectories(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kCreateDirectory, path, {}, {}, 0, 0}));
  MutexLock lock(&mutex_);
  std::string prefix;
  for (const std::string& name : SplitPath(path)) {
    absl::StrAppend(&prefix, "/", name);
    const bool is_new = IdOf(prefix) == 0;
    WINNOW_RETURN_IF_ERROR(memory_.CreateDirectories(prefix));
    // What exists is no change, and its durability is not in question.
    if (!is_new) continue;
    RecordedOperation recorded;
    recorded.operation = {Kind::kCreateDirectory, prefix, {}, {}, 0, 0};
    recorded.node = IdOf(prefix);
    recorded.place = PlaceOf(prefix);
    Record(std::move(recorded));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> RecordingFileSystem::List(const std::string& directory) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kList, directory, {}, {}, 0, 0}));
  // Calls that only look ask the hook and leave no record: no crash could tell.
  return memory_.List(directory);
}

absl::StatusOr<bool> RecordingFileSystem::Exists(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kInspect, path, {}, {}, 0, 0}));
  return memory_.Exists(path);
}

absl::StatusOr<bool> RecordingFileSystem::IsDirectory(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kInspect, path, {}, {}, 0, 0}));
  return memory_.IsDirectory(path);
}

absl::StatusOr<uint64_t> RecordingFileSystem::FileSize(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kInspect, path, {}, {}, 0, 0}));
  return memory_.FileSize(path);
}

absl::Status RecordingFileSystem::SyncDirectory(const std::string& directory) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kSyncDirectory, directory, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(memory_.SyncDirectory(directory));
  recorded.node = IdOf(directory);
  Record(std::move(recorded));
  return absl::OkStatus();
}

// Changes nothing and is no part of what a crash or an error could meet: not recorded, never
// failed.
absl::StatusOr<FileIdentity> RecordingFileSystem::Identify(const std::string& path) {
  return memory_.Identify(path);
}

absl::Status RecordingFileSystem::SyncFile(const std::string& path) {
  RecordedOperation recorded;
  recorded.operation = {Kind::kSync, path, {}, {}, 0, 0};
  WINNOW_RETURN_IF_ERROR(Allow(recorded.operation));
  MutexLock lock(&mutex_);
  WINNOW_RETURN_IF_ERROR(memory_.SyncFile(path));
  recorded.node = IdOf(path);
  Record(std::move(recorded));
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FileLock>> RecordingFileSystem::Lock(const std::string& path) {
  WINNOW_RETURN_IF_ERROR(Allow({Kind::kLock, path, {}, {}, 0, 0}));
  MutexLock lock(&mutex_);
  const bool is_new = IdOf(path) == 0;
  WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<FileLock> file_lock, memory_.Lock(path));
  // Locking changes nothing on disk; the file that it makes where there was none is a change.
  if (is_new) {
    RecordedOperation recorded;
    recorded.operation = {Kind::kCreate, path, {}, {}, 0, 0};
    recorded.node = IdOf(path);
    recorded.is_new = true;
    recorded.place = PlaceOf(path);
    Record(std::move(recorded));
  }
  return file_lock;
}

size_t RecordingFileSystem::num_operations() const {
  MutexLock lock(&mutex_);
  return operations_.size();
}

FileOperation RecordingFileSystem::operation(size_t index) const {
  MutexLock lock(&mutex_);
  return operations_.at(index)->operation;
}

std::unique_ptr<RecordingFileSystem> RecordingFileSystem::StateAfterCrash(
    size_t num_operations, const CrashChoice& choice) const {
  // The records and their base never change once made, so that they are replayed without the lock.
  std::shared_ptr<const MemoryNode> base;
  Operations operations;
  {
    MutexLock lock(&mutex_);
    base = base_;
    operations.assign(operations_.begin(),
                      operations_.begin() + static_cast<std::ptrdiff_t>(
                                                std::min(num_operations, operations_.size())));
  }
  // From the base each time: any prefix may be asked for, in any order.
  DiskModel disk(*base);
  for (const std::shared_ptr<const RecordedOperation>& recorded : operations) {
    disk.Apply(*recorded);
  }
  // A tree of its own: what is done to it shows neither here nor in other states.
  return std::make_unique<RecordingFileSystem>(disk.Crash(choice));
}

void RecordingFileSystem::set_recording(bool recording) {
  MutexLock lock(&mutex_);
  recording_ = recording;
  // Operations and base belong together: the one is replayed on the other.
  operations_.clear();
  // All that is there now counts as durable.
  base_ = CopyTree(*root_);
}

void RecordingFileSystem::set_error_hook(ErrorHook hook) {
  MutexLock lock(&mutex_);
  error_hook_ = hook == nullptr ? nullptr : std::make_shared<const ErrorHook>(std::move(hook));
}

}  // namespace winnow
