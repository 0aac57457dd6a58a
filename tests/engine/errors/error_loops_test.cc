// Each file operation of a small workload fails, once, for a while, or from then on: the call that
// needed it says so, and reopening finds everything acknowledged and no half of anything.
// WINNOW_LONG_TESTS=1: every operation; otherwise each third, or fewer. `tools/dev crash --errors`
// runs them all.
#include "tests/engine/errors/error_loops.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "tests/support/campaign_options.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(ErrorLoops, EveryPromiseHoldsAfterEveryError) {
  // Retries wait for 50 ms and more, so that several runs fit beside each other.
  constexpr uint64_t kThreads = 6;
  ErrorLoopOutcome total;
  for (const ErrorLoop& loop : AllErrorLoops()) {
    // Another share of the operations in each loop.
    const size_t stride = LongTests() ? 1 : 7 * kFewerBy;
    const size_t offset = total.runs % stride;
    ErrorLoopOutcome of_loop;
    for (size_t batch = 0;; batch += kThreads) {
      std::vector<ErrorLoopOutcome> outcomes(kThreads);
      RunInParallel(kThreads, kThreads, [&](uint64_t i) {
        outcomes[i] = RunWithFault(loop, offset + (batch + i) * stride);
      });
      for (const ErrorLoopOutcome& outcome : outcomes) of_loop.Add(outcome);
      if (outcomes.back().runs == 0 || of_loop.failures > 0) break;
    }
    std::printf("%-36s %5zu runs, %3zu of them without effect\n", loop.name.c_str(), of_loop.runs,
                of_loop.silent);
    EXPECT_EQ(of_loop.failures, 0u) << of_loop.first_failure;
    EXPECT_GT(of_loop.runs, 0u) << loop.name << ": the fault was never met";
    total.Add(of_loop);
  }
  EXPECT_GT(total.runs, 300u / kFewerBy);
}

TEST(ErrorLoops, EveryPromiseHoldsAfterTwoErrors) {
  const size_t wanted = LongTests() ? 1200 : 30 / kFewerBy;
  const uint64_t most_tries = 20 * wanted;  // about each fourth pair is met
  constexpr uint64_t kTriesAtOnce = 12;
  ErrorLoopOutcome total;
  for (uint64_t seed = 1; total.runs < wanted && seed < most_tries; seed += kTriesAtOnce) {
    std::vector<ErrorLoopOutcome> outcomes(kTriesAtOnce);
    RunInParallel(kTriesAtOnce, 6, [&](uint64_t i) { outcomes[i] = RunWithTwoFaults(seed + i); });
    for (const ErrorLoopOutcome& outcome : outcomes) total.Add(outcome);
  }
  std::printf("%zu runs with two errors, %zu of them without effect\n", total.runs, total.silent);
  EXPECT_EQ(total.failures, 0u) << total.first_failure;
  EXPECT_GE(total.runs, wanted);
}

// Two syncs of the log fail, each after another opening: both writes may be there after the next.
TEST(ErrorLoops, AWriteMayFailInEachOfTwoOpenings) {
  const ErrorLoopOutcome outcome = RunWithTwoFaults(52922);
  EXPECT_EQ(outcome.runs, 1u);
  EXPECT_EQ(outcome.failures, 0u) << outcome.first_failure;
}

}  // namespace
}  // namespace winnow
