// Whether a database keeps its promises in the states that a crash may leave: each is reopened and
// compared with the workload's history, written to, compacted, crashed once more and compared
// again.
#ifndef WINNOW_TESTS_ENGINE_CRASH_CRASH_CHECK_H_
#define WINNOW_TESTS_ENGINE_CRASH_CRASH_CHECK_H_

#include <array>
#include <functional>
#include <string>

#include "tests/support/crash_workload.h"

namespace winnow {

struct CrashOutcome {
  size_t workloads = 0;
  size_t states = 0;           // reopened and compared
  size_t losses_reported = 0;  // states after which "winnow.recovery" names what was not replayed
  size_t checkpoints = 0;      // copies that were found, opened and compared
  std::array<size_t, kNumBreaches> breaches = {};  // indexed by Breach
  std::string first_failure;

  size_t failures() const;
  void Add(const CrashOutcome& other);
  // Counts a verdict that is not OK; `where` is made for the first one only.
  void Fail(const CrashVerdict& verdict, const std::function<std::string()>& where);
};

struct CrashCheckOptions {
  size_t first_operation = 0;
  size_t stride = 1;  // between the operations after which to crash
  // Crash only right after what makes something durable, as ACE does (Mohan et al., OSDI 2018).
  bool only_after_syncs = false;
  size_t num_random = 3;          // random subsets of the unsynced work, for each operation
  size_t recovery_interval = 61;  // every so many states, recovery itself is crashed everywhere
  size_t max_failures = 5;        // then it gives up
};

// Checks the states after each operation of a workload that has run. `name` describes it in
// failures.
CrashOutcome CheckEveryState(const CrashWorkload& workload, const RecordingFileSystem& memory,
                             const CrashCheckOptions& options, const std::string& name);

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_CRASH_CRASH_CHECK_H_
