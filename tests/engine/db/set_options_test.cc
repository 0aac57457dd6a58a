// Options that change while the database is open: what they do, what refuses them, what a later
// opening knows of them.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/base/status.h"
#include "engine/file_system/testing/recording_file_system.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "tests/support/test_clock.h"
#include "winnow/event_listener.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

// A text for each option that differs from the default.
const std::map<std::string_view, std::string>& OtherTexts() {
  static const auto& texts = *new std::map<std::string_view, std::string>{
      {"filter", "cuckoo"},
      {"filter_key", "prefix:4"},
      {"ttl_seconds", "3600"},
      {"compression", "zstd"},
      {"compression_per_level", "none:lz4:zstd"},
      {"zstd_level", "9"},
      {"write_buffer_bytes", "100000"},
      {"max_write_buffers", "5"},
      {"memtable_filter_ratio", "0.0625"},
      {"key_hashes_ratio", "1"},
      {"block_bytes", "16K"},
      {"block_restart_interval", "8"},
      {"compaction", "lazy_leveled"},
      {"target_file_bytes", "1M"},
      {"level0_compaction_trigger", "3"},
      {"level0_slowdown_trigger", "21"},
      {"level0_stop_trigger", "40"},
      {"level_base_bytes", "1M"},
      {"level_size_multiplier", "7.3"},
      {"disable_auto_compactions", "true"},
      {"block_cache_bytes", "8M"},
      {"row_cache_bytes", "1M"},
      {"row_cache_ttl_seconds", "60"},
      {"filter_memory_budget", "1M"},  // which leaves no amount to the filter
      {"db_write_buffer_bytes", "32M"},
      {"compaction_readahead_bytes", "1M"},
      {"background_bytes_per_second", "1G"},
      {"background_threads", "4"},
      {"max_open_files", "100"},
      {"max_log_bytes", "2M"},
      {"info_log_bytes", "64K"},
      {"info_log_files", "7"},
      {"verify_compaction_checksums", "false"},
  };
  return texts;
}

Options Loaded(MemoryDb& db) {
  Options options;
  options.file_system = &db.file_system();
  const absl::Status loaded = DB::LoadOptions(MemoryDb::kPath, &options);
  EXPECT_TRUE(loaded.ok()) << loaded;
  return options;
}

// Of the tree: the files of those that were replaced go a moment later.
uint64_t NumTables(MemoryDb& db) {
  uint64_t count = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) count += level.num_files;
  return count;
}

TEST(SetOptions, EveryOptionThatMayChangeDoesAndIsKnownToALaterOpening) {
  MemoryDb db((Options()));
  for (const OptionDescription& option : DescribeOptions()) {
    if (option.change != OptionChange::kWhileOpen) continue;
    ASSERT_TRUE(OtherTexts().contains(option.name)) << option.name << ": has no text here";
    const std::string& text = OtherTexts().at(option.name);
    ASSERT_NE(*OptionText(Options(), option.name), text) << option.name;
    const absl::Status set = db->SetOption(option.name, text);
    ASSERT_TRUE(set.ok()) << set;
    EXPECT_EQ(*db->GetOption(option.name), text);
    EXPECT_EQ(*OptionText(Loaded(db), option.name), text) << "of an open database";
    db.Put(absl::StrCat("before-", ToAbsl(option.name)), "value");
    db.Flush();
  }
  // Back to the default, which is recorded as well.
  ASSERT_TRUE(db->SetOption("zstd_level", "3").ok());
  EXPECT_EQ(Loaded(db).zstd_level, 3);
  ASSERT_TRUE(db->SetOption("zstd_level", "9").ok());
  db.CloseDb();
  Options loaded = Loaded(db);
  loaded.file_system = &db.file_system();
  const auto again = OpenOrFail(loaded, MemoryDb::kPath);
  for (const auto& [name, text] : OtherTexts()) EXPECT_EQ(*again->GetOption(name), text) << name;
  for (const auto& [name, text] : OtherTexts()) {
    std::string value;
    EXPECT_TRUE(again->Get(ReadOptions(), absl::StrCat("before-", ToAbsl(name)), &value).ok());
  }
}

