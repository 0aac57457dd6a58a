// What the operating system says about this process, this machine and a directory.
#ifndef WINNOW_TOOLS_WINNOW_BENCH_PROCESS_H_
#define WINNOW_TOOLS_WINNOW_BENCH_PROCESS_H_

#include <cstdint>
#include <string>

namespace winnow::bench {

// Through system calls, from page cache or disk alike; reads of mapped files are not among them.
struct InputOutput {
  uint64_t bytes_read = 0;
  uint64_t bytes_written = 0;
  uint64_t read_calls = 0;
  // In whole pages, when they become dirty, also those of mapped files; none of files in memory.
  uint64_t bytes_for_disk = 0;
};

// All zero where the system does not say (/proc/self/io).
InputOutput ReadInputOutput();

// The largest memory in use since ResetPeakMemory, or since the start where it cannot be reset.
uint64_t PeakMemoryBytes();
void ResetPeakMemory();

// Bytes of the files in `path` and below, without the holes of sparse ones and without info logs;
// files that vanish meanwhile do not count.
uint64_t DirectoryBytes(const std::string& path);
// The same of info logs alone: files in which RocksDB, LevelDB and Winnow tell people what they
// did, each at a length of its own (LOG, LOG.old, ...). They are no data.
uint64_t InfoLogBytes(const std::string& path);

struct Machine {
  std::string cpu;
  int num_cpus = 0;
  uint64_t memory_bytes = 0;
  std::string kernel;
  std::string distribution;
  std::string compiler;
};
Machine DescribeMachine();

}  // namespace winnow::bench

#endif  // WINNOW_TOOLS_WINNOW_BENCH_PROCESS_H_
