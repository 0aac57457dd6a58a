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

// What is left of the cells of a column once versions of it are deleted by themselves. Whatever its
// rules have let go of stands behind those that are there, and goes with the version: nothing else
// would say later that it was superseded, or, if it is the very version that is deleted, that it is
// gone. What stands between those that are there was deleted or has expired by itself; it stays, as
// what hides it does.
class VersionDeleter {
 public:
  // Unset: the newest version that is there.
  explicit VersionDeleter(std::optional<uint64_t> timestamp) : timestamp_(timestamp) {}

  // In the order of keys.
  void PassGarbage(std::string_view key) {
    EnterColumnOf(key);
    CellKind kind = CellKind::kMarker;
    uint64_t timestamp = 0;
    const bool is_version = ParseCellNumber(key, &kind, &timestamp) && kind == CellKind::kVersion;
    is_found_ = is_found_ || (is_version && timestamp_ == timestamp);
    let_go_.Add(key);
  }
  void PassVersion(std::string_view key, uint64_t timestamp) {
    EnterColumnOf(key);
    let_go_ = KeyRun();
    if (timestamp_ ? timestamp != *timestamp_ : is_found_) return;
    is_found_ = true;
    version_.assign(key);
  }
  // What goes.
  std::vector<KeyRun> Finish() {
    EndColumn();
    return std::move(deleted_);
  }

 private:
  void EnterColumnOf(std::string_view key) {
    const std::string_view column = key.substr(0, key.size() - kCellNumberBytes);
    if (column == column_) return;
    EndColumn();
    column_.assign(column);
  }
  // Where no version goes nothing is uncovered, and the garbage may wait.
  void EndColumn() {
    if (is_found_) {
      if (!version_.empty()) deleted_.push_back({{version_}, {}});
      deleted_.push_back(std::move(let_go_));
    }
    is_found_ = false;
    version_.clear();
    let_go_ = KeyRun();
  }

  const std::optional<uint64_t> timestamp_;
  std::string column_;
  bool is_found_ = false;
  std::string version_;  // the key of the one that was there
  KeyRun let_go_;        // since the last version that is there
  std::vector<KeyRun> deleted_;
};

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
        status = DeleteVersions(*family, change, AllVersionsOf(change.qualifier));
        break;
      case TableChangeType::kDeleteColumn:
        status = DeleteColumn(*family, change);
        break;
      case TableChangeType::kDeleteFamilyVersion:
        status = DeleteVersions(*family, change, AllVersions());
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

void RowWriter::MakeKeyOf(const TableChange& change, CellKind kind) {
  MakeCellKey(change.row, change.qualifier, TimestampOf(change), kind, &key_);
}

absl::Status RowWriter::PutKey(const FamilyState& family, const CellValue& cell) {
  value_.clear();
  AppendCellValue(cell, &value_);
  if (indexed_) return indexed_->Put(family.column_family, key_, value_);
  plain_.Put(family.column_family, key_, value_);
  return absl::OkStatus();
}

void KeyRun::Add(std::string_view key) {
  if (keys.size() < kMaxKeys) {
    keys.emplace_back(key);
    return;
  }
  last.assign(key);
}

absl::Status RowWriter::Delete(const FamilyState& family, const KeyRun& run) {
  if (!run.last.empty()) {
    // Up to the key and with it.
    return indexed_->DeleteRange(family.column_family, run.keys.front(), run.last + '\0');
  }
  for (const std::string& key : run.keys) {
    WINNOW_RETURN_IF_ERROR(indexed_->Delete(family.column_family, key));
  }
  return absl::OkStatus();
}

// In a family whose cells have no time to live of their own a put is blind: what it supersedes
// stays in the store, and readers pass over it.
absl::Status RowWriter::Put(const FamilyState& family, const TableChange& change) {
  if (!family.rules->has_cell_ttls()) {
    MakeKeyOf(change, CellKind::kVersion);
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
  MakeKeyOf(change, CellKind::kVersion);
  // Never there, but in the place of the version before.
  if (is_dead) return indexed_->Delete(family.column_family, key_);
  WINNOW_RETURN_IF_ERROR(PutKey(family, {next_write_number_, change.ttl_ms, change.value}));
  return CleanColumn(family, change.row, change.qualifier);
}

// The markers of the column go in the same batch as all that they hide. Those of the row lie
// outside its bounds and stay: they hide other columns as well. O(keys of the column) time; memory,
// and updates, only by the versions that are there.
absl::Status RowWriter::CleanColumn(const FamilyState& family, std::string_view row,
                                    std::string_view qualifier) {
  std::vector<KeyRun> garbage(1);
  const auto collect = [&](std::string_view key, FamilyCursor::Garbage) {
    garbage.back().Add(key);
  };
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<FamilyCursor> cursor,
                          OpenRow(moment_, family, row, AllVersionsOf(qualifier), collect));
  for (; cursor->Valid(); cursor->Next()) {
    if (!garbage.back().keys.empty()) garbage.emplace_back();
  }
  WINNOW_RETURN_IF_ERROR(cursor->status());
  for (const KeyRun& run : garbage) WINNOW_RETURN_IF_ERROR(Delete(family, run));
  return absl::OkStatus();
}

// Versions are deleted as keys, of each column that the query is of.
absl::Status RowWriter::DeleteVersions(const FamilyState& family, const TableChange& change,
                                       CellQuery query) {
  VersionDeleter deleter(change.timestamp);
  WINNOW_ASSIGN_OR_RETURN(
      const std::unique_ptr<FamilyCursor> cursor,
      OpenRow(moment_, family, change.row, std::move(query),
              [&](std::string_view key, FamilyCursor::Garbage) { deleter.PassGarbage(key); }));
  for (; cursor->Valid(); cursor->Next()) deleter.PassVersion(cursor->key(), cursor->timestamp());
  WINNOW_RETURN_IF_ERROR(cursor->status());
  const std::vector<KeyRun> deleted = deleter.Finish();
  if (!deleted.empty()) family.rules->NoteDelete(next_write_number_);
  for (const KeyRun& run : deleted) WINNOW_RETURN_IF_ERROR(Delete(family, run));
  return absl::OkStatus();
}

absl::Status RowWriter::DeleteColumn(const FamilyState& family, const TableChange& change) {
  // Noted even if the write fails: then a load is refused for nothing, which is the lesser evil.
  family.rules->NoteDelete(next_write_number_);
  MakeKeyOf(change, CellKind::kMarker);
  return PutKey(family, {next_write_number_, 0, {}});
}

absl::Status RowWriter::DeleteFamily(const FamilyState& family, const TableChange& change) {
  family.rules->NoteDelete(next_write_number_);
  key_.clear();
  AppendRowMarkerPrefix(change.row, &key_);
  AppendCellNumber(TimestampOf(change), CellKind::kMarker, &key_);
  return PutKey(family, {next_write_number_, 0, {}});
}

}  // namespace winnow
