// Tables that a benchmark writes beside a database, to be ingested.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_TABLE_FOLDER_H_
#define WINNOW_TOOLS_WINNOW_BENCH_TABLE_FOLDER_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace winnow::bench {

// A folder beside the database's, so that tables can move from one to the other. Made with the
// first table, removed with the object. Thread-safe.
class TableFolder {
 public:
  explicit TableFolder(std::string path) : path_(std::move(path)) {}
  ~TableFolder();
  TableFolder(const TableFolder&) = delete;
  TableFolder& operator=(const TableFolder&) = delete;

  // A path that no other table has. Unavailable: the folder cannot be made.
  absl::StatusOr<std::string> NextTable();

 private:
  const std::string path_;
  std::atomic<uint64_t> num_tables_{0};  // a number for each; nothing else depends on it
};

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_TABLE_FOLDER_H_
