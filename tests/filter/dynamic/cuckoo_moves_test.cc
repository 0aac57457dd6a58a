// Where the cuckoo filter puts and moves fingerprints, seen in its saved bytes; and the loads that
// cuckoo hashing reaches with buckets of one, two, four and eight, on which its size rests.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>
#include <vector>

#include "filter/dynamic/saved_format.h"
#include "tests/filter/dynamic/application_filters.h"
#include "winnow/filter/cuckoo_filter.h"

namespace winnow::filter {
namespace {

// The numbers of used slots of the buckets.
std::vector<int> UsedSlots(const CuckooFilter& filter) {
  const std::string bytes = filter.Serialize();
  const std::string_view payload = internal::ParseSavedFilter(bytes)->payload;
  const auto width = static_cast<uint64_t>(filter.fingerprint_bits());
  std::vector<int> used(filter.num_buckets(), 0);
  for (uint64_t slot = 0; slot < used.size() * CuckooFilter::kSlotsPerBucket; ++slot) {
    bool is_used = false;
    for (uint64_t bit = slot * width; bit < (slot + 1) * width; ++bit) {
      is_used |= (static_cast<uint8_t>(payload[bit / 8]) >> bit % 8 & 1) != 0;
    }
    used[slot / CuckooFilter::kSlotsPerBucket] += is_used ? 1 : 0;
  }
  return used;
}

CuckooFilter EightBuckets() {
  for (uint64_t capacity = 1;; ++capacity) {
    CuckooFilter filter = MakeFilter<CuckooFilter>(capacity, 1e-6);
    if (filter.num_buckets() == 8) return filter;
  }
}

uint64_t FullestBucket(const std::vector<int>& used) {
  return static_cast<uint64_t>(std::max_element(used.begin(), used.end()) - used.begin());
}

// The bucket that the key goes to first, and the one where its copies go when that is full.
std::pair<uint64_t, uint64_t> BucketsOf(uint64_t hash) {
  CuckooFilter filter = EightBuckets();
  EXPECT_TRUE(filter.AddHash(hash).ok());
  const uint64_t first = FullestBucket(UsedSlots(filter));
  for (int copy = 1; copy < 4; ++copy) EXPECT_TRUE(filter.AddHash(hash).ok());
  // The fifth copy is refused where both buckets are one.
  if (!filter.AddHash(hash).ok()) return {first, first};
  std::vector<int> used = UsedSlots(filter);
  used[first] = 0;
  return {first, FullestBucket(used)};
}

TEST(CuckooMovesTest, AKeyGoesToOneOfItsTwoBuckets) {
  uint64_t num_two_and_six = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    const uint64_t hash = MemberHash(1, i);
    const auto [first, second] = BucketsOf(hash);
    if (first == second) continue;  // one key in eight, on average
    num_two_and_six += first == 2 && second == 6 ? 1 : 0;
    CuckooFilter filter = EightBuckets();
    for (int copy = 1; copy <= 8; ++copy) {
      ASSERT_TRUE(filter.AddHash(hash).ok());
      const std::vector<int> used = UsedSlots(filter);
      ASSERT_EQ(used[first], std::min(copy, 4));
      ASSERT_EQ(used[second], std::max(copy - 4, 0));
    }
    // Both are full of this very key: no chain of moves could make room.
    ASSERT_FALSE(filter.AddHash(hash).ok());
    ASSERT_EQ(filter.ApproximateCount(), 8u);
  }
  EXPECT_GT(num_two_and_six, 0u);
}

// The other bucket of the other bucket is the first again: a key that was moved, from either of its
// buckets, is still found, and is taken out again.
TEST(CuckooMovesTest, MovedKeysAreInTheirOtherBucket) {
  uint64_t num_moving = 0;
  for (uint64_t run = 0; run < 400; ++run) {
    CuckooFilter filter = EightBuckets();
    std::vector<uint64_t> keys;
    for (uint64_t i = 0; keys.size() < 26; ++i) {
      const std::vector<int> before = UsedSlots(filter);
      if (!filter.AddHash(MemberHash(run, i)).ok()) break;  // so few buckets fill up by chance
      keys.push_back(MemberHash(run, i));
      const std::vector<int> after = UsedSlots(filter);
      int num_grown = 0;
      for (uint64_t bucket = 0; bucket < 8; ++bucket) {
        ASSERT_GE(after[bucket], before[bucket]) << "a move empties no bucket";
        num_grown += after[bucket] - before[bucket];
      }
      ASSERT_LE(num_grown, 1);
      const auto [first, second] = BucketsOf(keys.back());
      const bool needs_moves = before[first] == 4 && before[second] == 4;
      if (needs_moves && num_grown == 1) ++num_moving;
      if (!needs_moves) {
        ASSERT_EQ(after[first] + after[second],
                  before[first] + before[second] + (first == second ? 2 : 1));
      }
      ASSERT_EQ(CountContained(filter, keys), keys.size());
    }
    for (const uint64_t key : keys) ASSERT_TRUE(filter.RemoveHash(key));
    ASSERT_EQ(UsedSlots(filter), std::vector<int>(8, 0));
  }
  EXPECT_GT(num_moving, 100u);
}

// Cuckoo hashing of whole keys with two buckets each (Pagh and Rodler, 2001; Fan et al., 2014,
// table 2), which grows when a chain of moves gets too long.
class CuckooHashSet {
 public:
  CuckooHashSet(uint64_t num_buckets, uint64_t slots_per_bucket)
      : slots_per_bucket_(slots_per_bucket), slots_(num_buckets * slots_per_bucket, 0) {}

