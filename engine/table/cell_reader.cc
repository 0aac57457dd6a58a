// Two ways to read a row of a family. FindNewestCells asks the store for the first entry of each
// column, which decides in the common case, without an iterator. OpenRow makes a FamilyCursor,
// which knows all rules.
//
// Both need the markers of the row as well. These have keys of their own in front of all columns,
// where the bounds of one column do not reach; so they are read by a range of their own, in the
// same view, or by an iterator of their own, of the same snapshot or under the row's latch.
#include "engine/table/cell_reader.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/status.h"
#include "engine/table/row_filter.h"

namespace winnow {

namespace {

// Those that hide something from this timestamp on.
absl::StatusOr<RowMarkers> LoadRowMarkers(const CellMoment& moment, const FamilyState& family,
                                          std::string_view row, uint64_t min_timestamp) {
  std::string prefix;
  AppendRowMarkerPrefix(row, &prefix);
  std::string end = prefix;
  // From 00 00 to before 00 01: the row's markers without its cells.
  end.back() = '\1';
  KeyTimeBounds times;
  times.begin = min_timestamp;
  times.is_of_far_markers = true;
  const std::unique_ptr<Iterator> iterator = moment.NewIterator(family, prefix, end, times);
  RowMarkers markers;
  // They come with descending timestamps, as RowMarkers::Add requires.
  for (iterator->Seek(prefix); iterator->Valid(); iterator->Next()) {
    CellKind kind = CellKind::kMarker;
    uint64_t timestamp = 0;
    CellValue marker;
    if (!ParseCellNumber(iterator->key(), &kind, &timestamp) ||
        !ParseCellValue(iterator->value(), &marker)) {
      return absl::DataLossError("table: no marker of a row");
    }
    markers.Add(timestamp, marker.write_number);
  }
  WINNOW_RETURN_IF_ERROR(iterator->status());
  return markers;
}

// The markers of the row are shown, and hide nothing.
absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenRawRow(const FamilyRules& rules,
                                                         CellMoment& moment,
                                                         const FamilyState& family,
                                                         std::string_view row, CellQuery query) {
  std::string lower;
  AppendRowMarkerPrefix(row, &lower);
  const uint64_t now_ms = moment.Now();
  auto cursor = std::make_unique<FamilyCursor>(
      moment.NewIterator(family, lower, EndOfPrefix(lower), TimesOf(query, rules)), rules, now_ms,
      std::move(query));
  cursor->Seek(lower);
  WINNOW_RETURN_IF_ERROR(cursor->status());
  return cursor;
}

}  // namespace

// What is latched cannot change, so that iterators that are made one after the other agree without
// a snapshot, which would keep compactions from dropping what it sees.
absl::Status CellMoment::Fix() {
  if (snapshot != nullptr || is_latched) return absl::OkStatus();
  // Held, so that no compaction drops what expires before the last part has been read. Read anew:
  // nothing that was read of the store by an earlier time is used.
  if (clock != nullptr) {
    own_time.emplace(*clock);
    time_ms = own_time->now_ms();
  }
  own_snapshot.emplace(*db);
  snapshot = own_snapshot->get();
  // A read that is given null is one of its own moment, and the parts of this one would disagree.
  if (snapshot == nullptr) return absl::ResourceExhaustedError("no memory for a snapshot");
  return absl::OkStatus();
}

std::unique_ptr<Iterator> CellMoment::NewIterator(const FamilyState& family, std::string_view lower,
                                                  std::string_view upper,
                                                  const std::optional<KeyTimeBounds>& times) const {
  ReadOptions read;
  read.snapshot = snapshot;
  read.fill_cache = fill_cache;
  read.verify_checksums = verify_checksums;
  if (!lower.empty()) read.lower_bound.emplace(lower);
  if (!upper.empty()) read.upper_bound.emplace(upper);
  if (changes != nullptr) return changes->NewIterator(read, family.column_family);
  return static_cast<DBImpl*>(db)->NewIteratorWithin(read, family.column_family, times);
}

// What is older than the first moment plays no part: in a column it comes behind what is shown, and
// markers of such times hide nothing else. What is newer than the last counts among the versions
// that rules keep, unless they keep any number.
std::optional<KeyTimeBounds> TimesOf(const CellQuery& query, const FamilyRules& rules) {
  if (query.min_timestamp == 0 && query.end_timestamp > kMaxTimestamp) return std::nullopt;
  const bool counts_newer = rules.max_versions < kUnlimitedVersions || rules.keeps_some_aged;
  return KeyTimeBounds{query.min_timestamp, query.end_timestamp, query.is_raw || !counts_newer};
}

// O(columns x families). A family without columns in its query is read whole.
absl::StatusOr<std::vector<FamilyQuery>> PlanRead(const TableState& table,
                                                  const TableReadOptions& options) {
  if (options.max_versions == 0) {
    return absl::InvalidArgumentError("max_versions must be at least 1");
  }
  CellQuery cells;
  cells.max_versions = options.max_versions;
  cells.min_timestamp = options.min_timestamp;
  cells.end_timestamp = options.end_timestamp;
  cells.is_raw = options.raw;
  if (options.filter.is_set()) BoundColumns(options.filter, &cells);
  std::vector<FamilyQuery> plan;
  if (options.columns.empty()) {
    for (const FamilyState* const family : table.families()) plan.push_back({family, cells});
    return plan;
  }
  for (const ColumnSelection& column : options.columns) {
    auto at = std::find_if(plan.begin(), plan.end(), [&](const FamilyQuery& query) {
      return query.family->name == column.family;
    });
    const bool is_new = at == plan.end();
    if (is_new) {
      WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family, table.Find(column.family));
      at = plan.insert(plan.end(), {family, cells});
      at->cells.columns.reserve(options.columns.size());
    }
    if (column.qualifier && options.raw) {
      return absl::InvalidArgumentError("a raw read is of families, not of columns");
    }
    if (column.qualifier) WINNOW_RETURN_IF_ERROR(CheckQualifier(*column.qualifier));
    // All columns of a family, and some of them: all.
    if (!column.qualifier) at->cells.columns.clear();
    if (!column.qualifier || (!is_new && at->cells.columns.empty())) continue;
    AppendQualifier(*column.qualifier, &at->cells.columns.emplace_back());
  }
  // Ascending, and each once: a cursor walks them beside the keys and does not go back.
  for (FamilyQuery& query : plan) {
    std::vector<std::string>& columns = query.cells.columns;
    if (!std::is_sorted(columns.begin(), columns.end())) std::sort(columns.begin(), columns.end());
    columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  }
  // The order in which a RowResult has them, whatever order they were asked for in.
  std::sort(plan.begin(), plan.end(), [](const FamilyQuery& a, const FamilyQuery& b) {
    return a.family->name < b.family->name;
  });
  return plan;
}

