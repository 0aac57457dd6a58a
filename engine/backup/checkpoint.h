// A database's state at one moment, written to another directory.
#ifndef WINNOW_ENGINE_BACKUP_CHECKPOINT_H_
#define WINNOW_ENGINE_BACKUP_CHECKPOINT_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/version/file_names.h"
#include "engine/version/version.h"
#include "engine/version/version_edit.h"

namespace winnow {

// What makes up the database at one moment. Table files stay as long as `versions` are held; logs
// as long as their removal is paused.
struct CheckpointContents {
  VersionEdit snapshot;
  uint64_t manifest_number = 0;
  std::vector<std::shared_ptr<const Version>> versions;
  std::map<uint64_t, uint64_t> logs;           // number -> bytes that count
  std::map<uint64_t, uint64_t> log_checksums;  // by number; known once they have been copied
};

// Puts a file of a table into the other directory: links or copies it. `type` says which, the table
// itself or its filter file.
using PlaceSstable = std::function<absl::Status(const SstableFile& table, FileType type,
                                                const std::string& from, const std::string& to)>;

// Writes the contents of the database in `from` to the directory `to`, which must be missing or
// empty, and which nobody else may write to meanwhile, or AlreadyExists. CURRENT comes last: after
// a power failure there is either a whole database or none. On an error what was written is
// removed.
absl::Status WriteCheckpoint(FileSystem& file_system, const std::string& from,
                             const std::string& to, const PlaceSstable& place_sstable,
                             CheckpointContents* contents);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BACKUP_CHECKPOINT_H_