  // False, with the key that was left over in `*key`, after 500 moves.
  bool Insert(uint64_t* key) {
    uint64_t bucket = BucketOf(*key, 0);
    if (Place(bucket, *key) || Place(bucket = BucketOf(*key, 1), *key)) return true;
    for (int move = 0; move < 500; ++move) {
      std::swap(*key, slots_[bucket * slots_per_bucket_ + random_() % slots_per_bucket_]);
      bucket = bucket == BucketOf(*key, 0) ? BucketOf(*key, 1) : BucketOf(*key, 0);
      if (Place(bucket, *key)) return true;
    }
    return false;
  }

  void InsertAndGrow(uint64_t key) {
    while (!Insert(&key)) {
      CuckooHashSet larger(slots_.size() / slots_per_bucket_ * 2, slots_per_bucket_);
      for (const uint64_t kept : slots_) {
        if (kept != 0) larger.InsertAndGrow(kept);
      }
      *this = std::move(larger);
    }
  }

  bool Contains(uint64_t key) const {
    for (const int which : {0, 1}) {
      const uint64_t* const slots = &slots_[BucketOf(key, which) * slots_per_bucket_];
      if (std::find(slots, slots + slots_per_bucket_, key) != slots + slots_per_bucket_)
        return true;
    }
    return false;
  }
  uint64_t num_slots() const { return slots_.size(); }

 private:
  uint64_t BucketOf(uint64_t key, int which) const {
    return internal::MultiplyHigh(which == 0 ? key : Scramble(key),
                                  slots_.size() / slots_per_bucket_);
  }
  bool Place(uint64_t bucket, uint64_t key) {
    const auto begin = slots_.begin() + static_cast<std::ptrdiff_t>(bucket * slots_per_bucket_);
    const auto end = begin + static_cast<std::ptrdiff_t>(slots_per_bucket_);
    const auto place = std::find(begin, end, uint64_t{0});
    if (place == end) return false;
    *place = key;
    return true;
  }

  uint64_t slots_per_bucket_;
  std::vector<uint64_t> slots_;
  std::mt19937_64 random_{1};
};

TEST(CuckooHashingTest, LoadsAreThoseOfTheLiterature) {
  for (const auto& [slots_per_bucket, least_load] :
       {std::pair<uint64_t, double>{1, 0.49}, {2, 0.83}, {4, 0.95}, {8, 0.98}}) {
    CuckooHashSet set(400'000 / slots_per_bucket, slots_per_bucket);
    uint64_t num_keys = 0;
    for (uint64_t key = MemberHash(1, 0); set.Insert(&key); key = MemberHash(1, num_keys)) {
      ++num_keys;
    }
    const double load = static_cast<double>(num_keys) / static_cast<double>(set.num_slots());
    // 500 moves end just short of the limit that the literature gives.
    EXPECT_GT(load, least_load - 0.012) << slots_per_bucket << " slots";
    EXPECT_LT(load, slots_per_bucket == 1 ? 0.56 : 1.0) << slots_per_bucket << " slots";
  }
}

TEST(CuckooHashingTest, GrowingKeepsAllKeys) {
  for (const uint64_t slots_per_bucket : {1u, 2u, 4u}) {
    CuckooHashSet set(2, slots_per_bucket);
    for (uint64_t i = 0; i < 20'000; ++i) set.InsertAndGrow(MemberHash(2, i));
    for (uint64_t i = 0; i < 20'000; ++i) ASSERT_TRUE(set.Contains(MemberHash(2, i)));
    EXPECT_FALSE(set.Contains(AbsentHash(2, 0)));
  }
}

}  // namespace
}  // namespace winnow::filter
