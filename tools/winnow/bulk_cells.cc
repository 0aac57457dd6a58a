#include "tools/winnow/bulk_cells.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"

namespace winnow::cli {
namespace {

bool IsSamePlace(const BulkCell& left, const BulkCell& right) {
  return left.timestamp == right.timestamp && left.row == right.row &&
         left.qualifier == right.qualifier && left.family == right.family;
}

std::string BulkDirectory(const std::string& path) {
  return absl::StrCat(path, "/table-import.tmp");
}

}  // namespace

BulkCells::BulkCells(TableDatabase& tables, Table* table, const std::string& path)
    : tables_(tables), table_(table), path_(path) {
  RemoveBulkDirectory(path_);
}

BulkCells::~BulkCells() { RemoveBulkDirectory(path_); }

absl::Status BulkCells::Add(BulkCell cell) {
  bytes_ += sizeof(BulkCell) + cell.row.size() + cell.family.size() + cell.qualifier.size() +
            cell.value.size();
  cells_.push_back(std::move(cell));
  return bytes_ < kBytesAtOnce ? absl::OkStatus() : Finish();
}

void BulkCells::Sort() {
  // Newest first; those of one place stay in their order.
  const auto place = [](const BulkCell& cell) {
    return std::make_tuple(std::string_view(cell.family), std::string_view(cell.row),
                           std::string_view(cell.qualifier), kMaxTimestamp - cell.timestamp);
  };
  std::stable_sort(cells_.begin(), cells_.end(), [&](const BulkCell& left, const BulkCell& right) {
    return place(left) < place(right);
  });
}

absl::Status BulkCells::Finish() {
  if (cells_.empty()) return absl::OkStatus();
  Sort();
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<TableWriter> writer,
                          tables_.NewTableWriter(table_, BulkDirectory(path_)));
  for (size_t i = 0; i < cells_.size(); i++) {
    const BulkCell& cell = cells_[i];
    if (i + 1 < cells_.size() && IsSamePlace(cell, cells_[i + 1])) continue;
    WINNOW_RETURN_IF_ERROR(
        writer->Put(cell.row, cell.family, cell.qualifier, cell.timestamp, cell.value));
  }
  WINNOW_RETURN_IF_ERROR(writer->Finish());
  num_ingested_ += cells_.size();
  cells_.clear();
  bytes_ = 0;
  return absl::OkStatus();
}

void RemoveBulkDirectory(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(BulkDirectory(path), ignored);
}

}  // namespace winnow::cli
