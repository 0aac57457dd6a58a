// Range filters, end to end: what scans of short empty ranges read, and what they say of it.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

std::string BigEndian(uint64_t number) {
  std::string bytes(8, '\0');
  for (int i = 0; i < 8; i++)
    bytes[static_cast<size_t>(i)] = static_cast<char>(number >> (56 - 8 * i));
  return bytes;
}

Options WithFilter(const std::string& filter) {
  Options options = MemoryDb::Quiet();
  options.filter = filter;
  options.block_cache_bytes = 0;  // every block read is counted
  return options;
}

constexpr uint64_t kGap = uint64_t{1} << 20;
constexpr uint64_t kNumKeys = 20000;

// Numbers far from each other, under a prefix that all share.
std::string KeyAt(uint64_t number) { return "sensor/" + BigEndian(number); }
void FillNumbers(MemoryDb* db) {
  for (uint64_t i = 1; i <= kNumKeys; i++) db->Put(KeyAt(i * kGap), "v");
  db->CompactAll();
}

uint64_t BlocksRead(MemoryDb* db) { return (*db)->GetStatistics().Get(Ticker::kDataBlocksRead); }

FilterStatistics RangeRow(MemoryDb* db) {
  FilterStatistics sum;
  for (const FilterStatistics& row : (*db)->GetStatistics().filters) {
    if (row.kind == "range") sum = row;
  }
  return sum;
}

ReadOptions Between(std::string lower, std::string upper) {
  ReadOptions read;
  read.lower_bound = std::move(lower);
  read.upper_bound = std::move(upper);
  return read;
}

bool HasAny(MemoryDb* db, const ReadOptions& read) {
  const auto iterator = (*db)->NewIterator(read);
  iterator->SeekToFirst();
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  return iterator->Valid();
}

// Numbers at distances of chance. At equal ones the filter is wrong of all questions of a piece at
// once, and the rate, under a hash that is drawn anew each time, wavers more (see
// range_filter_seeds_test).
std::vector<uint64_t> FillScatteredNumbers(MemoryDb* db) {
  std::mt19937_64 random(2);
  std::vector<uint64_t> numbers;
  for (uint64_t i = 1; i <= kNumKeys; i++) numbers.push_back(i * kGap + random() % (kGap / 2));
  for (const uint64_t number : numbers) db->Put(KeyAt(number), "v");
  db->CompactAll();
  return numbers;
}

// Ranges of up to 2^10 numbers close to a key: nothing in them, whatever the filter says.
ReadOptions ShortEmptyRange(const std::vector<uint64_t>& numbers, std::mt19937_64& random,
                            uint64_t length) {
  const uint64_t begin = numbers[random() % numbers.size()] + 1 + random() % 64;
  return Between(KeyAt(begin), KeyAt(begin + length));
}

TEST(DbRangeFilter, ShortEmptyRangesReadNoBlockButAtTheRatePromised) {
  MemoryDb without(WithFilter("blocked_bloom:10"));
  std::vector<uint64_t> numbers = FillScatteredNumbers(&without);
  // Behind the last there is no block to read.
  numbers.pop_back();
  std::mt19937_64 random(1);
  constexpr int kRanges = 2000;
  uint64_t before = BlocksRead(&without);
  for (int i = 0; i < kRanges; i++) {
    EXPECT_FALSE(HasAny(&without, ShortEmptyRange(numbers, random, 1 + random() % 1024)));
  }
  EXPECT_GE(BlocksRead(&without) - before, kRanges);

  // 20 bits: 1024 numbers are let through at most once in 256.
  MemoryDb with(WithFilter("blocked_bloom:10+range:20"));
  FillScatteredNumbers(&with);
  for (const uint64_t length : {1, 32, 1024}) {
    before = BlocksRead(&with);
    const FilterStatistics row_before = RangeRow(&with);
    for (int i = 0; i < kRanges; i++) {
      EXPECT_FALSE(HasAny(&with, ShortEmptyRange(numbers, random, length)));
    }
    const auto rate = static_cast<double>(length) / (1 << 18);
    const auto read = static_cast<double>(BlocksRead(&with) - before);
    EXPECT_LE(read, kRanges * rate + 5 * std::sqrt(kRanges * rate) + 3) << length;
    EXPECT_EQ(RangeRow(&with).checked - row_before.checked, kRanges);
    // Where a block ends a seek reads the next one too.
    EXPECT_LE(static_cast<double>(RangeRow(&with).false_positive - row_before.false_positive),
              read);
  }
  const FilterStatistics row = RangeRow(&with);
  EXPECT_EQ(row.column_family, "default");
  EXPECT_EQ(row.call, FilterCall::kSeek);
  EXPECT_EQ(row.eligible, row.checked);
  EXPECT_EQ(row.true_positive, 0u);
  // The mean of what was promised for ranges of 1, 32 and 1024.
  EXPECT_NEAR(row.promised_fpr, (1 + 32 + 1024) / 3.0 / (1 << 18), 2e-4);
  EXPECT_LE(row.MeasuredFpr(), 3 * row.promised_fpr);
  EXPECT_GT(with->GetStatistics().levels.at(0).range_filter_bytes, kNumKeys * 20 / 8);
  EXPECT_GE(*with->GetProperty("winnow.filter-memory"),
            absl::StrCat(with->GetStatistics().levels.at(0).range_filter_bytes));
}

