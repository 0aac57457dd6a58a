#include "tools/winnow/sorted_tables.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tools/winnow/database.h"

namespace winnow::cli {

namespace {

constexpr uint64_t kEntriesBetweenSizeChecks = 64;

std::string LoadDirectory(const std::string& path) { return absl::StrCat(path, "/load.tmp"); }
std::string TableIn(const std::string& directory) { return absl::StrCat(directory, "/table.sst"); }

}  // namespace

SortedTables::SortedTables(DB& db, ColumnFamily* family, const std::string& path,
                           uint64_t table_bytes)
    : db_(db),
      family_(family),
      directory_(LoadDirectory(path)),
      table_path_(TableIn(directory_)),
      table_bytes_(table_bytes) {}

SortedTables::~SortedTables() {
  writer_.reset();
  FileSystem& file_system = *FileSystemAsTyped();
  file_system.Remove(table_path_).IgnoreError();
  file_system.RemoveDirectory(directory_).IgnoreError();
}

// What a command that was killed has left goes first: only one at a time has the database open.
absl::Status SortedTables::Start() {
  FileSystem& file_system = *FileSystemAsTyped();
  WINNOW_RETURN_IF_ERROR(file_system.CreateDirectories(directory_));
  file_system.Remove(table_path_).IgnoreError();
  WINNOW_ASSIGN_OR_RETURN(writer_, db_.NewSstWriter(family_, table_path_));
  writer_bytes_ = 0;
  return absl::OkStatus();
}

absl::Status SortedTables::Put(std::string_view key, std::string_view value) {
  if (writer_ == nullptr) WINNOW_RETURN_IF_ERROR(Start());
  WINNOW_RETURN_IF_ERROR(writer_->Put(key, value));
  writer_bytes_ += key.size() + value.size();
  if (until_size_check_-- > 0) return absl::OkStatus();
  until_size_check_ = kEntriesBetweenSizeChecks;
  return writer_->file_bytes() < table_bytes_ ? absl::OkStatus() : Finish();
}

// Not read again by the database: this program has just written it.
absl::Status SortedTables::Finish() {
  if (writer_ == nullptr) return absl::OkStatus();
  const std::unique_ptr<SstWriter> writer = std::move(writer_);
  if (writer->num_entries() == 0) return absl::OkStatus();
  WINNOW_ASSIGN_OR_RETURN(const SstFileInfo table, writer->Finish());
  WINNOW_RETURN_IF_ERROR(
      db_.Ingest({{table_path_, family_}}, {.move = true, .verify = false}).status());
  entries_ += table.num_entries;
  bytes_ += writer_bytes_;
  tables_++;
  return absl::OkStatus();
}

void RemoveLoadDirectory(const std::string& path) {
  FileSystem& file_system = *FileSystemAsTyped();
  const std::string directory = LoadDirectory(path);
  if (!file_system.Exists(directory).value_or(false)) return;
  file_system.Remove(TableIn(directory)).IgnoreError();
  file_system.RemoveDirectory(directory).IgnoreError();
  file_system.RemoveDirectory(path).IgnoreError();
}

absl::StatusOr<bool> IsEmpty(DB& db, ColumnFamily* family) {
  const std::unique_ptr<Iterator> entry = db.NewIterator(ReadOptions(), family);
  entry->SeekToFirst();
  WINNOW_RETURN_IF_ERROR(entry->status());
  return !entry->Valid();
}

}  // namespace winnow::cli
