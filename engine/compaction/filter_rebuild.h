// Another filter for an SSTable, made from the keys in it, without a change to the table.
#ifndef WINNOW_ENGINE_COMPACTION_FILTER_REBUILD_H_
#define WINNOW_ENGINE_COMPACTION_FILTER_REBUILD_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "engine/compaction/background_rate_limiter.h"
#include "engine/sstable/filter_file.h"
#include "engine/version/sstable_file.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/filter_key.h"
#include "winnow/filter/spec.h"

namespace winnow {

struct FilterRebuildOptions {
  filter::FilterSpec spec;
  std::vector<double> unit_bits;  // as SstableBuilderOptions::filter_unit_bits
  filter::FilterKeyExtractor key;
  uint64_t hash_seed = 0;
  filter::FilterBuildContext context;
  size_t readahead_bytes = size_t{1} << 20;
  // What is read and written is paced by it.
  PacedBy paced;
  // Asked every now and then while the table is read; true ends the work with Cancelled. May be
  // empty.
  std::function<bool()> must_give_way = nullptr;
};

struct FilterRebuildResult {
  FilterFileMetadata file;
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t filter_bytes = 0;
  bool fell_back = false;
  // Why the table's key hashes could not be used although it has those that are wanted.
  absl::Status key_hashes_status;
  std::chrono::microseconds waited{0};
};

// Writes a synced filter file of number `number` to the table's directory, which is the caller's to
// sync. Reads the key hashes of `table` for it, where it has those of `key` and `hash_seed`, and no
// data; else, and where they are damaged, every data block once, checked. Holds eight bytes a key
// meanwhile, and the filter. DataLoss: the table is damaged, or does not hold as many entries as it
// says: a filter without them would hide them. Cancelled. After an error no file is left.
absl::StatusOr<FilterRebuildResult> RebuildFilter(const FilterRebuildOptions& options,
                                                  const SstableStore& store,
                                                  const SstableFile& table, uint64_t number);

}  // namespace winnow

#endif  // WINNOW_ENGINE_COMPACTION_FILTER_REBUILD_H_
