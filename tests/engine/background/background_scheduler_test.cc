// The threads that run background jobs: they take what there is, pause after a failure, and end.
#include "engine/background/background_scheduler.h"

#include <gtest/gtest.h>

#include <atomic>

namespace winnow {
namespace {

// Jobs that are there because the test says so.
class CountedJobs final : public BackgroundJobs {
 public:
  explicit CountedJobs(DatabaseMutex* mutex) : mutex_(mutex) {}

  bool RunMostUrgent() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    if (due_ == 0) return false;
    due_--;
    DatabaseUnlock unlock(mutex_);
    running_.fetch_add(1);
    num_run_.fetch_add(1);
    running_.fetch_sub(1);
    return true;
  }
  void ReleaseReplaced() override { num_released_.fetch_add(1); }
  absl::Status DoUpkeep() override { return files_gone_.load() ? FilesGone() : absl::OkStatus(); }

  static absl::Status FilesGone() { return absl::DataLossError("LOCK: was removed"); }
  void set_files_gone() { files_gone_.store(true); }

  void Add(int jobs) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) { due_ += jobs; }
  bool AllRun() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex) {
    return due_ == 0 && running_.load() == 0;
  }
  int num_run() const { return num_run_.load(); }
  int num_released() const { return num_released_.load(); }

 private:
  DatabaseMutex* const mutex_;
  int due_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::atomic<bool> files_gone_{false};
  std::atomic<int> running_{0};
  std::atomic<int> num_run_{0};
  std::atomic<int> num_released_{0};
};

class BackgroundSchedulerTest : public testing::Test {
 protected:
  void AddAndWait(int jobs) {
    DatabaseLock lock(&mutex_);
    jobs_.Add(jobs);
    scheduler_.SignalWork();
    while (!jobs_.AllRun()) scheduler_.WaitForProgress();
  }

  DatabaseMutex mutex_;
  EventQueue events_{{}};
  Recorder recorder_;
  std::atomic<int> errors_seen_{0};
  BackgroundScheduler scheduler_{&mutex_, &events_, &recorder_, [this] { errors_seen_++; }};
  CountedJobs jobs_{&mutex_};
};

TEST_F(BackgroundSchedulerTest, RunsEveryJobOnceAndReleasesAfterEach) {
  ASSERT_TRUE(scheduler_.Start(3, &jobs_).ok());
  for (int round = 1; round <= 50; round++) AddAndWait(7);
  scheduler_.Stop();
  EXPECT_EQ(jobs_.num_run(), 350);
  EXPECT_EQ(jobs_.num_released(), 350);
}

TEST_F(BackgroundSchedulerTest, WorkThatIsDueAtTheStartIsFound) {
  {
    DatabaseLock lock(&mutex_);
    jobs_.Add(5);
  }
  ASSERT_TRUE(scheduler_.Start(2, &jobs_).ok());
  AddAndWait(0);
  scheduler_.Stop();
  EXPECT_EQ(jobs_.num_run(), 5);
}

TEST_F(BackgroundSchedulerTest, NothingRunsAfterAFatalErrorOrAfterStop) {
  ASSERT_TRUE(scheduler_.Start(2, &jobs_).ok());
  {
    DatabaseLock lock(&mutex_);
    scheduler_.errors().SetFatal(absl::DataLossError("the manifest"), "a flush");
    jobs_.Add(3);
    scheduler_.SignalWork();
  }
  EXPECT_EQ(errors_seen_.load(), 1);
  EXPECT_FALSE(scheduler_.cancelled().load());
  scheduler_.Stop();
  EXPECT_TRUE(scheduler_.cancelled().load());
  EXPECT_EQ(jobs_.num_run(), 0);
}

TEST_F(BackgroundSchedulerTest, AJobThatFailedIsTriedAgainByItself) {
  ASSERT_TRUE(scheduler_.Start(1, &jobs_).ok());
  DatabaseLock lock(&mutex_);
  scheduler_.errors().JobFailed(JobKind::kFlush, absl::ResourceExhaustedError("disk full"));
  jobs_.Add(1);
  scheduler_.SignalWork();
  while (!jobs_.AllRun()) scheduler_.WaitForProgress();
  EXPECT_EQ(jobs_.num_run(), 1);
  DatabaseUnlock unlock(&mutex_);
  scheduler_.Stop();
}

// Even of a database that nobody uses.
TEST_F(BackgroundSchedulerTest, FilesThatSomebodyTookAwayAreAFatalError) {
  jobs_.set_files_gone();
  ASSERT_TRUE(scheduler_.Start(2, &jobs_).ok());
  {
    DatabaseLock lock(&mutex_);
    while (scheduler_.errors().fatal().ok()) scheduler_.WaitForProgress();
    EXPECT_TRUE(absl::IsDataLoss(scheduler_.errors().fatal()));
    EXPECT_NE(scheduler_.errors().fatal().message().find("LOCK: was removed"),
              absl::string_view::npos);
  }
  scheduler_.Stop();
  EXPECT_EQ(errors_seen_.load(), 1);
}

}  // namespace
}  // namespace winnow
