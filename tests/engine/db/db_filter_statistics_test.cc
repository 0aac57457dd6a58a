// What the filter statistics say, against what the test knows from outside: which keys are there
// and in which file.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

Options WithSpec(const std::string& spec) {
  Options options = MemoryDb::Quiet();
  options.filter = spec;
  options.block_cache_bytes = 0;  // every block read is counted
  options.memtable_filter_ratio = 0;
  return options;
}

// Even numbers are present, odd ones absent and between them.
std::string NumberKey(uint64_t number) { return absl::StrFormat("key%010d", number); }

FilterStatistics Sum(MemoryDb* db, FilterCall call) {
  FilterStatistics sum;
  for (const FilterStatistics& row : (*db)->GetStatistics().filters) {
    if (row.call != call) continue;
    sum.eligible += row.eligible;
    sum.checked += row.checked;
    sum.rejected += row.rejected;
    sum.true_positive += row.true_positive;
    sum.false_positive += row.false_positive;
  }
  return sum;
}

// Flushes `num_files` level-0 files that all span the whole key range; file f holds the present
// keys i with i % num_files == f.
void FillLevelZero(MemoryDb* db, uint64_t num_keys, uint64_t num_files) {
  for (uint64_t file = 0; file < num_files; file++) {
    db->Put(" first", "v");
    for (uint64_t i = file; i < num_keys; i += num_files) db->Put(NumberKey(2 * i), "v");
    db->Put("zlast", "v");
    db->Flush();
  }
}

// `count` successes of probability `p` in `n` trials, where the filter itself is one random draw of
// many: about one run in a million is outside.
void ExpectNearPromise(double count, double n, double p) {
  const double sampling = n * p * (1 - p);
  const double drawing = std::pow(0.02 * n * p, 2);
  EXPECT_NEAR(count, n * p, 5 * std::sqrt(sampling + drawing)) << "of " << n << " at " << p;
}

TEST(DbFilterStatistics, CountsOfGetAgreeWithAnOutsideCount) {
  constexpr uint64_t kKeys = 2000;
  constexpr uint64_t kFiles = 5;
  MemoryDb db(WithSpec("blocked_bloom:6"));
  FillLevelZero(&db, kKeys, kFiles);
  uint64_t explained_false_positives = 0;
  for (uint64_t i = 0; i < kKeys; i++) {
    for (const uint64_t number : {2 * i, 2 * i + 1}) {
      const auto explained = db->Explain(NumberKey(number));
      ASSERT_TRUE(explained.ok());
      EXPECT_EQ(explained->found, number % 2 == 0);
      for (const ExplainStep& step : explained->steps) {
        explained_false_positives += step.false_positive && step.file_number != 0 ? 1 : 0;
      }
    }
  }
  EXPECT_EQ(Sum(&db, FilterCall::kGet).eligible, 0u) << "Explain is counted in no statistics";

  uint64_t asked = 0;
  for (uint64_t i = 0; i < kKeys; i++) {
    ASSERT_EQ(db.Get(NumberKey(2 * i)), "v");
    asked += kFiles - i % kFiles;  // newest first, down to the file that holds it
    ASSERT_EQ(db.Get(NumberKey(2 * i + 1)), "(absent)");
    // The last odd key lies before "zlast" and after " first" in every file.
    asked += kFiles;
  }
  const FilterStatistics sum = Sum(&db, FilterCall::kGet);
  EXPECT_EQ(sum.eligible, asked);
  EXPECT_EQ(sum.checked, asked);
  EXPECT_EQ(sum.true_positive, kKeys);
  EXPECT_EQ(sum.rejected + sum.false_positive, asked - kKeys);
  EXPECT_EQ(sum.false_positive, explained_false_positives);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kGets), 2 * kKeys);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kGetsFound), kKeys);
}

TEST(DbFilterStatistics, MultiGetCountsTheSameAsGets) {
  MemoryDb db(WithSpec("bloom:6"));
  FillLevelZero(&db, 1000, 3);
  db.CompactAll();
  FillLevelZero(&db, 1000, 3);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 2000; i++) keys.push_back(NumberKey(i));
  for (const std::string& key : keys) db.Get(key);
  for (size_t first = 0; first < keys.size(); first += 50) {
    const auto begin = keys.begin() + static_cast<ptrdiff_t>(first);
    db.MultiGet(std::vector<std::string>(begin, begin + 50));
  }
  const FilterStatistics gets = Sum(&db, FilterCall::kGet);
  const FilterStatistics together = Sum(&db, FilterCall::kMultiGet);
  EXPECT_GT(gets.rejected, 0u);
  EXPECT_EQ(together.eligible, gets.eligible);
  EXPECT_EQ(together.rejected, gets.rejected);
  EXPECT_EQ(together.true_positive, gets.true_positive);
  EXPECT_EQ(together.false_positive, gets.false_positive);
}

