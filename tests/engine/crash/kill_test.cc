// A process that writes is killed at random moments; nothing that it was told is lost.
// WINNOW_LONG_TESTS=1: ten times as many kills; WINNOW_SEED chooses the moments.
#include "tests/engine/crash/kill_campaign.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>

#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

class KillTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "winnow-kill-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  std::string directory_;
};

TEST_F(KillTest, NothingAcknowledgedIsLost) {
  const uint64_t seed = Seeds(1).front();
  KillCampaign campaign(WINNOW_KILL_TEST_WRITER, directory_, seed);
  const KillOutcome& outcome = campaign.outcome();
  const uint64_t num_kills = LongTests() ? 200 : 20;
  while (outcome.kills < num_kills && outcome.failures() == 0) campaign.KillOnce();
  EXPECT_EQ(outcome.failures(), 0u) << outcome.first_failure;
  EXPECT_GT(outcome.acknowledged, 1000u);
  EXPECT_GT(outcome.synced, 50u);
  std::printf("seed %llu: %llu kills, %llu acknowledged batches\n",
              static_cast<unsigned long long>(seed), static_cast<unsigned long long>(outcome.kills),
              static_cast<unsigned long long>(outcome.acknowledged));
}

// The checker itself: a database that lacks a row, has one too many, adds up to more, or is older,
// is not right.
TEST_F(KillTest, TheCheckerSeesLossAndResurrection) {
  KillCampaign campaign(WINNOW_KILL_TEST_WRITER, directory_, 1);
  ASSERT_TRUE(campaign.StartWriter());
  while (campaign.outcome().acknowledged < 2000) ASSERT_TRUE(campaign.ReadAcknowledgement());
  campaign.Kill();
  campaign.CheckDatabase();
  ASSERT_EQ(campaign.outcome().failures(), 0u) << campaign.outcome().first_failure;
  const auto tamper = [&](const auto& change) {
    auto db = OpenOrFail(KillTestOptions(), campaign.database());
    change(*db);
    ASSERT_TRUE(db->Close().ok());
    campaign.CheckDatabase();
  };
  const auto last_of_thread_0 = [](DB& db) {
    std::string last;
    EXPECT_TRUE(db.Get(ReadOptions(), LastRowKey(0), &last).ok());
    return std::stoull(last);
  };
  tamper([&](DB& db) {
    ASSERT_GT(last_of_thread_0(db), kKeptRows);
    ASSERT_TRUE(db.Put(WriteOptions(), RowKey(0, 1), RowValue(0, 1)).ok());
  });
  EXPECT_EQ(campaign.outcome().resurrected_deletes, 1u);
  tamper([&](DB& db) {
    ASSERT_TRUE(db.Delete(WriteOptions(), RowKey(0, last_of_thread_0(db) - 5)).ok());
  });
  EXPECT_EQ(campaign.outcome().holes, 1u);
  tamper([&](DB& db) { ASSERT_TRUE(db.Merge(WriteOptions(), SumKey(1), EncodedNumber(1)).ok()); });
  EXPECT_EQ(campaign.outcome().torn_batches, 1u);
  tamper([&](DB& db) {
    const uint64_t older = last_of_thread_0(db) - 1;
    ASSERT_TRUE(db.Put(WriteOptions(), LastRowKey(0), std::to_string(older)).ok());
  });
  EXPECT_EQ(campaign.outcome().lost, 1u);
  EXPECT_GT(campaign.outcome().torn_batches, 2u);
}

TEST_F(KillTest, ASecondProcessIsRefusedAndToldWhoHoldsTheDatabase) {
  KillCampaign campaign(WINNOW_KILL_TEST_WRITER, directory_, 1);
  ASSERT_TRUE(campaign.StartWriter());
  ASSERT_TRUE(campaign.ReadAcknowledgement());
  const std::string writer = std::to_string(campaign.writer());
  const auto second = DB::Open(KillTestOptions(), campaign.database());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_NE(second.status().message().find(writer), absl::string_view::npos) << second.status();
  const absl::Status destroyed = DB::Destroy(KillTestOptions(), campaign.database());
  EXPECT_TRUE(absl::IsFailedPrecondition(destroyed)) << destroyed;
  EXPECT_NE(destroyed.message().find(writer), absl::string_view::npos);
  const auto names = DB::ListColumnFamilies(KillTestOptions(), campaign.database());
  EXPECT_TRUE(names.ok()) << names.status();
  campaign.Kill();
  campaign.CheckDatabase();
  EXPECT_EQ(campaign.outcome().failures(), 0u) << campaign.outcome().first_failure;
  EXPECT_TRUE(DB::Destroy(KillTestOptions(), campaign.database()).ok());
  EXPECT_FALSE(std::filesystem::exists(campaign.database()));
}

}  // namespace
}  // namespace winnow
