// What kill_test and the program that it kills agree on.
#ifndef WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_
#define WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_

#include <cstdint>
#include <string>

#include "engine/base/coding.h"
#include "winnow/db.h"
#include "winnow/merge_operator.h"

namespace winnow {

inline constexpr int kWriterThreads = 3;
inline constexpr uint64_t kKeptRows = 200;
inline constexpr uint64_t kRemovedAtOnce = 8;

struct Acknowledgement {
  uint32_t thread;
  uint64_t number;
};

// Whether the batch of that number is written with WriteOptions::sync.
inline bool IsSynced(uint64_t number) { return number % 16 == 0; }

// Whether that batch comes as tables that are ingested, which counts as synced.
inline bool IsIngested(uint64_t number) { return number % 512 == 0; }
// The oldest row that is there when the batch of that number is the newest.
inline uint64_t FirstRow(uint64_t number) {
  const uint64_t removed_at = number - number % kRemovedAtOnce;
  return removed_at > kKeptRows ? removed_at - kKeptRows + 1 : 1;
}

inline Options KillTestOptions() {
  Options options;
  options.write_buffer_bytes = size_t{64} << 10;
  options.target_file_bytes = size_t{64} << 10;
  options.level_base_bytes = size_t{256} << 10;
  options.background_threads = 4;  // so that some compactions are cut into parts
  options.merge_operator = *ParseMergeOperator("uint64_add");
  return options;
}
inline Options KillTestOptionsUnderBudget() {
  Options options = KillTestOptions();
  options.filter_memory_budget = uint64_t{64} << 10;
  options.optimize_filters_for_hits = true;
  return options;
}
// Its values have write times, none of which expires; sums are the default family's.
inline ColumnFamilyOptions SecondFamilyOptions() {
  ColumnFamilyOptions options = KillTestOptions();
  options.ttl_seconds = kMaxTtlSeconds;
  options.merge_operator = nullptr;
  return options;
}

inline std::string LastRowKey(int thread) { return "last-" + std::to_string(thread); }
// Of as many digits each, so that they stand in the order of their numbers.
inline std::string RowKey(int thread, uint64_t number) {
  const std::string digits = std::to_string(number);
  return "row-" + std::to_string(thread) + "-" + std::string(12 - digits.size(), '0') + digits;
}
// The sum of the numbers of all batches, of which each merges its own.
inline std::string SumKey(int thread) { return "sum-" + std::to_string(thread); }
inline std::string EncodedNumber(uint64_t number) {
  std::string bytes;
  PutFixed64(&bytes, number);
  return bytes;
}
inline std::string SumAfter(uint64_t number) { return EncodedNumber(number * (number + 1) / 2); }
inline std::string RowValue(int thread, uint64_t number) {
  std::string value = RowKey(thread, number) + " ";
  value.append(number * 7 % 300, static_cast<char>('a' + number % 26));
  return value;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_
