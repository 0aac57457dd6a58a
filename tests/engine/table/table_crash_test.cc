// `tools/dev crash --model=table` looks at more states.
#include <gtest/gtest.h>

#include "tests/engine/table/table_crash_states.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(TableCrash, SchemasBatchesAndLoadsAreWholeOrAbsent) {
  TableCrashPlan plan;
  if (LongTests()) plan.num_random = 20;
  if (!LongTests()) plan.creation_step = 3;
  EXPECT_GT(CheckTableCrashStates(plan), 500u);
}

}  // namespace
}  // namespace winnow
