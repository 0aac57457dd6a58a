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
  return [keys](std::string_view key, FamilyCursor::Garbage) { keys->emplace_back(key); };
}

}  // namespace

RowWriter::RowWriter(DB* db, const WriteClock::Stamp& stamp, bool reads_changes)
    : now_ms_(stamp.now_ms), next_write_number_(stamp.write_number) {
  moment_.db = db;
  // Without a snapshot: the latches keep the rows as they are, and each read must see the batch so
  // far.
  moment_.is_latched = true;
  moment_.time_ms = now_ms_;
  if (!reads_changes) return;
  // moment_ points into it, so that a RowWriter must not be moved.
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
    // All with the number of the change: the row is deleted in its families at once.
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
  AppendColumnPrefix(change.row, change.qualifier, &key_);
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

// In a family whose cells have no time to live of their own a put is blind: what it supersedes
// stays in the store, and readers pass over it.
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
  const FamilyRules& rules = family.rules->Load();
  const bool is_dead =
      change.ttl_ms != 0 && now_ms_ > LastMoment(TimestampOf(change), change.ttl_ms);
  if (is_dead || rules.keeps_some_aged || rules.tightened_ms != 0) {
    WINNOW_RETURN_IF_ERROR(CleanColumn(family, change.row, change.qualifier));
  }
  MakeCellKey(change, CellKind::kVersion);
  // Never there, but in the place of the version before.
  if (is_dead) return indexed_->Delete(family.column_family, key_);
  WINNOW_RETURN_IF_ERROR(PutKey(family, {next_write_number_, change.ttl_ms, change.value}));
  return CleanColumn(family, change.row, change.qualifier);
}

// The markers of the column go in the same batch as all that they hide. Those of the row lie
// outside its bounds and stay: they hide other columns as well. O(keys of the column).
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
  // The newest comes first: it is the one that is meant where no timestamp is given.
  bool is_found = false;
  for (; cursor->Valid(); cursor->Next()) {
    const bool is_wanted = change.timestamp ? cursor->timestamp() == *change.timestamp : !is_found;
    if (!is_wanted) continue;
    is_found = true;
    keys.emplace_back(cursor->key());
  }
  WINNOW_RETURN_IF_ERROR(cursor->status());
  // Where no version goes nothing is uncovered, and the garbage may wait.
  return is_found ? DeleteKeys(family, keys) : absl::OkStatus();
}

// Likewise. The garbage of all columns goes, also of those that lose no version: to tell them apart
// would be more work than to delete it.
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
  // Noted even if the write fails: then a load is refused for nothing, which is the lesser evil.
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
