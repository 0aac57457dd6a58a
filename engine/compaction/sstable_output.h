// Writes a sorted run of surviving entries as SSTables of the wanted size.
#ifndef WINNOW_ENGINE_COMPACTION_SSTABLE_OUTPUT_H_
#define WINNOW_ENGINE_COMPACTION_SSTABLE_OUTPUT_H_

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/base/entry_collector.h"
#include "engine/compaction/background_rate_limiter.h"
#include "engine/compaction/compaction_iterator.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/version.h"
#include "filter/base/out_of_memory.h"

namespace winnow {

// What every table written by one flush or compaction shares.
struct SstableOutputOptions {
  SstableStore store;
  SstableBuilderOptions builder;
  uint64_t target_file_bytes = UINT64_MAX;
  std::function<uint64_t()> new_file_number;
  // Told of each table's size once it is written, on the thread that did; may be empty.
  std::function<void(uint64_t bytes)> on_written = {};
  // Any of them ends the job with Cancelled; may be null.
  std::array<const std::atomic<bool>*, 2> cancelled = {};
  // Null: nobody limits the rate. `cancelled` ends waits, too.
  BackgroundRateLimiter* rate_limiter = nullptr;
  BackgroundRateLimiter::Priority priority = BackgroundRateLimiter::Priority::kCompaction;
  // Files of the sorted run below the output, in order: a table ends early where one of them does,
  // and rather than overlapping so many of them that compacting it again becomes expensive.
  Version::Files next_run;
  // For tiers, whose ranges go down together: a table may be half as large again as its target, so
  // as to end where one of them does.
  bool waits_for_border = false;
  // A table ends only where these say that one may; null: between any two user keys.
  const EntryCollectorFactory* collectors = nullptr;
};

// Files written; the caller adds them to a version edit or removes them.
struct SstableOutputResult {
  std::vector<FileMetadata> files;
  uint64_t bytes_written = 0;
  uint64_t num_filters_fell_back = 0;
  uint64_t entries_written = 0;
  uint64_t entries_collected = 0;       // dropped by a collector, or made deletions of
  uint64_t num_merge_failures = 0;      // keys whose operands stay as they are
  absl::Status merge_failure;           // of the first of them
  std::chrono::microseconds waited{0};  // for the rate limiter
};

// Writes entries from where `entries` stands until it ends, and range tombstones (in order, not
// overlapping), each cut where a file ends. Versions of one user key never part: a file boundary
// between them would let a later compaction move the newer one below the older. On an error the
// files written so far are still listed in `*result`.
absl::Status WriteSstables(const SstableOutputOptions& options,
                           const InternalKeyComparator& comparator, CompactionIterator* entries,
                           const std::vector<RangeTombstoneFragment>& tombstones,
                           SstableOutputResult* result);

// Removes files of a failed or abandoned job; errors leave orphans that the next open removes.
void RemoveOutputs(const SstableStore& store, const std::vector<FileMetadata>& files);

// For what comes between the writing of files and the edit that names them: `call`, whose status
// is given back. After an error, lack of memory among them, nobody would know of the files.
template <typename Call>
absl::Status OrRemoveOutputs(const SstableStore& store, const std::vector<FileMetadata>& files,
                             Call&& call) {
  absl::Status status = CatchOutOfMemory(std::forward<Call>(call));
  if (!status.ok()) RemoveOutputs(store, files);
  return status;
}

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_SSTABLE_OUTPUT_H_
