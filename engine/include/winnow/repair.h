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
  // No manifest could be read, or the best one is older than the SSTables: what they say of
  // themselves decided.
  bool manifest_rebuilt = false;
  uint64_t tables_kept = 0;
  uint64_t tables_rewritten = 0;   // damaged ones of which something could be read
  uint64_t tables_lost = 0;        // of which nothing could be read, or that are missing
  uint64_t tables_set_aside = 0;   // sound, but of another database, given up, or copies
  uint64_t entries_rescued = 0;    // written to new SSTables
  uint64_t entries_replayed = 0;   // once more, for families with lost or damaged tables
  std::vector<std::string> notes;  // what was found, a sentence each; empty: nothing was wrong
};

// Repairs the closed database in `path`: sound SSTables stay, readable entries of damaged ones are
// written to new ones, logs are replayed as far as they can be read, and a new manifest is written.
// Deletes nothing: what it replaces or does not use goes to the directory `path`/lost. A database
// that is sound stays as it is.
//
// What is in a file counts, not how it is named: SSTables are known by their identities, manifests
// by how much they know. The newest manifest of this database is taken, whatever CURRENT says. An
// SSTable whose end is missing or misplaced is searched for its blocks; if nothing of its end is
// left, its start or a manifest must name its identity. A log of another database is set aside.
//
// Where that manifest names SSTables or a log that are not there, or does not know SSTables that
// are younger, it is older than they are. Then the SSTables decide: those of a column family are
// merged in the order of their sequence numbers, which needs as much space as they take, and logs
// are merged with them. Where it is sound the answers afterwards are those of before, less what was
// in damaged places. Where it is not, the SSTables that happen to be there count: one that a
// compaction had replaced, and that was not removed yet, can bring back what was overwritten or
// deleted; so can an entry that was lost, with what lay under it. SSTables that a manifest had
// given up come back only where others are missing.
//
// Operands must not count twice: in a column family with a merge operator an SSTable that the
// manifest does not know is left out (and goes to `path`/lost) if all that it holds is in the
// SSTables of the manifest or in logs that are replayed, as it is after a flush or a compaction was
// killed. Where that cannot be told, SSTables and logs are merged all the same, and a note says
// that operands may count more than once. An operator that `options` do not give merges nothing:
// all operands stay, and DB::Open still needs it.
//
// Logs that one column family needs hold entries of the others, which their SSTables have too.
// Where such a family loses an SSTable, or a part of one, these logs are replayed for it once more,
// if that can only bring back what was there: from the first of them that is replayed to the last
// write nothing is missing, nothing was ingested or written without log, and no operand of a merge
// is among those entries. Logs that cannot be replayed so are kept in `path`/lost as well.
//
// A write-ahead log under another's name is replayed as the one that it says it is, if that is
// missing. A log that is gone is named in the notes if a later log, or the manifest of a database
// that was closed, tells of it. What earlier openings have set aside (*.log.damaged, *.log.unread)
// is not replayed: it would win over what has been written since. `winnow replay` does that if it
// is wanted.
//
// A column family that neither a manifest nor an SSTable knows is lost: a log that names it goes to
// `path`/lost, and its identity is not given to another, so that `winnow replay` leaves it out. One
// that `options` name and that is not there is noted; DB::Open returns NotFound for these options
// until CreateColumnFamily has made it.
//
// RecoveryMode::kSalvage is no repair: it opens with what the manifest names. SSTables that it does
// not name are renamed to NNNNNN.sst.orphan, so that after an old manifest was put back deleted
// keys come back and newer ones are gone, until a repair takes the orphans in again. Repair first.
//
// Column families get what the manifest, or else their SSTables, say of them: of filter and time to
// live the youngest SSTable counts. Comparators other than the default must be in `options`.
//
// NotFound: no file of a database there. FailedPrecondition: it is open, another comparator or
// merge operator, a newer format, a database of LevelDB or RocksDB. ResourceExhausted: no memory,
// descriptors or space. PermissionDenied: a file that may not be read or written. Nothing was given
// up for these. Running it again after a failure or a crash is safe.
absl::StatusOr<RepairReport> RepairDatabase(const Options& options, const std::string& path);

}  // namespace winnow

#endif  // WINNOW_REPAIR_H_
