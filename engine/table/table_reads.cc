// Get, MultiGet, Exists, MayExist, Scan.
#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/base/large_buffer.h"
#include "engine/base/status.h"
#include "engine/table/possible_cells.h"
#include "engine/table/row_filter.h"
#include "engine/table/row_result.h"
#include "engine/table/table_database.h"
#include "engine/table/table_scanner.h"
#include "filter/base/out_of_memory.h"
#include "filter/base/per_thread.h"

namespace winnow {

namespace {

// Scan never gives null.
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

bool IsOfAllTimes(const TableReadOptions& options) {
  return options.min_timestamp == 0 && options.end_timestamp == kMaxTimestamp + 1;
}

// What FindNewestCells can answer: the newest versions of some columns, by nothing but the rules of
// their family.
bool IsOfPointCells(const TableReadOptions& options) {
  const std::vector<ColumnSelection>& columns = options.columns;
  const size_t num_columns = columns.size();
  if (num_columns == 0 || num_columns > kMostPointColumns || options.max_versions != 1 ||
      options.filter.is_set() || options.raw || !IsOfAllTimes(options) ||
      !columns.front().qualifier.has_value()) {
    return false;
  }
  for (size_t i = 1; i < num_columns; i++) {
    if (!columns[i].qualifier.has_value() || columns[i].family != columns.front().family) {
      return false;
    }
  }
  return true;
}

// Of IsOfPointCells: ascending, each once. Into buffers->qualifiers; `*count` of them.
absl::Status TakeQualifiers(const std::vector<ColumnSelection>& columns, PointBuffers* buffers,
                            size_t* count) {
  const auto begin = buffers->qualifiers.begin();
  bool are_ascending = true;
  *count = columns.size();
  for (size_t i = 0; i < *count; i++) {
    begin[i] = *columns[i].qualifier;
    WINNOW_RETURN_IF_ERROR(CheckQualifier(begin[i]));
    are_ascending = are_ascending && (i == 0 || begin[i - 1] < begin[i]);
  }
  // The order in which a RowResult has them.
  if (!are_ascending) [[unlikely]] {
    std::sort(begin, begin + *count);
    *count = static_cast<size_t>(std::unique(begin, begin + *count) - begin);
  }
  return absl::OkStatus();
}

// Once nobody needs the bytes of what was looked up last. One large value is not kept for ever.
inline void FreeLarge(PointBuffers* buffers) {
  for (size_t i = 0; i < buffers->num_taken; i++) FreeIfLarge(&buffers->firsts[i].value);
}

// Null: filters rule out all columns that are asked for.
absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenPossible(CellMoment& moment,
                                                           const FamilyState& family,
                                                           std::string_view row, CellQuery cells) {
  WINNOW_ASSIGN_OR_RETURN(const bool any, KeepPossibleColumns(moment, family, row, &cells));
  if (!any) return std::unique_ptr<FamilyCursor>();
  return OpenRow(moment, family, row, std::move(cells));
}

}  // namespace

std::unique_ptr<TableSnapshot> TableDatabaseImpl::GetSnapshot() {
  std::unique_ptr<TableSnapshotImpl> snapshot;
  UnlessOutOfMemory([&] { snapshot = std::make_unique<TableSnapshotImpl>(*db_, *clock_); });
  if (snapshot == nullptr || snapshot->snapshot() == nullptr) return nullptr;
  return snapshot;
}

inline PointMoment TableDatabaseImpl::PointMomentOf(const TableReadOptions& options) const {
  PointMoment moment;
  moment.clock = clock_.get();
  moment.fill_cache = options.fill_cache;
  moment.verify_checksums = options.verify_checksums;
  if (options.snapshot == nullptr) return moment;
  moment.snapshot = static_cast<const TableSnapshotImpl*>(options.snapshot)->snapshot();
  // Time stands still with it: what had not expired when it was taken does not expire for it.
  moment.time_ms = options.snapshot->timestamp();
  return moment;
}

CellMoment TableDatabaseImpl::MomentOf(const TableReadOptions& options) const {
  CellMoment moment;
  static_cast<PointMoment&>(moment) = PointMomentOf(options);
  moment.db = db_.get();
  return moment;
}

// The filter sees the cells of all families, one family behind the other in the order of their
// names, and decides about the row when all are through. Of a row that could not be read whole
// nothing is given.
absl::Status TableDatabaseImpl::ReadRow(const TableReadOptions& options,
                                        const std::vector<FamilyQuery>& plan, CellMoment& moment,
                                        std::string_view row, RowResult* result,
                                        const std::function<bool(size_t)>& possible) {
  RowResultBuilder builder(result);
  std::optional<RowFilter> filter;
  if (options.filter.is_set()) {
    filter.emplace(options, /*is_reverse=*/false);
    // A PageFilter(0) is done before it begins.
    if (filter->IsDone() || !filter->BeginRow(row)) return absl::OkStatus();
  }
  for (size_t i = 0; i < plan.size(); i++) {
    const FamilyQuery& query = plan[i];
    if (possible && !possible(i)) continue;
    auto opened = OpenPossible(moment, *query.family, row, query.cells);
    absl::Status status = opened.status();
    if (status.ok() && *opened != nullptr) {
      FamilyCursor& cursor = **opened;
      // A filter moves the cursor by itself: it may pass over the rest of a column.
      while (cursor.Valid() && !(filter && filter->IsRowDone())) {
        if (filter) {
          filter->Take(query.family->name, &cursor, &builder);
          continue;
        }
        builder.Add(query.family->name, cursor);
        cursor.Next();
      }
      status = cursor.status();
    }
    if (status.ok()) continue;
    result->Clear();
    return status;
  }
  // Only where every family was read without an error: a filter that decides late must have seen
  // all.
  if (filter) filter->EndRow(&builder);
  if (builder.num_cells() > 0) builder.SetRow(row);
  return absl::OkStatus();
}

// Of IsOfPointCells, into an empty result. `*is_known` is false where it takes a cursor.
[[gnu::always_inline]] inline absl::Status TableDatabaseImpl::ReadPointCells(
    const TableReadOptions& options, const TableState& table, PointMoment& moment,
    std::string_view row, RowResult* result, bool* is_known) {
  WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family,
                          table.Find(options.columns.front().family));
  // Of the thread; the cells point into them until the thread looks up others.
  PointBuffers& buffers = PerThread<PointBuffers>::Get();
  size_t num_wanted = 0;
  WINNOW_RETURN_IF_ERROR(TakeQualifiers(options.columns, &buffers, &num_wanted));
  const std::span<const std::string_view> wanted(buffers.qualifiers.data(), num_wanted);
  WINNOW_RETURN_IF_ERROR(FindNewestCells(store(), moment, *family, row, wanted, &buffers));
  *is_known = buffers.are_cells_known;
  if (buffers.num_taken == 0) return absl::OkStatus();  // which is common: nothing is there
  if (buffers.are_cells_known) {
    RowResultBuilder builder(result);
    for (size_t i = 0; i < wanted.size(); i++) {
      const PointCell& cell = buffers.cells[i];
      if (cell.is_there) builder.AddCell(family->name, wanted[i], cell.timestamp, cell.value);
    }
    if (builder.num_cells() > 0) builder.SetRow(row);
  }
  FreeLarge(&buffers);
  return absl::OkStatus();
}

