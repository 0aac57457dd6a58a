// Bulk loading: SSTables that are written outside of a database, on any machine, and brought into
// one whole, without passing through its log and its memtables.
//
//   winnow::Options options;
//   auto writer = winnow::SstWriter::Create(options, "/tmp/fruit.sst");
//   if (!writer.ok()) return Report(writer.status());
//   for (const auto& [key, value] : sorted) {
//     if (absl::Status put = (*writer)->Put(key, value); !put.ok()) return Report(put);
//   }
//   if (auto finished = (*writer)->Finish(); !finished.ok()) return Report(finished.status());
//   auto ingested = db->Ingest({{.path = "/tmp/fruit.sst"}}, {.move = true});
#ifndef WINNOW_INGEST_H_
#define WINNOW_INGEST_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/options.h"

namespace winnow {

class ColumnFamily;

// What SstWriter has written.
struct SstFileInfo {
  std::string path;
  uint64_t file_bytes = 0;
  uint64_t num_entries = 0;    // deletions included
  uint64_t num_deletions = 0;  // of those
  std::string smallest_key;
  std::string largest_key;
  // The filter that was built, as "blocked_bloom"; "none" without one.
  std::string filter_kind;
};

// Writes one SSTable, with its filter, for databases to ingest. Used by one thread at a time; any
// number of writers may work at once. In memory it holds the filter's hashes and the index of what
// it has written (some ten bytes a key), and one block.
class SstWriter {
 public:
  // Begins the file `path`. Of the options count comparator, merge_operator, filter, filter_key,
  // filter_policy, key_hashes_ratio, compression (that of the last level), zstd_level, block_bytes,
  // block_restart_interval and ttl_seconds: unless it is 0 values get write times, by the system's
  // clock when they are added; where the filter is left open it is "blocked_bloom:10".
  // `file_system` null: the operating system's; else it must outlive the writer. AlreadyExists:
  // there is something at `path`. InvalidArgument: options, or the directory of a database and a
  // name that its own files have (000012.sst), since a database removes such files.
  static absl::StatusOr<std::unique_ptr<SstWriter>> Create(const ColumnFamilyOptions& options,
                                                           const std::string& path,
                                                           FileSystem* file_system = nullptr);
  // Removes a file that was not finished.
  virtual ~SstWriter() = default;

  // Keys come in strictly ascending order of the comparator, whether put or deleted.
  // InvalidArgument: a key that is not greater than the one before, or a key or value over its
  // limit; nothing was added then, and the writer goes on. After any other error it is of no more
  // use.
  virtual absl::Status Put(std::string_view key, std::string_view value) = 0;
  // An operand for the merge operator of the options, or of the family that the writer is for:
  // merged with what the database has of the key. FailedPrecondition: there is no operator.
  virtual absl::Status Merge(std::string_view key, std::string_view operand) = 0;
  // The key is absent from whatever database ingests the file, until it is put again.
  virtual absl::Status Delete(std::string_view key) = 0;

  // Writes the rest and makes the file durable. Nothing may be added afterwards. InvalidArgument:
  // there is no entry; the file is then removed.
  virtual absl::StatusOr<SstFileInfo> Finish() = 0;

  // Roughly what the file would have if it were finished now.
  virtual uint64_t file_bytes() const = 0;
  virtual uint64_t num_entries() const = 0;
};

// One file to ingest.
struct IngestFile {
  std::string path;
  // Null: the family "default".
  ColumnFamily* family = nullptr;
};

struct IngestOptions {
  // False: the files are copied and stay as they are. True: they become the database's by a hard
  // link, or by a copy where that cannot be had, and lose their old names once the ingestion is
  // durable, never before. Nobody may write to them from then on.
  bool move = false;
  // False: what is ingested is newer than everything in the database. True: it is older than
  // everything in it, and shows where the database has no entry of a key. Needs
  // ColumnFamilyOptions::allow_ingest_behind. It goes to the last level, and where that has keys of
  // a file's range already, be it by an ingestion like this one before, FailedPrecondition is
  // returned: nothing lies behind the last level.
  bool behind = false;
  // Read each file whole before, and check what Verify checks: checksums, order, the filter against
  // every key. False: the frame of the file is checked; damage then shows when a block is read.
  bool verify = true;
};

// What became of an ingestion.
struct IngestInfo {
  // The sequence number of all entries that were ingested; 0: older than all others.
  uint64_t sequence = 0;
  uint64_t bytes = 0;        // of the files
  uint64_t num_entries = 0;  // in them
  std::vector<int> levels;   // that each file went to, in the order in which they were given
  bool flushed = false;      // memtables had keys of a file's range and were flushed first
};

}  // namespace winnow

#endif  // WINNOW_INGEST_H_
