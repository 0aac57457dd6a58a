// How far background work is behind: what its rate limiter goes by.
#include <algorithm>

#include "engine/db/database_jobs.h"

namespace winnow {

namespace {

// A level this many times over what makes it due is as bad as a full level 0: the debt would grow
// without bound below while writes never stall.
constexpr double kMostTimesDue = 4;

}  // namespace

// The largest of three, each 0 while nothing is due and 1 where writes would wait or be delayed, or
// the tree has lost its shape.
double DatabaseJobs::DebtOf(const ColumnFamilyState& family) {
  const ColumnFamilyOptions& options = family.options();
  double debt = 0;
  if (!family.immutables.empty()) {
    const double filled = static_cast<double>(family.active().memory_bytes()) /
                          static_cast<double>(options.write_buffer_bytes);
    debt = (static_cast<double>(family.immutables.size()) - 1 + std::min(filled, 1.0)) /
           (options.max_write_buffers - 1);
  }
  if (options.disable_auto_compactions || options.compaction.kind == CompactionStyle::Kind::kFifo) {
    return debt;
  }
  const double level0_room = options.level0_slowdown_trigger - options.level0_compaction_trigger;
  const double level0_over =
      static_cast<double>(family.version()->num_files(0)) - options.level0_compaction_trigger;
  if (level0_over > 0) debt = std::max(debt, level0_over / std::max(level0_room, 1.0));
  const LevelScores scores = family.picker.Scores(*family.version(), options);
  for (size_t level = 1; level < scores.score.size(); level++) {
    debt = std::max(debt, (scores.score[level] - 1) / (kMostTimesDue - 1));
  }
  return debt;
}

BackgroundLoad DatabaseJobs::LookAtLoad() {
  const RecorderTotals totals = parts_.recorder->Sum();
  const uint64_t blocks_read = totals.tickers[static_cast<size_t>(Ticker::kDataBlocksRead)];
  DatabaseLock lock(parts_.mutex);
  BackgroundLoad load;
  // All memtables together may be full while each of them is small.
  load.debt = parts_.families->write_buffers()->NearnessToWaiting();
  load.has_readers = blocks_read > blocks_read_at_last_look_;
  blocks_read_at_last_look_ = blocks_read;
  for (const auto& [id, family] : parts_.families->live()) {
    if (!family->is_dropped()) load.debt = std::max(load.debt, DebtOf(*family));
  }
  return load;
}

}  // namespace winnow