TEST(DbFilterStatistics, FilesWithoutFilterAreEligibleButNotChecked) {
  MemoryDb db(WithSpec("none"));
  FillLevelZero(&db, 100, 2);
  for (uint64_t i = 0; i < 100; i++) db.Get(NumberKey(2 * i + 1));
  const FilterStatistics sum = Sum(&db, FilterCall::kGet);
  EXPECT_EQ(sum.eligible, 200u);
  EXPECT_EQ(sum.checked, 0u);
  EXPECT_TRUE(std::isnan(sum.MeasuredFpr()));
}

// The prediction that makes a filter worth its memory: a missing key costs as many block reads as
// the promised rate says, and not one more.
void CheckBlockReads(const std::string& spec, bool compacted) {
  SCOPED_TRACE(absl::StrCat(spec, compacted ? ", compacted" : ", not compacted"));
  constexpr uint64_t kKeys = 100000;
  const uint64_t kMissing = compacted ? 220000 : 70000;  // times three files each
  MemoryDb db(WithSpec(spec));
  FillLevelZero(&db, kKeys, 3);
  if (compacted) db.CompactAll();
  for (uint64_t i = 0; i < kMissing; i++) {
    // Distinct keys between the present ones.
    std::string value;
    const std::string key = absl::StrCat(NumberKey(2 * (i % kKeys)), "-", i / kKeys);
    ASSERT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), key, &value)));
  }
  const Statistics statistics = db->GetStatistics();
  uint64_t false_positives = 0;
  for (const FilterStatistics& row : statistics.filters) {
    EXPECT_EQ(row.checked, kMissing * (compacted ? 1 : 3));
    EXPECT_EQ(row.eligible, row.checked);
    EXPECT_EQ(row.true_positive, 0u);
    EXPECT_GT(row.promised_fpr, 0);
    ExpectNearPromise(static_cast<double>(row.false_positive), static_cast<double>(row.checked),
                      row.promised_fpr);
    EXPECT_DOUBLE_EQ(row.MeasuredFpr(),
                     static_cast<double>(row.false_positive) / static_cast<double>(row.checked));
    false_positives += row.false_positive;
  }
  ASSERT_EQ(statistics.filters.size(), 1u);
  EXPECT_EQ(statistics.Get(Ticker::kDataBlocksRead), false_positives)
      << "one block for each false positive, and none else";
}

TEST(DbFilterStatistics, APromiseOutlivesTheFilesThatCompactionRewrote) {
  MemoryDb db(WithSpec("blocked_bloom:10"));
  FillLevelZero(&db, 10000, 3);
  std::string value;
  ASSERT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), "000x", &value)));
  ASSERT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), NumberKey(1) + "x", &value)));
  const Statistics before = db->GetStatistics();
  ASSERT_EQ(before.filters.size(), 1u);
  db.CompactAll();
  ASSERT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), NumberKey(2) + "x", &value)));
  const Statistics after = db->GetStatistics();
  ASSERT_EQ(after.filters.size(), 2u) << "one row for the level before, one for the level now";
  for (const FilterStatistics& row : after.filters) {
    EXPECT_GT(row.promised_fpr, 0.005) << "level " << row.level;
    EXPECT_LT(row.promised_fpr, 0.015) << "level " << row.level;
  }
}

TEST(DbFilterStatistics, BlockedBloomReadsAsManyBlocksAsPromised) {
  CheckBlockReads("blocked_bloom:10", true);
  CheckBlockReads("blocked_bloom:10", false);
}
TEST(DbFilterStatistics, BloomReadsAsManyBlocksAsPromised) {
  CheckBlockReads("bloom:10", true);
  CheckBlockReads("bloom:8", false);
}
TEST(DbFilterStatistics, CuckooReadsAsManyBlocksAsPromised) {
  CheckBlockReads("cuckoo:1%", true);
  CheckBlockReads("cuckoo:1%", false);
}

// Asks absent keys until one is a false positive of the only file.
std::string FindFalsePositive(MemoryDb* db) {
  for (uint64_t i = 0; i < 100000; i++) {
    const auto explained = (*db)->Explain(NumberKey(2 * i + 1));
    for (const ExplainStep& step : explained->steps) {
      if (step.file_number != 0 && step.false_positive) return NumberKey(2 * i + 1);
    }
  }
  ADD_FAILURE() << "no false positive among 100,000 keys";
  return "";
}

