// The block cache: what it keeps, what it lets go, and that many threads agree.
#include "engine/cache/block_cache.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <fstream>
#include <latch>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/status.h"

namespace winnow {
namespace {

constexpr size_t kBlockBytes = 4000;
using Priority = ShardedBlockCache::Priority;

// A block whose bytes say which key it belongs to.
BlockRef MakeBlock(const BlockKey& key, size_t bytes = kBlockBytes) {
  BlockRef block = CachedBlock::Allocate(bytes);
  const uint64_t mark = key.table_id * 1000003 + key.offset;
  for (size_t at = 0; at + sizeof(mark) <= bytes; at += sizeof(mark)) {
    std::memcpy(block.mutable_block()->mutable_data() + at, &mark, sizeof(mark));
  }
  return block;
}

bool IsBlockOf(const BlockRef& block, const BlockKey& key) {
  const BlockRef expected = MakeBlock(key, block->size());
  return block.contents() == expected.contents();
}

// Looks a block up as a reader does, and counts as it does.
absl::StatusOr<BlockRef> LookupOrLoad(ShardedBlockCache& cache, const BlockKey& key,
                                      absl::FunctionRef<absl::StatusOr<BlockRef>()> load,
                                      Priority priority, ReadCounters* counters) {
  if (BlockRef block = cache.Lookup(key)) {
    if (counters != nullptr) counters->block_cache_hits.Increment();
    return block;
  }
  if (counters != nullptr) counters->block_cache_misses.Increment();
  return cache.Load(key, load, priority, counters);
}

// The same; true if it was there.
bool Touch(ShardedBlockCache& cache, const BlockKey& key, size_t bytes = kBlockBytes) {
  bool loaded = false;
  const auto block = LookupOrLoad(
      cache, key,
      [&]() -> absl::StatusOr<BlockRef> {
        loaded = true;
        return MakeBlock(key, bytes);
      },
      Priority::kProbation, nullptr);
  EXPECT_TRUE(block.ok() && IsBlockOf(*block, key));
  return !loaded;
}

size_t CapacityOfBlocks(size_t blocks) { return blocks * MakeBlock({1, 1})->charge(); }

TEST(BlockCache, FindsWhatWasInsertedAndNothingElse) {
  ShardedBlockCache cache(CapacityOfBlocks(100), 0);
  for (uint64_t i = 1; i <= 50; i++) EXPECT_FALSE(Touch(cache, {i, i * 4096}));
  for (uint64_t i = 1; i <= 50; i++) {
    EXPECT_TRUE(Touch(cache, {i, i * 4096}));
    EXPECT_FALSE(cache.Lookup({i, i * 4096 + 1}));
    EXPECT_FALSE(cache.Lookup({i + 50, i * 4096}));
  }
  EXPECT_EQ(cache.usage_bytes(), CapacityOfBlocks(50));
  EXPECT_EQ(cache.pinned_bytes(), 0u);
}

TEST(BlockCache, UsageStaysBelowCapacity) {
  for (const int shard_bits : {0, 2}) {
    ShardedBlockCache cache(CapacityOfBlocks(64), shard_bits);
    for (uint64_t i = 0; i < 1000; i++) {
      Touch(cache, {1, i});
      EXPECT_LE(cache.usage_bytes(), cache.capacity_bytes());
    }
    EXPECT_GT(cache.usage_bytes(), cache.capacity_bytes() / 2);
  }
}

TEST(BlockCache, HotSetSurvivesAScanOfTenTimesTheCache) {
  constexpr uint64_t kHotBlocks = 500;
  ShardedBlockCache cache(CapacityOfBlocks(1000), 0);
  for (int round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < kHotBlocks; i++) Touch(cache, {1, i});
  }
  for (uint64_t i = 0; i < 10000; i++) EXPECT_FALSE(Touch(cache, {2, i}));
  size_t survivors = 0;
  for (uint64_t i = 0; i < kHotBlocks; i++) survivors += cache.Lookup({1, i}) ? 1 : 0;
  EXPECT_GE(survivors, kHotBlocks * 95 / 100);
}

// Blocks so small that they fill the slots and not a tenth of the bytes.
TEST(BlockCache, AHotSetOfTinyBlocksSurvivesAScan) {
  constexpr uint64_t kHotBlocks = 150;
  constexpr size_t kTiny = 16;
  ShardedBlockCache cache(size_t{1} << 20, 0);
  for (int round = 0; round < 3; round++) {
    for (uint64_t i = 0; i < kHotBlocks; i++) Touch(cache, {1, i}, kTiny);
  }
  for (uint64_t i = 0; i < 5000; i++) EXPECT_FALSE(Touch(cache, {2, i}, kTiny));
  EXPECT_LT(cache.usage_bytes(), cache.capacity_bytes() / 10);
  size_t survivors = 0;
  for (uint64_t i = 0; i < kHotBlocks; i++) survivors += cache.Lookup({1, i}) ? 1 : 0;
  EXPECT_GE(survivors, kHotBlocks * 95 / 100);
}

TEST(BlockCache, ANewHotSetTakesOver) {
  ShardedBlockCache cache(CapacityOfBlocks(200), 0);
  for (int round = 0; round < 5; round++) {
    for (uint64_t i = 0; i < 150; i++) Touch(cache, {1, i});
  }
  for (int round = 0; round < 20; round++) {
    for (uint64_t i = 0; i < 150; i++) Touch(cache, {2, i});
  }
  size_t hits = 0;
  for (uint64_t i = 0; i < 150; i++) hits += Touch(cache, {2, i}) ? 1 : 0;
  EXPECT_GE(hits, 140u);
}

TEST(BlockCache, SkewedUseHitsMoreOftenThanPureChance) {
  // Zipf-like: block i is asked for with weight 1/(i+1), 5,000 blocks, room for a tenth.
  ShardedBlockCache cache(CapacityOfBlocks(500), 0);
  std::vector<double> weights(5000);
  for (size_t i = 0; i < weights.size(); i++) weights[i] = 1.0 / static_cast<double>(i + 1);
  std::discrete_distribution<uint64_t> zipf(weights.begin(), weights.end());
  std::mt19937_64 random(3);
  size_t hits = 0;
  for (int i = 0; i < 20000; i++) Touch(cache, {1, zipf(random)});
  for (int i = 0; i < 20000; i++) hits += Touch(cache, {1, zipf(random)}) ? 1 : 0;
  // The 500 most likely blocks carry 74.7 % of the weight; exact LRU reaches about 65 %.
  EXPECT_GT(hits, 20000 * 0.66);
}

TEST(BlockCache, PinnedBlocksAreNeverFreedOrChanged) {
  ShardedBlockCache cache(CapacityOfBlocks(20), 0);
  std::vector<BlockRef> pinned;
  for (uint64_t i = 0; i < 10; i++) {
    pinned.push_back(cache.Insert({1, i}, MakeBlock({1, i}), Priority::kProbation));
  }
  EXPECT_EQ(cache.pinned_bytes(), CapacityOfBlocks(10));
  for (uint64_t i = 0; i < 1000; i++) Touch(cache, {2, i});
  for (uint64_t i = 0; i < 10; i++) {
    EXPECT_TRUE(IsBlockOf(pinned[i], {1, i}));
    EXPECT_TRUE(cache.Lookup({1, i}));
  }
  pinned.clear();
  EXPECT_EQ(cache.pinned_bytes(), 0u);
}

TEST(BlockCache, AllPinnedMeansTheReaderOwnsItsBlockAlone) {
  ShardedBlockCache cache(CapacityOfBlocks(4), 0);
  std::vector<BlockRef> pinned;
  for (uint64_t i = 0; i < 20; i++) {
    pinned.push_back(cache.Insert({1, i}, MakeBlock({1, i}), Priority::kProbation));
    EXPECT_TRUE(IsBlockOf(pinned.back(), {1, i}));
    EXPECT_EQ(pinned.back().cached(), i < 4);
  }
  EXPECT_LE(cache.usage_bytes(), cache.capacity_bytes());
}

TEST(BlockCache, CapacityZeroKeepsNothing) {
  ShardedBlockCache cache(0, 3);
  EXPECT_FALSE(Touch(cache, {1, 1}));
  EXPECT_FALSE(Touch(cache, {1, 1}));
  EXPECT_EQ(cache.usage_bytes(), 0u);
  cache.Erase({1, 1});
}

TEST(BlockCache, BlockLargerThanTheCacheIsNotKept) {
  ShardedBlockCache cache(10000, 0);
  const BlockRef block = cache.Insert({1, 1}, MakeBlock({1, 1}, 20000), Priority::kProtected);
  EXPECT_TRUE(IsBlockOf(block, {1, 1}));
  EXPECT_FALSE(cache.Lookup({1, 1}));
}

TEST(BlockCache, ManySmallBlocksAreBoundedByTheTable) {
  ShardedBlockCache cache(size_t{1} << 20, 0);
  for (uint64_t i = 0; i < 20000; i++) {
    const BlockRef block = cache.Insert({1, i}, MakeBlock({1, i}, 8), Priority::kProbation);
    ASSERT_TRUE(IsBlockOf(block, {1, i}));
  }
  size_t present = 0;
  for (uint64_t i = 0; i < 20000; i++) {
    if (const BlockRef block = cache.Lookup({1, i})) {
      EXPECT_TRUE(IsBlockOf(block, {1, i}));
      present++;
    }
  }
  EXPECT_GT(present, 100u);
}

TEST(BlockCache, ErasedBlocksAreGone) {
  ShardedBlockCache cache(CapacityOfBlocks(100), 1);
  for (uint64_t i = 0; i < 40; i++) Touch(cache, {1, i});
  const BlockRef pinned = cache.Lookup({1, 7});
  for (uint64_t i = 0; i < 20; i++) cache.Erase({1, i});
  for (uint64_t i = 0; i < 40; i++) EXPECT_EQ(bool{cache.Lookup({1, i})}, i >= 20 || i == 7);
  EXPECT_TRUE(IsBlockOf(pinned, {1, 7}));
  EXPECT_EQ(cache.usage_bytes(), CapacityOfBlocks(21));
}

TEST(BlockCache, InsertingTwiceKeepsTheFirst) {
  ShardedBlockCache cache(CapacityOfBlocks(10), 0);
  const BlockRef first = cache.Insert({1, 1}, MakeBlock({1, 1}), Priority::kProbation);
  const BlockRef second = cache.Insert({1, 1}, MakeBlock({1, 1}), Priority::kProbation);
  EXPECT_EQ(first.get(), second.get());
  EXPECT_EQ(cache.usage_bytes(), CapacityOfBlocks(1));
}

TEST(BlockCache, FailedLoadReachesTheCallerAndIsForgotten) {
  for (const size_t capacity : {size_t{0}, CapacityOfBlocks(10)}) {
    ShardedBlockCache cache(capacity, 0);
    ReadCounters counters;
    const auto failed = LookupOrLoad(
        cache, {1, 1}, []() -> absl::StatusOr<BlockRef> { return absl::UnavailableError("disk"); },
        Priority::kProbation, &counters);
    EXPECT_TRUE(absl::IsUnavailable(failed.status()));
    EXPECT_EQ(counters.block_cache_misses.value(), 1u);
    EXPECT_FALSE(Touch(cache, {1, 1}));
  }
}

TEST(BlockCache, OneThreadLoadsWhileTheOthersWait) {
  constexpr int kThreads = 8;
  for (const bool fails : {false, true}) {
    ShardedBlockCache cache(CapacityOfBlocks(100), 0);
    std::atomic<int> loads{0};
    ReadCounters counters[kThreads];
    std::latch others_wait(1);
    const auto load = [&]() -> absl::StatusOr<BlockRef> {
      loads++;
      others_wait.wait();
      if (fails) return absl::UnavailableError("disk");
      return MakeBlock({1, 1});
    };
    const auto waits = [&counters] {
      uint64_t total = 0;
      for (const ReadCounters& each : counters) total += each.block_load_waits.value();
      return total;
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; i++) {
      threads.emplace_back([&, i] {
        const auto block = LookupOrLoad(cache, {1, 1}, load, Priority::kProbation, &counters[i]);
        EXPECT_EQ(block.ok(), !fails);
        if (block.ok()) {
          EXPECT_TRUE(IsBlockOf(*block, {1, 1}));
        }
      });
    }
    while (waits() < kThreads - 1) std::this_thread::yield();
    others_wait.count_down();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(loads, 1);
  }
}

TEST(BlockCache, WhatALoadThrowsIsItsError) {
  ShardedBlockCache cache(CapacityOfBlocks(100), 0);
  const auto load = []() -> absl::StatusOr<BlockRef> {
    throw std::runtime_error("of a user's file system");
  };
  const auto block = cache.Load({1, 1}, load, Priority::kProbation, nullptr);
  EXPECT_TRUE(absl::IsFailedPrecondition(block.status())) << block.status();
  EXPECT_NE(block.status().message().find("of a user's file system"), absl::string_view::npos);
  EXPECT_FALSE(Touch(cache, {1, 1})) << "and the next one loads it";
}

// The loader's entry once stayed, and whoever waited for it waited for ever.
TEST(BlockCache, ALoadThatFindsNoMemoryIsAnErrorOfAllWhoWaitForIt) {
  constexpr int kThreads = 4;
  ShardedBlockCache cache(CapacityOfBlocks(100), 0);
  ReadCounters counters[kThreads];
  std::latch others_wait(1);
  const auto load = [&]() -> absl::StatusOr<BlockRef> {
    others_wait.wait();
    throw std::bad_alloc();
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      const auto block = LookupOrLoad(cache, {1, 1}, load, Priority::kProbation, &counters[i]);
      EXPECT_TRUE(absl::IsResourceExhausted(block.status())) << block.status();
    });
  }
  const auto waits = [&counters] {
    uint64_t total = 0;
    for (const ReadCounters& each : counters) total += each.block_load_waits.value();
    return total;
  };
  while (waits() < kThreads - 1) std::this_thread::yield();
  others_wait.count_down();
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(Touch(cache, {1, 1})) << "and the next one loads it";
}

