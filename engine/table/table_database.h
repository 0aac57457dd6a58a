// The open database of tables: its parts, and the calls of its users.
//
// Lock order: schema_mutex_, then row latches (RowLatchGuard), then the clock's mutex.
#ifndef WINNOW_ENGINE_TABLE_TABLE_DATABASE_H_
#define WINNOW_ENGINE_TABLE_TABLE_DATABASE_H_

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/db/db_impl.h"
#include "engine/table/catalog.h"
#include "engine/table/cell_collector.h"
#include "engine/table/cell_reader.h"
#include "engine/table/row_latches.h"
#include "engine/table/row_writer.h"
#include "engine/table/table_batch.h"
#include "engine/table/table_schema.h"
#include "engine/table/table_state.h"
#include "engine/table/write_clock.h"
#include "filter/base/mutex.h"
#include "winnow/table.h"

namespace winnow {

class TableDatabaseImpl final : public TableDatabase {
 public:
  TableDatabaseImpl(const Options& options, const TableOptions& table_options)
      : options_(options), table_options_(table_options) {}
  ~TableDatabaseImpl() override;
  absl::Status OpenDatabase(const std::string& path) ABSL_LOCKS_EXCLUDED(schema_mutex_);

  absl::Status Close() override ABSL_LOCKS_EXCLUDED(schema_mutex_);
  DB& db() override { return *db_; }
  // For writes to the column families of tables, which are reserved.
  DBImpl& store() { return static_cast<DBImpl&>(*db_); }
  // What TableWriter needs: the latches of everybody, and the number of a write.
  RowLatches& latches() { return latches_; }
  WriteClock& clock() { return *clock_; }
  size_t max_cell_bytes() const { return table_options_.max_cell_bytes; }

  // table_schemas.cc
  absl::StatusOr<Table*> CreateTable(const TableSchema& schema) override
      ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::StatusOr<Table*> FindTable(std::string_view name) override
      ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::Status AlterTable(const TableSchema& schema) override ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::Status DropTable(std::string_view name) override ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::Status TruncateTable(std::string_view name) override ABSL_LOCKS_EXCLUDED(schema_mutex_);
  std::vector<std::string> ListTables() override ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::StatusOr<TableSchema> DescribeTable(std::string_view name) override
      ABSL_LOCKS_EXCLUDED(schema_mutex_);

  // table_writes.cc
  absl::Status Write(const WriteOptions& options, const TableBatch& batch) override;
  absl::Status Put(const WriteOptions& options, Table* table, std::string_view row,
                   std::string_view family, std::string_view qualifier,
                   std::string_view value) override;
  absl::StatusOr<int64_t> Increment(const WriteOptions& options, Table* table, std::string_view row,
                                    std::string_view family, std::string_view qualifier,
                                    int64_t amount) override;
  absl::StatusOr<std::string> Append(const WriteOptions& options, Table* table,
                                     std::string_view row, std::string_view family,
                                     std::string_view qualifier, std::string_view suffix) override;
  absl::StatusOr<bool> CheckAndMutate(const WriteOptions& options, Table* table,
                                      const CellCondition& condition,
                                      const TableBatch& batch) override;
  absl::StatusOr<bool> CheckAndMutate(const WriteOptions& options, Table* table,
                                      std::string_view row, const TableFilter& condition,
                                      const TableBatch& batch) override;
  absl::Status DeleteRows(const WriteOptions& options, Table* table, std::string_view from,
                          std::string_view to) override;

  // table_load.cc
  absl::StatusOr<std::unique_ptr<TableWriter>> NewTableWriter(
      Table* table, const std::string& directory) override;