absl::Status TableDatabaseImpl::Get(const TableReadOptions& options, Table* table,
                                    std::string_view row, RowResult* result) {
  absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    result->Clear();
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    // The commonest reads take no plan, no iterator and no snapshot.
    if (IsOfPointCells(options)) {
      PointMoment moment = PointMomentOf(options);
      bool is_known = false;
      const absl::Status read = ReadPointCells(options, *state, moment, row, result, &is_known);
      if (is_known || !read.ok()) return read;
    }
    CellMoment moment = MomentOf(options);
    WINNOW_ASSIGN_OR_RETURN(const std::vector<FamilyQuery> plan, PlanRead(*state, options));
    // Each family has an iterator of its own, and each iterator would be of its own moment.
    if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
    return ReadRow(options, plan, moment, row, result);
  });
  // Without memory reading ends in the middle of the row.
  if (!status.ok()) result->Clear();
  return status;
}

absl::Status TableDatabaseImpl::MultiGet(const TableReadOptions& options, Table* table,
                                         std::span<const std::string_view> rows,
                                         std::vector<RowResult>* results) {
  absl::Status status = CatchOutOfMemory([&]() -> absl::Status {
    results->resize(rows.size());
    for (RowResult& result : *results) result.Clear();
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    for (const std::string_view row : rows) WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_ASSIGN_OR_RETURN(const std::vector<FamilyQuery> plan, PlanRead(*state, options));
    CellMoment moment = MomentOf(options);
    // Rows are read one after the other, and all as of one moment. Those that filters rule out,
    // which are asked about many of them at once, are not read.
    WINNOW_RETURN_IF_ERROR(moment.Fix());
    const bool is_of_point_cells = IsOfPointCells(options);
    PossibleRows possible_rows;
    for (size_t begin = 0; begin < rows.size(); begin += PossibleRows::kAtOnce) {
      const auto some = rows.subspan(begin, std::min(rows.size() - begin, PossibleRows::kAtOnce));
      WINNOW_RETURN_IF_ERROR(possible_rows.Ask(moment, plan, some));
      for (size_t i = 0; i < some.size(); i++) {
        if (is_of_point_cells) {
          // Then the plan is of one family.
          if (!possible_rows.Has(i, 0)) continue;
          bool is_known = false;
          WINNOW_RETURN_IF_ERROR(
              ReadPointCells(options, *state, moment, some[i], &(*results)[begin + i], &is_known));
          if (is_known) continue;
        }
        WINNOW_RETURN_IF_ERROR(
            ReadRow(options, plan, moment, some[i], &(*results)[begin + i],
                    [&](size_t family) { return possible_rows.Has(i, family); }));
      }
    }
    return absl::OkStatus();
  });
  // All rows or none: what is left of an earlier call is gone, too, when this one fails.
  if (!status.ok()) {
    for (RowResult& result : *results) result.Clear();
  }
  return status;
}

