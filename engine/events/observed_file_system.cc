#include "engine/events/observed_file_system.h"

#include <utility>

#include "engine/version/file_names.h"

namespace winnow {

ObservedFileSystem::ObservedFileSystem(FileSystem* base, std::string directory, EventQueue* events)
    : ForwardingFileSystem(base), directory_(std::move(directory) + "/"), events_(events) {}

// Copies in checkpoints and backups lie elsewhere and are not reported; nor are CURRENT, LOCK and
// temporary files, which say nothing about the database's content. The file has been made or
// removed when the event is added; who adds it may hold locks, and EventQueue::Add allows that.
void ObservedFileSystem::Notify(Event::Kind kind, const std::string& path) {
  // With the slash at its end, so that a sibling whose name begins alike is another directory.
  if (!path.starts_with(directory_)) return;
  FileType type;
  uint64_t number;
  if (!ParseFileName(std::string_view(path).substr(directory_.size()), &type, &number)) return;
  if (type != FileType::kSstable && type != FileType::kFilterFile && type != FileType::kLog &&
      type != FileType::kManifest) {
    return;
  }
  Event event;
  event.kind = kind;
  event.path = path;
  events_->Add(std::move(event));
}

absl::StatusOr<std::unique_ptr<WritableFile>> ObservedFileSystem::Create(
    const std::string& path, const WritableFileOptions& options) {
  // The files that are reported get their names by Create, never by Rename or Link: nothing else is
  // watched.
  auto created = target().Create(path, options);
  if (created.ok()) Notify(Event::Kind::kFileCreated, path);
  return created;
}

absl::Status ObservedFileSystem::Remove(const std::string& path) {
  absl::Status removed = target().Remove(path);
  if (removed.ok()) Notify(Event::Kind::kFileRemoved, path);
  return removed;
}

}  // namespace winnow
