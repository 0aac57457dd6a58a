// Tables of rows, columns and versions over the store, as Bigtable (Chang et al., OSDI 2006) and
// HBase have them.
//
//   auto opened = winnow::TableDatabase::Open(winnow::Options(), "/tmp/example");
//   if (!opened.ok()) return Report(opened.status());
//   std::unique_ptr<winnow::TableDatabase> tables = *std::move(opened);
//   winnow::TableSchema schema{.name = "users", .families = {{.name = "info", .max_versions = 3}}};
//   absl::StatusOr<winnow::Table*> users = tables->CreateTable(schema);
//   if (!users.ok()) return Report(users.status());
//   absl::Status put = tables->Put(winnow::WriteOptions(), *users, "ann", "info", "city", "Ulm");
//   winnow::RowResult row;
//   absl::Status got = tables->Get(winnow::TableReadOptions(), *users, "ann", &row);
//   for (const winnow::CellView& cell : row.cells()) Use(cell.qualifier, cell.value);
//
// A table has rows, which are in bytewise order; a row has cells in the column families that the
// table's schema names; within a family a column is whatever qualifier a cell has. Each cell is a
// version: it has a timestamp, and those of a column are read newest first.
//
// What is there follows from the history of writes and the clock alone, as if these rules ran after
// every write; flushes and compactions change no answer:
// - A delete hides what was written before it, with timestamps up to its own, and nothing that is
//   written later, whatever timestamp that has.
// - A version that a family's rules (FamilySchema) have let go never comes back, but for rules that
//   are loosened: what they let go may show again until it is collected, also with a value that a
//   later one, which they let go, had taken the place of.
// - A cell whose own time to live is up is absent, and uncovers nothing.
// - A cell of the same row, column and timestamp as one before takes its place.
//
// Timestamps are milliseconds since 1970, 0 to kMaxTimestamp. Those that a call does not give are
// the present of Options::clock, and never go back, even if it does, across openings too.
//
// All calls are thread-safe. Errors are those of winnow/db.h; besides:
//   InvalidArgument     a row, qualifier, cell or timestamp over its limit; a table of another
//                       database
//   NotFound            no such table or family
//   FailedPrecondition  the table has been dropped
//   DataLoss            a table's column family holds what is no cell, or is missing: AlterTable
//                       with the present schema makes it anew, empty; DropTable drops the rest
#ifndef WINNOW_TABLE_H_
#define WINNOW_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/db.h"
#include "winnow/options.h"
#include "winnow/table_filter.h"

namespace winnow {

// Limits. A row has at least one byte; a qualifier may be empty.
inline constexpr uint64_t kMaxTimestamp = (uint64_t{1} << 63) - 2;
inline constexpr size_t kMaxRowBytes = 32'767;
inline constexpr size_t kMaxQualifierBytes = size_t{64} << 10;
inline constexpr size_t kMaxCellBytes = size_t{10} << 20;  // of a value, if TableOptions do not say
inline constexpr size_t kMaxTableCellBytes = kMaxValueBytes - 32;
inline constexpr uint32_t kUnlimitedVersions = 0x7fffffff;
inline constexpr size_t kMaxSignedColumns = 32;
inline constexpr size_t kMaxSignedColumnBytes = 255;

// A column family of a table. Letters, digits, '_', '-' and '.' make a name.
struct FamilySchema {
  std::string name = {};
  // Versions of a column that are kept, the newest: the others are gone. Default 1, range 1 -
  // kUnlimitedVersions.
  uint32_t max_versions = 1;
  // How many seconds after its timestamp a version is kept. Default 0: for ever. Range 0 -
  // kMaxTtlSeconds.
  uint64_t ttl_seconds = 0;
  // Versions that are kept even when they are older than that, the newest. Default 0. Less than
  // max_versions, and only with a time to live.
  uint32_t min_versions = 0;
  // Instead of these three any rule of when a version goes, as Bigtable's: "maxversions=N" (so many
  // newer ones are kept), "maxage=T" (its timestamp is longer ago; T as 30s, 10m, 12h, 7d),
  // joined by "and" and "or" and parentheses; "and" binds stronger:
  //   "maxversions=10 or (maxage=7d and maxversions=1)"
  // Empty: none; otherwise the three are as by default.
  std::string garbage_rule = {};
  // What the filters know: "ROW", "ROWCOL" (rows and columns, in one filter), "NONE",
  // "ROWPREFIX_FIXED_LENGTH:N" and "ROWPREFIX_DELIMITED:C" (up to and including the first byte C),
  // both beside rows, or the parts of a filter key of ColumnFamilyOptions. They do not go
  // beyond the row: of one that is shorter, or has no C, it is the row.
  std::string bloom_filter = "ROW";
  // Their kind and size, as ColumnFamilyOptions::filter. Under Options::filter_memory_budget the
  // size plays no part.
  std::string filter = "blocked_bloom:10";
  // Columns by whose values rows are found without reading all rows: "city,born". Each SSTable
  // keeps a signature of each row, 80 bits, of which each value of these columns sets two, as
  // PostgreSQL's index method `bloom` does. A Scan whose filter shows only rows that have certain
  // values in some of them (SingleColumnValueFilter with `=`, `binary` and filterIfMissing,
  // ColumnValueFilter with
  // `=` and `binary`, AND with anything but WHILE) reads signatures, and then the rows that these
  // let through, each from all SSTables. It gives the same rows. Of those that have n values, and
  // none of k that are asked for, about (1 - (39/40)^n)^(2k) are read in vain. Scans in reverse,
  // and raw ones, read all rows. Names of columns of this family with commas between, at most
  // kMaxSignedColumns of 1 to kMaxSignedColumnBytes. Default empty: no signatures. What is in
  // SSTables when the list changes has signatures by the new one once it is compacted
  // (TableDatabase::MajorCompact), and is read until then.
  std::string signature = {};

