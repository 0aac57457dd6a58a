// A load in a process of its own, which it may use up.
#ifndef WINNOW_TESTS_ENGINE_SOAK_CELL_PROCESS_H_
#define WINNOW_TESTS_ENGINE_SOAK_CELL_PROCESS_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace winnow::soak {

// What comes back from it: numbers whose meaning the load knows, and texts of one line.
struct CellOutcome {
  std::vector<uint64_t> numbers;
  std::string longest_call;
  std::vector<std::string> problems;

  // A report names its numbers once, as the places where they lie, for both ways through the pipe.
  static CellOutcome Of(const std::vector<uint64_t*>& places, std::string longest_call,
                        std::vector<std::string> problems);
  // Leaves the places alone if there is no report, which is a problem already.
  void MoveTo(const std::vector<uint64_t*>& places, std::string* to_longest_call,
              std::vector<std::string>* to_problems) &&;
};

// Runs `load` with `directory`, which is made and removed. A process that dies, or that has not
// ended after `patience`, is a problem; there are no numbers then. Call from a process with one
// thread.
CellOutcome RunInProcess(const std::string& directory, std::chrono::seconds patience,
                         const std::function<CellOutcome()>& load);

}  // namespace winnow::soak

#endif  // WINNOW_TESTS_ENGINE_SOAK_CELL_PROCESS_H_
