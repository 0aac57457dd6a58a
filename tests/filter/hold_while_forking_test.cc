// Children that are forked while another thread builds and frees filters.
#include "filter/base/hold_while_forking.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "filter/base/build_memory.h"
#include "filter/base/huge_page_arena.h"
#include "filter/base/slab_pool.h"
#include "tests/support/child_process.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define WINNOW_SANITIZER_HAS_LOCKS 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define WINNOW_SANITIZER_HAS_LOCKS 1
#endif
#endif

namespace winnow::filter {
namespace {

// What a builder takes, and is kept for the next one.
void UseBuildMemory() {
  constexpr size_t kBytes = size_t{100} << 10;
  internal::ReturnBuildMemory(internal::TakeBuildMemory(kBytes), kBytes);
}

// What a filter that is read lies in.
void UseHugePages() {
  constexpr size_t kBytes = 5000;
  auto& arena = internal::HugePageArena::OfProcess();
  arena.Free(arena.Allocate(kBytes), kBytes);
}

// What small filters and indexes lie in.
void UseSlabs() {
  constexpr size_t kBytes = 500;
  auto& pool = internal::SlabPool::OfProcess();
  pool.Free(pool.Allocate(kBytes), kBytes);
}

class HoldWhileForking : public testing::Test {
 protected:
  void SetUp() override {
#ifdef WINNOW_SANITIZER_HAS_LOCKS
    GTEST_SKIP() << "the sanitizer has locks of its own, which a child may find taken for ever";
#endif
  }

  // How children end that are forked beside a thread which does the same as they.
  static int ForkBesideAThread(void (*use)(), int num_children) {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop) use();
    });
    int failed = 0;
    for (int i = 0; i < num_children && failed == 0; i++) {
      failed = InChild([&] {
        use();
        return 0;
      });
    }
    stop = true;
    busy.join();
    return failed;
  }
};

// In processes that have not done it before. First, since this one has not, either.
TEST_F(HoldWhileForking, AChildThatIsForkedBesideTheFirstUseFindsWhatItUses) {
  for (const auto use : {UseBuildMemory, UseHugePages, UseSlabs}) {
    for (int i = 0; i < 50; i++) {
      ASSERT_EQ(InChild([&] { return std::abs(ForkBesideAThread(use, 1)); }), 0);
    }
  }
}

// A child has no thread that could give back a lock which another had when it was forked.
TEST_F(HoldWhileForking, AForkedChildFindsTheLocksFree) {
  for (const auto use : {UseBuildMemory, UseHugePages, UseSlabs}) {
    EXPECT_EQ(ForkBesideAThread(use, 100), 0);
  }
}

}  // namespace
}  // namespace winnow::filter
