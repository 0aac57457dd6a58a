// Entries that come in order, into a database without its log and memtables.
#ifndef WINNOW_TOOLS_WINNOW_SORTED_TABLES_H_
#define WINNOW_TOOLS_WINNOW_SORTED_TABLES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "winnow/db.h"

namespace winnow::cli {

// Writes SSTables in a directory of its own inside that of the database, and ingests each once it
// is full: what an interrupted command has written up to there stays. Used by one thread, and by
// one command at a time, which has the database open.
class SortedTables {
 public:
  // `path` is the database's directory.
  SortedTables(DB& db, ColumnFamily* family, const std::string& path, uint64_t table_bytes);
  // Gives up what was not ingested.
  ~SortedTables();
  SortedTables(const SortedTables&) = delete;
  SortedTables& operator=(const SortedTables&) = delete;

  // Keys ascend strictly in the family's order, else InvalidArgument: it is left out.
  absl::Status Put(std::string_view key, std::string_view value);
  // Ingests what is left.
  absl::Status Finish();

  // In the database by now.
  uint64_t entries() const { return entries_; }
  uint64_t bytes() const { return bytes_; }  // of their keys and values
  uint64_t tables() const { return tables_; }

 private:
  absl::Status Start();

  DB& db_;
  ColumnFamily* const family_;
  const std::string directory_;
  const std::string table_path_;
  const uint64_t table_bytes_;
  std::unique_ptr<SstWriter> writer_;  // null: none is begun
  uint64_t until_size_check_ = 0;
  uint64_t writer_bytes_ = 0;
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