TEST(BlockCache, ThreadsThatEvictInsertEraseAndReadAgree) {
  constexpr int kThreads = 4;
  constexpr int kSteps = 30000;
  constexpr uint64_t kKeys = 400;
  ShardedBlockCache cache(CapacityOfBlocks(100), 1);
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; i++) {
    threads.emplace_back([&, i] {
      std::mt19937_64 random(static_cast<uint64_t>(i));
      std::vector<std::pair<BlockKey, BlockRef>> held(8);
      start.arrive_and_wait();
      for (int step = 0; step < kSteps; step++) {
        // A quarter of the steps go to a few hot keys, so that threads meet.
        const uint64_t range = random() % 4 == 0 ? 4 : kKeys;
        const BlockKey key{1 + random() % 2, random() % range};
        if (random() % 16 == 0) {
          cache.Erase(key);
          continue;
        }
        auto block = LookupOrLoad(
            cache, key, [&]() -> absl::StatusOr<BlockRef> { return MakeBlock(key); },
            random() % 8 == 0 ? Priority::kProtected : Priority::kProbation, nullptr);
        ASSERT_TRUE(block.ok());
        auto& place = held[random() % held.size()];
        if (place.second) {
          ASSERT_TRUE(IsBlockOf(place.second, place.first));
        }
        place = {key, *std::move(block)};
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(cache.pinned_bytes(), 0u);
  EXPECT_LE(cache.usage_bytes(), cache.capacity_bytes());
  size_t present = 0;
  for (uint64_t table = 1; table <= 2; table++) {
    for (uint64_t offset = 0; offset < kKeys; offset++) {
      if (const BlockRef block = cache.Lookup({table, offset})) {
        EXPECT_TRUE(IsBlockOf(block, {table, offset}));
        present++;
      }
    }
  }
  EXPECT_EQ(cache.usage_bytes(), CapacityOfBlocks(present));
}

// What users hold shows the cache that the engine fills.
TEST(BlockCache, TheHandleOfUsersCountsWhatTheEngineKeeps) {
  const std::shared_ptr<BlockCache> handle = NewBlockCache(CapacityOfBlocks(10), 0);
  EXPECT_EQ(handle->capacity_bytes(), CapacityOfBlocks(10));
  EXPECT_EQ(handle->usage_bytes(), 0u);
  ShardedBlockCache& cache = *BlockCacheAccess::Sharded(*handle);
  Touch(cache, {1, 0});
  EXPECT_GT(handle->usage_bytes(), 0u);
  EXPECT_EQ(handle->usage_bytes(), cache.usage_bytes());
  EXPECT_EQ(handle->pinned_bytes(), 0u);
  const BlockRef held = cache.Lookup({1, 0});
  EXPECT_EQ(handle->pinned_bytes(), handle->usage_bytes());
}

TEST(BlockCache, TableIdentitiesAreNeverReused) {
  uint64_t last = 0;
  for (int i = 0; i < 100; i++) {
    const uint64_t id = NewTableId();
    EXPECT_GT(id, last);
    last = id;
  }
}

TEST(BlockCache, ACapacityThatShrinksEvictsAtOnceButForWhatIsHeld) {
  ShardedBlockCache cache(CapacityOfBlocks(200), 1);
  for (uint64_t i = 0; i < 100; i++) Touch(cache, {1, i});
  const BlockRef held = cache.Lookup({1, 7});
  ASSERT_TRUE(held);
  cache.SetCapacity(CapacityOfBlocks(20));
  EXPECT_EQ(cache.capacity_bytes(), CapacityOfBlocks(20));
  EXPECT_LE(cache.usage_bytes(), CapacityOfBlocks(20));
  cache.SetCapacity(0);
  EXPECT_EQ(cache.usage_bytes(), CapacityOfBlocks(1));
  EXPECT_TRUE(IsBlockOf(held, {1, 7}));
  EXPECT_FALSE(Touch(cache, {1, 8}));
  EXPECT_FALSE(Touch(cache, {1, 8}));
}

TEST(BlockCache, ACapacityThatGrowsKeepsWhatIsThere) {
  for (const int shard_bits : {0, 2}) {
    ShardedBlockCache cache(CapacityOfBlocks(700), shard_bits);
    for (int round = 0; round < 2; round++) {
      for (uint64_t i = 0; i < 400; i++) Touch(cache, {1, i});
    }
    const BlockRef held = cache.Lookup({1, 7});
    ASSERT_TRUE(held);
    size_t most = 700;
    while (most < 50'000) {
      most *= 3;
      cache.SetCapacity(CapacityOfBlocks(most));
      size_t kept = 0;
      for (uint64_t i = 0; i < 400; i++) kept += cache.Lookup({1, i}) ? 1 : 0;
      EXPECT_GE(kept, 395u) << most;
    }
    EXPECT_TRUE(IsBlockOf(held, {1, 7}));
    for (uint64_t i = 0; i < 20'000; i++) Touch(cache, {2, i});
    size_t kept = 0;
    for (uint64_t i = 0; i < 20'000; i++) kept += cache.Lookup({2, i}) ? 1 : 0;
    EXPECT_EQ(kept, 20'000u);
    // The old tables, and nothing else, come on top.
    EXPECT_LE(cache.slots_bytes(), CapacityOfBlocks(most) / 2048 * 36 * 3 + (1 << 20));
    EXPECT_LE(cache.usage_bytes(), cache.capacity_bytes());
  }
}

// ThreadSanitizer's shadow takes several times as much.
#if defined(__linux__) && !defined(__SANITIZE_THREAD__)

// Of this process.
size_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  size_t total_pages = 0;
  size_t resident_pages = 0;
  statm >> total_pages >> resident_pages;
  EXPECT_GT(resident_pages, 0u);
  return resident_pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// Each of these once brought in 1.8 % of the capacity at once, which looking for blocks to free or
// to move did as well.
TEST(BlockCache, ALargeCapacityTakesNoMemoryBeforeBlocksCome) {
  constexpr size_t kGiB = size_t{1} << 30;
  constexpr size_t kMost = size_t{32} << 20;
  const size_t before = ResidentBytes();
  for (const size_t capacity :
       {15 * kGiB, 64 * kGiB}) {  // tables in an arena, in pages of their own
    ShardedBlockCache cache(capacity, -1);
    EXPECT_LE(ResidentBytes(), before + kMost) << capacity;
    EXPECT_FALSE(Touch(cache, {1, 1}));
    EXPECT_TRUE(Touch(cache, {1, 1}));
  }
  EXPECT_LE(ResidentBytes(), before + kMost);
  ShardedBlockCache cache(32 << 20, -1);
  for (const size_t capacity : {64 * kGiB, size_t{32} << 20}) {
    cache.SetCapacity(capacity);
    EXPECT_LE(ResidentBytes(), before + kMost) << capacity;
  }
}

// A capacity that was a mistake: few blocks were spread over all pages of its table afterwards.
TEST(BlockCache, ACapacityThatShrinksGetsATableOfItsSize) {
  constexpr size_t kSmall = size_t{32} << 20;
  constexpr size_t kLarge = size_t{8} << 30;
  const size_t before = ResidentBytes();
  ShardedBlockCache cache(kSmall, -1);
  cache.SetCapacity(kLarge);
  for (int round = 0; round < 2; round++) {
    for (uint64_t i = 0; i < 10; i++) Touch(cache, {1, i});
  }
  cache.SetCapacity(kSmall);
  for (uint64_t i = 0; i < 10; i++) EXPECT_TRUE(cache.Lookup({1, i})) << i;
  for (uint64_t i = 0; i < 2000; i++) Touch(cache, {1, i});
  EXPECT_LE(ResidentBytes(), before + (size_t{64} << 20));
  // Back and forth: the tables that there are serve again.
  const size_t slots_bytes = cache.slots_bytes();
  for (int round = 0; round < 100; round++) {
    cache.SetCapacity(round % 2 == 0 ? kLarge : kSmall);
    for (uint64_t i = 0; i < 10; i++) EXPECT_TRUE(cache.Lookup({1, i})) << i;
  }
  EXPECT_EQ(cache.slots_bytes(), slots_bytes);
}

#endif

TEST(BlockCache, NoSlotsAreMadeForMoreThanTheMachinesMemory) {
  const size_t machine_bytes =
      static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  constexpr size_t kCapacity = size_t{16} << 40;
  ShardedBlockCache made(kCapacity, -1);
  EXPECT_LE(made.slots_bytes(), machine_bytes / 50);
  ShardedBlockCache grown(size_t{32} << 20, -1);
  grown.SetCapacity(kCapacity);
  EXPECT_LE(grown.slots_bytes(), machine_bytes / 50);
  for (ShardedBlockCache* cache : {&made, &grown}) {
    EXPECT_EQ(cache->capacity_bytes(), kCapacity);
    for (uint64_t i = 0; i < 20; i++) Touch(*cache, {1, i});
    for (uint64_t i = 0; i < 20; i++) EXPECT_TRUE(Touch(*cache, {1, i})) << i;
  }
}

TEST(BlockCache, ACacheOfNothingGrows) {
  ShardedBlockCache cache(0, 0);
  EXPECT_FALSE(Touch(cache, {1, 1}));
  cache.SetCapacity(CapacityOfBlocks(100));
  EXPECT_FALSE(Touch(cache, {1, 1}));
  EXPECT_TRUE(Touch(cache, {1, 1}));
}

TEST(BlockCache, ThreadsReadWhileItsCapacityChanges) {
  ShardedBlockCache cache(CapacityOfBlocks(100), 1);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (uint64_t seed = 0; seed < 3; seed++) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      std::vector<BlockRef> held(8);
      while (!stop.load(std::memory_order_relaxed)) {
        const BlockKey key{1, random() % 600};
        const auto block = LookupOrLoad(
            cache, key, [&]() -> absl::StatusOr<BlockRef> { return MakeBlock(key); },
            random() % 2 == 0 ? Priority::kProbation : Priority::kProtected, nullptr);
        ASSERT_TRUE(block.ok() && IsBlockOf(*block, key));
        held[random() % held.size()] = block->Share();
        if (random() % 50 == 0) cache.Erase({1, random() % 600});
      }
    });
  }
  std::mt19937_64 random(9);
  size_t capacity = 100;
  for (int round = 0; round < 300; round++) {
    // Grows beyond what it has ever been from time to time, so that tables are replaced.
    capacity = round % 30 == 29 ? 100u << (round / 30) : random() % (2 * capacity + 1);
    cache.SetCapacity(CapacityOfBlocks(capacity));
    const CacheCharge charge(&cache, CapacityOfBlocks(capacity / 4));
    std::this_thread::yield();
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  cache.SetCapacity(0);
  EXPECT_EQ(cache.pinned_bytes(), 0u);
  EXPECT_EQ(cache.usage_bytes(), 0u);
}

TEST(BlockCache, ChargedMemoryTakesTheRoomOfBlocksButForAnEighth) {
  ShardedBlockCache cache(1 << 20, 0);
  const uint64_t table = NewTableId();
  const auto fill = [&] {
    for (uint64_t i = 0; i < 500; i++) Touch(cache, {table, i * kBlockBytes});
  };
  fill();
  EXPECT_GT(cache.usage_bytes(), (1u << 20) - 10'000);
  {
    const CacheCharge half(&cache, 1 << 19);
    EXPECT_LE(cache.usage_bytes(), 1u << 19) << "blocks go at once";
    fill();
    EXPECT_LE(cache.usage_bytes(), 1u << 19) << "and do not come back";
    CacheCharge other(&cache, 5 << 20);
    EXPECT_LE(cache.usage_bytes(), 1u << 17);
    fill();
    EXPECT_LE(cache.usage_bytes(), 1u << 17);
    EXPECT_GT(cache.usage_bytes(), (1u << 17) - 10'000);
    const CacheCharge moved = std::move(other);
    fill();
    EXPECT_LE(cache.usage_bytes(), 1u << 17);
  }
  fill();
  EXPECT_GT(cache.usage_bytes(), (1u << 20) - 10'000);
}

TEST(BlockCache, WhatCouldDoWithoutIsChargedWhileAQuarterIsLeft) {
  ShardedBlockCache cache(1 << 20, 0);
  CacheCharge half = CacheCharge::Try(&cache, 1 << 19);
  EXPECT_TRUE(half);
  EXPECT_FALSE(CacheCharge::Try(&cache, (1 << 18) + 1));
  CacheCharge quarter = CacheCharge::Try(&cache, 1 << 18);
  EXPECT_TRUE(quarter);
  EXPECT_FALSE(CacheCharge::Try(&cache, 1));
  const CacheCharge must_be(&cache, 1 << 19);  // is charged whatever there is
  half = CacheCharge();
  EXPECT_TRUE(CacheCharge::Try(&cache, 0));
  quarter = CacheCharge();
  EXPECT_TRUE(CacheCharge::Try(&cache, 1 << 18)) << "what was given back can be had again";
}

}  // namespace
}  // namespace winnow