// Markers of the row and the columns are looked up in one view. Older versions do not matter: what
// lets the newest go lets them go too.
absl::Status FindNewestCells(DBImpl& store, PointMoment& moment, const FamilyState& family,
                             std::string_view row, std::span<const std::string_view> qualifiers,
                             PointBuffers* buffers) {
  // Rules that do not go by age alone keep the newest version of a column in any case.
  const uint64_t age_ms = family.rules->Load().certain_age_ms;
  if (age_ms != 0) moment.Now();
  const size_t num_columns = qualifiers.size();
  buffers->are_cells_known = false;
  buffers->num_taken = num_columns;
  std::string& first_prefix = buffers->firsts.front().prefix;
  const size_t row_bytes = MakeColumnPrefix(row, qualifiers.front(), &first_prefix);
  buffers->component_ends.front() = {row_bytes, first_prefix.size()};
  for (size_t i = 1; i < num_columns; i++) {
    std::string& prefix = buffers->firsts[i].prefix;
    prefix.assign(first_prefix, 0, row_bytes);
    AppendQualifier(qualifiers[i], &prefix);
    buffers->component_ends[i] = {row_bytes, prefix.size()};
  }
  // Markers of the column come before its versions and are met with them. Those of the row have
  // keys of their own: if one reaches the cell, a cursor has to tell whether it hides it.
  const bool has_row_markers = family.rules->has_row_markers();
  buffers->markers.prefix.clear();
  if (has_row_markers) AppendRowMarkerPrefix(row, &buffers->markers.prefix);
  buffers->read.snapshot = moment.snapshot;
  buffers->read.fill_cache = moment.fill_cache;
  buffers->read.verify_checksums = moment.verify_checksums;
  WINNOW_RETURN_IF_ERROR(store.FindFirsts(buffers->read, family.column_family,
                                          std::span(buffers->firsts).first(num_columns),
                                          buffers->answers, &buffers->markers));
  size_t num_taken = 0;
  for (size_t i = 0; i < num_columns; i++) {
    PointCell& cell = buffers->cells[i];
    cell.is_there = false;
    // Whatever markers there are: they hide cells, and make none.
    if (buffers->answers[i] == DBImpl::FirstAnswer::kAbsent) continue;
    if (buffers->answers[i] == DBImpl::FirstAnswer::kUnknown) return absl::OkStatus();
    num_taken = i + 1;
    const FirstInRange& first = buffers->firsts[i];
    CellKind kind = CellKind::kMarker;
    CellValue value;
    // Anything but a plain version is for the cursor: markers, which hide by write numbers; a cell
    // with a time to live of its own, which may count after its end; and what is malformed, which
    // it reports.
    if (!ParseCellNumber(UserKey(first.key), &kind, &cell.timestamp) ||
        !ParseCellValue(first.value, &value) || kind != CellKind::kVersion || value.ttl_ms != 0) {
      return absl::OkStatus();
    }
    // The family's first marker came after the question was put.
    if (!has_row_markers && family.rules->has_row_markers()) [[unlikely]]
      return absl::OkStatus();
    cell.is_there = age_ms == 0 || moment.Now() <= LastMoment(cell.timestamp, age_ms);
    cell.value = value.value;
  }
  buffers->are_cells_known = true;
  buffers->num_taken = num_taken;
  return absl::OkStatus();
}

