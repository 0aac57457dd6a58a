// The soak itself, for a few seconds, and what it would notice.
#include <gtest/gtest.h>

#include <unistd.h>

#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/soak/growth.h"
#include "tests/engine/soak/soak.h"
#include "tests/engine/soak/usage.h"

namespace winnow::soak {
namespace {

TEST(GrowsWithoutBound, TellsGrowthFromNoise) {
  EXPECT_FALSE(GrowsWithoutBound({}, 0));
  EXPECT_FALSE(GrowsWithoutBound({1, 100, 1000, 10000, 100000}, 0));  // too few
  EXPECT_FALSE(GrowsWithoutBound({10, 80, 100, 95, 110, 105, 100, 108, 96, 104, 99, 112}, 5));
  EXPECT_FALSE(GrowsWithoutBound({0, 50, 100, 100, 101, 102, 103, 104, 105}, 0));  // warming up
  EXPECT_TRUE(GrowsWithoutBound({10, 20, 30, 40, 50, 60, 70, 80, 90}, 5));
  EXPECT_FALSE(GrowsWithoutBound({10, 20, 30, 40, 50, 60, 70, 80, 90}, 50));  // within the slack
  EXPECT_GT(ResidentBytes(), uint64_t{1} << 20);
  EXPECT_GE(OpenDescriptors(), 3u);
}

Settings Short() {
  Settings settings;
  settings.directory = absl::StrCat(testing::TempDir(), "/soak_test_", getpid());
  settings.num_intervals = 6;
  settings.interval = std::chrono::milliseconds(600);
  return settings;
}

TEST(Soak, EachFaultForAMomentLosesNothing) {
  uint64_t told = 0;
  const Report report = RunSoak(Short(), [&](const Sample&) { told++; });
  EXPECT_EQ(report.problems, std::vector<std::string>());
  EXPECT_EQ(told, 6u);
  uint64_t reads = 0;
  for (const Sample& sample : report.samples) reads += sample.reads;
  EXPECT_GT(reads, 100u);
}

TEST(Soak, AWrongReadIsNoticedAndEndsIt) {
  Settings settings = Short();
  settings.wrong_model = true;
  settings.num_intervals = 60;
  const Report report = RunSoak(settings, [](const Sample&) {});
  EXPECT_FALSE(report.problems.empty());
  EXPECT_LT(report.samples.size(), 60u);
}

}  // namespace
}  // namespace winnow::soak
