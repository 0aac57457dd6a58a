// The same filters on a Redis Cluster of three nodes, which the client is told one of. The tests of
// filters on one server run on a cluster as well: redis_filters_on_cluster_test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "filter/redis/key_slot.h"
#include "tests/filter/redis/redis_server.h"
#include "winnow/filter/redis/bit_sets.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

class RedisClusterTest : public ::testing::Test {
 protected:
  static constexpr size_t kNodes = 3;

  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    int printed[2];
    ASSERT_EQ(::pipe(printed), 0);
    const pid_t parent = ::getpid();
    script_ = ::fork();
    if (script_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(1);
      ::dup2(printed[1], 1);
      ::execl(WINNOW_REDIS_CLUSTER_SCRIPT, "redis-cluster", nullptr);
      ::_exit(127);
    }
    ::close(printed[1]);
    std::FILE* lines = ::fdopen(printed[0], "r");
    Node node;
    while (nodes_.size() < kNodes &&
           std::fscanf(lines, " node redis://127.0.0.1:%d pid %d", &node.port, &node.pid) == 2) {
      nodes_.push_back(node);
    }
    std::fclose(lines);
    ASSERT_EQ(nodes_.size(), kNodes) << "see what the script says";
    client_ = *Client::Open(absl::StrCat("redis://127.0.0.1:", nodes_[0].port),
                            RedisServer::PatientOptions());
  }
  void TearDown() override {
    if (script_ <= 0) return;
    ::kill(script_, SIGTERM);
    ::waitpid(script_, nullptr, 0);
  }

  struct Node {
    int port = 0;
    int pid = 0;
    std::string Cli(const std::string& arguments) const { return RunRedisCli(port, arguments); }
  };
  const Node& NodeOf(std::string_view key) const {
    return nodes_[std::min<size_t>(kNodes - 1, SlotOf(key) / 5461)];
  }

  pid_t script_ = -1;
  std::vector<Node> nodes_;
  std::unique_ptr<Client> client_;
};

TEST_F(RedisClusterTest, FiltersOfEveryNodeAreMadeAskedAndRebuilt) {
  std::vector<std::string> names;
  for (int i = 0; i < 12; ++i) names.push_back(absl::StrCat("key", i));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  for (int i = 0; i < 12; ++i) {
    const std::string name = absl::StrCat("users", i);
    auto filter = *BitmapFilter::Open(client_.get(), name);
    ASSERT_TRUE(filter->Create(*RedissonShape(1000, 0.001)).ok());
    auto intent = filter->BeginWrite(keys);
    ASSERT_TRUE(intent.ok()) << intent.status();
    EXPECT_THAT(filter->MayContain(keys), Each(true));
    EXPECT_FALSE(filter->MayContain("absent"));
    auto rebuild = filter->StartRebuild(*RedissonShape(2000, 0.001));
    ASSERT_TRUE(rebuild.ok()) << rebuild.status();
    ASSERT_TRUE((*rebuild)->Finish().ok());
    EXPECT_THAT(filter->MayContain(keys), Each(true));
    ASSERT_TRUE(filter->EndWrite(*std::move(intent)).ok());
    EXPECT_EQ(NodeOf(name).Cli("EXISTS " + name), "1");
    EXPECT_EQ(filter->counts().missing + filter->counts().refused, 0u);
  }
  for (const Node& node : nodes_) EXPECT_NE(node.Cli("DBSIZE"), "0");
}

TEST_F(RedisClusterTest, AFilterWhoseSlotMovesIsFollowed) {
  const std::string name = "users";
  auto filter = *BitmapFilter::Open(client_.get(), name);
  ASSERT_TRUE(filter->Create(*RedissonShape(1000, 0.001)).ok());
  ASSERT_TRUE(filter->Add(std::vector<std::string_view>{"Tom"}).ok());
  const Node& from = NodeOf(name);
  const Node& to = nodes_[&from == &nodes_[0] ? 1 : 0];
  const std::string slot = absl::StrCat(SlotOf(name));
  const std::string from_id = from.Cli("CLUSTER MYID");
  const std::string to_id = to.Cli("CLUSTER MYID");
  ASSERT_EQ(to.Cli("CLUSTER SETSLOT " + slot + " IMPORTING " + from_id), "OK");
  ASSERT_EQ(from.Cli("CLUSTER SETSLOT " + slot + " MIGRATING " + to_id), "OK");
  // Some keys here, some there: TRYAGAIN. Nothing is denied meanwhile.
  ASSERT_EQ(from.Cli(absl::StrCat("MIGRATE 127.0.0.1 ", to.port, " users 0 5000")), "OK");
  EXPECT_TRUE(filter->MayContain("Tom"));
  ASSERT_EQ(from.Cli(absl::StrCat("MIGRATE 127.0.0.1 ", to.port,
                                  " '' 0 5000 KEYS '{users}:winnow' '{users}:config'")),
            "OK");
  EXPECT_TRUE(filter->MayContain("Tom"));  // ASK
  EXPECT_FALSE(filter->MayContain("absent"));
  for (const Node& node : nodes_) {
    ASSERT_EQ(node.Cli("CLUSTER SETSLOT " + slot + " NODE " + to_id), "OK");
  }
  EXPECT_TRUE(filter->MayContain("Tom"));  // MOVED
  EXPECT_FALSE(filter->MayContain("absent"));
  EXPECT_TRUE(filter->Add(std::vector<std::string_view>{"Jerry"}).ok());
}

TEST_F(RedisClusterTest, ADeadNodeIsMaybeAndTheOthersAnswer) {
  std::string lost = "a";
  std::string kept = "a";
  for (int i = 0; &NodeOf(lost) != &nodes_[2]; ++i) lost = absl::StrCat("a", i);
  for (int i = 0; &NodeOf(kept) != &nodes_[1]; ++i) kept = absl::StrCat("a", i);
  auto there = *BitmapFilter::Open(client_.get(), kept);
  auto gone = *BitmapFilter::Open(client_.get(), lost);
  ASSERT_TRUE(there->Create(*RedissonShape(1000, 0.001)).ok());
  ASSERT_TRUE(gone->Create(*RedissonShape(1000, 0.001)).ok());
  ::kill(nodes_[2].pid, SIGKILL);
  EXPECT_TRUE(gone->MayContain("absent"));
  EXPECT_EQ(gone->counts().unreachable, 1u);
  EXPECT_FALSE(there->MayContain("absent"));
}

}  // namespace
}  // namespace winnow::filter::redis
