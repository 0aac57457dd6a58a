// A share of what `tools/dev corrupt` does: repair of mixed-up files rescues what can be rescued.
// WINNOW_LONG_TESTS=1: ten times as many; WINNOW_SEED: the one seed.
#include "tests/engine/recovery_oracle/recovery_oracle.h"

#include <gtest/gtest.h>

#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(RecoveryOracle, EachWayToMixFilesUpLosesOnlyWhatIsGone) {
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE(seed);
    const RecoveryOracle oracle(seed);
    for (Mixup mixup = Mixup::kNothing; mixup != Mixup::kEnd;
         mixup = static_cast<Mixup>(static_cast<int>(mixup) + 1)) {
      for (uint64_t detail = 0; detail < 2; detail++) {
        EXPECT_EQ(oracle.WhyWrong({mixup}, seed * 1000 + detail), "") << MixupName(mixup);
      }
    }
  }
}

TEST(RecoveryOracle, SeveralAtOnceLoseOnlyWhatIsGone) {
  for (const uint64_t seed : Seeds(2)) {
    const RecoveryOracle oracle(seed);
    for (uint64_t i = 0; i < 15; i++) {
      const uint64_t detail = seed * 1000 + i;
      EXPECT_EQ(oracle.WhyWrong(RandomMixups(detail), detail), "")
          << "seed " << seed << ", detail " << detail;
    }
  }
}

// The oracle itself: where the truth is another than what the files hold, it must say so.
TEST(RecoveryOracle, NoticesAWrongValueAndADeletedKeyThatIsBack) {
  const AgedDatabase database = BuildAgedDatabase(1);
  EXPECT_EQ(RecoveryOracle(database, database).WhyWrong({Mixup::kNothing}, 1), "");
  AgedDatabase other_value = database;
  other_value.contents[0].begin()->second = "another value";
  EXPECT_NE(RecoveryOracle(other_value, database).WhyWrong({Mixup::kNothing}, 1), "");
  AgedDatabase deleted = database;
  deleted.contents[0].erase(deleted.contents[0].begin());
  EXPECT_NE(RecoveryOracle(deleted, database).WhyWrong({Mixup::kNothing}, 1), "");
}

}  // namespace
}  // namespace winnow
