// Answers that are kept: nothing that was written, ingested, deleted or dropped since is missed.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "winnow/compaction_filter.h"
#include "winnow/ingest.h"

namespace winnow {
namespace {

Options WithRowCache(size_t bytes = 1 << 20) {
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 0;
  options.filter = "none";
  options.row_cache_bytes = bytes;
  return options;
}

uint64_t Count(MemoryDb* db, Ticker ticker) { return (*db)->GetStatistics().Get(ticker); }

TEST(RowCacheTest, AnswersAreReadOnce) {
  MemoryDb db(WithRowCache());
  db.Put("apple", "red");
  db.Put("empty", "");
  db.Put("pear", "green");
  db.Delete("quince");
  db.Flush();
  const auto ask = [&db] {
    EXPECT_EQ(db.Get("apple"), "red");
    EXPECT_EQ(db.Get("empty"), "");
    EXPECT_EQ(db.Get("banana"), "(absent)");
    EXPECT_EQ(db.Get("quince"), "(absent)");
    EXPECT_EQ(db.MultiGet({"apple", "banana", "pear", "quince"}),
              (std::vector<std::string>{"red", "(absent)", "green", "(absent)"}));
    EXPECT_FALSE(*db->Exists(ReadOptions(), "banana"));
    PinnedValue pinned;
    EXPECT_TRUE(db->Get(ReadOptions(), "apple", &pinned).ok());
    EXPECT_EQ(pinned.view(), "red");
  };
  ask();
  const uint64_t read = Count(&db, Ticker::kDataBlocksRead);
  const uint64_t hits = Count(&db, Ticker::kRowCacheHits);
  EXPECT_GT(read, 0u);
  ask();
  EXPECT_EQ(Count(&db, Ticker::kDataBlocksRead), read);
  EXPECT_EQ(Count(&db, Ticker::kRowCacheHits), hits + 10);
  EXPECT_GE(Count(&db, Ticker::kRowCacheAbsentHits), 5u);
  EXPECT_EQ(Count(&db, Ticker::kRowCacheMisses), 5u);
  EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.memory-usage"), "row cache"));
}

// What is written is in a memtable at first, and in a table later: the row must not come back then.
TEST(RowCacheTest, AWriteIsSeenBeforeAndAfterItsFlush) {
  MemoryDb db(WithRowCache());
  db.Put("a", "1");
  db.Flush();
  EXPECT_EQ(db.Get("a"), "1");
  EXPECT_EQ(db.Get("b"), "(absent)");
  db.Put("a", "2");
  db.Put("b", "new");
  EXPECT_EQ(db.Get("a"), "2");
  EXPECT_EQ(db.Get("b"), "new");
  db.Flush();
  EXPECT_EQ(Count(&db, Ticker::kRowCacheForgotten), 2u);
  EXPECT_EQ(db.Get("a"), "2");
  EXPECT_EQ(db.Get("b"), "new");
  db.Delete("a");
  db.Flush();
  EXPECT_EQ(db.Get("a"), "(absent)");
  db.CompactAll();
  EXPECT_EQ(db.Get("a"), "(absent)");
  EXPECT_EQ(db.MultiGet({"a", "b"}), (std::vector<std::string>{"(absent)", "new"}));
}

TEST(RowCacheTest, ARangeDeletionIsSeenBeforeAndAfterItsFlush) {
  MemoryDb db(WithRowCache());
  for (int i = 0; i < 10; i++) db.Put(absl::StrCat("k", i), "v");
  db.Flush();
  for (int i = 0; i < 10; i++) EXPECT_EQ(db.Get(absl::StrCat("k", i)), "v");
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), "k3", "k7").ok());
  EXPECT_EQ(db.Get("k5"), "(absent)");
  db.Flush();
  EXPECT_EQ(db.Get("k5"), "(absent)");
  EXPECT_EQ(db.Get("k7"), "v");
  db.Put("k5", "again");
  db.Flush();
  EXPECT_EQ(db.Get("k5"), "again");
  EXPECT_EQ(db.Get("k4"), "(absent)");
}

