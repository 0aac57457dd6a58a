// DB::Refilter: other filters for tables that stay as they are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"
#include "winnow/filter_policy.h"

namespace winnow::refilter {
namespace {

TEST(Refilter, GivesEveryFileTheFilterAndLeavesTheTablesAsTheyAre) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const auto tables = BytesOf(db, ".sst");
  ASSERT_GE(tables.size(), 4u);
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), tables.size());

  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(info.files_refiltered, tables.size());
  EXPECT_EQ(info.files_current + info.files_gone + info.files_damaged + info.files_left, 0u);
  EXPECT_EQ(FilesWith(*db, kNewFilter), tables.size());
  EXPECT_EQ(FilesNamed(db, ".flt").size(), tables.size());
  EXPECT_EQ(BytesOf(db, ".sst"), tables);
  EXPECT_EQ(*db->GetProperty("winnow.filter"), kNewFilter);
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  const auto explained = db->Explain(KeyAt(2));
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().filter, kNewFilter);

  db.Reopen();
  EXPECT_EQ(FilesWith(*db, kNewFilter), tables.size());
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
  ExpectAllKeys(db);
  // 10 bits a key let one in a hundred through, this filter one in a thousand.
  EXPECT_LT(FalsePositives(*db), 20u);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

TEST(Refilter, ReadsEachTableOnceAndASecondCallReadsNothing) {
  MemoryDb db(SmallFiles());
  Fill(db);
  uint64_t table_bytes = 0;
  for (const auto& [name, bytes] : BytesOf(db, ".sst")) table_bytes += bytes.size();
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_LE(info.bytes_read, table_bytes);
  EXPECT_GT(info.bytes_read, table_bytes * 9 / 10);
  uint64_t filter_file_bytes = 0;
  for (const auto& [name, bytes] : BytesOf(db, ".flt")) filter_file_bytes += bytes.size();
  EXPECT_EQ(info.bytes_written, filter_file_bytes);
  EXPECT_LT(info.filter_bytes, info.bytes_written);

  const RefilterInfo again = RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(again.files_refiltered, 0u);
  EXPECT_EQ(again.files_current, info.files_refiltered);
  EXPECT_EQ(again.bytes_read + again.bytes_written, 0u);
  const Statistics counted = db->GetStatistics();
  EXPECT_EQ(counted.Get(Ticker::kRefilters), 2u);
  EXPECT_EQ(counted.Get(Ticker::kFilesRefiltered), info.files_refiltered);
  EXPECT_EQ(counted.Get(Ticker::kRefilterBytesRead), info.bytes_read);
  EXPECT_EQ(counted.Get(Ticker::kRefilterBytesWritten), info.bytes_written);

  // Half of what a compaction of the same files reads and writes, and the filters.
  db.CompactAll();
  const Statistics after = db->GetStatistics();
  const uint64_t compaction =
      after.Get(Ticker::kCompactionBytesRead) - counted.Get(Ticker::kCompactionBytesRead) +
      after.Get(Ticker::kCompactionBytesWritten) - counted.Get(Ticker::kCompactionBytesWritten);
  EXPECT_LT(info.bytes_read + info.bytes_written, compaction * 55 / 100);
}

TEST(Refilter, GoesBackToTheTablesOwnFiltersWithoutReadingThem) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const size_t files = FilesNamed(db, ".sst").size();
  RefilterOrFail(db, {.filter = kNewFilter});
  const RefilterInfo info = RefilterOrFail(db, {.filter = "blocked_bloom:10"});
  EXPECT_EQ(info.files_refiltered, files);
  EXPECT_EQ(info.files_restored, files);
  EXPECT_EQ(info.bytes_read + info.bytes_written, 0u);
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), files);
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  ExpectAllKeys(db);
  db.Reopen();
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), files);
  ExpectAllKeys(db);
}

TEST(Refilter, ChangesWhatFiltersKnowOfKeys) {
  for (const char* filter_key : {"prefix:6", "delimiter:/", "whole+prefix:8"}) {
    SCOPED_TRACE(filter_key);
    MemoryDb db(SmallFiles());
    Fill(db);
    RefilterOrFail(db, {.filter_key = filter_key});
    EXPECT_EQ(*db->GetProperty("winnow.filter-key"), filter_key);
    ExpectAllKeys(db);
    ReadOptions read;
    const std::string lower = KeyAt(11);
    const std::string upper = KeyAt(11) + "x";
    read.lower_bound = lower;
    read.upper_bound = upper;
    auto nothing = db->NewIterator(read);
    nothing->SeekToFirst();
    EXPECT_FALSE(nothing->Valid());
    nothing.reset();
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    db.Reopen();
    ExpectAllKeys(db);
    // And back.
    RefilterOrFail(db, {.filter = "cuckoo:12", .filter_key = "whole"});
    ExpectAllKeys(db);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  }
}

