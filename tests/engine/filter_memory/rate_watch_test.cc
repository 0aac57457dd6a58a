#include "engine/filter_memory/rate_watch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace winnow {
namespace {

TEST(RateWatch, WhatIsPromisedIsKeptByChance) {
  std::mt19937 random(1);
  RateWatch watch;
  for (int second = 0; second < 2000; second++) {
    std::binomial_distribution<int> passes(10'000, 0.01);
    watch.Add(10'000, passes(random), 0.01, 1);
    EXPECT_FALSE(watch.HasJustLeft()) << second;
  }
  EXPECT_NEAR(watch.measured_fpr(), 0.01, 0.001);
  EXPECT_LT(watch.low(), watch.measured_fpr());
  EXPECT_GT(watch.high(), watch.measured_fpr());
}

TEST(RateWatch, ToldOnceEachTimeThatTheRateLeaves) {
  RateWatch watch;
  watch.Add(100'000, 1000, 0.01, 1);
  EXPECT_FALSE(watch.HasJustLeft());
  watch.Add(100'000, 3000, 0.01, 1);
  EXPECT_TRUE(watch.HasJustLeft());
  watch.Add(100'000, 3000, 0.01, 1);
  EXPECT_FALSE(watch.HasJustLeft()) << "was told";
  for (int i = 0; i < 1000; i++) watch.Add(100'000, 1000, 0.01, 1);
  EXPECT_FALSE(watch.HasJustLeft());
  for (int i = 0; i < 100; i++) watch.Add(100'000, 100, 0.01, 1);
  EXPECT_TRUE(watch.HasJustLeft()) << "better than promised is not as promised, either";
}

TEST(RateWatch, OfFewLookupsNothingIsSaid) {
  RateWatch watch;
  EXPECT_TRUE(std::isnan(watch.measured_fpr()));
  watch.Add(10, 10, 0.01, 1);
  EXPECT_TRUE(watch.IsKept());
}

}  // namespace
}  // namespace winnow