TEST(RowCacheTest, AnIngestionIsSeenAtOnce) {
  for (const bool behind : {false, true}) {
    SCOPED_TRACE(behind);
    Options options = WithRowCache();
    options.allow_ingest_behind = true;
    MemoryDb db(options);
    db.Put("a", "old");
    db.Flush();
    EXPECT_EQ(db.Get("a"), "old");
    EXPECT_EQ(db.Get("b"), "(absent)");
    const Snapshot* const snapshot = db->GetSnapshot();
    auto writer = db->NewSstWriter(db->DefaultColumnFamily(), "/in.sst");
    ASSERT_TRUE(writer.ok()) << writer.status();
    ASSERT_TRUE((*writer)->Put("a", "ingested").ok());
    ASSERT_TRUE((*writer)->Put("b", "ingested").ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    IngestOptions ingest;
    ingest.behind = behind;
    ASSERT_TRUE(db->Ingest({{.path = "/in.sst"}}, ingest).ok());
    EXPECT_EQ(db.Get("a"), behind ? "old" : "ingested");
    EXPECT_EQ(db.Get("b"), "ingested");
    if (!behind) {
      EXPECT_EQ(db.Get("b", snapshot), "(absent)");
      EXPECT_EQ(db.Get("b"), "ingested");
    }
    db->ReleaseSnapshot(snapshot);
  }
}

// A snapshot is not shown what is newer, nor does it leave what is older.
TEST(RowCacheTest, SnapshotsSeeTheirOwnMoment) {
  MemoryDb db(WithRowCache());
  db.Put("a", "1");
  db.Flush();
  const Snapshot* const first = db->GetSnapshot();
  db.Put("a", "2");
  db.Put("b", "2");
  db.Flush();
  EXPECT_EQ(db.Get("a"), "2");
  EXPECT_EQ(db.Get("b"), "2");
  EXPECT_EQ(db.Get("a", first), "1");
  EXPECT_EQ(db.Get("b", first), "(absent)");
  EXPECT_EQ(db.Get("a"), "2");
  EXPECT_EQ(db.Get("b"), "2");
  const Snapshot* const second = db->GetSnapshot();
  db.Put("a", "3");
  EXPECT_EQ(db.Get("a", second), "2");
  db.Flush();
  EXPECT_EQ(db.Get("a", second), "2");
  EXPECT_EQ(db.Get("a"), "3");
  EXPECT_EQ(db.Get("a", second), "2");
  db->ReleaseSnapshot(first);
  db->ReleaseSnapshot(second);
}

TEST(RowCacheTest, MergeOperandsAreMergedAnew) {
  Options options = WithRowCache();
  options.merge_operator = *ParseMergeOperator("append:+");
  MemoryDb db(options);
  EXPECT_EQ(db.Get("a"), "(absent)");
  ASSERT_TRUE(db->Merge(WriteOptions(), "a", "1").ok());
  db.Flush();
  EXPECT_EQ(db.Get("a"), "1");
  EXPECT_EQ(db.Get("a"), "1");
  ASSERT_TRUE(db->Merge(WriteOptions(), "a", "2").ok());
  EXPECT_EQ(db.Get("a"), "1+2");
  db.Flush();
  EXPECT_EQ(db.Get("a"), "1+2");
  db.CompactAll();
  EXPECT_EQ(db.Get("a"), "1+2");
  EXPECT_EQ(db.Get("a"), "1+2");
  ASSERT_TRUE(db->Merge(WriteOptions(), "a", "3").ok());
  EXPECT_EQ(db.Get("a"), "1+2+3");
}

class RemovesAll final : public CompactionFilter {
 public:
  Decision Filter(const Entry& /*entry*/, std::string* /*new_value*/) const override {
    return Decision::kRemove;
  }
};

TEST(RowCacheTest, WhatACompactionFilterRemovesIsGone) {
  static const RemovesAll removes_all;
  Options options = WithRowCache();
  options.compaction_filter = &removes_all;
  MemoryDb db(options);
  db.Put("a", "1");
  db.Flush();
  EXPECT_EQ(db.Get("a"), "1");
  db.CompactAll();
  EXPECT_EQ(db.Get("a"), "(absent)");
}

TEST(RowCacheTest, FamiliesAndReopeningsShareNothing) {
  MemoryDb db(WithRowCache());
  ColumnFamily* const other = *db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  db.Put("a", "default");
  db.Flush();
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), other, "a", &value)));
  EXPECT_EQ(db.Get("a"), "default");
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), other, "a", &value)));
  ASSERT_TRUE(db->Put(WriteOptions(), other, "a", "other").ok());
  ASSERT_TRUE(db->Flush(other).ok());
  ASSERT_TRUE(db->Get(ReadOptions(), other, "a", &value).ok());
  EXPECT_EQ(value, "other");
  ASSERT_TRUE(db->DropColumnFamily(other).ok());
  EXPECT_FALSE(db->Get(ReadOptions(), other, "a", &value).ok());
  ColumnFamily* const again = *db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), again, "a", &value)));
  db.Reopen();
  EXPECT_EQ(db.Get("a"), "default");
}

// Keys that are equal and have other bytes would not be forgotten by each other's writes.
TEST(RowCacheTest, ComparatorsWithEqualKeysOfOtherBytesKeepNothing) {
  static const CaseBlindComparator case_blind;
  Options options = WithRowCache();
  options.comparator = &case_blind;
  MemoryDb db(options);
  db.Put("a", "1");
  db.Flush();
  EXPECT_EQ(db.Get("A"), "1");
  db.Put("a", "2");
  db.Flush();
  EXPECT_EQ(db.Get("A"), "2");
  EXPECT_EQ(Count(&db, Ticker::kRowCacheHits), 0u);
}

