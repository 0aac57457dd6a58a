// What flushes and compactions free of tables, and what they must not.
#include "engine/table/cell_collector.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/table/cell_key.h"
#include "engine/table/cell_value.h"
#include "tests/engine/table/table_fixture.h"

namespace winnow {
namespace {

using Decision = EntryCollector::Decision;

// --- One collector, and other files as they are said to be ---

class SaidOfOthers final : public OtherFiles {
 public:
  Removers RemoversIn(std::string_view, std::string_view) const override { return removers; }
  SequenceNumber OldestIn(std::string_view, std::string_view) const override { return oldest; }
  bool may_have_removers() const override { return removers.any; }
  bool has_no_removers() const override { return !removers.any; }

  Removers removers;
  SequenceNumber oldest = kMaxSequenceNumber;
};

class CellCollectorTest : public testing::Test {
 protected:
  // By this rule, in force since `since`.
  void Start(std::string_view rule, SequenceNumber since = 0) {
    FamilyRules rules(*GarbageRule::Parse(rule), 0);
    rules.since_sequence = since;
    collectors_.rules().Store(LiveRules::Prepare(rules));
    collectors_.SetClock(&write_clock_);
    collection_.others = &others_;
    collector_ = collectors_.NewCollector(collection_);
  }
  Decision Marker(uint64_t timestamp, SequenceNumber sequence, uint64_t write_number) {
    return Show(timestamp, CellKind::kMarker, sequence, write_number);
  }
  Decision Version(uint64_t timestamp, SequenceNumber sequence, uint64_t write_number) {
    return Show(timestamp, CellKind::kVersion, sequence, write_number);
  }

  TestClock clock_;
  WriteClock write_clock_{&clock_, {}, [](const WriteClock::Bounds&) { return absl::OkStatus(); }};
  CellCollectors collectors_;
  SaidOfOthers others_;
  Collection collection_{.moment = {.time = kStartMs, .sequence = 1000}, .settled = 1000};
  std::unique_ptr<EntryCollector> collector_;

