// Keys that do not exist.

#include <cmath>
#include <stdexcept>

#include "tests/filter/guard/guard_fixture.h"

namespace winnow::guard {
namespace {

using PenetrationTest = GuardTest;

TEST_F(PenetrationTest, AValidatorRefusesBeforeAnythingElse) {
  options_.is_valid = [](std::string_view key) { return key.starts_with("user:"); };
  const auto guard = NewGuard();
  database_.Write("order:1", "x");
  EXPECT_TRUE(absl::IsInvalidArgument(guard->Get("order:1", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 0);
  EXPECT_EQ(guard->statistics().refused_keys, 1u);
  database_.Write("user:1", "y");
  EXPECT_EQ(guard->Get("user:1", database_.loader()).value(), "y");
}

TEST_F(PenetrationTest, AnAbsentKeyIsLoadedOnceInALife) {
  options_.negative_ttl = seconds(60);
  const auto guard = NewGuard();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  }
  EXPECT_EQ(database_.loads(), 1);
  EXPECT_EQ(guard->statistics().negative_hits, 999u);
  clock_.Advance(seconds(60));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 2);
}

TEST_F(PenetrationTest, AfterPutAKeyThatWasAbsentIsVisibleAtOnce) {
  const auto guard = NewGuard();
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  database_.Write("k", "v");
  ASSERT_TRUE(guard->Put("k", "v").ok());
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "v");
  EXPECT_EQ(database_.loads(), 1);
}

// The row is committed: nobody is to be given the older value on account of the filter.
TEST_F(PenetrationTest, PutReplacesTheValueThoughTheFilterFails) {
  class FailingFilter final : public KeyFilter {
   public:
    bool MayContain(std::string_view) override { return true; }
    absl::Status Add(std::string_view key) override {
      if (key == "throws") throw std::runtime_error("no connection");
      return absl::UnavailableError("out of reach");
    }
  } filter;
  options_.filter = &filter;
  const auto guard = NewGuard();
  for (const std::string key : {"fails", "throws"}) {
    database_.Write(key, "old");
    EXPECT_EQ(guard->Get(key, database_.loader()).value(), "old");
    const absl::Status put = guard->Put(key, "new");
    EXPECT_TRUE(key == "fails" ? absl::IsUnavailable(put) : absl::IsInternal(put)) << put;
    EXPECT_EQ(guard->Get(key, database_.loader()).value(), "new");
  }
}

TEST_F(PenetrationTest, AClockThatIsSetBackLeavesRoomForAbsentKeys) {
  options_.max_negative_entries = 1;
  const auto guard = NewGuard();
  EXPECT_TRUE(absl::IsNotFound(guard->Get("before", database_.loader()).status()));
  clock_.Advance(-std::chrono::hours(1));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("after", database_.loader()).status()));
  EXPECT_EQ(guard->statistics().unstored_negatives, 0u);
}

TEST_F(PenetrationTest, AfterInvalidateAKeyThatWasAbsentIsLoaded) {
  const auto guard = NewGuard();
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  database_.Write("k", "v");
  ASSERT_TRUE(guard->Invalidate("k").ok());
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "v");
}

TEST_F(PenetrationTest, AbsentKeysAreRememberedForFiveMinutesAtMost) {
  options_.negative_ttl = seconds(100'000);
  const auto guard = NewGuard();
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  clock_.Advance(seconds(299));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 1);
  clock_.Advance(seconds(1));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 2);
}

TEST_F(PenetrationTest, AnErrorIsNotRemembered) {
  const auto guard = NewGuard();
  database_.Fail(absl::UnavailableError("down"));
  database_.Write("k", "v");
  EXPECT_TRUE(absl::IsUnavailable(guard->Get("k", database_.loader()).status()));
  database_.Fail(absl::OkStatus());
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "v");
}

TEST_F(PenetrationTest, SoManyAbsentKeysAreRememberedAtATime) {
  options_.max_negative_entries = 10;
  options_.negative_ttl = seconds(60);
  const auto guard = NewGuard();
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 100; ++i) {
      EXPECT_TRUE(absl::IsNotFound(guard->Get(Key(i), database_.loader()).status()));
    }
  }
  EXPECT_EQ(database_.loads(), 190);
  EXPECT_EQ(cache_->usage().entries, 10u);
  EXPECT_EQ(guard->statistics().unstored_negatives, 180u);
  clock_.Advance(seconds(60));
  EXPECT_TRUE(absl::IsNotFound(guard->Get(Key(50), database_.loader()).status()));
  EXPECT_TRUE(absl::IsNotFound(guard->Get(Key(50), database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 191);
}

// Not remembering an absent key must not let the value live on that it had.
TEST_F(PenetrationTest, ARowThatWasDeletedIsGoneThoughItIsNotRemembered) {
  options_.negative_ttl = seconds(0);
  options_.keep_stale_for = seconds(3600);
  const auto guard = NewGuard();
  const Loader absent = [](std::string_view) { return absl::NotFoundError("deleted"); };
  database_.Write("k", "v");
  EXPECT_EQ(guard->Get("k", database_.loader()).value(), "v");
  clock_.Advance(seconds(600));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("k", absent).status()));
  database_.Fail(absl::UnavailableError("down"));
  EXPECT_TRUE(absl::IsUnavailable(guard->Get("k", database_.loader()).status()));
}

