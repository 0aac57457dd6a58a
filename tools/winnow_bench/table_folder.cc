#include "tools/winnow_bench/table_folder.h"

#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace winnow::bench {

TableFolder::~TableFolder() {
  std::error_code ignored;
  if (num_tables_.load(std::memory_order_relaxed) > 0) {
    std::filesystem::remove_all(path_, ignored);
  }
}

absl::StatusOr<std::string> TableFolder::NextTable() {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) {
    return absl::UnavailableError(absl::StrCat("cannot create ", path_, ": ", error.message()));
  }
  return absl::StrCat(path_, "/", num_tables_.fetch_add(1, std::memory_order_relaxed), ".sst");
}

}  // namespace winnow::bench
