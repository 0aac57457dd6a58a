#include "engine/base/range_tombstones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

struct Owned {
  std::string begin;
  std::string end;
  SequenceNumber sequence;
};

std::string AnyKey(std::mt19937_64& random, const std::string& prefix) {
  std::string key = prefix;
  for (size_t left = random() % 4; left > 0; left--) key += static_cast<char>('a' + random() % 3);
  return key;
}

std::vector<Owned> AnyTombstones(std::mt19937_64& random, const std::string& prefix,
                                 const InternalKeyComparator& comparator) {
  std::vector<Owned> tombstones;
  for (size_t left = 1 + random() % 30; tombstones.size() < left;) {
    Owned tombstone{AnyKey(random, prefix), AnyKey(random, prefix), 1 + random() % 100};
    if (comparator.CompareUserKeys(tombstone.begin, tombstone.end) < 0) {
      tombstones.push_back(tombstone);
    }
  }
  return tombstones;
}

std::vector<RangeTombstone> Views(const std::vector<Owned>& tombstones) {
  std::vector<RangeTombstone> views;
  for (const Owned& owned : tombstones) views.push_back({owned.begin, owned.end, owned.sequence});
  return views;
}

SequenceNumber Newest(const std::vector<Owned>& tombstones, const InternalKeyComparator& comparator,
                      const std::string& key, SequenceNumber snapshot) {
  SequenceNumber newest = 0;
  for (const Owned& tombstone : tombstones) {
    if (tombstone.sequence <= snapshot && comparator.CompareUserKeys(tombstone.begin, key) <= 0 &&
        comparator.CompareUserKeys(key, tombstone.end) < 0) {
      newest = std::max(newest, tombstone.sequence);
    }
  }
  return newest;
}

TEST(RangeTombstonesTest, AnswersAsALookAtAllOfThem) {
  static const ReverseComparator reverse;
  for (const Comparator* order : {BytewiseComparator(), static_cast<const Comparator*>(&reverse)}) {
    const InternalKeyComparator comparator(order);
    std::mt19937_64 random(1);
    for (const std::string prefix : {"", "p", "a long shared prefix/", "12345678"}) {
      for (int round = 0; round < 100; round++) {
        const std::vector<Owned> tombstones = AnyTombstones(random, prefix, comparator);
        const RangeTombstoneIndex index(comparator, Views(tombstones));
        const RangeTombstoneIndex* const run[] = {&index};
        for (int probe = 0; probe < 50; probe++) {
          const std::string key = AnyKey(random, probe % 10 == 0 ? "" : prefix);
          const SequenceNumber snapshot = random() % 110;
          const SequenceNumber expected = Newest(tombstones, comparator, key, snapshot);
          ASSERT_EQ(index.NewestCovering(key, snapshot), expected) << key;
          RangeTombstoneCursor cursor(run, snapshot);
          (void)cursor.Find(AnyKey(random, prefix));
          ASSERT_EQ(cursor.Find(key), expected) << key;
          if (expected == 0) continue;
          const std::string from(cursor.CoveredFrom());
          const std::string to(cursor.CoveredUpTo());
          ASSERT_LE(comparator.CompareUserKeys(from, key), 0);
          ASSERT_GT(comparator.CompareUserKeys(to, key), 0);
          ASSERT_NE(Newest(tombstones, comparator, from, snapshot), 0u);
          ASSERT_EQ(Newest(tombstones, comparator, to, snapshot), 0u);
          // Fragment by fragment, no gap between them and nothing left out.
          size_t first = index.NumBoundsUpTo(key) - 1;
          size_t end = first + 1;
          while (first > 0 && index.NewestIn(first - 1, snapshot) != 0) first--;
          while (end < index.num_fragments() && index.NewestIn(end, snapshot) != 0) end++;
          ASSERT_EQ(from, index.bound(first));
          ASSERT_EQ(to, index.bound(end));
        }
      }
    }
  }
}

// What it takes to find the ends of what so many tombstones cover that adjoin each other: the
// fastest of some tries. Each fragment was once walked over.
double SecondsToFindEnds(int num_tombstones) {
  std::vector<Owned> tombstones;
  for (int i = 0; i < num_tombstones; i++) {
    tombstones.push_back({std::to_string(1'000'000 + i), std::to_string(1'000'001 + i),
                          static_cast<SequenceNumber>(i + 1)});
  }
  const RangeTombstoneIndex index(InternalKeyComparator(BytewiseComparator()), Views(tombstones));
  const RangeTombstoneIndex* const run[] = {&index};
  double fastest = 1e9;
  for (int tries = 0; tries < 3; tries++) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < 1000; i++) {
      RangeTombstoneCursor cursor(run, kMaxSequenceNumber);
      const std::string key = std::to_string(1'000'000 + i * int64_t{num_tombstones} / 1000);
      EXPECT_NE(cursor.Find(key), 0u);
      EXPECT_EQ(cursor.CoveredFrom(), "1000000");
      EXPECT_EQ(cursor.CoveredUpTo(), index.last_bound());
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    fastest = std::min(fastest, taken.count());
  }
  return fastest;
}

TEST(RangeTombstonesTest, TheEndsOfManyThatAdjoinAreFoundByHalves) {
  EXPECT_LT(SecondsToFindEnds(200'000), 30 * SecondsToFindEnds(1000));
}

TEST(RangeTombstonesTest, NestedOnesTakeLittleMemory) {
  constexpr int kCount = 20000;
  std::vector<Owned> tombstones;
  for (int i = 0; i < kCount; i++) {
    tombstones.push_back({std::to_string(100000 + i), std::to_string(200000 - i),
                          static_cast<SequenceNumber>(i + 1)});
  }
  const InternalKeyComparator comparator(BytewiseComparator());
  const RangeTombstoneIndex index(comparator, Views(tombstones));
  EXPECT_EQ(index.num_fragments(), 2 * kCount - 1u);
  EXPECT_LT(index.memory_bytes(), size_t{kCount} * 500);
  EXPECT_EQ(index.NewestCovering("150000", kMaxSequenceNumber), static_cast<uint64_t>(kCount));
  EXPECT_EQ(index.NewestCovering("150000", 77), 77u);
  EXPECT_EQ(index.NewestCovering("100005", 77), 6u);
}

}  // namespace
}  // namespace winnow
