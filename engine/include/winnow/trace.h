// Recording the calls of a database, to find out later what other filters would have made of them
// (`winnow compare`), or to make them again elsewhere (`winnow_bench --replay`): DB::StartTrace.
#ifndef WINNOW_TRACE_H_
#define WINNOW_TRACE_H_

#include <cstdint>

namespace winnow {

struct TraceOptions {
  // The file grows no further: later calls are counted and not recorded. 1 KiB to 1 TiB.
  uint64_t max_bytes = uint64_t{1} << 30;
  // Of each key its hash alone is recorded, the one that filters are asked with: 8 bytes from which
  // no key can be told, but by who guesses it and knows the database's seed. Such a trace serves
  // comparisons, and cannot be replayed.
  bool hash_keys = false;
  // One call in so many is recorded, chosen by its key, so that all calls of a key are, or none;
  // 1 to 1,000,000.
  uint32_t one_in = 1;
};

struct TraceInfo {
  uint64_t calls_recorded = 0;      // keys of MultiGet and updates of a batch count one by one
  uint64_t calls_not_recorded = 0;  // for want of room, and range deletions
  uint64_t bytes = 0;               // of the file
};

}  // namespace winnow

#endif  // WINNOW_TRACE_H_
