// BF.* and CF.* filters through a server that has the commands, and through one that has not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "tests/filter/dynamic/golden_data.h"
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

TEST_F(RedisModuleFilterTest, AFilterThatIsBeingRestoredIsMissingUntilItIsWhole) {
  auto dumped = *RedisBloomFilter::Create({0.01, 10, 2});
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(dumped.Add("key" + std::to_string(i)).ok());
  const std::vector<RedisBloomChunk> chunks = dumped.Dump();
  ASSERT_GE(chunks.size(), 4u);
  // Between two chunks is also what a loader leaves that dies then.
  uint64_t num_chunks = 0;
  module_.AfterChunks([&] {
    EXPECT_TRUE(bloom_.MayContain("key1"));
    EXPECT_TRUE(bloom_.MayContain("absent"));
    EXPECT_EQ(bloom_.counts().missing, 2 * ++num_chunks);
    EXPECT_EQ(module_.keys().size(), 1u);
    EXPECT_EQ(module_.expiring().size(), num_chunks > 1 ? 1u : 0u);  // told behind the first one
  });
  ASSERT_TRUE(bloom_.Restore(chunks).ok());
  EXPECT_EQ(num_chunks, chunks.size());
  EXPECT_TRUE(bloom_.MayContain("key1"));
  EXPECT_FALSE(bloom_.MayContain("absent"));
  EXPECT_THAT(module_.keys(), ElementsAre("bloom"));
  EXPECT_TRUE(module_.expiring().empty());
  EXPECT_TRUE(absl::IsInvalidArgument(bloom_.Restore({})));
}

TEST_F(RedisModuleFilterTest, ARestoreThatFailsOrComesSecondLeavesNothing) {
  const auto dumped = *RedisBloomFilter::Create({0.01, 10, 2});
  module_.FailChunks(1);
  EXPECT_TRUE(absl::IsInvalidArgument(bloom_.Restore(dumped.Dump())));
  EXPECT_TRUE(module_.keys().empty());
  // Another one makes the filter meanwhile.
  module_.AfterChunks([&] { module_.AddString("bloom"); });
  EXPECT_TRUE(absl::IsAlreadyExists(bloom_.Restore(dumped.Dump())));
  EXPECT_TRUE(module_.keys().empty());
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

TEST(RedisBitSets, TheCalendarReadsTheRecordedMonth) {
  SignInMonth month;
  int num_streaks = 0;
  for (const std::string& line : GoldenLines("gozero/bitmap.txt")) {
    const auto number_after = [&](std::string_view name) {
      return std::stoi(line.substr(line.find(name) + name.size()));
    };
    if (line.rfind("sign-in days ", 0) == 0) {
      month = SignInMonth::FromString(FromHex(line.substr(line.find("bytes=") + 6, 4)));
      EXPECT_THAT(month.Days(), ElementsAre(1, 2, 3, 5, 6, 9, 10, 11, 12));
      EXPECT_EQ(month.Count(), number_after("BITCOUNT="));
      EXPECT_EQ(month.FirstMissedDay(), number_after("BITPOS(0)=") + 1);
    } else if (line.find(" consecutive days ending on day ") != std::string::npos) {
      const int day = number_after("ending on day ");
      EXPECT_EQ(month.Streak(day), number_after(std::to_string(day) + " = ")) << line;
      ++num_streaks;
    }
  }
  EXPECT_EQ(num_streaks, 4);
}

// The days of a month that Redis has, asked bit by bit, and what follows from them.
struct CalendarDays {
  std::vector<int> days;
  int longest_streak = 0;
  int first_missed = 32;

  explicit CalendarDays(uint64_t bits) {  // GET u31 0: the highest is day 1
    int streak = 0;
    for (int day = 31; day >= 1; --day) {
      const bool is_there = (bits >> (31 - day) & 1) != 0;
      if (is_there) days.insert(days.begin(), day);
      streak = is_there ? streak + 1 : 0;
      longest_streak = std::max(longest_streak, streak);
      if (!is_there) first_missed = day;
    }
  }
};

TEST(RedisBitSets, TheCalendarAgreesWithRedisOnRandomMonths) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  const auto server = RedisServer::StartOrJoinCluster();
  auto client = server->NewClient();
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
  EXPECT_EQ(server->Cli("GETRANGE sign:7:202602 0 -1"), "\xec\xf0");
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
      request.Command({"BITPOS", "m", "0"});
      values.push_back(value);
    }
    const auto replies = client->Execute("m", request);
    ASSERT_TRUE(replies.ok());
    for (size_t i = 0; i < values.size(); ++i) {
      const SignInMonth made = SignInMonth::FromString(values[i]);
      const auto bits = static_cast<uint64_t>((*replies)[4 * i + 2].elements[0].integer);
      const CalendarDays expected(bits);
      ASSERT_EQ(made.Count(), (*replies)[4 * i + 1].integer);
      ASSERT_EQ(made.Days(), expected.days);
      ASSERT_EQ(made.LongestStreak(), expected.longest_streak);
      ASSERT_EQ(made.FirstMissedDay(), expected.first_missed);
      ASSERT_EQ(made.FirstMissedDay(), (*replies)[4 * i + 3].integer + 1);
      for (const int day : {1, 17, 31}) {
        int streak = 0;
        for (int d = day; d >= 1 && (bits >> (31 - d) & 1) != 0; --d) ++streak;
        ASSERT_EQ(made.Streak(day), streak);
      }
    }
  }
}

