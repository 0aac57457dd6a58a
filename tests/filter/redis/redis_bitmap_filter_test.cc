// Filters in a real redis-server: bit for bit those of go-zero, Jedis and Redisson, by their own
// scripts, and "maybe" whenever they cannot be asked.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "tests/filter/dynamic/golden_data.h"
#include "tests/filter/redis/redis_server.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

// What Redisson sends today: KEYS are configuration and bits; ARGV size, hashIterations, how many
// offsets a key has, and the offsets of all keys. Each gives how many keys are new, or are there.
constexpr std::string_view kRedissonAdd = R"(
local size = redis.call('hget', KEYS[1], 'size')
local hashIterations = redis.call('hget', KEYS[1], 'hashIterations')
assert(size == ARGV[1] and hashIterations == ARGV[2], 'Bloom filter config has been changed')
local added = 0
for first = 4, #ARGV, ARGV[3] do
  local new = 0
  for i = first, first + ARGV[3] - 1 do
    if redis.call('setbit', KEYS[2], ARGV[i], 1) == 0 then new = 1 end
  end
  added = added + new
end
return added)";
constexpr std::string_view kRedissonContains = R"(
local size = redis.call('hget', KEYS[1], 'size')
local hashIterations = redis.call('hget', KEYS[1], 'hashIterations')
if size ~= ARGV[1] or hashIterations ~= ARGV[2] then return 0 end
local found = 0
for first = 4, #ARGV, ARGV[3] do
  local ones = 0
  for i = first, first + ARGV[3] - 1 do
    ones = ones + redis.call('getbit', KEYS[2], ARGV[i])
  end
  if ones == tonumber(ARGV[3]) then found = found + 1 end
end
return found)";

// go-zero's two scripts, as its servers know them by their SHA-1.
constexpr std::string_view kGoZeroSet =
    "for _, offset in ipairs(ARGV) do\n    redis.call(\"setbit\", KEYS[1], offset, 1)\nend";
constexpr std::string_view kGoZeroTest =
    "for _, offset in ipairs(ARGV) do\n    if tonumber(redis.call(\"getbit\", KEYS[1], offset)) == "
    "0 "
    "then\n        return false\n    end\nend\nreturn true";

std::vector<std::string> NewKeys(const std::string& prefix, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}
std::vector<std::string_view> Views(const std::vector<std::string>& keys) {
  return {keys.begin(), keys.end()};
}

// A string that another program has written to has more bits than its shape, perhaps.
TEST(RedisBitmapFilterInfo, ARateIsNoMoreThanOne) {
  BitmapFilterInfo info;
  info.shape = *GoZeroShape(100);
  info.num_ones = 104;
  EXPECT_EQ(info.ExpectedFpr(), 1.0);
}

class RedisBitmapFilterTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (RedisServer::IsInstalled()) server_ = RedisServer::StartOrJoinCluster().release();
  }
  static void TearDownTestSuite() {
    delete server_;
    server_ = nullptr;
  }
  void SetUp() override {
    if (server_ == nullptr) GTEST_SKIP() << "there is no redis-server";
    server_->Cli("FLUSHALL");
    client_ = server_->NewClient();
  }

  std::unique_ptr<BitmapFilter> Open(const BitmapFilterOptions& options = {},
                                     std::string_view name = "users") {
    auto filter = BitmapFilter::Open(client_.get(), name, options);
    EXPECT_TRUE(filter.ok()) << filter.status();
    return *std::move(filter);
  }
  std::unique_ptr<BitmapFilter> Create(const RedisBitmapShape& shape,
                                       const CreateBitmapOptions& options = {}) {
    auto filter = Open({.rule = shape.rule});
    const absl::Status created = filter->Create(shape, options);
    EXPECT_TRUE(created.ok()) << created;
    return filter;
  }
  Reply Do(std::initializer_list<std::string_view> command) {
    Request request;
    request.Command(command);
    const auto reply = client_->ExecuteOne("users", request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply.ok() ? *reply : Reply();
  }
  // The reply of a script of somebody else's to KEYS and the offsets of a key.
  Reply RunTheirs(std::string_view script, const std::vector<std::string>& keys,
                  const std::vector<std::string>& arguments, const RedisBitmapShape& shape,
                  std::string_view key) {
    std::vector<uint64_t> offsets;
    AppendRedisOffsets(shape, key, &offsets);
    Request request;
    request.Begin(3 + keys.size() + arguments.size() + offsets.size());
    request.Append("EVAL");
    request.Append(script);
    request.Append(keys.size());
    for (const std::string& name : keys) request.Append(name);
    for (const std::string& argument : arguments) request.Append(argument);
    for (const uint64_t offset : offsets) request.Append(offset);
    const auto reply = client_->Execute("users", request);
    EXPECT_TRUE(reply.ok()) << reply.status();
    return reply->front();
  }

  static RedisServer* server_;
  std::unique_ptr<Client> client_;
};
RedisServer* RedisBitmapFilterTest::server_ = nullptr;

