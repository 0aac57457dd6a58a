// The second program behind `tools/dev corrupt`.
//
//   recovery_oracle_campaign [--count=N] [--seed=S] [--jobs=J] [--detail=D]
//
// Mixes the files of N databases up in one to three ways, twenty times each, and compares what a
// repair makes of them with the best that any reader could rescue. --detail: the one trial of seed
// S that a failure names. Exit codes: 0 all that could be rescued was, 1 not, 2 wrong usage.
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <mutex>

#include "tests/engine/recovery_oracle/recovery_oracle.h"
#include "tests/support/campaign_options.h"

namespace winnow {
namespace {

constexpr uint64_t kTrialsOfEach = 20;

int Main(int argc, char** argv) {
  std::map<std::string, uint64_t> numbers = {
      {"count", 200}, {"seed", 1}, {"jobs", 1}, {"detail", 0}};
  if (!ParseNumbers(argc, argv, &numbers)) return 2;
  const uint64_t only = numbers["detail"];
  const uint64_t count = only != 0 ? 1 : numbers["count"];
  std::atomic<uint64_t> done = 0;
  std::atomic<uint64_t> wrong = 0;
  std::mutex mutex;
  Progress progress("mixed-up files", count);
  RunInParallel(count, std::max<uint64_t>(numbers["jobs"], 1), [&](uint64_t i) {
    const uint64_t seed = numbers["seed"] + i;
    const RecoveryOracle oracle(seed);
    for (uint64_t trial = 0; trial < (only != 0 ? 1 : kTrialsOfEach); trial++) {
      const uint64_t detail = only != 0 ? only : seed * 1000 + trial;
      const std::string why = oracle.WhyWrong(RandomMixups(detail), detail);
      if (why.empty()) continue;
      const std::lock_guard lock(mutex);
      if (++wrong <= 10) {
        std::printf("failure: --seed=%" PRIu64 " --detail=%" PRIu64 ": %s\n", seed, detail,
                    why.c_str());
      }
    }
    const std::lock_guard lock(mutex);
    progress.Show(++done);
  });
  std::printf("repair of mixed-up files: %s\n",
              FailureRate(wrong, count * (only != 0 ? 1 : kTrialsOfEach)).c_str());
  return wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
