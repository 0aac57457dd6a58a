// The cache guard's cache on a real redis-server: values, and locks that their holder alone ends.

#include <gtest/gtest.h>

#include "filter/redis/key_slot.h"
#include "tests/filter/redis/redis_server.h"
#include "winnow/filter/redis/guard_cache.h"

namespace winnow::filter::redis {
namespace {

using std::chrono::milliseconds;

class RedisGuardCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    server_ = RedisServer::StartOrJoinCluster();
    client_ = server_->NewClient();
    cache_ = std::make_unique<GuardCache>(client_.get(), "app:");
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<GuardCache> cache_;
  const milliseconds long_{60'000};
};

TEST_F(RedisGuardCacheTest, KeepsValuesOfAnyBytesUntilTheyExpire) {
  std::string value;
  for (const std::string& key : {std::string(), std::string("a}b{"), std::string(1, '\0')}) {
    EXPECT_FALSE(cache_->Get(key, &value).value());
    ASSERT_TRUE(cache_->Set(key, std::string("x\0y", 3), long_).ok());
    EXPECT_TRUE(cache_->Get(key, &value).value());
    EXPECT_EQ(value, std::string("x\0y", 3));
    ASSERT_TRUE(cache_->Remove(key).ok());
    EXPECT_FALSE(cache_->Get(key, &value).value());
    EXPECT_EQ(SlotOf("app:{:" + key + "}"), SlotOf("app:{:" + key + "}lock"));
  }
  ASSERT_TRUE(cache_->Set("short", "", milliseconds(1)).ok());
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_FALSE(cache_->Get("short", &value).value());
}

TEST_F(RedisGuardCacheTest, ALockHasOneHolder) {
  EXPECT_TRUE(cache_->TryLock("k", "one", long_).value());
  EXPECT_FALSE(cache_->TryLock("k", "two", long_).value());
  EXPECT_FALSE(cache_->RenewLock("k", "two", long_).value());
  EXPECT_FALSE(cache_->Unlock("k", "two").value());
  EXPECT_TRUE(cache_->RenewLock("k", "one", long_).value());
  EXPECT_TRUE(cache_->Unlock("k", "one").value());
  EXPECT_FALSE(cache_->Unlock("k", "one").value());
  EXPECT_TRUE(cache_->TryLock("k", "two", milliseconds(1)).value());
  std::this_thread::sleep_for(milliseconds(20));
  EXPECT_TRUE(cache_->TryLock("k", "three", long_).value());
}

TEST_F(RedisGuardCacheTest, AnOldLoadStoresNothingOnceTheValueWasSetOrRemoved) {
  std::string value;
  ASSERT_TRUE(cache_->TryLock("k", "slow", long_).value());
  ASSERT_TRUE(cache_->Set("k", "new", long_).ok());
  EXPECT_FALSE(cache_->SetAndUnlock("k", "slow", "old", long_).value());
  EXPECT_TRUE(cache_->Get("k", &value).value());
  EXPECT_EQ(value, "new");
  ASSERT_TRUE(cache_->TryLock("k", "slow", long_).value());
  ASSERT_TRUE(cache_->Remove("k").ok());
  EXPECT_FALSE(cache_->SetAndUnlock("k", "slow", "old", long_).value());
  EXPECT_FALSE(cache_->Get("k", &value).value());
  ASSERT_TRUE(cache_->TryLock("k", "quick", long_).value());
  EXPECT_TRUE(cache_->SetAndUnlock("k", "quick", "loaded", long_).value());
  EXPECT_TRUE(cache_->Get("k", &value).value());
  EXPECT_TRUE(cache_->TryLock("k", "next", long_).value());
}

// Who waited for it would wait for nobody.
TEST_F(RedisGuardCacheTest, WhatIsNoLockIsAnErrorAndNotHeldBySomebody) {
  server_->Cli("RPUSH 'app:{:k}lock' a");
  EXPECT_TRUE(absl::IsFailedPrecondition(cache_->TryLock("k", "one", long_).status()));
  server_->Cli("DEL 'app:{:k}lock'");
  server_->Cli("SET 'app:{:k}lock' foreign");
  EXPECT_TRUE(absl::IsFailedPrecondition(cache_->TryLock("k", "one", long_).status()));
  ASSERT_TRUE(cache_->Set("k", "v", long_).ok());  // ends it
  EXPECT_TRUE(cache_->TryLock("k", "one", long_).value());
}

TEST_F(RedisGuardCacheTest, BracesInThePrefixAreAnErrorOfEachCall) {
  for (const char* prefix : {"app{1}:", "{", "}"}) {
    GuardCache braced(client_.get(), prefix);
    std::string value;
    for (const absl::Status& status :
         {braced.Get("k", &value).status(), braced.Set("k", "v", long_), braced.Remove("k"),
          braced.TryLock("k", "t", long_).status(), braced.RenewLock("k", "t", long_).status(),
          braced.SetAndUnlock("k", "t", "v", long_).status(), braced.Unlock("k", "t").status()}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << prefix << ": " << status;
    }
  }
}

TEST_F(RedisGuardCacheTest, AServerThatIsGoneIsAnError) {
  if (server_->is_cluster()) GTEST_SKIP() << "the cluster's nodes are others'";
  server_->Stop();
  std::string value;
  EXPECT_FALSE(cache_->Get("k", &value).ok());
  EXPECT_FALSE(cache_->Set("k", "v", long_).ok());
  EXPECT_FALSE(cache_->TryLock("k", "t", long_).ok());
}

}  // namespace
}  // namespace winnow::filter::redis