TEST_F(RedisBitmapFilterTest, GoZerosKeysHaveTheGoldenBytes) {
  for (const std::string& line : GoldenLines("gozero/keys.tsv")) {
    const std::vector<std::string> fields = Split(line, '\t');
    if (fields[0] == "bits") continue;
    server_->Cli("FLUSHALL");
    auto filter = Open({.rule = RedisBitmapRule::kGoZero,
                        .shape_without_configuration = GoZeroShape(std::stoull(fields[0])).value(),
                        .add_makes_the_key = true});
    std::vector<std::string> keys;
    for (const std::string& hex : Split(fields[1], ',')) keys.push_back(FromHex(hex));
    EXPECT_EQ(filter->Add(Views(keys)).value(), keys.size());
    EXPECT_EQ(ToHex(Do({"GET", "users"}).text), fields[4]);
    EXPECT_THAT(filter->MayContain(Views(keys)), Each(true));
    EXPECT_EQ(filter->counts().found, keys.size());
  }
}

TEST_F(RedisBitmapFilterTest, TheKeyOfTheProgramWithJedisHasTheGoldenBytes) {
  std::string golden;
  for (const std::string& line : GoldenLines("jedis/golden.txt")) {
    if (line.find("redis key bytes=") == 0) golden = line.substr(16, line.find(" bitcount") - 16);
  }
  ASSERT_EQ(golden.size(), 240u);
  const std::vector<std::string> keys = NewKeys("", 100);
  const RedisBitmapShape shape = *JedisShape(100, 0.01);
  // As the program makes its key, and as one of ours.
  for (const bool is_managed : {false, true}) {
    server_->Cli("FLUSHALL");
    auto filter = is_managed ? Create(shape)
                             : Open({.rule = RedisBitmapRule::kJedis,
                                     .shape_without_configuration = shape,
                                     .add_makes_the_key = true});
    ASSERT_TRUE(filter->Add(Views(keys)).ok());
    EXPECT_EQ(ToHex(Do({"GET", "users"}).text), golden);
    EXPECT_THAT(filter->MayContain(Views(keys)), Each(true));
    EXPECT_EQ(filter->counts().found, 100u);
  }
}

