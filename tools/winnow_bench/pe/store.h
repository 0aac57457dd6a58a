// What PerformanceEvaluation's commands need of a store of rows, and the stores of this build.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/winnow_bench/engine.h"
#include "tools/winnow_bench/pe/options.h"

namespace winnow::bench::pe {

// The index of a family or column as PerformanceEvaluation names it: "info0", "0".
std::string FamilyName(uint64_t index);
std::string ColumnName(uint64_t index);

struct CellColumn {
  std::string family;
  std::string qualifier;
};

// What a call has read.
struct ReadCount {
  uint64_t rows = 0;
  uint64_t cells = 0;
  uint64_t bytes = 0;  // of values

  ReadCount& operator+=(const ReadCount& other) {
    rows += other.rows;
    cells += other.cells;
    bytes += other.bytes;
    return *this;
  }
};

// A scan that is under way.
class RowWalk {
 public:
  virtual ~RowWalk() = default;
  // Reads the next row and adds it; false at the end or for an error.
  virtual bool Next(ReadCount* count) = 0;
  virtual absl::Status status() const = 0;
};

struct WalkRange {
  std::optional<std::string> start_row;
  std::optional<std::string> stop_row;
  uint64_t max_rows = 0;  // 0: all
  bool reverse = false;
  // Only rows whose first column has this value, if it is given.
  std::optional<std::string> first_value;
};

using ValueOf = std::function<std::string_view()>;  // the next cell's

// The calls of one thread.
class RowClient {
 public:
  virtual ~RowClient() = default;
  // Writes every column of the rows, all at once.
  virtual absl::Status Put(std::span<const std::string> rows, const ValueOf& value) = 0;
  // The columns to read are those that the client was made for; `columns` empty: whole families.
  virtual absl::Status Get(std::span<const std::string> rows, ReadCount* count) = 0;
  virtual std::unique_ptr<RowWalk> Walk(const WalkRange& range) = 0;
  virtual absl::Status Delete(const std::string& row) = 0;  // all families
  // Of column `qualifier` of each family.
  virtual absl::Status Increment(const std::string& row, const std::string& qualifier) = 0;
  virtual absl::Status Append(const std::string& row, const std::string& qualifier,
                              std::string_view suffix) = 0;
  // Puts `value` if the first family's column has it already; or deletes the column then.
  enum class Then { kPut, kDelete };
  virtual absl::Status CheckAndWrite(const std::string& row, const std::string& qualifier,
                                     std::string_view value, Then then) = 0;
  virtual absl::Status PutOne(const std::string& row, const std::string& qualifier,
                              std::string_view value) = 0;  // of the first family
};

// An open store. Thread-safe; destroyed after its clients.
class RowStore {
 public:
  virtual ~RowStore() = default;
  // `read_columns`: what Get and Walk read; empty: whole families.
  virtual absl::StatusOr<std::unique_ptr<RowClient>> NewClient(
      std::vector<CellColumn> read_columns) = 0;
  // Flushes, compacts and waits, so that what follows is measured on files at rest.
  virtual absl::Status Settle() = 0;
  virtual absl::Status Flush() = 0;
  virtual EngineCounters Counters() = 0;
  virtual absl::Status Close() = 0;
};

struct RowStoreFactory {
  std::string_view name;
  std::string_view description;
  // Creates the store if it is missing.
  absl::StatusOr<std::unique_ptr<RowStore>> (*open)(const PeOptions& options,
                                                    const std::string& directory);
  // Removes it, if it is there, and nothing else.
  absl::Status (*destroy)(const std::string& directory);
};

// In the order of --help.
std::vector<const RowStoreFactory*> RowStores();
const RowStoreFactory* FindRowStore(std::string_view name);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_STORE_H_
