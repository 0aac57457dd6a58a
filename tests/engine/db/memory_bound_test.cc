// What Options::ForMemory and its parts bound, and what they must not hold up.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// Memory of the process in the system's books; 0 where a sanitizer's shadow says more than we do.
size_t ResidentBytes() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  long total = 0;
  long resident = 0;
  FILE* const file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const int fields = std::fscanf(file, "%ld %ld", &total, &resident);
  std::fclose(file);
  return fields == 2 ? static_cast<size_t>(resident * ::sysconf(_SC_PAGESIZE)) : 0;
#endif
}

size_t Accounted(DB& db, const char* part) {
  const auto text = db.GetProperty("winnow.memory-usage-json");
  EXPECT_TRUE(text.ok()) << text.status();
  return text.ok() ? nlohmann::json::parse(*text)[part].get<size_t>() : 0;
}

std::vector<ColumnFamily*> OpenFamilies(DB& db, const ColumnFamilyOptions& options, int count) {
  std::vector<ColumnFamily*> families{db.DefaultColumnFamily()};
  for (int i = 1; i < count; i++) {
    auto created = db.CreateColumnFamily(options, absl::StrCat("family", i));
    EXPECT_TRUE(created.ok()) << created.status();
    families.push_back(*created);
  }
  return families;
}

// 20 MB through a database for which 16 MiB are meant.
void FillAndMeasure(int num_families) {
  const std::string path = absl::StrCat(testing::TempDir(), "/memory_bound_", ::getpid());
  std::filesystem::remove_all(path);
  const size_t resident_before = ResidentBytes();
  const size_t limit = 16 * kMiB;
  const Options options = Options::ForMemory(limit, 2);
  {
    const auto db = OpenOrFail(options, path);
    ASSERT_NE(db, nullptr);
    const std::vector<ColumnFamily*> families = OpenFamilies(*db, options, num_families);
    size_t most_memtables = 0;
    size_t most = 0;
    size_t most_resident = 0;
    std::string value(1000, 'v');
    for (size_t i = 0; i < 20'000; i++) {
      const std::string key = absl::StrCat(i * 7919 % 1'000'003);
      const absl::Status put = db->Put(WriteOptions(), families[i % families.size()], key, value);
      ASSERT_TRUE(put.ok()) << put;
      if (i % 500 != 0) continue;
      ASSERT_TRUE(db->Get(ReadOptions(), families[i % families.size()], key, &value).ok());
      most_memtables = std::max(most_memtables, Accounted(*db, "memtables"));
      most = std::max(most, Accounted(*db, "sum"));
      most_resident = std::max(most_resident, ResidentBytes());
    }
    // A chunk of each memtable's arena may come on top of the bound before a writer looks at it.
    EXPECT_LE(most_memtables, options.db_write_buffer_bytes + kMiB / 4);
    EXPECT_LE(most, limit);
    EXPECT_LE(most_resident, resident_before + limit + limit / 10 + 16 * kMiB);
    EXPECT_GT(most_memtables, options.db_write_buffer_bytes / 4) << "and is made use of";
    EXPECT_TRUE(db->Close().ok());
  }
  std::filesystem::remove_all(path);
}

TEST(MemoryBound, HoldsWithOneFamily) { FillAndMeasure(1); }

// Each family once had three buffers for itself: 16 MiB asked for, 115 MiB taken.
TEST(MemoryBound, HoldsWithManyFamilies) { FillAndMeasure(64); }

Options OneMebibyteOfMemtables() {
  Options options = MemoryDb::Quiet();
  options.write_buffer_bytes = 64 * kMiB;
  options.db_write_buffer_bytes = kMiB;
  options.background_threads = 2;
  return options;
}

