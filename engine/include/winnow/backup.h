// Backups: whole copies of a database in one backup directory, each a directory of its own that
// could be opened as it is. Tables that an earlier backup holds already are shared with it by hard
// links, so that a further backup takes the space of what has changed. Each file that is shared is
// read once and compared with its checksum; one that has been damaged in the last backup is copied
// anew from the database. Made with DB::BackupTo.
#ifndef WINNOW_BACKUP_H_
#define WINNOW_BACKUP_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/options.h"
#include "winnow/verify.h"

namespace winnow {

struct BackupInfo {
  uint64_t id = 0;
  int64_t created_seconds = 0;  // since 1970
  uint64_t num_files = 0;
  uint64_t bytes = 0;      // of all its files
  uint64_t new_bytes = 0;  // of those, copied for this backup; known only where it was made
  absl::Status status;     // an error: its list of files is damaged, and only its number is known
};

// The backups in `backup_directory`, oldest first, damaged ones among them; ones that were not
// finished are left out. Uses options.file_system only, as do the functions below.
absl::StatusOr<std::vector<BackupInfo>> ListBackups(const Options& options,
                                                    const std::string& backup_directory);

// Reads every byte of a backup and compares it with the checksums that were recorded when it was
// made. One entry for each problem found; empty means sound. An error means that nothing could be
// checked: NotFound if there is no such backup, DataLoss if its list of files is damaged.
absl::StatusOr<std::vector<VerifyProblem>> VerifyBackup(const Options& options,
                                                        const std::string& backup_directory,
                                                        uint64_t id);

// Copies backup `id` (0: the newest) to the directory `path`, which must be missing or empty, and
// checks every byte on the way. DataLoss names a damaged file. After an error nothing is left in
// `path`; after a power failure there is no database in it, or a whole one. AlreadyExists:
// something is there, or being written there; it stays as it is.
absl::Status RestoreBackup(const Options& options, const std::string& backup_directory, uint64_t id,
                           const std::string& path);

}  // namespace winnow

#endif  // WINNOW_BACKUP_H_
