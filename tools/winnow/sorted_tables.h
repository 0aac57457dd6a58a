// Entries that come in order, into a database without its log and memtables.
#ifndef WINNOW_TOOLS_WINNOW_SORTED_TABLES_H_
#define WINNOW_TOOLS_WINNOW_SORTED_TABLES_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "tools/winnow/sorted_table_build.h"
#include "winnow/db.h"

namespace winnow::cli {

// Collects the entries of an SSTable in memory, and has a thread write it while the next ones are
// collected. The tables are in a directory inside that of the database, and are ingested in their
// order: what an interrupted command has ingested stays, and nothing that comes before it is
// missing. Used by one thread, and by one command at a time, which has the database open.
class SortedTables {
 public:
  // Of entries in memory, for all tables together; one entry may be larger.
  static constexpr uint64_t kMaxBufferedBytes = uint64_t{512} << 20;

  // `path` is the database's directory; its family's comparator is the bytewise one.
  SortedTables(DB& db, ColumnFamily* family, const std::string& path, uint64_t table_bytes);
  // Gives up what was not ingested.
  ~SortedTables();
  SortedTables(const SortedTables&) = delete;
  SortedTables& operator=(const SortedTables&) = delete;

  // InvalidArgument: the key does not come behind the one before, or key or value are over the
  // limits; the entry is left out. Another error is that of a table, maybe of earlier entries,
  // which all later calls return too.
  absl::Status Put(std::string_view key, std::string_view value);
  // Ingests what is left, up to the first table that failed.
  absl::Status Finish();

  // In the database by now.
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }  // of their keys and values
  uint64_t tables() const { return tables_; }

 private:
  absl::Status CheckEntry(std::string_view key, std::string_view value) const;
  // Gives the buffer to a thread, once one is free.
  absl::Status StartTable();
  // Waits for the oldest table and ingests it.
  absl::Status IngestOldest();

  DB& db_;
  ColumnFamily* const family_;
  const std::string directory_;
  const uint64_t table_bytes_;
  const size_t max_builds_;
  const uint64_t max_buffer_bytes_;

  absl::Status status_;       // the first error of a table
  uint64_t buffer_bytes_;     // entries' bytes that a table is made of
  uint64_t num_started_ = 0;  // tables, of whose names none is used again
  EntryBuffer buffer_;
  EntryBuffer spare_;  // of a table that was ingested
  std::string last_key_;
  bool has_last_key_ = false;
  std::deque<std::unique_ptr<SortedTableBuild>> builds_;  // in the order of their keys
  uint64_t entries_ = 0;
  uint64_t bytes_ = 0;
  uint64_t tables_ = 0;
};

// What a command that was killed has left in the directory of a database, and that directory if
// nothing else is in it: for a database that has been destroyed.
void RemoveLoadDirectory(const std::string& path);

// True if the family has no entry that a reader could see.
absl::StatusOr<bool> IsEmpty(DB& db, ColumnFamily* family);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_SORTED_TABLES_H_