TEST(SetOptions, TheProgramsOptionsWinAtTheNextOpeningAndAreWhatIsRecordedThen) {
  MemoryDb db;
  ASSERT_TRUE(db->SetOption("block_bytes", "16K").ok());
  ASSERT_TRUE(db->SetOption("max_log_bytes", "2M").ok());
  ASSERT_TRUE(db->SetOption("filter", "cuckoo:12").ok());
  ASSERT_TRUE(db->SetOption("ttl_seconds", "60").ok());
  db.Reopen();
  EXPECT_EQ(*db->GetOption("block_bytes"), "4K");
  EXPECT_EQ(*db->GetOption("max_log_bytes"), "1G");
  EXPECT_EQ(*db->GetOption("filter"), "cuckoo:12") << "left open by the program";
  EXPECT_EQ(*db->GetOption("ttl_seconds"), "60");
  EXPECT_EQ(Loaded(db).block_bytes, 4096u);
  db.options().block_bytes = 8192;
  db.options().max_log_bytes = 4 << 20;
  db.Reopen();
  EXPECT_EQ(Loaded(db).block_bytes, 8192u);
  EXPECT_EQ(Loaded(db).max_log_bytes, 4u << 20);
}

TEST(SetOptions, FamiliesHaveTheirOwnAndLoadOptionsGivesAllOfThem) {
  MemoryDb db;
  ColumnFamilyOptions own;
  own.zstd_level = 7;
  ColumnFamily* first = *db->CreateColumnFamily(own, "first");
  ColumnFamily* second = *db->CreateColumnFamily(db.options(), "second");
  ASSERT_TRUE(db->SetOption(second, "block_bytes", "1K").ok());
  ASSERT_TRUE(db->SetOption(second, "filter", "ribbon:1%").ok());
  EXPECT_EQ(*db->GetOption(first, "block_bytes"), "4K");
  EXPECT_EQ(*db->GetOption("block_bytes"), "4K");
  db.CloseDb();
  const Options loaded = Loaded(db);
  ASSERT_EQ(loaded.column_families.size(), 2u);
  EXPECT_EQ(loaded.column_families.at("first").zstd_level, 7);
  EXPECT_EQ(loaded.column_families.at("second").block_bytes, 1024u);
  EXPECT_EQ(loaded.column_families.at("second").filter, "ribbon:1%");
  EXPECT_TRUE(loaded.column_families.at("second").disable_auto_compactions);
  EXPECT_TRUE(loaded.disable_auto_compactions);
  const auto again = OpenOrFail(loaded, MemoryDb::kPath);
  EXPECT_EQ(*again->GetOption(*again->FindColumnFamily("second"), "block_bytes"), "1K");
}

TEST(SetOptions, LoadOptionsLeavesAloneWhatTextCannotSay) {
  const auto file_system = NewUnrecordedFileSystem();
  ReverseComparator reverse;
  Options options;
  options.file_system = file_system.get();
  options.merge_operator = *ParseMergeOperator("max");
  {
    const auto db = OpenOrFail(options, "/db");
    ColumnFamilyOptions reversed;
    reversed.comparator = &reverse;
    ASSERT_TRUE(db->CreateColumnFamily(reversed, "reversed").ok());
    ASSERT_TRUE(db->CreateColumnFamily({}, "plain").ok());
  }
  Options loaded;
  loaded.file_system = file_system.get();
  loaded.create_if_missing = false;
  loaded.column_families["reversed"].comparator = &reverse;
  loaded.block_cache = NewBlockCache(1 << 20);
  ASSERT_TRUE(DB::LoadOptions("/db", &loaded).ok());
  EXPECT_FALSE(loaded.create_if_missing);
  EXPECT_NE(loaded.block_cache, nullptr);
  EXPECT_EQ(loaded.merge_operator->Name(), "max");
  EXPECT_EQ(loaded.column_families.at("plain").merge_operator, nullptr);
  EXPECT_EQ(loaded.column_families.at("plain").comparator, BytewiseComparator());
  EXPECT_EQ(loaded.column_families.at("reversed").comparator, &reverse);
  EXPECT_NE(OpenOrFail(loaded, "/db"), nullptr);

  Options nowhere = options;
  nowhere.zstd_level = 5;
  EXPECT_TRUE(absl::IsNotFound(DB::LoadOptions("/nothing", &nowhere)));
  EXPECT_EQ(nowhere.zstd_level, 5);
}

