// What is known of the rows in an engine's database: kept in a file beside it.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PE_LOADED_ROWS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PE_LOADED_ROWS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "tools/winnow_bench/pe/options.h"

namespace winnow::bench::pe {

class LoadedRows {
 public:
  // `path`: of the file, which need not be there.
  LoadedRows(std::string path, const PeOptions& options);

  // Whether the database was made with options under which these ones can use it.
  bool fits() const { return fits_; }
  // The rows from 0 to before this are there.
  uint64_t rows() const { return rows_; }
  absl::Status Save(uint64_t rows);

 private:
  const std::string path_;
  const std::string shape_;
  bool fits_ = false;
  uint64_t rows_ = 0;
};

}  // namespace winnow::bench::pe

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PE_LOADED_ROWS_H_
