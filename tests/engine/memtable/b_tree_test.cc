// The memtable's B+-tree against a sorted set, alone and with many threads.
#include "engine/memtable/b_tree.h"

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
    list.Insert(key, PackTrailer(sequence, EntryType::kPut), value, [] {});
  }
  // The newest entry of the key that `snapshot` sees.
  const BTree::Entry* Find(std::string_view key, SequenceNumber snapshot) const {
    const BTree::Entry* node =
        list.FindGreaterOrEqual(key, PackTrailer(snapshot, kEntryTypeForSeek));
    return node != nullptr && UserKey(node->internal_key()) == key ? node : nullptr;
  }

  InternalKeyComparator comparator;
  Arena arena{1 << 16};
  BTree list;
};

TEST(BTree, AnEmptyListFindsNothing) {
  List list;
  EXPECT_EQ(list.list.First(), nullptr);
  EXPECT_EQ(list.list.Last(), nullptr);
  EXPECT_EQ(list.list.FindGreaterOrEqual("", UINT64_MAX), nullptr);
  EXPECT_EQ(list.list.FindLess("zzz", 0), nullptr);
}

// Of the i-th insertion.
using KeyMaker = std::string (*)(std::mt19937_64& random, uint64_t i);

// Few letters and lengths around eight bytes, where prefixes end.
std::string KeyOfFewLetters(std::mt19937_64& random, uint64_t /*i*/) {
  std::string bytes(random() % 12, 'a');
  for (char& c : bytes)
    c = "\x01"
        "ab\xff"[random() % 4];
  return bytes;
}

// Prefixes begin behind what keys share, which is another length in each part of the tree.
std::string KeyOfManyParts(std::mt19937_64& random, uint64_t /*i*/) {
  static constexpr const char* kSites[] = {"", "https://a.example/", "https://a.example/blog/2026/",
                                           "https://b.example/\xff\xff", "user:"};
  return absl::StrCat(kSites[random() % 5], absl::StrFormat("%06d", random() % 700),
                      random() % 3 == 0 ? "/index.html" : "");
}

// Each larger than those before but for a few.
std::string AlmostAscendingKey(std::mt19937_64& random, uint64_t i) {
  return absl::StrFormat("device-0017/%012d", random() % 8 == 0 ? random() % i : i);
}

void CheckAgainstSet(const Comparator* user, KeyMaker make_key, uint64_t seed) {
  SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
  List list(user);
  const auto less = [&](const std::string& a, const std::string& b) {
    return list.comparator.Compare(a, b) < 0;
  };
  std::set<std::string, decltype(less)> expected(less);
  std::mt19937_64 random(seed);
  for (uint64_t i = 1; i <= 3000; i++) {
    const std::string user_key = make_key(random, i);
    list.Insert(user_key, i, std::to_string(i));
    expected.insert(MakeInternalKey(user_key, i, EntryType::kPut));
    const std::string target =
        MakeInternalKey(make_key(random, i), random() % (i + 1), EntryType::kPut);
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
  const BTree::Entry* node = list.list.First();
  for (const std::string& entry : expected) {
    ASSERT_EQ(node->internal_key(), entry);
    ASSERT_EQ(node->value(), std::to_string(Sequence(entry)));
    node = BTree::Next(node);
  }
  ASSERT_EQ(node, nullptr);
}

TEST(BTree, AgreesWithASortedSet) {
  for (const uint64_t seed : Seeds(5)) {
    CheckAgainstSet(BytewiseComparator(), KeyOfFewLetters, seed);
    CheckAgainstSet(BytewiseComparator(), KeyOfManyParts, seed);
    CheckAgainstSet(BytewiseComparator(), AlmostAscendingKey, seed);
  }
}

TEST(BTree, AgreesWithASortedSetUnderAnotherOrder) {
  static const ReverseComparator reverse;
  for (const uint64_t seed : Seeds(2)) CheckAgainstSet(&reverse, KeyOfFewLetters, seed);
}

// Splits and first entries among them.
TEST(BTree, EachInsertionMakesItsCallOnceAndBeforeTheEntryIsThere) {
  List list;
  for (uint64_t i = 1; i <= 2000; i++) {
    const std::string key = absl::StrFormat("%08d", i * 7919 % 4001);
    int calls = 0;
    list.list.Insert(key, PackTrailer(i, EntryType::kPut), "", [&] {
      calls++;
      ASSERT_EQ(list.Find(key, i), nullptr);
    });
    ASSERT_EQ(calls, 1);
    ASSERT_NE(list.Find(key, i), nullptr);
  }
}

TEST(BTree, LargeValuesGetMemoryOfTheirOwn) {
  List list;
  const std::string large(100000, 'v');
  for (uint64_t i = 1; i <= 20; i++) list.Insert(std::to_string(i), i, large);
  for (uint64_t i = 1; i <= 20; i++) ASSERT_EQ(list.Find(std::to_string(i), i)->value(), large);
}

// What comes in order, as times and counters do, leaves full pages behind.
TEST(BTree, KeysInOrderTakeLessMemoryThanKeysInAnyOrder) {
  constexpr uint64_t kKeys = 10000;
  List in_order;
  List scattered;
  for (uint64_t i = 0; i < kKeys; i++) {
    in_order.Insert(absl::StrFormat("%08d", i), i + 1);
    scattered.Insert(absl::StrFormat("%08d", i * 7919 % kKeys), i + 1);
  }
  const size_t entries = kKeys * (sizeof(BTree::Entry) + 8 + kTrailerBytes);
  EXPECT_LT(in_order.arena.memory_bytes(), entries + kKeys * 21);
  EXPECT_LT(scattered.arena.memory_bytes(), entries + kKeys * 36);
}

// Between finding the last smaller entry and looking at what follows it, entries may come in: here
// each lies right before the one that is looked for.
TEST(BTree, WhatIsInsertedDuringASearchIsNotTakenForItsAnswer) {
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

// Threads insert neighbours of each other, so that the same pages and links change at once; a key
// whose insertion has ended is found by everyone from then on.
TEST(BTree, ConcurrentInsertionsOfNeighboursLoseNoKey) {
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
            const std::string newest = key(other, seen - 1);
            EXPECT_NE(list.Find(newest, kMaxSequenceNumber), nullptr);
            const BTree::Entry* before = list.list.FindLess(newest, 0);
            EXPECT_TRUE(before != nullptr && UserKey(before->internal_key()) == newest);
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
    for (const auto* node = list.list.First(); node != nullptr; node = BTree::Next(node)) {
      const auto* next = BTree::Next(node);
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