TEST(SetOptions, WhatIsWrongIsNamedAndChangesNothing) {
  MemoryDb db;
  const struct {
    const char* name;
    const char* text;
    const char* said;
  } kWrong[] = {
      {"block_byte", "4K", "the nearest is 'block_bytes'"},
      {"block_bytes", "much", "a number of bytes such as"},
      {"block_bytes", "17M", "is outside 256 - 16777216"},
      {"level0_slowdown_trigger", "3", "is outside 4 - "},
      {"level0_compaction_trigger", "30", "level0_slowdown_trigger"},
      {"compression", "zip", "lz4"},
      {"compaction", "tall", "leveled, lazy_leveled, tiered or fifo:BYTES"},
      {"verify_compaction_checksums", "perhaps", "true or false"},
      {"filter", "sieve", "filter"},
      {"filter_key", "prefix:0", "filter_key"},
      {"ttl_seconds", "-1", "0 - 3153600000"},
      {"background_threads", "65", "is outside 1 - 64"},
      {"block_cache_bytes", "17T", "is outside 0 - "},
      {"row_cache_bytes", "1K", "is outside 65536 - "},
      {"row_cache_ttl_seconds", "-1", "is outside 0 - 1000000000"},
      {"info_log_bytes", "1K", "is outside 4096 - "},
      {"info_log_files", "0", "is outside 1 - 1000"},
      {"mmap_reads", "true", "give it to the next opening"},
      {"read_only", "true", "give it to the next opening"},
      {"allow_ingest_behind", "true", "give it to the next opening"},
      {"merge_operator", "max", "never changes"},
  };
  const uint64_t edits = db.file_system().FileSize("/db/MANIFEST-000002").value_or(0);
  for (const auto& wrong : kWrong) {
    const auto before = db->GetOption(wrong.name);
    const absl::Status set = db->SetOption(wrong.name, wrong.text);
    EXPECT_TRUE(absl::IsInvalidArgument(set)) << wrong.name << ": " << set;
    EXPECT_TRUE(absl::StrContains(set.message(), wrong.said)) << set;
    EXPECT_TRUE(absl::StrContains(set.message(), wrong.name)) << set;
    const auto after = db->GetOption(wrong.name);
    EXPECT_EQ(before.ok(), after.ok());
    if (before.ok() && after.ok()) {
      EXPECT_EQ(*before, *after);
    }
  }
  EXPECT_EQ(db.file_system().FileSize("/db/MANIFEST-000002").value_or(0), edits);
  EXPECT_TRUE(absl::IsInvalidArgument(db->GetOption("block_byte").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetOption(nullptr, "block_bytes", "8K")));
  EXPECT_TRUE(db->SetOption(nullptr, "max_log_bytes", "8M").ok());
  EXPECT_EQ(*db->GetOption(nullptr, "max_log_bytes"), "8M");
}

TEST(SetOptions, SeveralAreChangedTogetherOrNotAtAll) {
  MemoryDb db;
  const OptionSetting triggers[] = {{"level0_compaction_trigger", "40"},
                                    {"level0_slowdown_trigger", "60"},
                                    {"level0_stop_trigger", "80"},
                                    {"max_log_bytes", "2M"}};
  ASSERT_TRUE(db->SetOptions(db->DefaultColumnFamily(), triggers).ok());
  EXPECT_EQ(*db->GetOption("level0_stop_trigger"), "80");
  EXPECT_EQ(*db->GetOption("max_log_bytes"), "2M");
  const OptionSetting bad[] = {
      {"block_bytes", "8K"}, {"max_log_bytes", "3M"}, {"zstd_level", "23"}};
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetOptions(db->DefaultColumnFamily(), bad)));
  EXPECT_EQ(*db->GetOption("block_bytes"), "4K");
  EXPECT_EQ(*db->GetOption("max_log_bytes"), "2M");
  EXPECT_TRUE(db->SetOptions(db->DefaultColumnFamily(), {}).ok());
}

TEST(SetOptions, WhoMayNotChangeThem) {
  MemoryDb db;
  MemoryDb other;
  ColumnFamily* dropped = *db->CreateColumnFamily({}, "dropped");
  ASSERT_TRUE(db->DropColumnFamily(dropped).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->SetOption(dropped, "block_bytes", "8K")));
  EXPECT_TRUE(absl::IsFailedPrecondition(db->SetOption(dropped, "target_file_bytes", "8M")));
  EXPECT_TRUE(
      absl::IsInvalidArgument(db->SetOption(other->DefaultColumnFamily(), "block_bytes", "8K")));
  ASSERT_TRUE(db->Close().ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->SetOption("block_bytes", "8K")));
  EXPECT_TRUE(absl::IsFailedPrecondition(db->GetOption("block_bytes").status()));
  db.options().read_only = true;
  db.Reopen();
  EXPECT_TRUE(absl::IsFailedPrecondition(db->SetOption("block_bytes", "8K")));
  EXPECT_EQ(*db->GetOption("block_bytes"), "4K");
}

