// Calls wait for what was asked of them and for no more, and what a reader held back goes once it
// has ended.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"
#include "winnow/merge_operator.h"

namespace winnow::waiting {
namespace {

// A place inside of a look-up or a flush where a test can stop it.
class Stopping final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.stopping"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (on_call) on_call(key);
    *result = absl::StrCat(std::string(existing.value_or("")), "|", operands.size());
    return absl::OkStatus();
  }
  std::function<void(std::string_view key)> on_call;
};

// False: it has not come to be so.
bool WaitUntil(const std::function<bool()>& is_so, std::chrono::seconds most) {
  const auto end = std::chrono::steady_clock::now() + most;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

absl::Status Merge(DB& db, std::string_view key) {
  return db.Merge(WriteOptions(), db.DefaultColumnFamily(), key, "+");
}

size_t NumTables(MemoryDb& db) {
  const std::vector<std::string> names = *db.file_system().List(MemoryDb::kPath);
  return static_cast<size_t>(std::count_if(
      names.begin(), names.end(), [](const auto& name) { return name.ends_with(".sst"); }));
}

TEST(Waiting, WhatALookUpHeldGoesWithoutAFurtherJob) {
  const auto stopping = std::make_shared<Stopping>();
  Options options = MemoryDb::Quiet();
  options.merge_operator = stopping;
  // They outlive the database, whose threads ask them to the end.
  std::atomic<bool> is_inside{false};
  std::atomic<bool> may_go{false};
  const std::thread::id main_thread = std::this_thread::get_id();
  std::atomic<std::thread::id> reader_id{main_thread};
  MemoryDb db(options);
  for (int i = 0; i < 3; i++) {
    ASSERT_TRUE(Merge(*db, "k").ok());
    db.Flush();
  }
  ASSERT_EQ(NumTables(db), 3u);
  stopping->on_call = [&](std::string_view) {
    if (std::this_thread::get_id() != reader_id.load()) return;
    is_inside = true;
    while (!may_go) std::this_thread::yield();
  };
  std::thread reader([&] {
    reader_id = std::this_thread::get_id();
    EXPECT_EQ(db.Get("k"), "|3");
  });
  ASSERT_TRUE(WaitUntil([&] { return is_inside.load(); }, std::chrono::seconds(60)));
  db.CompactAll();
  EXPECT_EQ(NumTables(db), 4u) << "the reader has the inputs";
  may_go = true;
  reader.join();
  EXPECT_TRUE(WaitUntil([&] { return NumTables(db) == 1; }, std::chrono::seconds(60)));
}

TEST(Waiting, FlushWaitsForNoMemtableThatCameAfterIt) {
  const auto stopping = std::make_shared<Stopping>();
  Options options = MemoryDb::Quiet();
  options.merge_operator = stopping;
  options.write_buffer_bytes = 64 << 10;
  std::atomic<bool> first_is_flushed_by_now{false};
  std::atomic<bool> first_may_go{false};
  std::atomic<bool> second_has_begun{false};
  std::atomic<bool> second_may_go{false};
  MemoryDb db(options);
  stopping->on_call = [&](std::string_view key) {
    std::atomic<bool>& begun = key == "first" ? first_is_flushed_by_now : second_has_begun;
    std::atomic<bool>& may_go = key == "first" ? first_may_go : second_may_go;
    begun = true;
    while (!may_go) std::this_thread::yield();
  };
  const auto put_with_operands = [&](std::string_view key) {
    db.Put(key, "v");
    ASSERT_TRUE(Merge(*db, key).ok());
    ASSERT_TRUE(Merge(*db, key).ok());
  };
  put_with_operands("first");
  std::atomic<bool> has_returned{false};
  std::thread flushing([&] {
    db.Flush();
    has_returned = true;
  });
  ASSERT_TRUE(WaitUntil([&] { return first_is_flushed_by_now.load(); }, std::chrono::seconds(60)));
  put_with_operands("second");
  // Enough for one switch of memtables, and not for a second, for which writes would wait.
  for (int i = 0; i < 12; i++) db.Put(absl::StrCat("more", i), std::string(8 << 10, 'v'));
  first_may_go = true;
  EXPECT_TRUE(WaitUntil([&] { return has_returned.load(); }, std::chrono::seconds(60)));
  EXPECT_TRUE(WaitUntil([&] { return second_has_begun.load(); }, std::chrono::seconds(60)));
  second_may_go = true;
  flushing.join();
}

// Its look-up of a long chain is a read of the iterator like any other.
TEST(Waiting, AScanThatFillsNoCacheDoesNotDoSoForLongChains) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Stopping>();
  options.level0_slowdown_trigger = 1000;
  options.level0_stop_trigger = 2000;
  MemoryDb db(options);
  constexpr int kOperands = 70;
  for (int i = 0; i < kOperands; i++) {
    ASSERT_TRUE(Merge(*db, "k").ok());
    db.Flush();
  }
  db.Reopen();
  ReadOptions read;
  read.fill_cache = false;
  const uint64_t before = std::stoull(*db->GetProperty("winnow.block-cache-usage"));
  const auto iterator = db->NewIterator(read);
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid()) << iterator->status();
  EXPECT_EQ(iterator->value(), absl::StrCat("|", kOperands));
  EXPECT_EQ(std::stoull(*db->GetProperty("winnow.block-cache-usage")), before);
}

// Stops the thread of the events at the end of a flush.
class StoppedListener final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != Event::Kind::kFlushEnd) return;
    is_stopped.store(true);
    while (!may_go_on.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::atomic<bool> is_stopped{false};
  std::atomic<bool> may_go_on{false};
};

TEST(Waiting, ASecondCloseReturnsWhenTheFirstHasClosed) {
  const auto listener = std::make_shared<StoppedListener>();
  Options options = MemoryDb::Quiet();
  options.listeners = {listener};
  MemoryDb db(options);
  db.Put("a", "1");
  db.Flush();
  ASSERT_TRUE(WaitUntil([&] { return listener->is_stopped.load(); }, std::chrono::seconds(60)));
  std::thread first([&] { EXPECT_TRUE(db->Close().ok()); });
  ASSERT_TRUE(
      WaitUntil([&] { return !db->Put(WriteOptions(), "b", "2").ok(); }, std::chrono::seconds(60)));
  std::vector<std::thread> others;
  std::atomic<int> returned{0};
  for (int i = 0; i < 3; i++) {
    others.emplace_back([&] {
      EXPECT_TRUE(db->Close().ok());
      returned++;
    });
  }
  // Long enough for those that do not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(returned.load(), 0) << "returned while the database is being closed";
  listener->may_go_on.store(true);
  for (std::thread& other : others) other.join();
  // Whatever the first call still does, the directory is free.
  Options again = db.options();
  again.listeners.clear();
  const auto opened = DB::Open(again, MemoryDb::kPath);
  EXPECT_TRUE(opened.ok()) << opened.status();
  first.join();
}

}  // namespace
}  // namespace winnow::waiting