 private:
  Decision Show(uint64_t timestamp, CellKind kind, SequenceNumber sequence, uint64_t write_number) {
    std::string key;
    MakeCellKey("row", "q", timestamp, kind, &key);
    std::string value;
    AppendCellValue({.write_number = write_number, .value = "v"}, &value);
    return collector_->Decide(key, sequence, value);
  }
};

TEST_F(CellCollectorTest, DropsWhatNewerVersionsSupersede) {
  Start("maxversions=2");
  EXPECT_EQ(Version(5, 50, 5), Decision::kKeep);
  EXPECT_EQ(Version(4, 40, 4), Decision::kKeep);
  EXPECT_EQ(Version(3, 30, 3), Decision::kDrop);
  EXPECT_EQ(Version(2, 0, 2), Decision::kDrop) << "of the last level";
}

// One of two versions is deleted before the next comes: at no time were there two newer ones.
TEST_F(CellCollectorTest, CountsNoVersionThatMayHaveComeAfterADeletionElsewhere) {
  for (const SequenceNumber horizon : {49u, 50u}) {
    others_.removers = {.any = true, .horizon = horizon};
    Start("maxversions=2");
    EXPECT_EQ(Version(5, 50, 5), Decision::kKeepNumber);
    EXPECT_EQ(Version(4, 40, 4), Decision::kKeepNumber);
    EXPECT_EQ(Version(3, 30, 3), horizon == 50 ? Decision::kDrop : Decision::kKeepNumber);
  }
}

TEST_F(CellCollectorTest, CountsNoVersionThatADeeperMarkerMayHide) {
  for (const SequenceNumber floor : {39u, 40u}) {
    others_.removers = {.any = true, .floor = floor};
    Start("maxversions=2");
    EXPECT_EQ(Version(5, 50, 5), Decision::kKeepNumber);
    EXPECT_EQ(Version(4, 40, 4), Decision::kKeepNumber);
    EXPECT_EQ(Version(3, 30, 3), floor == 39 ? Decision::kDrop : Decision::kKeepNumber);
  }
}

TEST_F(CellCollectorTest, WithoutItsNumberAVersionCountsOnlyWhereNothingIsRemoved) {
  others_.removers = {.any = true};
  Start("maxversions=1");
  EXPECT_EQ(Version(5, 0, 5), Decision::kKeepNumber);
  EXPECT_EQ(Version(4, 0, 4), Decision::kKeepNumber) << "which of them was there?";
  EXPECT_EQ(Version(3, 30, 3), Decision::kKeepNumber);
  EXPECT_EQ(Version(2, 0, 4), Decision::kKeepNumber) << "written after the one that counts";
  EXPECT_EQ(Version(1, 0, 2), Decision::kDrop);
}

TEST_F(CellCollectorTest, LooksAtNothingThatIsNotSettled) {
  collection_.settled = 45;
  Start("maxversions=1");
  EXPECT_EQ(Version(5, 50, 5), Decision::kKeepNumber);
  EXPECT_EQ(Version(4, 40, 4), Decision::kKeep);
  EXPECT_EQ(Version(3, 46, 6), Decision::kKeepNumber);
  EXPECT_EQ(Version(2, 20, 2), Decision::kDrop);
}

// A newer version that the old rules kept beside this one may have been deleted before the new
// ones.
TEST_F(CellCollectorTest, StricterRulesJudgeWhatWasThereWhenTheyCame) {
  collection_.settled = 59;
  for (const SequenceNumber since : {59u, 60u}) {
    Start("maxversions=1", since);
    EXPECT_EQ(Version(5, 50, 5), Decision::kKeep);
    EXPECT_EQ(Version(4, 40, 4), since == 59 ? Decision::kDrop : Decision::kKeep);
  }
}

TEST_F(CellCollectorTest, MarkersStayForWhatMayBeOlderAnywhere) {
  for (const SequenceNumber oldest : {39u, 41u}) {
    others_.oldest = oldest;
    Start("maxversions=9");
    EXPECT_EQ(Version(6, 60, 6), Decision::kKeep);
    EXPECT_EQ(Marker(5, 40, 4), oldest == 41 ? Decision::kDrop : Decision::kKeepNumber);
    EXPECT_EQ(Version(5, 50, 5), Decision::kKeep) << "written later";
    EXPECT_EQ(Marker(4, 30, 3), Decision::kDrop) << "the other hides all that it does";
    EXPECT_EQ(Version(3, 30, 3), Decision::kDrop);
  }
}

TEST_F(CellCollectorTest, AMarkerOfWhichTheNumberIsLostStaysBesideAnything) {
  others_.oldest = 500;
  Start("maxversions=9");
  EXPECT_EQ(Marker(5, 0, 4), Decision::kKeepNumber);
}

TEST_F(CellCollectorTest, AgesGoByATimeAtWhichTheVersionsWereThere) {
  constexpr std::string_view kRule = "maxage=10s and maxversions=1";
  const uint64_t old = kStartMs - 20'000;
  others_.removers = {.any = true, .horizon = 99};
  // At the number 1000, which says nothing of 99: the newer one may have been deleted before the
  // other became too old.
  Start(kRule);
  EXPECT_EQ(Version(old + 1, 50, 5), Decision::kKeepNumber);
  EXPECT_EQ(Version(old, 40, 4), Decision::kKeepNumber);
  // The moment of an earlier compaction.
  CellCollectors again;
  FamilyRules rules(*GarbageRule::Parse(kRule), 0);
  again.rules().Store(LiveRules::Prepare(rules));
  again.SetClock(&write_clock_);
  collection_.moment.sequence = 90;
  collection_.settled = 90;
  again.NewCollector(collection_);
  collection_.moment.sequence = 1000;
  collection_.settled = 99;
  collector_ = again.NewCollector(collection_);
  EXPECT_EQ(Version(old + 1, 50, 5), Decision::kKeepNumber);
  EXPECT_EQ(Version(old, 40, 4), Decision::kDrop);
}

TEST_F(CellCollectorTest, ColumnsAreNotParted) {
  const auto key = [](std::string_view row, std::string_view qualifier, uint64_t timestamp) {
    std::string made;
    MakeCellKey(row, qualifier, timestamp, CellKind::kVersion, &made);
    return made;
  };
  EXPECT_FALSE(collectors_.MayPart(key("r", "q", 2), key("r", "q", 1)));
  EXPECT_TRUE(collectors_.MayPart(key("r", "q", 2), key("r", "s", 1)));
  EXPECT_TRUE(collectors_.MayPart(key("r", "q", 2), key("s", "q", 1)));
  // An index shortens keys: they may end anywhere, and their last byte be greater.
  const std::string row("r\0x", 3);
  std::string escaped;
  AppendEscaped(row, &escaped);
  const std::string whole = key(row, "q", 2);
  for (size_t bytes = 1; bytes <= whole.size(); bytes++) {
    std::string shortened = whole.substr(0, bytes);
    for (int i = 0; i < 2; i++, shortened.back()++) {
      const std::string_view boundary = collectors_.WalkBoundary(shortened);
      EXPECT_LE(boundary, shortened);
      const bool is_in_row =
          key(row, "", UINT64_MAX >> 1) < boundary && boundary <= key(row, "z", 0);
      EXPECT_FALSE(is_in_row) << bytes;
      if (bytes > escaped.size() + 1) {
        EXPECT_EQ(boundary, escaped);
      }
    }
  }
}

// --- Tables, whose space flushes and ordinary compactions free ---

// A table "t" with a family "f".
class TableOfOneFamily : public testing::Test {
 protected:
  void Create(FamilySchema family) {
    family.name = "f";
    table_ = tables_.Create({.name = "t", .families = {std::move(family)}});
  }
  void Flush() { ASSERT_TRUE(tables_->Flush("t").ok()); }
  // In files.
  std::string NumKeys() {
    const auto family = tables_->db().FindColumnFamily("t:f");
    return *tables_->db().GetProperty(*family, "winnow.estimate-num-keys");
  }

