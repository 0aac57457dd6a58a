#include "winnow/guard/memory_cache.h"

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

class MemoryCacheTest : public testing::Test {
 protected:
  std::unique_ptr<MemoryCache> NewCache(uint64_t capacity_bytes, size_t num_shards = 1) {
    return NewMemoryCache(
        {.capacity_bytes = capacity_bytes, .num_shards = num_shards, .clock = &clock_});
  }
  bool Has(Cache* cache, std::string_view key) {
    std::string value;
    return *cache->Get(key, &value);
  }

  FakeClock clock_;
};

TEST_F(MemoryCacheTest, KeepsAnyBytesUntilTheirTime) {
  const auto cache = NewCache(1 << 20);
  const std::string key("a\0b", 3);
  ASSERT_TRUE(cache->Set(key, std::string("\0v", 2), milliseconds(10)).ok());
  ASSERT_TRUE(cache->Set("", "empty", milliseconds(20)).ok());
  std::string value;
  ASSERT_TRUE(*cache->Get(key, &value));
  EXPECT_EQ(value, std::string("\0v", 2));
  EXPECT_FALSE(Has(cache.get(), "a"));
  clock_.Advance(milliseconds(10));
  EXPECT_FALSE(Has(cache.get(), key));
  EXPECT_TRUE(Has(cache.get(), ""));
  ASSERT_TRUE(cache->Set("", "new", milliseconds(20)).ok());
  ASSERT_TRUE(*cache->Get("", &value));
  EXPECT_EQ(value, "new");
  ASSERT_TRUE(cache->Remove("").ok());
  ASSERT_TRUE(cache->Remove("never there").ok());
  EXPECT_FALSE(Has(cache.get(), ""));
  EXPECT_EQ(cache->usage().entries, 0u);
}

TEST_F(MemoryCacheTest, NeverTakesMoreThanItsCapacity) {
  const auto cache = NewCache(100'000, 4);
  FixedRandom random;
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t drawn = random.Next();
    const std::string key = absl::StrCat("k", drawn % 3000);
    if (drawn >> 60 == 0) {
      ASSERT_TRUE(cache->Remove(key).ok());
    } else {
      ASSERT_TRUE(cache->Set(key, std::string(drawn >> 56, 'v'), seconds(1)).ok());
    }
    ASSERT_LE(cache->usage().bytes, 100'000u);
  }
  EXPECT_GT(cache->usage().evictions, 1000u);
  EXPECT_GT(cache->usage().entries, 100u);
  ASSERT_TRUE(cache->Set("large", std::string(30'000, 'v'), seconds(1)).ok());
  EXPECT_FALSE(Has(cache.get(), "large"));
}

// One key that is written again and again takes the room of one.
TEST_F(MemoryCacheTest, OverwritingPushesNothingOut) {
  const auto cache = NewCache(10'000);
  ASSERT_TRUE(cache->Set("a", "1", seconds(1)).ok());
  for (int i = 0; i < 10'000; ++i) ASSERT_TRUE(cache->Set("b", absl::StrCat(i), seconds(1)).ok());
  EXPECT_TRUE(Has(cache.get(), "a"));
  EXPECT_EQ(cache->usage().evictions, 0u);
}

TEST_F(MemoryCacheTest, AScanDoesNotPushOutWhatIsAskedForAgain) {
  constexpr int kHot = 300;
  const auto cache = NewCache(100'000);
  for (int i = 0; i < kHot; ++i) {
    ASSERT_TRUE(cache->Set(absl::StrCat("hot", i), "v", seconds(1)).ok());
    ASSERT_TRUE(Has(cache.get(), absl::StrCat("hot", i)));
  }
  for (int i = 0; i < 100'000; ++i) {
    ASSERT_TRUE(cache->Set(absl::StrCat("scan", i), "v", seconds(1)).ok());
  }
  int num_left = 0;
  for (int i = 0; i < kHot; ++i) num_left += Has(cache.get(), absl::StrCat("hot", i)) ? 1 : 0;
  EXPECT_EQ(num_left, kHot);
}

TEST_F(MemoryCacheTest, LocksHaveOneHolderAndATime) {
  const auto cache = NewCache(1 << 20);
  EXPECT_TRUE(*cache->TryLock("k", "a", milliseconds(10)));
  EXPECT_FALSE(*cache->TryLock("k", "b", milliseconds(10)));
  EXPECT_TRUE(*cache->TryLock("other", "b", milliseconds(10)));
  EXPECT_FALSE(*cache->RenewLock("k", "b", milliseconds(10)));
  EXPECT_FALSE(*cache->Unlock("k", "b"));
  EXPECT_FALSE(*cache->SetAndUnlock("k", "b", "v", seconds(1)));
  clock_.Advance(milliseconds(9));
  EXPECT_TRUE(*cache->RenewLock("k", "a", milliseconds(10)));
  clock_.Advance(milliseconds(9));
  EXPECT_FALSE(*cache->TryLock("k", "b", milliseconds(10)));
  clock_.Advance(milliseconds(1));
  EXPECT_FALSE(*cache->RenewLock("k", "a", milliseconds(10)));
  EXPECT_TRUE(*cache->TryLock("k", "b", milliseconds(10)));
  EXPECT_FALSE(*cache->Unlock("k", "a"));
  EXPECT_TRUE(*cache->SetAndUnlock("k", "b", "v", seconds(1)));
  EXPECT_TRUE(Has(cache.get(), "k"));
  EXPECT_TRUE(*cache->TryLock("k", "a", milliseconds(10)));
}

TEST_F(MemoryCacheTest, AWriteEndsTheLock) {
  const auto cache = NewCache(1 << 20);
  ASSERT_TRUE(*cache->TryLock("k", "a", seconds(10)));
  ASSERT_TRUE(cache->Set("k", "v", seconds(1)).ok());
  EXPECT_FALSE(*cache->SetAndUnlock("k", "a", "older", seconds(1)));
  ASSERT_TRUE(*cache->TryLock("k", "a", seconds(10)));
  ASSERT_TRUE(cache->Remove("k").ok());
  EXPECT_FALSE(*cache->SetAndUnlock("k", "a", "older", seconds(1)));
  EXPECT_FALSE(Has(cache.get(), "k"));
}

}  // namespace
}  // namespace winnow::guard