TEST(DbFilterStatistics, ARepeatedFalsePositiveCostsOneReadAndNeverHidesTheKeyLater) {
  MemoryDb db(WithSpec("blocked_bloom:4"));
  FillLevelZero(&db, 100000, 1);
  const std::string key = FindFalsePositive(&db);
  EXPECT_TRUE(db->MayExist(ReadOptions(), key));
  const uint64_t read_before = db->GetStatistics().Get(Ticker::kDataBlocksRead);
  for (int i = 0; i < 10; i++) EXPECT_EQ(db.Get(key), "(absent)");
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kDataBlocksRead), read_before + 1);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFalsePositiveCacheHits), 9u);
  EXPECT_EQ(Sum(&db, FilterCall::kGet).false_positive, 10u) << "the filter stays wrong";
  EXPECT_FALSE(db->MayExist(ReadOptions(), key));

  db.Put(key, "now here");
  EXPECT_EQ(db.Get(key), "now here");
  db.Flush();
  EXPECT_EQ(db.Get(key), "now here");
  db.CompactAll();
  EXPECT_EQ(db.Get(key), "now here");
}

TEST(DbFilterStatistics, ScansInsideAnAbsentPrefixReadNothingAndAreCounted) {
  Options options = WithSpec("blocked_bloom:16");
  options.filter_key = "prefix:6";
  MemoryDb db(options);
  for (int i = 0; i < 900; i += 3) db.Put(absl::StrFormat("tab%03d:row", i), "v");
  db.CompactAll();
  const uint64_t read_before = db->GetStatistics().Get(Ticker::kDataBlocksRead);
  int absent = 0;
  for (int i = 1; i < 897; i += 3) {
    ReadOptions read;
    read.lower_bound = absl::StrFormat("tab%03d:", i);
    read.upper_bound = absl::StrFormat("tab%03d;", i);
    const auto iterator = db->NewIterator(read);
    iterator->SeekToFirst();
    EXPECT_FALSE(iterator->Valid());
    absent++;
  }
  const FilterStatistics sum = Sum(&db, FilterCall::kSeek);
  EXPECT_EQ(sum.checked, static_cast<uint64_t>(absent));
  EXPECT_GE(sum.rejected, sum.checked - 10);
  EXPECT_EQ(sum.true_positive, 0u);
  EXPECT_LE(db->GetStatistics().Get(Ticker::kDataBlocksRead) - read_before, 2 * sum.false_positive);
}

// The one who asks is seldom the one who looked up.
TEST(DbFilterStatistics, OutliveTheProcessAndAreReadBesideIt) {
  MemoryDb db(WithSpec("blocked_bloom:6"));
  FillLevelZero(&db, 100, 1);
  for (int opening = 1; opening <= 3; opening++) {
    for (uint64_t i = 0; i < 100; i++) ASSERT_EQ(db.Get(NumberKey(2 * i + 1)), "(absent)");
    const Statistics now = db->GetStatistics();
    EXPECT_EQ(now.Get(Ticker::kGets), 100u);
    EXPECT_EQ(now.in_all.Get(Ticker::kGets), 100u * static_cast<uint64_t>(opening));
    EXPECT_EQ(now.in_all.openings, static_cast<uint64_t>(opening));
    ASSERT_EQ(now.in_all.filters.size(), 1u);
    EXPECT_EQ(now.in_all.filters[0].checked, 100u * static_cast<uint64_t>(opening));
    EXPECT_GT(now.in_all.filters[0].promised_fpr, 0);
    db.Reopen();
  }
  const auto saved = DB::ReadStatistics(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_TRUE(saved->is_closed);
  EXPECT_EQ(saved->since_opening.Get(Ticker::kGets), 100u);
  EXPECT_EQ(saved->in_all.Get(Ticker::kGets), 300u);
  // A reader shows them, and leaves them as they are.
  Options reader = db.options();
  reader.read_only = true;
  db.CloseDb();
  {
    const std::unique_ptr<DB> beside = OpenOrFail(reader, MemoryDb::kPath);
    std::string value;
    EXPECT_TRUE(absl::IsNotFound(beside->Get(ReadOptions(), NumberKey(1), &value)));
    EXPECT_EQ(beside->GetStatistics().in_all.Get(Ticker::kGets), 301u);
  }
  EXPECT_EQ(DB::ReadStatistics(db.options(), MemoryDb::kPath)->in_all.Get(Ticker::kGets), 300u);
}

TEST(DbFilterStatistics, OfFamiliesThatWereDroppedAreNotKept) {
  MemoryDb db(WithSpec("blocked_bloom:6"));
  auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "gone");
  ASSERT_TRUE(family.ok());
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "a", "v").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "c", "v").ok());
  ASSERT_TRUE(db->Flush(*family).ok());
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), *family, "b", &value)));
  db.Reopen();
  EXPECT_EQ(db->GetStatistics().in_all.filters.size(), 1u);
  ASSERT_TRUE(db->DropColumnFamily(*db->FindColumnFamily("gone")).ok());
  EXPECT_EQ(db->GetStatistics().in_all.filters.size(), 0u);
}

