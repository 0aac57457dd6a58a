// TableWriter: cells in sorted files of their families, which come into the store whole.
//
// The cells carry the number of the write that the writer began as. They take effect when the files
// are ingested: that is the same as long as no marker has a number in between, which is checked
// while nobody writes.
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/base/checksum.h"
#include "engine/base/status.h"
#include "engine/file_system/file_system_of.h"
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "engine/table/table_database.h"
#include "engine/version/file_names.h"
#include "filter/base/out_of_memory.h"
#include "winnow/file_system.h"
#include "winnow/ingest.h"

namespace winnow {

namespace {

// A writer keeps in memory the hashes for its file's filter and the index: larger loads are several
// files of a family, one behind the other.
constexpr uint64_t kFileBytes = uint64_t{64} << 20;

class TableLoader final : public TableWriter {
 public:
  TableLoader(TableDatabaseImpl* tables, Table* table, FileSystem* file_system,
              std::string directory, uint64_t write_number)
      : tables_(*tables),
        table_(table),
        file_system_(*file_system),
        directory_(std::move(directory)),
        prefix_(absl::StrCat(absl::Hex(RandomIdentity()))),
        write_number_(write_number) {}
  ~TableLoader() override {
    // Those that are finished and were not ingested; the others are removed by their writers.
    for (const IngestFile& file : files_) file_system_.Remove(file.path).IgnoreError();
  }

  absl::Status Put(std::string_view row, std::string_view family, std::string_view qualifier,
                   uint64_t timestamp, std::string_view value) override {
    return CatchOutOfMemory([&]() -> absl::Status {
      if (is_finished_) return absl::FailedPreconditionError("the table writer has finished");
      // For each cell: the table may be altered or dropped meanwhile.
      WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(table_, &tables_));
      WINNOW_ASSIGN_OR_RETURN(const FamilyState* const found, table->Find(family));
      WINNOW_RETURN_IF_ERROR(CheckRow(row));
      WINNOW_RETURN_IF_ERROR(CheckQualifier(qualifier));
      WINNOW_RETURN_IF_ERROR(CheckTimestamp(timestamp));
      WINNOW_RETURN_IF_ERROR(CheckCellBytes(value, tables_.max_cell_bytes()));
      MakeCellKey(row, qualifier, timestamp, CellKind::kVersion, &key_);
      value_.clear();
      AppendCellValue({write_number_, 0, value}, &value_);
      std::string& last_key = last_keys_[found];
      // Compared across files, while an SstWriter knows one alone: the files of a family must not
      // overlap when they are ingested.
      if (key_ <= last_key) {
        return absl::InvalidArgumentError("the cell does not come behind the one before");
      }
      WINNOW_ASSIGN_OR_RETURN(SstWriter* const writer, WriterOf(*found));
      // last_key follows only when the cell is in: after an error the same cell may be given again.
      WINNOW_RETURN_IF_ERROR(writer->Put(key_, value_));
      last_key = key_;
      num_cells_++;
      return absl::OkStatus();
    });
  }

  uint64_t num_cells() const override { return num_cells_; }

  absl::Status Finish() override {
    return CatchOutOfMemory([&]() -> absl::Status {
      if (is_finished_) return absl::FailedPreconditionError("the table writer has finished");
      // Set whatever happens below: after a failure some files are finished and some are gone.
      is_finished_ = true;
      // Before the latches: files are synced here, and writers need not wait for that.
      while (!writers_.empty()) WINNOW_RETURN_IF_ERROR(FinishFile(writers_.begin()->first));
      if (files_.empty()) return absl::OkStatus();
      // Until the files are in the store nobody writes a marker.
      const RowLatchGuard everyone(tables_.latches());
      WINNOW_RETURN_IF_ERROR(CheckUnchanged());
      // What SstWriter has just written need not be read again.
      WINNOW_RETURN_IF_ERROR(
          tables_.store().IngestAsOwner(files_, {.move = true, .verify = false}).status());
      // The store has moved them.
      files_.clear();
      return absl::OkStatus();
    });
  }

