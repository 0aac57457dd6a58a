// A call that is made again and again, and finds no memory at one place after the other.
#ifndef WINNOW_TESTS_SUPPORT_FAIL_EACH_ALLOCATION_H_
#define WINNOW_TESTS_SUPPORT_FAIL_EACH_ALLOCATION_H_

#include <gtest/gtest.h>

#include <cstdint>

#include "absl/status/status.h"
#include "tests/support/allocation_hook.h"

namespace winnow {

// Each allocation of `call`, which returns an absl::Status, fails in turn, alone; the last call is
// the one in which none did. `check` is given the status of each.
template <typename Call, typename Check>
void FailEachAllocation(Call call, Check check) {
  constexpr uint64_t kMostAllocations = 10'000;
  uint64_t failed = 1;
  for (uint64_t i = 0; failed != 0; ++i) {
    absl::Status status;
    {
      const AllocationsOfThisThread may_fail(true);
      CountAllocations({}, i, /*for_ever=*/false);
      status = call();
      StopCountingAllocations(&failed);
    }
    EXPECT_TRUE(status.ok() || failed != 0) << "allocation " << i << ": " << status;
    check(status);
    ASSERT_LT(i, kMostAllocations);
  }
}

}  // namespace winnow

#endif  // WINNOW_TESTS_SUPPORT_FAIL_EACH_ALLOCATION_H_
