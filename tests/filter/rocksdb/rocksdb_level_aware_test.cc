// The level-aware policy on a real tree: against RocksDB's uniform Bloom filter of as many bits a
// key, at least two times fewer needless block reads.

#include <rocksdb/env.h>
#include <rocksdb/metadata.h>
#include <rocksdb/perf_context.h>
#include <rocksdb/perf_level.h>

#include <cstdio>

#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter {
namespace {

constexpr int kLastLevel = 6;
// Each level has ten times the keys of the one above it, mixed with all others' over one key range.
struct LevelKeys {
  int level;
  uint64_t count;
};
constexpr LevelKeys kTree[] = {{6, 400'000}, {5, 40'000}, {4, 4'000}, {3, 400}, {0, 100}};

struct Outcome {
  int num_levels = 0;
  double bits_per_entry = 0;
  double needless_reads = 0;  // of data blocks, for each look-up of an absent key
};

std::vector<std::string> FilesOf(rocksdb::DB* db, int level) {
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(&metadata);
  std::vector<std::string> names;
  for (const auto& file : metadata.levels[static_cast<size_t>(level)].files) {
    names.push_back(file.name);
  }
  return names;
}

void RewriteFiles(rocksdb::DB* db, int from_level, int to_level) {
  const rocksdb::Status status =
      db->CompactFiles(rocksdb::CompactionOptions(), FilesOf(db, from_level), to_level);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

// Builds each level's files where they belong, deepest first. A policy has then seen the whole
// tree; the second round gives each file the filter that it would have from then on.
void MakeTree(rocksdb::DB* db) {
  for (const LevelKeys& level : kTree) {
    const uint64_t stride = 500'000 / level.count;
    rocksdb::WriteOptions write;
    write.disableWAL = true;
    for (uint64_t i = 0; i < level.count; ++i) {
      ASSERT_TRUE(db->Put(write, NumberedKey(2 * i * stride), "value").ok());
    }
    ASSERT_TRUE(db->Flush({}).ok());
    if (level.level > 0) RewriteFiles(db, 0, level.level);
  }
  for (int level = kLastLevel; level >= 3; --level) RewriteFiles(db, level, level);
}

Outcome Measure(const PolicyPointer& policy) {
  const std::unique_ptr<rocksdb::Env> memory(rocksdb::NewMemEnv(rocksdb::Env::Default()));
  rocksdb::Options options = SmallTreeOptions();
  options.env = memory.get();
  options.disable_auto_compactions = true;
  options.write_buffer_size = 256 << 20;
  options.target_file_size_base = 4 << 20;
  rocksdb::BlockBasedTableOptions table = TableWithFilter(policy);
  table.no_block_cache = true;  // each read of a block counts
  table.block_cache = nullptr;
  const auto db = OpenOrFail(options, table, "/db");
  MakeTree(db.get());

  Outcome outcome;
  for (int level = 0; level <= kLastLevel; ++level) {
    outcome.num_levels += FilesOf(db.get(), level).empty() ? 0 : 1;
  }
  const FilterTotals totals = TotalsOf(db.get());
  outcome.bits_per_entry =
      8.0 * static_cast<double>(totals.filter_bytes) / static_cast<double>(totals.entries);

  constexpr uint64_t kLookUps = 150'000;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kEnableCount);
  rocksdb::get_perf_context()->Reset();
  std::string value;
  for (uint64_t i = 0; i < kLookUps; ++i) {
    // Inside the key range of every level.
    EXPECT_TRUE(db->Get({}, NumberedKey(6 * i + 1), &value).IsNotFound());
  }
  outcome.needless_reads =
      static_cast<double>(rocksdb::get_perf_context()->block_read_count) / kLookUps;
  rocksdb::SetPerfLevel(rocksdb::PerfLevel::kDisable);
  std::printf("%-28s %d levels, %5.2f bits per entry, %.5f needless reads per look-up\n",
              policy->GetId().c_str(), outcome.num_levels, outcome.bits_per_entry,
              outcome.needless_reads);
  return outcome;
}

class LevelAwareTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, LevelAwareTest, testing::ValuesIn(BuildingKinds()), KindOfTest);

TEST_P(LevelAwareTest, HalvesTheNeedlessReadsOfRocksDbsUniformBloomAtEqualMemory) {
  static const Outcome uniform = Measure(PolicyPointer(rocksdb::NewBloomFilterPolicy(10)));
  const std::string spec = GetParam() + ":10:level_aware";
  if (!NewFilterPolicy(spec).ok()) GTEST_SKIP() << GetParam() << " is not spread over levels";
  const Outcome spread = Measure(MakeTestPolicy(spec));
  EXPECT_EQ(uniform.num_levels, 5);
  EXPECT_EQ(spread.num_levels, 5);
  EXPECT_LE(spread.bits_per_entry, uniform.bits_per_entry * 1.02);
  EXPECT_LE(spread.needless_reads * 2, uniform.needless_reads);
}

// The policy knows the tree after the files of one compaction into its last level; until then, and
// for other compaction styles, it is uniform.
TEST_P(LevelAwareTest, IsUniformWhileTheTreeIsUnknown) {
  const std::string spec = GetParam() + ":10:level_aware";
  if (!NewFilterPolicy(spec).ok()) GTEST_SKIP() << GetParam() << " is not spread over levels";
  for (const bool universal : {false, true}) {
    std::vector<uint64_t> bytes;
    for (const std::string& text : {spec, GetParam() + ":10"}) {
      const TestFolder folder;
      rocksdb::Options options = SmallTreeOptions();
      options.write_buffer_size = 64 << 20;
      if (universal) options.compaction_style = rocksdb::kCompactionStyleUniversal;
      const auto db = OpenOrFail(options, TableWithFilter(MakeTestPolicy(text)), folder.Path("db"));
      PutEvenKeys(db.get(), 5000);
      ASSERT_TRUE(db->Flush({}).ok());
      if (universal) {
        ASSERT_TRUE(db->CompactRange({}, nullptr, nullptr).ok());
      }
      bytes.push_back(TotalsOf(db.get()).filter_bytes);
    }
    // Seeds differ, and with them the last lines of a ribbon.
    EXPECT_NEAR(static_cast<double>(bytes[0]), static_cast<double>(bytes[1]), 128) << universal;
  }
}

}  // namespace
}  // namespace winnow::filter
