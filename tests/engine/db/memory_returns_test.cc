// Memory comes back once its reason has gone.
#include <gtest/gtest.h>
#include <malloc.h>

#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

// Bytes that the program holds now.
size_t HeapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

class MemoryReturns : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's own allocator says nothing";
#endif
  }
};

// A thread's batch, and the log's buffer, once stayed as large as the largest write.
TEST_F(MemoryReturns, AfterLargeWrites) {
  MemoryDb db;
  db.Put("small", "value");
  db.Flush();
  const size_t before = HeapBytes();
  for (int i = 0; i < 3; i++) {
    db.Put(absl::StrCat(i), std::string(48 << 20, 'v'));
    db.Delete(absl::StrCat(i));
  }
  db.CompactAll();
  EXPECT_LT(HeapBytes(), before + (4 << 20));
}

// An iterator over 20,000 tables of level 0 once held what it had read of each until it was
// destroyed: 1.4 GiB for tables of 64 KiB.
TEST_F(MemoryReturns, WhileAnIteratorLeavesTablesBehind) {
  Options options = MemoryDb::Quiet();
  options.compression = Compression::kNone;
  options.block_cache_bytes = 0;
  MemoryDb db(options);
  constexpr int kTables = 64;
  const std::string value(4000, 'v');
  for (int key = 0; key < kTables * 50; key++) {
    db.Put(absl::StrFormat("%06d", key), value);
    if (key % 50 == 49) db.Flush();
  }
  const auto iterator = db->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  const size_t before = HeapBytes();
  int walked = 0;
  for (; walked < kTables * 50 - 1; walked++) iterator->Next();
  ASSERT_TRUE(iterator->Valid()) << iterator->status();
  EXPECT_LT(HeapBytes(), before + (1 << 20));
  // Each direction takes up what it needs again.
  for (; iterator->Valid(); walked--) iterator->Prev();
  EXPECT_EQ(walked, -1);
  EXPECT_LT(HeapBytes(), before + (1 << 20));
}

// A family that was dropped once kept a memtable with its filter.
TEST_F(MemoryReturns, AfterFamiliesWereDropped) {
  MemoryDb db;
  const size_t before = HeapBytes();
  size_t after_half = 0;
  for (int i = 0; i < 400; i++) {
    const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), absl::StrCat("family", i));
    ASSERT_TRUE(family.ok());
    ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "value").ok());
    ASSERT_TRUE(db->Flush(*family).ok());
    std::string value;
    ASSERT_TRUE(db->Get(ReadOptions(), *family, "key", &value).ok());
    ASSERT_TRUE(db->DropColumnFamily(*family).ok());
    if (i == 199) after_half = HeapBytes();
  }
  EXPECT_LT(HeapBytes(), before + (4 << 20));
  // A handle stays, and with it nothing that was counted.
  EXPECT_LT(HeapBytes(), after_half + (200 * 2 << 10));
}

// Each thread's counters for each family that it had read in once stayed for as long as the thread.
TEST_F(MemoryReturns, AfterFamiliesWereDroppedThatLongLivedThreadsReadIn) {
  const ScratchDirectory directory("memory-returns");  // files in memory would count
  Options options;
  options.block_cache_bytes = 0;  // blocks of files that are gone stay in it for a while
  const std::unique_ptr<DB> db = OpenOrFail(options, directory.path());
  ASSERT_NE(db, nullptr);
  ColumnFamily* family = nullptr;  // null: that is all
  std::barrier together(3);
  std::vector<std::thread> readers;
  for (int i = 0; i < 2; i++) {
    readers.emplace_back([&] {
      for (together.arrive_and_wait(); family != nullptr; together.arrive_and_wait()) {
        std::string value;
        EXPECT_TRUE(db->Get(ReadOptions(), family, "key", &value).ok());
        together.arrive_and_wait();
      }
    });
  }
  int created = 0;
  // What the heap grows by while 2,000 families come and go.
  const auto growth = [&](bool are_read) {
    const size_t before = HeapBytes();
    for (int i = 0; i < 2000; i++) {
      family = *db->CreateColumnFamily(ColumnFamilyOptions(), absl::StrCat("family", created++));
      EXPECT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
      EXPECT_TRUE(db->Flush(family).ok());
      if (are_read) {
        together.arrive_and_wait();
        together.arrive_and_wait();
      }
      EXPECT_TRUE(db->DropColumnFamily(family).ok());
    }
    return HeapBytes() - before;
  };
  const size_t of_handles = growth(false);
  EXPECT_LT(growth(true), of_handles + (256 << 10));
  family = nullptr;
  together.arrive_and_wait();
  for (std::thread& reader : readers) reader.join();
}

// Each database's hash seed was once entered in a map of the process.
TEST_F(MemoryReturns, AfterDatabasesWereClosed) {
  for (int i = 0; i < 20; i++) MemoryDb();
  const size_t before = HeapBytes();
  for (int i = 0; i < 500; i++) MemoryDb();
  EXPECT_LT(HeapBytes(), before + (16 << 10));
}

// Each thread's counters for each family once stayed for as long as the database.
TEST_F(MemoryReturns, AfterThreadsHaveEnded) {
  MemoryDb db;
  std::vector<ColumnFamily*> families;
  for (int i = 0; i < 500; i++) {
    families.push_back(*db->CreateColumnFamily(ColumnFamilyOptions(), absl::StrCat("family", i)));
    ASSERT_TRUE(db->Put(WriteOptions(), families.back(), "key", "value").ok());
    ASSERT_TRUE(db->Flush(families.back()).ok());
  }
  const size_t before = HeapBytes();
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; i++) {
    threads.emplace_back([&] {
      std::string value;
      for (ColumnFamily* family : families) {
        EXPECT_TRUE(db->Get(ReadOptions(), family, "key", &value).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LT(HeapBytes(), before + (4 << 20));
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kGetsFound), 16u * 500u) << "nothing is forgotten";
}

}  // namespace
}  // namespace winnow