// A family that hardly grows is left alone while another one makes the memory short.
TEST(MemoryBound, TheLargestMemtableIsFlushed) {
  MemoryDb db(OneMebibyteOfMemtables());
  const std::vector<ColumnFamily*> families = OpenFamilies(*db, db.options(), 2);
  ASSERT_TRUE(db->Put(WriteOptions(), families[1], "small", "value").ok());
  for (int i = 0; i < 3'000; i++) db.Put(absl::StrCat(i), std::string(1000, 'v'));
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_GT(std::stoi(*db->GetProperty("winnow.num-files-at-level0")), 2);
  EXPECT_EQ(*db->GetProperty(families[1], "winnow.num-files-at-level0"), "0");
}

// Without room on the disk nothing can be flushed: memory must not take what the disk does not.
TEST(MemoryBound, WritesAreRefusedWhereFlushesFail) {
  MemoryDb db(OneMebibyteOfMemtables());
  db.file_system().set_error_hook([](const FileOperation& operation) {
    return operation.path.ends_with(".sst") ? absl::ResourceExhaustedError("no space left")
                                            : absl::OkStatus();
  });
  absl::Status refused;
  for (int i = 0; i < 5'000 && refused.ok(); i++) {
    refused = db->Put(WriteOptions(), absl::StrCat(i), std::string(1000, 'v'));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_LE(Accounted(*db, "memtables"), kMiB + kMiB / 4);
  db.file_system().set_error_hook(nullptr);
  ASSERT_TRUE(db->Flush().ok());
  db.Put("key", "value");
}

// What an iterator holds nobody can flush; to wait for it would be to wait for the user.
TEST(MemoryBound, IteratorsHoldUpNobody) {
  MemoryDb db(OneMebibyteOfMemtables());
  std::vector<std::unique_ptr<Iterator>> iterators;
  for (int i = 0; i < 4'000; i++) {
    if (i % 250 == 0) iterators.push_back(db->NewIterator(ReadOptions()));
    db.Put(absl::StrCat(i), std::string(1000, 'v'));
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_GT(Accounted(*db, "memtables"), 2 * kMiB) << "nothing is hidden";
  EXPECT_GT(Accounted(*db, "held_by_iterators"), kMiB);
  iterators.clear();
  db.Flush();
  // A thread of the database may be about to free the last view.
  while (Accounted(*db, "memtables") > kMiB) std::this_thread::yield();
}

// A drop leaves nothing that a writer could wait for.
TEST(MemoryBound, DroppedFamiliesCountNoMore) {
  MemoryDb db(OneMebibyteOfMemtables());
  for (int round = 0; round < 8; round++) {
    const auto family = db->CreateColumnFamily(db.options(), absl::StrCat("family", round));
    ASSERT_TRUE(family.ok());
    for (int i = 0; i < 400; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), *family, absl::StrCat(i), std::string(1000, 'v')).ok());
    }
    ASSERT_TRUE(db->DropColumnFamily(*family).ok());
  }
  // A thread of the database may be about to free the last view.
  while (Accounted(*db, "memtables") != 0) std::this_thread::yield();
}

// Replay once filled one memtable of each family before it wrote any.
TEST(MemoryBound, HoldsWhileLogsAreReplayed) {
  Options options = MemoryDb::Quiet();
  MemoryDb db(options);
  const std::vector<ColumnFamily*> families = OpenFamilies(*db, options, 8);
  for (size_t i = 0; i < 4'000; i++) {
    const absl::Status put = db->Put(WriteOptions(), families[i % families.size()], absl::StrCat(i),
                                     std::string(1000, 'v'));
    ASSERT_TRUE(put.ok()) << put;
  }
  db.options().db_write_buffer_bytes = kMiB;
  db.Reopen();
  EXPECT_GT(std::stoi(*db->GetProperty("winnow.num-files-at-level0")), 3);
  EXPECT_EQ(db.Get("8"), std::string(1000, 'v'));
}

