// Counts what filters in Redis answer.

#ifndef WINNOW_FILTER_REDIS_QUERY_COUNTER_H_
#define WINNOW_FILTER_REDIS_QUERY_COUNTER_H_

#include <atomic>

#include "absl/status/status.h"
#include "filter/base/out_of_memory.h"
#include "winnow/filter/redis/query_counts.h"

namespace winnow::filter::redis {

// Thread-safe. Beside a round trip, shared counters cost nothing.
class QueryCounter {
 public:
  void AddNo(uint64_t keys) { Add(&no_, keys); }
  void AddFound(uint64_t keys) { Add(&found_, keys); }
  // Keys that were answered with "maybe" because of this error.
  void AddUnknown(const absl::Status& error, uint64_t keys);

  // The only answer of a batch of one; "maybe", counted here, if there is no memory for it.
  template <typename Batch>
  bool AnswerForOne(Batch ask) {
    bool answer = true;
    if (!UnlessOutOfMemory([&] { answer = ask().front(); })) AddUnknown(OutOfMemory(), 1);
    return answer;
  }

  QueryCounts Get() const;

 private:
  using Count = std::atomic<uint64_t>;
  static void Add(Count* count, uint64_t keys) {
    count->fetch_add(keys, std::memory_order_relaxed);
  }

  Count no_{0};
  Count found_{0};
  Count missing_{0};
  Count loading_{0};
  Count changed_{0};
  Count unreachable_{0};
  Count refused_{0};
};

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_QUERY_COUNTER_H_
