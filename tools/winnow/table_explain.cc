#include "tools/winnow/table_explain.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "engine/table/family_rules.h"
#include "tools/winnow/answer.h"
#include "tools/winnow/database.h"

namespace winnow::cli {
namespace {

// One key of the column, or of the markers of its row.
struct StoredCell {
  std::string key;
  ParsedCellKey parsed;  // its numbers alone; its texts are not valid
  uint64_t write_number = 0;
  uint64_t ttl_ms = 0;
  std::string value;
  std::string place;  // a table and its level, or a memtable
  std::string verdict;
};

// Where a look-up finds the key, which is there.
std::string PlaceOf(const KeyExplanation& look_up) {
  if (look_up.steps.empty()) return "";
  const ExplainStep& last = look_up.steps.back();
  if (last.source != ExplainStep::Source::kSstable) return "a memtable";
  // npos + 1 is 0
  return absl::StrCat(last.file_name.substr(last.file_name.rfind('/') + 1), ", level ", last.level);
}

class CellExplainer {
 public:
  CellExplainer(const TableCall& call, ColumnFamily* family, FamilySchema schema)
      : call_(call), family_(family), schema_(std::move(schema)) {}

  absl::Status Read(Table* table, const std::string& row, const std::string& qualifier) {
    AppendRowMarkerPrefix(row, &marker_prefix_);
    AppendCellPrefix(row, &column_prefix_);
    AppendQualifier(qualifier, &column_prefix_);
    const std::unique_ptr<TableSnapshot> snapshot = call_.tables.GetSnapshot();
    now_ms_ = snapshot->timestamp();
    WINNOW_RETURN_IF_ERROR(ReadKeys(marker_prefix_));
    WINNOW_RETURN_IF_ERROR(ReadKeys(column_prefix_));
    TableReadOptions options;
    options.columns = {{schema_.name, qualifier}};
    options.max_versions = kUnlimitedVersions;
    RowResult visible;
    WINNOW_RETURN_IF_ERROR(call_.tables.Get(options, table, row, &visible));
    for (StoredCell& cell : cells_) cell.verdict = VerdictOn(cell, visible);
    num_visible_ = visible.cells().size();
    return absl::OkStatus();
  }

  size_t num_visible() const { return num_visible_; }

  // What is stored, whether it is seen, and what a reader of the column asks.
  absl::Status Print() {
    for (StoredCell& cell : cells_) {
      WINNOW_ASSIGN_OR_RETURN(const KeyExplanation look_up,
                              call_.tables.db().Explain(family_, cell.key));
      cell.place = PlaceOf(look_up);
    }
    WINNOW_ASSIGN_OR_RETURN(
        const RangeExplanation read,
        call_.tables.db().ExplainRange(family_, column_prefix_, EndOfPrefix(column_prefix_)));
    WINNOW_ASSIGN_OR_RETURN(const std::string deleted_range, PlaceOfDeletedRange());
    if (call_.arguments.Has("json")) {
      Json stored = Json::array();
      for (const StoredCell& cell : cells_) stored.push_back(AsJson(cell));
      Json json = {{"stored", std::move(stored)},
                   {"visible", num_visible_},
                   {"read", Json::parse(read.ToJson(), nullptr, /*allow_exceptions=*/false)}};
      if (!deleted_range.empty()) json["deleted_range"] = deleted_range;
      call_.output.Write(ToLine(json));
      return absl::OkStatus();
    }
    for (const StoredCell& cell : cells_) PrintText(cell);
    if (!deleted_range.empty()) {
      call_.output.Line(absl::StrCat("a range of rows was deleted (", deleted_range, ")"));
      call_.output.Line("  hides what was written before it: nothing of that is listed here");
    } else if (cells_.empty()) {
      call_.output.Line("nothing is stored of this column");
    }
    call_.output.Text(read.ToString());
    return absl::OkStatus();
  }

 private:
  absl::Status ReadKeys(const std::string& prefix) {
    ReadOptions options;
    options.fill_cache = false;
    const std::unique_ptr<Iterator> entry = call_.tables.db().NewIterator(options, family_);
    for (entry->Seek(prefix); entry->Valid() && entry->key().starts_with(prefix); entry->Next()) {
      StoredCell cell;
      cell.key = entry->key();
      CellValue value;
      if (!ParseCellKey(cell.key, &cell.parsed) || !ParseCellValue(entry->value(), &value)) {
        return absl::DataLossError(
            absl::StrCat("family '", schema_.name, "' holds what is no cell"));
      }
      cell.write_number = value.write_number;
      cell.ttl_ms = value.ttl_ms;
      cell.value = value.value;
      cells_.push_back(std::move(cell));
    }
    return entry->status();
  }