TEST(SetOptions, MergesDoNotExpireHereEither) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("max");
  MemoryDb db(options);
  const absl::Status set = db->SetOption("ttl_seconds", "60");
  EXPECT_TRUE(absl::IsInvalidArgument(set)) << set;
  EXPECT_EQ(*db->GetOption("merge_operator"), "max");
  ColumnFamily* family = *db->CreateColumnFamily({}, "plain");
  EXPECT_TRUE(db->SetOption(family, "ttl_seconds", "60").ok());
}

// --- What each does ---

TEST(SetOptions, TablesAreWrittenByTheNewSettings) {
  MemoryDb db;
  const std::string value(100, 'v');
  const auto fill_and_flush = [&] {
    for (int i = 0; i < 2000; i++) db.Put(absl::StrCat("key", i), value);
    db.Flush();
  };
  fill_and_flush();
  const uint64_t plain = db->GetStatistics().levels.at(0).file_bytes;
  ASSERT_TRUE(db->SetOption("compression", "zstd").ok());
  ASSERT_TRUE(db->SetOption("target_file_bytes", "64K").ok());
  db.CompactAll();
  EXPECT_LT(db->GetStatistics().levels.at(0).file_bytes, plain / 2);
  ASSERT_TRUE(db->SetOption("compression", "none").ok());
  db.CompactAll();
  EXPECT_GT(NumTables(db), 2u) << "of 64 KiB each";
  EXPECT_EQ(db.Get("key77"), value);
}

TEST(SetOptions, TheSizeOfAMemtableHoldsForTheActiveOne) {
  MemoryDb db;
  const std::string value(1000, 'v');
  for (int i = 0; i < 500; i++) db.Put(absl::StrCat(i), value);
  EXPECT_EQ(NumTables(db), 0u);
  ASSERT_TRUE(db->SetOption("write_buffer_bytes", "64K").ok());
  db.Put("one more", value);
  db.Put("and the write that finds it full", value);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 1u);
}

TEST(SetOptions, BoundsOfAllMemtablesAndOfLogsHoldFromTheNextWriteOn) {
  MemoryDb db;
  const std::string value(1000, 'v');
  for (int i = 0; i < 1500; i++) db.Put(absl::StrCat(i), value);
  ASSERT_TRUE(db->SetOption("db_write_buffer_bytes", "1M").ok());
  db.Put("next", value);
  db.Put("next", value);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 1u);
  ASSERT_TRUE(db->SetOption("db_write_buffer_bytes", "0").ok());
  for (int i = 0; i < 1500; i++) db.Put(absl::StrCat(i), value);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 1u) << "no bound any more";
  ASSERT_TRUE(db->SetOption("max_log_bytes", "1M").ok());
  db.Put("next", value);
  db.Put("next", value);
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 2u);
}

TEST(SetOptions, CompactionsBeginOnceTheyMay) {
  MemoryDb db;
  for (int i = 0; i < 6; i++) {
    db.Put("key", absl::StrCat(i));
    db.Flush();
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 6u);
  ASSERT_TRUE(db->SetOption("disable_auto_compactions", "false").ok());
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(NumTables(db), 1u);
  EXPECT_EQ(db.Get("key"), "5");
}

// Tells when writes wait.
class StallListener final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kWriteStallBegin) stalled.store(true);
    stalled.notify_all();
  }
  std::atomic<bool> stalled{false};
};