  friend bool operator==(const FamilySchema&, const FamilySchema&) = default;
};

struct TableSchema {
  std::string name = {};  // as a family's; with a family's and a colon at most 255 bytes
  std::vector<FamilySchema> families = {};  // one at least; in order of their names once created

  friend bool operator==(const TableSchema&, const TableSchema&) = default;
};

// A table of an open database, which owns it; valid until that is closed. After a drop, calls with
// it fail with FailedPrecondition.
class Table {
 public:
  virtual const std::string& name() const = 0;

 protected:
  virtual ~Table() = default;
};

// A frozen view of all tables, the clock included: what has not expired when it is taken does not
// expire for it. Schemas are not part of it. Destroyed before the database is closed.
class TableSnapshot {
 public:
  virtual ~TableSnapshot() = default;
  virtual uint64_t timestamp() const = 0;  // the present that it has frozen
};

// What is stored: a cell, or, in raw reads, the marker of a delete of all that is not newer in its
// column, or, without a qualifier, in its family.
enum class CellType : uint8_t { kPut, kDeleteColumn, kDeleteFamily };

// One cell; the bytes are those of the RowResult it is of.
struct CellView {
  std::string_view family;
  std::string_view qualifier;
  uint64_t timestamp = 0;
  std::string_view value;
  CellType type = CellType::kPut;
  // Its own time to live, in milliseconds after its timestamp; 0: it has none.
  uint64_t ttl_ms = 0;
};

// A row, or a batch of its cells: families by name, then qualifiers bytewise, then newest first.
// Used again and again it allocates nothing once it is large enough. A copy has bytes of its own;
// what is moved from is empty.
class RowResult {
 public:
  RowResult() = default;
  RowResult(const RowResult& other) { *this = other; }
  RowResult& operator=(const RowResult& other);
  RowResult(RowResult&& other) noexcept { *this = std::move(other); }
  RowResult& operator=(RowResult&& other) noexcept;

  std::string_view row() const { return row_; }
  bool empty() const { return cells_.empty(); }
  std::span<const CellView> cells() const { return cells_; }
  // The newest version of a column that was read; null: there is none.
  const CellView* Find(std::string_view family, std::string_view qualifier) const;
  void Clear();

 private:
  friend class RowResultBuilder;
  // The cells' bytes, which were at `from`, are at bytes_.
  void MoveViews(const char* from);

