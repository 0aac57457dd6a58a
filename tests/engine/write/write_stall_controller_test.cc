// When writes are slowed down or stopped, and for how long, on a clock of the test's own.
#include "engine/write/write_stall_controller.h"

#include <gtest/gtest.h>

#include <chrono>

namespace winnow {
namespace {

using std::chrono::duration;
using std::chrono::milliseconds;

constexpr size_t kMiB = size_t{1} << 20;

WritePressure Idle() {
  WritePressure pressure;
  pressure.family = "default";
  pressure.max_write_buffers = 2;
  pressure.level0_slowdown_trigger = 20;
  pressure.level0_stop_trigger = 36;
  return pressure;
}

TEST(WritePressure, MemtablesStopWritesOnlyWhenTheActiveOneIsFullAsWell) {
  WritePressure pressure = Idle();
  EXPECT_FALSE(pressure.MustStop());
  EXPECT_FALSE(pressure.IsNearLimit());
  pressure.num_memtables = 2;
  EXPECT_FALSE(pressure.MustStop());
  EXPECT_TRUE(pressure.IsNearLimit()) << "the next write may fill the active one";
  pressure.active_is_full = true;
  EXPECT_TRUE(pressure.MustStop());
  pressure.num_memtables = 1;
  EXPECT_FALSE(pressure.MustStop()) << "there is room for another memtable";
}

TEST(WritePressure, LevelZeroSlowsDownFromOneTriggerAndStopsAtTheOther) {
  for (int files = 0; files < 50; files++) {
    WritePressure pressure = Idle();
    pressure.level0_files = files;
    EXPECT_EQ(pressure.MustSlowDown(), files >= 20) << files;
    EXPECT_EQ(pressure.MustStop(), files >= 36) << files;
  }
}

TEST(WriteStallController, TheDelayGrowsFromTheFullRateToATenthOfIt) {
  double previous = 0;
  for (int files = 20; files < 36; files++) {
    WriteStallController stalls;
    WritePressure pressure = Idle();
    pressure.level0_files = files;
    stalls.AddDelay(pressure, 64 * kMiB);
    const double seconds = stalls.TakeDelay().count();
    EXPECT_GT(seconds, 1.0) << "never faster than 64 MiB a second";
    EXPECT_GE(seconds, previous);
    EXPECT_LE(seconds, 10.01);
    previous = seconds;
  }
  EXPECT_NEAR(previous, 10, 0.01);
}

TEST(WriteStallController, ShortDelaysAreOwedUntilTheyAreWorthASleep) {
  WriteStallController stalls;
  WritePressure pressure = Idle();
  pressure.level0_files = 35;  // 6.4 MiB a second
  duration<double> slept{0};
  int sleeps = 0;
  for (int i = 0; i < 6400; i++) {
    stalls.AddDelay(pressure, 1024);
    const duration<double> delay = stalls.TakeDelay();
    if (delay.count() == 0) continue;
    EXPECT_GT(delay, milliseconds(1));
    slept += delay;
    sleeps++;
  }
  EXPECT_NEAR(slept.count(), 6400 * 1024 / (6.4 * static_cast<double>(kMiB)), 0.002);
  EXPECT_LT(sleeps, 1000);
  EXPECT_EQ(stalls.TakeDelay().count(), 0) << "what was slept is owed no more";
}

TEST(WriteStallController, AStallBeginsAndEndsOnceAndTellsItsLength) {
  SteadyTime now{};
  WriteStallController stalls([&now] { return now; });
  EXPECT_FALSE(stalls.Note("", "").has_value()) << "nothing to end";
  now += milliseconds(5);
  const auto begin = stalls.Note("users", "level 0 has many files");
  ASSERT_TRUE(begin.has_value());
  EXPECT_EQ(begin->kind, Event::Kind::kWriteStallBegin);
  EXPECT_EQ(begin->column_family, "users");
  EXPECT_EQ(begin->message, "level 0 has many files");
  EXPECT_TRUE(stalls.is_stalled());
  now += milliseconds(30);
  EXPECT_FALSE(stalls.Note("orders", "another cause").has_value()) << "it is the same stall";
  now += milliseconds(12);
  const auto end = stalls.Note("", "");
  ASSERT_TRUE(end.has_value());
  EXPECT_EQ(end->kind, Event::Kind::kWriteStallEnd);
  EXPECT_EQ(end->column_family, "users");
  EXPECT_EQ(end->duration, milliseconds(42));
  EXPECT_FALSE(stalls.is_stalled());
}

}  // namespace
}  // namespace winnow
