// Options::filter_memory_budget on a slow disk: who reads units of filters gives way.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "engine/file_system/forwarding_file_system.h"
#include "tests/support/db_fixture.h"
#include "tests/support/filter_budget_json.h"

namespace winnow::filter_loading {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr uint64_t kKeys = 120'000;
constexpr milliseconds kPrompt{1000};

// Reads of tables that are open take so long from the moment on in which it is told so. Those that
// are opened later, by a flush, are quick.
class SlowDisk final : public ForwardingFileSystem {
 public:
  explicit SlowDisk(FileSystem* target) : ForwardingFileSystem(target) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    WINNOW_ASSIGN_OR_RETURN(auto file, ForwardingFileSystem::OpenRandomAccess(path));
    if (!path.ends_with(".sst") || delay_ms_.load() > 0) return file;
    return std::make_unique<File>(std::move(file), this);
  }

  void set_delay(milliseconds delay) { delay_ms_.store(delay.count()); }

 private:
  class File final : public RandomAccessFile {
   public:
    File(std::unique_ptr<RandomAccessFile> file, const SlowDisk* disk)
        : file_(std::move(file)), disk_(*disk) {}
    absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
      std::this_thread::sleep_for(milliseconds(disk_.delay_ms_.load()));
      return file_->Read(offset, length, buffer);
    }
    uint64_t size() const override { return file_->size(); }

   private:
    const std::unique_ptr<RandomAccessFile> file_;
    const SlowDisk& disk_;
  };

  std::atomic<int64_t> delay_ms_{0};
};

std::string KeyAt(uint64_t i) { return absl::StrCat("key", 10'000'000 + i); }

// Hundreds of units, of which one for each table is in memory.
class FilterLoading : public testing::Test {
 protected:
  void SetUp() override {
    options_.file_system = &disk_;
    options_.target_file_bytes = 64 << 10;
    options_.filter = "blocked_bloom";
    options_.filter_memory_budget = 4 << 20;
    db_ = OpenOrFail(options_, "/db");
    for (uint64_t i = 0; i < kKeys; i++) {
      ASSERT_TRUE(db_->Put(WriteOptions(), KeyAt(i), std::string(100, 'v')).ok());
    }
    ASSERT_TRUE(db_->CompactRange(std::nullopt, std::nullopt).ok());
    all_bytes_ = SettledFilterBudgetJson(*db_)["resident_bytes"];
    // What the smallest that works leaves: the first units alone.
    const absl::Status refused = db_->SetOption("filter_memory_budget", "64K");
    const std::string text(refused.message());
    const std::string words = "the smallest that works is ";
    ASSERT_NE(text.find(words), std::string::npos) << text;
    ASSERT_TRUE(db_->SetOption("filter_memory_budget",
                               text.substr(text.find(words) + words.size(),
                                           text.find(';') - text.find(words) - words.size()))
                    .ok());
    units_to_load_ = db_->GetStatistics().Get(Ticker::kFilterUnitsDropped);
    ASSERT_GE(units_to_load_, 200u);
  }

  uint64_t Loaded() const { return db_->GetStatistics().Get(Ticker::kFilterUnitsLoaded); }

  template <typename Call>
  static void ExpectPrompt(const char* what, Call call) {
    SCOPED_TRACE(what);
    const Clock::time_point begin = Clock::now();
    const absl::Status status = call();
    EXPECT_LT(Clock::now() - begin, kPrompt);
    EXPECT_TRUE(status.ok()) << status;
  }

  const std::unique_ptr<RecordingFileSystem> memory_ = NewUnrecordedFileSystem();
  SlowDisk disk_{memory_.get()};
  Options options_ = MemoryDb::Quiet();
  std::unique_ptr<DB> db_;
  uint64_t all_bytes_ = 0;
  uint64_t units_to_load_ = 0;
};

// All of them would take 8 seconds and more.
TEST_F(FilterLoading, NobodyWaitsForAllUnitsOfASlowDisk) {
  disk_.set_delay(milliseconds(40));
  ExpectPrompt("the budget", [&] { return db_->SetOption("filter_memory_budget", "4M"); });
  ExpectPrompt("an option", [&] { return db_->SetOption("max_log_bytes", "2G"); });
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(db_->Put(WriteOptions(), KeyAt(1), "newer").ok());
    ExpectPrompt("a flush", [&] { return db_->Flush(); });
  }
  ExpectPrompt("a report", [&] {
    return db_->GetProperty(db_->DefaultColumnFamily(), "winnow.filter-budget-json").status();
  });
  EXPECT_LT(Loaded(), units_to_load_) << "all are loaded: nothing was waited for";
  ExpectPrompt("the end", [&] { return db_->Close(); });
}

TEST_F(FilterLoading, WhatGaveWayGoesOnByItself) {
  disk_.set_delay(milliseconds(2));
  for (const char* const budget : {"4M", "0"}) {
    SCOPED_TRACE(budget);
    ASSERT_TRUE(db_->SetOption("filter_memory_budget", budget).ok());
    const Clock::time_point end = Clock::now() + std::chrono::seconds(60);
    while (FilterBudgetJson(*db_)["resident_bytes"] < all_bytes_ && Clock::now() < end) {
      std::this_thread::sleep_for(milliseconds(5));
    }
    EXPECT_EQ(FilterBudgetJson(*db_)["resident_bytes"], all_bytes_);
    EXPECT_EQ(FilterBudgetJson(*db_)["dropped_bytes"], 0u);
    disk_.set_delay(milliseconds(0));
    ASSERT_TRUE(db_->SetOption("filter_memory_budget", absl::StrCat(all_bytes_ / 2)).ok());
    disk_.set_delay(milliseconds(2));
  }
}

}  // namespace
}  // namespace winnow::filter_loading