// The leader of the write queue waits, and with it everybody who would lead: the one call that can
// end the stall must not.
TEST(SetOptions, AStalledWriteGoesOnWhenTheTriggerIsRaised) {
  const auto listener = std::make_shared<StallListener>();
  RecordingFileSystem file_system;
  file_system.set_recording(false);
  // The third table, a compaction's, is not written before the test is over.
  std::mutex mutex;
  std::set<std::string> tables;
  std::atomic<bool> blocked{true};
  file_system.set_error_hook([&](const FileOperation& operation) {
    if (operation.kind != FileOperation::Kind::kAppend || !operation.path.ends_with(".sst")) {
      return absl::OkStatus();
    }
    {
      const std::lock_guard<std::mutex> lock(mutex);
      tables.insert(operation.path);
      if (tables.size() < 3) return absl::OkStatus();
    }
    blocked.wait(true);
    return absl::OkStatus();
  });
  Options options = MemoryDb::Quiet();
  options.file_system = &file_system;
  options.listeners = {listener};
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 2;
  options.level0_slowdown_trigger = 2;
  options.level0_stop_trigger = 2;
  const auto db = OpenOrFail(options, "/db");
  for (int i = 0; i < 2; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
    ASSERT_TRUE(db->Flush().ok());
  }
  std::thread writer([&] { EXPECT_TRUE(db->Put(WriteOptions(), "stalled", "value").ok()); });
  listener->stalled.wait(false);
  const OptionSetting triggers[] = {{"level0_slowdown_trigger", "100"},
                                    {"level0_stop_trigger", "100"}};
  EXPECT_TRUE(db->SetOptions(db->DefaultColumnFamily(), triggers).ok());
  writer.join();  // or for ever
  blocked = false;
  blocked.notify_all();
  ASSERT_TRUE(db->Close().ok());
}

TEST(SetOptions, ATimeToLiveHoldsAtOnce) {
  TestClock clock;
  Options options = MemoryDb::Quiet();
  options.clock = &clock;
  MemoryDb db(options);
  ColumnFamily* family = *db->CreateColumnFamily({}, "other");
  db.Put("before", "has no write time");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "other's", "value").ok());
  ASSERT_TRUE(db->SetOption("ttl_seconds", "100").ok());
  db.Put("after", "has one");
  const auto iterator = db->NewIterator(ReadOptions());
  clock.AdvanceSeconds(60);
  EXPECT_EQ(db.Get("after"), "has one");
  ASSERT_TRUE(db->SetOption("ttl_seconds", "50").ok());
  EXPECT_EQ(db.Get("after"), "(absent)");
  EXPECT_EQ(db.MultiGet({"after", "before"}),
            (std::vector<std::string>{"(absent)", "has no write time"}));
  iterator->Seek("after");
  EXPECT_TRUE(iterator->Valid()) << "as long as when the iterator was made";
  ASSERT_TRUE(iterator->Refresh().ok());
  iterator->Seek("after");
  EXPECT_FALSE(iterator->Valid() && iterator->key() == "after");
  ASSERT_TRUE(db->SetOption("ttl_seconds", "0").ok());
  EXPECT_EQ(db.Get("after"), "has one") << "nothing expires any more";
  // Another family than "default", whose time to live writers learn without a lock.
  ASSERT_TRUE(db->SetOption(family, "ttl_seconds", "10").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  clock.AdvanceSeconds(11);
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), family, "key", &value)));
  EXPECT_TRUE(db->Get(ReadOptions(), family, "other's", &value).ok());
  ASSERT_TRUE(db->SetOption(family, "ttl_seconds", "0").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), family, "stays", "value").ok());
  ASSERT_TRUE(db->SetOption(family, "ttl_seconds", "10").ok());
  clock.AdvanceSeconds(1000);
  EXPECT_TRUE(db->Get(ReadOptions(), family, "stays", &value).ok()) << "written without a time";
}

