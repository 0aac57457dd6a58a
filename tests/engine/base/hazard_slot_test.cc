#include "engine/base/hazard_slot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

namespace winnow {
namespace {

TEST(HazardSlot, IsSeenWhileTheGuardLives) {
  const int object = 1;
  const int other = 2;
  const std::atomic<const int*> current{&object};
  EXPECT_FALSE(HazardSlot::AnyAnnounces(&object));
  {
    HazardGuard guard(HazardSlot::kReadView);
    ASSERT_TRUE(guard.is_free());
    EXPECT_EQ(guard.Announce(current), &object);
    EXPECT_TRUE(HazardSlot::AnyAnnounces(&object));
    EXPECT_FALSE(HazardSlot::AnyAnnounces(&other));
    EXPECT_FALSE(HazardGuard(HazardSlot::kReadView).is_free());
    EXPECT_EQ(HazardSlot::NumGuards(HazardSlot::kReadView), 1u);
    {
      const HazardGuard inner(HazardSlot::kReadView);
      EXPECT_EQ(HazardSlot::NumGuards(HazardSlot::kReadView), 2u);
      EXPECT_EQ(HazardSlot::NumGuards(HazardSlot::kOpenFile), 0u);
    }
  }
  EXPECT_FALSE(HazardSlot::AnyAnnounces(&object));
  EXPECT_EQ(HazardSlot::NumGuards(HazardSlot::kReadView), 0u);
}

TEST(HazardSlot, IsSeenByOtherThreads) {
  const int object = 1;
  const std::atomic<const int*> current{&object};
  std::latch announced(1);
  std::latch seen(1);
  std::thread reader([&] {
    HazardGuard guard(HazardSlot::kReadView);
    guard.Announce(current);
    announced.count_down();
    seen.wait();
  });
  announced.wait();
  EXPECT_TRUE(HazardSlot::AnyAnnounces(&object));
  seen.count_down();
  reader.join();
  EXPECT_FALSE(HazardSlot::AnyAnnounces(&object));
}

// A writer overwrites what nobody announces, as if it were freed; what a reader has announced must
// not change under it.
TEST(HazardSlot, WhatIsAnnouncedStays) {
  constexpr uint64_t kFreed = ~uint64_t{0};
  struct Object {
    std::atomic<uint64_t> value{kFreed};
  };
  Object objects[2];
  objects[0].value.store(0);
  std::atomic<const Object*> current{&objects[0]};
  std::atomic<bool> done{false};
  std::atomic<uint64_t> freed_ones_read{0};
  std::thread reader([&] {
    while (!done.load(std::memory_order_relaxed)) {
      HazardGuard guard(HazardSlot::kReadView);
      const Object* const object = guard.Announce(current);
      if (object->value.load(std::memory_order_relaxed) == kFreed) freed_ones_read++;
    }
  });
  for (uint64_t i = 1; i <= 2000; i++) {
    Object& replaced = objects[(i - 1) % 2];
    Object& present = objects[i % 2];
    present.value.store(i);
    current.store(&present, std::memory_order_seq_cst);
    while (HazardSlot::AnyAnnounces(&replaced)) std::this_thread::yield();
    replaced.value.store(kFreed);
  }
  done.store(true);
  reader.join();
  EXPECT_EQ(freed_ones_read, 0u);
}

}  // namespace
}  // namespace winnow
