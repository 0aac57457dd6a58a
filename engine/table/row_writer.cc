#include "engine/table/row_writer.h"

#include <limits>
#include <memory>
#include <utility>

#include "engine/base/status.h"

namespace winnow {

namespace {

CellQuery AllVersions() {
  CellQuery query;
  query.max_versions = std::numeric_limits<uint64_t>::max();
  return query;
}

CellQuery AllVersionsOf(std::string_view qualifier) {
  CellQuery query = AllVersions();
  AppendQualifier(qualifier, &query.columns.emplace_back());
  return query;
}

FamilyCursor::GarbageSink CollectInto(std::vector<std::string>* keys) {
  return [keys](std::string_view key, CellKind) { keys->emplace_back(key); };
}

}  // namespace

RowWriter::RowWriter(DB* db, const WriteClock::Stamp& stamp, bool reads_changes)
    : next_write_number_(stamp.write_number) {
  moment_.db = db;
  moment_.is_latched = true;
  moment_.now_ms = stamp.now_ms;
  if (!reads_changes) return;
  indexed_.emplace(*db);
  moment_.changes = &*indexed_;
}

// Only a delete of single versions could bring back what rules have let go of; in a family where
// cells expire each by itself, that would be known of columns that are always clean.
bool RowWriter::NeedsReads(const TableState& table, const TableChange& change) {
  if (change.type == TableChangeType::kDeleteVersion ||
      change.type == TableChangeType::kDeleteFamilyVersion) {
    return true;
  }
  if (change.type != TableChangeType::kPut) return false;
  const auto family = table.Find(change.family);
  return family.ok() && (*family)->rules->has_cell_ttls();
}

absl::Status RowWriter::Apply(const TableState& table, const TableChange& change) {
  absl::Status status;
  if (change.type == TableChangeType::kDeleteRow) {
    for (const FamilyState* const family : table.families()) {
      WINNOW_RETURN_IF_ERROR(DeleteFamily(*family, change));
    }
  } else {
    WINNOW_ASSIGN_OR_RETURN(const FamilyState* const family, table.Find(change.family));
    switch (change.type) {
      case TableChangeType::kPut:
        status = Put(*family, change);
        break;
      case TableChangeType::kDeleteVersion:
        status = DeleteVersion(*family, change);
        break;
      case TableChangeType::kDeleteColumn:
        status = DeleteColumn(*family, change);
        break;
      case TableChangeType::kDeleteFamilyVersion:
        status = DeleteFamilyVersion(*family, change);
        break;
      case TableChangeType::kDeleteFamily:
      case TableChangeType::kDeleteRow:
        status = DeleteFamily(*family, change);
        break;
    }
  }
  next_write_number_++;
  return status;
}

void RowWriter::MakeCellKey(const TableChange& change, CellKind kind) {
  key_.clear();
  AppendCellPrefix(change.row, &key_);
  AppendQualifier(change.qualifier, &key_);
  AppendCellNumber(TimestampOf(change), kind, &key_);
}

absl::Status RowWriter::PutKey(const FamilyState& family, const CellValue& cell) {
  value_.clear();
  AppendCellValue(cell, &value_);
  if (indexed_) return indexed_->Put(family.column_family, key_, value_);
  plain_.Put(family.column_family, key_, value_);
  return absl::OkStatus();
}

absl::Status RowWriter::DeleteKeys(const FamilyState& family,
                                   const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    WINNOW_RETURN_IF_ERROR(indexed_->Delete(family.column_family, key));
  }
  return absl::OkStatus();
}

absl::Status RowWriter::Put(const FamilyState& family, const TableChange& change) {
  if (!family.rules->has_cell_ttls()) {
    MakeCellKey(change, CellKind::kVersion);
    return PutKey(family, {next_write_number_, change.ttl_ms, change.value});
  }
  return PutInCleanColumn(family, change);
}

// After each put such a column has only what is there, so that those of its versions whose own time
// is up later superseded nothing that is still in it. Before it versions whose time is up tell what
// went while they were there, by MIN_VERSIONS and by rules that became stricter: they are asked
// before a newer version is there that was not at that time.
absl::Status RowWriter::PutInCleanColumn(const FamilyState& family, const TableChange& change) {
  const FamilyRules rules = family.rules->Load();
  const bool is_dead =
      change.ttl_ms != 0 && moment_.now_ms > LastMoment(TimestampOf(change), change.ttl_ms);
  if (is_dead || rules.min_versions > 0 || rules.tightened_ms != 0) {
    WINNOW_RETURN_IF_ERROR(CleanColumn(family, change.row, change.qualifier));
  }
  MakeCellKey(change, CellKind::kVersion);
  // Never there, but in the place of the version before.
  if (is_dead) return indexed_->Delete(family.column_family, key_);
  WINNOW_RETURN_IF_ERROR(PutKey(family, {next_write_number_, change.ttl_ms, change.value}));
  return CleanColumn(family, change.row, change.qualifier);
}

absl::Status RowWriter::CleanColumn(const FamilyState& family, std::string_view row,
                                    std::string_view qualifier) {
  std::vector<std::string> garbage;
  WINNOW_ASSIGN_OR_RETURN(
      const std::unique_ptr<FamilyCursor> cursor,
      OpenRow(moment_, family, row, AllVersionsOf(qualifier), CollectInto(&garbage)));
  while (cursor->Valid()) cursor->Next();
  WINNOW_RETURN_IF_ERROR(cursor->status());
  return DeleteKeys(family, garbage);
}

// The version is deleted as a key. What rules had let go of before goes with it: nothing else would
// say later that it was superseded.
absl::Status RowWriter::DeleteVersion(const FamilyState& family, const TableChange& change) {
  std::vector<std::string> keys;
  WINNOW_ASSIGN_OR_RETURN(
      const std::unique_ptr<FamilyCursor> cursor,
      OpenRow(moment_, family, change.row, AllVersionsOf(change.qualifier), CollectInto(&keys)));
  bool is_found = false;
  for (; cursor->Valid(); cursor->Next()) {
    const bool is_wanted = change.timestamp ? cursor->timestamp() == *change.timestamp : !is_found;
    if (!is_wanted) continue;
    is_found = true;
    keys.emplace_back(cursor->key());
  }
  WINNOW_RETURN_IF_ERROR(cursor->status());
  return is_found ? DeleteKeys(family, keys) : absl::OkStatus();
}

absl::Status RowWriter::DeleteFamilyVersion(const FamilyState& family, const TableChange& change) {
  std::vector<std::string> keys;
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                          OpenRow(moment_, family, change.row, AllVersions(), CollectInto(&keys)));
  bool is_found = false;
  for (; cursor->Valid(); cursor->Next()) {
    if (cursor->timestamp() != change.timestamp) continue;
    is_found = true;
    keys.emplace_back(cursor->key());
  }
  WINNOW_RETURN_IF_ERROR(cursor->status());
  return is_found ? DeleteKeys(family, keys) : absl::OkStatus();
}

absl::Status RowWriter::DeleteColumn(const FamilyState& family, const TableChange& change) {
  family.rules->NoteMarker(next_write_number_);
  MakeCellKey(change, CellKind::kMarker);
  return PutKey(family, {next_write_number_, 0, {}});
}

absl::Status RowWriter::DeleteFamily(const FamilyState& family, const TableChange& change) {
  family.rules->NoteMarker(next_write_number_);
  key_.clear();
  AppendRowMarkerPrefix(change.row, &key_);
  AppendCellNumber(TimestampOf(change), CellKind::kMarker, &key_);
  return PutKey(family, {next_write_number_, 0, {}});
}

}  // namespace winnow
