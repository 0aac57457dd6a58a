// Under a budget of filter memory look-ups of absent keys pay for compactions before a level is
// due.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "filter/base/mutex.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

constexpr uint64_t kNumKeys = 40'000;
constexpr int kLastLevel = 6;
constexpr char kReason[] = "look-ups read blocks in vain";

// Even numbers are there, odd ones are not.
std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

class EarlyCompactions final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != Event::Kind::kCompactionBegin || event.message != kReason) return;
    MutexLock lock(&mutex_);
    count_++;
  }
  int count() {
    MutexLock lock(&mutex_);
    return count_;
  }

 private:
  Mutex mutex_;
  int count_ ABSL_GUARDED_BY(mutex_) = 0;
};

class ReadsInVainTest : public testing::Test {
 protected:
  // Nine tenths of the keys at the last level and a tenth in level 0, where nothing is due; four
  // bits a key for their filters, which then let many look-ups through.
  void Open(Options options) {
    options.write_buffer_bytes = 1 << 20;
    options.target_file_bytes = 256 << 10;
    options.level_base_bytes = 64 << 20;
    options.background_threads = 2;
    options.filter = "blocked_bloom";
    options.listeners.push_back(events_);
    db_ = std::make_unique<MemoryDb>(options);
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < kNumKeys; i++) {
      if (i % 10 != 0) db_->Put(KeyAt(2 * i), value);
    }
    db_->CompactAll();
    for (uint64_t i = 0; i < kNumKeys; i += 10) db_->Put(KeyAt(2 * i), value);
    db_->Flush();
  }

  // Each change of the budget is a round, in which look-ups are counted.
  void Ask(int rounds) {
    std::mt19937_64 random(1);
    std::string value;
    for (int round = 0; round < rounds; round++) {
      for (int i = 0; i < 20'000; i++) {
        const std::string key = absl::StrCat(KeyAt(random() % (2 * kNumKeys)), "/", random());
        ASSERT_TRUE(absl::IsNotFound((*db_)->Get(ReadOptions(), key, &value)));
      }
      if (budget_ != 0) {
        budget_++;
        const absl::Status set = (*db_)->SetOption("filter_memory_budget", absl::StrCat(budget_));
        ASSERT_TRUE(set.ok()) << set;
      }
      ASSERT_TRUE((*db_)->WaitForBackgroundWork().ok());
    }
  }

  uint64_t FilesAbove() {
    uint64_t files = 0;
    for (const LevelStatistics& level : (*db_)->GetStatistics().levels) {
      if (level.level < kLastLevel) files += level.num_files;
    }
    return files;
  }

  void ExpectSound() {
    std::string value;
    for (uint64_t i = 0; i < 2 * kNumKeys; i += 3) {
      ASSERT_EQ((*db_)->Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0) << i;
    }
    EXPECT_EQ(VerifyMessages(**db_), std::vector<std::string>());
  }

  uint64_t budget_ = kNumKeys / 2;
  const std::shared_ptr<EarlyCompactions> events_ = std::make_shared<EarlyCompactions>();
  std::unique_ptr<MemoryDb> db_;
};

Options Budgeted(uint64_t budget) {
  Options options = MemoryDb::Quiet();
  options.disable_auto_compactions = false;
  options.filter_memory_budget = budget;
  options.block_cache_bytes = 64 << 10;
  return options;
}

TEST_F(ReadsInVainTest, BringEverythingToTheLastLevelAndThenEnd) {
  Open(Budgeted(budget_));
  ASSERT_GT(FilesAbove(), 0u);
  EXPECT_EQ(events_->count(), 0);
  Ask(30);
  EXPECT_EQ(FilesAbove(), 0u);
  const int num_compactions = events_->count();
  EXPECT_GT(num_compactions, 0);
  Ask(10);
  EXPECT_EQ(events_->count(), num_compactions) << "nothing lies below the last level";
  ExpectSound();
}

TEST_F(ReadsInVainTest, MakeNoWorkWhereCompactionsAreOff) {
  Options options = Budgeted(budget_);
  options.disable_auto_compactions = true;
  Open(options);
  Ask(10);
  EXPECT_GT(FilesAbove(), 0u);
  EXPECT_EQ(events_->count(), 0);
}

TEST_F(ReadsInVainTest, CostNothingWhereBlocksAreInTheCache) {
  Options options = Budgeted(budget_);
  options.block_cache_bytes = 64 << 20;
  Open(options);
  const auto everything = (*db_)->NewIterator(ReadOptions());
  for (everything->SeekToFirst(); everything->Valid(); everything->Next()) {
  }
  Ask(30);
  EXPECT_GT(FilesAbove(), 0u);
  EXPECT_EQ(events_->count(), 0);
}

TEST_F(ReadsInVainTest, AreNotCountedWithoutABudget) {
  budget_ = 0;
  Open(Budgeted(0));
  Ask(10);
  EXPECT_GT(FilesAbove(), 0u);
  EXPECT_EQ(events_->count(), 0);
}

}  // namespace
}  // namespace winnow
