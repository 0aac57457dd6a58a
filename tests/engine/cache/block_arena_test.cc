// Memory for cached blocks: pieces never overlap, and go back to the system.
#include "engine/cache/block_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "engine/cache/block_cache.h"
#include "winnow/filter/resident_memory.h"

namespace winnow {
namespace {

struct Piece {
  char* data;
  size_t bytes;
  char mark;
};

bool IsIntact(const Piece& piece) {
  for (size_t i = 0; i < piece.bytes; i++) {
    if (piece.data[i] != piece.mark) return false;
  }
  return true;
}

void ChurnPieces(BlockArena& arena, uint64_t seed, int steps, size_t largest) {
  std::mt19937_64 random(seed);
  std::vector<Piece> pieces;
  for (int step = 0; step < steps; step++) {
    if (pieces.size() < 200 || random() % 2 == 0) {
      size_t bytes = 1 + random() % largest;
      const size_t wanted = bytes;
      char* const data = arena.Allocate(&bytes);
      ASSERT_NE(data, nullptr);
      ASSERT_GE(bytes, wanted);
      if (wanted >= 1024) {
        ASSERT_LE(bytes, wanted + wanted / 16 + BlockArena::kAlignment);
      }
      ASSERT_EQ(reinterpret_cast<uintptr_t>(data) % BlockArena::kAlignment, 0u);
      pieces.push_back({data, bytes, static_cast<char>(random())});
      std::memset(data, pieces.back().mark, bytes);
    } else {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      ASSERT_TRUE(IsIntact(pieces.back()));
      arena.Free(pieces.back().data);
      pieces.pop_back();
    }
  }
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(IsIntact(piece));
    arena.Free(piece.data);
  }
}

TEST(BlockArena, PiecesOfAllSizesKeepTheirBytes) {
  BlockArena arena;
  for (const size_t largest : {size_t{64}, size_t{5000}, BlockArena::kMaxPieceBytes}) {
    ChurnPieces(arena, largest, 5000, largest);
  }
}

TEST(BlockArena, EachSizeIsServedByTheSmallestPieceThatFits) {
  BlockArena arena;
  size_t previous = 0;
  for (size_t wanted = 1; wanted <= BlockArena::kMaxPieceBytes; wanted += 61) {
    size_t bytes = wanted;
    char* const data = arena.Allocate(&bytes);
    ASSERT_NE(data, nullptr);
    ASSERT_GE(bytes, wanted);
    ASSERT_GE(bytes, previous);
    // A new piece size begins only where the last one no longer fits.
    ASSERT_TRUE(bytes == previous || wanted > previous);
    previous = bytes;
    arena.Free(data);
  }
  size_t too_large = BlockArena::kMaxPieceBytes + 1;
  EXPECT_EQ(arena.Allocate(&too_large), nullptr);
}

TEST(BlockArena, ThreadsShareIt) {
  BlockArena arena;
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; i++) {
    threads.emplace_back([&arena, i] { ChurnPieces(arena, i, 3000, 5000); });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockArena, MemoryGoesBackToTheSystem) {
  BlockArena arena;
  std::vector<char*> pieces;
  for (int i = 0; i < 5000; i++) {
    size_t bytes = 4200;
    pieces.push_back(arena.Allocate(&bytes));
  }
  EXPECT_GE(arena.mapped_bytes(), size_t{5000} * 4200);
  for (char* piece : pieces) arena.Free(piece);
  EXPECT_LE(arena.mapped_bytes(), filter::ResidentMemory::kHugePageBytes);
}

TEST(BlockArena, ALargeCacheUsesItAndLetsItGo) {
  ShardedBlockCache cache(size_t{64} << 20, 1);
  ASSERT_NE(cache.arena(), nullptr);
  for (uint64_t i = 0; i < 30000; i++) {
    BlockRef block = CachedBlock::Allocate(4000, cache.arena());
    ASSERT_TRUE(block);
    cache.Insert({1, i}, std::move(block), ShardedBlockCache::Priority::kProbation);
  }
  EXPECT_LE(cache.usage_bytes(), cache.capacity_bytes());
  EXPECT_LE(cache.arena()->mapped_bytes(), cache.capacity_bytes() * 11 / 10);
  EXPECT_EQ(ShardedBlockCache(size_t{1} << 20, 0).arena(), nullptr);
}

// Each of the many sizes of tables' last blocks once took a huge page.
TEST(BlockArena, SizesThatFillNoSlabsGetNone) {
  BlockArena arena(size_t{128} << 20);
  std::vector<char*> pieces;
  const auto ask = [&](size_t bytes) {
    char* const piece = arena.Allocate(&bytes);
    if (piece != nullptr) pieces.push_back(piece);
  };
  for (size_t i = 0; i < 4000; i++) {
    ask(4200);
    if (i % 40 == 0) ask(1024 + i % 3000);
  }
  EXPECT_GT(pieces.size(), 3500u) << "the usual size has slabs";
  EXPECT_LE(arena.mapped_bytes(), size_t{18} << 20);
  for (char* piece : pieces) arena.Free(piece);
}

}  // namespace
}  // namespace winnow
