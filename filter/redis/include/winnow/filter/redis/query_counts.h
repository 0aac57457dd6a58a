// What a filter in Redis has answered, and why it could not say more.

#ifndef WINNOW_FILTER_REDIS_QUERY_COUNTS_H_
#define WINNOW_FILTER_REDIS_QUERY_COUNTS_H_

#include <cstdint>

namespace winnow::filter::redis {

// In keys, since the object was made.
struct QueryCounts {
  uint64_t no = 0;     // certainly absent
  uint64_t found = 0;  // maybe: what the filter says of keys that were added, and some others
  // Maybe, since the filter could not be asked:
  uint64_t missing = 0;      // there is none, it has expired, or is not complete yet
  uint64_t loading = 0;      // the server is reading its data
  uint64_t changed = 0;      // its configuration changed, time and again
  uint64_t unreachable = 0;  // no connection, or no answer in time
  uint64_t refused = 0;      // any other error, such as a key of another type
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_QUERY_COUNTS_H_
