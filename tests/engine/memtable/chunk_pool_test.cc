#include "engine/memtable/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "engine/memtable/arena.h"

namespace winnow {
namespace {

struct Taken {
  ChunkPool::Chunk chunk;
  size_t bytes;
  char mark;
};

bool IsWhole(const Taken& taken) {
  for (size_t i = 0; i < taken.bytes; i++) {
    if (taken.chunk.data[i] != taken.mark) return false;
  }
  return true;
}

TEST(ChunkPool, ChunksDoNotOverlapAndSlabsComeBack) {
  ChunkPool pool;
  std::mt19937_64 random(1);
  std::vector<Taken> all;
  size_t in_use = 0;
  for (int round = 0; round < 4000; round++) {
    // Grows, then shrinks.
    if (all.empty() || random() % 100 < (round < 2000 ? 70u : 30u)) {
      const size_t bytes = ChunkPool::kSmallestBytes << (random() % 5);
      ASSERT_TRUE(ChunkPool::Has(bytes));
      all.push_back({pool.Take(bytes), bytes, static_cast<char>(round)});
      std::memset(all.back().chunk.data, all.back().mark, bytes);
      in_use += bytes;
    } else {
      std::swap(all[random() % all.size()], all.back());
      ASSERT_TRUE(IsWhole(all.back()));
      pool.GiveBack(all.back().chunk, all.back().bytes);
      in_use -= all.back().bytes;
      all.pop_back();
    }
    ASSERT_GE(pool.mapped_bytes(), in_use);
  }
  for (const Taken& taken : all) {
    ASSERT_TRUE(IsWhole(taken));
    pool.GiveBack(taken.chunk, taken.bytes);
  }
  EXPECT_LE(pool.mapped_bytes(), 5 * ChunkPool::kSlabBytes);
}

// What small memtables had once stayed in the heap, between what was allocated beside them.
TEST(ChunkPool, SmallArenasGiveTheirMemoryBack) {
  WriteBufferBudget budget;
  for (int round = 0; round < 2; round++) {
    std::vector<std::unique_ptr<Arena>> arenas;
    for (int i = 0; i < 500; i++) {
      arenas.push_back(std::make_unique<Arena>(size_t{1} << 20, &budget));
      for (int j = 0; j < 100; j++) arenas.back()->Allocate(64);
    }
    EXPECT_GE(budget.chunks().mapped_bytes(), 500 * 100 * 64u);
    EXPECT_LE(budget.chunks().mapped_bytes(), budget.memory_bytes() + ChunkPool::kSlabBytes);
    for (size_t i = 0; i < arenas.size(); i += 2) arenas[i].reset();
    arenas.clear();
    EXPECT_LE(budget.chunks().mapped_bytes(), ChunkPool::kSlabBytes);
  }
}

}  // namespace
}  // namespace winnow
