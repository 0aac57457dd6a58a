// Cells that come in any order, into a table without its log and memtables.
#ifndef WINNOW_TOOLS_WINNOW_BULK_CELLS_H_
#define WINNOW_TOOLS_WINNOW_BULK_CELLS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "winnow/table.h"

namespace winnow::cli {

struct BulkCell {
  std::string row;
  std::string family;
  std::string qualifier;
  uint64_t timestamp = 0;
  std::string value;
};

// Collects cells, and once they take this much memory sorts them and lets the table ingest them:
// what an interrupted command has written up to there stays. Used by one thread, and by one command
// at a time, which has the database open.
class BulkCells {
 public:
  static constexpr size_t kBytesAtOnce = size_t{64} << 20;

  // `path` is the database's directory, inside which the files are made.
  BulkCells(TableDatabase& tables, Table* table, const std::string& path);
  // Gives up what was not ingested.
  ~BulkCells();
  BulkCells(const BulkCells&) = delete;
  BulkCells& operator=(const BulkCells&) = delete;

  // Of cells of one row, column and timestamp the last one counts.
  absl::Status Add(BulkCell cell);
  // Ingests what is left.
  absl::Status Finish();

  uint64_t num_ingested() const { return num_ingested_; }  // given and in the table by now

 private:
  void Sort();

  TableDatabase& tables_;
  Table* const table_;
  const std::string path_;
  std::vector<BulkCell> cells_;
  size_t bytes_ = 0;
  uint64_t num_ingested_ = 0;
};

// What a command that was killed has left of this in the directory of a database.
void RemoveBulkDirectory(const std::string& path);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_BULK_CELLS_H_