// The number of loads is binomial: a million questions, each let through with the filter's rate.
TEST_F(PenetrationTest, RandomAbsentKeysReachTheDatabaseAtTheFiltersRate) {
  constexpr int kRows = 100'000;
  constexpr int kAsked = 1'000'000;
  constexpr double kRate = 0.01;
  auto filter = NewBloomKeyFilter(kRows, kRate);
  ASSERT_TRUE(filter.ok());
  options_.filter = filter->get();
  cache_ = NewMemoryCache({.capacity_bytes = 1 << 20, .num_shards = 4, .clock = &clock_});
  const auto guard = NewGuard();
  for (int i = 0; i < kRows; ++i) {
    const auto intent = guard->BeginInsert(Key(i));
    ASSERT_TRUE(intent.ok());
    database_.Write(Key(i), "row");
  }
  const Loader load = database_.loader();
  std::string value;
  for (int i = 0; i < kAsked; ++i) {
    const std::string key = absl::StrCat("absent", random_.Next());
    ASSERT_TRUE(absl::IsNotFound(guard->Get(key, load, &value)));
  }
  const double sigma = std::sqrt(kRate * (1 - kRate) * kAsked);
  EXPECT_LE(database_.loads(), kRate * kAsked + 4 * sigma);
  EXPECT_GE(database_.loads(), kRate * kAsked / 2);
  EXPECT_LE(cache_->usage().bytes, uint64_t{1} << 20);
  EXPECT_NEAR(guard->statistics().FilterFalsePositiveRate(), kRate, 0.002);
  // And no row is hidden.
  for (int i = 0; i < kRows; i += 97) {
    EXPECT_TRUE(guard->Get(Key(i), load, &value).ok()) << Key(i);
  }
}

TEST_F(PenetrationTest, WhatItDidIsATable) {
  const auto guard = NewGuard();
  database_.Write("k", "v");
  for (int i = 0; i < 4; ++i) (void)guard->Get("k", database_.loader());
  const std::string table = guard->statistics().ToTable();
  EXPECT_NE(table.find("requests                                    4\n"), std::string::npos)
      << table;
  EXPECT_NE(table.find("  found in the cache                        3  75.00 %\n"),
            std::string::npos)
      << table;
  EXPECT_NE(table.find("breaker                                closed\n"), std::string::npos)
      << table;
}

// Without a filter every absent key reaches the database: that is no rate of a filter's.
TEST_F(PenetrationTest, ARateOfFalsePositivesNeedsAFilterThatWasAsked) {
  const std::string none = "filter's false positives                    -\n";
  {
    const auto guard = NewGuard();
    EXPECT_TRUE(absl::IsNotFound(guard->Get("absent", database_.loader()).status()));
    EXPECT_EQ(guard->statistics().FilterFalsePositiveRate(), 0);
    EXPECT_TRUE(guard->statistics().ToTable().ends_with(none)) << guard->statistics().ToTable();
  }
  auto filter = NewBloomKeyFilter(1000, 0.001);
  ASSERT_TRUE(filter.ok());
  options_.filter = filter->get();
  const auto guard = NewGuard();
  EXPECT_TRUE(guard->statistics().ToTable().ends_with(none));
  EXPECT_TRUE(absl::IsNotFound(guard->Get("absent", database_.loader()).status()));
  EXPECT_TRUE(guard->statistics().ToTable().ends_with("     0.000 %\n"));
}

TEST_F(PenetrationTest, OptionsThatContradictEachOtherAreRefused) {
  options_.min_jitter = seconds(2);
  options_.max_jitter = seconds(1);
  EXPECT_TRUE(absl::IsInvalidArgument(CacheGuard::Create(cache_.get(), options_).status()));
  options_.max_jitter = seconds(3);
  options_.ttl = seconds(0);
  EXPECT_TRUE(absl::IsInvalidArgument(CacheGuard::Create(cache_.get(), options_).status()));
  options_.ttl = seconds(600);
  EXPECT_TRUE(absl::IsInvalidArgument(CacheGuard::Create(nullptr, options_).status()));
  EXPECT_TRUE(CacheGuard::Create(cache_.get(), options_).ok());
}

TEST_F(PenetrationTest, TimesMayBeForEver) {
  constexpr milliseconds kForEver = milliseconds::max();
  options_.ttl = options_.min_jitter = options_.max_jitter = kForEver;
  options_.serve_stale_for = options_.keep_stale_for = options_.max_wait = kForEver;
  options_.lock_ttl = options_.breaker_open_for = kForEver;
  const auto guard = NewGuard();
  database_.Write("key", "value");
  EXPECT_EQ(*guard->Get("key", database_.loader()), "value");
  clock_.Advance(std::chrono::hours(24 * 365 * 50));
  EXPECT_EQ(*guard->Get("key", database_.loader()), "value");
  EXPECT_EQ(database_.loads(), 1);
  ASSERT_TRUE(cache_->Set("raw", "bytes", kForEver).ok());
  std::string bytes;
  EXPECT_TRUE(*cache_->Get("raw", &bytes));
}

TEST_F(PenetrationTest, AValidatorThatThrowsRefuses) {
  options_.is_valid = [](std::string_view key) { return key.at(3) != 'x'; };
  const auto guard = NewGuard();
  EXPECT_TRUE(absl::IsInvalidArgument(guard->Get("key", database_.loader()).status()));
  EXPECT_EQ(database_.loads(), 0);
}

}  // namespace
}  // namespace winnow::guard