  MemoryTables tables_;
  Table* table_ = nullptr;
};

// With `true` each cell is flushed by itself, so that it is compactions that meet several.
class CollectedTablesTest : public TableOfOneFamily, public testing::WithParamInterface<bool> {
 protected:
  // Not MajorCompact: what compactions that begin by themselves do.
  void Compact() {
    Flush();
    const auto family = tables_->db().FindColumnFamily("t:f");
    ASSERT_TRUE(tables_->db().CompactRange(*family, {}, {}).ok());
  }
  void PutMany(std::string_view row, int num_versions) {
    for (int i = 1; i <= num_versions; i++) {
      tables_.Put(table_, row, "f", "q", static_cast<uint64_t>(i), absl::StrCat("v", i));
      if (GetParam()) Flush();
    }
  }
};

TEST_P(CollectedTablesTest, OfVersions) {
  Create({.max_versions = 2});
  PutMany("row", 100);
  Compact();
  EXPECT_EQ(NumKeys(), "2");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v100@100 v99@99");
  // Nor does what is gone come back when those are deleted.
  TableBatch batch;
  batch.DeleteVersion(table_, "row", "f", "q", 100);
  batch.DeleteVersion(table_, "row", "f", "q", 99);
  tables_.Write(batch);
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "");
  Compact();
  EXPECT_EQ(NumKeys(), "0");
}

TEST_P(CollectedTablesTest, OfEachKindOfDelete) {
  Create({.max_versions = kUnlimitedVersions});
  TableBatch batch;
  for (const bool is_flushed : {true, false}) {
    PutMany("column", 50);
    PutMany("family", 50);
    PutMany("row", 50);
    PutMany("version", 2);
    if (is_flushed) Compact();
    batch.Clear();
    batch.DeleteColumn(table_, "column", "f", "q", 49);
    batch.DeleteFamily(table_, "family", "f", 49);
    batch.DeleteRow(table_, "row");
    batch.DeleteVersion(table_, "version", "f", "q", 2);
    tables_.Write(batch);
    Compact();
    EXPECT_EQ(NumKeys(), "3") << "markers among them";
    EXPECT_EQ(tables_.Versions(table_, "column", "f", "q"), "v50@50");
    EXPECT_EQ(tables_.Versions(table_, "family", "f", "q"), "v50@50");
    EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "");
    EXPECT_EQ(tables_.Versions(table_, "version", "f", "q"), "v1@1");
  }
}

TEST_P(CollectedTablesTest, OfAgesWithMinVersions) {
  Create({.max_versions = 100, .ttl_seconds = 10, .min_versions = 2});
  for (uint64_t i = 0; i < 50; i++) {
    tables_.Put(table_, "row", "f", "q", kStartMs + i, "v");
  }
  Compact();
  EXPECT_EQ(NumKeys(), "50");
  tables_.clock().AdvanceSeconds(11);
  ASSERT_TRUE(tables_->Put({}, table_, "other", "f", "q", "v").ok());
  Compact();
  EXPECT_EQ(NumKeys(), "3");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"),
            absl::StrCat("v@", kStartMs + 49, " v@", kStartMs + 48));
}

