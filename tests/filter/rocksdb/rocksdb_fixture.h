// A RocksDB database in a folder of its own, with a filter policy of Winnow's.

#ifndef WINNOW_TESTS_FILTER_ROCKSDB_ROCKSDB_FIXTURE_H_
#define WINNOW_TESTS_FILTER_ROCKSDB_ROCKSDB_FIXTURE_H_

#include <gtest/gtest.h>
#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/options.h>
#include <rocksdb/slice_transform.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/table_properties.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/peer/open_peer_database.h"
#include "winnow/filter/rocksdb.h"
#include "winnow/filter/spec.h"

namespace winnow::filter {

using PolicyPointer = std::shared_ptr<const rocksdb::FilterPolicy>;

inline PolicyPointer MakeTestPolicy(std::string_view spec) {
  auto policy = NewFilterPolicy(spec);
  EXPECT_TRUE(policy.ok()) << policy.status();
  return policy.ok() ? *policy : nullptr;
}

// Every kind that builds filters, as the library lists them: new ones are tested without a change
// here.
inline std::vector<std::string> BuildingKinds() {
  std::vector<std::string> kinds;
  for (const std::string& kind : SpecKindNames()) {
    if (kind != "none") kinds.push_back(kind);
  }
  return kinds;
}

// For the names of parameterised tests.
inline std::string KindOfTest(const testing::TestParamInfo<std::string>& info) {
  return info.param;
}

// An empty folder that lives as long as this.
class TestFolder {
 public:
  TestFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "winnow-rocksdb-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  TestFolder(const TestFolder&) = delete;
  TestFolder& operator=(const TestFolder&) = delete;
  ~TestFolder() { std::filesystem::remove_all(path_); }

  std::string Path(std::string_view name) const { return path_ + "/" + std::string(name); }

 private:
  std::string path_;
};

// Small memtables and files, so that few keys make a tree; statistics on.
inline rocksdb::Options SmallTreeOptions() {
  rocksdb::Options options;
  options.create_if_missing = true;
  options.write_buffer_size = 64 << 10;
  options.target_file_size_base = 64 << 10;
  options.max_bytes_for_level_base = 256 << 10;
  options.level0_file_num_compaction_trigger = 2;
  options.compression = rocksdb::kNoCompression;
  options.statistics = rocksdb::CreateDBStatistics();
  return options;
}

inline rocksdb::BlockBasedTableOptions TableWithFilter(PolicyPointer policy) {
  rocksdb::BlockBasedTableOptions table;
  table.filter_policy = std::move(policy);
  table.block_cache = rocksdb::NewLRUCache(4 << 20);
  table.block_size = 1024;
  return table;
}

inline rocksdb::BlockBasedTableOptions PartitionedTable(PolicyPointer policy,
                                                        uint64_t partition_bytes) {
  rocksdb::BlockBasedTableOptions table = TableWithFilter(std::move(policy));
  table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
  table.partition_filters = true;
  table.metadata_block_size = partition_bytes;
  table.cache_index_and_filter_blocks = true;
  return table;
}

inline std::unique_ptr<rocksdb::DB> OpenOrFail(const rocksdb::Options& options,
                                               const std::string& path) {
  std::unique_ptr<rocksdb::DB> db;
  const rocksdb::Status status = OpenPeerDatabase(
      &db, [&](auto* opened) -> decltype(rocksdb::DB::Open(options, path, opened)) {
        return rocksdb::DB::Open(options, path, opened);
      });
  EXPECT_TRUE(status.ok()) << status.ToString();
  return db;
}

inline std::unique_ptr<rocksdb::DB> OpenOrFail(rocksdb::Options options,
                                               const rocksdb::BlockBasedTableOptions& table,
                                               const std::string& path) {
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return OpenOrFail(options, path);
}

// Eight digits; even numbers are written, odd ones asked for as absent keys.
inline std::string NumberedKey(uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "key%08llu", static_cast<unsigned long long>(number));
  return text;
}

inline void PutEvenKeys(rocksdb::DB* db, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(db->Put({}, NumberedKey(2 * i), "value" + std::to_string(i)).ok());
  }
}

inline void ExpectAllFound(rocksdb::DB* db, uint64_t count) {
  std::string value;
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(db->Get({}, NumberedKey(2 * i), &value).ok()) << NumberedKey(2 * i);
    ASSERT_EQ(value, "value" + std::to_string(i));
  }
}

// Asks for `count` absent keys and returns the share that the filters did not reject.
inline double AskAbsentKeys(rocksdb::DB* db, uint64_t count) {
  const auto statistics = db->GetOptions().statistics;
  EXPECT_TRUE(statistics->Reset().ok());
  std::string value;
  for (uint64_t i = 0; i < count; ++i) {
    EXPECT_TRUE(db->Get({}, NumberedKey(2 * i + 1), &value).IsNotFound());
  }
  const auto rejected = statistics->getTickerCount(rocksdb::BLOOM_FILTER_USEFUL);
  const auto passed = statistics->getTickerCount(rocksdb::BLOOM_FILTER_FULL_POSITIVE);
  return rejected + passed == 0
             ? 1
             : static_cast<double>(passed) / static_cast<double>(rejected + passed);
}

struct FilterTotals {
  uint64_t filter_bytes = 0;
  uint64_t entries = 0;
  uint64_t files = 0;
};

inline FilterTotals TotalsOf(rocksdb::DB* db) {
  rocksdb::TablePropertiesCollection tables;
  EXPECT_TRUE(db->GetPropertiesOfAllTables(&tables).ok());
  FilterTotals totals;
  for (const auto& [path, table] : tables) {
    totals.filter_bytes += table->filter_size;
    totals.entries += table->num_entries;
    ++totals.files;
  }
  return totals;
}

}  // namespace winnow::filter

#endif  // WINNOW_TESTS_FILTER_ROCKSDB_ROCKSDB_FIXTURE_H_