  std::string row_;
  std::vector<char> bytes_;  // the first num_bytes_ are in use
  size_t num_bytes_ = 0;
  std::vector<CellView> cells_;
};

// A family, or one column of it.
struct ColumnSelection {
  std::string family;
  std::optional<std::string> qualifier;
};

struct TableReadOptions {
  // Null: newest.
  const TableSnapshot* snapshot = nullptr;
  // What to read; empty: everything.
  std::vector<ColumnSelection> columns = {};
  // Versions of each column at most, of those that the family's rules keep. At least 1.
  uint32_t max_versions = 1;
  // Timestamps from `min_timestamp` to before `end_timestamp` alone. Rules come first: what a newer
  // version outside has superseded is not there.
  uint64_t min_timestamp = 0;
  uint64_t end_timestamp = kMaxTimestamp + 1;
  // Which rows and cells are given (winnow/table_filter.h). What it implies of rows and columns
  // bounds what is read.
  TableFilter filter = {};
  // Everything that is stored, by compactions not yet removed: what was deleted, has expired or is
  // superseded, and the markers of deletes. Deletes of single versions leave none. `columns` are
  // families then, without qualifiers. Not for Exists, GetCell and MayExist.
  bool raw = false;
  // As in ReadOptions.
  bool fill_cache = true;
  bool verify_checksums = true;
};

struct ScanOptions : TableReadOptions {
  // Rows from `start_row` on, to before `stop_row`; with `row_prefix` those that begin with it. In
  // reverse `start_row` is the greatest, and still included. Unset: no bound.
  std::optional<std::string> start_row = std::nullopt;
  std::optional<std::string> stop_row = std::nullopt;
  std::string row_prefix = {};
  // From the greatest row to the smallest; the cells of each are in their usual order.
  bool reverse = false;
  // Rows at most; 0: all.
  uint64_t max_rows = 0;
  // Cells of one result at most, so that a row of any width takes no more memory than that; it then
  // comes in several results. 0: whole rows. InvalidArgument beside a filter that decides by whole
  // rows (SingleColumnValueFilter, DependentColumnFilter, SKIP).
  size_t max_cells = 0;
};

// The rows of a scan, as of the moment it was begun, also if the table is dropped meanwhile. Used
// by one thread at a time; destroyed before the database is closed.
class RowScanner {
 public:
  virtual ~RowScanner() = default;
  // The next row, or part of it, that has cells; false at the end or for an error.
  virtual bool Next(RowResult* row) = 0;
  virtual absl::Status status() const = 0;
};

// Several changes that take effect together or not at all, whatever rows, families and tables they
// are of; later ones see those before. Copies what it is given. Not thread-safe; may be written
// many times.
class TableBatch {
 public:
  struct PutOptions {
    std::optional<uint64_t> timestamp = std::nullopt;  // unset: the present
    // How many milliseconds after its timestamp the cell exists, if that is less than its family
    // says. 0: it has no time to live of its own. In a family that has ever had such cells a put
    // reads its column.
    uint64_t ttl_ms = 0;
  };

  void Put(Table* table, std::string_view row, std::string_view family, std::string_view qualifier,
           std::string_view value);
  void Put(Table* table, std::string_view row, std::string_view family, std::string_view qualifier,
           std::string_view value, const PutOptions& options);
  // The version with this timestamp; unset: the newest that is there. Reads the column. What rules
  // have let go of the column goes as well, so that nothing comes in the version's place.
  void DeleteVersion(Table* table, std::string_view row, std::string_view family,
                     std::string_view qualifier, std::optional<uint64_t> timestamp);
  // All versions of a column with timestamps up to this; unset: up to the present.
  void DeleteColumn(Table* table, std::string_view row, std::string_view family,
                    std::string_view qualifier, std::optional<uint64_t> timestamp = std::nullopt);
  // Of each column of a family in the row, the version with this timestamp. Reads all of them.
  void DeleteFamilyVersion(Table* table, std::string_view row, std::string_view family,
                           uint64_t timestamp);
  // All columns of a family in the row, and of all families, with timestamps up to this.
  void DeleteFamily(Table* table, std::string_view row, std::string_view family,
                    std::optional<uint64_t> timestamp = std::nullopt);
  void DeleteRow(Table* table, std::string_view row,
                 std::optional<uint64_t> timestamp = std::nullopt);

  void Clear() { changes_.clear(); }
  size_t num_changes() const { return changes_.size(); }