absl::Status TableDatabaseImpl::GetCell(const TableReadOptions& options, Table* table,
                                        std::string_view row, std::string_view family,
                                        std::string_view qualifier, std::string* value) {
  if (options.filter.is_set() || options.raw) [[unlikely]]
    return GetShownCell(options, table, row, family, qualifier, value);
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family_state, state->Find(family));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_RETURN_IF_ERROR(CheckQualifier(qualifier));
    if (IsOfAllTimes(options)) [[likely]] {
      PointMoment moment = PointMomentOf(options);
      PointBuffers& buffers = PerThread<PointBuffers>::Get();
      WINNOW_RETURN_IF_ERROR(
          FindNewestCells(store(), moment, *family_state, row, std::span(&qualifier, 1), &buffers));
      const bool is_known = buffers.are_cells_known;
      const PointCell& cell = buffers.cells.front();
      const bool is_there = is_known && cell.is_there;
      if (is_there) value->assign(cell.value);
      FreeLarge(&buffers);
      // Without a message a status takes no memory, and to find nothing is common.
      if (is_known) return is_there ? absl::OkStatus() : absl::NotFoundError("");
    }
    CellMoment moment = MomentOf(options);
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

// A filter sees the column's newest version, as in a Get of the column.
absl::Status TableDatabaseImpl::GetShownCell(const TableReadOptions& options, Table* table,
                                             std::string_view row, std::string_view family,
                                             std::string_view qualifier, std::string* value) {
  return CatchOutOfMemory([&]() -> absl::Status {
    TableReadOptions of_cell = options;
    of_cell.columns = {{std::string(family), std::string(qualifier)}};
    of_cell.max_versions = 1;
    RowResult result;
    WINNOW_RETURN_IF_ERROR(Get(of_cell, table, row, &result));
    if (result.empty()) return absl::NotFoundError("");
    value->assign(result.cells().front().value);
    return absl::OkStatus();
  });
}

absl::StatusOr<bool> TableDatabaseImpl::Exists(const TableReadOptions& options, Table* table,
                                               std::string_view row) {
  // Some filters decide by whole rows.
  if (options.filter.is_set()) {
    RowResult result;
    WINNOW_RETURN_IF_ERROR(Get(options, table, row, &result));
    return !result.empty();
  }
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_ASSIGN_OR_RETURN(std::vector<FamilyQuery> plan, PlanRead(*state, options));
    CellMoment moment = MomentOf(options);
    if (plan.size() > 1) WINNOW_RETURN_IF_ERROR(moment.Fix());
    // One visible cell answers the question.
    for (FamilyQuery& query : plan) {
      WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                              OpenPossible(moment, *query.family, row, std::move(query.cells)));
      if (cursor != nullptr && cursor->Valid()) return true;
    }
    return false;
  });
}

// Of each column that is asked for; of all of a family the range of the row's keys. Markers do not
// count: without a cell that they hide nothing is there.
absl::StatusOr<bool> TableDatabaseImpl::MayExist(const TableReadOptions& options, Table* table,
                                                 std::string_view row) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<bool> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    WINNOW_RETURN_IF_ERROR(CheckRow(row));
    WINNOW_ASSIGN_OR_RETURN(const std::vector<FamilyQuery> plan, PlanRead(*state, options));
    ReadOptions read;
    if (options.snapshot != nullptr) {
      read.snapshot = static_cast<const TableSnapshotImpl*>(options.snapshot)->snapshot();
    }
    std::string prefix;
    AppendCellPrefix(row, &prefix);
    for (const FamilyQuery& query : plan) {
      // A filter of rows alone answers for the row, whatever column is asked for.
      std::vector<PrefixAsked> asked;
      if (query.cells.columns.empty()) asked.push_back({prefix});
      for (const std::string& column : query.cells.columns) asked.push_back({prefix + column});
      // Not counted: nobody finds out whether the filters are right.
      WINNOW_RETURN_IF_ERROR(
          store().AskForPrefixes(read, query.family->column_family, std::nullopt, asked));
      for (const PrefixAsked& of : asked) {
        if (of.may_exist) return true;
      }
    }
    return false;
  });
}

std::unique_ptr<RowScanner> TableDatabaseImpl::Scan(const ScanOptions& options, Table* table) {
  auto scanner = CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<RowScanner>> {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const state, CheckTable(table, this));
    CellMoment moment = MomentOf(options);
    return TableScanner::Open(std::move(moment), *state, options);
  });
  if (scanner.ok()) return *std::move(scanner);
  return std::make_unique<FailedScanner>(scanner.status());
}

}  // namespace winnow
