// Files that range deletions cover go unread, and range deletions go down to what they hide.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

std::string RowKey(int i) { return absl::StrCat("row", 100000 + i); }

class CoveredFiles : public testing::Test {
 protected:
  // Nothing is due by size.
  static Options Unhurried() {
    Options options = MemoryDb::Quiet();
    options.disable_auto_compactions = false;
    options.level0_compaction_trigger = 100;
    options.level0_slowdown_trigger = 200;
    options.level0_stop_trigger = 300;
    return options;
  }
  static void PutRows(MemoryDb& db, int begin, int end, std::string_view value = "v") {
    for (int i = begin; i < end; i++) db.Put(RowKey(i), value);
  }
  static void DeleteRows(MemoryDb& db, int begin, int end) {
    const absl::Status deleted = db->DeleteRange(WriteOptions(), RowKey(begin), RowKey(end));
    ASSERT_TRUE(deleted.ok()) << deleted;
  }
  static void Settle(MemoryDb& db) {
    const absl::Status settled = db->WaitForBackgroundWork();
    ASSERT_TRUE(settled.ok()) << settled;
  }
  static uint64_t Count(MemoryDb& db, Ticker ticker) { return db->GetStatistics().Get(ticker); }
  static int NumRows(MemoryDb& db, const Snapshot* snapshot = nullptr) {
    ReadOptions read;
    read.snapshot = snapshot;
    int rows = 0;
    const auto iterator = db->NewIterator(read);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) rows++;
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
    return rows;
  }
};

TEST_F(CoveredFiles, GoUnreadOnceNoSnapshotNeedsThem) {
  MemoryDb db(Unhurried());
  for (int file = 0; file < 3; file++) {
    PutRows(db, file * 100, file * 100 + 100);
    db.Flush();
  }
  const Snapshot* const snapshot = db->GetSnapshot();
  DeleteRows(db, 0, 250);  // the first two files, and half of the third
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 0U);
  EXPECT_EQ(NumRows(db, snapshot), 300);
  EXPECT_EQ(NumRows(db), 50);

  db->ReleaseSnapshot(snapshot);
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletions), 1U);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 2U);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedEntriesDropped), 200U);
  EXPECT_EQ(Count(db, Ticker::kCompactionBytesRead), 0U);
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "2");
  EXPECT_EQ(NumRows(db), 50);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  db.Reopen();
  EXPECT_EQ(NumRows(db), 50);
}

TEST_F(CoveredFiles, AreOlderThanWhatCoversThem) {
  MemoryDb db(Unhurried());
  DeleteRows(db, 0, 1000);
  db.Flush();
  PutRows(db, 0, 100);
  db.Flush();
  PutRows(db, 100, 200);
  DeleteRows(db, 100, 150);  // with newer entries in the same file
  PutRows(db, 100, 120);
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 0U);
  EXPECT_EQ(NumRows(db), 170);
}

// A snapshot between two deletions: the older one hides the file from it as well.
TEST_F(CoveredFiles, MayBeCoveredByTheOlderOfTwoDeletions) {
  MemoryDb db(Unhurried());
  PutRows(db, 0, 100);
  db.Flush();
  DeleteRows(db, 0, 100);
  const Snapshot* const snapshot = db->GetSnapshot();
  DeleteRows(db, 0, 500);
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 1U);
  EXPECT_EQ(NumRows(db, snapshot), 0);
  db->ReleaseSnapshot(snapshot);
}

// What a file that goes has hidden stays hidden: the deletion reaches over that, too.
TEST_F(CoveredFiles, UncoverNothing) {
  MemoryDb db(Unhurried());
  PutRows(db, 0, 300, "old");
  db.CompactAll();
  PutRows(db, 100, 200, "new");
  db.Flush();
  DeleteRows(db, 100, 200);
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 1U);
  EXPECT_EQ(db.Get(RowKey(150)), "(absent)");
  EXPECT_EQ(NumRows(db), 200);
}

// Tombstones that neighbours of a level hold cover a file together.
TEST_F(CoveredFiles, MayBeCoveredBySeveralNeighbours) {
  MemoryDb db(Unhurried());
  PutRows(db, 0, 100);
  db.Flush();
  DeleteRows(db, 0, 30);
  DeleteRows(db, 30, 70);
  DeleteRows(db, 69, 100);
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 1U);

  PutRows(db, 0, 100);
  db.Flush();
  DeleteRows(db, 0, 50);
  DeleteRows(db, 51, 100);  // all but one key
  db.Flush();
  Settle(db);
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedFilesDropped), 1U);
  EXPECT_EQ(NumRows(db), 1);
}

TEST_F(CoveredFiles, ARangeDeletionGoesDownToWhatItHides) {
  Options options = Unhurried();
  options.level0_compaction_trigger = 1;
  options.target_file_bytes = 64 << 10;
  options.level_base_bytes = 64 << 10;
  options.level_size_multiplier = 4;
  MemoryDb db(options);
  PutRows(db, 0, 4000, std::string(100, 'v'));
  db.CompactAll();
  Settle(db);
  DeleteRows(db, 50, 3950);
  PutRows(db, 0, 1);
  db.Flush();
  Settle(db);
  // The first and the last file are covered in part, and rewritten without what is.
  EXPECT_EQ(Count(db, Ticker::kRangeDeletedEntriesDropped), 3900U);
  EXPECT_EQ(NumRows(db), 100);
  for (int level = 0; level < 6; level++) {
    EXPECT_EQ(*db->GetProperty(absl::StrCat("winnow.num-files-at-level", level)), "0") << level;
  }
}

}  // namespace
}  // namespace winnow