TEST(Refilter, KnowsDeletionsVersionsAndOperands) {
  Options options = SmallFiles();
  options.merge_operator = *ParseMergeOperator("append:+");
  MemoryDb db(options);
  db.Put("deleted", "1");
  db.Put("kept", "1");
  db.Flush();
  const SnapshotGuard snapshot(*db);
  db.Delete("deleted");
  db.Put("kept", "2");
  ASSERT_TRUE(db->Merge(WriteOptions(), db->DefaultColumnFamily(), "merged", "a").ok());
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), "range", "rangf").ok());
  db.Flush();
  RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(db.Get("deleted"), "(absent)");
  EXPECT_EQ(db.Get("deleted", snapshot.get()), "1");
  EXPECT_EQ(db.Get("kept"), "2");
  EXPECT_EQ(db.Get("kept", snapshot.get()), "1");
  EXPECT_EQ(db.Get("merged"), "a");
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

TEST(Refilter, TakesFiltersAwayAndBringsThemBack) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const size_t files = FilesNamed(db, ".sst").size();
  const RefilterInfo info = RefilterOrFail(db, {.filter = "none"});
  EXPECT_EQ(info.bytes_read, 0u);
  EXPECT_EQ(FilesWith(*db, "none"), files);
  EXPECT_EQ(*db->GetProperty("winnow.filter-memory"), "0");
  ExpectAllKeys(db);
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.filter-memory"), "0");
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  RefilterOrFail(db, {.filter = "binary_fuse:0.4%"});
  ExpectAllKeys(db);
}

TEST(Refilter, IteratorsKeepTheFilterFileTheyBeganWith) {
  MemoryDb db(SmallFiles());
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  auto iterator = db->NewIterator(ReadOptions());
  iterator->SeekToFirst();
  const std::vector<std::string> first = FilesNamed(db, ".flt");
  RefilterOrFail(db, {.filter = "cuckoo:12"});
  EXPECT_EQ(FilesNamed(db, ".flt").size(), 2 * first.size());
  // All tables go as well, which the iterator still reads from.
  db.CompactAll();
  int seen = 0;
  for (; iterator->Valid(); iterator->Next()) seen++;
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  EXPECT_EQ(seen, kNumKeys / 2);
  iterator.reset();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  ExpectAllKeys(db);
}