TEST_P(CollectedTablesTest, SnapshotsKeepWhatTheySaw) {
  Create({.max_versions = 1, .ttl_seconds = 10});
  tables_.Put(table_, "row", "f", "q", kStartMs, "old");
  tables_.Put(table_, "deleted", "f", "q", kStartMs, "v");
  const std::unique_ptr<TableSnapshot> snapshot = tables_->GetSnapshot();
  tables_.Put(table_, "row", "f", "q", kStartMs + 1, "new");
  TableBatch batch;
  batch.DeleteRow(table_, "deleted");
  tables_.Write(batch);
  Compact();
  EXPECT_EQ(tables_.Get(table_, "row", {.snapshot = snapshot.get()}).size(), 1u);
  EXPECT_EQ(tables_.Get(table_, "deleted", {.snapshot = snapshot.get()}).size(), 1u);
  tables_.clock().AdvanceSeconds(11);
  ASSERT_TRUE(tables_->Put({}, table_, "other", "f", "q", "v").ok());
  Compact();
  EXPECT_EQ(tables_.Get(table_, "row", {.snapshot = snapshot.get()}).size(), 1u) << "frozen clock";
  EXPECT_EQ(tables_.Get(table_, "deleted", {.snapshot = snapshot.get()}).size(), 1u);
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "");
}

TEST_P(CollectedTablesTest, LeaveNothingOnceSnapshotsAreReleased) {
  Create({.max_versions = 1});
  PutMany("row", 10);
  std::unique_ptr<TableSnapshot> snapshot = tables_->GetSnapshot();
  TableBatch batch;
  batch.DeleteRow(table_, "row");
  tables_.Write(batch);
  Compact();
  EXPECT_EQ(NumKeys(), "2") << "the version that the snapshot sees, and the marker";
  snapshot.reset();
  Compact();
  EXPECT_EQ(NumKeys(), "0");
}

TEST_P(CollectedTablesTest, OfMarkersOnceTheyMeetWhatTheyHide) {
  Create({.max_versions = kUnlimitedVersions});
  PutMany("a", 5);
  PutMany("b", 5);
  Compact();
  TableBatch batch;
  batch.DeleteColumn(table_, "a", "f", "q", 3);
  batch.DeleteRow(table_, "b", 3);
  tables_.Write(batch);
  // In level 0, where nothing older is seen with them.
  ASSERT_TRUE(tables_->Flush("t").ok());
  PutMany("c", 1);
  ASSERT_TRUE(tables_->Flush("t").ok());
  EXPECT_EQ(tables_.Versions(table_, "a", "f", "q"), "v5@5 v4@4");
  EXPECT_EQ(tables_.Versions(table_, "b", "f", "q"), "v5@5 v4@4");
  Compact();
  EXPECT_EQ(NumKeys(), "5");
}

// What superseded others before the rules were loosened may show them, or not; nothing else
// changes.
TEST_P(CollectedTablesTest, ByTheRulesOfTheirTime) {
  Create({.max_versions = 3});
  PutMany("row", 5);
  ASSERT_TRUE(
      tables_->AlterTable({.name = "t", .families = {{.name = "f", .max_versions = 1}}}).ok());
  Compact();
  EXPECT_EQ(NumKeys(), "1");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v5@5");
}

INSTANTIATE_TEST_SUITE_P(Flushes, CollectedTablesTest, testing::Bool(),
                         [](const auto& test) { return test.param ? "Each" : "All"; });

// --- What one flush leaves of what it meets ---

class FlushedTablesTest : public TableOfOneFamily {
 protected:
  void PutVersions(uint64_t first, uint64_t last) {
    for (uint64_t i = first; i <= last; i++) {
      tables_.Put(table_, "row", "f", "q", i, absl::StrCat("v", i));
    }
  }
  std::string NumKeysFlushed() {
    Flush();
    return NumKeys();
  }
  void Write(const std::function<void(TableBatch*)>& add) {
    TableBatch batch;
    add(&batch);
    tables_.Write(batch);
  }
};

TEST_F(FlushedTablesTest, KeepTheVersionsThatCount) {
  Create({.max_versions = 3});
  PutVersions(1, 100);
  EXPECT_EQ(NumKeysFlushed(), "3");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v100@100 v99@99 v98@98");
  // Of what lies deeper nothing goes, nor is it counted.
  PutVersions(101, 102);
  EXPECT_EQ(NumKeysFlushed(), "5");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v102@102 v101@101 v100@100");
}

TEST_F(FlushedTablesTest, KeepOneCellOfACounter) {
  Create({.max_versions = 1});
  for (int i = 1; i <= 200; i++) {
    ASSERT_EQ(*tables_->Increment({}, table_, "row", "f", "hits", 1), i);
  }
  EXPECT_EQ(NumKeysFlushed(), "1");
  EXPECT_EQ(*tables_->Increment({}, table_, "row", "f", "hits", 1), 201);
}

