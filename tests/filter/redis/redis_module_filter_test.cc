// BF.* and CF.* filters through a server that has the commands, and through one that has not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/filter/redis/fake_module.h"
#include "winnow/filter/redis/bit_sets.h"
#include "winnow/filter/redis/module_filter.h"

namespace winnow::filter::redis {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using Names = std::vector<std::string_view>;

class RedisModuleFilterTest : public ::testing::Test {
 protected:
  FakeModule module_;
  std::unique_ptr<Client> client_ = *Client::Open(module_.url(), RedisServer::PatientOptions());
  ModuleFilter bloom_{client_.get(), "bloom", ModuleFilter::Kind::kBloom};
  ModuleFilter cuckoo_{client_.get(), "cuckoo", ModuleFilter::Kind::kCuckoo};
};

TEST_F(RedisModuleFilterTest, AddsAndAsksInBatches) {
  ASSERT_TRUE(bloom_.Reserve(RedisBloomOptions{0.001, 1000, 4}).ok());
  EXPECT_THAT(module_.reserves(), ElementsAre("BF.RESERVE bloom 0.001 1000 EXPANSION 4 "));
  EXPECT_TRUE(absl::IsAlreadyExists(bloom_.Reserve(RedisBloomOptions{})));
  EXPECT_EQ(bloom_.Add(Names{"Barry", "Jerry", "Mars"}).value(), 3u);
  EXPECT_EQ(bloom_.Add(Names{"Barry", "Tom"}).value(), 1u);
  EXPECT_THAT(bloom_.MayContain(Names{"Barry", "Linda", "Tom"}), ElementsAre(true, false, true));
  EXPECT_EQ(bloom_.counts().found, 2u);
  EXPECT_EQ(bloom_.counts().no, 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(bloom_.Remove("Tom").status()));
}

TEST_F(RedisModuleFilterTest, WhatTheServerWouldDenyIsMaybeAndCounted) {
  EXPECT_TRUE(bloom_.MayContain("Tom"));  // missing: BF.EXISTS says 0
  EXPECT_EQ(bloom_.counts().missing, 1u);
  EXPECT_TRUE(absl::IsNotFound(bloom_.Add(Names{"Tom"}).status()));
  module_.AddString("bloom");
  EXPECT_TRUE(bloom_.MayContain("Tom"));
  EXPECT_EQ(bloom_.counts().refused, 1u);
  EXPECT_TRUE(absl::IsFailedPrecondition(bloom_.Add(Names{"Tom"}).status()));
}

TEST_F(RedisModuleFilterTest, ACuckooFilterForgets) {
  ASSERT_TRUE(cuckoo_.Reserve(RedisBloomCuckooOptions{.capacity = 64}).ok());
  EXPECT_EQ(cuckoo_.Add(Names{"Tom", "Jerry"}).value(), 2u);
  EXPECT_TRUE(cuckoo_.Remove("Tom").value());
  EXPECT_FALSE(cuckoo_.Remove("Tom").value());
  EXPECT_THAT(cuckoo_.MayContain(Names{"Tom", "Jerry"}), ElementsAre(false, true));
}

TEST_F(RedisModuleFilterTest, AFullFilterIsAnError) {
  ASSERT_TRUE(bloom_.Reserve(RedisBloomOptions{0.01, 2, 0}).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(bloom_.Add(Names{"a", "b", "c", "d"}).status()));
  EXPECT_THAT(bloom_.MayContain(Names{"a", "b"}), Each(true));
}

TEST_F(RedisModuleFilterTest, DumpsIntoAFilterOfOurOwnAndBack) {
  ASSERT_TRUE(bloom_.Reserve(RedisBloomOptions{0.01, 10, 2}).ok());
  std::vector<std::string> keys;
  for (int i = 0; i < 100; ++i) keys.push_back("key" + std::to_string(i));
  ASSERT_TRUE(bloom_.Add(Names(keys.begin(), keys.end())).ok());
  const auto chunks = bloom_.Dump();
  ASSERT_TRUE(chunks.ok()) << chunks.status();
  const auto ours = RedisBloomFilter::Load(*chunks);
  ASSERT_TRUE(ours.ok()) << ours.status();
  for (const std::string& key : keys) EXPECT_TRUE(ours->Contains(key));
  ModuleFilter copy(client_.get(), "copy", ModuleFilter::Kind::kBloom);
  ASSERT_TRUE(copy.Restore(ours->Dump()).ok());
  EXPECT_THAT(copy.MayContain(Names(keys.begin(), keys.end())), Each(true));
  EXPECT_TRUE(absl::IsAlreadyExists(copy.Restore(*chunks)));
  ModuleFilter none(client_.get(), "none", ModuleFilter::Kind::kBloom);
  EXPECT_TRUE(absl::IsNotFound(none.Dump().status()));
}

TEST_F(RedisModuleFilterTest, TairsOrderOfArgumentsIsSizeThenRate) {
  TairFilters tair(client_.get());
  ASSERT_TRUE(tair.bfreserve("bf", 10'000'000, 0.00001).ok());
  ASSERT_TRUE(tair.cfreserve("cf", 1000).ok());
  EXPECT_THAT(module_.reserves(),
              ElementsAre("BF.RESERVE bf 1.0000000000000001e-05 10000000 ", "CF.RESERVE cf 1000 "));
  EXPECT_TRUE(tair.bfadd("bf", "a").value());
  EXPECT_TRUE(tair.bfexists("bf", "a").value());
  EXPECT_FALSE(tair.bfexists("bf", "b").value());
  EXPECT_TRUE(tair.cfadd("cf", "a").value());
  EXPECT_TRUE(tair.cfexists("cf", "a").value());
  EXPECT_TRUE(tair.cfdel("cf", "a").value());
  EXPECT_FALSE(tair.cfexists("cf", "a").value());
  // The mistake of an article: Bloom calls on a cuckoo key, which a server answers with 0.
  for (const auto& wrong : {tair.cfadd("bf", "a"), tair.cfexists("bf", "a"), tair.cfdel("bf", "a"),
                            tair.bfadd("cf", "a"), tair.bfexists("cf", "a")}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(wrong.status())) << wrong.status();
  }
  EXPECT_TRUE(absl::IsNotFound(tair.bfexists("missing", "a").status()));
}

