// Which blocks a full cache admits, and that what it holds is then no worse.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <vector>

#include "engine/cache/block_cache.h"

namespace winnow {
namespace {

constexpr size_t kReadBlockBytes = 4000;
constexpr auto kReadPriority = ShardedBlockCache::Priority::kProbation;

BlockRef MakeReadBlock() { return CachedBlock::Allocate(kReadBlockBytes); }
size_t RoomForBlocks(size_t blocks) { return blocks * MakeReadBlock()->charge(); }

// A cache and its readers, with or without the question at the door.
class Readers {
 public:
  enum class Door { kAsked, kOpen };

  Readers(size_t blocks, Door door) : cache_(RoomForBlocks(blocks), 0), door_(door) {}

  // True if the block was there.
  bool Read(uint64_t table, uint64_t block) {
    const BlockKey key{table, block * kReadBlockBytes};
    if (cache_.Lookup(key)) return true;
    if (door_ == Door::kAsked && !cache_.Admits(key)) return false;
    num_admitted_++;
    EXPECT_TRUE(cache_
                    .Load(key, []() -> absl::StatusOr<BlockRef> { return MakeReadBlock(); },
                          kReadPriority, {})
                    .ok());
    return false;
  }
  // Of that many reads of blocks that `draw` chooses, how many were hits.
  template <typename Draw>
  size_t Hits(size_t reads, Draw draw) {
    size_t hits = 0;
    for (size_t i = 0; i < reads; i++) hits += Read(1, draw()) ? 1 : 0;
    return hits;
  }

  ShardedBlockCache& cache() { return cache_; }
  size_t num_admitted() const { return num_admitted_; }

 private:
  ShardedBlockCache cache_;
  const Door door_;
  size_t num_admitted_ = 0;
};

auto UniformOver(uint64_t blocks) {
  return [blocks, random = std::mt19937_64(7)]() mutable { return random() % blocks; };
}

auto ZipfianOver(size_t blocks) {
  std::vector<double> weights(blocks);
  for (size_t i = 0; i < blocks; i++) weights[i] = 1.0 / static_cast<double>(i + 1);
  return [random = std::mt19937_64(3),
          chance = std::discrete_distribution<uint64_t>(weights.begin(), weights.end())]() mutable {
    return chance(random);
  };
}

TEST(BlockAdmission, WhileThereIsRoomEveryBlockIsAdmitted) {
  Readers readers(500, Readers::Door::kAsked);
  for (uint64_t i = 0; i < 450; i++) EXPECT_FALSE(readers.Read(1, i));
  for (uint64_t i = 0; i < 450; i++) EXPECT_TRUE(readers.Read(1, i));
}

TEST(BlockAdmission, ACacheOfNoCapacityAdmitsNothing) {
  ShardedBlockCache cache(0, 0);
  EXPECT_FALSE(cache.Admits({1, 1}));
}

// Each block that came in put another one out, for as good as no hit.
TEST(BlockAdmission, RandomReadsOverFarMoreThanFitsAreMostlyRefused) {
  Readers asked(1000, Readers::Door::kAsked);
  asked.Hits(20'000, UniformOver(40'000));
  const size_t before = asked.num_admitted();
  EXPECT_LT(before, 10'000u);
  asked.Hits(20'000, UniformOver(40'000));
  EXPECT_LT(asked.num_admitted() - before, 20'000u / 4);
}

TEST(BlockAdmission, AWorkingSetThatFitsTakesOverAfterRandomReads) {
  size_t hits[2] = {};
  for (const auto door : {Readers::Door::kAsked, Readers::Door::kOpen}) {
    Readers readers(1000, door);
    readers.Hits(40'000, UniformOver(40'000));
    size_t in_round = 0;
    for (int round = 0; round < 20; round++) {
      in_round = 0;
      for (uint64_t i = 0; i < 800; i++) in_round += readers.Read(2, i) ? 1 : 0;
      hits[door == Readers::Door::kOpen] += in_round;
    }
    EXPECT_GE(in_round, 760u);
  }
  EXPECT_GE(hits[0], hits[1] * 9 / 10);
}

TEST(BlockAdmission, ZipfianReadsHitAsOftenAsIfAllWereAdmitted) {
  for (const size_t blocks : {2'000u, 5'000u, 50'000u}) {
    size_t hits[2];
    for (const auto door : {Readers::Door::kAsked, Readers::Door::kOpen}) {
      Readers readers(500, door);
      auto draw = ZipfianOver(blocks);
      readers.Hits(30'000, draw);
      hits[door == Readers::Door::kOpen] = readers.Hits(60'000, draw);
    }
    EXPECT_GE(hits[0] + 600, hits[1]) << blocks << " blocks";
  }
}

// Half of the reads go to a hot set that fits, the others go once over a large file.
TEST(BlockAdmission, AHotSetBesideAScanIsHitAsOftenAsIfAllWereAdmitted) {
  constexpr uint64_t kHotBlocks = 700;
  size_t hits[2] = {};
  for (const auto door : {Readers::Door::kAsked, Readers::Door::kOpen}) {
    Readers readers(1000, door);
    auto draw = UniformOver(kHotBlocks);
    for (uint64_t i = 0; i < 40'000; i++) {
      readers.Read(2, i);
      const bool hit = readers.Read(1, draw());
      if (i >= 20'000) hits[door == Readers::Door::kOpen] += hit ? 1 : 0;
    }
  }
  EXPECT_GE(hits[0], 20'000u * 95 / 100);
  EXPECT_GE(hits[0] + 200, hits[1]);
}

}  // namespace
}  // namespace winnow
