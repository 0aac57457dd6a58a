// Counters that many threads add to, read while they grow.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "engine/base/coding.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

std::string OneAsOperand() {
  std::string bytes;
  PutFixed64(&bytes, 1);
  return bytes;
}

uint64_t CounterIn(std::string_view value) {
  return value.size() == 8 ? DecodeFixed64(value.data()) : ~uint64_t{0};
}

uint64_t ReadCounter(DB& db, const ReadOptions& options, bool by_iterator) {
  if (by_iterator) {
    const auto iterator = db.NewIterator(options);
    iterator->Seek("hot");
    return iterator->Valid() && iterator->key() == "hot" ? CounterIn(iterator->value()) : 0;
  }
  std::string value;
  const absl::Status status = db.Get(options, "hot", &value);
  return status.ok() ? CounterIn(value) : absl::IsNotFound(status) ? 0 : ~uint64_t{0};
}

TEST(MergeThreads, NoAdditionIsLostOrSeenTwice) {
  Options options = MemoryDb::Busy();
  options.merge_operator = *ParseMergeOperator("uint64_add");
  MemoryDb db(options);
  constexpr int kWriters = 4;
  const int additions = static_cast<int>(8000 / kFewerBy);
  std::atomic<int> writing{kWriters};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < kWriters; writer++) {
    threads.emplace_back([&, writer] {
      for (int i = 0; i < additions; i++) {
        WriteBatch batch;
        batch.Merge("hot", OneAsOperand());
        // Fills memtables, and makes larger groups.
        if (i % 16 == 0) batch.Put("other" + std::to_string(i), std::string(500, 'x'));
        EXPECT_TRUE(db->Write(WriteOptions(), batch).ok());
        if (writer == 0 && i % 2000 == 1999) {
          EXPECT_TRUE(db->Flush().ok());
        }
      }
      writing.fetch_sub(1);
    });
  }
  for (int reader = 0; reader < 2; reader++) {
    threads.emplace_back([&, reader] {
      uint64_t last = 0;
      for (int i = 0; writing.load() > 0; i++) {
        const SnapshotGuard snapshot(*db);
        const uint64_t seen = ReadCounter(*db, ReadOptions(), (i + reader) % 3 == 0);
        ASSERT_GE(seen, last);
        ASSERT_LE(seen, static_cast<uint64_t>(additions) * kWriters);
        last = seen;
        ReadOptions then;
        then.snapshot = snapshot.get();
        const uint64_t at_snapshot = ReadCounter(*db, then, false);
        ASSERT_LE(at_snapshot, seen);
        ASSERT_EQ(ReadCounter(*db, then, true), at_snapshot);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const uint64_t all = static_cast<uint64_t>(additions) * kWriters;
  EXPECT_EQ(ReadCounter(*db, ReadOptions(), false), all);
  db.CompactAll();
  EXPECT_EQ(ReadCounter(*db, ReadOptions(), true), all);
  db.Reopen();
  EXPECT_EQ(ReadCounter(*db, ReadOptions(), false), all);
}

}  // namespace
}  // namespace winnow
