// One SSTable of entries in memory, made by a thread of its own.
#ifndef WINNOW_TOOLS_WINNOW_SORTED_TABLE_BUILD_H_
#define WINNOW_TOOLS_WINNOW_SORTED_TABLE_BUILD_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/db.h"

namespace winnow::cli {

// Entries in ascending order, one behind the other.
class EntryBuffer {
 public:
  // Takes the room for so many bytes if it can be had, so that filling it copies none of them
  // again.
  void Reserve(uint64_t bytes);
  // Without memory for it (bad_alloc) the entry is left out.
  void Add(std::string_view key, std::string_view value);
  void Clear();

  uint64_t capacity() const { return bytes_.capacity(); }
  uint64_t num_entries() const { return num_entries_; }
  uint64_t entry_bytes() const { return entry_bytes_; }  // of keys and values
  // Puts all of them into `writer`.
  absl::Status CopyTo(SstWriter* writer) const;

 private:
  std::string bytes_;
  uint64_t num_entries_ = 0;
  uint64_t entry_bytes_ = 0;
};

// Used by one thread, beside that which it starts.
class SortedTableBuild {
 public:
  // Begins at once. Where the system has no thread to give the table is made before this returns.
  SortedTableBuild(DB& db, ColumnFamily* family, std::string path, EntryBuffer entries);
  // Waits, and removes the file if it is still there under its name.
  ~SortedTableBuild();
  SortedTableBuild(const SortedTableBuild&) = delete;
  SortedTableBuild& operator=(const SortedTableBuild&) = delete;

  // Waits for the table, which is durable then. To be called once.
  absl::StatusOr<SstFileInfo> Finish();
  // What it was made of; valid once Finish has returned.
  EntryBuffer& entries() { return entries_; }
  const std::string& path() const { return path_; }

 private:
  absl::StatusOr<SstFileInfo> Build() const;

  DB& db_;
  ColumnFamily* const family_;
  const std::string path_;
  EntryBuffer entries_;
  absl::StatusOr<SstFileInfo> result_;  // the thread's until it is joined
  std::thread thread_;
};

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_WINNOW_SORTED_TABLE_BUILD_H_
