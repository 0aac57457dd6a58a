// Memory for filters: pieces that never overlap, are zero, and are given back.

#include "winnow/filter/resident_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

#include "filter/base/huge_page_arena.h"

namespace winnow::filter {
namespace {

using internal::HugePageArena;

constexpr size_t kMegabyte = size_t{1} << 20;

bool IsAll(const char* bytes, size_t size, char expected) {
  return std::all_of(bytes, bytes + size, [expected](char byte) { return byte == expected; });
}

// What of the memory is present; it starts with a page.
size_t ResidentBytes(char* begin, size_t bytes) {
  constexpr size_t kPage = 4096;
  std::vector<unsigned char> present(bytes / kPage);
  EXPECT_EQ(::mincore(begin, bytes, present.data()), 0);
  return kPage * static_cast<size_t>(std::count_if(present.begin(), present.end(),
                                                   [](unsigned char page) { return page & 1; }));
}

bool IsAligned(const char* address, size_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

TEST(ResidentMemoryTest, GivesZerosAtTheBeginningOfALine) {
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{5000}, kMegabyte - 1, 3 * kMegabyte + 1,
                             20 * kMegabyte + 1}) {
    const ResidentMemory memory(bytes);
    ASSERT_NE(memory.data(), nullptr) << bytes;
    EXPECT_EQ(memory.size(), bytes);
    EXPECT_TRUE(IsAligned(memory.data(), 64)) << bytes;
    EXPECT_TRUE(IsAll(memory.data(), bytes, 0)) << bytes;
  }
}

TEST(ResidentMemoryTest, WholeHugePagesBeginWithOne) {
  for (const size_t pages : {size_t{1}, size_t{2}, size_t{9}}) {
    const ResidentMemory memory(pages * ResidentMemory::kHugePageBytes);
    ASSERT_NE(memory.data(), nullptr);
    EXPECT_TRUE(IsAligned(memory.data(), ResidentMemory::kHugePageBytes));
  }
}

TEST(ResidentMemoryTest, NothingOrTooMuchIsNull) {
  EXPECT_EQ(ResidentMemory().data(), nullptr);
  EXPECT_EQ(ResidentMemory(0).data(), nullptr);
  for (const size_t bytes : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX - ResidentMemory::kHugePageBytes}) {
    const ResidentMemory memory(bytes);
    EXPECT_EQ(memory.data(), nullptr);
    EXPECT_EQ(memory.size(), 0u);
  }
}

TEST(ResidentMemoryTest, MovesWithItsBytes) {
  ResidentMemory first(100);
  first.data()[7] = 'x';
  const char* const data = first.data();
  ResidentMemory second(std::move(first));
  EXPECT_EQ(second.data(), data);
  ResidentMemory third;
  third = std::move(second);
  EXPECT_EQ(third.data(), data);
  EXPECT_EQ(third.size(), 100u);
  EXPECT_EQ(third.data()[7], 'x');
}