TEST(RowCacheTest, KeepsWithinItsBytes) {
  MemoryDb db(WithRowCache(256 << 10));
  for (int i = 0; i < 5000; i++) db.Put(absl::StrCat("k", i), std::string(i % 300, 'v'));
  db.Put("large", std::string(100 << 10, 'v'));
  db.Flush();
  for (int i = 0; i < 5000; i++) ASSERT_EQ(db.Get(absl::StrCat("k", i)), std::string(i % 300, 'v'));
  for (int i = 0; i < 5000; i++) ASSERT_EQ(db.Get(absl::StrCat("x", i)), "(absent)");
  EXPECT_EQ(db.Get("large").size(), size_t{100 << 10});
  EXPECT_EQ(db.Get("large").size(), size_t{100 << 10});
  const std::string usage = *db->GetProperty("winnow.memory-usage-json");
  const size_t at = usage.find("\"row_cache\":");
  ASSERT_NE(at, std::string::npos);
  const int bytes = std::atoi(usage.c_str() + at + 12);
  EXPECT_LE(bytes, (256 << 10) + (16 << 10));
  EXPECT_GE(bytes, 128 << 10);
}

// Writers, flushes, range deletions and readers at one time: what a reader has seen of a key never
// goes back, for one that grows with each write.
TEST(RowCacheTest, NothingStaleIsSeenBesideWriters) {
  Options options = MemoryDb::Busy();
  options.row_cache_bytes = 1 << 20;
  MemoryDb db(options);
  constexpr int kKeys = 40;
  std::atomic<bool> stop{false};
  std::vector<std::atomic<int>> written(kKeys);
  std::thread writer([&] {
    std::mt19937_64 random(1);
    for (int round = 1; round < 6000; round++) {
      const auto key = static_cast<size_t>(random() % kKeys);
      const std::string value = absl::StrCat(round, "/", std::string(200, 'v'));
      EXPECT_TRUE(db->Put(WriteOptions(), absl::StrCat("k", key), value).ok());
      written[key].store(round, std::memory_order_release);
      if (round % 100 == 0) db.Flush();
    }
    stop.store(true);
  });
  std::vector<std::thread> readers;
  for (uint64_t seed = 0; seed < 3; seed++) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed + 10);
      while (!stop.load()) {
        const auto key = static_cast<size_t>(random() % kKeys);
        const int least = written[key].load(std::memory_order_acquire);
        std::string value = "0";
        const absl::Status status = db->Get(ReadOptions(), absl::StrCat("k", key), &value);
        ASSERT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
        ASSERT_GE(std::atoi(value.c_str()), least) << key;
      }
    });
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(Count(&db, Ticker::kRowCacheHits), 0u);
}

// Random operations against a map, every key asked twice.
TEST(RowCacheTest, AnswersAreThoseOfAMap) {
  for (const uint64_t seed : Seeds(6)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    std::mt19937_64 random(seed);
    Options options = random() % 2 == 0 ? WithRowCache(64 << 10) : WithRowCache();
    options.merge_operator = *ParseMergeOperator("append:+");
    MemoryDb db(options);
    std::map<std::string, std::string> model;
    const auto any_key = [&random] { return absl::StrCat("key", random() % 60); };
    for (int step = 0; step < 3000; step++) {
      const std::string key = any_key();
      switch (random() % 20) {
        case 0:
          db.Flush();
          break;
        case 1:
          if (random() % 5 == 0) db.CompactAll();
          break;
        case 2: {
          const std::string end = key + "z";
          ASSERT_TRUE(db->DeleteRange(WriteOptions(), key, end).ok());
          model.erase(model.lower_bound(key), model.lower_bound(end));
          break;
        }
        case 3:
          ASSERT_TRUE(db->Merge(WriteOptions(), key, "m").ok());
          model[key] = model.contains(key) ? model[key] + "+m" : "m";
          break;
        case 4:
          db.Delete(key);
          model.erase(key);
          break;
        case 5:
        case 6: {
          const std::string value = absl::StrCat(step);
          db.Put(key, value);
          model[key] = value;
          break;
        }
        default:
          for (int again = 0; again < 2; again++) {
            const std::string wanted = model.contains(key) ? model[key] : "(absent)";
            ASSERT_EQ(random() % 2 == 0 ? db.Get(key) : db.MultiGet({key}).front(), wanted) << step;
          }
      }
    }
    EXPECT_GT(Count(&db, Ticker::kRowCacheHits), 0u);
  }
}

}  // namespace
}  // namespace winnow