TEST(SetOptions, TheStyleOfCompactionMayChangeWhileCompactionsRun) {
  Options options = MemoryDb::Busy();
  options.background_threads = 4;
  options.compression = Compression::kNone;
  MemoryDb db(options);
  const std::string value(200, 'v');
  const char* const kStyles[] = {"tiered", "lazy_leveled", "leveled"};
  std::map<std::string, std::string> model;
  for (int round = 0; round < 12; round++) {
    ASSERT_TRUE(db->SetOption("compaction", kStyles[round % 3]).ok());
    for (int i = 0; i < 1500; i++) {
      const std::string key = absl::StrCat("key", (i * 7919 + round * 31) % 4000);
      model[key] = absl::StrCat(round, value, i);
      db.Put(key, model[key]);
    }
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  for (const auto& [key, expected] : model) ASSERT_EQ(db.Get(key), expected) << key;
  EXPECT_TRUE(db->Verify()->empty());
}

TEST(SetOptions, ThreadsBecomeMoreAndFewer) {
  MemoryDb db(MemoryDb::Busy());
  const std::string value(500, 'v');
  for (const char* threads : {"8", "1", "3", "1", "16"}) {
    ASSERT_TRUE(db->SetOption("background_threads", threads).ok());
    for (int i = 0; i < 1000; i++) db.Put(absl::StrCat(i), value);
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    EXPECT_EQ(*db->GetOption("background_threads"), threads);
  }
}

TEST(SetOptions, FewerOpenFilesAreClosedAtOnceAndStillRead) {
  MemoryDb db;
  for (int i = 0; i < 40; i++) {
    db.Put(absl::StrCat(i), "value");
    db.Flush();
  }
  EXPECT_EQ(*db->GetProperty("winnow.num-open-files"), "40");
  ASSERT_TRUE(db->SetOption("max_open_files", "16").ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-open-files"), "16");
  for (int i = 0; i < 40; i++) EXPECT_EQ(db.Get(absl::StrCat(i)), "value");
}

// --- Caches ---

uint64_t Counted(MemoryDb& db, Ticker ticker) { return db->GetStatistics().Get(ticker); }

uint64_t DataBlocksReadBy(MemoryDb& db, int num_keys) {
  const uint64_t before = Counted(db, Ticker::kDataBlocksRead);
  for (int i = 0; i < num_keys; i++) EXPECT_EQ(db.Get(absl::StrCat("key", i)).size(), 1000u);
  return Counted(db, Ticker::kDataBlocksRead) - before;
}

TEST(SetOptions, TheBlockCacheGrowsAndShrinks) {
  constexpr int kKeys = 2000;
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 64 << 10;
  options.compression = Compression::kNone;
  MemoryDb db(options);
  std::mt19937_64 random(1);
  for (int i = 0; i < kKeys; i++) {
    std::string value(1000, '\0');
    for (char& c : value) c = static_cast<char>(random());
    db.Put(absl::StrCat("key", i), value);
  }
  db.Flush();
  const auto usage = [&] { return std::stoull(*db->GetProperty("winnow.block-cache-usage")); };
  DataBlocksReadBy(db, kKeys);
  EXPECT_LE(usage(), 64u << 10);
  ASSERT_TRUE(db->SetOption("block_cache_bytes", "8M").ok());
  DataBlocksReadBy(db, kKeys);
  EXPECT_EQ(DataBlocksReadBy(db, kKeys), 0u) << "all of them have room now";
  EXPECT_GT(usage(), 2'000'000u);
  // What is there stays where there is room for more.
  ASSERT_TRUE(db->SetOption("block_cache_bytes", "64M").ok());
  EXPECT_EQ(DataBlocksReadBy(db, kKeys), 0u);
  ASSERT_TRUE(db->SetOption("block_cache_bytes", "1M").ok());
  EXPECT_LE(usage(), 1u << 20) << "at once";
  EXPECT_GT(usage(), 1u << 19);
  EXPECT_GT(DataBlocksReadBy(db, kKeys), 0u);
  ASSERT_TRUE(db->SetOption("block_cache_bytes", "0").ok());
  EXPECT_EQ(usage(), 0u);
  EXPECT_GT(DataBlocksReadBy(db, 10), 0u);
  EXPECT_GT(DataBlocksReadBy(db, 10), 0u);
  ASSERT_TRUE(db->SetOption("block_cache_bytes", "8M").ok());
  DataBlocksReadBy(db, 10);
  EXPECT_EQ(DataBlocksReadBy(db, 10), 0u);
}

TEST(SetOptions, ABlockCacheOfTheProgramIsResizedByTheProgram) {
  Options options = MemoryDb::Quiet();
  options.block_cache = NewBlockCache(1 << 20);
  MemoryDb db(options);
  const absl::Status set = db->SetOption("block_cache_bytes", "8M");
  EXPECT_TRUE(absl::IsInvalidArgument(set));
  EXPECT_TRUE(absl::StrContains(set.message(), "block_cache_bytes")) << set;
  EXPECT_TRUE(absl::StrContains(set.message(), "BlockCache::SetCapacity")) << set;
  EXPECT_EQ(options.block_cache->capacity_bytes(), 1u << 20);
  options.block_cache->SetCapacity(2 << 20);
  EXPECT_EQ(*db->GetOption("block_cache_bytes"), "2M");
  // What it has is no change, and other options are none of it either.
  EXPECT_TRUE(db->SetOption("block_cache_bytes", "2M").ok());
  EXPECT_TRUE(db->SetOption("zstd_level", "9").ok());
  EXPECT_EQ(options.block_cache->capacity_bytes(), 2u << 20);
}

TEST(SetOptions, AnswersAreKeptFromThenOnAndNoLonger) {
  MemoryDb db;
  db.Put("key", "old");
  db.Flush();
  const auto hits_of_asking = [&](const std::string& expected) {
    const uint64_t before = Counted(db, Ticker::kRowCacheHits);
    EXPECT_EQ(db.Get("key"), expected);
    EXPECT_EQ(db.MultiGet({"key"}), std::vector<std::string>{expected});
    return Counted(db, Ticker::kRowCacheHits) - before;
  };
  EXPECT_EQ(hits_of_asking("old"), 0u);
  ASSERT_TRUE(db->SetOption("row_cache_bytes", "1M").ok());
  EXPECT_EQ(hits_of_asking("old"), 1u);
  EXPECT_EQ(hits_of_asking("old"), 2u);
  EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.memory-usage"), "row cache"));
  ASSERT_TRUE(db->SetOption("row_cache_ttl_seconds", "1000").ok());
  EXPECT_EQ(hits_of_asking("old"), 1u) << "what might have stayed for longer is gone";
  ASSERT_TRUE(db->SetOption("row_cache_ttl_seconds", "2000").ok());
  EXPECT_EQ(hits_of_asking("old"), 2u);
  ASSERT_TRUE(db->SetOption("row_cache_bytes", "0").ok());
  EXPECT_EQ(hits_of_asking("old"), 0u);
  EXPECT_FALSE(absl::StrContains(*db->GetProperty("winnow.memory-usage"), "row cache"));
  // What is written while nothing is kept is no secret to what is kept later.
  db.Put("key", "new");
  db.Flush();
  ASSERT_TRUE(db->SetOption("row_cache_bytes", "1M").ok());
  EXPECT_EQ(hits_of_asking("new"), 1u);
}

TEST(SetOptions, FewerAnswersFitIntoASmallerRowCacheAtOnce) {
  Options options = MemoryDb::Quiet();
  options.row_cache_bytes = 4 << 20;
  MemoryDb db(options);
  for (int i = 0; i < 2000; i++) db.Put(absl::StrCat("key", i), std::string(1000, 'v'));
  db.Flush();
  DataBlocksReadBy(db, 2000);
  const auto bytes = [&] {
    const std::string usage = *db->GetProperty("winnow.memory-usage-json");
    const std::string name = "\"row_cache\":";
    return std::stoull(usage.substr(usage.find(name) + name.size()));
  };
  EXPECT_GT(bytes(), 2'000'000u);
  ASSERT_TRUE(db->SetOption("row_cache_bytes", "128K").ok());
  EXPECT_LT(bytes(), 160u << 10);
}

// What a reader has seen of a key never goes back, whatever caches come and go.
TEST(SetOptions, CachesChangeBesideReadersAndWriters) {
  MemoryDb db(MemoryDb::Busy());
  constexpr size_t kKeys = 40;
  std::atomic<bool> stop{false};
  std::vector<std::atomic<int>> written(kKeys);
  std::thread writer([&] {
    std::mt19937_64 random(1);
    for (int round = 1; round < 4000; round++) {
      const size_t key = random() % kKeys;
      const std::string value = absl::StrCat(round, "/", std::string(200, 'v'));
      EXPECT_TRUE(db->Put(WriteOptions(), absl::StrCat("k", key), value).ok());
      written[key].store(round, std::memory_order_release);
      if (round % 50 == 0) db.Flush();
    }
    stop.store(true);
  });
  std::vector<std::thread> readers;
  for (uint64_t seed = 0; seed < 2; seed++) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed + 10);
      while (!stop.load()) {
        const size_t key = random() % kKeys;
        const int least = written[key].load(std::memory_order_acquire);
        std::string value = "0";
        const absl::Status status = db->Get(ReadOptions(), absl::StrCat("k", key), &value);
        ASSERT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
        ASSERT_GE(std::stoi(value), least) << key;
      }
    });
  }
  const char* const kRowBytes[] = {"1M", "0", "64K"};
  const char* const kRowSeconds[] = {"0", "1", "100"};
  const char* const kBlockBytes[] = {"64K", "1M", "0", "4M"};
  for (size_t round = 0; !stop.load(); round++) {
    EXPECT_TRUE(db->SetOption("row_cache_bytes", kRowBytes[round % 3]).ok());
    EXPECT_TRUE(db->SetOption("row_cache_ttl_seconds", kRowSeconds[round / 3 % 3]).ok());
    EXPECT_TRUE(db->SetOption("block_cache_bytes", kBlockBytes[round % 4]).ok());
  }
  writer.join();
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(Counted(db, Ticker::kRowCacheHits), 0u);
}

