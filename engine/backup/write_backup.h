// Making a backup of an open database. Listing, verifying and restoring are public functions
// (winnow/backup.h).
#ifndef WINNOW_ENGINE_BACKUP_WRITE_BACKUP_H_
#define WINNOW_ENGINE_BACKUP_WRITE_BACKUP_H_

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "engine/backup/checkpoint.h"
#include "winnow/backup.h"
#include "winnow/file_system.h"

namespace winnow {

// Writes the database's present contents to a directory, as WriteCheckpoint does, and says what
// they were.
using CopyDatabaseTo = std::function<absl::Status(
    const std::string& directory, const PlaceSstable& place_sstable, CheckpointContents* contents)>;

// Adds a backup to the directory, which is created if it is missing. SSTables that the backup
// before holds are linked to it instead of copied, if they are what was copied then; each copy is
// verified.
absl::StatusOr<BackupInfo> WriteBackup(FileSystem& file_system, const std::string& backup_directory,
                                       const CopyDatabaseTo& copy_database_to);

}  // namespace winnow

#endif  // WINNOW_ENGINE_BACKUP_WRITE_BACKUP_H_
