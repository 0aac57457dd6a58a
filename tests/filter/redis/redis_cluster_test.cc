// The same filters on a Redis Cluster of three nodes, which the client is told one of.

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
  static constexpr int kNodes = 3;

  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    for (int i = 0; i < kNodes; ++i) {
      int bus = 0;
      ::close(ListenOnLoopback(&bus));
      nodes_.push_back(std::make_unique<RedisServer>(
          std::vector<std::string>{"--cluster-enabled", "yes", "--cluster-port", absl::StrCat(bus),
                                   "--cluster-node-timeout", "60000"}));
      nodes_[0]->Cli(absl::StrCat("CLUSTER MEET 127.0.0.1 ", nodes_[i]->port(), " ", bus));
    }
    for (int i = 0; i < kNodes; ++i) {
      const int end = i + 1 == kNodes ? kNumSlots - 1 : (i + 1) * 5461 - 1;
      ASSERT_EQ(nodes_[i]->Cli(absl::StrCat("CLUSTER ADDSLOTSRANGE ", i * 5461, " ", end)), "OK");
    }
    for (const auto& node : nodes_) {
      for (int i = 0; i < 1000 && !IsReady(*node); ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      ASSERT_TRUE(IsReady(*node)) << node->Cli("CLUSTER INFO");
    }
    client_ = nodes_[0]->NewClient();
  }
  static bool IsReady(const RedisServer& node) {
    const std::string info = node.Cli("CLUSTER INFO");
    return info.find("cluster_state:ok") != std::string::npos &&
           info.find("cluster_known_nodes:3") != std::string::npos;
  }
  const RedisServer& NodeOf(std::string_view key) const {
    return *nodes_[std::min(kNodes - 1, SlotOf(key) / 5461)];
  }

  std::vector<std::unique_ptr<RedisServer>> nodes_;
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
  for (const auto& node : nodes_) EXPECT_NE(node->Cli("DBSIZE"), "0");
}

TEST_F(RedisClusterTest, AFilterWhoseSlotMovesIsFollowed) {
  const std::string name = "users";
  auto filter = *BitmapFilter::Open(client_.get(), name);
  ASSERT_TRUE(filter->Create(*RedissonShape(1000, 0.001)).ok());
  ASSERT_TRUE(filter->Add(std::vector<std::string_view>{"Tom"}).ok());
  const RedisServer& from = NodeOf(name);
  const RedisServer& to = *nodes_[&from == nodes_[0].get() ? 1 : 0];
  const std::string slot = absl::StrCat(SlotOf(name));
  const std::string from_id = from.Cli("CLUSTER MYID");
  const std::string to_id = to.Cli("CLUSTER MYID");
  ASSERT_EQ(to.Cli("CLUSTER SETSLOT " + slot + " IMPORTING " + from_id), "OK");
  ASSERT_EQ(from.Cli("CLUSTER SETSLOT " + slot + " MIGRATING " + to_id), "OK");
  // Some keys here, some there: TRYAGAIN. Nothing is denied meanwhile.
  ASSERT_EQ(from.Cli(absl::StrCat("MIGRATE 127.0.0.1 ", to.port(), " users 0 5000")), "OK");
  EXPECT_TRUE(filter->MayContain("Tom"));
  ASSERT_EQ(from.Cli(absl::StrCat("MIGRATE 127.0.0.1 ", to.port(),
                                  " '' 0 5000 KEYS '{users}:winnow' '{users}:config'")),
            "OK");
  EXPECT_TRUE(filter->MayContain("Tom"));  // ASK
  EXPECT_FALSE(filter->MayContain("absent"));
  for (const auto& node : nodes_) {
    ASSERT_EQ(node->Cli("CLUSTER SETSLOT " + slot + " NODE " + to_id), "OK");
  }
  EXPECT_TRUE(filter->MayContain("Tom"));  // MOVED
  EXPECT_FALSE(filter->MayContain("absent"));
  EXPECT_TRUE(filter->Add(std::vector<std::string_view>{"Jerry"}).ok());
}

TEST_F(RedisClusterTest, ADeadNodeIsMaybeAndTheOthersAnswer) {
  std::string lost = "a";
  std::string kept = "a";
  for (int i = 0; &NodeOf(lost) != nodes_[2].get(); ++i) lost = absl::StrCat("a", i);
  for (int i = 0; &NodeOf(kept) != nodes_[1].get(); ++i) kept = absl::StrCat("a", i);
  auto there = *BitmapFilter::Open(client_.get(), kept);
  auto gone = *BitmapFilter::Open(client_.get(), lost);
  ASSERT_TRUE(there->Create(*RedissonShape(1000, 0.001)).ok());
  ASSERT_TRUE(gone->Create(*RedissonShape(1000, 0.001)).ok());
  nodes_[2]->Stop();
  EXPECT_TRUE(gone->MayContain("absent"));
  EXPECT_EQ(gone->counts().unreachable, 1u);
  EXPECT_FALSE(there->MayContain("absent"));
}

}  // namespace
}  // namespace winnow::filter::redis