// By redis-cli, which shares nothing with this library: what their programs send, as files.
TEST_F(RedisBitmapFilterTest, TheScriptsOfTheOthersAgreeThroughRedisCli) {
  const ScratchDirectory directory("redis_scripts");
  const auto eval = [&](std::string_view name, std::string_view script, const std::string& keys,
                        const std::string& arguments, const RedisBitmapShape& shape,
                        std::string_view key) {
    const std::string path = directory.path() + "/" + std::string(name);
    std::ofstream(path, std::ios::binary) << script;
    std::vector<uint64_t> offsets;
    AppendRedisOffsets(shape, key, &offsets);
    std::string command = "--eval " + path + " " + keys + " , " + arguments;
    for (const uint64_t offset : offsets) command += " " + std::to_string(offset);
    return server_->Cli(command);
  };
  const RedisBitmapShape go_zero = *GoZeroShape(20000);
  auto filter = Create(go_zero);
  ASSERT_TRUE(filter->Add(Views(NewKeys("ours", 10))).ok());
  for (const std::string& key : NewKeys("ours", 10)) {
    EXPECT_EQ(eval("test.lua", kGoZeroTest, "users", "", go_zero, key), "1") << key;
  }
  EXPECT_EQ(eval("test.lua", kGoZeroTest, "users", "", go_zero, "absent"), "");
  EXPECT_EQ(eval("set.lua", kGoZeroSet, "users", "", go_zero, "theirs"), "");
  EXPECT_THAT(filter->MayContain(Views({"theirs", "absent"})), ::testing::ElementsAre(true, false));

  server_->Cli("FLUSHALL");
  const RedisBitmapShape redisson = *RedissonShape(1000, 0.01);
  filter = Create(redisson);
  const std::string keys = "'{users}:config' users";
  ASSERT_TRUE(filter->Add(Views(NewKeys("ours", 10))).ok());
  for (const std::string& key : NewKeys("ours", 10)) {
    EXPECT_EQ(eval("contains.lua", kRedissonContains, keys, "9585 7 7", redisson, key), "1");
  }
  EXPECT_EQ(eval("contains.lua", kRedissonContains, keys, "9585 7 7", redisson, "absent"), "0");
  EXPECT_EQ(eval("add.lua", kRedissonAdd, keys, "9585 7 7", redisson, "theirs"), "1");
  EXPECT_EQ(eval("add.lua", kRedissonAdd, keys, "9585 7 7", redisson, "theirs"), "0");
  EXPECT_THAT(filter->MayContain(Views({"theirs", "absent"})), ::testing::ElementsAre(true, false));
  // One whose configuration is another's is told so, or told "no": why scripts of ours compare it.
  EXPECT_EQ(eval("contains.lua", kRedissonContains, keys, "958 7 7", redisson, "theirs"), "0");
  EXPECT_THAT(eval("add.lua", kRedissonAdd, keys, "958 7 7", redisson, "x"),
              HasSubstr("Bloom filter config has been changed"));
}

TEST_F(RedisBitmapFilterTest, GoZerosScriptsFindWhatWeWroteAndTheReverse) {
  EXPECT_EQ(Script(std::string(kGoZeroSet)).sha1(), "986853ef22fde2c21e001b40202acde648f460cb");
  EXPECT_EQ(Script(std::string(kGoZeroTest)).sha1(), "089dcbffcdac63ff99528b2ff97421d9baf45de7");
  const RedisBitmapShape shape = *GoZeroShape(20000);
  auto filter = Create(shape);
  const std::vector<std::string> ours = NewKeys("ours", 100);
  ASSERT_EQ(filter->Add(Views(ours)).value(), 100u);
  for (const std::string& key : ours) {
    EXPECT_EQ(RunTheirs(kGoZeroTest, {"users"}, {}, shape, key).integer, 1) << key;
  }
  EXPECT_EQ(RunTheirs(kGoZeroTest, {"users"}, {}, shape, "absent").type, Reply::Type::kNil);
  for (const std::string& key : NewKeys("theirs", 100)) {
    EXPECT_FALSE(RunTheirs(kGoZeroSet, {"users"}, {}, shape, key).is_error());
  }
  EXPECT_THAT(filter->MayContain(Views(NewKeys("theirs", 100))), Each(true));
  EXPECT_FALSE(filter->MayContain("absent"));
}

// What today's Redisson does in its scripts, step by step: it compares the configuration's two
// fields, then sets or tests every bit.
constexpr std::string_view kRedissonSteps = R"(
local config = redis.call('hmget', KEYS[1], 'size', 'hashIterations')
if config[1] ~= ARGV[1] or config[2] ~= ARGV[2] then return -1 end
local zeros = 0
for i = 4, #ARGV do
  local old = redis.call(ARGV[3], KEYS[2], ARGV[i], ARGV[3] == 'setbit' and 1 or nil)
  if old == 0 then zeros = zeros + 1 end
end
return zeros)";

