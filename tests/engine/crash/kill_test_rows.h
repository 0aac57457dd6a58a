// What kill_test and the program that it kills agree on.
#ifndef WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_
#define WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_

#include <cstdint>
#include <string>

#include "winnow/db.h"

namespace winnow {

inline constexpr int kWriterThreads = 3;
inline constexpr uint64_t kKeptRows = 200;

struct Acknowledgement {
  uint32_t thread;
  uint64_t number;
};

// Whether the batch of that number is written with WriteOptions::sync.
inline bool IsSynced(uint64_t number) { return number % 16 == 0; }

inline Options KillTestOptions() {
  Options options;
  options.write_buffer_bytes = size_t{64} << 10;
  options.target_file_bytes = size_t{64} << 10;
  options.level_base_bytes = size_t{256} << 10;
  return options;
}

inline std::string LastRowKey(int thread) { return "last-" + std::to_string(thread); }
inline std::string RowKey(int thread, uint64_t number) {
  return "row-" + std::to_string(thread) + "-" + std::to_string(number);
}
inline std::string RowValue(int thread, uint64_t number) {
  std::string value = RowKey(thread, number) + " ";
  value.append(number * 7 % 300, static_cast<char>('a' + number % 26));
  return value;
}

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_KILL_TEST_ROWS_H_
