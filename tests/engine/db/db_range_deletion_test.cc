// Range deletions, from the write to where a compaction is done with them.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/ingest.h"

namespace winnow {
namespace {

class DbRangeDeletion : public ::testing::Test {
 protected:
  static std::string RowKey(int i) { return "row" + std::to_string(100000 + i); }

  static void Put(DB& db, std::string_view key, std::string_view value = "v") {
    ASSERT_TRUE(db.Put(WriteOptions(), key, value).ok());
  }
  static void DeleteRange(DB& db, std::string_view begin, std::string_view end) {
    const absl::Status status = db.DeleteRange(WriteOptions(), begin, end);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  static void Flush(DB& db) { ASSERT_TRUE(db.Flush().ok()); }
  static void Compact(DB& db) { ASSERT_TRUE(db.CompactRange(std::nullopt, std::nullopt).ok()); }

  // What each way of reading says of a key, which have to agree.
  static std::string Read(DB& db, std::string_view key, const Snapshot* snapshot = nullptr) {
    ReadOptions read;
    read.snapshot = snapshot;
    std::string value = "(absent)";
    const absl::Status status = db.Get(read, key, &value);
    EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status.ToString();
    std::vector<std::string_view> keys(3, key);
    std::vector<PinnedValue> values(3);
    std::vector<absl::Status> statuses(3);
    db.MultiGet(read, db.DefaultColumnFamily(), keys, values, statuses);
    for (int i = 0; i < 3; i++) {
      EXPECT_EQ(statuses[i].ok(), status.ok());
      if (status.ok()) {
        EXPECT_EQ(values[i].view(), value);
      }
    }
    EXPECT_EQ(*db.Exists(read, key), status.ok());
    if (status.ok()) {
      EXPECT_TRUE(db.MayExist(read, key));
    }
    const auto iterator = db.NewIterator(read);
    iterator->Seek(key);
    EXPECT_EQ(iterator->Valid() && iterator->key() == key, status.ok());
    iterator->SeekForPrev(key);
    EXPECT_EQ(iterator->Valid() && iterator->key() == key, status.ok());
    if (snapshot == nullptr) {
      EXPECT_EQ(db.Explain(key)->found, status.ok());
    }
    return value;
  }

  static std::string Walk(DB& db, const Snapshot* snapshot = nullptr, bool backward = false) {
    ReadOptions read;
    read.snapshot = snapshot;
    std::string keys;
    const auto iterator = db.NewIterator(read);
    if (backward) {
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
        keys = std::string(iterator->key()) + " " + keys;
      }
    } else {
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        keys += std::string(iterator->key()) + " ";
      }
    }
    EXPECT_TRUE(iterator->status().ok());
    return keys;
  }

  static uint64_t NumFiles(DB& db) {
    uint64_t files = 0;
    for (int level = 0; level < kNumLevels; level++) {
      files += std::stoull(*db.GetProperty("winnow.num-files-at-level" + std::to_string(level)));
    }
    return files;
  }