  // table_reads.cc
  absl::Status Get(const TableReadOptions& options, Table* table, std::string_view row,
                   RowResult* result) override;
  absl::Status MultiGet(const TableReadOptions& options, Table* table,
                        std::span<const std::string_view> rows,
                        std::vector<RowResult>* results) override;
  absl::Status GetCell(const TableReadOptions& options, Table* table, std::string_view row,
                       std::string_view family, std::string_view qualifier,
                       std::string* value) override;
  absl::StatusOr<bool> Exists(const TableReadOptions& options, Table* table,
                              std::string_view row) override;
  absl::StatusOr<bool> MayExist(const TableReadOptions& options, Table* table,
                                std::string_view row) override;
  std::unique_ptr<RowScanner> Scan(const ScanOptions& options, Table* table) override;
  std::unique_ptr<TableSnapshot> GetSnapshot() override;

  // table_maintenance.cc
  absl::Status Flush(std::string_view table) override;
  absl::Status MajorCompact(std::string_view table) override;

 private:
  // A table with what its schema says, families in the same order as in the state.
  struct Entry {
    std::unique_ptr<TableState> state;
    StoredTable stored;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  // --- table_database.cc ---
  ColumnFamilyOptions OptionsFor(const std::string& column_family);
  // Of one that a table is about to get.
  ColumnFamilyOptions OptionsForNew(const std::string& column_family);
  std::shared_ptr<const MergeOperator> MergeOperatorOf(const std::string& column_family,
                                                       std::string_view recorded) const;
  CellCollectors& CollectorsOf(const std::string& column_family);
  absl::Status DropLeftovers(Catalog::Contents* contents);
  // As the store takes them at this moment.
  absl::StatusOr<FilterTexts> FilterTextsNow(const FamilySchema& schema);
  // What the schema says of the column family, if it is not so: each change is one of the manifest.
  absl::Status ApplySchema(ColumnFamily* column_family, const FamilySchema& schema);
  absl::Status AdoptTable(const std::string& name, StoredTable stored)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);

