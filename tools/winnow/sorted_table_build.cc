#include "tools/winnow/sorted_table_build.h"

#include <algorithm>
#include <memory>
#include <tuple>
#include <utility>

#include "engine/base/coding.h"
#include "engine/base/start_thread.h"
#include "engine/base/status.h"
#include "filter/base/out_of_memory.h"
#include "tools/winnow/database.h"

namespace winnow::cli {

void EntryBuffer::Reserve(uint64_t bytes) {
  std::ignore = UnlessOutOfMemory([&] { bytes_.reserve(bytes); });
}

void EntryBuffer::Add(std::string_view key, std::string_view value) {
  const size_t needed = bytes_.size() + key.size() + value.size() + 2 * kMaxVarint64Bytes;
  if (needed > bytes_.capacity()) bytes_.reserve(std::max(needed, 2 * bytes_.size()));
  PutLengthPrefixed(&bytes_, key);
  PutLengthPrefixed(&bytes_, value);
  num_entries_++;
  entry_bytes_ += key.size() + value.size();
}

void EntryBuffer::Clear() {
  bytes_.clear();
  num_entries_ = 0;
  entry_bytes_ = 0;
}

absl::Status EntryBuffer::CopyTo(SstWriter* writer) const {
  const char* next = bytes_.data();
  const char* const end = next + bytes_.size();
  const auto take = [&] {
    uint64_t length = 0;
    const char* const begin = DecodeVarint64(next, end, &length);
    next = begin + length;
    return std::string_view(begin, length);
  };
  while (next != end) {
    const std::string_view key = take();
    WINNOW_RETURN_IF_ERROR(writer->Put(key, take()));
  }
  return absl::OkStatus();
}

SortedTableBuild::SortedTableBuild(DB& db, ColumnFamily* family, std::string path,
                                   EntryBuffer entries)
    : db_(db), family_(family), path_(std::move(path)), entries_(std::move(entries)) {
  const auto build = [this] { result_ = CatchOutOfMemory([this] { return Build(); }); };
  if (!StartThread(&thread_, build).ok()) build();
}

SortedTableBuild::~SortedTableBuild() {
  if (thread_.joinable()) thread_.join();
  FileSystemAsTyped()->Remove(path_).IgnoreError();
}

absl::StatusOr<SstFileInfo> SortedTableBuild::Build() const {
  WINNOW_ASSIGN_OR_RETURN(const std::unique_ptr<SstWriter> writer,
                          db_.NewSstWriter(family_, path_));
  WINNOW_RETURN_IF_ERROR(entries_.CopyTo(writer.get()));
  return writer->Finish();
}

absl::StatusOr<SstFileInfo> SortedTableBuild::Finish() {
  if (thread_.joinable()) thread_.join();
  return std::move(result_);
}

}  // namespace winnow::cli
