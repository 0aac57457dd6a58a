// The count that bounds the memtables of all families.
#include "engine/memtable/write_buffer_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/memtable/memtable.h"

namespace winnow {
namespace {

using Stage = WriteBufferBudget::Stage;

const InternalKeyComparator kComparator{BytewiseComparator()};

TEST(WriteBufferBudget, FollowsAMemtableFromItsFirstEntryToItsEnd)
ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const auto budget = std::make_shared<WriteBufferBudget>(1 << 20);
  const MemtableSizes sizes{1 << 20, 16 << 10, 0};
  auto memtable = std::make_unique<Memtable>(kComparator, sizes, budget);
  EXPECT_EQ(budget->memory_bytes(), 0u) << "without entries it takes nothing";
  for (SequenceNumber i = 1; i <= 500; i++) {
    memtable->Add(i, EntryType::kPut, std::to_string(i), std::string(1000, 'v'));
  }
  const size_t bytes = memtable->memory_bytes();
  EXPECT_GT(bytes, 500'000u);
  EXPECT_EQ(budget->memory_bytes(), bytes);
  EXPECT_EQ(budget->active_bytes(), bytes);
  EXPECT_GT(budget->active_bytes(), budget->switch_down_to_bytes());
  memtable->EnterStage(Stage::kWaiting);
  EXPECT_EQ(budget->active_bytes(), 0u);
  EXPECT_EQ(budget->held_bytes(), 0u);
  EXPECT_FALSE(budget->MustWait()) << "there is room";
  memtable->EnterStage(Stage::kFlushed);
  EXPECT_EQ(budget->held_bytes(), bytes);
  EXPECT_EQ(budget->memory_bytes(), bytes) << "as long as anybody holds it";
  memtable.reset();
  EXPECT_EQ(budget->memory_bytes(), 0u);
  EXPECT_EQ(budget->held_bytes(), 0u);
}

TEST(WriteBufferBudget, WaitsOnlyForWhatAFlushGivesBack) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  WriteBufferBudget budget(1000);
  budget.Begin();
  budget.Grow(1200);
  EXPECT_FALSE(budget.MustWait()) << "nothing is on its way out";
  budget.Move(1200, Stage::kActive, Stage::kWaiting);
  EXPECT_TRUE(budget.MustWait());
  budget.Move(1200, Stage::kWaiting, Stage::kFlushed);
  EXPECT_FALSE(budget.MustWait());
  budget.Free(1200, Stage::kFlushed);
  EXPECT_EQ(budget.memory_bytes(), 0u);
}

TEST(WriteBufferBudget, SaysHowNearWritesAreToWaiting) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  WriteBufferBudget budget(1000);
  budget.Begin();
  budget.Grow(700);
  EXPECT_EQ(budget.NearnessToWaiting(), 0) << "nothing is on its way out";
  budget.Move(500, Stage::kActive, Stage::kWaiting);
  EXPECT_DOUBLE_EQ(budget.NearnessToWaiting(), 0.4);
  budget.Grow(300);
  EXPECT_EQ(budget.NearnessToWaiting(), 1);
  EXPECT_TRUE(budget.MustWait());
  budget.Grow(500);
  EXPECT_EQ(budget.NearnessToWaiting(), 1);
  budget.set_limit_bytes(0);
  EXPECT_EQ(budget.NearnessToWaiting(), 0);
}

TEST(WriteBufferBudget, OfManyMemtablesEachHasASmallFilter) {
  const auto budget = std::make_shared<WriteBufferBudget>(2 << 20);
  const MemtableSizes sizes{1 << 20, 64 << 10, 0};
  std::vector<std::unique_ptr<Memtable>> memtables;
  for (int i = 0; i < 256; i++) {
    memtables.push_back(std::make_unique<Memtable>(kComparator, sizes, budget));
  }
  for (const auto& memtable : memtables) {
    memtable->Add(1, EntryType::kPut, "key", "value");
    EXPECT_LE(memtable->memory_bytes(), 4096u);
    EXPECT_TRUE(memtable->has_filter());
  }
  // One whose predecessor was full may expect to fill as well.
  Memtable busy(kComparator, {1 << 20, 64 << 10, 1 << 20}, budget);
  busy.Add(1, EntryType::kPut, "key", "value");
  EXPECT_GE(busy.memory_bytes(), size_t{64} << 10);
}

// What small memtables had once stayed in the heap, between what was allocated beside them.
TEST(WriteBufferBudget, SmallArenasGiveTheirMemoryBack) {
  constexpr size_t kSlabBytes = filter::internal::SlabPool::kSlabBytes;
  WriteBufferBudget budget;
  for (int round = 0; round < 2; round++) {
    std::vector<std::unique_ptr<Arena>> arenas;
    for (int i = 0; i < 500; i++) {
      arenas.push_back(std::make_unique<Arena>(size_t{1} << 20, &budget));
      for (int j = 0; j < 100; j++) arenas.back()->Allocate(64);
    }
    EXPECT_GE(budget.chunks().mapped_bytes(), 500 * 100 * 64u);
    EXPECT_LE(budget.chunks().mapped_bytes(), budget.memory_bytes() + 5 * kSlabBytes);
    for (size_t i = 0; i < arenas.size(); i += 2) arenas[i].reset();
    arenas.clear();
    EXPECT_LE(budget.chunks().mapped_bytes(), 4 * kSlabBytes);
  }
}

}  // namespace
}  // namespace winnow