TEST(Refilter, CompactionsWriteOrdinaryFiltersAndMovesKeepTheFilterFile) {
  MemoryDb db(SmallFiles());
  for (int i = 0; i < 1000; i += 2) db.Put(KeyAt(i), "v");
  db.Flush();
  RefilterOrFail(db, {.filter = kNewFilter});
  const auto filters = BytesOf(db, ".flt");
  ASSERT_EQ(filters.size(), 1u);
  // Overlaps nothing: the file moves down as it is.
  ASSERT_TRUE(db->SetOption("level0_compaction_trigger", "1").ok());
  ASSERT_TRUE(db->SetOption("disable_auto_compactions", "false").ok());
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  if (*db->GetProperty("winnow.num-files-at-level0") == "0" &&
      db->GetStatistics().Get(Ticker::kCompactionBytesWritten) == 0) {
    EXPECT_EQ(BytesOf(db, ".flt"), filters);
    EXPECT_EQ(FilesWith(*db, kNewFilter), 1u);
  }
  db.Reopen();
  EXPECT_EQ(FilesWith(*db, kNewFilter), 1u);
  db.CompactAll();
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  EXPECT_EQ(FilesWith(*db, kNewFilter), FilesNamed(db, ".sst").size());
  for (int i = 0; i < 1000; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
}

// Every byte of a filter file, and no file at all: the table is asked by its own filter.
// A file of this name that belongs to another table has all checksums right.
TEST(Refilter, IngestedTablesAreHashedAsAllOthersAre) {
  MemoryDb db(SmallFiles());
  Fill(db);
  auto writer = SstWriter::Create(db.options(), "/outside.sst", &db.file_system());
  ASSERT_TRUE(writer.ok());
  for (int i = 0; i < 500; i++) {
    ASSERT_TRUE((*writer)->Put(absl::StrCat("zz", 10000 + i), "ingested").ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  ASSERT_TRUE(db->Ingest({{"/outside.sst", db->DefaultColumnFamily()}}, {}).ok());
  RefilterOrFail(db, {.filter = kNewFilter});
  for (int pass = 0; pass < 2; pass++) {
    for (int i = 0; i < 500; i++) {
      ASSERT_EQ(db.Get(absl::StrCat("zz", 10000 + i)), "ingested");
      ASSERT_EQ(db.Get(absl::StrCat("zz", 10000 + i, "x")), "(absent)");
    }
    ExpectAllKeys(db, 500);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    db.Reopen();
  }
}

TEST(Refilter, EndsWhereTheCallerSaysAndGoesOnThere) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const size_t files = FilesNamed(db, ".sst").size();
  RefilterOptions options;
  options.filter = kNewFilter;
  std::vector<uint64_t> left;
  options.on_progress = [&](const RefilterInfo& so_far) {
    left.push_back(so_far.files_left);
    return so_far.files_refiltered < 2;
  };
  EXPECT_TRUE(absl::IsCancelled(db->Refilter(options).status()));
  EXPECT_EQ(left, (std::vector<uint64_t>{files - 1, files - 2}));
  EXPECT_EQ(FilesWith(*db, kNewFilter), 2u);
  ExpectAllKeys(db);
  db.Reopen();
  const RefilterInfo rest = RefilterOrFail(db, {});
  EXPECT_EQ(rest.files_current, 2u);
  EXPECT_EQ(rest.files_refiltered, files - 2);
  ExpectAllKeys(db);
}

// What compactions write meanwhile has the later filter: a call that made the earlier one of it
// again would never end beside them.
TEST(Refilter, GoesOnWithTheFilterThatIsSetMeanwhile) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const size_t files = FilesNamed(db, ".sst").size();
  RefilterOptions options;
  options.filter = kNewFilter;
  options.on_progress = [&](const RefilterInfo& so_far) {
    if (so_far.files_refiltered == 2) {
      const absl::Status set = db->SetFilter(db->DefaultColumnFamily(), "cuckoo:12", "prefix:6");
      EXPECT_TRUE(set.ok()) << set;
    }
    return true;
  };
  const RefilterInfo info = RefilterOrFail(db, options);
  EXPECT_EQ(info.files_refiltered, files + 2);
  EXPECT_EQ(info.files_left, 0u);
  EXPECT_EQ(FilesWith(*db, "cuckoo:12"), files);
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

// Calls for one family have their turns, and Close waits for all: neither may be asked for from
// within, nor, of another family, what may wait for a call that waits for this one.
TEST(Refilter, ACallbackMayCallTheDatabaseButNotWaitForItself) {
  MemoryDb db(SmallFiles());
  Fill(db);
  ColumnFamily* const family = db->DefaultColumnFamily();
  const auto other = db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(db->Put({}, *other, "key", "value").ok());
  ASSERT_TRUE(db->Flush(*other).ok());
  bool asked = false;
  RefilterOptions options;
  options.filter = kNewFilter;
  options.on_progress = [&](const RefilterInfo&) {
    if (asked) return true;
    asked = true;
    const absl::Status again = db->Refilter(family, {.filter = "cuckoo:12"}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(again)) << again;
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Close()));
    const absl::Status of_other = db->Refilter(*other, {.filter = kNewFilter}).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(of_other)) << of_other;
    EXPECT_TRUE(db->Flush(family).ok());
    EXPECT_TRUE(db->CompactRange(*other, std::nullopt, std::nullopt).ok());
    EXPECT_TRUE(db->Put({}, "new", "value").ok());
    return true;
  };
  RefilterOrFail(db, options);
  EXPECT_TRUE(asked);
  EXPECT_EQ(*db->GetProperty("winnow.filter"), kNewFilter) << "of what is refused nothing happens";
  // And once it has ended all is as before.
  RefilterOrFail(db, {.filter = "cuckoo:12"});
  ExpectAllKeys(db, 1);
  db.Reopen();
}

TEST(Refilter, WhatACallbackThrowsEndsTheCallAlone) {
  MemoryDb db(SmallFiles());
  Fill(db);
  RefilterOptions options;
  options.filter = kNewFilter;
  options.on_progress = [](const RefilterInfo&) -> bool {
    throw std::runtime_error("no such luck");
  };
  const absl::Status thrown = db->Refilter(options).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(thrown)) << thrown;
  EXPECT_THAT(std::string(thrown.message()), testing::HasSubstr("no such luck"));
  RefilterOrFail(db, {.filter = kNewFilter});
  ExpectAllKeys(db);
  EXPECT_TRUE(db->Close().ok());
}

