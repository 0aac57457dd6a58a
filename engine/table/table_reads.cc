// Get, Exists, Scan.
#include <utility>

#include "engine/base/status.h"
#include "engine/table/row_result.h"
#include "engine/table/table_database.h"
#include "engine/table/table_scanner.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

namespace {

class FailedScanner final : public RowScanner {
 public:
  explicit FailedScanner(absl::Status status) : status_(std::move(status)) {}
  bool Next(RowResult* row) override {
    row->Clear();
    return false;
  }
  absl::Status status() const override { return status_; }

 private:
  const absl::Status status_;
};

}  // namespace

std::unique_ptr<TableSnapshot> TableDatabaseImpl::GetSnapshot() {
  std::unique_ptr<TableSnapshotImpl> snapshot;
  UnlessOutOfMemory([&] { snapshot = std::make_unique<TableSnapshotImpl>(*db_, clock_->Now()); });
  if (snapshot == nullptr || snapshot->snapshot() == nullptr) return nullptr;
  return snapshot;
}

absl::StatusOr<CellMoment> TableDatabaseImpl::MomentOf(const TableReadOptions& options) {
  CellMoment moment;
  moment.db = db_.get();
  moment.fill_cache = options.fill_cache;
  moment.verify_checksums = options.verify_checksums;
  if (options.snapshot == nullptr) {
    moment.now_ms = clock_->Now();
    return moment;
  }
  moment.snapshot = static_cast<const TableSnapshotImpl*>(options.snapshot)->snapshot();
  moment.now_ms = options.snapshot->timestamp();
  return moment;
}

absl::Status TableDatabaseImpl::Get(const TableReadOptions& options, Table* table,
                                    std::string_view row, RowResult* result) {
  return CatchOutOfMemory([&]() -> absl::Status {
    result->Clear();
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_ASSIGN_OR_RETURN(std::vector<FamilyQuery> plan, PlanRead(*state, options));
    WINNOW_ASSIGN_OR_RETURN(CellMoment moment, MomentOf(options));
    if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
    RowResultBuilder builder(result);
    for (FamilyQuery& query : plan) {
      auto cursor = OpenRow(moment, *query.family, row, std::move(query.cells));
      if (!cursor.ok()) {
        result->Clear();
        return cursor.status();
      }
      for (; (*cursor)->Valid(); (*cursor)->Next()) builder.Add(query.family->name, **cursor);
      if (absl::Status status = (*cursor)->status(); !status.ok()) {
        result->Clear();
        return status;
      }
    }
    if (builder.num_cells() > 0) builder.SetRow(row);
    builder.Finish();
    return absl::OkStatus();
  });
}

absl::Status TableDatabaseImpl::GetCell(const TableReadOptions& options, Table* table,
                                        std::string_view row, std::string_view family,
                                        std::string_view qualifier, std::string* value) {
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family_state, state->Find(family));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_RETURN_IF_ERROR(CheckQualifier(qualifier));
    WINNOW_ASSIGN_OR_RETURN(CellMoment moment, MomentOf(options));
    CellQuery query;
    query.min_timestamp = options.min_timestamp;
    query.end_timestamp = options.end_timestamp;
    AppendQualifier(qualifier, &query.columns.emplace_back());
    WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                            OpenRow(moment, *family_state, row, std::move(query)));
    if (!cursor->Valid()) return absl::NotFoundError("");
    value->assign(cursor->value());
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> TableDatabaseImpl::Exists(const TableReadOptions& options, Table* table,
                                               std::string_view row) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_ASSIGN_OR_RETURN(std::vector<FamilyQuery> plan, PlanRead(*state, options));
    WINNOW_ASSIGN_OR_RETURN(CellMoment moment, MomentOf(options));
    if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
    for (FamilyQuery& query : plan) {
      WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                              OpenRow(moment, *query.family, row, std::move(query.cells)));
      if (cursor->Valid()) return true;
    }
    return false;
  });
}

std::unique_ptr<RowScanner> TableDatabaseImpl::Scan(const ScanOptions& options, Table* table) {
  auto scanner = CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<RowScanner>> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_ASSIGN_OR_RETURN(CellMoment moment, MomentOf(options));
    return TableScanner::Open(std::move(moment), *state, options);
  });
  if (scanner.ok()) return *std::move(scanner);
  return std::make_unique<FailedScanner>(scanner.status());
}

}  // namespace winnow
