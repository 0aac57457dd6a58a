// Compaction filters: what they are shown, what their decisions do, and what they never touch.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"
#include "winnow/compaction_filter.h"

namespace winnow {
namespace {

// Removes values that begin with "remove", upper-cases the first letter of those that begin with
// "change", and notes what it was shown.
class NotingFilter final : public CompactionFilter {
 public:
  Decision Filter(const Entry& entry, std::string* new_value) const override {
    EXPECT_TRUE(new_value->empty());
    if (on_call) on_call(entry);
    {
      const std::lock_guard lock(mutex_);
      shown_.push_back(absl::StrCat(std::string(entry.key), "=", std::string(entry.value)));
      last_level_ = entry.is_last_level;
      level_ = entry.level;
      family_ = entry.column_family;
    }
    if (entry.value.starts_with("remove")) return Decision::kRemove;
    if (!entry.value.starts_with("change")) return Decision::kKeep;
    *new_value = absl::StrCat("C", std::string(entry.value.substr(1)));
    return Decision::kChangeValue;
  }
  std::vector<std::string> TakeShown() {
    const std::lock_guard lock(mutex_);
    return std::move(shown_);
  }
  bool last_level() const { return last_level_; }
  int level() const { return level_; }
  const std::string& family() const { return family_; }

  std::function<void(const Entry&)> on_call;

 private:
  // Guards what follows; standard mutexes cannot be annotated.
  mutable std::mutex mutex_;
  mutable std::vector<std::string> shown_;
  mutable bool last_level_ = false;
  mutable int level_ = -1;
  mutable std::string family_;
};

using Shown = std::vector<std::string>;

class DbCompactionFilterTest : public ::testing::Test {
 protected:
  DbCompactionFilterTest() : db_(WithFilter(&filter_)) {}

  static Options WithFilter(const CompactionFilter* filter) {
    Options options = MemoryDb::Quiet();
    options.compaction_filter = filter;
    return options;
  }
  uint64_t Ticked(Ticker ticker) { return db_->GetStatistics().Get(ticker); }

  NotingFilter filter_;
  MemoryDb db_;
};

// The filter holds the job back at its last key, when many tables are behind it.
TEST_F(DbCompactionFilterTest, WhatALongJobHasWrittenIsCountedBeforeItEnds) {
  Options options = WithFilter(&filter_);
  options.target_file_bytes = 64 << 10;
  MemoryDb db(options);
  for (int i = 0; i < 400; i++) db.Put(absl::StrCat(1000 + i), std::string(1000, 'v'));
  db.Flush();
  std::atomic<bool> is_at_end = false;
  std::atomic<bool> may_end = false;
  filter_.on_call = [&](const CompactionFilter::Entry& entry) {
    if (entry.key != "1399") return;
    is_at_end = true;
    while (!may_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  };
  std::thread compaction([&] { db.CompactAll(); });
  while (!is_at_end) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const auto written = [&db] { return db->GetStatistics().Get(Ticker::kCompactionBytesWritten); };
  EXPECT_GE(written(), 256U << 10);
  may_end = true;
  compaction.join();
  EXPECT_GE(written(), 400'000U);
  EXPECT_LT(written(), 450'000U) << "each table once";
}

TEST_F(DbCompactionFilterTest, KeepsRemovesAndChanges) {
  db_.Put("a", "keep");
  db_.Put("b", "remove");
  db_.Put("c", "change");
  db_.Delete("d");
  db_.Flush();
  EXPECT_EQ(filter_.TakeShown(), Shown()) << "flushes do not ask";
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown(), (Shown{"a=keep", "b=remove", "c=change"}));
  EXPECT_TRUE(filter_.last_level());
  EXPECT_EQ(filter_.level(), 6);
  EXPECT_EQ(filter_.family(), "default");
  EXPECT_EQ(db_.MultiGet({"a", "b", "c"}), (Shown{"keep", "(absent)", "Change"}));
  EXPECT_EQ(Ticked(Ticker::kEntriesFilteredOut), 1u);
  EXPECT_EQ(Ticked(Ticker::kEntriesChangedByFilter), 1u);
  db_.Reopen();
  EXPECT_EQ(db_.MultiGet({"a", "b", "c"}), (Shown{"keep", "(absent)", "Change"}));
  uint64_t entries = 0;
  for (const LevelStatistics& row : db_->GetStatistics().levels) entries += row.num_entries;
  EXPECT_EQ(entries, 2u) << "nothing is left of what was removed on the last level";
}

TEST_F(DbCompactionFilterTest, IsShownTheNewestVersionAlone) {
  db_.Put("a", "remove old");
  db_.Flush();
  db_.Put("a", "keep");
  db_.Flush();
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown(), (Shown{"a=keep"}));
  EXPECT_EQ(db_.Get("a"), "keep");
}

TEST_F(DbCompactionFilterTest, IsNotShownWhatARangeDeletionHides) {
  ColumnFamily* const family = db_->DefaultColumnFamily();
  db_.Put("a", "keep");
  db_.Put("b", "change");
  db_.Put("c", "remove");
  db_.Flush();
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), family, "b", "d").ok());
  db_.Put("c", "keep: written after it");
  db_.Flush();
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown(), (Shown{"a=keep", "c=keep: written after it"}));
  EXPECT_EQ(db_.MultiGet({"a", "b", "c"}), (Shown{"keep", "(absent)", "keep: written after it"}));
  EXPECT_EQ(Ticked(Ticker::kEntriesChangedByFilter), 0u);
}

