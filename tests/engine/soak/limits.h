// The store at its limits: many families, threads or files, values from nothing to a gibibyte, with
// little memory, few descriptors, few processes or small files. What such a load takes must come
// back when its reason ends, and nothing may end the process.
#ifndef WINNOW_TESTS_ENGINE_SOAK_LIMITS_H_
#define WINNOW_TESTS_ENGINE_SOAK_LIMITS_H_

#include <chrono>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/engine/soak/usage.h"

namespace winnow::soak {

// What the operating system grants while the load runs, as `ulimit` does.
enum class Limit : uint8_t { kNone, kMemory, kDescriptors, kProcesses, kFileBytes };

struct Cell {
  int families = 1;
  int threads = 1;
  uint64_t value_bytes = 100;
  int files = 1;  // so many flushes, without compaction if they are many
  Limit limit = Limit::kNone;
  uint64_t seed = 1;
  bool leaks = false;  // keeps what it should give back: a planted mistake
};

struct CellReport {
  Usage before;  // of the open and empty database
  Usage during;  // memory at its most, the rest after the load
  Usage after;   // once everything has been deleted, dropped and compacted
  uint64_t calls = 0;
  uint64_t refused = 0;
  uint64_t longest_milliseconds = 0;
  std::string longest_call;
  std::vector<std::string> problems;
};

// The ends of each dimension, one at a time, and each limit; values of at most `most_bytes`.
std::vector<Cell> CornerCells(uint64_t most_bytes);
// Any combination, small numbers as often as large ones, whose values have at most `most_bytes`.
Cell RandomCell(std::mt19937_64& random, uint64_t most_bytes);
const char* LimitName(Limit limit);
std::string Describe(const Cell& cell);

// Runs it in a process of its own, in `directory`, which is made and removed. A process that dies,
// or that has not ended after `patience`, is a problem. Call from a process with one thread.
CellReport RunCell(const Cell& cell, const std::string& directory, std::chrono::seconds patience);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_LIMITS_H_