TEST(DbRangeFilter, WhatIsThereIsFoundAndCounted) {
  MemoryDb db(WithFilter("none+range:12"));
  FillNumbers(&db);
  for (uint64_t i = 1; i <= 1000; i++) {
    EXPECT_TRUE(HasAny(&db, Between(KeyAt(i * kGap), KeyAt(i * kGap + 1))));
    EXPECT_TRUE(HasAny(&db, Between(KeyAt(i * kGap - 500), KeyAt(i * kGap + 500))));
  }
  EXPECT_EQ(RangeRow(&db).true_positive, 2000u);
  EXPECT_EQ(RangeRow(&db).rejected + RangeRow(&db).false_positive, 0u);
  EXPECT_TRUE(std::isnan(RangeRow(&db).promised_fpr));
}

// One iterator, bounded above alone, that seeks here and there; and backwards, bounded below.
TEST(DbRangeFilter, IsAskedForEachSeekInBothDirections) {
  MemoryDb db(WithFilter("blocked_bloom:10+range:24"));
  FillNumbers(&db);
  ReadOptions above;
  above.upper_bound = KeyAt(500 * kGap + 1000);
  const auto forward = db->NewIterator(above);
  const uint64_t before = BlocksRead(&db);
  for (uint64_t i = 1; i < 900; i++) {
    forward->Seek(KeyAt(500 * kGap + i));
    EXPECT_FALSE(forward->Valid());
  }
  EXPECT_LE(BlocksRead(&db) - before, 3u);
  forward->Seek(KeyAt(500 * kGap));
  ASSERT_TRUE(forward->Valid());
  EXPECT_EQ(forward->key(), KeyAt(500 * kGap));
  forward->Next();
  EXPECT_FALSE(forward->Valid());
  forward->Seek(KeyAt(499 * kGap + 7));
  ASSERT_TRUE(forward->Valid());
  forward->Prev();
  ASSERT_TRUE(forward->Valid());
  EXPECT_EQ(forward->key(), KeyAt(499 * kGap));

  ReadOptions below;
  below.lower_bound = KeyAt(500 * kGap + 1);
  const auto backward = db->NewIterator(below);
  const uint64_t read = BlocksRead(&db);
  for (uint64_t i = 2; i < 900; i++) {
    backward->SeekForPrev(KeyAt(500 * kGap + i));
    EXPECT_FALSE(backward->Valid());
  }
  EXPECT_LE(BlocksRead(&db) - read, 3u);
  backward->SeekForPrev(KeyAt(501 * kGap + 3));
  ASSERT_TRUE(backward->Valid());
  EXPECT_EQ(backward->key(), KeyAt(501 * kGap));
  backward->Prev();
  EXPECT_FALSE(backward->Valid());
}

// A file's filter knows nothing of range deletions: those hide what older files have all the same.
TEST(DbRangeFilter, RangeDeletionsInAFileThatIsRuledOutHide) {
  MemoryDb db(WithFilter("blocked_bloom:10+range:16"));
  for (int i = 100; i < 200; i++) db.Put(absl::StrCat("key", i), "old");
  db.Flush();
  db.Put("a", "v");
  db.Put("z", "v");
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), "key120", "key180").ok());
  db.Flush();
  EXPECT_FALSE(HasAny(&db, Between("key130", "key140")));
  EXPECT_TRUE(HasAny(&db, Between("key110", "key120")));
  EXPECT_FALSE(HasAny(&db, Between("key120", "key180")));
  EXPECT_GT(RangeRow(&db).rejected, 0u);
  EXPECT_TRUE(VerifyMessages(*db).empty());
}

TEST(DbRangeFilter, FilterOfPrefixesAndOfRangesBothRuleOut) {
  Options options = WithFilter("blocked_bloom:16+range:24");
  options.filter_key = "whole+prefix:4";
  MemoryDb db(options);
  for (int i = 0; i < 500; i++) db.Put(absl::StrCat("p", 100 + 2 * (i / 10), "/", i % 10), "v");
  db.CompactAll();
  // Prefixes that are not there, and ranges within those that are.
  for (int i = 0; i < 50; i++) {
    const std::string absent = absl::StrCat("p", 101 + 2 * i);
    EXPECT_FALSE(HasAny(&db, Between(absent, absent + "~")));
    const std::string present = absl::StrCat("p", 100 + 2 * i);
    EXPECT_FALSE(HasAny(&db, Between(present + "/30", present + "/39")));
    EXPECT_TRUE(HasAny(&db, Between(present + "/3", present + "/39")));
  }
  EXPECT_GT(RangeRow(&db).rejected, 45u);
  EXPECT_GT(RangeRow(&db).true_positive, 45u);
}

