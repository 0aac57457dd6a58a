#include "tools/winnow_bench/pe/loaded_rows.h"

#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tools/report/report_file.h"

namespace winnow::bench::pe {
namespace {

std::string ShapeOf(const PeOptions& options) {
  return absl::StrCat("table=", options.table, " families=", options.families,
                      " columns=", options.columns, " valueSize=", options.value_bytes,
                      options.random_value_size ? " valueRandom" : "",
                      " bloomFilter=", options.bloom_filter, " filter=", options.filter,
                      " compress=", options.compression, " blockSize=", options.block_bytes);
}

}  // namespace

LoadedRows::LoadedRows(std::string path, const PeOptions& options)
    : path_(std::move(path)), shape_(ShapeOf(options)) {
  std::ifstream file(path_);
  std::string shape;
  uint64_t rows = 0;
  if (!std::getline(file, shape) || !(file >> rows) || shape != shape_) return;
  fits_ = true;
  rows_ = rows;
}

absl::Status LoadedRows::Save(uint64_t rows) {
  rows_ = rows;
  fits_ = true;
  return report::WriteWholeFile(path_, absl::StrCat(shape_, "\n", rows, "\n"));
}

}  // namespace winnow::bench::pe