TEST_F(RedisBitmapFilterTest, RedissonFindsWhatWeWroteAndTheReverse) {
  const RedisBitmapShape shape = *RedissonShape(1000, 0.01);
  auto filter = Create(shape, {.expected_insertions = 1000, .fpr = 0.00001});
  EXPECT_EQ(server_->Cli("HGETALL '{users}:config'"),
            "size\n9585\nhashIterations\n7\nexpectedInsertions\n1000\nfalseProbability\n1.0E-5");
  const std::vector<std::string> keys = {"{users}:config", "users"};
  ASSERT_TRUE(filter->Add(Views(NewKeys("ours", 500))).ok());
  for (const std::string& key : NewKeys("ours", 500)) {
    EXPECT_EQ(RunTheirs(kRedissonSteps, keys, {"9585", "7", "getbit"}, shape, key).integer, 0);
  }
  EXPECT_GT(RunTheirs(kRedissonSteps, keys, {"9585", "7", "setbit"}, shape, "theirs").integer, 0);
  EXPECT_TRUE(filter->MayContain("theirs"));
}

TEST_F(RedisBitmapFilterTest, OpensWhatRedissonMade) {
  Do({"HSET", "{users}:config", "size", "729", "hashIterations", "5", "expectedInsertions", "100",
      "falseProbability", "0.03"});
  auto filter = Open();
  EXPECT_TRUE(filter->MayContain("anything"));  // its string does not exist yet
  EXPECT_EQ(filter->counts().missing, 1u);
  std::vector<std::string> keys = NewKeys("key", 100);
  ASSERT_TRUE(filter->Add(Views(keys)).ok());
  for (const std::string& line : GoldenLines("redisson/highwayhash_indexes.tsv")) {
    const size_t at = line.find("bytes=");
    if (at != std::string::npos) {
      EXPECT_EQ(ToHex(Do({"GET", "users"}).text), line.substr(at + 6, line.find(' ', at) - at - 6));
    }
  }
  EXPECT_EQ(filter->GetInfo()->EstimatedKeys(), 104u);  // as Redisson's count()
  EXPECT_FALSE(filter->MayContain("absent"));
  // Deleted and made again with another size: Redisson answers "no" then.
  Do({"DEL", "users", "{users}:config"});
  EXPECT_TRUE(filter->MayContain("key1"));
  Do({"HSET", "{users}:config", "size", "958", "hashIterations", "7"});
  Do({"SETBIT", "users", "1", "1"});
  EXPECT_FALSE(filter->MayContain("key1"));  // of the new filter, after reading its configuration
  EXPECT_EQ(filter->GetInfo()->shape.num_bits, 958u);
}

TEST_F(RedisBitmapFilterTest, AMissingOrTruncatedOrExpiredFilterSaysMaybeAndIsNotMadeByAdding) {
  auto filter = Open();
  EXPECT_TRUE(filter->MayContain("Tom"));
  EXPECT_TRUE(absl::IsNotFound(filter->Add(Views({"Tom"})).status()));
  ASSERT_TRUE(filter->Create(*RedissonShape(1000, 0.01)).ok());
  EXPECT_FALSE(filter->MayContain("Tom"));
  // The string alone is evicted, or another process writes over it.
  Do({"DEL", "users"});
  EXPECT_TRUE(filter->MayContain("Tom"));
  EXPECT_TRUE(absl::IsNotFound(filter->Add(Views({"Tom"})).status()));
  EXPECT_EQ(Do({"EXISTS", "users"}).integer, 0);
  Do({"SET", "users", "short"});
  EXPECT_TRUE(filter->MayContain("Tom"));
  Do({"DEL", "users", "{users}:winnow"});
  Do({"RPUSH", "users", "a list"});
  EXPECT_TRUE(filter->MayContain("Tom"));
  const QueryCounts counts = filter->counts();
  EXPECT_EQ(counts.missing, 3u);
  EXPECT_EQ(counts.refused, 1u);
  EXPECT_EQ(counts.no, 1u);
  EXPECT_EQ(counts.found, 0u);
  EXPECT_TRUE(absl::IsFailedPrecondition(filter->Remove()));
  Do({"DEL", "users"});
  ASSERT_TRUE(filter->Remove().ok());
  EXPECT_EQ(server_->Cli("DBSIZE"), "0");
}

