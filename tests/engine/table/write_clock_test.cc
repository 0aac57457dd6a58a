// The clock of writes to tables: its times never go back and its numbers grow, however the system's
// clock moves and whoever asks.
#include "engine/table/write_clock.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/support/test_clock.h"

namespace winnow {
namespace {

class WriteClockTest : public testing::Test {
 protected:
  void SetTime(uint64_t ms) {
    system_.SetSeconds(0);
    system_.AdvanceMicros(ms * 1000);
  }

  TestClock system_;
  std::vector<WriteClock::Bounds> saved_;
  WriteClock clock_{&system_, {1000, 7}, [this](const WriteClock::Bounds& bounds) {
                      saved_.push_back(bounds);
                      return absl::OkStatus();
                    }};
};

TEST_F(WriteClockTest, GoesOnFromTheBoundsThatWereSaved) {
  SetTime(10);
  const auto stamp = clock_.Take(3);
  ASSERT_TRUE(stamp.ok());
  EXPECT_EQ(stamp->now_ms, 1000u);
  EXPECT_EQ(stamp->write_number, 7u);
  EXPECT_EQ(clock_.Take(1)->write_number, 10u);
  ASSERT_EQ(saved_.size(), 1u) << "ahead, for many numbers";
  EXPECT_GT(saved_[0].write_number, 10u);
}

TEST_F(WriteClockTest, ATimeThatWasReadBeforeAnotherWriteIsNotGoneBackTo) {
  SetTime(2000);
  const uint64_t read_ms = clock_.Read();
  SetTime(2005);
  ASSERT_EQ(clock_.Take(1)->now_ms, 2005u);
  const auto late = clock_.TakeAt(read_ms, 1);
  ASSERT_TRUE(late.ok());
  EXPECT_EQ(late->now_ms, 2005u);
  EXPECT_EQ(late->write_number, 8u);
}

TEST_F(WriteClockTest, ReadingTheTimeHandsNothingOut) {
  SetTime(3000);
  EXPECT_EQ(clock_.Read(), 3000u);
  SetTime(2500);
  EXPECT_EQ(clock_.Now(), 2500u);
  SetTime(2400);
  EXPECT_EQ(clock_.Now(), 2500u);
  EXPECT_EQ(clock_.Take(1)->now_ms, 2500u);
}

}  // namespace
}  // namespace winnow