// Its rows once went on with those that earlier openings had saved of the one before.
TEST(DbFilterStatistics, AFamilyCreatedAnewBeginsAnew) {
  MemoryDb db(WithSpec("blocked_bloom:6"));
  const auto create_and_look_up = [&](int num_lookups) {
    const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "users");
    ASSERT_TRUE(family.ok());
    for (const std::string_view key : {"a", "c"}) {
      ASSERT_TRUE(db->Put(WriteOptions(), *family, key, "v").ok());
    }
    ASSERT_TRUE(db->Flush(*family).ok());
    std::string value;
    for (int i = 0; i < num_lookups; i++) {
      EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), *family, "b", &value)));
    }
  };
  create_and_look_up(1000);
  db.Reopen();
  ASSERT_EQ(db->GetStatistics().in_all.filters.at(0).checked, 1000u);
  ASSERT_TRUE(db->DropColumnFamily(*db->FindColumnFamily("users")).ok());
  create_and_look_up(0);
  EXPECT_EQ(db->GetStatistics().in_all.filters.size(), 0u);
  const auto family = db->FindColumnFamily("users");
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), *family, "b", &value)));
  for (int opening = 0; opening < 2; opening++) {
    ASSERT_EQ(db->GetStatistics().in_all.filters.size(), 1u);
    EXPECT_EQ(db->GetStatistics().in_all.filters[0].checked, 1u);
    EXPECT_EQ(db->GetStatistics().in_all.Get(Ticker::kGets), 1001u) << "of the whole database";
    db.Reopen();
  }
}

// They are no data: nothing that happens to their file harms the database.
TEST(DbFilterStatistics, AreCountedAnewWhereTheirFileIsDamagedOrCannotBeWritten) {
  MemoryDb db(WithSpec("blocked_bloom:6"));
  db.Put("key", "v");
  db.Reopen();
  const std::string path = absl::StrCat(MemoryDb::kPath, "/STATISTICS");
  auto file = db.file_system().Create(path, WritableFileOptions());
  ASSERT_TRUE(file.ok() && (*file)->Append("winnstat, but no more").ok() && (*file)->Close().ok());
  db.CloseDb();
  file = db.file_system().Create(path, WritableFileOptions());
  ASSERT_TRUE(file.ok() && (*file)->Append("winnstat, but no more").ok() && (*file)->Close().ok());
  db.Reopen();
  EXPECT_EQ(db.Get("key"), "v");
  EXPECT_EQ(db->GetStatistics().in_all.Get(Ticker::kGets), 1u);
  EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.recovery"), "statistics begin anew: "));
  db.file_system().set_error_hook([](const FileOperation& operation) -> absl::Status {
    return absl::StrContains(operation.path, "STATISTICS")
               ? absl::ResourceExhaustedError("no space left on device")
               : absl::OkStatus();
  });
  EXPECT_TRUE(db->Close().ok());
  db.file_system().set_error_hook(nullptr);
}

// A process that has no descriptor left for a moment loses nothing that others have counted.
TEST(DbFilterStatistics, AreAddedToWhatCouldNotBeReadAtOpening) {
  MemoryDb db(WithSpec("blocked_bloom:6"));
  EXPECT_EQ(db.Get("key"), "(absent)");
  for (const bool can_be_read_in_time : {true, false}) {
    db.file_system().set_error_hook([](const FileOperation& operation) -> absl::Status {
      const bool is_read = operation.kind == FileOperation::Kind::kOpenForReading;
      return is_read && absl::StrContains(operation.path, "STATISTICS")
                 ? absl::ResourceExhaustedError("Too many open files")
                 : absl::OkStatus();
    });
    db.Reopen();
    EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.recovery"),
                                  "statistics are not saved before earlier ones can be read: "));
    EXPECT_EQ(db.Get("key"), "(absent)");
    if (can_be_read_in_time) db.file_system().set_error_hook(nullptr);
    db.CloseDb();
    db.file_system().set_error_hook(nullptr);
    // What this opening counted is lost where it could not be added to anything.
    EXPECT_EQ(DB::ReadStatistics(db.options(), MemoryDb::kPath)->in_all.Get(Ticker::kGets), 2u);
    db.Reopen();
  }
}

}  // namespace
}  // namespace winnow