  // Where the newest deletion of a range is that covers the column (DeleteRows, truncate); empty:
  // there is none. The store shows nothing of what such a deletion hides.
  absl::StatusOr<std::string> PlaceOfDeletedRange() const {
    // No cell has this key, which lies among those of the column.
    const std::string within = column_prefix_ + std::string(kCellNumberBytes, '\xff');
    WINNOW_ASSIGN_OR_RETURN(const KeyExplanation look_up,
                            call_.tables.db().Explain(family_, within));
    const bool is_covered =
        !look_up.steps.empty() && look_up.steps.back().answer == ExplainStep::Answer::kRangeDeleted;
    return is_covered ? PlaceOf(look_up) : std::string();
  }

  // Why it is seen or not. Whether, is what a Get has said.
  std::string VerdictOn(const StoredCell& cell, const RowResult& visible) const {
    if (cell.parsed.kind == CellKind::kMarker) {
      return absl::StrCat(
          "marker of a delete: hides what was written before it, up to its "
          "timestamp");
    }
    for (const StoredCell& marker : cells_) {
      const bool hides = marker.parsed.kind == CellKind::kMarker &&
                         marker.parsed.timestamp >= cell.parsed.timestamp &&
                         marker.write_number > cell.write_number;
      if (!hides) continue;
      return absl::StrCat("hidden by the marker of its ",
                          marker.parsed.is_row_marker ? "row" : "column", " of timestamp ",
                          marker.parsed.timestamp, ", write ", marker.write_number);
    }
    const auto is_it = [&cell](const CellView& seen) {
      return seen.timestamp == cell.parsed.timestamp;
    };
    if (std::any_of(visible.cells().begin(), visible.cells().end(), is_it)) return "visible";
    const uint64_t family_ttl_ms = schema_.ttl_seconds * 1000;
    if (cell.ttl_ms != 0 && now_ms_ > LastMoment(cell.parsed.timestamp, cell.ttl_ms)) {
      return absl::StrCat("expired by its own time to live of ", cell.ttl_ms, " ms");
    }
    if (family_ttl_ms != 0 && now_ms_ > LastMoment(cell.parsed.timestamp, family_ttl_ms)) {
      return absl::StrCat("expired by the family's TTL of ", schema_.ttl_seconds, " s");
    }
    if (!schema_.garbage_rule.empty()) {
      return absl::StrCat("let go by the family's rule: GARBAGE_RULE is ", schema_.garbage_rule);
    }
    return absl::StrCat("superseded by newer versions: VERSIONS is ", schema_.max_versions);
  }

  Json AsJson(const StoredCell& cell) const {
    Json json = Json::object();
    json["kind"] = cell.parsed.kind == CellKind::kMarker
                       ? (cell.parsed.is_row_marker ? "row marker" : "column marker")
                       : "version";
    json["timestamp"] = cell.parsed.timestamp;
    json["write_number"] = cell.write_number;
    if (cell.ttl_ms != 0) json["ttl_ms"] = cell.ttl_ms;
    if (cell.parsed.kind == CellKind::kVersion) {
      AddBytes(&json, "value", cell.value, call_.arguments.Has("hex"));
    }
    json["place"] = cell.place;
    json["verdict"] = cell.verdict;
    return json;
  }

  void PrintText(const StoredCell& cell) const {
    std::string line =
        absl::StrCat("timestamp ", cell.parsed.timestamp, ", write ", cell.write_number);
    if (cell.parsed.kind == CellKind::kVersion) {
      absl::StrAppend(&line, ", ", cell.value.size(),
                      " bytes: ", ToText(cell.value, PrintedForm(call_.arguments)));
    } else {
      absl::StrAppend(&line, cell.parsed.is_row_marker ? ", of the row" : ", of the column");
    }
    call_.output.Line(absl::StrCat(line, " (", cell.place, ")"));
    call_.output.Line(absl::StrCat("  ", cell.verdict));
  }

  const TableCall& call_;
  ColumnFamily* const family_;
  const FamilySchema schema_;
  std::string marker_prefix_;
  std::string column_prefix_;
  uint64_t now_ms_ = 0;
  std::vector<StoredCell> cells_;
  size_t num_visible_ = 0;
};

}  // namespace

absl::StatusOr<ExitCode> ExplainCell(const TableCall& call) {
  WINNOW_ASSIGN_OR_RETURN(const CellPlace place, ParsePlace(call));
  WINNOW_ASSIGN_OR_RETURN(const TableSchema schema, call.tables.DescribeTable(call.words[1]));
  const auto found =
      std::find_if(schema.families.begin(), schema.families.end(),
                   [&](const FamilySchema& family) { return family.name == place.family; });
  if (found == schema.families.end()) {
    return absl::NotFoundError(
        absl::StrCat("table '", schema.name, "' has no family '", place.family, "'"));
  }
  WINNOW_ASSIGN_OR_RETURN(
      ColumnFamily* const family,
      call.tables.db().FindColumnFamily(absl::StrCat(schema.name, ":", place.family)));
  CellExplainer explainer(call, family, *found);
  WINNOW_RETURN_IF_ERROR(explainer.Read(place.table, place.row, place.qualifier));
  WINNOW_RETURN_IF_ERROR(explainer.Print());
  return explainer.num_visible() == 0 ? ExitCode::kNo : ExitCode::kOk;
}

}  // namespace winnow::cli
