#include "tools/round_trip/round_trip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "tools/round_trip/absent_keys.h"

namespace winnow::round_trip {
namespace {

constexpr std::string_view kPackages =
    "Package: zlib\nVersion: 1.2\nDescription: compression\n continued\n\n"
    "Package: abc\nVersion: 9-1\n\n"
    "Package: without-version\n\n"
    "Package: zlib\nVersion: 1.2\nOrigin: elsewhere\n";

std::vector<Record> NumberedRecords(int count) {
  std::vector<Record> records;
  for (int number = 0; number < count; number++) {
    records.push_back({"package" + std::to_string(100000 + number) + "=1.0", "the value"});
  }
  return records;
}

TEST(RealInput, PackageStanzasBecomeDistinctRecordsInKeyOrder) {
  const RecordSet set = ParsePackageStanzas(kPackages);
  ASSERT_EQ(set.records.size(), 2u);
  EXPECT_EQ(set.num_repeated, 1u);
  EXPECT_EQ(set.records[0].key, "abc=9-1");
  EXPECT_EQ(set.records[1].key, "zlib=1.2");
  EXPECT_THAT(std::string(set.records[1].value), testing::HasSubstr("\n continued\n"));
  EXPECT_THAT(std::string(set.records[1].value), testing::Not(testing::HasSubstr("elsewhere")));
}

TEST(RealInput, TextWithoutStanzasGivesNothing) {
  EXPECT_TRUE(ParsePackageStanzas("").records.empty());
  EXPECT_TRUE(ParsePackageStanzas("\n\n\n").records.empty());
  EXPECT_TRUE(ParsePackageStanzas("Package: only-a-name").records.empty());
}

TEST(RealInput, LinesWithoutATabAreSkipped) {
  const RecordSet set = ParseTabbedLines("/b\ttwo\nno tab\n\tno key\n/a\tone\tmore\n");
  ASSERT_EQ(set.records.size(), 2u);
  EXPECT_EQ(set.records[0].key, "/a");
  EXPECT_EQ(set.records[0].value, "one\tmore");
}

TEST(RealInput, AMissingFileIsNamedInTheError) {
  EXPECT_THAT(std::string(ReadWholeFile("/no/such/file").status().message()),
              testing::HasSubstr("/no/such/file"));
}

TEST(AbsentKeys, EachIsAbsentAndInsideTheRange) {
  const std::vector<Record> records = NumberedRecords(1000);
  std::set<std::string> present;
  for (const Record& record : records) present.insert(record.key);
  const std::vector<std::string> absent = DeriveAbsentKeys(records);
  EXPECT_GE(absent.size(), records.size() - 2);
  for (const std::string& key : absent) {
    EXPECT_FALSE(present.contains(key)) << key;
    EXPECT_GT(key, records.front().key);
    EXPECT_LT(key, records.back().key);
  }
}

TEST(AbsentKeys, NoRecordsGiveNone) { EXPECT_TRUE(DeriveAbsentKeys({}).empty()); }

TEST(RoundTrip, EveryRecordComesBackAndFiltersRejectMostAbsentKeys) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "winnow_round_trip_test";
  std::filesystem::remove_all(folder);
  const std::vector<Record> records = NumberedRecords(20000);
  const auto result = RunRoundTrip(Options(), folder.string(), records);
  ASSERT_TRUE(result.ok()) << result.status();
  std::filesystem::remove_all(folder);

  const auto absent = std::find_if(result->phases.begin(), result->phases.end(),
                                   [](const Phase& phase) { return phase.name == "absent keys"; });
  ASSERT_NE(absent, result->phases.end());
  EXPECT_EQ(absent->found, 0u);
  EXPECT_GE(absent->filters_checked, absent->operations * 9 / 10);
  EXPECT_EQ(absent->filters_checked, absent->filters_rejected + absent->false_positives);
  EXPECT_LT(absent->false_positives, absent->filters_checked / 50);
  EXPECT_LE(absent->data_blocks_read, absent->false_positives);
}

TEST(RoundTrip, ADatabaseThatExistsIsNotTouched) {
  const std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) / "winnow_round_trip_exists";
  std::filesystem::remove_all(folder);
  const std::vector<Record> records = NumberedRecords(10);
  ASSERT_TRUE(RunRoundTrip(Options(), folder.string(), records).ok());
  EXPECT_EQ(RunRoundTrip(Options(), folder.string(), records).status().code(),
            absl::StatusCode::kAlreadyExists);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace winnow::round_trip
