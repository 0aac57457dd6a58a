// A quick share of `tools/dev pairs`: each pair of public calls once.
#include "tests/engine/pairs/pairs.h"

#include <gtest/gtest.h>

#include "tests/support/db_fixture.h"

namespace winnow::pairs {
namespace {

TEST(Pairs, EveryCallBesideEveryOtherGivesAnswersThatItMayGive) {
  for (const uint64_t seed : Seeds(1)) {
    for (size_t first = 0; first < CallNames().size(); first++) {
      for (size_t second = first; second < CallNames().size(); second++) {
        const PairRun run{first, second, seed * 100 + first, 4, 8};
        ASSERT_EQ(RunPair(run), "") << Describe(run);
      }
    }
  }
}

}  // namespace
}  // namespace winnow::pairs