TEST(Refilter, RefusesWhatCannotBe) {
  MemoryDb db(SmallFiles());
  Fill(db);
  EXPECT_TRUE(absl::IsInvalidArgument(db->Refilter({.filter = "blom:10"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->Refilter({.filter_key = "prefix:0"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->Refilter(nullptr, {}).status()));
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "blocked_bloom:10");
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(family.ok());
  ASSERT_TRUE(db->DropColumnFamily(*family).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Refilter(*family, {}).status()));
  db.options().read_only = true;
  db.Reopen();
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Refilter({.filter = kNewFilter}).status()));
  ASSERT_TRUE(db->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Refilter({.filter = kNewFilter}).status()));
}

// They are part of the tables, which stay as they are.
TEST(Refilter, RefusesARangeFilterThatTablesLack) {
  MemoryDb db(SmallFiles());
  Fill(db);
  const size_t files = FilesNamed(db, ".sst").size();
  for (const char* filter : {"ribbon:0.1%+range:12", "none+range:8"}) {
    const absl::Status refused = db->Refilter({.filter = filter}).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), absl::StrCat(files, " of ", files, " tables")))
        << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "compact")) << refused;
  }
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "blocked_bloom:10");
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), files);

  // As the message says.
  ASSERT_TRUE(db->SetFilter("blocked_bloom:10+range:12", "").ok());
  // Until then the settings are of tables to come: nothing is to be done for those that are there.
  EXPECT_EQ(RefilterOrFail(db, {}).files_current, files);
  db.CompactAll();
  EXPECT_TRUE(absl::IsInvalidArgument(db->Refilter({.filter = "ribbon:0.1%+range:13"}).status()));
  RefilterOrFail(db, {.filter = "ribbon:0.1%+range:12"});
  EXPECT_EQ(FilesWith(*db, "ribbon:0.1%+range:12"), FilesNamed(db, ".sst").size());
  ExpectAllKeys(db);
}

TEST(Refilter, ASpecThatNamesNoRangeFilterKeepsTheOneThatIsSet) {
  Options options = SmallFiles();
  options.filter = "blocked_bloom:10+range:12";
  MemoryDb db(options);
  Fill(db);
  RefilterOrFail(db, {.filter = "ribbon:0.1%"});
  EXPECT_EQ(*db->GetOption("filter"), "ribbon:0.1%+range:12");
  RefilterOrFail(db, {.filter = "none"});
  EXPECT_EQ(*db->GetOption("filter"), "none+range:12");
  RefilterOrFail(db, {.filter_key = "whole+prefix:4"});
  EXPECT_EQ(*db->GetOption("filter"), "none+range:12");
  // Where it is said aloud: tables keep theirs, and those to come have none.
  const size_t files = FilesNamed(db, ".sst").size();
  RefilterOrFail(db, {.filter = "ribbon:0.1%+range:0"});
  EXPECT_EQ(*db->GetOption("filter"), "ribbon:0.1%");
  EXPECT_EQ(FilesWith(*db, "ribbon:0.1%+range:12"), files);
  db.CompactAll();
  EXPECT_EQ(FilesWith(*db, "ribbon:0.1%"), FilesNamed(db, ".sst").size());
  ExpectAllKeys(db);
}

TEST(Refilter, WhatIsRefusedSetsNothing) {
  Options options = SmallFiles();
  options.filter = "blocked_bloom+range:12";
  options.filter_memory_budget = 1 << 20;
  MemoryDb db(options);
  Fill(db);
  const RefilterOptions refused[] = {
      {.filter = "ribbon", .filter_memory_budget = 1 << 10},
      {.filter = "ribbon:10"},
      {.filter = "ribbon+range:13"},
      {.filter = "ribbon", .filter_key = "prefix:0"},
      {.filter = "blom", .filter_key = "prefix:3"},
  };
  for (const RefilterOptions& call : refused) {
    const absl::Status status = db->Refilter(call).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << call.filter << ": " << status;
    EXPECT_EQ(*db->GetOption("filter"), "blocked_bloom+range:12") << status;
    EXPECT_EQ(*db->GetOption("filter_key"), "whole") << status;
  }
  EXPECT_FALSE(db->SetOption("filter", "ribbon:10").ok());
  EXPECT_EQ(*db->GetOption("filter"), "blocked_bloom+range:12");
}