 private:
  friend class TableBatchAccess;
  enum class ChangeType : uint8_t {
    kPut,
    kDeleteVersion,
    kDeleteColumn,
    kDeleteFamilyVersion,
    kDeleteFamily,
    kDeleteRow,
  };
  struct Change {
    ChangeType type;
    Table* table = nullptr;
    std::string row;
    std::string family;
    std::string qualifier;
    std::string value;
    std::optional<uint64_t> timestamp;
    uint64_t ttl_ms = 0;
  };
  std::vector<Change> changes_;
};

// What CheckAndMutate asks of a column's newest version.
struct CellCondition {
  enum class Operator {
    kAbsent,
    kEqual,
    kNotEqual,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual
  };
  std::string row;
  std::string family;
  std::string qualifier;
  // How its value, bytewise, stands to `value`. An absent cell meets kAbsent alone.
  Operator op = Operator::kEqual;
  std::string value = {};
};

// Loads many cells at once, past the log and the memtables: they go to sorted files, which the
// table then ingests whole. Used by one thread at a time; destroyed before the database is closed.
class TableWriter {
 public:
  // Removes what was not finished.
  virtual ~TableWriter() = default;
  // Cells of a family in ascending order: by rows, then by qualifiers, both bytewise, then from the
  // newest timestamp to the oldest. Families may come in any order. InvalidArgument: a limit, a
  // cell that does not come behind the one before; the writer goes on. NotFound: the family.
  virtual absl::Status Put(std::string_view row, std::string_view family,
                           std::string_view qualifier, uint64_t timestamp,
                           std::string_view value) = 0;
  virtual uint64_t num_cells() const = 0;
  // Makes all of them part of the table, durably, together or not at all, as if they were put now.
  // Nothing may be added afterwards. Aborted: a column, a family of a row or a row was deleted
  // since the writer was made, or one of its families was removed. FailedPrecondition: a family has
  // cells with a time to live of their own.
  virtual absl::Status Finish() = 0;
};

// Settings of all tables of a database.
struct TableOptions {
  // Bytes of a cell's value, at most; what is stored already is read whatever its size. Default 10
  // MiB. Range 1 - kMaxTableCellBytes.
  size_t max_cell_bytes = kMaxCellBytes;
};

// A database of tables, and of what else is in it.
class TableDatabase {
 public:
  // As DB::Open. Not for `read_only`, which is InvalidArgument. Column families with a colon in
  // their name are opened as those of tables: in bytewise order, with what is recorded of them, and
  // the rest as for "default". Options::column_families may say otherwise, for compression and
  // sizes; of such names it may have some that are not there yet, for CreateTable and AlterTable.
  static absl::StatusOr<std::unique_ptr<TableDatabase>> Open(
      const Options& options, const std::string& path, const TableOptions& table_options = {});
  virtual ~TableDatabase() = default;  // closes, and discards errors
  // As DB::Close. Scanners and snapshots must be gone.
  virtual absl::Status Close() = 0;

  // The store below, for column families that are no tables', and for maintenance. Of the column
  // family of a table ("table:family"), and of that with the schemas ("winnow.tables"), it refuses
  // with InvalidArgument what belongs to the tables: writes, Ingest and transactions, a drop, and
  // options that change what cells are there or how they are found (filter, filter_key,
  // merge_operator, ttl_seconds, compaction=fifo). A database that DB::Open has opened knows of no
  // tables and refuses nothing of this.
  virtual DB& db() = 0;

  // --- Schemas: each call is durable when it returns, and whole or absent after a crash ---
  // InvalidArgument: names and rules. AlreadyExists: a table, or a column family of that name.
  virtual absl::StatusOr<Table*> CreateTable(const TableSchema& schema) = 0;
  virtual absl::StatusOr<Table*> FindTable(std::string_view name) = 0;
  // Makes the schema of the table of this name what is given: families that it lacks are dropped
  // with all they hold, new ones are added, and the others have the new rules from now on. Writers
  // wait meanwhile; stricter rules of a family that has ever had cells with a time to live of their
  // own read all of it. An error may come when the schema is changed, of new filters or of what is
  // dropped: DescribeTable tells; the next AlterTable sets the filters, the next opening does both.
  virtual absl::Status AlterTable(const TableSchema& schema) = 0;
  virtual absl::Status DropTable(std::string_view name) = 0;
  // Removes all rows; snapshots and scanners keep theirs.
  virtual absl::Status TruncateTable(std::string_view name) = 0;
  virtual std::vector<std::string> ListTables() = 0;
  virtual absl::StatusOr<TableSchema> DescribeTable(std::string_view name) = 0;

