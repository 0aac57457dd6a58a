// Options::mmap_reads: SSTables that are mapped, on the operating system's file system.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

class MmapReads : public testing::Test {
 protected:
  static Options Mapped() {
    Options options = MemoryDb::Quiet();
    options.mmap_reads = true;
    options.block_cache_bytes = 0;
    return options;
  }

  static std::string Key(int i) { return absl::StrFormat("key%05d", i); }

  static void Put(DB& db, const std::string& key, const std::string& value) {
    ASSERT_TRUE(db.Put(WriteOptions(), key, value).ok());
  }

  static void PutAndFlush(DB& db, int from, int to, const std::string& value) {
    for (int i = from; i < to; i++) Put(db, Key(i), absl::StrCat(value, i));
    ASSERT_TRUE(db.Flush().ok());
  }

  static std::vector<std::filesystem::path> Tables(const std::string& directory) {
    std::vector<std::filesystem::path> tables;
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".sst") tables.push_back(entry.path());
    }
    return tables;
  }

  static size_t OpenDescriptorsIn(const std::string& directory) {
    size_t open = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      open += absl::StartsWith(target, directory) && absl::StrContains(target, ".sst") ? 1 : 0;
    }
    return open;
  }

  static size_t MappedBytes(DB& db) {
    const auto text = db.GetProperty("winnow.memory-usage-json");
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? nlohmann::json::parse(*text)["mapped"].get<size_t>() : 0;
  }
};

TEST_F(MmapReads, ValuesThatArePinnedOutliveTheirTable) {
  const ScratchDirectory scratch("mmap");
  const auto db = OpenOrFail(Mapped(), scratch.path());
  const std::string large(100'000, 'l');
  Put(*db, "large", large);
  Put(*db, "small", "s");
  ASSERT_TRUE(db->Flush().ok());
  const auto first = Tables(scratch.path());
  ASSERT_EQ(first.size(), 1u);
  PinnedValue pinned, copied;
  ASSERT_TRUE(db->Get(ReadOptions(), "large", &pinned).ok());
  ASSERT_TRUE(db->Get(ReadOptions(), "small", &copied).ok());
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_FALSE(copied.is_pinned()) << "a small value holds no file";
  std::vector<PinnedValue> batch(2);
  std::vector<absl::Status> statuses(2);
  const std::vector<std::string_view> keys = {"small", "large"};
  db->MultiGet(ReadOptions(), keys, batch, statuses);

  Put(*db, "large", "other");
  Put(*db, "small", "other");
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_FALSE(std::filesystem::exists(first[0]));
  PinnedValue moved = std::move(pinned);
  EXPECT_EQ(moved.view(), large);
  EXPECT_EQ(copied.view(), "s");
  EXPECT_EQ(batch[0].view(), "s");
  EXPECT_EQ(batch[1].view(), large);
}

TEST_F(MmapReads, IteratorsAndSnapshotsReadTablesThatACompactionRemoved) {
  const ScratchDirectory scratch("mmap");
  const auto db = OpenOrFail(Mapped(), scratch.path());
  PutAndFlush(*db, 0, 2000, "old");
  const Snapshot* snapshot = db->GetSnapshot();
  const auto iterator = db->NewIterator(ReadOptions());
  PutAndFlush(*db, 0, 2000, "new");
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  int i = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), i++) {
    ASSERT_EQ(iterator->value(), absl::StrCat("old", i));
  }
  EXPECT_EQ(i, 2000);
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    ASSERT_EQ(iterator->value(), absl::StrCat("old", --i));
  }
  EXPECT_TRUE(iterator->status().ok());
  ReadOptions then;
  then.snapshot = snapshot;
  std::string value;
  ASSERT_TRUE(db->Get(then, Key(7), &value).ok());
  EXPECT_EQ(value, "old7");
  ASSERT_TRUE(db->Get(ReadOptions(), Key(7), &value).ok());
  EXPECT_EQ(value, "new7");
  db->ReleaseSnapshot(snapshot);
}

