#include "tools/winnow_bench/pe/cell_client.h"

#include <cstdint>
#include <utility>

#include "absl/strings/numbers.h"
#include "engine/base/status.h"
#include "engine/table/cell_key.h"

namespace winnow::bench::pe {
namespace {

constexpr uint64_t kTimestamp = 1;

// Of the first family: what a row costs more families cost alike.
class CellWalk final : public RowWalk {
 public:
  CellWalk(std::unique_ptr<CellCursor> cursor, const WalkRange& range,
           std::vector<std::string> columns)
      : cursor_(std::move(cursor)), range_(range), columns_(std::move(columns)) {
    if (range.stop_row) AppendCellPrefix(*range.stop_row, &stop_);
    std::string start;
    if (range.start_row) AppendCellPrefix(*range.start_row, &start);
    if (range.reverse) {
      cursor_->SeekForPrev(range.start_row ? EndOfPrefix(start) : EndOfTable());
    } else {
      cursor_->Seek(start);
    }
  }

  bool Next(ReadCount* count) override {
    while (cursor_->Valid() && (range_.max_rows == 0 || rows_ < range_.max_rows)) {
      ReadCount here;
      if (!ReadRow(&here)) return false;
      if (here.cells == 0) continue;
      rows_++;
      here.rows = 1;
      *count += here;
      return true;
    }
    return false;
  }
  absl::Status status() const override {
    return is_damaged_ ? absl::DataLossError("what is no cell") : cursor_->status();
  }

 private:
  // The cells of the cursor's row, none if it is to be left out; the cursor goes on to the next.
  bool ReadRow(ReadCount* count) {
    ParsedCellKey parsed;
    row_.clear();
    bool fits = !range_.first_value.has_value();
    while (cursor_->Valid()) {
      const std::string_view key = cursor_->key();
      if (!stop_.empty() && key >= stop_) {
        if (row_.empty()) return false;
        break;
      }
      if (!ParseCellKey(key, &parsed)) {
        is_damaged_ = true;
        return false;
      }
      const std::string_view row = key.substr(0, parsed.row_prefix_bytes);
      if (row_.empty()) row_ = row;
      if (row != row_) break;
      if (IsWanted(parsed.qualifier)) {
        count->cells++;
        count->bytes += cursor_->value().size();
        fits =
            fits || (parsed.qualifier == ColumnName(0) && cursor_->value() == range_.first_value);
      }
      range_.reverse ? cursor_->Prev() : cursor_->Next();
    }
    if (!fits) *count = ReadCount();
    return true;
  }

  bool IsWanted(std::string_view qualifier) const {
    if (columns_.empty()) return true;
    for (const std::string& column : columns_) {
      if (column == qualifier) return true;
    }
    return false;
  }

  const std::unique_ptr<CellCursor> cursor_;
  const WalkRange range_;
  const std::vector<std::string> columns_;  // of the first family; empty: all
  std::string stop_;
  std::string row_;
  uint64_t rows_ = 0;
  bool is_damaged_ = false;
};

class CellClient final : public RowClient {
 public:
  CellClient(std::unique_ptr<CellStore> store, const PeOptions& options, RowLatches& latches,
             std::vector<CellColumn> read_columns)
      : store_(std::move(store)),
        options_(options),
        latches_(latches),
        read_columns_(std::move(read_columns)) {
    for (const CellColumn& column : read_columns_) {
      read_families_.push_back(FamilyIndex(column.family));
    }
  }

  absl::Status Put(std::span<const std::string> rows, const ValueOf& value) override {
    for (const std::string& row : rows) {
      for (uint64_t family = 0; family < options_.families; family++) {
        for (uint64_t column = 0; column < options_.columns; column++) {
          store_->AddPut(family, CellKey(row, ColumnName(column)), value());
        }
      }
    }
    return store_->Commit();
  }

  absl::Status Get(std::span<const std::string> rows, ReadCount* count) override {
    for (const std::string& row : rows) {
      ReadCount here;
      WINNOW_RETURN_IF_ERROR(read_columns_.empty() ? ReadWholeRow(row, &here)
                                                   : ReadColumns(row, &here));
      if (here.cells > 0) here.rows = 1;
      *count += here;
    }
    return absl::OkStatus();
  }

  std::unique_ptr<RowWalk> Walk(const WalkRange& range) override {
    std::vector<std::string> columns;
    for (const CellColumn& column : read_columns_) {
      if (column.family == FamilyName(0)) columns.push_back(column.qualifier);
    }
    return std::make_unique<CellWalk>(store_->NewCursor(0, ""), range, std::move(columns));
  }

  // A store without row markers must know what the row has.
  absl::Status Delete(const std::string& row) override {
    const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
    for (uint64_t family = 0; family < options_.families; family++) {
      for (uint64_t column = 0; column < options_.columns; column++) {
        store_->AddDelete(family, CellKey(row, ColumnName(column)));
      }
    }
    return store_->Commit();
  }