  // --- Writing ---
  virtual absl::Status Write(const WriteOptions& options, const TableBatch& batch) = 0;
  virtual absl::Status Put(const WriteOptions& options, Table* table, std::string_view row,
                           std::string_view family, std::string_view qualifier,
                           std::string_view value) = 0;
  // Adds to the newest version of a column, 8 bytes, the most significant first, wrapping around;
  // an absent one counts as 0. The new version's timestamp is the present, or that of the newest if
  // it is greater. Gives the new value. InvalidArgument: the column holds something else.
  virtual absl::StatusOr<int64_t> Increment(const WriteOptions& options, Table* table,
                                            std::string_view row, std::string_view family,
                                            std::string_view qualifier, int64_t amount) = 0;
  // Likewise, with bytes put behind those that are there. Gives the new value.
  virtual absl::StatusOr<std::string> Append(const WriteOptions& options, Table* table,
                                             std::string_view row, std::string_view family,
                                             std::string_view qualifier,
                                             std::string_view suffix) = 0;
  // Writes the batch if the condition holds, with nothing in between; says whether it did.
  virtual absl::StatusOr<bool> CheckAndMutate(const WriteOptions& options, Table* table,
                                              const CellCondition& condition,
                                              const TableBatch& batch) = 0;
  // Likewise if the filter shows anything of the row (HBase's CheckAndMutate with a filter).
  virtual absl::StatusOr<bool> CheckAndMutate(const WriteOptions& options, Table* table,
                                              std::string_view row, const TableFilter& condition,
                                              const TableBatch& batch) = 0;
  // Deletes all rows from `from` to before `to`, whatever their cells' timestamps, by one record a
  // family, however many there are. An empty `to`: to the end. What is written later is not
  // deleted. InvalidArgument: `to` comes before `from`.
  virtual absl::Status DeleteRows(const WriteOptions& options, Table* table, std::string_view from,
                                  std::string_view to) = 0;
  // A writer for this table whose files are made in `directory`, in the file system of the
  // database; it is created if it is missing. InvalidArgument: it is that of a database.
  virtual absl::StatusOr<std::unique_ptr<TableWriter>> NewTableWriter(
      Table* table, const std::string& directory) = 0;

  // --- Reading ---
  // Empty if nothing of the row is there.
  virtual absl::Status Get(const TableReadOptions& options, Table* table, std::string_view row,
                           RowResult* result) = 0;
  // Several rows as of one moment: `results` has as many, in the order of `rows`.
  virtual absl::Status MultiGet(const TableReadOptions& options, Table* table,
                                std::span<const std::string_view> rows,
                                std::vector<RowResult>* results) = 0;
  // The newest version of one column. NotFound: there is none, or the filter shows nothing of it.
  // Of `options` the columns and the number of versions do not count; `raw` is InvalidArgument.
  virtual absl::Status GetCell(const TableReadOptions& options, Table* table, std::string_view row,
                               std::string_view family, std::string_view qualifier,
                               std::string* value) = 0;
  // Whether a Get would find anything.
  virtual absl::StatusOr<bool> Exists(const TableReadOptions& options, Table* table,
                                      std::string_view row) = 0;
  // Likewise, of filters and memory alone: no I/O. False: nothing of what `options.columns` name of
  // the row is there, or of the row. True for what is absent at the filters' false-positive rate,
  // and for what was deleted, superseded or has expired. Asks for columns where BLOOMFILTER knows
  // them. NotFound, InvalidArgument: as Get.
  virtual absl::StatusOr<bool> MayExist(const TableReadOptions& options, Table* table,
                                        std::string_view row) = 0;
  // Never null; an error shows in its status().
  virtual std::unique_ptr<RowScanner> Scan(const ScanOptions& options, Table* table) = 0;
  // Null only if there is no memory for it.
  virtual std::unique_ptr<TableSnapshot> GetSnapshot() = 0;

  // --- Maintenance ---
  virtual absl::Status Flush(std::string_view table) = 0;
  // Compacts all of the table, beside readers and writers. Other compactions, which begin by
  // themselves, remove what no reader can see any more as far as it comes together in them; this
  // one removes all of it, markers of deletes included.
  virtual absl::Status MajorCompact(std::string_view table) = 0;
};

}  // namespace winnow

#endif  // WINNOW_TABLE_H_