  static void ExpectSound(DB& db) {
    const std::vector<std::string> problems = VerifyMessages(db);
    EXPECT_TRUE(problems.empty()) << problems[0];
  }
};

TEST_F(DbRangeDeletion, HidesWhatIsOlderWhereverItLies) {
  MemoryDb db;
  for (const char* key : {"a", "b", "c", "d", "e"}) Put(*db, key, "table");
  Flush(*db);
  Put(*db, "b", "memory");
  DeleteRange(*db, "b", "d");
  Put(*db, "c", "newer");
  for (int stage = 0; stage < 4; stage++) {
    SCOPED_TRACE(stage);
    EXPECT_EQ(Read(*db, "a"), "table");
    EXPECT_EQ(Read(*db, "b"), "(absent)");
    EXPECT_EQ(Read(*db, "c"), "newer");
    EXPECT_EQ(Read(*db, "d"), "table");
    EXPECT_EQ(Walk(*db), "a c d e ");
    EXPECT_EQ(Walk(*db, nullptr, true), "a c d e ");
    ExpectSound(*db);
    if (stage == 0) db.Reopen();  // the tombstone comes from the log
    if (stage == 1) Flush(*db);
    if (stage == 2) Compact(*db);
  }
}

TEST_F(DbRangeDeletion, SnapshotsSeeWhatTheySaw) {
  MemoryDb db;
  Put(*db, "a", "1");
  Put(*db, "b", "1");
  const SnapshotGuard before(*db);
  DeleteRange(*db, "a", "c");
  const SnapshotGuard deleted(*db);
  Put(*db, "b", "2");
  const SnapshotGuard written(*db);
  DeleteRange(*db, "b", "z");
  for (int stage = 0; stage < 3; stage++) {
    SCOPED_TRACE(stage);
    EXPECT_EQ(Walk(*db, before.get()), "a b ");
    EXPECT_EQ(Walk(*db, deleted.get()), "");
    EXPECT_EQ(Walk(*db, written.get(), true), "b ");
    EXPECT_EQ(Walk(*db), "");
    EXPECT_EQ(Read(*db, "b", before.get()), "1");
    EXPECT_EQ(Read(*db, "b", deleted.get()), "(absent)");
    EXPECT_EQ(Read(*db, "b", written.get()), "2");
    EXPECT_EQ(Read(*db, "b"), "(absent)");
    if (stage == 0) Flush(*db);
    if (stage == 1) Compact(*db);
  }
}

// The tombstone is in a table with a filter that knows of none of the keys that it hides.
TEST_F(DbRangeDeletion, CountsWhereFiltersSayNo) {
  Options options = MemoryDb::Quiet();
  options.filter = "cuckoo:16";
  MemoryDb db(options);
  for (int i = 0; i < 1000; i++) Put(*db, RowKey(i));
  Flush(*db);
  Put(*db, "other");
  DeleteRange(*db, RowKey(0), RowKey(1000));
  Flush(*db);
  for (int i = 0; i < 1000; i++) {
    ASSERT_EQ(Read(*db, RowKey(i)), "(absent)");
    ASSERT_FALSE(db->MayExist(ReadOptions(), RowKey(i)));
  }
  EXPECT_EQ(Walk(*db), "other ");
}

TEST_F(DbRangeDeletion, LeavesNothingBehindAtTheLastLevel) {
  MemoryDb db;
  for (int i = 0; i < 1000; i++) Put(*db, RowKey(i));
  Compact(*db);
  DeleteRange(*db, "row", "rox");
  Compact(*db);
  EXPECT_EQ(NumFiles(*db), 0u);
  DeleteRange(*db, "a", "z");
  Put(*db, "m");
  Compact(*db);
  EXPECT_EQ(Walk(*db), "m ");
  EXPECT_EQ(db->Explain("b")->steps.back().answer, ExplainStep::Answer::kAbsent);
}

// A tombstone that stays, since something lies below another part of it, hides no newer entry,
// whose sequence number could become 0 as nothing lies below its own key.
TEST_F(DbRangeDeletion, StaysOlderThanEntriesOfTheLastLevel) {
  MemoryDb db;
  const SnapshotGuard snapshot(*db);
  DeleteRange(*db, "a", "z");
  Put(*db, "m", "newer");
  Compact(*db);
  EXPECT_EQ(Read(*db, "m"), "newer");
  EXPECT_EQ(Walk(*db), "m ");
}

TEST_F(DbRangeDeletion, IsCutWhereFilesEnd) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  MemoryDb db(options);
  const std::string value(1000, 'v');
  for (int i = 0; i < 1000; i++) Put(*db, RowKey(i), value);
  Compact(*db);
  SnapshotGuard snapshot(*db);
  DeleteRange(*db, RowKey(100), RowKey(900));
  for (int i = 0; i < 1000; i += 3) Put(*db, RowKey(i), "newer" + value);
  Compact(*db);
  EXPECT_GT(NumFiles(*db), 5u);
  ExpectSound(*db);
  snapshot.Release();
  db.Reopen();
  for (int i = 0; i < 1000; i++) {
    const bool present = i % 3 == 0 || i < 100 || i >= 900;
    ASSERT_EQ(Read(*db, RowKey(i)) != "(absent)", present) << i;
  }
}

