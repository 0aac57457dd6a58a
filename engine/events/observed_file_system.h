// Tells of each file of a database that is created or removed.
#ifndef WINNOW_ENGINE_EVENTS_OBSERVED_FILE_SYSTEM_H_
#define WINNOW_ENGINE_EVENTS_OBSERVED_FILE_SYSTEM_H_

#include <memory>
#include <string>

#include "engine/events/event_queue.h"
#include "engine/file_system/forwarding_file_system.h"

namespace winnow {

// Both arguments must outlive it.
class ObservedFileSystem final : public ForwardingFileSystem {
 public:
  // Only SSTables, write-ahead logs and manifests in `directory` are reported.
  ObservedFileSystem(FileSystem* base, std::string directory, EventQueue* events);

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path,
                                                       const WritableFileOptions& options) override;
  absl::Status Remove(const std::string& path) override;

 private:
  void Notify(Event::Kind kind, const std::string& path);

  const std::string directory_;  // ends in "/"
  EventQueue* const events_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_EVENTS_OBSERVED_FILE_SYSTEM_H_
