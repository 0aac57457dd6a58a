// MultiGet answers as Get does, key by key, whatever blocks its keys share and wherever they are.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

std::string KeyAt(uint64_t number) { return absl::StrFormat("key%06d", number); }

std::string Outcome(const absl::Status& status, std::string_view value) {
  return status.ok() ? absl::StrCat("=", std::string(value)) : status.ToString();
}

void ExpectAsGet(DB& db, const ReadOptions& read, const std::vector<std::string>& keys) {
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db.MultiGet(read, views, values, statuses);
  for (size_t i = 0; i < keys.size(); i++) {
    std::string value;
    const absl::Status status = db.Get(read, keys[i], &value);
    ASSERT_EQ(Outcome(statuses[i], values[i].view()), Outcome(status, value)) << keys[i];
  }
}

struct Tree {
  const char* name;
  size_t cache_bytes;
  const char* filter;
  bool charge_filters;
};

class MultiGetTree : public testing::TestWithParam<Tree> {};

// Duplicates, absent and deleted keys, in no order; under several snapshots; with and without
// filling the cache.
TEST_P(MultiGetTree, AnswersAsGet) {
  constexpr uint64_t kKeys = 600;
  for (const uint64_t seed : Seeds(4)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    Options options = MemoryDb::Busy();
    options.block_cache_bytes = GetParam().cache_bytes;
    options.filter = GetParam().filter;
    options.charge_filters_to_cache = GetParam().charge_filters;
    options.block_bytes = 256;
    MemoryDb db(options);
    std::vector<const Snapshot*> snapshots = {nullptr};
    for (int round = 0; round < 6; round++) {
      for (int i = 0; i < 500; i++) {
        const std::string key = KeyAt(2 * (random() % kKeys));
        if (random() % 5 == 0) {
          db.Delete(key);
        } else {
          db.Put(key, std::string(random() % 60, static_cast<char>('a' + round)));
        }
      }
      if (random() % 2 == 0) db.Flush();
      if (random() % 4 == 0) db.CompactAll();
      snapshots.push_back(db->GetSnapshot());
      ReadOptions read;
      read.fill_cache = random() % 2 == 0;
      read.verify_checksums = random() % 4 != 0;
      for (const Snapshot* snapshot : snapshots) {
        read.snapshot = snapshot;
        const uint64_t near = random() % (2 * kKeys);
        std::vector<std::string> keys(1 + random() % 100);
        for (std::string& key : keys) {
          // Half of them from a few blocks.
          key = KeyAt(random() % 2 == 0 ? near + random() % 20 : random() % (2 * kKeys));
        }
        ASSERT_NO_FATAL_FAILURE(ExpectAsGet(*db, read, keys));
      }
    }
    for (const Snapshot* snapshot : snapshots) {
      if (snapshot != nullptr) db->ReleaseSnapshot(snapshot);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Trees, MultiGetTree,
                         testing::Values(Tree{"Cached", 8 << 20, "blocked_bloom:10", false},
                                         Tree{"TinyCache", 4 << 10, "bloom:4", false},
                                         Tree{"NoCache", 0, "ribbon:8", false},
                                         Tree{"NoFilter", 64 << 10, "none", false},
                                         Tree{"ChargedFilters", 16 << 10, "bloom:8", true}),
                         [](const auto& test) { return test.param.name; });

TEST(MultiGet, ReadsABlockOfSeveralKeysOnce) {
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 0;
  MemoryDb db(options);
  for (uint64_t i = 0; i < 20; i++) db.Put(KeyAt(i), "value");
  db.Flush();
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 20; i++) keys.push_back(KeyAt(i));
  keys.push_back(KeyAt(7));
  for (const std::string& value : db.MultiGet(keys)) EXPECT_EQ(value, "value");
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kDataBlocksRead), 1u);
}

TEST(MultiGet, ValuesStayWhenTheirBlocksLeaveTheCache) {
  constexpr uint64_t kKeys = 2000;
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 16 << 10;
  options.block_bytes = 1024;
  MemoryDb db(options);
  const auto value_at = [](uint64_t i) {
    return absl::StrCat("value of ", i, std::string(80, '.'));
  };
  for (uint64_t i = 0; i < kKeys; i++) db.Put(KeyAt(i), value_at(i));
  db.Flush();
  const std::vector<std::string> keys = {KeyAt(3), KeyAt(4), KeyAt(1000), KeyAt(4)};
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  db->MultiGet(ReadOptions(), views, values, statuses);
  for (uint64_t i = 0; i < kKeys; i++) ASSERT_EQ(db.Get(KeyAt(i)), value_at(i));
  EXPECT_EQ(values[0].view(), value_at(3));
  values[1].Reset();
  EXPECT_EQ(values[2].view(), value_at(1000));
  EXPECT_EQ(values[3].view(), value_at(4));
}

// Sets one bit of the `index`-th data block of the database's only table.
void DamageDataBlock(RecordingFileSystem& file_system, size_t index) {
  std::string path;
  const auto names = file_system.List(MemoryDb::kPath);
  for (const std::string& name : *names) {
    if (name.ends_with(".sst")) path = absl::StrCat(MemoryDb::kPath, "/", name);
  }
  std::vector<SstableBlockInfo> blocks;
  auto reader = SstableReader::Open({}, *file_system.OpenRandomAccess(path), path);
  ASSERT_TRUE(reader.ok()) << reader.status().ToString();
  ASSERT_TRUE((*reader)
                  ->ForEachBlock([&](const SstableBlockInfo& block) {
                    if (block.kind == BlockKind::kData) blocks.push_back(block);
                  })
                  .ok());
  ASSERT_GT(blocks.size(), index + 1);
  auto file = file_system.OpenRandomAccess(path);
  std::string bytes((*file)->size(), '\0');
  ASSERT_TRUE((*file)->Read(0, bytes.size(), bytes.data()).ok());
  bytes[blocks[index].offset + blocks[index].stored_bytes / 2] ^= 4;
  auto rewritten = file_system.Create(path, {});
  ASSERT_TRUE(rewritten.ok());
  ASSERT_TRUE((*rewritten)->Append(bytes).ok());
  ASSERT_TRUE((*rewritten)->Sync().ok());
  ASSERT_TRUE((*rewritten)->Close().ok());
}

TEST(MultiGet, ADamagedBlockFailsItsOwnKeysOnly) {
  constexpr uint64_t kKeys = 300;
  Options options = MemoryDb::Quiet();
  options.block_bytes = 512;
  MemoryDb db(options);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; i++) {
    keys.push_back(KeyAt(i));
    db.Put(keys.back(), "0123456789");
  }
  db.Flush();
  db.CloseDb();
  ASSERT_NO_FATAL_FAILURE(DamageDataBlock(db.file_system(), 3));
  db.Reopen();
  size_t failed = 0;
  const std::vector<std::string> results = db.MultiGet(keys);
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_EQ(results[i], db.Get(keys[i])) << keys[i];
    failed += results[i] == "0123456789" ? 0 : 1;
  }
  EXPECT_GT(failed, 0u);
  EXPECT_LT(failed, keys.size() / 4);
}

}  // namespace
}  // namespace winnow