// Where the compaction does not reach the last level, a deletion must take the place of what is
// removed.
TEST_F(DbCompactionFilterTest, ARemovalUncoversNothing) {
  db_.Put("a", "keep: the oldest");
  db_.Put("z", "keep");
  db_.Flush();
  db_.CompactAll();
  filter_.TakeShown();
  Options options = db_.options();
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 2;
  db_.options() = options;
  db_.options().allow_ingest_behind = true;  // something older may come in below
  db_.Reopen();
  db_.Put("a", "remove");
  db_.Flush();
  db_.Put("b", "keep");
  db_.Put("a", "remove again");
  db_.Flush();
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  EXPECT_EQ(filter_.TakeShown(), (Shown{"a=remove again", "b=keep", "z=keep"}));
  EXPECT_FALSE(filter_.last_level());
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

// In the parts of a compaction too, which have threads of their own. Each of these calls would wait
// for the end of the compaction that waits for the filter.
TEST_F(DbCompactionFilterTest, ItsCallsThatWouldWaitForItAreRefused) {
  const auto other = db_->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  db_.options().background_threads = 4;
  db_.options().target_file_bytes = 64 << 10;
  db_.Reopen();
  ColumnFamily* const family = db_->DefaultColumnFamily();
  std::atomic<int> num_calls{0};
  const auto is_refused = [](const absl::Status& status) {
    EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  };
  filter_.on_call = [&](const CompactionFilter::Entry&) {
    num_calls++;
    is_refused(db_->CompactRange(family, std::nullopt, std::nullopt));
    is_refused(db_->Flush(family));
    is_refused(db_->WaitForBackgroundWork());
    is_refused(db_->DropColumnFamily(*db_->FindColumnFamily("other")));
    is_refused(db_->Refilter(family, {}).status());
    is_refused(db_->Ingest({}, {}).status());
    is_refused(db_->Close());
    is_refused(db_->Put({}, family, "new", "v"));
    is_refused(db_->DeleteRange({}, family, "a", "b"));
    is_refused(db_->CreateColumnFamily({}, "new").status());
    is_refused(db_->SetOption(family, "write_buffer_bytes", "1M"));
    std::string value;
    EXPECT_TRUE(db_->Get({}, family, "k100", &value).ok());
  };
  for (int i = 0; i < 300; i++) {
    db_.Put(absl::StrCat("k", 100 + i), std::string(2000, static_cast<char>('a' + i % 26)));
    if (i % 100 == 99) db_.Flush();
  }
  db_.CompactAll();
  EXPECT_EQ(num_calls, 300);
  filter_.on_call = nullptr;
  db_.CompactAll();
  EXPECT_TRUE(db_->DropColumnFamily(*db_->FindColumnFamily("other")).ok());
}

// A drop waits for the compactions of its family with the queue of writers stopped.
TEST_F(DbCompactionFilterTest, ADropDoesNotWaitForAFilterThatWrites) {
  db_.options().disable_auto_compactions = true;
  db_.Reopen();
  const auto other = db_->CreateColumnFamily(db_.options(), "other");
  ASSERT_TRUE(other.ok());
  for (int i = 0; i < 100; i++) {
    ASSERT_TRUE(db_->Put({}, *other, absl::StrCat("k", i), "keep").ok());
  }
  std::atomic<bool> is_called{false};
  std::atomic<bool> has_time{false};
  filter_.on_call = [&](const CompactionFilter::Entry&) {
    is_called = true;
    while (!has_time) std::this_thread::yield();
    EXPECT_TRUE(absl::IsFailedPrecondition(db_->Put({}, "callback", "v")));
  };
  std::thread compacting([&] { db_->CompactRange(*other, {}, {}).IgnoreError(); });
  while (!is_called) std::this_thread::yield();
  std::thread dropping([&] { EXPECT_TRUE(db_->DropColumnFamily(*other).ok()); });
  // Most probably the drop waits by now.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  has_time = true;
  dropping.join();
  compacting.join();
  filter_.on_call = nullptr;
}

TEST_F(DbCompactionFilterTest, NeverSeesWhatASnapshotNeeds) {
  db_.Put("a", "remove 1");
  db_.Put("b", "change 1");
  const Snapshot* snapshot = db_->GetSnapshot();
  db_.Put("b", "change 2");
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown(), (Shown{"b=change 2"}));
  EXPECT_EQ(db_.Get("a", snapshot), "remove 1");
  EXPECT_EQ(db_.Get("b", snapshot), "change 1");
  EXPECT_EQ(db_.Get("b"), "Change 2");
  db_->ReleaseSnapshot(snapshot);
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

// The snapshot is younger than the compaction's list of them, and older than its outputs.
TEST_F(DbCompactionFilterTest, ASnapshotTakenMeanwhileKeepsWhatItSees) {
  db_.Put("a", "remove");
  db_.Put("b", "change");
  const Snapshot* snapshot = nullptr;
  // Not in the filter, which must not call the database: another thread does.
  filter_.on_call = [&](const CompactionFilter::Entry&) {
    if (snapshot != nullptr) return;
    std::thread([&] { snapshot = db_->GetSnapshot(); }).join();
  };
  db_.CompactAll();
  ASSERT_NE(snapshot, nullptr);
  EXPECT_EQ(db_.Get("a", snapshot), "remove");
  EXPECT_EQ(db_.Get("b", snapshot), "change");
  db_->ReleaseSnapshot(snapshot);
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "(absent)");
  EXPECT_EQ(db_.Get("b"), "Change");
}

