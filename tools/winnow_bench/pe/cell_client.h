// PerformanceEvaluation's calls on a plain key-value store whose keys are those of tables' cells:
// what the peers of tables do. A row's cells have one version, with timestamp 1.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_CELL_CLIENT_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_CELL_CLIENT_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/table/row_latches.h"
#include "tools/winnow_bench/pe/store.h"

namespace winnow::bench::pe {

// A position in a family's keys.
class CellCursor {
 public:
  virtual ~CellCursor() = default;
  virtual void Seek(std::string_view key) = 0;
  virtual void SeekForPrev(std::string_view key) = 0;  // the last that is not greater
  virtual bool Valid() = 0;
  virtual void Next() = 0;
  virtual void Prev() = 0;
  virtual std::string_view key() = 0;
  virtual std::string_view value() = 0;
  virtual absl::Status status() = 0;
};

// The calls of one thread on the store itself. Families are numbers.
class CellStore {
 public:
  virtual ~CellStore() = default;
  virtual void AddPut(size_t family, std::string_view key, std::string_view value) = 0;
  virtual void AddDelete(size_t family, std::string_view key) = 0;
  virtual absl::Status Commit() = 0;
  // The newest cell of the column whose keys begin so.
  virtual absl::Status ReadColumn(size_t family, std::string_view column_prefix, bool* is_there,
                                  std::string* value) = 0;
  // `row_prefix`: what all keys that the cursor is to see begin with; empty: any.
  virtual std::unique_ptr<CellCursor> NewCursor(size_t family, std::string_view row_prefix) = 0;
};

// `latches` are those of all clients of a store: its read-modify-writes are atomic too.
std::unique_ptr<RowClient> NewCellClient(std::unique_ptr<CellStore> store, const PeOptions& options,
                                         RowLatches& latches, std::vector<CellColumn> read_columns);

// The family's number in its name.
size_t FamilyIndex(std::string_view family);

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_CELL_CLIENT_H_