// 10^4 months, day by day as users come: every hundredth through the calendar, the others with the
// commands that it sends, a hundred months in one round trip.
TEST(RedisBitSets, TheCalendarsKeysHaveTheBytesThatRedisMakes) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  const auto server = RedisServer::StartOrJoinCluster();
  auto client = server->NewClient();
  SignInCalendar calendar(client.get(), "{sign}");
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    Request request;
    std::vector<std::string> expected;
    for (int month = 0; month < 100; ++month) {
      const std::string user = std::to_string(round) + "/" + std::to_string(month);
      const std::string key = "{sign}:" + user + ":202607";
      std::string bytes;
      for (uint32_t i = random() % 12; i > 0; --i) {
        const int day = 1 + static_cast<int>(random() % 31);
        const auto byte = static_cast<size_t>((day - 1) / 8);
        const int bit = 1 << (7 - (day - 1) % 8);
        if (bytes.size() <= byte) bytes.resize(byte + 1);
        const bool is_new = (bytes[byte] & bit) == 0;
        bytes[byte] = static_cast<char>(bytes[byte] | bit);
        if (month == 0) {
          ASSERT_EQ(calendar.SignIn(user, 2026, 7, day).value(), is_new);
        } else {
          request.Command({"SETBIT", key, std::to_string(day - 1), "1"});
        }
      }
      if (month == 0) {
        ASSERT_EQ(calendar.Month(user, 2026, 7)->Days(), SignInMonth::FromString(bytes).Days());
      }
      request.Command({"GET", key});
      expected.push_back(bytes);
    }
    const auto replies = client->Execute("{sign}", request);
    ASSERT_TRUE(replies.ok());
    size_t num_keys = 0;
    for (const Reply& reply : *replies) {
      if (reply.type == Reply::Type::kInteger) continue;
      ASSERT_EQ(reply.text, expected[num_keys++]);
    }
    ASSERT_EQ(num_keys, expected.size());
  }
}

TEST(RedisBitSets, DenseIdsAreExact) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  const auto server = RedisServer::StartOrJoinCluster();
  auto client = server->NewClient();
  DenseIdSet ids(client.get(), "ids", 1'000'000);
  EXPECT_TRUE(ids.MayContain(5));  // no such key
  EXPECT_EQ(ids.counts().missing, 1u);
  ASSERT_TRUE(ids.Create().ok());
  EXPECT_TRUE(absl::IsAlreadyExists(ids.Create()));
  EXPECT_FALSE(ids.MayContain(5));
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
  EXPECT_EQ(ids.Add(std::vector<uint64_t>{1'000'000}).value(), 1u);
  EXPECT_TRUE(ids.MayContain(1'000'000));
  EXPECT_EQ(server->Cli("STRLEN ids"), "125001");
  DenseIdSet unlimited(client.get(), "ids", uint64_t{1} << 32);
  EXPECT_TRUE(absl::IsInvalidArgument(unlimited.Create()));
  EXPECT_TRUE(absl::IsInvalidArgument(unlimited.Add(std::vector<uint64_t>{1}).status()));
  EXPECT_TRUE(unlimited.MayContain(1));
}

TEST(RedisBitSets, DenseIdsThatWereLostAreMaybeUntilTheSetIsMadeAgain) {
  if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
  const auto server = RedisServer::StartOrJoinCluster();
  auto client = server->NewClient();
  DenseIdSet ids(client.get(), "ids", 1000);
  ASSERT_TRUE(ids.Create().ok());
  ASSERT_TRUE(ids.Add(std::vector<uint64_t>{17}).ok());
  server->Cli("DEL ids");  // expired, or evicted
  // Making the key anew would deny 17.
  EXPECT_TRUE(absl::IsNotFound(ids.Add(std::vector<uint64_t>{18}).status()));
  EXPECT_TRUE(absl::IsNotFound(ids.Remove(std::vector<uint64_t>{18}).status()));
  EXPECT_TRUE(absl::IsNotFound(ids.Count().status()));
  EXPECT_EQ(server->Cli("EXISTS ids"), "0");
  server->Cli("SETBIT ids 18 1");  // by another program
  EXPECT_TRUE(absl::IsNotFound(ids.Add(std::vector<uint64_t>{19}).status()));
  EXPECT_TRUE(ids.MayContain(17));
  EXPECT_EQ(ids.counts().missing, 1u);
  EXPECT_TRUE(absl::IsAlreadyExists(ids.Create()));
  server->Cli("SETBIT ids 1000 0");  // it says that it is whole
  EXPECT_FALSE(ids.MayContain(17));
  EXPECT_TRUE(ids.MayContain(18));
  EXPECT_EQ(ids.Add(std::vector<uint64_t>{19}).value(), 1u);
  EXPECT_EQ(ids.Count().value(), 2u);
}

}  // namespace
}  // namespace winnow::filter::redis
