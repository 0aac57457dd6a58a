#include "engine/db/observed_file_system.h"

#include <utility>

#include "engine/version/file_names.h"

namespace winnow {

ObservedFileSystem::ObservedFileSystem(FileSystem* base, std::string directory, EventQueue* events)
    : base_(base), directory_(std::move(directory) + "/"), events_(events) {}

void ObservedFileSystem::TellOf(Event::Kind kind, const std::string& path) {
  if (!path.starts_with(directory_)) return;
  FileType type;
  uint64_t number;
  if (!ParseFileName(std::string_view(path).substr(directory_.size()), &type, &number)) return;
  if (type != FileType::kTable && type != FileType::kLog && type != FileType::kManifest) return;
  Event event;
  event.kind = kind;
  event.path = path;
  events_->Add(std::move(event));
}

absl::StatusOr<std::unique_ptr<RandomAccessFile>> ObservedFileSystem::OpenRandomAccess(
    const std::string& path) {
  return base_->OpenRandomAccess(path);
}

absl::StatusOr<std::unique_ptr<WritableFile>> ObservedFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  auto created = base_->Create(path, options);
  if (created.ok()) TellOf(Event::Kind::kFileCreated, path);
  return created;
}

absl::Status ObservedFileSystem::Link(const std::string& from, const std::string& to) {
  return base_->Link(from, to);
}

absl::Status ObservedFileSystem::Rename(const std::string& from, const std::string& to) {
  return base_->Rename(from, to);
}

absl::Status ObservedFileSystem::Remove(const std::string& path) {
  absl::Status removed = base_->Remove(path);
  if (removed.ok()) TellOf(Event::Kind::kFileRemoved, path);
  return removed;
}

absl::Status ObservedFileSystem::CreateDirectories(const std::string& path) {
  return base_->CreateDirectories(path);
}

absl::Status ObservedFileSystem::RemoveDirectory(const std::string& path) {
  return base_->RemoveDirectory(path);
}

absl::StatusOr<std::vector<std::string>> ObservedFileSystem::List(const std::string& directory) {
  return base_->List(directory);
}

absl::StatusOr<bool> ObservedFileSystem::Exists(const std::string& path) {
  return base_->Exists(path);
}

absl::StatusOr<bool> ObservedFileSystem::IsDirectory(const std::string& path) {
  return base_->IsDirectory(path);
}

absl::StatusOr<uint64_t> ObservedFileSystem::FileSize(const std::string& path) {
  return base_->FileSize(path);
}

absl::Status ObservedFileSystem::SyncDirectory(const std::string& directory) {
  return base_->SyncDirectory(directory);
}

absl::StatusOr<std::unique_ptr<FileLock>> ObservedFileSystem::Lock(const std::string& path) {
  return base_->Lock(path);
}

}  // namespace winnow