  // --- table_schemas.cc ---
  absl::StatusOr<Entry*> FindEntry(std::string_view name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  // The same, of a table that has all its column families.
  absl::StatusOr<Entry*> FindUsableEntry(std::string_view name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  // All of them or none.
  absl::Status CreateColumnFamilies(const std::vector<std::string>& names,
                                    const std::vector<FamilySchema>& schemas);
  // After a change that failed: of these the first `num_created` were created for it.
  void UndoCreation(const std::vector<std::string>& names, size_t num_created);
  // Of families that the catalog knows no more. Errors leave the rest to the next opening.
  absl::Status DropColumnFamilies(const std::vector<std::string>& names);
  FamilyRules RulesFromNow(const StoredFamily& family);
  const FamilyState* AddFamilyState(const std::string& table, const StoredFamily& family,
                                    ColumnFamily* column_family)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  // Before the rules of families become stricter. All latches are held.
  absl::Status CleanByOldRules(const Entry& entry, const TableSchema& schema)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  // All of the change or, with an error, nothing. All latches are held.
  absl::Status ChangeFamilies(Entry* entry, StoredTable altered,
                              const std::vector<std::string>& added,
                              const std::vector<std::string>& removed)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  absl::Status ApplySchemas(const Entry& entry) ABSL_EXCLUSIVE_LOCKS_REQUIRED(schema_mutex_);
  // From now on the family may have such cells; recorded before the first is written.
  enum class Flag : uint8_t { kRowMarkers, kCellTtls };
  absl::Status SetFlag(const TableState& table, std::string_view family, Flag flag)
      ABSL_LOCKS_EXCLUDED(schema_mutex_);

  // --- table_writes.cc ---
  absl::Status CheckChanges(const std::vector<TableChange>& changes);
  // A flag that a change needs and its family lacks. With the latches of all rows held.
  struct MissingFlag {
    const TableState* table;
    const FamilyState* family;
    Flag flag;
  };
  absl::StatusOr<std::optional<MissingFlag>> FindMissingFlag(
      const std::vector<TableChange>& changes);
  // What `call` returns, with these latches held and all flags set that the changes need.
  template <typename Call>
  auto WithLatches(const std::vector<uint16_t>& wanted, const std::vector<TableChange>& changes,
                   const Call& call) -> decltype(call());
  // With the latches of all rows held.
  absl::Status WriteLatched(const WriteOptions& options, const std::vector<TableChange>& changes);
  // The newest version of a column, and whether there is one.
  struct NewestCell {
    bool is_there = false;
    uint64_t timestamp = 0;
    std::string value;
  };
  absl::StatusOr<NewestCell> ReadNewest(CellMoment& moment, const FamilyState& family,
                                        std::string_view row, std::string_view qualifier);
  // Writes what `change` makes of the newest version, latched.
  template <typename Change>
  absl::Status ReadModifyWrite(const WriteOptions& options, Table* table, std::string_view row,
                               std::string_view family, std::string_view qualifier,
                               const Change& change);

  // The same for whatever `condition` finds, with nothing in between: it reads rows that are
  // latched.
  template <typename Condition>
  absl::StatusOr<bool> WriteIf(const WriteOptions& options, Table* table, std::string_view row,
                               const Condition& condition, const TableBatch& batch);

  // --- table_reads.cc ---
  absl::Status ReadPointCells(const TableReadOptions& options, const TableState& table,
                              PointMoment& moment, std::string_view row, RowResult* result,
                              bool* is_known);
  // `possible`, if given, says of which of the plan's families there may be something in the row.
  absl::Status ReadRow(const TableReadOptions& options, const std::vector<FamilyQuery>& plan,
                       CellMoment& moment, std::string_view row, RowResult* result,
                       const std::function<bool(size_t)>& possible = nullptr);
  absl::Status GetShownCell(const TableReadOptions& options, Table* table, std::string_view row,
                            std::string_view family, std::string_view qualifier,
                            std::string* value);
  PointMoment PointMomentOf(const TableReadOptions& options) const;
  CellMoment MomentOf(const TableReadOptions& options) const;

  // --- table_maintenance.cc ---
  absl::StatusOr<const TableState*> FindState(std::string_view name)
      ABSL_LOCKS_EXCLUDED(schema_mutex_);
  absl::Status CleanFamily(const TableState& table, const FamilyState& family, bool is_latched);
  absl::Status CleanRow(const TableState& table, const FamilyState& family, std::string_view row);
  absl::Status CleanLatchedRow(const FamilyState& family, std::string_view row);

  const Options options_;
  const TableOptions table_options_;
  // By column family, before the database, whose compactions use them.
  Mutex collectors_mutex_;
  std::map<std::string, std::unique_ptr<CellCollectors>> collectors_
      ABSL_GUARDED_BY(collectors_mutex_);
  std::unique_ptr<WriteClock> clock_;
  std::unique_ptr<DB> db_;
  std::optional<Catalog> catalog_;
  RowLatches latches_;

  Mutex schema_mutex_;
  Entries tables_ ABSL_GUARDED_BY(schema_mutex_);
  // All that there were since the database was opened: readers may still use them.
  std::vector<std::unique_ptr<FamilyState>> families_ ABSL_GUARDED_BY(schema_mutex_);
  std::vector<std::unique_ptr<TableState>> dropped_tables_ ABSL_GUARDED_BY(schema_mutex_);
};

class TableSnapshotImpl final : public TableSnapshot {
 public:
  // The time is read first. What is written in between is in the snapshot, perhaps with a timestamp
  // above its time, which decides about expiry alone.
  TableSnapshotImpl(DB& db, WriteClock& clock) : time_(clock), snapshot_(db) {}
  uint64_t timestamp() const override { return time_.now_ms(); }
  const Snapshot* snapshot() const { return snapshot_.get(); }

 private:
  HeldTime time_;
  SnapshotGuard snapshot_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_TABLE_TABLE_DATABASE_H_
