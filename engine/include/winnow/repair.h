// Makes a damaged database open again, with everything that can still be read.
#ifndef WINNOW_REPAIR_H_
#define WINNOW_REPAIR_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "winnow/options.h"

namespace winnow {

struct RepairReport {
  bool manifest_rebuilt = false;  // it, or CURRENT, could not be read: all SSTables were taken
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;   // damaged ones of which something could be read
  uint64_t tables_lost = 0;        // of which nothing could be read, or that are missing
  uint64_t entries_rescued = 0;    // written to new SSTables
  std::vector<std::string> notes;  // what was found, a sentence each; empty: nothing was wrong
};

// Repairs the closed database in `path`: sound SSTables stay, readable entries of damaged ones are
// written to new ones, logs are replayed as far as they can be read, and a new manifest is written.
// Deletes nothing: what it replaces goes to the directory `path`/lost. Where the manifest is sound
// the answers afterwards are those of before, less what was in damaged places. Where it is not, the
// SSTables that happen to be there decide: one that a compaction had replaced, and that was not
// removed yet, can bring back what was overwritten or deleted. A database that is sound stays as it
// is. A write-ahead log under another's name is replayed as the one that it says it is, if that is
// missing. What earlier openings have set aside (*.log.damaged, *.log.unread) is not replayed: it
// would win over what has been written since. `winnow replay` does that if it is wanted.
//
// Column families get what the manifest, or else their SSTables, say of them. Comparators other
// than the default must be in `options`.
//
// NotFound: no file of a database there. FailedPrecondition: it is open, another comparator, a
// newer format. ResourceExhausted: no memory, descriptors or space; nothing was given up for that.
// Running it again after a failure or a crash is safe.
absl::StatusOr<RepairReport> RepairDatabase(const Options& options, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_REPAIR_H_
