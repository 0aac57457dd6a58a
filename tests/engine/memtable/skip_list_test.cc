// The memtable's skip list against a sorted set, alone and with many threads.
#include "engine/memtable/skip_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

struct List {
  explicit List(const Comparator* user = BytewiseComparator())
      : comparator(user), list(comparator, &arena) {}

  void Insert(std::string_view key, SequenceNumber sequence, std::string_view value = "") {
    list.Insert(key, PackTrailer(sequence, EntryType::kPut), value);
  }
  // The newest entry of the key that `snapshot` sees.
  const SkipList::Node* Find(std::string_view key, SequenceNumber snapshot) const {
    const SkipList::Node* node =
        list.FindGreaterOrEqual(key, PackTrailer(snapshot, kEntryTypeForSeek));
    return node != nullptr && UserKey(node->internal_key()) == key ? node : nullptr;
  }

  InternalKeyComparator comparator;
  Arena arena{1 << 16};
  SkipList list;
};

TEST(SkipList, AnEmptyListFindsNothing) {
  List list;
  EXPECT_EQ(list.list.First(), nullptr);
  EXPECT_EQ(list.list.Last(), nullptr);
  EXPECT_EQ(list.list.FindGreaterOrEqual("", UINT64_MAX), nullptr);
  EXPECT_EQ(list.list.FindLess("zzz", 0), nullptr);
}

void CheckAgainstSet(const Comparator* user, uint64_t seed) {
  SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
  List list(user);
  const auto less = [&](const std::string& a, const std::string& b) {
    return list.comparator.Compare(a, b) < 0;
  };
  std::set<std::string, decltype(less)> expected(less);
  std::mt19937_64 random(seed);
  // Few letters and lengths around eight bytes, where the links' prefixes end.
  const auto key = [&] {
    std::string bytes(random() % 12, 'a');
    for (char& c : bytes)
      c = "\x01"
          "ab\xff"[random() % 4];
    return bytes;
  };
  for (uint64_t i = 1; i <= 3000; i++) {
    const std::string user_key = key();
    list.Insert(user_key, i, std::to_string(i));
    expected.insert(MakeInternalKey(user_key, i, EntryType::kPut));
    const std::string target = MakeInternalKey(key(), random() % (i + 1), EntryType::kPut);
    const auto after = expected.lower_bound(target);
    const auto* found = list.list.FindGreaterOrEqual(UserKey(target), Trailer(target));
    ASSERT_EQ(found == nullptr, after == expected.end());
    if (found != nullptr) {
      ASSERT_EQ(found->internal_key(), *after);
    }
    const auto* before = list.list.FindLess(UserKey(target), Trailer(target));
    ASSERT_EQ(before == nullptr, after == expected.begin());
    if (before != nullptr) {
      ASSERT_EQ(before->internal_key(), *std::prev(after));
    }
  }
  ASSERT_EQ(list.list.First()->internal_key(), *expected.begin());
  ASSERT_EQ(list.list.Last()->internal_key(), *expected.rbegin());
  const SkipList::Node* node = list.list.First();
  for (const std::string& entry : expected) {
    ASSERT_EQ(node->internal_key(), entry);
    ASSERT_EQ(node->value(), std::to_string(Sequence(entry)));
    node = SkipList::Next(node);
  }
  ASSERT_EQ(node, nullptr);
}

TEST(SkipList, AgreesWithASortedSet) {
  for (const uint64_t seed : Seeds(5)) CheckAgainstSet(BytewiseComparator(), seed);
}

TEST(SkipList, AgreesWithASortedSetUnderAnotherOrder) {
  static const ReverseComparator reverse;
  for (const uint64_t seed : Seeds(2)) CheckAgainstSet(&reverse, seed);
}

TEST(SkipList, LargeValuesGetMemoryOfTheirOwn) {
  List list;
  const std::string large(100000, 'v');
  for (uint64_t i = 1; i <= 20; i++) list.Insert(std::to_string(i), i, large);
  for (uint64_t i = 1; i <= 20; i++) ASSERT_EQ(list.Find(std::to_string(i), i)->value(), large);
}

// Between finding the last smaller entry and looking at what follows it, entries may come in: here
// each lies right before the one that is looked for.
TEST(SkipList, WhatIsInsertedDuringASearchIsNotTakenForItsAnswer) {
  constexpr int kInsertions = 300000;
  List list;
  list.Insert("b", 1, "wanted");
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; i < kInsertions; i++) list.Insert(absl::StrFormat("a%06d", i), 2);
    stop.store(true);
  });
  bool found = true;
  while (!stop.load() && found) found = list.Find("b", 1) != nullptr;
  EXPECT_TRUE(found);
  writer.join();
}

// Threads insert neighbours of each other, so that links of the same node change at once; a key
// whose insertion has ended is found by everyone from then on.
TEST(SkipList, ConcurrentInsertionsOfNeighboursLoseNoKey) {
  constexpr int kThreads = 4;
  const int rounds = LongTests() ? 200 : 10;
  constexpr int kKeys = 1500;  // of each thread
  for (int round = 0; round < rounds; round++) {
    List list;
    std::atomic<int> started{0};
    std::vector<std::atomic<int>> inserted(kThreads);
    // Ascending and descending runs; every fourth round all keys share their first eight bytes.
    const auto key = [&](int thread, int i) {
      const int place = i % 2 == 0 ? i : 2 * kKeys - i;
      return absl::StrCat(round % 4 == 0 ? "shared-prefix-" : "",
                          absl::StrFormat("%06d", place * kThreads + thread));
    };
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&, thread] {
        started.fetch_add(1);
        while (started.load() < kThreads) std::this_thread::yield();
        for (int i = 0; i < kKeys; i++) {
          list.Insert(key(thread, i), static_cast<uint64_t>(i + 1));
          inserted[static_cast<size_t>(thread)].store(i + 1, std::memory_order_release);
          // Another thread's newest key is there, and stays findable.
          const int other = (thread + 1) % kThreads;
          const int seen = inserted[static_cast<size_t>(other)].load(std::memory_order_acquire);
          if (seen > 0) {
            EXPECT_NE(list.Find(key(other, seen - 1), kMaxSequenceNumber), nullptr);
          }
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (int thread = 0; thread < kThreads; thread++) {
      for (int i = 0; i < kKeys; i++) {
        ASSERT_NE(list.Find(key(thread, i), kMaxSequenceNumber), nullptr) << key(thread, i);
      }
    }
    int count = 0;
    for (const auto* node = list.list.First(); node != nullptr; node = SkipList::Next(node)) {
      const auto* next = SkipList::Next(node);
      if (next != nullptr) {
        ASSERT_LT(list.comparator.Compare(node->internal_key(), next->internal_key()), 0);
      }
      count++;
    }
    ASSERT_EQ(count, kThreads * kKeys);
  }
}

}  // namespace
}  // namespace winnow