// --- The file LOG ---

std::vector<std::string> LogLines(MemoryDb& db) {
  const auto content = ReadFile(db.file_system(), "/db/LOG", 1 << 26);
  EXPECT_TRUE(content.ok()) << content.status();
  return absl::StrSplit(content.value_or(""), '\n', absl::SkipEmpty());
}

TEST(SetOptions, ALogBeginsAndEnds) {
  MemoryDb db;
  EXPECT_EQ(*db->GetOption("info_log_bytes"), "0");
  ASSERT_TRUE(db->SetOption("info_log_bytes", "64K").ok());
  db.Put("key", "value");
  db.Flush();
  ASSERT_TRUE(db->SetOption("info_log_bytes", "0").ok());
  db.Put("key", "value");
  db.Flush();
  db.CloseDb();
  const std::vector<std::string> lines = LogLines(db);
  ASSERT_GE(lines.size(), 3u);
  EXPECT_TRUE(absl::EndsWith(lines.front(), "options changed: info_log_bytes=64K"));
  EXPECT_TRUE(absl::EndsWith(lines.back(), "options changed: info_log_bytes=0"));
  const auto tells_of_flush = [](const std::string& line) {
    return absl::StrContains(line, "flush of default ends");
  };
  EXPECT_EQ(std::count_if(lines.begin(), lines.end(), tells_of_flush), 1);
  db.Reopen();
  EXPECT_TRUE(db->SetOption("info_log_bytes", "unset").ok());
  EXPECT_EQ(*db->GetOption("info_log_bytes"), "0") << "as unset means on this file system";
}