TEST(RedisModuleOnARealServer, WithoutTheCommandsItIsUnimplemented) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient();
  ModuleFilter filter(client.get(), "bloom", ModuleFilter::Kind::kBloom);
  EXPECT_TRUE(absl::IsUnimplemented(filter.Reserve(RedisBloomOptions{})));
  EXPECT_TRUE(filter.MayContain("Tom"));
  EXPECT_EQ(filter.counts().missing, 1u);
  server.Cli("SET bloom text");
  EXPECT_TRUE(filter.MayContain("Tom"));  // the script runs, and sees a string
  EXPECT_EQ(filter.counts().refused, 1u);
}

TEST(RedisBitSets, TheCalendarAgreesWithRedisOnRandomMonths) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient();
  SignInCalendar calendar(client.get());
  for (const int day : {1, 2, 3, 5, 6, 9, 10, 11, 12}) {
    EXPECT_TRUE(calendar.SignIn("7", 2026, 2, day).value());
  }
  EXPECT_FALSE(calendar.SignIn("7", 2026, 2, 1).value());
  const SignInMonth month = calendar.Month("7", 2026, 2).value();
  EXPECT_THAT(month.Days(), ElementsAre(1, 2, 3, 5, 6, 9, 10, 11, 12));
  EXPECT_EQ(month.Count(), 9);
  EXPECT_EQ(month.Streak(12), 4);
  EXPECT_EQ(month.Streak(10), 2);
  EXPECT_EQ(month.Streak(4), 0);
  EXPECT_EQ(month.LongestStreak(), 4);
  EXPECT_EQ(month.FirstMissedDay(), 4);
  EXPECT_TRUE(absl::IsInvalidArgument(calendar.SignIn("7", 2026, 2, 29).status()));
  EXPECT_TRUE(calendar.SignIn("7", 2028, 2, 29).ok());
  EXPECT_EQ(calendar.Month("nobody", 2026, 13).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(calendar.Month("nobody", 2026, 12)->Count(), 0);
  // 10^4 months at once: strings of four bytes, and what Redis says of them.
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    Request request;
    std::vector<std::string> values;
    for (int i = 0; i < 100; ++i) {
      std::string value(1 + random() % 4, '\0');
      for (char& byte : value)
        byte = static_cast<char>(random() & (random() % 2 ? 0xff : random()));
      if (value.size() == 4) value[3] = static_cast<char>(value[3] & 0xfe);
      request.Command({"SET", "m", value});
      request.Command({"BITCOUNT", "m"});
      request.Command({"BITFIELD", "m", "GET", "u31", "0"});
      values.push_back(value);
    }
    const auto replies = client->Execute("m", request);
    ASSERT_TRUE(replies.ok());
    for (size_t i = 0; i < values.size(); ++i) {
      const SignInMonth made = SignInMonth::FromString(values[i]);
      const auto bits = static_cast<uint64_t>((*replies)[3 * i + 2].elements[0].integer);
      ASSERT_EQ(made.Count(), (*replies)[3 * i + 1].integer);
      for (const int day : {1, 17, 31}) {
        int streak = 0;
        for (int d = day; d >= 1 && (bits >> (31 - d) & 1) != 0; --d) ++streak;
        ASSERT_EQ(made.Streak(day), streak);
      }
    }
  }
}

TEST(RedisBitSets, DenseIdsAreExact) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  RedisServer server;
  auto client = server.NewClient();
  DenseIdSet ids(client.get(), "ids", 1'000'000);
  EXPECT_TRUE(ids.MayContain(5));  // no such key
  EXPECT_EQ(ids.counts().missing, 1u);
  std::vector<uint64_t> even;
  for (uint64_t id = 0; id < 20000; id += 2) even.push_back(id);
  EXPECT_EQ(ids.Add(even).value(), 10000u);
  EXPECT_EQ(ids.Add(even).value(), 0u);
  EXPECT_THAT(ids.MayContain(even), Each(true));
  for (uint64_t& id : even) ++id;
  EXPECT_THAT(ids.MayContain(even), Each(false));
  EXPECT_EQ(ids.Remove(std::vector<uint64_t>{0, 1}).value(), 1u);
  EXPECT_EQ(ids.Count().value(), 9999u);
  EXPECT_FALSE(ids.MayContain(2'000'000));
  EXPECT_TRUE(absl::IsOutOfRange(ids.Add(std::vector<uint64_t>{4294967295}).status()));
  EXPECT_EQ(server.Cli("STRLEN ids"), "2500");
}

}  // namespace
}  // namespace winnow::filter::redis
