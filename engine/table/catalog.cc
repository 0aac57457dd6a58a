// The catalog is a column family like others, so that it shares the write-ahead log with the cells:
// what it records before a cell is written stands in front of the cell in the log, and a crash that
// leaves the cell leaves the record. That is all that SaveBounds and SaveFlags need. Changes of
// schemas are synced: the column families that go with them are durable in the manifest at once,
// and intents have to be so before.
#include "engine/table/catalog.h"

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "engine/base/coding.h"
#include "engine/base/status.h"

namespace winnow {

namespace {

constexpr char kTableRecord = 't';
constexpr char kIntentRecord = 'i';
constexpr std::string_view kBoundsRecord = "c";

std::string RecordKey(char record, std::string_view name) {
  std::string key(1, record);
  key.append(name);
  return key;
}

absl::Status DamagedRecord(std::string_view key) {
  return absl::DataLossError(
      absl::StrCat("the catalog of tables is damaged at '", absl::CHexEscape(ToAbsl(key)), "'"));
}

// The first byte says what a record is. Names are not empty, so that the key of the bounds, which
// is one byte, is that of no other record.
absl::Status ReadRecord(std::string_view key, std::string_view value, Catalog::Contents* contents) {
  if (key == kBoundsRecord) {
    const bool is_whole = GetVarint64(&value, &contents->bounds.time_ms) &&
                          GetVarint64(&value, &contents->bounds.write_number) && value.empty();
    return is_whole ? absl::OkStatus() : DamagedRecord(key);
  }
  if (key.size() < 2) return DamagedRecord(key);
  const std::string_view name = key.substr(1);
  if (key.front() == kIntentRecord) {
    contents->intents.emplace_back(name);
    return absl::OkStatus();
  }
  if (key.front() != kTableRecord) return DamagedRecord(key);
  WINNOW_ASSIGN_OR_RETURN(StoredTable table, DecodeTable(name, value));
  contents->tables.emplace(name, std::move(table));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Catalog> Catalog::Open(DBImpl* db) {
  absl::StatusOr<ColumnFamily*> family = db->FindColumnFamily(kCatalogFamily);
  if (absl::IsNotFound(family.status())) {
    // With the defaults, whatever the options of the database are: no comparator, merge operator or
    // time to live of a user may touch these records.
    family = db->CreateColumnFamily(ColumnFamilyOptions(), kCatalogFamily);
  }
  if (!family.ok()) return family.status();
  // From here on writes that do not come by WriteAsOwner are refused.
  db->ReserveForOwner(*family, {});
  return Catalog(db, *family);
}

absl::StatusOr<Catalog::Contents> Catalog::Load() const {
  Contents contents;
  const std::unique_ptr<Iterator> iterator = db_->NewIterator(ReadOptions(), family_);
  // Read once, at the opening; from then on TableDatabaseImpl knows what is in it.
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    WINNOW_RETURN_IF_ERROR(ReadRecord(iterator->key(), iterator->value(), &contents));
  }
  WINNOW_RETURN_IF_ERROR(iterator->status());
  return contents;
}

absl::Status Catalog::WriteDurably(const WriteBatch& batch) {
  WriteOptions durably;
  durably.sync = true;
  return db_->WriteAsOwner(durably, batch);
}

absl::Status Catalog::AddIntents(const std::vector<std::string>& column_families) {
  WriteBatch batch;
  for (const std::string& name : column_families) {
    batch.Put(family_, RecordKey(kIntentRecord, name), {});
  }
  return WriteDurably(batch);
}

absl::Status Catalog::RemoveIntents(const std::vector<std::string>& column_families) {
  WriteBatch batch;
  for (const std::string& name : column_families) {
    batch.Delete(family_, RecordKey(kIntentRecord, name));
  }
  return WriteDurably(batch);
}

// One batch, so that schema and intents change together. At any moment a column family of a table
// is named by a schema or by an intent: what a crash leaves is used or cleared away, and never
// forgotten.
absl::Status Catalog::SaveTable(std::string_view name, const StoredTable& table,
                                const std::vector<std::string>& added,
                                const std::vector<std::string>& removed) {
  WriteBatch batch;
  batch.Put(family_, RecordKey(kTableRecord, name), EncodeTable(table));
  for (const std::string& family : added) batch.Delete(family_, RecordKey(kIntentRecord, family));
  for (const std::string& family : removed) {
    batch.Put(family_, RecordKey(kIntentRecord, family), {});
  }
  return WriteDurably(batch);
}

// The schema gives way to intents. A crash between this and the drop of the column families leaves
// their drop to the next opening.
absl::Status Catalog::RemoveTable(std::string_view name, const std::vector<std::string>& removed) {
  WriteBatch batch;
  batch.Delete(family_, RecordKey(kTableRecord, name));
  for (const std::string& family : removed) {
    batch.Put(family_, RecordKey(kIntentRecord, family), {});
  }
  return WriteDurably(batch);
}

// Without a sync: the record must only be in the log before the first cell that the flag speaks of.
// A crash that loses the record loses that cell as well.
absl::Status Catalog::SaveFlags(std::string_view name, const StoredTable& table) {
  WriteBatch batch;
  batch.Put(family_, RecordKey(kTableRecord, name), EncodeTable(table));
  return db_->WriteAsOwner(WriteOptions(), batch);
}

// Likewise. It is called under row latches, at times under all of them, where a sync would be felt
// by every writer.
absl::Status Catalog::SaveBounds(const WriteClock::Bounds& bounds) {
  std::string value;
  PutVarint64(&value, bounds.time_ms);
  PutVarint64(&value, bounds.write_number);
  WriteBatch batch;
  batch.Put(family_, kBoundsRecord, value);
  return db_->WriteAsOwner(WriteOptions(), batch);
}

}  // namespace winnow