TEST_F(FlushedTablesTest, KeepWhatASnapshotSees) {
  Create({.max_versions = 1});
  PutVersions(1, 10);
  const std::unique_ptr<TableSnapshot> snapshot = tables_->GetSnapshot();
  PutVersions(11, 20);
  EXPECT_EQ(NumKeysFlushed(), "11") << "of what came before the snapshot, the newest";
  RowResult seen;
  ASSERT_TRUE(tables_->Get({.snapshot = snapshot.get()}, table_, "row", &seen).ok());
  ASSERT_EQ(seen.cells().size(), 1u);
  EXPECT_EQ(seen.cells().front().value, "v10");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v20@20");
}

TEST_F(FlushedTablesTest, LoseWhatMarkersHideAndMarkersThatHideNothingElse) {
  Create({.max_versions = kUnlimitedVersions});
  PutVersions(1, 10);
  Write([&](TableBatch* batch) { batch->DeleteColumn(table_, "row", "f", "q", 9); });
  EXPECT_EQ(NumKeysFlushed(), "1");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v10@10");
  // Now there is something deeper.
  PutVersions(11, 12);
  Write([&](TableBatch* batch) { batch->DeleteRow(table_, "row", 11); });
  EXPECT_EQ(NumKeysFlushed(), "3") << "v10, v12 and the marker";
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v12@12");
}

// A version that a marker in a file hides does not count, and need not come first.
TEST_F(FlushedTablesTest, CountNothingThatAMarkerBelowMayHide) {
  Create({.max_versions = 1});
  PutVersions(1, 1);
  EXPECT_EQ(NumKeysFlushed(), "1");
  Write([&](TableBatch* batch) { batch->DeleteColumn(table_, "row", "f", "q", 7); });
  EXPECT_EQ(NumKeysFlushed(), "2");
  // Written later, and so not hidden, whatever their timestamps.
  PutVersions(4, 6);
  EXPECT_EQ(NumKeysFlushed(), "3");
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "v6@6");
  Write([&](TableBatch* batch) { batch->DeleteVersion(table_, "row", "f", "q", 6); });
  EXPECT_EQ(tables_.Versions(table_, "row", "f", "q"), "");
}

TEST_F(FlushedTablesTest, LoseWhatIsTooOld) {
  Create({.max_versions = kUnlimitedVersions, .ttl_seconds = 10});
  for (uint64_t i = 0; i < 5; i++) tables_.Put(table_, "row", "f", "q", kStartMs + i, "v");
  tables_.clock().AdvanceSeconds(11);
  ASSERT_TRUE(tables_->Put({}, table_, "row", "f", "other", "v").ok());
  EXPECT_EQ(NumKeysFlushed(), "1");
}

TEST(CollectedTables, AColumnOfManyVersionsIsCompactedInOnePieceAndTakesNoTime) {
  Options options = MemoryDb::Quiet();
  options.target_file_bytes = 64 << 10;
  MemoryTables tables(options);
  Table* const table =
      tables.Create({.name = "t", .families = {{.name = "f", .max_versions = kUnlimitedVersions}}});
  TableBatch batch;
  constexpr uint64_t kVersions = 20'000;
  for (const std::string row : {"a", "b"}) {
    for (uint64_t i = 1; i <= kVersions; i++) {
      batch.Put(table, row, "f", "q", "value", {.timestamp = i});
    }
  }
  tables.Write(batch);
  const auto family = tables->db().FindColumnFamily("t:f");
  const auto compact = [&] {
    ASSERT_TRUE(tables->Flush("t").ok());
    ASSERT_TRUE(tables->db().CompactRange(*family, {}, {}).ok());
  };
  compact();
  int num_files = 0;
  for (int level = 0; level < 7; level++) {
    num_files += std::stoi(
        *tables->db().GetProperty(*family, absl::StrCat("winnow.num-files-at-level", level)));
  }
  EXPECT_EQ(num_files, 2) << "each column is larger than a file is to be";
  batch.Clear();
  batch.DeleteColumn(table, "a", "f", "q");
  batch.DeleteRow(table, "b");
  tables.Write(batch);
  compact();
  EXPECT_EQ(*tables->db().GetProperty(*family, "winnow.estimate-num-keys"), "0");
}

}  // namespace
}  // namespace winnow