// Beside a filter of prefixes an iterator asks both when it is made, to leave the file out.
TEST(DbRangeFilter, IsCountedOnceBesideAFilterOfPrefixes) {
  Options options = WithFilter("blocked_bloom:16+range:24");
  options.filter_key = "whole+prefix:4";
  MemoryDb db(options);
  for (int i = 0; i < 500; i++) db.Put(absl::StrCat("p", 100 + 2 * (i / 10), "/", i % 10), "v");
  db.CompactAll();
  // What is there: once as the iterator is made and seeks, and once for each seek more.
  uint64_t checked = 0;
  for (int i = 0; i < 49; i++) {
    const std::string present = absl::StrCat("p", 100 + 2 * i);
    EXPECT_TRUE(HasAny(&db, Between(present + "/3", present + "/39")));
    EXPECT_EQ(RangeRow(&db).checked, ++checked);
    EXPECT_EQ(RangeRow(&db).true_positive, checked);
    EXPECT_EQ(RangeRow(&db).eligible, checked);
  }
  {
    const auto iterator = db->NewIterator(Between("p120/2", "p120/8"));
    iterator->Seek("p120/4");
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "p120/4");
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "p120/2");
    iterator->SeekToLast();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "p120/7");
  }
  // From the bound as it was made, then from "p120/4", "p120/2" again, and down from the end.
  EXPECT_EQ(RangeRow(&db).checked, checked + 4);
  EXPECT_EQ(RangeRow(&db).rejected + RangeRow(&db).false_positive, 0u);
  // What is not there, under a prefix that is.
  for (int i = 0; i < 49; i++) {
    const std::string present = absl::StrCat("p", 100 + 2 * i);
    EXPECT_FALSE(HasAny(&db, Between(present + "/30", present + "/39")));
    const FilterStatistics row = RangeRow(&db);
    EXPECT_EQ(row.rejected + row.false_positive, static_cast<uint64_t>(i) + 1);
    EXPECT_EQ(row.checked, row.rejected + row.false_positive + row.true_positive);
  }
}

TEST(DbRangeFilter, ExplainSaysWhatItAnswered) {
  MemoryDb db(WithFilter("blocked_bloom:10+range:20"));
  FillNumbers(&db);
  const auto empty = db->ExplainRange(KeyAt(kGap + 1), KeyAt(kGap + 9));
  ASSERT_TRUE(empty.ok()) << empty.status();
  EXPECT_FALSE(empty->found);
  ASSERT_EQ(empty->steps.size(), 2u);
  EXPECT_EQ(empty->steps[1].filter, "range:20");
  EXPECT_EQ(empty->steps[1].filter_answer, ExplainStep::FilterAnswer::kNo);
  EXPECT_EQ(empty->steps[1].answer, ExplainStep::Answer::kNotAsked);
  const auto full = db->ExplainRange(KeyAt(kGap), KeyAt(kGap + 9));
  ASSERT_TRUE(full.ok());
  EXPECT_TRUE(full->found);
  EXPECT_EQ(full->steps[1].filter_answer, ExplainStep::FilterAnswer::kMaybe);
  EXPECT_EQ(full->steps[1].answer, ExplainStep::Answer::kEntries);
  EXPECT_TRUE(absl::StrContains(full->ToString(), "entries found")) << full->ToString();
  EXPECT_TRUE(absl::StrContains(full->ToJson(), "\"found\":true")) << full->ToJson();
  EXPECT_TRUE(absl::IsInvalidArgument(db->ExplainRange("b", "b").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->ExplainRange("b", "a").status()));
  EXPECT_EQ(RangeRow(&db).checked, 0u) << "explaining counts nothing";
}

TEST(DbRangeFilter, IsForTheBytewiseOrderAlone) {
  static const ReverseComparator reverse;
  MemoryDb db;
  ColumnFamilyOptions options;
  options.comparator = &reverse;
  options.filter = "blocked_bloom:10+range:12";
  const auto created = db->CreateColumnFamily(options, "reverse");
  EXPECT_TRUE(absl::IsInvalidArgument(created.status())) << created.status();
  EXPECT_TRUE(absl::StrContains(created.status().message(), "bytewise")) << created.status();
  for (const char* wrong :
       {"blocked_bloom:10+range", "blocked_bloom:10+range:1", "blocked_bloom:10+range:12+range:12",
        "+range:12", "bloom+range:x", "blocked_bloom:10+prefix:3"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(db->SetFilter(db->DefaultColumnFamily(), wrong, "")))
        << wrong;
  }
}