TEST(SetOptions, FewerLogsAreKeptAndSmallerOnes) {
  Options options = MemoryDb::Quiet();
  options.info_log_bytes = 1 << 20;
  options.info_log_files = 5;
  MemoryDb db(options);
  for (int i = 0; i < 4; i++) db.Reopen();
  const auto age_exists = [&](uint64_t age) {
    return *db.file_system().Exists(InfoLogFileName("/db", age));
  };
  EXPECT_TRUE(age_exists(4));
  ASSERT_TRUE(db->SetOption("info_log_files", "2").ok());
  ASSERT_TRUE(db->SetOption("info_log_bytes", "4K").ok());
  for (int i = 0; i < 40; i++) {
    db.Put("key", "value");
    db.Flush();
  }
  db.CloseDb();
  EXPECT_TRUE(age_exists(1));
  for (const uint64_t age : {2, 3, 4}) EXPECT_FALSE(age_exists(age)) << age;
  EXPECT_LE(*db.file_system().FileSize("/db/LOG"), 4096u);
  EXPECT_LE(*db.file_system().FileSize("/db/LOG.old"), 4096u);
}

TEST(SetOptions, OfOptionsOfTheDatabaseTheFamilyPlaysNoPart) {
  MemoryDb db;
  const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "dropped");
  ASSERT_TRUE(family.ok());
  ASSERT_TRUE(db->DropColumnFamily(*family).ok());
  const absl::Status set = db->SetOption(*family, "background_bytes_per_second", "1M");
  EXPECT_TRUE(set.ok()) << set;
  EXPECT_EQ(*db->GetOption(*family, "background_bytes_per_second"), "1M");
  EXPECT_TRUE(absl::IsFailedPrecondition(db->SetOption(*family, "zstd_level", "9")));
}

// Read once the database is closed, when all have been delivered.
class ChangeListener final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kOptionsChanged) texts.push_back(event.ToString());
  }
  std::vector<std::string> texts;
};

TEST(SetOptions, ListenersAreTold) {
  const auto listener = std::make_shared<ChangeListener>();
  Options options = MemoryDb::Quiet();
  options.listeners = {listener};
  MemoryDb db(options);
  const OptionSetting settings[] = {{"zstd_level", "9"}, {"max_log_bytes", "2M"}};
  ASSERT_TRUE(db->SetOptions(db->DefaultColumnFamily(), settings).ok());
  ASSERT_TRUE(db->SetOption("zstd_level", "9").ok());  // is so already
  ASSERT_TRUE(db->SetOption("max_log_bytes", "3M").ok());
  db.CloseDb();
  EXPECT_EQ(listener->texts,
            (std::vector<std::string>{"options changed of default: zstd_level=9, max_log_bytes=2M",
                                      "options changed: max_log_bytes=3M"}));
}

}  // namespace
}  // namespace winnow
