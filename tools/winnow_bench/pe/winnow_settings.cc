#include "tools/winnow_bench/pe/winnow_settings.h"

#include "engine/base/status.h"

namespace winnow::bench::pe {

absl::StatusOr<Options> WinnowOptionsOf(const PeOptions& options) {
  Options winnow;
  winnow.write_buffer_bytes = options.write_buffer_bytes;
  winnow.block_cache_bytes = options.cache_bytes;
  winnow.block_bytes = options.block_bytes;
  winnow.filter = options.filter;
  WINNOW_ASSIGN_OR_RETURN(winnow.compression, ParseCompression(options.compression));
  return winnow;
}

EngineCounters CountersOf(DB& db) {
  const Statistics statistics = db.GetStatistics();
  EngineCounters counters;
  uint64_t checked = 0;
  uint64_t rejected = 0;
  uint64_t false_positive = 0;
  for (const FilterStatistics& row : statistics.filters) {
    checked += row.checked;
    rejected += row.rejected;
    false_positive += row.false_positive;
  }
  counters.filter_checked = checked;
  counters.filter_rejected = rejected;
  counters.filter_false_positive = false_positive;
  counters.data_blocks_read = statistics.Get(Ticker::kDataBlocksRead);
  return counters;
}

}  // namespace winnow::bench::pe