TEST_F(DbRangeDeletion, ManyOfThemAloneMakeSeveralFiles) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  MemoryDb db(options);
  for (int i = 0; i < 5000; i++) Put(*db, RowKey(i));
  Compact(*db);
  const SnapshotGuard snapshot(*db);
  for (int i = 0; i < 5000; i += 2) DeleteRange(*db, RowKey(i), RowKey(i + 1));
  Flush(*db);
  Compact(*db);
  ExpectSound(*db);
  for (int i = 0; i < 5000; i++) {
    ASSERT_EQ(Read(*db, RowKey(i)) == "(absent)", i % 2 == 0) << i;
    ASSERT_EQ(Read(*db, RowKey(i), snapshot.get()), "v") << i;
  }
}

TEST_F(DbRangeDeletion, RefusesAnInvertedRangeAndTakesAnEmptyOne) {
  MemoryDb db;
  Put(*db, "b");
  EXPECT_TRUE(absl::IsInvalidArgument(db->DeleteRange(WriteOptions(), "c", "a")));
  WriteBatch batch;
  batch.Put("x", "y");
  batch.DeleteRange("c", "a");
  EXPECT_TRUE(absl::IsInvalidArgument(db->Write(WriteOptions(), batch)));
  EXPECT_EQ(Walk(*db), "b ");
  DeleteRange(*db, "b", "b");
  batch.Clear();
  batch.DeleteRange("b", "b");
  batch.DeleteRange("", "");
  EXPECT_TRUE(db->Write(WriteOptions(), batch).ok());
  EXPECT_EQ(Walk(*db), "b ");
  DeleteRange(*db, "", "b");
  EXPECT_EQ(Walk(*db), "b ");
  DeleteRange(*db, "", "c");
  EXPECT_EQ(Walk(*db), "");
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  EXPECT_TRUE(absl::IsInvalidArgument(db->DeleteRange(WriteOptions(), "a", too_long)));
  batch.Clear();
  batch.DeleteRange("a", too_long);
  EXPECT_TRUE(absl::IsInvalidArgument(db->Write(WriteOptions(), batch)));
}

TEST_F(DbRangeDeletion, OrdersUpdatesOfOneBatch) {
  MemoryDb db;
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "1");
  batch.DeleteRange("a", "c");
  batch.Put("b", "2");
  ASSERT_TRUE(db->Write(WriteOptions(), batch).ok());
  EXPECT_EQ(Walk(*db), "b ");
  EXPECT_EQ(Read(*db, "b"), "2");
}

TEST_F(DbRangeDeletion, DoesNotHideWhatIsIngestedLater) {
  MemoryDb db;
  for (const bool is_flushed : {false, true}) {
    DeleteRange(*db, "a", "z");
    if (is_flushed) Flush(*db);
    auto writer = db->NewSstWriter(db->DefaultColumnFamily(), "/table");
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE((*writer)->Put("m", "ingested").ok());
    ASSERT_TRUE((*writer)->Finish().ok());
    IngestOptions ingest;
    ingest.move = true;
    const auto info = db->Ingest({{"/table", nullptr}}, ingest);
    ASSERT_TRUE(info.ok()) << info.status().ToString();
    EXPECT_EQ(info->flushed, !is_flushed);
    EXPECT_EQ(Read(*db, "m"), "ingested");
    DeleteRange(*db, "l", "n");
    EXPECT_EQ(Read(*db, "m"), "(absent)");
    Compact(*db);
    EXPECT_EQ(Walk(*db), "");
  }
}

}  // namespace
}  // namespace winnow
