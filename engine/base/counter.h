// Counters that one thread adds to and others may read: no locked instruction, no shared line.
#ifndef WINNOW_ENGINE_BASE_COUNTER_H_
#define WINNOW_ENGINE_BASE_COUNTER_H_

#include <atomic>
#include <cstdint>

namespace winnow {

// Only the owning thread calls Add; any thread may call value(). Relaxed order: a reader sees some
// recent value and nothing else is published by it.
class SingleWriterCounter {
 public:
  void Add(uint64_t amount) {
    value_.store(value_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
  }
  void Increment() { Add(1); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// What reads of SSTables cost; one for each thread and database (or one for a whole job).
struct ReadCounters {
  SingleWriterCounter data_blocks_read;      // loaded from a file
  SingleWriterCounter blocks_read_together;  // of those, by one call with others (io_uring)
  SingleWriterCounter index_blocks_read;  // indexes and partitions loaded from a file after opening
  SingleWriterCounter filter_blocks_read;     // filters loaded from a file after opening
  SingleWriterCounter signature_blocks_read;  // signatures, or indexes of them, loaded from a file
  SingleWriterCounter bytes_read;             // bytes of all of them, as stored
  SingleWriterCounter block_cache_hits;       // blocks of data and index that were looked up there
  SingleWriterCounter block_cache_misses;     // of the same, those that were not there
  SingleWriterCounter
      block_load_waits;  // misses that waited for another thread's load of the block
};

// What filters answered, for one level and filter kind. Eligible look-ups are the sum of all four.
struct FilterCounters {
  SingleWriterCounter not_asked;  // the file has no usable filter
  SingleWriterCounter rejected;
  SingleWriterCounter true_positive;
  SingleWriterCounter false_positive;
};

// What range filters answered, for one level.
struct RangeFilterCounters {
  SingleWriterCounter not_asked;  // the file's range filter is not usable
  SingleWriterCounter rejected;
  SingleWriterCounter true_positive;
  SingleWriterCounter false_positive;
  // Sum of the rates that were promised for the ranges that held nothing, in units of 2^-32.
  SingleWriterCounter promised;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_BASE_COUNTER_H_
