#include "tools/winnow/sorted_tables.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/entry_limits.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/winnow/database.h"
#include "winnow/options.h"

namespace winnow::cli {

namespace {

// More would wait for the disk, or for the thread that reads the input.
constexpr size_t kMaxBuilds = 8;
// A table that compresses well is made of more entries, but not of more than so many times its
// size: the next ones may compress less.
constexpr uint64_t kMaxCompression = 4;

size_t NumBuilds() {
  return std::clamp(size_t{std::thread::hardware_concurrency()}, size_t{1}, kMaxBuilds);
}

std::string LoadDirectory(const std::string& path) { return absl::StrCat(path, "/load.tmp"); }

// With what a command that was killed has left in it: only one at a time has the database open.
void RemoveDirectory(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace

SortedTables::SortedTables(DB& db, ColumnFamily* family, const std::string& path,
                           uint64_t table_bytes)
    : db_(db),
      family_(family),
      directory_(LoadDirectory(path)),
      table_bytes_(table_bytes),
      max_builds_(NumBuilds()),
      max_buffer_bytes_(kMaxBufferedBytes / (max_builds_ + 1)),
      buffer_bytes_(std::min(table_bytes_, max_buffer_bytes_)) {}

SortedTables::~SortedTables() {
  builds_.clear();
  if (num_started_ > 0) RemoveDirectory(directory_);
}

absl::Status SortedTables::CheckEntry(std::string_view key, std::string_view value) const {
  WINNOW_RETURN_IF_ERROR(CheckEntryBytes(key.size(), value.size()));
  if (!has_last_key_ || last_key_ < key) return absl::OkStatus();
  return KeysNotAscending(key, last_key_);
}

absl::Status SortedTables::Put(std::string_view key, std::string_view value) {
  WINNOW_RETURN_IF_ERROR(status_);
  return CatchOutOfMemory([&]() -> absl::Status {
    WINNOW_RETURN_IF_ERROR(CheckEntry(key, value));
    // Before the entry, which would else be in the buffer though the call has failed.
    if (buffer_.entry_bytes() >= buffer_bytes_) WINNOW_RETURN_IF_ERROR(StartTable());
    if (buffer_.num_entries() == 0) buffer_.Reserve(buffer_bytes_ + buffer_bytes_ / 4);
    last_key_.reserve(key.size());
    buffer_.Add(key, value);
    last_key_.assign(key);
    has_last_key_ = true;
    return absl::OkStatus();
  });
}

// After any failure no later table is ingested: the entries of this one would be missing before it.
absl::Status SortedTables::StartTable() {
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    while (builds_.size() >= max_builds_) WINNOW_RETURN_IF_ERROR(IngestOldest());
    if (num_started_ == 0) {
      RemoveDirectory(directory_);
      WINNOW_RETURN_IF_ERROR(FileSystemAsTyped()->CreateDirectories(directory_));
    }
    builds_.push_back(std::make_unique<SortedTableBuild>(
        db_, family_, absl::StrCat(directory_, "/", ++num_started_, ".sst"), std::move(buffer_)));
    buffer_ = std::move(spare_);
    buffer_.Clear();
    spare_ = EntryBuffer();
    return absl::OkStatus();
  });
  return status_;
}

// Not read again by the database: this program has just written it.
absl::Status SortedTables::IngestOldest() {
  const std::unique_ptr<SortedTableBuild> build = std::move(builds_.front());
  builds_.pop_front();
  WINNOW_ASSIGN_OR_RETURN(const SstFileInfo table, build->Finish());
  WINNOW_RETURN_IF_ERROR(
      db_.Ingest({{build->path(), family_}}, {.move = true, .verify = false}).status());
  const uint64_t entry_bytes = build->entries().entry_bytes();
  entries_ += table.num_entries;
  bytes_ += entry_bytes;
  tables_++;
  // The next ones compress as this one did.
  const double compression =
      static_cast<double>(entry_bytes) / static_cast<double>(table.file_bytes);
  const double wanted =
      static_cast<double>(table_bytes_) * std::clamp(compression, 0.5, double{kMaxCompression});
  buffer_bytes_ = std::min(static_cast<uint64_t>(wanted), max_buffer_bytes_);
  // One that a large value has widened is given back.
  if (build->entries().capacity() <= 2 * max_buffer_bytes_) spare_ = std::move(build->entries());
  return absl::OkStatus();
}

absl::Status SortedTables::Finish() {
  WINNOW_RETURN_IF_ERROR(status_);
  if (buffer_.num_entries() > 0) WINNOW_RETURN_IF_ERROR(StartTable());
  status_ = CatchOutOfMemory([&]() -> absl::Status {
    while (!builds_.empty()) WINNOW_RETURN_IF_ERROR(IngestOldest());
    return absl::OkStatus();
  });
  return status_;
}

void RemoveLoadDirectory(const std::string& path) {
  const std::string directory = LoadDirectory(path);
  std::error_code ignored;
  if (!std::filesystem::exists(directory, ignored)) return;
  RemoveDirectory(directory);
  FileSystemAsTyped()->RemoveDirectory(path).IgnoreError();
}

absl::StatusOr<bool> IsEmpty(DB& db, ColumnFamily* family) {
  const std::unique_ptr<Iterator> entry = db.NewIterator(ReadOptions(), family);
  entry->SeekToFirst();
  WINNOW_RETURN_IF_ERROR(entry->status());
  return !entry->Valid();
}

}  // namespace winnow::cli