TEST(Refilter, LeavesRangeFiltersAsTheyAre) {
  Options options = SmallFiles();
  options.filter = "blocked_bloom:10+range:12";
  MemoryDb db(options);
  Fill(db);
  db.CompactAll();
  const size_t files = FilesNamed(db, ".sst").size();
  const auto range_questions = [&] {
    for (const FilterStatistics& row : db->GetStatistics().filters) {
      if (row.kind == "range") return row.rejected + row.false_positive;
    }
    return uint64_t{0};
  };
  for (int pass = 0; pass < 2; pass++) {
    EXPECT_EQ(RefilterOrFail(db, {.filter = kNewFilter}).files_refiltered, pass == 0 ? files : 0);
    // What a file is said to have is what it has.
    EXPECT_EQ(FilesWith(*db, absl::StrCat(kNewFilter, "+range:12")), files);
    const uint64_t asked = range_questions();
    const auto explained = db->ExplainRange(KeyAt(11), KeyAt(11) + "x");
    ASSERT_TRUE(explained.ok()) << explained.status();
    EXPECT_EQ(explained->steps.back().filter, "range:12");
    ReadOptions read;
    read.lower_bound = KeyAt(11);
    read.upper_bound = KeyAt(11) + "x";
    auto nothing = db->NewIterator(read);
    nothing->SeekToFirst();
    EXPECT_FALSE(nothing->Valid());
    nothing.reset();
    EXPECT_GT(range_questions(), asked);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    ExpectAllKeys(db);
    db.options().filter = "";
    db.Reopen();
  }
  // The setting still names one, which tables to come have.
  RefilterOrFail(db, {.filter = "blocked_bloom:10"});
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  db.CompactAll();
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10+range:12"), FilesNamed(db, ".sst").size());
}

TEST(Refilter, FiltersInTheCacheAreReplacedThere) {
  Options options = SmallFiles();
  options.charge_filters_to_cache = true;
  options.block_cache_bytes = 64 << 10;  // room for few of the filters at a time
  MemoryDb db(options);
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  ExpectAllKeys(db);
  db.Reopen();
  ExpectAllKeys(db);
  RefilterOrFail(db, {.filter = "cuckoo:12"});
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

TEST(Refilter, BlocksInTheCacheStayThere) {
  Options options = SmallFiles();
  options.block_cache_bytes = 64 << 20;
  MemoryDb db(options);
  Fill(db);
  ExpectAllKeys(db);
  const uint64_t read = db->GetStatistics().Get(Ticker::kDataBlocksRead);
  RefilterOrFail(db, {.filter = kNewFilter});
  ExpectAllKeys(db);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kDataBlocksRead), read);
}

// Kept by the events' own thread, and read once the database is closed.
class RefilterEvents final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kRefilterBegin || event.kind == Event::Kind::kRefilterEnd) {
      events.push_back(event);
    }
  }
  std::vector<Event> events;
};

TEST(Refilter, IsReported) {
  const auto listener = std::make_shared<RefilterEvents>();
  Options options = SmallFiles();
  options.listeners = {listener};
  MemoryDb db(options);
  Fill(db);
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  db.CloseDb();
  ASSERT_EQ(listener->events.size(), 2u);
  EXPECT_EQ(listener->events[0].ToString(), "refiltering of default with ribbon:0.1% begins");
  EXPECT_EQ(listener->events[1].num_outputs, info.files_refiltered);
  EXPECT_EQ(listener->events[1].bytes_read, info.bytes_read);
  EXPECT_EQ(listener->events[1].bytes_written, info.bytes_written);
  EXPECT_EQ(EventKindName(listener->events[1].kind), "refilter-end");
}

class NamedPolicy final : public FilterPolicy {
 public:
  std::string_view Name() const override { return "test.everything"; }
  void CreateFilter(std::span<const std::string_view>, std::string* filter) const override {
    filter->assign("all");
  }
  bool KeyMayMatch(std::string_view, std::string_view) const override { return true; }
};

TEST(Refilter, LeavesFiltersOfAPolicyToThePolicy) {
  const NamedPolicy policy;
  Options options = SmallFiles();
  options.filter_policy = &policy;
  MemoryDb db(options);
  Fill(db);
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Refilter({.filter = kNewFilter}).status()));
  // Opened without it, the tables have no filter that could be asked: now they get one.
  db.options().filter_policy = nullptr;
  db.Reopen();
  RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(FilesWith(*db, kNewFilter), FilesNamed(db, ".sst").size());
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

}  // namespace
}  // namespace winnow::refilter
