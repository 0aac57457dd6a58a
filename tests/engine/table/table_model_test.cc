// Histories against the model; `tools/dev metamorphic --model=table` runs more and longer ones.
#include <gtest/gtest.h>

#include "tests/engine/table/table_histories.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(TableModel, AnswersFollowFromTheHistoryOfWritesAndTheClockAlone) {
  for (const uint64_t seed : Seeds(20)) {
    RunRandomHistory(seed, LongTests() ? 10'000 : 1'000);
    if (HasFailure()) return;
  }
}

TEST(TableModel, AllShortHistoriesOfAColumn) {
  const int length = LongTests() ? 5 : 4;
  for (const uint32_t max_versions : {1u, 2u, 3u}) {
    EXPECT_EQ(RunShortHistories(max_versions, length), length == 5 ? 371'293u : 28'561u);
  }
}

}  // namespace
}  // namespace winnow
