// Other filters for the SSTables that are there, without a compaction: DB::Refilter.
#ifndef WINNOW_REFILTER_H_
#define WINNOW_REFILTER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace winnow {

// What DB::Refilter has done so far, or in all.
struct RefilterInfo {
  uint64_t files_refiltered = 0;  // that have another filter now
  // Of those, that got their own filter back, which was the wanted one: nothing was read for it.
  uint64_t files_restored = 0;
  uint64_t files_current = 0;  // that had the wanted filter before, units of about the wanted size
  uint64_t files_gone = 0;     // that a compaction had replaced by the time their filter was made
  // Whose keys could not all be read, or that cannot be opened: they stay as they are.
  uint64_t files_damaged = 0;
  uint64_t files_left = 0;         // still to be looked at; 0 at the end
  uint64_t filters_fell_back = 0;  // that could not be built as specified (FilterBuilder::Finish)
  uint64_t bytes_read = 0;         // of SSTables: key hashes, or else each data block once
  uint64_t bytes_written = 0;      // of filter files
  uint64_t filter_bytes = 0;       // of the filters made
  std::chrono::microseconds duration{0};
};

struct RefilterOptions {
  // As DB::SetFilter takes them; empty: as they are. They are set first, for all tables that are
  // written from then on. Where they are set again before the call ends, it goes on with the last.
  // A range filter in them has to be what the tables have: it cannot be added to them. Without one
  // the family keeps what is set of it; "+range:0" takes it away from tables to come.
  std::string filter = "";
  std::string filter_key = "";
  // Under Options::filter_memory_budget: bytes for the filters of all column families by which the
  // new ones are sized, in place of the present budget, which stays; 0: by that. So a database can
  // be made ready for a budget that is smaller than a unit of each of the filters it has, and is to
  // be set then: under the present one the database would make larger ones again by itself, where
  // look-ups repay it.
  // FailedPrecondition: the database has no budget. InvalidArgument: less than 1 KiB, or than the
  // smallest filters of all tables take; the message names the smallest that works.
  uint64_t filter_memory_budget = 0;
  // Called on the thread of the call after each file, without a lock held. False ends the call with
  // Cancelled; what was done by then stays. It may call the database; FailedPrecondition refuses
  // it to close it, and to refilter. May be empty.
  std::function<bool(const RefilterInfo& so_far)> on_progress = nullptr;
};

}  // namespace winnow

#endif  // WINNOW_REFILTER_H_
