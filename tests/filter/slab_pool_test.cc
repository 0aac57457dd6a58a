// Small pieces: they never overlap, and what they lie in goes back with the last of them.

#include "filter/base/slab_pool.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

namespace winnow::filter::internal {
namespace {

struct Piece {
  char* data;
  size_t bytes;
  char mark;
};

bool IsWhole(const Piece& piece) {
  for (size_t i = 0; i < piece.bytes; i++) {
    if (piece.data[i] != piece.mark) return false;
  }
  return true;
}

Piece Take(SlabPool* pool, size_t bytes, char mark) {
  const Piece piece{pool->Allocate(bytes), bytes, mark};
  if (piece.data != nullptr) std::memset(piece.data, mark, bytes);
  return piece;
}

TEST(SlabPool, PiecesOfEverySizeStartAtALine) {
  SlabPool pool;
  std::vector<Piece> all;
  for (size_t bytes = 1; bytes <= SlabPool::kMaxPieceBytes; bytes += bytes < 5000 ? 1 : 61) {
    all.push_back(Take(&pool, bytes, static_cast<char>(bytes)));
    ASSERT_NE(all.back().data, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().data) % SlabPool::kLineBytes, 0u);
  }
  for (const Piece& piece : all) {
    ASSERT_TRUE(IsWhole(piece));
    pool.Free(piece.data, piece.bytes);
  }
}

TEST(SlabPool, PiecesDoNotOverlapAndSlabsGoBack) {
  SlabPool pool;
  std::mt19937_64 random(1);
  std::vector<Piece> all;
  size_t in_use = 0;
  size_t most = 0;
  for (int round = 0; round < 40000; round++) {
    // Grows, then shrinks.
    if (all.empty() || random() % 100 < (round < 20000 ? 70u : 30u)) {
      const size_t bytes = 1 + random() % (SlabPool::kMaxPieceBytes >> random() % 10);
      all.push_back(Take(&pool, bytes, static_cast<char>(round)));
      ASSERT_NE(all.back().data, nullptr);
      in_use += bytes;
    } else {
      std::swap(all[random() % all.size()], all.back());
      ASSERT_TRUE(IsWhole(all.back()));
      pool.Free(all.back().data, all.back().bytes);
      in_use -= all.back().bytes;
      all.pop_back();
    }
    ASSERT_GE(pool.mapped_bytes(), in_use);
    most = std::max(most, pool.mapped_bytes());
  }
  EXPECT_GT(most, 10 * SlabPool::kSlabBytes);
  for (const Piece& piece : all) {
    ASSERT_TRUE(IsWhole(piece));
    pool.Free(piece.data, piece.bytes);
  }
  EXPECT_LE(pool.mapped_bytes(), 4 * SlabPool::kSlabBytes);
}

// Of pieces of one size, an eighth is lost at most, and what is freed is used again.
TEST(SlabPool, LosesLittle) {
  for (const size_t bytes : {size_t{64}, size_t{700}, size_t{1000}, size_t{2500}, size_t{5000}}) {
    SlabPool pool;
    std::vector<char*> pieces;
    for (size_t i = 0; i < (4 << 20) / bytes; i++) pieces.push_back(pool.Allocate(bytes));
    const size_t mapped = pool.mapped_bytes();
    EXPECT_LE(mapped, (4 << 20) / 8 * 9 + SlabPool::kSlabBytes) << bytes;
    for (size_t i = 0; i < pieces.size(); i += 2) pool.Free(pieces[i], bytes);
    for (size_t i = 0; i < pieces.size(); i += 2) pieces[i] = pool.Allocate(bytes);
    EXPECT_EQ(pool.mapped_bytes(), mapped);
    for (char* piece : pieces) pool.Free(piece, bytes);
  }
}

// Nine of ten in every slab are freed, and the tenth keeps no more than its own pages.
TEST(SlabPool, PagesGoBackBeforeSlabsAreEmpty) {
  for (const size_t bytes : {size_t{500}, size_t{2048}, size_t{5000}, size_t{32768}}) {
    SlabPool pool;
    std::vector<Piece> pieces;
    for (size_t i = 0; i < (8 << 20) / bytes; i++) {
      pieces.push_back(Take(&pool, bytes, static_cast<char>(i)));
    }
    EXPECT_GE(pool.mapped_bytes(), pool.used_bytes());
    for (size_t i = 0; i < pieces.size(); i++) {
      if (i % 10 != 0) pool.Free(pieces[i].data, bytes);
    }
    const size_t pages_of_piece = bytes / 4096 + 2;
    EXPECT_LE(pool.mapped_bytes(), pieces.size() / 10 * pages_of_piece * 4096 + (size_t{1} << 20))
        << bytes;
    EXPECT_LE(pool.mapped_bytes(), size_t{8} << 20);
    // What takes their places takes nothing from those that stayed.
    for (size_t i = 0; i < pieces.size(); i++) {
      if (i % 10 != 0) pieces[i] = Take(&pool, bytes, static_cast<char>(i));
    }
    for (const Piece& piece : pieces) {
      ASSERT_TRUE(IsWhole(piece));
      pool.Free(piece.data, bytes);
    }
    EXPECT_EQ(pool.used_bytes(), 0u);
    EXPECT_LE(pool.mapped_bytes(), 4 * SlabPool::kSlabBytes);
  }
}

TEST(SlabPool, ThreadsShareIt) {
  SlabPool pool;
  std::vector<std::thread> threads;
  std::atomic<int> broken{0};
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&pool, &broken, t] {
      std::mt19937_64 random(static_cast<uint64_t>(t));
      std::vector<Piece> all;
      for (int round = 0; round < 5000; round++) {
        if (all.empty() || random() % 2 == 0) {
          all.push_back(Take(&pool, 1 + random() % 3000, static_cast<char>(t)));
        } else {
          std::swap(all[random() % all.size()], all.back());
          if (!IsWhole(all.back())) broken++;
          pool.Free(all.back().data, all.back().bytes);
          all.pop_back();
        }
      }
      for (const Piece& piece : all) pool.Free(piece.data, piece.bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(broken, 0);
}

// A child has no thread that could give back a lock which another had when it was forked.
TEST(SlabPool, AForkedChildCanUseIt) {
  SlabPool& pool = SlabPool::OfProcess();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) pool.Free(pool.Allocate(100), 100);
  });
  for (int i = 0; i < 50; i++) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(20);  // ends a child that waits for ever
      pool.Free(pool.Allocate(100), 100);
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  stop = true;
  busy.join();
}

struct Object : InSlabPool {
  explicit Object(int given) : value(given) {}
  int value;
  char more[500] = {};
};

TEST(SlabPool, HoldsObjects) {
  const size_t before = SlabPool::OfProcess().mapped_bytes();
  std::vector<std::unique_ptr<Object>> owned;
  std::vector<std::shared_ptr<Object>> shared;
  for (int i = 0; i < 2000; i++) {
    owned.push_back(std::make_unique<Object>(i));
    shared.push_back(std::allocate_shared<Object>(SlabAllocator<Object>(), i));
  }
  // Some slabs may have been kept for them.
  EXPECT_GE(SlabPool::OfProcess().mapped_bytes() + 4 * SlabPool::kSlabBytes,
            before + 4000 * sizeof(Object));
  for (int i = 0; i < 2000; i++) {
    ASSERT_EQ(owned[static_cast<size_t>(i)]->value, i);
    ASSERT_EQ(shared[static_cast<size_t>(i)]->value, i);
  }
  owned.clear();
  shared.clear();
  EXPECT_LE(SlabPool::OfProcess().mapped_bytes(), before + 4 * SlabPool::kSlabBytes);
}

}  // namespace
}  // namespace winnow::filter::internal
