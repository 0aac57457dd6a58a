#include "engine/base/range_tombstones.h"

#include <gtest/gtest.h>

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
        }
      }
    }
  }
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