TEST(MemoryBound, CachedBlocksGiveWayToFilters) {
  const int num_keys = 25'000;
  Options options = MemoryDb::Quiet();
  options.filter = "blocked_bloom:64";
  options.block_cache_bytes = kMiB;
  MemoryDb db(options);
  for (int i = 0; i < num_keys; i++) db.Put(absl::StrCat(i), std::string(100, 'v'));
  db.Flush();
  const auto read_all = [&db] {
    for (int i = 0; i < num_keys; i += 7) EXPECT_NE(db.Get(absl::StrCat(i)), "(absent)");
  };
  read_all();
  EXPECT_GT(Accounted(*db, "block_cache"), kMiB / 10 * 9);
  db.options().charge_filters_to_cache = true;
  db.Reopen();
  read_all();
  const size_t tables = Accounted(*db, "filters") + Accounted(*db, "indexes");
  EXPECT_GT(tables, kMiB / 6);
  EXPECT_LE(tables + Accounted(*db, "block_cache"), kMiB);
  EXPECT_GT(Accounted(*db, "block_cache"), kMiB / 2);
  EXPECT_EQ(Accounted(*db, "tables_through_cache"), 0);
  // One that would put out too much of the cache each time is not used, and the property says so.
  db.options().block_cache_bytes = 128 << 10;
  db.Reopen();
  read_all();
  EXPECT_EQ(Accounted(*db, "filters"), 0);
  EXPECT_EQ(Accounted(*db, "filters_not_used"), 1);
  EXPECT_NE(db->GetProperty("winnow.memory-usage")->find("are not used"), std::string::npos);
  const auto explained = db->Explain("1x");
  ASSERT_TRUE(explained.ok());
  EXPECT_EQ(explained->steps.back().detail, "the filter is too large for the block cache");
}

// 20 million keys in 16 MiB once took 55: filters and indexes stayed in memory whatever the bound.
TEST(MemoryBound, HoldsForManyTimesAsManyFiltersAndIndexes) {
  const int num_keys = 50'000;
  Options options = MemoryDb::Quiet();
  options.charge_filters_to_cache = true;
  options.block_cache_bytes = 256 << 10;
  // What a table takes besides, about 1.3 KiB, is charged even if that leaves blocks an eighth.
  options.target_file_bytes = 80 << 10;
  options.block_bytes = 512;
  MemoryDb db(options);
  for (int i = 0; i < num_keys; i++) db.Put(absl::StrCat(i), std::string(60, 'v'));
  db.Flush();
  db.CompactAll();
  for (const bool is_reopened : {false, true}) {
    SCOPED_TRACE(is_reopened);
    if (is_reopened) db.Reopen();
    int found = 0;
    for (int i = 0; i < num_keys; i += 7) {
      ASSERT_EQ(db.Get(absl::StrCat(i)), std::string(60, 'v'));
      found += db.Get(absl::StrCat(i, "x")) == "(absent)" ? 0 : 1;
    }
    EXPECT_EQ(found, 0);
    const size_t tables = Accounted(*db, "filters") + Accounted(*db, "indexes");
    EXPECT_LE(tables + Accounted(*db, "block_cache"), options.block_cache_bytes);
    EXPECT_GT(tables, options.block_cache_bytes / 2) << "and room is made use of";
    EXPECT_GT(Accounted(*db, "bytes_through_cache"), size_t{48} << 10);
    EXPECT_NE(db->GetProperty("winnow.memory-usage")->find("through the block cache"),
              std::string::npos);
  }
  // Filters that are loaded are asked all the same.
  const Statistics statistics = db->GetStatistics();
  EXPECT_GT(statistics.Get(Ticker::kFilterBlocksRead), 0u);
  uint64_t rejected = 0;
  for (const FilterStatistics& row : statistics.filters) rejected += row.rejected;
  EXPECT_GT(rejected, static_cast<uint64_t>(num_keys) / 7 / 2);
  EXPECT_TRUE(db->Verify()->empty());
}

}  // namespace
}  // namespace winnow
