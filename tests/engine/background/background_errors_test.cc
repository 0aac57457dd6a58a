// What follows from an error in the background, and when work is tried again, on a clock of the
// test's own.
#include "engine/background/background_errors.h"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace winnow {
namespace {

using std::chrono::milliseconds;

class BackgroundErrorsTest : public testing::Test {
 protected:
  SteadyTime now_{};
  EventQueue events_{{}};
  Recorder recorder_;
  int changes_ = 0;
  BackgroundErrors errors_{&events_, &recorder_, [this] { changes_++; }, [this] { return now_; }};

  const absl::Status disk_full_ = absl::ResourceExhaustedError("no space left");
  const absl::Status io_error_ = absl::UnavailableError("input/output error");
};

TEST_F(BackgroundErrorsTest, AFullDiskIsTriedAgainForEverAndLessAndLessOften) {
  std::vector<int64_t> delays;
  for (int i = 0; i < 12; i++) {
    errors_.JobFailed(JobKind::kFlush, disk_full_);
    EXPECT_TRUE(errors_.fatal().ok());
    EXPECT_TRUE(errors_.IsWaitingToRetry(JobKind::kFlush));
    delays.push_back(std::chrono::duration_cast<milliseconds>(*errors_.next_try() - now_).count());
    now_ = *errors_.next_try();
    EXPECT_FALSE(errors_.IsWaitingToRetry(JobKind::kFlush));
  }
  EXPECT_EQ(delays, (std::vector<int64_t>{50, 100, 200, 400, 800, 1600, 2000, 2000, 2000, 2000,
                                          2000, 2000}));
  EXPECT_EQ(errors_.num_failures(JobKind::kFlush), 12u);
  EXPECT_EQ(changes_, 12);
  errors_.JobSucceeded(JobKind::kFlush);
  EXPECT_TRUE(errors_.Gravest().ok());
  errors_.JobFailed(JobKind::kFlush, disk_full_);
  EXPECT_EQ(*errors_.next_try() - now_, milliseconds(50))
      << "success forgets the failures before it";
}

TEST_F(BackgroundErrorsTest, AnotherIoErrorIsFatalTheThirdTimeInARow) {
  errors_.JobFailed(JobKind::kFlush, io_error_);
  errors_.JobFailed(JobKind::kFlush, io_error_);
  EXPECT_TRUE(errors_.fatal().ok());
  errors_.JobSucceeded(JobKind::kFlush);
  errors_.JobFailed(JobKind::kFlush, io_error_);
  errors_.JobFailed(JobKind::kFlush, io_error_);
  EXPECT_TRUE(errors_.fatal().ok());
  errors_.JobFailed(JobKind::kFlush, io_error_);
  EXPECT_FALSE(errors_.fatal().ok());
  EXPECT_NE(errors_.fatal().message().find("a flush failed"), absl::string_view::npos);
}

TEST_F(BackgroundErrorsTest, TheFirstFatalErrorStays) {
  errors_.SetFatal(absl::DataLossError("first"), "the write-ahead log");
  errors_.SetFatal(absl::DataLossError("second"), "a flush");
  EXPECT_NE(errors_.fatal().message().find("first"), absl::string_view::npos);
  errors_.JobSucceeded(JobKind::kFlush);
  EXPECT_FALSE(errors_.fatal().ok()) << "only reopening cures it";
  EXPECT_EQ(changes_, 1);
}

TEST_F(BackgroundErrorsTest, WorkThatWasCancelledIsNoError) {
  errors_.JobFailed(JobKind::kCompaction, absl::CancelledError("the database is closing"));
  errors_.SetFatal(absl::CancelledError("the database is closing"), "a compaction");
  EXPECT_TRUE(errors_.Gravest().ok());
  EXPECT_EQ(errors_.num_failures(JobKind::kFlush), 0u);
}

TEST_F(BackgroundErrorsTest, WhoAsksNeedNotWaitForTheRetry) {
  errors_.JobFailed(JobKind::kFlush, disk_full_);
  now_ += milliseconds(10);
  EXPECT_TRUE(errors_.IsWaitingToRetry(JobKind::kFlush));
  errors_.RetryNow(JobKind::kFlush);
  EXPECT_FALSE(errors_.IsWaitingToRetry(JobKind::kFlush));
  EXPECT_FALSE(errors_.retried(JobKind::kFlush).ok()) << "it has not been done yet";
}

// A call that waited for a flush once gave up when a compaction met damage, and reported success
// with the flush still to be done.
TEST_F(BackgroundErrorsTest, DamageEndsNobodysWaitForAFlush) {
  errors_.DamageFound(absl::DataLossError("000012.sst"), 1);
  EXPECT_EQ(errors_.num_failures(JobKind::kFlush), 0u);
  EXPECT_EQ(changes_, 1) << "those who wait look again";
  EXPECT_TRUE(absl::IsDataLoss(errors_.Gravest()));
}

// A compaction that did not fit once kept flushes from being tried, and a flush's success forgot
// how often the compaction had failed.
TEST_F(BackgroundErrorsTest, KindsOfJobsWaitAndFailApart) {
  errors_.JobFailed(JobKind::kCompaction, disk_full_);
  errors_.JobFailed(JobKind::kCompaction, disk_full_);
  EXPECT_TRUE(errors_.IsWaitingToRetry(JobKind::kCompaction));
  EXPECT_FALSE(errors_.IsWaitingToRetry(JobKind::kFlush));
  EXPECT_EQ(*errors_.next_try() - now_, milliseconds(100));
  errors_.JobSucceeded(JobKind::kFlush);
  EXPECT_TRUE(errors_.IsWaitingToRetry(JobKind::kCompaction));
  EXPECT_FALSE(errors_.Gravest().ok());
  errors_.JobFailed(JobKind::kFlush, disk_full_);
  EXPECT_EQ(*errors_.next_try() - now_, milliseconds(50)) << "the earlier of the two";
  errors_.JobFailed(JobKind::kCompaction, disk_full_);
  errors_.JobSucceeded(JobKind::kFlush);
  EXPECT_EQ(*errors_.next_try() - now_, milliseconds(200));
  errors_.JobSucceeded(JobKind::kCompaction);
  EXPECT_FALSE(errors_.next_try().has_value());
}

TEST_F(BackgroundErrorsTest, AStalledWriteIsRefusedForTheFailureOfWhatItWaitsFor) {
  EXPECT_TRUE(errors_.StallError(JobKind::kFlush).ok());
  errors_.DamageFound(absl::DataLossError("000012.sst"), 2);
  EXPECT_TRUE(errors_.StallError(JobKind::kFlush).ok())
      << "damage elsewhere keeps no flush waiting";
  EXPECT_TRUE(errors_.StallError(JobKind::kCompaction).ok()) << "nor what is sound from compaction";
  EXPECT_EQ(recorder_.Sum().tickers[static_cast<size_t>(Ticker::kFilesQuarantined)], 2u);
  errors_.JobFailed(JobKind::kCompaction, disk_full_);
  EXPECT_TRUE(errors_.StallError(JobKind::kFlush).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(errors_.StallError(JobKind::kCompaction)));
  errors_.SetFatal(io_error_, "the manifest");
  EXPECT_TRUE(absl::IsUnavailable(errors_.StallError(JobKind::kFlush)));
}

}  // namespace
}  // namespace winnow
