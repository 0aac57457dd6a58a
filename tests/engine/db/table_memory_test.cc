// What open tables take of memory, however small they are: bounded over all column families.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"

namespace winnow {
namespace {

constexpr int kFamilies = 50;
constexpr size_t kCacheBytes = 256 << 10;
// Each takes more than a KiB of the cache. A round makes one in each family, and twenty rounds
// four times as many as this.
constexpr size_t kMostTables = kCacheBytes >> 10;
constexpr int kRounds = 20;

// The first write that waits for tables to become fewer.
class FirstStall final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    const bool is_it = event.kind == Event::Kind::kWriteStallBegin &&
                       event.message.find("tables") != std::string::npos;
    if (is_it && !seen.exchange(true)) Pass();
  }
  // Or the end of all writes.
  void Pass() {
    if (!passed_.exchange(true)) latch_.count_down();
  }
  void Wait() { latch_.wait(); }

  std::atomic<bool> seen = false;

 private:
  std::atomic<bool> passed_ = false;
  std::latch latch_{1};
};

// Of all that is done with tables here, compactions alone read the first block.
bool IsOfCompaction(const FileOperation& operation) {
  return operation.kind == FileOperation::Kind::kRead && operation.path.ends_with(".sst") &&
         operation.offset < 500;
}

class TableMemory : public testing::Test {
 protected:
  // Families whose own triggers of level 0 never make a write wait.
  explicit TableMemory(bool compacts = true) : db_(MakeOptions(compacts, stall_)) {
    families_.push_back(db_->DefaultColumnFamily());
    for (int i = 1; i < kFamilies; i++) {
      auto created = db_->CreateColumnFamily(db_.options(), absl::StrCat("family", i));
      EXPECT_TRUE(created.ok()) << created.status();
      families_.push_back(*created);
    }
  }
  ~TableMemory() override {
    db_.CloseDb();
    db_.file_system().set_error_hook(nullptr);
  }

  static Options MakeOptions(bool compacts, const std::shared_ptr<FirstStall>& stall) {
    Options options;
    options.disable_auto_compactions = !compacts;
    options.background_threads = 2;
    options.level0_compaction_trigger = 2;
    options.level0_slowdown_trigger = 1'000;
    options.level0_stop_trigger = 1'000;
    options.charge_filters_to_cache = true;
    options.block_cache_bytes = kCacheBytes;
    options.listeners.push_back(stall);
    return options;
  }

  static std::string KeyOf(int round) { return absl::StrCat("key", round); }
  static std::string Value() {
    std::string value(1'000, 'v');
    for (size_t i = 0; i < value.size(); i++) value[i] = static_cast<char>(i * i * 31 >> 3);
    return value;
  }

  size_t NumTables() {
    const auto text = db_->GetProperty("winnow.memory-usage-json");
    return text.ok() ? nlohmann::json::parse(*text)["tables"].get<size_t>() : SIZE_MAX;
  }

  // One more table in each family; the first error, if any.
  absl::Status WriteRound(int round) {
    for (ColumnFamily* family : families_) {
      absl::Status status = db_->Put(WriteOptions(), family, KeyOf(round), Value());
      if (status.ok()) status = db_->Flush(family);
      if (!status.ok()) return status;
      most_tables_ = std::max(most_tables_.load(), NumTables());
    }
    return absl::OkStatus();
  }
  // All rounds, until the first error.
  std::thread StartWriter() {
    return std::thread([this] {
      for (int round = 0; round < kRounds && written_.ok(); round++) written_ = WriteRound(round);
      stall_->Pass();
    });
  }

  const std::shared_ptr<FirstStall> stall_ = std::make_shared<FirstStall>();
  MemoryDb db_;
  std::vector<ColumnFamily*> families_;
  std::atomic<size_t> most_tables_ = 0;
  absl::Status written_;  // the writer's, while it runs
};

// Once every flush added a table, and nothing but each family's own level 0 held writes back.
TEST_F(TableMemory, WritesWaitWhereCompactionsDoNotKeepUp) {
  const auto may_compact = std::make_shared<std::latch>(1);
  db_.file_system().set_error_hook([may_compact](const FileOperation& operation) {
    if (IsOfCompaction(operation)) may_compact->wait();
    return absl::OkStatus();
  });
  std::thread writer = StartWriter();
  stall_->Wait();
  EXPECT_TRUE(stall_->seen) << most_tables_ << " tables";
  EXPECT_LE(NumTables(), kMostTables);
  may_compact->count_down();
  writer.join();
  EXPECT_TRUE(written_.ok()) << written_;
  EXPECT_LE(most_tables_, kMostTables);
  EXPECT_GT(most_tables_, kMostTables / 4) << "and what there is of memory is made use of";
  ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  for (ColumnFamily* family : families_) {
    for (int round = 0; round < kRounds; round++) {
      std::string value;
      ASSERT_TRUE(db_->Get(ReadOptions(), family, KeyOf(round), &value).ok());
      ASSERT_EQ(value, Value());
    }
  }
}

// Close does not wait for the compactions that a write waits for.
TEST_F(TableMemory, CloseEndsTheWait) {
  const auto may_compact = std::make_shared<std::latch>(1);
  db_.file_system().set_error_hook([may_compact](const FileOperation& operation) {
    if (IsOfCompaction(operation)) may_compact->wait();
    return absl::OkStatus();
  });
  std::thread writer = StartWriter();
  stall_->Wait();
  EXPECT_TRUE(stall_->seen);
  std::thread closer([this] { EXPECT_TRUE(db_->Close().ok()); });
  writer.join();  // no compaction has run
  EXPECT_FALSE(written_.ok());
  may_compact->count_down();
  closer.join();
}

// To wait for work that fails would be to wait for ever.
TEST_F(TableMemory, WritesAreRefusedWhereCompactionsFail) {
  // Closing asks it as well, after this test's end.
  const auto fails = std::make_shared<std::atomic<bool>>(true);
  db_.file_system().set_error_hook([fails](const FileOperation& operation) {
    return *fails && IsOfCompaction(operation)
               ? absl::ResourceExhaustedError("no file descriptors left")
               : absl::OkStatus();
  });
  std::thread writer = StartWriter();
  writer.join();
  EXPECT_TRUE(absl::IsResourceExhausted(written_)) << written_;
  EXPECT_LE(most_tables_, kMostTables);
  *fails = false;
  while (!db_->Put(WriteOptions(), "after", "the failure").ok()) std::this_thread::yield();
  EXPECT_TRUE(WriteRound(kRounds).ok());
  EXPECT_LE(most_tables_, kMostTables);
}

class TableMemoryWithoutCompactions : public TableMemory {
 protected:
  TableMemoryWithoutCompactions() : TableMemory(/*compacts=*/false) {}
};

// What nothing will change is nothing to wait for.
TEST_F(TableMemoryWithoutCompactions, NoWriteWaits) {
  for (int round = 0; round < kRounds; round++) ASSERT_TRUE(WriteRound(round).ok());
  EXPECT_GT(most_tables_, 3 * kMostTables) << "more than there is room for";
  EXPECT_FALSE(stall_->seen);
}

}  // namespace
}  // namespace winnow