TEST_F(DbCompactionFilterTest, ASnapshotReleasedBeforeTheEndStopsNothing) {
  db_.Put("a", "remove");
  filter_.on_call = [&](const CompactionFilter::Entry&) {
    std::thread([&] { db_->ReleaseSnapshot(db_->GetSnapshot()); }).join();
  };
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "(absent)");
  // Snapshots are to be had again.
  const Snapshot* snapshot = db_->GetSnapshot();
  ASSERT_NE(snapshot, nullptr);
  db_->ReleaseSnapshot(snapshot);
}

TEST_F(DbCompactionFilterTest, IsShownWhatHasNotExpiredWithoutItsTimeAndKeepsIt) {
  TestClock clock;
  db_.options().clock = &clock;
  db_.options().ttl_seconds = 100;
  db_.Reopen();
  db_.Put("a", "keep");
  clock.AdvanceSeconds(50);
  db_.Put("b", "change");
  clock.AdvanceSeconds(50);
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown(), (Shown{"b=change"}));
  EXPECT_EQ(db_.Get("b"), "Change");
  clock.AdvanceSeconds(49);
  EXPECT_EQ(db_.Get("b"), "Change");
  clock.AdvanceSeconds(1);
  EXPECT_EQ(db_.Get("b"), "(absent)") << "changing a value does not make it younger";
}

TEST_F(DbCompactionFilterTest, WhatItThrowsFailsTheCompactionAndLosesNothing) {
  db_.Put("a", "keep");
  db_.Put("b", "remove");
  db_.Flush();
  filter_.on_call = [](const CompactionFilter::Entry&) { throw std::runtime_error("no luck"); };
  const absl::Status failed = db_->CompactRange(std::nullopt, std::nullopt);
  EXPECT_TRUE(absl::IsFailedPrecondition(failed)) << failed;
  EXPECT_TRUE(absl::StrContains(failed.message(), "compaction filter: has thrown \"no luck\""))
      << failed;
  EXPECT_EQ(db_.Get("b"), "remove");
  filter_.on_call = nullptr;
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "keep");
  EXPECT_EQ(db_.Get("b"), "(absent)");
}

TEST_F(DbCompactionFilterTest, AnIteratorKeepsWhatItHas) {
  db_.Put("a", "remove");
  db_.Flush();
  const auto iterator = db_->NewIterator(ReadOptions());
  db_.CompactAll();
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "remove");
}

// Cut into parts, each entry is shown once, and each part asks for its own keys.
TEST_F(DbCompactionFilterTest, ManyFilesAndThreadsAreShownEachValueOnce) {
  db_.options().background_threads = 4;
  db_.options().target_file_bytes = 1 << 20;
  db_.Reopen();
  const std::string filler(1000, 'x');
  for (int i = 0; i < 70'000; i++) {
    db_.Put(absl::StrCat("key", 100'000 + i), absl::StrCat(i % 3 == 0 ? "remove" : "keep", filler));
  }
  db_.Flush();
  db_.CompactAll();
  EXPECT_EQ(filter_.TakeShown().size(), 70'000u);
  EXPECT_EQ(Ticked(Ticker::kEntriesFilteredOut), 23'334u);
  for (int i = 0; i < 70'000; i += 997) {
    EXPECT_EQ(db_.Get(absl::StrCat("key", 100'000 + i)) == "(absent)", i % 3 == 0) << i;
  }
}

}  // namespace
}  // namespace winnow
