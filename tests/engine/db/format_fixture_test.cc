// Databases written by released format versions, opened by today's code. The files under fixtures/
// are never regenerated: a format that can no longer read them needs a new major version. Those of
// the present format, every_record, are written by a test that is told so by WINNOW_WRITE_FIXTURE.
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "tests/engine/db/every_record.h"
#include "tests/support/verify_messages.h"
#include "winnow/db.h"

namespace winnow {
namespace {

class FormatFixtureTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::filesystem::path source = std::filesystem::path(WINNOW_FIXTURES) / "format_1_0";
    path_ = std::filesystem::path(testing::TempDir()) / "winnow_format_1_0";
    std::filesystem::remove_all(path_);
    std::filesystem::copy(source, path_);
    std::filesystem::remove_all(every_record_);
  }
  void TearDown() override {
    std::filesystem::remove_all(path_);
    std::filesystem::remove_all(every_record_);
  }

  // Written: key00002, key00004 ... key01000 (cuckoo:1%, compacted), then
  // key00010 deleted and key00011 put, the last still in the log; in family "events"
  // (blocked_bloom:12, delimiter:/) user<n mod 10>/item<n> for n = 1 ... 200.
  void CheckContents(DB& db) {
    std::string value;
    for (int n = 2; n <= 1000; n += 2) {
      char key[16];
      std::snprintf(key, sizeof(key), "key%05d", n);
      const absl::Status status = db.Get(ReadOptions(), key, &value);
      if (n == 10) {
        EXPECT_TRUE(absl::IsNotFound(status)) << key;
      } else {
        ASSERT_TRUE(status.ok()) << key << ": " << status;
        EXPECT_EQ(value, "value of " + std::to_string(n));
      }
    }
    ASSERT_TRUE(db.Get(ReadOptions(), "key00011", &value).ok());
    EXPECT_EQ(value, "odd");
    auto events = db.FindColumnFamily("events");
    ASSERT_TRUE(events.ok());
    for (int n = 1; n <= 200; n++) {
      const std::string key = "user" + std::to_string(n % 10) + "/item" + std::to_string(n);
      ASSERT_TRUE(db.Get(ReadOptions(), *events, key, &value).ok()) << key;
      EXPECT_EQ(value, "x" + std::to_string(n));
    }
    EXPECT_EQ(*db.GetProperty(*events, "winnow.filter"), "blocked_bloom:12");
    EXPECT_EQ(*db.GetProperty(*events, "winnow.filter-key"), "delimiter:/");
  }

  std::filesystem::path path_;
  const std::filesystem::path every_record_fixture_ =
      std::filesystem::path(WINNOW_FIXTURES) / "every_record";
  const std::string every_record_ = testing::TempDir() + "/winnow_every_record";
};

TEST_F(FormatFixtureTest, TodaysCodeReadsVersion_1_0_AndItsFiltersAreUsed) {
  Options options;
  options.read_only = true;
  auto db = DB::Open(options, path_.string());
  ASSERT_TRUE(db.ok()) << db.status();
  CheckContents(**db);
  EXPECT_TRUE(VerifyMessages(**db).empty());
  std::string value;
  for (int n = 1; n < 1000; n += 2) {
    char key[16];
    std::snprintf(key, sizeof(key), "key%05d", n);
    if (n != 11) {
      EXPECT_TRUE(absl::IsNotFound((*db)->Get(ReadOptions(), key, &value)));
    }
  }
  uint64_t rejected = 0;
  for (const FilterStatistics& row : (*db)->GetStatistics().filters) rejected += row.rejected;
  EXPECT_GT(rejected, 450U);
  EXPECT_EQ((*db)->GetStatistics().Get(Ticker::kFiltersDamaged), 0U);
}

TEST_F(FormatFixtureTest, TodaysCodeWritesOnIntoVersion_1_0) {
  {
    auto db = DB::Open(Options(), path_.string());
    ASSERT_TRUE(db.ok()) << db.status();
    CheckContents(**db);
    ASSERT_TRUE((*db)->Put(WriteOptions(), "new", "entry").ok());
    ASSERT_TRUE((*db)->CompactRange({}, {}).ok());
    ASSERT_TRUE((*db)->Close().ok());
  }
  auto db = DB::Open(Options(), path_.string());
  ASSERT_TRUE(db.ok()) << db.status();
  CheckContents(**db);
  EXPECT_TRUE(VerifyMessages(**db).empty());
}

TEST_F(FormatFixtureTest, TodaysCodeWritesEveryRecord) {
  ASSERT_NO_FATAL_FAILURE(WriteEveryRecord(every_record_));
  ASSERT_NO_FATAL_FAILURE(CheckThatEveryKindIsThere(every_record_));
  if (std::getenv("WINNOW_WRITE_FIXTURE") != nullptr) {
    std::filesystem::remove_all(every_record_fixture_);
    std::filesystem::copy(every_record_, every_record_fixture_);
  }
  auto db = DB::Open(Options(), every_record_);
  ASSERT_TRUE(db.ok()) << db.status();
  CheckRecords(**db);
}

TEST_F(FormatFixtureTest, TodaysCodeReadsEveryRecord) {
  std::filesystem::copy(every_record_fixture_, every_record_);
  ASSERT_NO_FATAL_FAILURE(CheckThatEveryKindIsThere(every_record_));
  Options options;
  options.read_only = true;
  auto db = DB::Open(options, every_record_);
  ASSERT_TRUE(db.ok()) << db.status();
  CheckRecords(**db);
  EXPECT_EQ((*db)->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
}

TEST_F(FormatFixtureTest, TodaysCodeCompactsEveryRecord) {
  std::filesystem::copy(every_record_fixture_, every_record_);
  for (int round = 0; round < 2; round++) {
    Options options;
    ASSERT_TRUE(DB::LoadOptions(every_record_, &options).ok());
    auto db = DB::Open(options, every_record_);
    ASSERT_TRUE(db.ok()) << db.status();
    for (ColumnFamily* family : (*db)->ColumnFamilies()) {
      ASSERT_TRUE((*db)->CompactRange(family, std::nullopt, std::nullopt).ok());
    }
    CheckRecords(**db);
    ASSERT_TRUE((*db)->Close().ok());
  }
}

}  // namespace
}  // namespace winnow
