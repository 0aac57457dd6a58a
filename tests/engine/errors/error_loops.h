// Error loops, after SQLite: a workload is run again and again, and each time another one of its
// file operations fails, until the run ends without a failure.
#ifndef WINNOW_TESTS_ENGINE_ERRORS_ERROR_LOOPS_H_
#define WINNOW_TESTS_ENGINE_ERRORS_ERROR_LOOPS_H_

#include <string>
#include <vector>

#include "tests/support/fault_file_system.h"

namespace winnow {

struct ErrorLoop {
  std::string name;  // "I/O error, once"
  FaultRule rule;    // its `first` is what the loop counts up
};

// Every kind of operation that can meet it x {I/O error, disk full, no file descriptor, torn
// append, failed sync that drops the pages} x {once, for a while, for ever}.
std::vector<ErrorLoop> AllErrorLoops();

struct ErrorLoopOutcome {
  size_t runs = 0;    // in each of which the fault was met
  size_t silent = 0;  // runs in which no call had to report it
  size_t failures = 0;
  std::string first_failure;

  void Add(const ErrorLoopOutcome& other);
};

// Runs the reference workload with the fault at operation `first` on. After it, in the state after
// a power failure and in the one that is: reopens, compares, verifies, writes, compacts, reopens.
// No run is counted if the workload has no such operation.
ErrorLoopOutcome RunWithFault(const ErrorLoop& loop, size_t first);

// The same with two faults that `seed` chooses from the loops, each at an operation of its own. No
// run is counted unless both were met.
ErrorLoopOutcome RunWithTwoFaults(uint64_t seed);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_ERRORS_ERROR_LOOPS_H_
