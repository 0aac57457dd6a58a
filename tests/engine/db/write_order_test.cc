// Writers that insert beside each other: what they have written becomes visible in one order, whole
// batches at a time, and for each before its call returns.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr int kOrderedWriters = 8;

std::string SideOf(int writer, const char* side) { return absl::StrCat(side, "-", writer); }

uint64_t NumberIn(const std::string& value) {
  uint64_t round = 0;
  EXPECT_TRUE(absl::SimpleAtoi(value.substr(0, value.find('.')), &round)) << value;
  return round;
}

// Each writer has two keys, which it always writes together, with a number that only grows.
class WriteOrderTest : public testing::Test {
 protected:
  WriteOrderTest() {
    for (int writer = 0; writer < kOrderedWriters; writer++) WriteRound(writer, 0, WriteOptions());
  }

  // Most batches are small; some make their group insert in parallel, some are large for a group.
  void WriteRound(int writer, uint64_t round, const WriteOptions& options) {
    const size_t padding = round % 50 == 17 ? 200000 : round % 7 == 0 ? 3000 : 10;
    const std::string value = absl::StrCat(round, ".", std::string(padding, 'v'));
    WriteBatch batch;
    batch.Put(SideOf(writer, "left"), value);
    batch.Put(SideOf(writer, "right"), absl::StrCat(round, "."));
    ASSERT_TRUE(db_->Write(options, batch).ok());
  }

  // The rounds of all writers in one snapshot, which shows the same however often it is asked.
  void ReadOneMoment(std::array<uint64_t, kOrderedWriters>* rounds) {
    const SnapshotGuard snapshot(*db_);
    for (int pass = 0; pass < 2; pass++) {
      for (int writer = 0; writer < kOrderedWriters; writer++) {
        uint64_t& shown = (*rounds)[static_cast<size_t>(writer)];
        const uint64_t left = NumberIn(db_.Get(SideOf(writer, "left"), snapshot.get()));
        const uint64_t right = NumberIn(db_.Get(SideOf(writer, "right"), snapshot.get()));
        ASSERT_EQ(left, right) << "half a batch";
        if (pass == 0) {
          ASSERT_GE(left, shown) << "an older state than before";
          shown = left;
        }
        ASSERT_EQ(left, shown) << "two states in one snapshot";
      }
    }
  }

  MemoryDb db_{MemoryDb::Busy()};
};

TEST_F(WriteOrderTest, EveryMomentIsAStateBetweenTwoWrites) {
  const uint64_t rounds = LongTests() ? 20000 : 300;
  std::atomic<int> writing{kOrderedWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kOrderedWriters; writer++) {
    threads.emplace_back([&, writer] {
      for (uint64_t round = 1; round <= rounds && !HasFatalFailure(); round++) {
        WriteOptions options;
        options.sync = round % 40 == 3;
        options.disable_wal = !options.sync && writer == 1 && round % 5 == 0;
        WriteRound(writer, round, options);
        ASSERT_EQ(NumberIn(db_.Get(SideOf(writer, "right"))), round) << "its own write";
        if (round % 100 == 50 && writer == 2) {
          ASSERT_TRUE(db_->Flush(db_->DefaultColumnFamily()).ok());
        }
      }
      writing.fetch_sub(1);
    });
  }
  for (int reader = 0; reader < 2; reader++) {
    threads.emplace_back([&] {
      std::array<uint64_t, kOrderedWriters> shown{};
      while (writing.load() > 0 && !HasFatalFailure()) ReadOneMoment(&shown);
    });
  }
  threads.emplace_back([&] {
    std::vector<std::string> keys;
    for (int writer = 0; writer < kOrderedWriters; writer++) {
      keys.push_back(SideOf(writer, "left"));
      keys.push_back(SideOf(writer, "right"));
    }
    while (writing.load() > 0 && !HasFatalFailure()) {
      const std::vector<std::string> values = db_.MultiGet(keys);
      for (size_t i = 0; i < values.size(); i += 2) {
        ASSERT_EQ(NumberIn(values[i]), NumberIn(values[i + 1])) << "half a batch in a MultiGet";
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  db_.Reopen();
  std::array<uint64_t, kOrderedWriters> shown{};
  ReadOneMoment(&shown);
  for (const uint64_t last : shown) EXPECT_EQ(last, rounds);
}

}  // namespace
}  // namespace winnow