 private:
  absl::StatusOr<SstWriter*> WriterOf(const FamilyState& family) {
    const auto at = writers_.find(&family);
    if (at != writers_.end() && at->second->file_bytes() < kFileBytes) return at->second.get();
    if (at != writers_.end()) WINNOW_RETURN_IF_ERROR(FinishFile(&family));
    // By number: a family's name may be as long as a file's alone, and another writer may have
    // files in the directory.
    const std::string path = absl::StrCat(directory_, "/", prefix_, "-", num_files_++, ".sst");
    WINNOW_ASSIGN_OR_RETURN(std::unique_ptr<SstWriter> writer,
                            tables_.store().NewSstWriter(family.column_family, path));
    SstWriter* const made = writer.get();
    writers_[&family] = std::move(writer);
    return made;
  }

  absl::Status FinishFile(const FamilyState* family) {
    // Taken out of the map whether it succeeds or not: a writer finishes once.
    const std::unique_ptr<SstWriter> writer = std::move(writers_.extract(family).mapped());
    WINNOW_ASSIGN_OR_RETURN(const SstFileInfo info, writer->Finish());
    files_.push_back({.path = info.path, .family = family->column_family});
    return absl::OkStatus();
  }

  // With all latches held. Families without cells of this load do not matter.
  absl::Status CheckUnchanged() const {
    WINNOW_ASSIGN_OR_RETURN(const TableState* const table, CheckTable(table_, &tables_));
    for (const auto& [family, last_key] : last_keys_) {
      const auto now = table->Find(family->name);
      // One that was dropped and made again has the name, and another column family.
      if (!now.ok() || *now != family) {
        return absl::AbortedError(absl::StrCat("family '", family->name, "' has been replaced"));
      }
      // A marker with a greater number would hide these cells, though they take effect after it;
      // and collectors go by write numbers of cells where they have no others.
      if (family->rules->last_delete() >= write_number_) {
        return absl::AbortedError(absl::StrCat("cells of family '", family->name,
                                               "' were deleted since the writer was made"));
      }
      // A put in such a family reads and cleans its column first, which a load does not do.
      if (family->rules->has_cell_ttls()) {
        return absl::FailedPreconditionError(
            absl::StrCat("family '", family->name, "' has cells with a time to live of their own"));
      }
    }
    return absl::OkStatus();
  }

  TableDatabaseImpl& tables_;
  Table* const table_;
  FileSystem& file_system_;
  const std::string directory_;
  const std::string prefix_;  // of the names of its files
  const uint64_t write_number_;
  bool is_finished_ = false;
  uint64_t num_cells_ = 0;
  uint64_t num_files_ = 0;
  std::map<const FamilyState*, std::unique_ptr<SstWriter>> writers_;
  std::map<const FamilyState*, std::string> last_keys_;
  std::vector<IngestFile> files_;  // finished
  std::string key_;
  std::string value_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<TableWriter>> TableDatabaseImpl::NewTableWriter(
    Table* table, const std::string& directory) {
  return CatchOutOfMemory([&]() -> absl::StatusOr<std::unique_ptr<TableWriter>> {
    if (auto checked = CheckTable(table, this); !checked.ok()) return checked.status();
    FileSystem* const file_system = FileSystemOf(options_);
    WINNOW_RETURN_IF_ERROR(file_system->CreateDirectories(directory));
    // Which an ingestion would refuse to move them out of, once all cells have been added.
    WINNOW_ASSIGN_OR_RETURN(const bool is_of_database,
                            file_system->Exists(CurrentFileName(directory)));
    if (is_of_database) {
      return absl::InvalidArgumentError(
          absl::StrCat(directory, " is the directory of a database, not one for its new tables"));
    }
    // Before the first cell, each of which has it in its value.
    WINNOW_ASSIGN_OR_RETURN(const WriteClock::Stamp stamp, clock_->Take(1));
    return std::unique_ptr<TableWriter>(
        std::make_unique<TableLoader>(this, table, file_system, directory, stamp.write_number));
  });
}

}  // namespace winnow