TEST_F(RedisBitmapFilterTest, AllKeysExpireAtOneMomentWithinTheJitterAndNotesADayLater) {
  auto filter = Create(*RedissonShape(1000, 0.01),
                       {.ttl = std::chrono::hours(1), .ttl_jitter = std::chrono::minutes(5)});
  auto intent = filter->BeginWrite(Views({"Tom"}));
  ASSERT_TRUE(intent.ok()) << intent.status();
  const int64_t at = Do({"PEXPIRETIME", "users"}).integer;
  for (const char* key : {"{users}:winnow", "{users}:config"}) {
    EXPECT_EQ(Do({"PEXPIRETIME", key}).integer, at) << key;
  }
  constexpr int64_t kDay = 24 * 3600 * 1000;
  EXPECT_EQ(Do({"PEXPIRETIME", "{users}:winnow:writes"}).integer, at + kDay);
  const int64_t left = Do({"PTTL", "users"}).integer;
  EXPECT_GT(left, 3590 * 1000);
  EXPECT_LE(left, 3900 * 1000);
  auto rebuild = filter->StartRebuild(*RedissonShape(2000, 0.01));
  ASSERT_TRUE(rebuild.ok()) << rebuild.status();
  ASSERT_TRUE((*rebuild)->Finish().ok());
  EXPECT_EQ(Do({"PEXPIRETIME", "users"}).integer, at);  // RENAME alone would have dropped it
  auto shorter =
      filter->StartRebuild(*RedissonShape(2000, 0.01), {.ttl = std::chrono::milliseconds(1)});
  ASSERT_TRUE((*shorter)->Finish().ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(server_->Cli("EXISTS users '{users}:winnow' '{users}:config'"), "0");
  const int64_t notes_left = Do({"PTTL", "{users}:winnow:writes"}).integer;
  EXPECT_GT(notes_left, 0);
  EXPECT_LE(notes_left, kDay);
  EXPECT_TRUE(filter->MayContain("Tom"));
  EXPECT_TRUE(absl::IsNotFound(filter->EndWrite(*std::move(intent))));
}

TEST_F(RedisBitmapFilterTest, TheJitterIsAnotherForEachFilter) {
  std::set<int64_t> moments;
  for (int i = 0; i < 8; ++i) {
    auto filter = Create(*RedissonShape(1000, 0.01),
                         {.ttl = std::chrono::hours(1), .ttl_jitter = std::chrono::hours(1000)});
    moments.insert(Do({"PTTL", "users"}).integer / 60'000);
    ASSERT_TRUE(filter->Remove().ok());
  }
  EXPECT_GE(moments.size(), 6u);  // of 60,000 minutes
}

// Redisson up to 3.22 did not look at the last one.
TEST_F(RedisBitmapFilterTest, EachOfAKeysBitsIsLookedAt) {
  const RedisBitmapShape shape = *RedissonShape(1000, 0.01);
  auto filter = Create(shape);
  std::vector<uint64_t> offsets;
  AppendRedisOffsets(shape, "Tom", &offsets);
  ASSERT_EQ(std::set<uint64_t>(offsets.begin(), offsets.end()).size(), offsets.size());
  ASSERT_TRUE(filter->Add(Views({"Tom"})).ok());
  for (const uint64_t offset : offsets) {
    EXPECT_EQ(Do({"SETBIT", "users", std::to_string(offset), "0"}).integer, 1);
    EXPECT_FALSE(filter->MayContain("Tom")) << offset;
    Do({"SETBIT", "users", std::to_string(offset), "1"});
    EXPECT_TRUE(filter->MayContain("Tom")) << offset;
  }
}

TEST_F(RedisBitmapFilterTest, RefusesWhatIsTooLargeOrThereOrOfAnotherRule) {
  auto filter = Open();
  EXPECT_TRUE(absl::IsResourceExhausted(filter->Create(*RedissonShape(400'000'000, 0.01))));
  ASSERT_TRUE(filter->Create(*RedissonShape(100, 0.01)).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(filter->Create(*RedissonShape(100, 0.01))));
  auto other = Open({.rule = RedisBitmapRule::kGoZero});
  EXPECT_TRUE(absl::IsFailedPrecondition(other->Add(Views({"Tom"})).status()));
  EXPECT_TRUE(other->MayContain("Tom"));
  EXPECT_EQ(other->counts().refused, 1u);
  for (const char* name : {"", "a{}b", "a}b{", "x{a"}) {
    const auto opened = BitmapFilter::Open(client_.get(), name);
    if (std::string_view(name) == "x{a") {
      EXPECT_FALSE(opened.ok());
    } else {
      EXPECT_TRUE(absl::IsInvalidArgument(opened.status())) << name;
    }
  }
  EXPECT_TRUE(BitmapFilter::Open(client_.get(), "cache:{users}:seen").ok());
}

RedisBitmapShape ShapeOfHundred(RedisBitmapRule rule) {
  if (rule == RedisBitmapRule::kGoZero) return *GoZeroShape(100, 0.01);
  if (rule == RedisBitmapRule::kJedis) return *JedisShape(100, 0.01);
  return *RedissonShape(100, 0.01);
}
constexpr RedisBitmapRule kAllRules[] = {RedisBitmapRule::kGoZero, RedisBitmapRule::kJedis,
                                         RedisBitmapRule::kRedisson};

// Neither a rebuild nor a removal may destroy it.
TEST_F(RedisBitmapFilterTest, WhatIsNoFilterOfTheRuleIsNeitherReplacedNorRemoved) {
  const auto expect_foreign = [&](RedisBitmapRule rule, const std::string& what) {
    const std::string before = server_->Cli("--raw DUMP users | md5sum");
    auto filter = Open({.rule = rule});
    const std::string message = "users: there is " + what + " under this name, no filter of " +
                                std::string(RedisBitmapRuleName(rule));
    for (const absl::Status& status :
         {filter->StartRebuild(ShapeOfHundred(rule)).status(), filter->Remove()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_EQ(status.message(), message);
    }
    EXPECT_TRUE(absl::IsAlreadyExists(filter->Create(ShapeOfHundred(rule))));
    EXPECT_EQ(server_->Cli("--raw DUMP users | md5sum"), before) << message;
  };
  for (const RedisBitmapRule rule : kAllRules) {
    const std::string name(RedisBitmapRuleName(rule));
    server_->Cli("FLUSHALL");
    Do({"SET", "users", "<html>my page</html>"});
    expect_foreign(rule, "a string of 20 bytes without a configuration");
    EXPECT_EQ(server_->Cli("EXISTS '{users}:winnow' '{users}:winnow:next'"), "0") << name;
    Do({"DEL", "users"});
    Do({"RPUSH", "users", "a"});
    expect_foreign(rule, "a key of type list");
    // Filters of the others, whole and as they are before their first rebuild.
    for (const RedisBitmapRule other : kAllRules) {
      for (const bool is_complete : {true, false}) {
        if (other == rule) continue;
        server_->Cli("FLUSHALL");
        auto theirs = Create(ShapeOfHundred(other), {.is_complete = is_complete});
        expect_foreign(rule, "a filter of " + std::string(RedisBitmapRuleName(other)));
        EXPECT_TRUE(theirs->GetInfo().ok());
        EXPECT_TRUE(theirs->Remove().ok());
        EXPECT_EQ(server_->Cli("DBSIZE"), "0") << name;
      }
    }
  }
  // Redisson's own, which has no state of ours beside it, and maybe no bits yet.
  Do({"HSET", "{users}:config", "size", "729", "hashIterations", "5"});
  expect_foreign(RedisBitmapRule::kGoZero, "a filter of redisson");
  auto theirs = Open();
  auto rebuild = theirs->StartRebuild(*RedissonShape(100, 0.01));
  ASSERT_TRUE(rebuild.ok()) << rebuild.status();
  EXPECT_TRUE((*rebuild)->Finish().ok());
  EXPECT_TRUE(theirs->Remove().ok());
  EXPECT_EQ(server_->Cli("DBSIZE"), "0");
}

// go-zero's and Jedis's own filters are strings of which only the caller knows what they are.
TEST_F(RedisBitmapFilterTest, AStringIsReplacedAndRemovedByWhoKnowsItsShape) {
  for (const RedisBitmapRule rule : {RedisBitmapRule::kGoZero, RedisBitmapRule::kJedis}) {
    const RedisBitmapShape shape = ShapeOfHundred(rule);
    auto filter = Open({.rule = rule, .shape_without_configuration = shape});
    const std::string longer((shape.num_bits + 7) / 8 + 1, 'x');
    Do({"SET", "users", longer});
    EXPECT_TRUE(absl::IsFailedPrecondition(filter->StartRebuild(shape).status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(filter->Remove()));
    EXPECT_EQ(Do({"GET", "users"}).text, longer);
    Do({"SET", "users", longer.substr(1)});
    auto rebuild = filter->StartRebuild(shape);
    ASSERT_TRUE(rebuild.ok()) << rebuild.status();
    ASSERT_TRUE((*rebuild)->Add(Views({"Tom"})).ok());
    ASSERT_TRUE((*rebuild)->Finish().ok());
    EXPECT_THAT(filter->MayContain(Views({"Tom", "absent"})), ::testing::ElementsAre(true, false));
    EXPECT_TRUE(filter->Remove().ok());
    Do({"SET", "users", "x"});
    EXPECT_TRUE(filter->Remove().ok());
    EXPECT_EQ(server_->Cli("DBSIZE"), "0");
  }
}

TEST_F(RedisBitmapFilterTest, ABatchIsOneRoundTripAndSurvivesScriptFlush) {
  auto filter = Create(*GoZeroShape(1'000'000));
  const std::vector<std::string> keys = NewKeys("key", 10000);
  EXPECT_NEAR(static_cast<double>(filter->Add(Views(keys)).value()), 10000, 5);
  server_->Cli("SCRIPT FLUSH");
  EXPECT_THAT(filter->MayContain(Views(keys)), Each(true));
  server_->Cli("SCRIPT FLUSH");
  EXPECT_EQ(filter->Add(Views(keys)).value(), 0u);
  server_->Cli("CONFIG RESETSTAT");
  filter->MayContain(Views(NewKeys("key", 490)));
  EXPECT_THAT(server_->Cli("INFO commandstats"), HasSubstr("cmdstat_evalsha:calls=1,"));
  server_->Cli("CONFIG RESETSTAT");
  filter->MayContain(Views(keys));  // at most 7000 arguments each
  EXPECT_THAT(server_->Cli("INFO commandstats"), HasSubstr("cmdstat_evalsha:calls=21,"));
}

TEST_F(RedisBitmapFilterTest, DownloadsTheStringAndPutsItBack) {
  auto filter = Create(*RedissonShape(2'000'000, 0.01));
  const std::vector<std::string> keys = NewKeys("key", 3000);
  ASSERT_TRUE(filter->Add(Views(keys)).ok());
  const auto bitmap = filter->Download();
  ASSERT_TRUE(bitmap.ok()) << bitmap.status();
  for (const std::string& key : keys) ASSERT_TRUE(bitmap->Contains(key));
  auto rebuild = filter->StartRebuild(bitmap->shape());
  ASSERT_TRUE(rebuild.ok());
  ASSERT_TRUE(filter->Add(Views({"while it was uploaded"})).ok());
  ASSERT_TRUE((*rebuild)->AddAll(*bitmap).ok());
  ASSERT_TRUE((*rebuild)->Finish().ok());
  EXPECT_THAT(filter->MayContain(Views(keys)), Each(true));
  EXPECT_TRUE(filter->MayContain("while it was uploaded"));
  EXPECT_FALSE(filter->MayContain("absent"));
  EXPECT_EQ(server_->Cli("--raw KEYS '*upload*'"), "");
}

}  // namespace
}  // namespace winnow::filter::redis
