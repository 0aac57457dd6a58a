// LevelDB's filter policies and caches on Winnow.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/filter_policy.h"
#include "tests/engine/compat/leveldb_compat_fixture.h"

namespace leveldb {
namespace {

using LevelDbCompatFilterTest = LevelDbCompatTest;
using LevelDbCompatCacheTest = LevelDbCompatTest;

// Keeps the last byte of each key.
class LastByte : public FilterPolicy {
 public:
  const char* Name() const override { return "test.last-byte"; }
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    for (int i = 0; i < n; i++) dst->push_back(keys[i][keys[i].size() - 1]);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    asked++;
    return filter.ToString().find(key[key.size() - 1]) != std::string::npos;
  }
  mutable std::atomic<int> asked{0};
};

TEST_F(LevelDbCompatFilterTest, AProgramsOwnFilterPolicyIsAsked) {
  const LastByte policy;
  options_.filter_policy = &policy;
  Open();
  Put("key-a", "1");
  Put("key-c", "2");
  db_->CompactRange(nullptr, nullptr);
  EXPECT_EQ(Get("key-a"), "1");
  const int before = policy.asked;
  EXPECT_EQ(Get("key-b"), "NotFound");
  EXPECT_GT(policy.asked, before);
}

TEST_F(LevelDbCompatFilterTest, TheBloomPolicyServesDatabasesAndOtherPolicies) {
  const std::unique_ptr<const FilterPolicy> bloom(NewBloomFilterPolicy(10));
  const Backwards backwards;
  options_.comparator = &backwards;
  options_.filter_policy = bloom.get();
  Open();
  std::string filter_spec;
  EXPECT_TRUE(db_->GetProperty("winnow.filter", &filter_spec));
  EXPECT_EQ(filter_spec, "blocked_bloom:10");

  std::vector<std::string> keys;
  for (int i = 0; i < 10000; i++) keys.push_back("key" + std::to_string(i));
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::string filter = "before";
  bloom->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  ASSERT_EQ(filter.compare(0, 6, "before"), 0) << "a filter is appended";
  const Slice built(filter.data() + 6, filter.size() - 6);
  for (const std::string& key : keys) ASSERT_TRUE(bloom->KeyMayMatch(key, built)) << key;
  int positives = 0;
  for (int i = 0; i < 10000; i++) {
    positives += bloom->KeyMayMatch("absent" + std::to_string(i), built) ? 1 : 0;
  }
  // (1 - e^(-7/10))^7 = 0.0082 of 10,000, and six standard deviations of 9 on each side.
  EXPECT_GT(positives, 28);
  EXPECT_LT(positives, 136);
}

TEST_F(LevelDbCompatCacheTest, ACacheIsSharedByDatabasesAndCountsTheirBlocks) {
  const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
  options_.block_cache = cache.get();
  Open();
  for (int i = 0; i < 1000; i++) Put("key" + std::to_string(i), std::string(100, 'v'));
  db_->CompactRange(nullptr, nullptr);
  for (int i = 0; i < 1000; i++) EXPECT_NE(Get("key" + std::to_string(i)), "NotFound");
  EXPECT_GT(cache->TotalCharge(), 0U);
  EXPECT_LE(cache->TotalCharge(), size_t{1} << 20);
  db_.reset();
}

TEST_F(LevelDbCompatCacheTest, AnEntryLivesWhileItsHandleIsHeld) {
  static std::string deleted;
  deleted.clear();
  const auto deleter = [](const Slice& key, void*) { deleted += key.ToString(); };
  std::unique_ptr<Cache> cache(NewLRUCache(2));
  int values[4];
  Cache::Handle* held = cache->Insert("a", &values[0], 1, deleter);
  cache->Release(cache->Insert("b", &values[1], 1, deleter));
  cache->Release(cache->Insert("c", &values[2], 1, deleter));
  EXPECT_EQ(deleted, "b");
  EXPECT_EQ(cache->Value(held), &values[0]);
  EXPECT_EQ(cache->TotalCharge(), 2U);
  cache->Erase("a");
  EXPECT_EQ(cache->Lookup("a"), nullptr);
  EXPECT_EQ(deleted, "b");
  cache->Release(held);
  EXPECT_EQ(deleted, "ba");
  cache->Prune();
  EXPECT_EQ(deleted, "bac");
  const uint64_t first_id = cache->NewId();
  EXPECT_LT(first_id, cache->NewId());
  cache->Release(cache->Insert("d", &values[3], 1, deleter));
  cache.reset();
  EXPECT_EQ(deleted, "bacd");
}

}  // namespace
}  // namespace leveldb
