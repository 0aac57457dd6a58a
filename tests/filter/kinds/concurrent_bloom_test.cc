#include "winnow/filter/concurrent_bloom.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "tests/filter/filter_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

TEST(ConcurrentBloomTest, SizesAreRoundedUpToWholeBlocks) {
  EXPECT_EQ(ConcurrentBlockedBloom(0).memory_bytes(), 64u);
  EXPECT_EQ(ConcurrentBlockedBloom(1).memory_bytes(), 64u);
  EXPECT_EQ(ConcurrentBlockedBloom(64).memory_bytes(), 64u);
  EXPECT_EQ(ConcurrentBlockedBloom(65).memory_bytes(), 128u);
  EXPECT_EQ(ConcurrentBlockedBloom(64, 0).probes(), 1);
  EXPECT_EQ(ConcurrentBlockedBloom(64, 1000).probes(), internal::kMaxBlockProbes);
}

TEST(ConcurrentBloomTest, KeepsEveryKeyAndTheRateOfTheory) {
  constexpr uint64_t kKeys = 100'000;
  ConcurrentBlockedBloom bloom(kKeys * 10 / 8);
  for (uint64_t i = 0; i < kKeys; ++i) {
    bloom.Prefetch(MemberHash(1, i));
    bloom.Add(MemberHash(1, i));
    bloom.Add(MemberHash(1, i));  // twice changes nothing
  }
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_TRUE(bloom.MayContain(MemberHash(1, i)));
  constexpr uint64_t kProbes = 1'000'000;
  uint64_t found = 0;
  for (uint64_t i = 0; i < kProbes; ++i) found += bloom.MayContain(AbsentHash(1, i)) ? 1 : 0;
  const double expected = BlockedBloomFpr(bloom.memory_bytes() / 64, kKeys, bloom.probes());
  const double rate = static_cast<double>(found) / kProbes;
  // Sampling, and as much again for the chance of this one filter's block loads.
  EXPECT_NEAR(rate, expected, 2 * 3.29 * std::sqrt(expected / kProbes));
}

TEST(ConcurrentBloomTest, AnEmptyOneRefutesEverything) {
  const ConcurrentBlockedBloom bloom(1000);
  for (uint64_t i = 0; i < 1000; ++i) ASSERT_FALSE(bloom.MayContain(AbsentHash(2, i)));
}

// One block only, so that all threads write the same eight words.
TEST(ConcurrentBloomTest, NoAddIsLostToAnotherThread) {
  for (const size_t bytes : {size_t{64}, size_t{64 << 10}}) {
    ConcurrentBlockedBloom bloom(bytes);
    constexpr uint64_t kThreads = 4;
    constexpr uint64_t kKeysOfThread = 10'000;
    std::atomic<uint64_t> missing{0};
    std::vector<std::thread> threads;
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&bloom, &missing, thread] {
        for (uint64_t i = 0; i < kKeysOfThread; ++i) {
          bloom.Add(MemberHash(thread, i));
          if (!bloom.MayContain(MemberHash(thread, i))) ++missing;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(missing, 0u);
    for (uint64_t thread = 0; thread < kThreads; ++thread) {
      for (uint64_t i = 0; i < kKeysOfThread; ++i) {
        ASSERT_TRUE(bloom.MayContain(MemberHash(thread, i)));
      }
    }
  }
}

// The promise that the memtable stands on: what was added before a release store is found after
// the acquire load that sees it.
TEST(ConcurrentBloomTest, WhatIsPublishedIsFound) {
  ConcurrentBlockedBloom bloom(64 << 10);
  std::atomic<uint64_t> published{0};
  constexpr uint64_t kKeys = 50'000;
  std::thread writer([&bloom, &published] {
    for (uint64_t i = 0; i < kKeys; ++i) {
      bloom.Add(MemberHash(3, i));
      published.store(i + 1, std::memory_order_release);
    }
  });
  uint64_t missing = 0;
  for (uint64_t seen = 0; seen < kKeys;) {
    seen = published.load(std::memory_order_acquire);
    if (seen != 0 && !bloom.MayContain(MemberHash(3, seen - 1))) ++missing;
  }
  writer.join();
  EXPECT_EQ(missing, 0u);
}

}  // namespace
}  // namespace winnow::filter