TEST_F(MmapReads, DamageIsAnErrorThatNamesTheTable) {
  const ScratchDirectory scratch("mmap");
  PutAndFlush(*OpenOrFail(Mapped(), scratch.path()), 0, 2000, "value");
  const auto tables = Tables(scratch.path());
  ASSERT_EQ(tables.size(), 1u);
  std::fstream file(tables[0], std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(20'000);
  file.write("\xff\xff", 2);
  file.close();
  const auto db = OpenOrFail(Mapped(), scratch.path());
  int num_damaged = 0;
  for (int i = 0; i < 2000; i++) {
    std::string value;
    const absl::Status status = db->Get(ReadOptions(), Key(i), &value);
    if (status.ok()) {
      ASSERT_EQ(value, absl::StrCat("value", i));
      continue;
    }
    num_damaged++;
    EXPECT_TRUE(absl::IsDataLoss(status));
    EXPECT_TRUE(absl::StrContains(status.message(),
                                  absl::StrCat(tables[0].filename().string(), ": at offset ")))
        << status;
  }
  EXPECT_GT(num_damaged, 10);
  EXPECT_LT(num_damaged, 1000);
}

TEST_F(MmapReads, ATableThatWasCutIsAnErrorAndNoSignal) {
  const ScratchDirectory scratch("mmap");
  PutAndFlush(*OpenOrFail(Mapped(), scratch.path()), 0, 2000, "value");
  const auto tables = Tables(scratch.path());
  std::filesystem::resize_file(tables[0], std::filesystem::file_size(tables[0]) / 2);
  const auto db = OpenOrFail(Mapped(), scratch.path());
  std::string value;
  const absl::Status status = db->Get(ReadOptions(), Key(5), &value);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), tables[0].filename().string())) << status;
  EXPECT_EQ(MappedBytes(*db), 0u);
}

// A mapping needs no descriptor.
TEST_F(MmapReads, MoreTablesAreMappedThanMayBeOpen) {
  const ScratchDirectory scratch("mmap");
  Options options = Mapped();
  options.max_open_files = 16;
  const auto db = OpenOrFail(options, scratch.path());
  constexpr int kTables = 40;
  for (int i = 0; i < kTables; i++) PutAndFlush(*db, i, i + 1, "value");
  size_t bytes = 0;
  for (const auto& table : Tables(scratch.path())) bytes += std::filesystem::file_size(table);
  EXPECT_EQ(MappedBytes(*db), bytes);
  EXPECT_LE(OpenDescriptorsIn(scratch.path()), 16u);
  for (int i = 0; i < kTables; i++) {
    std::string value;
    ASSERT_TRUE(db->Get(ReadOptions(), Key(i), &value).ok());
    EXPECT_EQ(value, absl::StrCat("value", i));
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_EQ(Tables(scratch.path()).size(), 1u);
  EXPECT_EQ(MappedBytes(*db), std::filesystem::file_size(Tables(scratch.path())[0]));
}

// Without mappings, reads of tables that were closed and removed are Aborted.
TEST_F(MmapReads, AReaderKeepsWhatTheWriterRemoves) {
  const ScratchDirectory scratch("mmap");
  const auto writer = OpenOrFail(Mapped(), scratch.path());
  constexpr int kTables = 40;
  for (int i = 0; i < kTables; i++) PutAndFlush(*writer, i, i + 1, "value");
  Options options = Mapped();
  options.read_only = true;
  options.max_open_files = 16;
  const auto reader = OpenOrFail(options, scratch.path());
  ASSERT_TRUE(writer->CompactRange(std::nullopt, std::nullopt).ok());
  for (int i = 0; i < kTables; i++) {
    std::string value;
    const absl::Status status = reader->Get(ReadOptions(), Key(i), &value);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(value, absl::StrCat("value", i));
  }
}

TEST_F(MmapReads, AFileSystemThatMapsNothingIsReadAsEver) {
  Options options = Mapped();
  MemoryDb db(options);
  db.Put("key", "value");
  db.Flush();
  EXPECT_EQ(db.Get("key"), "value");
  EXPECT_EQ(MappedBytes(*db), 0u);
}

}  // namespace
}  // namespace winnow