TEST(DbRangeFilter, ComesAndGoesWithSetFilterAndStaysAcrossOpenings) {
  MemoryDb db(WithFilter("blocked_bloom:10"));
  db.Put("a", "1");
  db.Put("z", "1");
  db.Flush();
  ASSERT_TRUE(db->SetFilter(db->DefaultColumnFamily(), "blocked_bloom:10+range:16", "").ok());
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "blocked_bloom:10+range:16");
  db.Put("b", "2");
  db.Put("y", "2");
  db.Flush();
  EXPECT_FALSE(HasAny(&db, Between("c", "d")));
  EXPECT_EQ(RangeRow(&db).checked, 1u);
  db.options().filter.clear();
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "blocked_bloom:10+range:16");
  EXPECT_FALSE(HasAny(&db, Between("c", "d")));
  EXPECT_EQ(RangeRow(&db).checked, 1u);
  bool in_all = false;
  for (const FilterStatistics& row : db->GetStatistics().in_all.filters) {
    if (row.kind == "range") in_all = row.checked == 2;
  }
  EXPECT_TRUE(in_all);
  db.CompactAll();
  EXPECT_TRUE(VerifyMessages(*db).empty());
}

// Where filters are charged to a cache that has no room for them it is not used, and this is said.
TEST(DbRangeFilter, WithoutRoomInTheCacheItIsNotUsed) {
  Options options = WithFilter("none+range:34");
  options.block_cache_bytes = 64 << 10;
  options.charge_filters_to_cache = true;
  MemoryDb db(options);
  FillNumbers(&db);
  EXPECT_FALSE(HasAny(&db, Between(KeyAt(kGap + 1), KeyAt(kGap + 2))));
  EXPECT_EQ(RangeRow(&db).checked, 0u);
  EXPECT_EQ(RangeRow(&db).eligible, 1u);
  EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.memory-usage"), "are not used"));
  const auto explained = db->ExplainRange(KeyAt(kGap + 1), KeyAt(kGap + 2));
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().filter_answer, ExplainStep::FilterAnswer::kUnusable);
}

// --- Damage ---

std::string OnlyTable(RecordingFileSystem& file_system) {
  const auto names = file_system.List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (name.ends_with(".sst")) return absl::StrCat(MemoryDb::kPath, "/", name);
  }
  ADD_FAILURE() << "no table";
  return "";
}

TEST(DbRangeFilter, DamageOfItLosesNoKeyIsCountedAndIsFoundByVerify) {
  MemoryDb db(WithFilter("blocked_bloom:10+range:16"));
  for (uint64_t i = 1; i <= 500; i++) db.Put(KeyAt(i * kGap), "v");
  db.CompactAll();
  const std::string path = OnlyTable(db.file_system());
  SstableBlockInfo block;
  {
    auto reader = SstableReader::Open({}, *db.file_system().OpenRandomAccess(path), path);
    ASSERT_TRUE(reader.ok()) << reader.status();
    const absl::Status visited = (*reader)->ForEachBlock([&](const SstableBlockInfo& info) {
      if (info.kind == BlockKind::kRangeFilter) block = info;
    });
    ASSERT_TRUE(visited.ok()) << visited;
  }
  ASSERT_GT(block.stored_bytes, 500u);
  const std::string sound = *ReadFile(db.file_system(), path, 1 << 26);
  for (const uint64_t at : {uint64_t{0}, uint64_t{20}, block.stored_bytes / 2,
                            block.stored_bytes - 10, block.stored_bytes - 1}) {
    SCOPED_TRACE(at);
    db.CloseDb();
    std::string damaged = sound;
    damaged[block.offset + at] = static_cast<char>(damaged[block.offset + at] ^ 0x10);
    {
      auto file = *db.file_system().Create(path, {});
      ASSERT_TRUE(file->Append(damaged).ok() && file->Sync().ok() && file->Close().ok());
    }
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    for (uint64_t i = 1; i <= 500; i++) {
      ASSERT_TRUE(HasAny(&db, Between(KeyAt(i * kGap), KeyAt(i * kGap + 1))));
      ASSERT_FALSE(HasAny(&db, Between(KeyAt(i * kGap + 1), KeyAt(i * kGap + 2))));
    }
    EXPECT_EQ(RangeRow(&db).checked, 0u);
    EXPECT_EQ(RangeRow(&db).eligible, 999u) << "behind the last key there is no file to ask";
    const std::vector<std::string> problems = VerifyMessages(*db);
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_TRUE(absl::StrContains(problems[0], "range filter block")) << problems[0];
  }
  db.CompactAll();
  EXPECT_TRUE(VerifyMessages(*db).empty());
}

}  // namespace
}  // namespace winnow
