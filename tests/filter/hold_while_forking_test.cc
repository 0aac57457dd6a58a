// Children that are forked while another thread builds and frees filters.
#include "filter/base/hold_while_forking.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "filter/base/build_memory.h"
#include "filter/base/huge_page_arena.h"
#include "tests/support/child_process.h"

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

// A child has no thread that could give back a lock which another had when it was forked.
TEST(HoldWhileForking, AForkedChildFindsTheLocksFree) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer has locks of its own, which a child of many threads may miss";
#endif
  for (const auto use : {UseBuildMemory, UseHugePages}) {
    std::atomic<bool> stop{false};
    std::thread busy([&] {
      while (!stop) use();
    });
    int failed = 0;
    for (int i = 0; i < 100 && failed == 0; i++) {
      failed = InChild([&] {
        use();
        return 0;
      });
    }
    EXPECT_EQ(failed, 0);
    stop = true;
    busy.join();
  }
}

}  // namespace
}  // namespace winnow::filter
