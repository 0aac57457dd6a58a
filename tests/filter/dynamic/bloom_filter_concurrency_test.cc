// Adding from many threads at once: nothing is lost, and the result is the one that a single thread
// gets.

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kThreads = 8;

TEST(BloomFilterConcurrencyTest, ParallelAddsGiveTheFilterOfSequentialOnes) {
  constexpr uint64_t kKeysOfThread = 100'000;
  BloomFilter parallel = MakeFilter<BloomFilter>(kThreads * kKeysOfThread, 0.01);
  BloomFilter sequential = MakeFilter<BloomFilter>(kThreads * kKeysOfThread, 0.01);
  std::vector<std::thread> threads;
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&parallel, thread] {
      for (uint64_t i = 0; i < kKeysOfThread; ++i) parallel.AddHash(MemberHash(thread, i));
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint64_t thread = 0; thread < kThreads; ++thread) {
    for (uint64_t i = 0; i < kKeysOfThread; ++i) sequential.AddHash(MemberHash(thread, i));
  }
  EXPECT_EQ(parallel.Serialize(), sequential.Serialize());
}

// All threads set bits of the same few words.
TEST(BloomFilterConcurrencyTest, NoAddIsLostInATinyFilter) {
  for (int round = 0; round < 50; ++round) {
    BloomFilter filter = MakeFilter<BloomFilter>(64, 0.01);
    std::vector<std::thread> threads;
    std::atomic<bool> go = false;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&filter, &go, thread] {
        while (!go.load(std::memory_order_acquire)) {
        }
        for (uint64_t i = 0; i < 8; ++i) filter.AddHash(MemberHash(thread, i));
      });
    }
    go.store(true, std::memory_order_release);
    for (std::thread& thread : threads) thread.join();
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      ASSERT_EQ(CountContained(filter, MemberHashes(thread, 8)), 8u);
    }
  }
}

TEST(BloomFilterConcurrencyTest, ReadersSeeWhatWasPublished) {
  constexpr uint64_t kKeys = 50'000;
  BloomFilter filter = MakeFilter<BloomFilter>(kKeys, 0.01);
  std::atomic<uint64_t> published = 0;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kKeys; ++i) {
      filter.AddHash(MemberHash(1, i));
      published.store(i + 1, std::memory_order_release);
    }
  });
  uint64_t missing = 0;
  uint64_t checked = 0;
  while (checked < kKeys) {
    const uint64_t end = published.load(std::memory_order_acquire);
    for (; checked < end; ++checked) missing += filter.ContainsHash(MemberHash(1, checked)) ? 0 : 1;
  }
  writer.join();
  EXPECT_EQ(missing, 0u);
}

}  // namespace
}  // namespace winnow::filter
