// Deletes of single versions: what goes with them, and what a batch takes for it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

class TableDelete : public testing::Test {
 protected:
  void Create(const FamilySchema& family) {
    schema_ = {.name = "t", .families = {family}};
    table_ = tables_.Create(schema_);
  }
  void Loosen() {
    schema_.families[0].max_versions = kUnlimitedVersions;
    const absl::Status altered = tables_->AlterTable(schema_);
    ASSERT_TRUE(altered.ok()) << altered;
  }
  void PutVersions(uint64_t count) {
    TableBatch batch;
    for (uint64_t i = 1; i <= count; i++) {
      batch.Put(table_, "r", "f", "q", "12345678", {.timestamp = i});
      if (i % 1000 != 0 && i != count) continue;
      tables_.Write(batch);
      batch.Clear();
    }
  }
  void Flush() { ASSERT_TRUE(tables_->Flush("t").ok()); }
  std::string Versions() { return tables_.Versions(table_, "r", "f", "q"); }
  uint64_t KeysWritten() { return tables_->db().GetStatistics().Get(Ticker::kKeysWritten); }

  MemoryTables tables_;
  TableSchema schema_;
  Table* table_ = nullptr;
};

// Hidden by a newer version, and then deleted: it is gone whatever shows the others again.
TEST_F(TableDelete, ASupersededVersionStaysDeletedWhenRulesAreLoosened) {
  for (const bool of_family : {false, true}) {
    for (const bool flushes : {false, true}) {
      SCOPED_TRACE(absl::StrCat(of_family, flushes));
      Create({.name = "f"});
      PutVersions(3);
      if (flushes) Flush();
      TableBatch batch;
      if (of_family) {
        batch.DeleteFamilyVersion(table_, "r", "f", 2);
      } else {
        batch.DeleteVersion(table_, "r", "f", "q", 2);
      }
      tables_.Write(batch);
      EXPECT_EQ(Versions(), "12345678@3");
      Loosen();
      EXPECT_EQ(Versions(), "12345678@3");
      ASSERT_TRUE(tables_->DropTable("t").ok());
    }
  }
}

// Of other columns nothing goes but the version.
TEST_F(TableDelete, AFamilyVersionTakesWhatItsColumnsHaveLetGo) {
  Create({.name = "f", .max_versions = 2});
  for (const uint64_t timestamp : {1, 2, 3, 4}) tables_.Put(table_, "r", "f", "a", timestamp, "v");
  for (const uint64_t timestamp : {1, 2, 3, 5}) tables_.Put(table_, "r", "f", "b", timestamp, "v");
  for (const uint64_t timestamp : {5, 6, 7}) tables_.Put(table_, "r", "f", "c", timestamp, "v");
  TableBatch batch;
  batch.DeleteFamilyVersion(table_, "r", "f", 3);
  tables_.Write(batch);
  EXPECT_EQ(tables_.Versions(table_, "r", "f", "a"), "v@4");
  EXPECT_EQ(tables_.Versions(table_, "r", "f", "b"), "v@5");
  EXPECT_EQ(tables_.Versions(table_, "r", "f", "c"), "v@7 v@6");
  Loosen();
  EXPECT_EQ(tables_.Versions(table_, "r", "f", "a"), "v@4");
  EXPECT_EQ(tables_.Versions(table_, "r", "f", "b"), "v@5");
}

// What stands between versions that are there was deleted, and stays so by its marker.
TEST_F(TableDelete, WhatAMarkerHidesBetweenVersionsStaysHidden) {
  Create({.name = "f", .max_versions = 3});
  PutVersions(6);
  TableBatch batch;
  batch.DeleteColumn(table_, "r", "f", "q", 5);
  batch.Put(table_, "r", "f", "q", "new", {.timestamp = 3});
  batch.Put(table_, "r", "f", "q", "new", {.timestamp = 2});
  batch.Put(table_, "r", "f", "q", "new", {.timestamp = 1});
  tables_.Write(batch);
  EXPECT_EQ(Versions(), "12345678@6 new@3 new@2");
  batch.Clear();
  batch.DeleteVersion(table_, "r", "f", "q", std::nullopt);
  batch.DeleteVersion(table_, "r", "f", "q", 3);
  tables_.Write(batch);
  EXPECT_EQ(Versions(), "new@2");
  Loosen();
  EXPECT_EQ(Versions(), "new@2");
  ASSERT_TRUE(tables_->MajorCompact("t").ok());
  EXPECT_EQ(Versions(), "new@2");
}

// As many versions as there may be: the updates of a write do not grow with those that it takes
// along. WINNOW_LONG_TESTS=1: a million.
TEST_F(TableDelete, ManySupersededVersionsGoByOneUpdate) {
  constexpr uint64_t kMostUpdates = 110;
  const uint64_t count = LongTests() ? 1'000'000 : 5'000;
  for (const bool flushes : {false, true}) {
    Create({.name = "f"});
    PutVersions(count);
    if (flushes) Flush();
    uint64_t before = KeysWritten();
    TableBatch batch;
    batch.DeleteVersion(table_, "r", "f", "q", std::nullopt);
    tables_.Write(batch);
    EXPECT_LE(KeysWritten() - before, kMostUpdates);
    EXPECT_EQ(Versions(), "");
    // Written later, with a time in between: there.
    tables_.Put(table_, "r", "f", "q", count / 2, "later");
    EXPECT_EQ(Versions(), absl::StrCat("later@", count / 2));
    Loosen();
    EXPECT_EQ(Versions(), absl::StrCat("later@", count / 2));
    tables_.Reopen();
    table_ = tables_.Find("t");
    EXPECT_EQ(Versions(), absl::StrCat("later@", count / 2));
    ASSERT_TRUE(tables_->DropTable("t").ok());

    // What keeps columns clean: an increment, and a cell with a time to live of its own.
    for (const bool has_ttl : {false, true}) {
      Create({.name = "f"});
      PutVersions(count);
      if (flushes) Flush();
      before = KeysWritten();
      if (has_ttl) {
        batch.Clear();
        batch.Put(table_, "r", "f", "q", "new", {.ttl_ms = 5});
        tables_.Write(batch);
        EXPECT_EQ(Versions(), absl::StrCat("new@", kStartMs));
      } else {
        EXPECT_TRUE(tables_->Increment({}, table_, "r", "f", "q", 1).ok());
      }
      // With those of a flag and of the clock.
      EXPECT_LE(KeysWritten() - before, kMostUpdates);
      Loosen();
      EXPECT_EQ(Versions().find('@'), Versions().rfind('@')) << "one version";
      ASSERT_TRUE(tables_->DropTable("t").ok());
    }
  }
}

}  // namespace
}  // namespace winnow