TEST(ResidentMemoryTest, ReusedPiecesAreZeroAgain) {
  const ResidentMemory filling(4 * kMegabyte - 1);  // what follows comes from the arena
  for (int round = 0; round < 20; ++round) {
    ResidentMemory memory(100'000);
    ASSERT_TRUE(IsAll(memory.data(), memory.size(), 0)) << round;
    std::fill_n(memory.data(), memory.size(), '\xff');
  }
}

// Fills pieces of random sizes with a byte of their own, drops random ones, and looks whether
// another's bytes ever appear.
void MakeAndDropPieces(uint32_t seed) {
  struct Piece {
    ResidentMemory memory;
    char byte;
  };
  std::mt19937 random(seed);
  std::vector<Piece> pieces;
  for (int step = 0; step < 400; ++step) {
    if (pieces.size() > 24 || (!pieces.empty() && random() % 3 == 0)) {
      std::swap(pieces[random() % pieces.size()], pieces.back());
      const Piece& piece = pieces.back();
      ASSERT_TRUE(IsAll(piece.memory.data(), piece.memory.size(), piece.byte)) << "seed " << seed;
      pieces.pop_back();
      continue;
    }
    const size_t most = random() % 8 == 0 ? 3 * kMegabyte : 200'000;
    Piece piece{ResidentMemory(1 + random() % most), static_cast<char>(random())};
    ASSERT_NE(piece.memory.data(), nullptr);
    ASSERT_TRUE(IsAll(piece.memory.data(), piece.memory.size(), 0)) << "seed " << seed;
    std::fill_n(piece.memory.data(), piece.memory.size(), piece.byte);
    pieces.push_back(std::move(piece));
  }
  for (const Piece& piece : pieces) {
    ASSERT_TRUE(IsAll(piece.memory.data(), piece.memory.size(), piece.byte)) << "seed " << seed;
  }
}

TEST(ResidentMemoryTest, PiecesOfManyThreadsDoNotOverlap) {
  const size_t used_before = HugePageArena::OfProcess().used_bytes();
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 4; ++seed) threads.emplace_back(&MakeAndDropPieces, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(HugePageArena::OfProcess().used_bytes(), used_before);
}

TEST(HugePageArenaTest, FillsGapsBeforeItGrows) {
  HugePageArena arena;
  std::vector<char*> pieces;
  for (size_t i = 0; i < HugePageArena::kRegionBytes / kMegabyte; ++i) {
    pieces.push_back(arena.Allocate(kMegabyte));
  }
  EXPECT_EQ(arena.mapped_bytes(), HugePageArena::kRegionBytes);
  EXPECT_EQ(arena.used_bytes(), HugePageArena::kRegionBytes);
  arena.Free(pieces[5], kMegabyte);
  arena.Free(pieces[6], kMegabyte);
  EXPECT_EQ(arena.Allocate(kMegabyte + 1), pieces[5]);  // both together have room for it
  EXPECT_EQ(arena.mapped_bytes(), HugePageArena::kRegionBytes);
  char* const further = arena.Allocate(kMegabyte);
  EXPECT_EQ(arena.mapped_bytes(), 2 * HugePageArena::kRegionBytes);
  arena.Free(further, kMegabyte);
  EXPECT_EQ(arena.mapped_bytes(), HugePageArena::kRegionBytes);
}

TEST(HugePageArenaTest, TheLargestPieceFits) {
  HugePageArena arena;
  char* const first = arena.Allocate(HugePageArena::kMaxPieceBytes);
  char* const second = arena.Allocate(HugePageArena::kMaxPieceBytes);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(second, first + HugePageArena::kMaxPieceBytes);
  arena.Free(first, HugePageArena::kMaxPieceBytes);
  arena.Free(second, HugePageArena::kMaxPieceBytes);
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST(HugePageArenaTest, OnlyPagesThatNobodyUsesAreDropped) {
  constexpr size_t kPage = internal::kHugePageBytes;
  HugePageArena arena;
  char* const first = arena.Allocate(kPage + kPage / 2);
  char* const neighbour = arena.Allocate(kPage / 2);  // on the second page
  ASSERT_EQ(neighbour, first + kPage + kPage / 2);
  std::fill_n(first, kPage + kPage / 2, 'a');
  std::fill_n(neighbour, kPage / 2, 'b');
  arena.Free(first, kPage + kPage / 2);
  EXPECT_TRUE(IsAll(neighbour, kPage / 2, 'b'));
#ifdef __linux__
  EXPECT_EQ(ResidentBytes(first, kPage), 0u) << "the first page was not given back";
#endif
  char* const again = arena.Allocate(kPage + kPage / 2);
  ASSERT_EQ(again, first);
  arena.Free(again, kPage + kPage / 2);
  arena.Free(neighbour, kPage / 2);
  EXPECT_EQ(arena.used_bytes(), 0u);
}

TEST(HugePageArenaTest, OnlyWhatOthersHadIsCleared) {
  HugePageArena arena;
  char* const before = arena.Allocate(kMegabyte / 2);
  char* const gone = arena.Allocate(kMegabyte / 2);  // on the same page
  std::fill_n(before, kMegabyte / 2, 'b');
  std::fill_n(gone, kMegabyte / 2, 'g');
  arena.Free(gone, kMegabyte / 2);
  char* const piece = arena.Allocate(8 * kMegabyte);
  ASSERT_EQ(piece, gone);
#ifdef __linux__
  EXPECT_LE(ResidentBytes(piece, 8 * kMegabyte), internal::kHugePageBytes);
#endif
  EXPECT_TRUE(IsAll(piece, 8 * kMegabyte, 0));
  EXPECT_TRUE(IsAll(before, kMegabyte / 2, 'b'));
  arena.Free(piece, 8 * kMegabyte);
  arena.Free(before, kMegabyte / 2);
}

}  // namespace
}  // namespace winnow::filter
