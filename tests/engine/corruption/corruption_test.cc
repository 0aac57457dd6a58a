// A share of what `tools/dev corrupt` does: a database with a damaged file gives right answers or
// clear errors. WINNOW_LONG_TESTS=1: all that can be enumerated; WINNOW_SEED chooses the share.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>

#include "tests/engine/corruption/corruption_check.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

class CorruptionTest : public testing::TestWithParam<DatabaseEnd> {};

TEST_P(CorruptionTest, GivesRightAnswersOrClearErrors) {
  const uint64_t seed = Seeds(1).front();
  const CorruptionCheck check(GetParam());
  std::vector<Corruption> plan =
      EnumerateCorruptions(check.files(), check.parts(), seed, /*every_bit=*/false);
  for (uint64_t i = 0; i < 500; i++) {
    plan.push_back(RandomCorruption(check.files(), check.parts(), seed * 1000 + i));
  }
  const size_t stride = LongTests() ? 1 : 37 * kFewerBy;  // not a multiple of any part's size
  std::array<size_t, kNumCorruptionOutcomes> counts = {};
  for (size_t i = seed % stride; i < plan.size(); i += stride) {
    const CorruptionVerdict verdict =
        check.Check(plan[i], kRecoveryModes[i % kRecoveryModes.size()], /*thorough=*/i % 5 == 0);
    counts.at(static_cast<size_t>(verdict.outcome))++;
    ASSERT_NE(verdict.outcome, CorruptionOutcome::kWrong)
        << plan[i].ToString() << ": " << verdict.why;
  }
  const auto count = [&](CorruptionOutcome outcome) {
    return counts.at(static_cast<size_t>(outcome));
  };
  std::printf("%zu errors, %zu refused, %zu filters degraded, %zu losses reported\n",
              count(CorruptionOutcome::kErrors), count(CorruptionOutcome::kRefused),
              count(CorruptionOutcome::kFilterDegraded), count(CorruptionOutcome::kLossReported));
  EXPECT_GT(count(CorruptionOutcome::kErrors), 100u / kFewerBy);
  EXPECT_GT(count(CorruptionOutcome::kRefused), 20u / kFewerBy);
  EXPECT_GT(count(CorruptionOutcome::kFilterDegraded), 5u / kFewerBy);
  EXPECT_GT(count(CorruptionOutcome::kLossReported), 5u / kFewerBy);
}

// The checker itself: where the truth is another than what the files hold, it must say so.
TEST_P(CorruptionTest, AWrongAnswerIsNoticed) {
  DamageDatabase database = CorruptionCheck::BuildDatabase(GetParam());
  const std::string table = database.NamesWith(".sst").front();
  const Corruption harmless = {.kind = Corruption::Kind::kTruncate,
                               .file = table,
                               .begin = database.files.at(table).size(),
                               .end = database.files.at(table).size()};
  EXPECT_EQ(
      CorruptionCheck(GetParam(), database).Check(harmless, RecoveryMode::kStrict, false).outcome,
      CorruptionOutcome::kHarmless);
  DamageDatabase other_value = database;
  other_value.flushed[0]["key1"] = "another value";
  EXPECT_EQ(CorruptionCheck(GetParam(), other_value)
                .Check(harmless, RecoveryMode::kStrict, false)
                .outcome,
            CorruptionOutcome::kWrong);
  DamageDatabase one_more = database;
  one_more.flushed[0]["hidden"] = "key";
  EXPECT_EQ(
      CorruptionCheck(GetParam(), one_more).Check(harmless, RecoveryMode::kStrict, false).outcome,
      CorruptionOutcome::kWrong);
}

INSTANTIATE_TEST_SUITE_P(Ends, CorruptionTest,
                         testing::Values(DatabaseEnd::kKilled, DatabaseEnd::kClosed),
                         [](const testing::TestParamInfo<DatabaseEnd>& end) {
                           return end.param == DatabaseEnd::kKilled ? "Killed" : "Closed";
                         });

// Salvage once removed the tables that a manifest without its end did not know.
TEST(Salvage, OfAManifestThatLostItsEndKeepsTheTables) {
  const CorruptionCheck check(DatabaseEnd::kClosed);
  for (const auto& [name, parts] : check.parts()) {
    if (!name.starts_with("MANIFEST-")) continue;
    size_t told = 0;
    for (const FilePart& record : parts) {
      const Corruption cut = {.kind = Corruption::Kind::kTruncate,
                              .file = name,
                              .begin = record.begin,
                              .end = check.files().at(name).size()};
      const CorruptionVerdict verdict = check.Check(cut, RecoveryMode::kSalvage, false);
      EXPECT_NE(verdict.outcome, CorruptionOutcome::kWrong) << cut.ToString() << verdict.why;
      told += verdict.outcome == CorruptionOutcome::kLossReported ? 1 : 0;
    }
    EXPECT_GT(told, 3u);
  }
}

}  // namespace
}  // namespace winnow