  absl::Status Increment(const std::string& row, const std::string& qualifier) override {
    const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
    for (uint64_t family = 0; family < options_.families; family++) {
      bool is_there = false;
      WINNOW_RETURN_IF_ERROR(
          store_->ReadColumn(family, ColumnPrefix(row, qualifier), &is_there, &value_));
      uint64_t sum = 1;
      if (is_there && value_.size() == sizeof(sum)) {
        uint64_t before = 0;
        for (const char byte : value_) before = before << 8 | static_cast<uint8_t>(byte);
        sum += before;
      }
      std::string bytes(sizeof(sum), '\0');
      for (size_t i = bytes.size(); i-- > 0; sum >>= 8) bytes[i] = static_cast<char>(sum);
      store_->AddPut(family, CellKey(row, qualifier), bytes);
    }
    return store_->Commit();
  }

  absl::Status Append(const std::string& row, const std::string& qualifier,
                      std::string_view suffix) override {
    const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
    for (uint64_t family = 0; family < options_.families; family++) {
      bool is_there = false;
      WINNOW_RETURN_IF_ERROR(
          store_->ReadColumn(family, ColumnPrefix(row, qualifier), &is_there, &value_));
      if (!is_there) value_.clear();
      value_.append(suffix);
      store_->AddPut(family, CellKey(row, qualifier), value_);
    }
    return store_->Commit();
  }

  absl::Status CheckAndWrite(const std::string& row, const std::string& qualifier,
                             std::string_view value, Then then) override {
    const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
    bool is_there = false;
    WINNOW_RETURN_IF_ERROR(store_->ReadColumn(0, ColumnPrefix(row, qualifier), &is_there, &value_));
    if (!is_there || value_ != value) return absl::OkStatus();
    if (then == Then::kPut) {
      store_->AddPut(0, CellKey(row, qualifier), value);
    } else {
      store_->AddDelete(0, CellKey(row, qualifier));
    }
    return store_->Commit();
  }

  absl::Status PutOne(const std::string& row, const std::string& qualifier,
                      std::string_view value) override {
    const RowLatchGuard latch(latches_, RowLatches::LatchOf(row));
    store_->AddPut(0, CellKey(row, qualifier), value);
    return store_->Commit();
  }

 private:
  // Both are valid until one of them is called again: what tables are measured against is not to
  // pay for strings.
  const std::string& ColumnPrefix(std::string_view row, std::string_view qualifier) {
    MakeColumnPrefix(row, qualifier, &key_);
    return key_;
  }
  const std::string& CellKey(std::string_view row, std::string_view qualifier) {
    MakeCellKey(row, qualifier, kTimestamp, CellKind::kVersion, &key_);
    return key_;
  }

  absl::Status ReadColumns(const std::string& row, ReadCount* count) {
    for (size_t i = 0; i < read_columns_.size(); i++) {
      bool is_there = false;
      WINNOW_RETURN_IF_ERROR(store_->ReadColumn(
          read_families_[i], ColumnPrefix(row, read_columns_[i].qualifier), &is_there, &value_));
      if (!is_there) continue;
      count->cells++;
      count->bytes += value_.size();
    }
    return absl::OkStatus();
  }

  absl::Status ReadWholeRow(const std::string& row, ReadCount* count) {
    std::string prefix;
    AppendCellPrefix(row, &prefix);
    for (uint64_t family = 0; family < options_.families; family++) {
      const std::unique_ptr<CellCursor> cursor = store_->NewCursor(family, prefix);
      for (cursor->Seek(prefix); cursor->Valid() && cursor->key().starts_with(prefix);
           cursor->Next()) {
        count->cells++;
        count->bytes += cursor->value().size();
      }
      WINNOW_RETURN_IF_ERROR(cursor->status());
    }
    return absl::OkStatus();
  }

  const std::unique_ptr<CellStore> store_;
  const PeOptions& options_;
  RowLatches& latches_;
  const std::vector<CellColumn> read_columns_;
  std::vector<size_t> read_families_;  // numbers of theirs
  std::string key_;
  std::string value_;
};

}  // namespace

std::unique_ptr<RowClient> NewCellClient(std::unique_ptr<CellStore> store, const PeOptions& options,
                                         RowLatches& latches,
                                         std::vector<CellColumn> read_columns) {
  return std::make_unique<CellClient>(std::move(store), options, latches, std::move(read_columns));
}

size_t FamilyIndex(std::string_view family) {
  uint64_t index = 0;
  const std::string_view digits = family.substr(FamilyName(0).size() - 1);
  return absl::SimpleAtoi(ToAbsl(digits), &index) ? index : 0;
}

}  // namespace winnow::bench::pe
