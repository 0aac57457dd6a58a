// What Options::ForMemory promises: a process with such a database stays within the memory, a tenth
// of it and 16 MiB, whatever is stored, in however many families and in whatever order.
#ifndef WINNOW_TESTS_ENGINE_SOAK_MEMORY_BOUND_H_
#define WINNOW_TESTS_ENGINE_SOAK_MEMORY_BOUND_H_

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace winnow::soak {

// How small keys come.
enum class KeyOrder : uint8_t {
  kSequential,  // family after family, ascending in each
  kScattered,   // each to any family, ascending in each
  kRandom,      // each to any family, in no order
};
inline constexpr const char* kKeyOrderNames[] = {"sequential", "scattered", "random"};

struct MemoryCell {
  uint64_t memory_bytes = uint64_t{16} << 20;
  uint64_t families = 1;
  uint64_t keys = 1'000'000;
  KeyOrder order = KeyOrder::kRandom;
  bool exceeds = false;  // takes as much again beside the database: a planted mistake
};

struct MemoryReport {
  // The most that was resident in each phase: of the whole process, its code and the load included.
  uint64_t loading_bytes = 0;
  uint64_t reading_bytes = 0;  // keys that are there, keys that are not, and a scan
  uint64_t compacting_bytes = 0;
  uint64_t reopened_bytes = 0;  // opened again, and read
  uint64_t disk_bytes = 0;      // at most
  uint64_t descriptors = 0;
  uint64_t seconds = 0;  // for all of it
  uint64_t longest_milliseconds = 0;
  std::string longest_call;  // of Open, CreateColumnFamily, Put, Get and a step of an iterator
  std::vector<std::string> problems;
};

// With the tenth and the 16 MiB.
uint64_t AllowedBytes(const MemoryCell& cell);
uint64_t MostBytes(const MemoryReport& report);

// Few keys in the smallest memory, in each order, with one family and with many.
std::vector<MemoryCell> SmallMemoryCells();

// As RunCell of limits.h does.
MemoryReport RunMemoryCell(const MemoryCell& cell, const std::string& directory,
                           std::chrono::seconds patience);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_MEMORY_BOUND_H_