// Whether markers of the row have to be read is known after the view is fixed. Where they must be,
// both are read as of one snapshot; the first such marker may come just now, and then the iterator
// is made once more. The markers first: a compaction that drops a marker with all that it hides
// leaves the markers that were read with less to hide, and cells that were would be uncovered.
absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenRowBy(const FamilyRules& rules,
                                                        CellMoment& moment,
                                                        const FamilyState& family,
                                                        std::string_view row, CellQuery query,
                                                        FamilyCursor::GarbageSink garbage) {
  std::string lower;
  if (query.is_raw) [[unlikely]]
    return OpenRawRow(rules, moment, family, row, std::move(query));
  AppendCellPrefix(row, &lower);
  // A single column has bounds of its own, so that a filter that knows columns (ROWCOL) can rule it
  // out. Of several, the bounds are those of the row's cells, from the first of them on.
  const bool is_column = query.columns.size() == 1;
  if (is_column) lower.append(query.columns.front());
  const std::string upper = EndOfPrefix(lower);
  if (!is_column && !query.columns.empty()) lower.append(query.columns.front());

  const std::optional<KeyTimeBounds> times = TimesOf(query, rules);
  const uint64_t min_timestamp = query.min_timestamp;
  RowMarkers markers;
  std::unique_ptr<Iterator> iterator;
  bool has_row_markers = false;
  do {
    has_row_markers = family.rules->has_row_markers();
    if (has_row_markers) {
      WINNOW_RETURN_IF_ERROR(moment.Fix());
      WINNOW_ASSIGN_OR_RETURN(markers, LoadRowMarkers(moment, family, row, min_timestamp));
    }
    moment.Now();  // before the view is taken
    iterator = moment.NewIterator(family, lower, upper, times);
  } while (!has_row_markers && family.rules->has_row_markers());
  auto cursor = std::make_unique<FamilyCursor>(std::move(iterator), rules, moment.Now(),
                                               std::move(query), std::move(garbage));
  if (has_row_markers) {
    // Their keys lie below `lower`, where the cursor's iterator does not come.
    std::string escaped;
    AppendEscaped(row, &escaped);
    cursor->UseRowMarkers(escaped, std::move(markers));
  }
  cursor->Seek(lower);
  WINNOW_RETURN_IF_ERROR(cursor->status());
  return cursor;
}

absl::StatusOr<std::unique_ptr<FamilyCursor>> OpenRow(CellMoment& moment, const FamilyState& family,
                                                      std::string_view row, CellQuery query,
                                                      FamilyCursor::GarbageSink garbage) {
  return OpenRowBy(family.rules->Load(), moment, family, row, std::move(query), std::move(garbage));
}

}  // namespace winnow
