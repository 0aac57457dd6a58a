// A long run of mixed load on the operating system's files, with faults that come and go.
#ifndef WINNOW_TESTS_ENGINE_SOAK_SOAK_H_
#define WINNOW_TESTS_ENGINE_SOAK_SOAK_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace winnow::soak {

struct Settings {
  uint64_t seed = 1;
  std::string directory;  // made, and removed afterwards
  int num_intervals = 30;
  std::chrono::milliseconds interval{10000};
  int num_workers = 2;
  bool wrong_model = false;  // plants a mistake
};

// What one interval came to.
struct Sample {
  std::string fault;  // which was switched on in its first half
  uint64_t faults_fired = 0;
  uint64_t reads = 0;
  uint64_t failed_reads = 0;
  uint64_t writes = 0;
  uint64_t failed_writes = 0;
  std::chrono::milliseconds longest{0};  // of all reads and writes
  uint64_t resident_bytes = 0;
  uint64_t descriptors = 0;
  uint64_t disk_bytes = 0;
  uint64_t background_errors = 0;
  bool reopened = false;
};

struct Report {
  std::vector<Sample> samples;
  std::vector<std::string> problems;  // empty: all is well
};

// Ends after the intervals, or at the first wrong read. `tell` is called after each interval.
Report RunSoak(const Settings& settings, const std::function<void(const Sample&)>& tell);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_SOAK_H_
