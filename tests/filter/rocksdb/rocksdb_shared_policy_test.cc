// One level-aware policy for several databases of a process: each tree is judged by itself.

#include "filter/rocksdb/tree_observer.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"

namespace winnow::filter {
namespace {

using internal::NewFile;
using internal::TreeObserver;

double BitsPerEntry(rocksdb::DB* db) {
  const FilterTotals totals = TotalsOf(db);
  return 8.0 * static_cast<double>(totals.filter_bytes) / static_cast<double>(totals.entries);
}

std::unique_ptr<rocksdb::DB> OpenByHand(const PolicyPointer& policy, const std::string& path) {
  rocksdb::Options options = SmallTreeOptions();
  options.disable_auto_compactions = true;
  options.write_buffer_size = 64 << 20;
  options.target_file_size_base = 4 << 20;
  return OpenOrFail(options, TableWithFilter(policy), path);
}

void MoveToLevel(rocksdb::DB* db, int level) {
  rocksdb::ColumnFamilyMetaData metadata;
  db->GetColumnFamilyMetaData(&metadata);
  std::vector<std::string> files;
  for (const auto& file : metadata.levels[0].files) files.push_back(file.name);
  ASSERT_TRUE(db->CompactFiles(rocksdb::CompactionOptions(), files, level).ok());
}

void WriteLevel(rocksdb::DB* db, int level, uint64_t count) {
  for (uint64_t i = 0; i < count; ++i) {
    ASSERT_TRUE(db->Put({}, NumberedKey(i * (200'000 / count)), "value").ok());
  }
  ASSERT_TRUE(db->Flush({}).ok());
  if (level > 0) MoveToLevel(db, level);
}

// A small database beside a deep one once got 39 bits a key: the tree of its namesake's family was
// taken for its own.
TEST(SharedPolicyTest, ASmallDatabaseBesideADeepOneGetsItsOwnBits) {
  const PolicyPointer policy = MakeTestPolicy("blocked_bloom:10:level_aware");
  const TestFolder folder;
  const auto deep = OpenByHand(policy, folder.Path("deep"));
  WriteLevel(deep.get(), 6, 200'000);
  WriteLevel(deep.get(), 5, 20'000);
  WriteLevel(deep.get(), 4, 2'000);
  WriteLevel(deep.get(), 0, 200);
  const auto small = OpenByHand(policy, folder.Path("small"));
  WriteLevel(small.get(), 0, 2'000);
  EXPECT_LT(BitsPerEntry(small.get()), 11.6);

  // And alone, for comparison.
  const auto alone =
      OpenByHand(MakeTestPolicy("blocked_bloom:10:level_aware"), folder.Path("alone"));
  WriteLevel(alone.get(), 0, 2'000);
  EXPECT_NEAR(BitsPerEntry(small.get()), BitsPerEntry(alone.get()), 0.1);
}

NewFile FileOf(const void* database, int level, bool is_last_run) {
  return {.tree = {database, "default"}, .level = level, .is_last_run = is_last_run};
}

TEST(TreeObserverTest, DatabasesWithFamiliesOfOneNameAreTold) {
  TreeObserver observer(10);
  const int one = 1;
  const int other = 2;
  ASSERT_TRUE(observer.Observe(FileOf(&one, 6, true)).shape);
  observer.Observe(FileOf(&one, 3, false));
  EXPECT_FALSE(observer.Observe(FileOf(&other, 0, false)).shape) << "its tree is not known";
  const auto shape = observer.Observe(FileOf(&other, 2, true)).shape;
  ASSERT_TRUE(shape);
  EXPECT_EQ(shape->base_level, 2);
  EXPECT_EQ(shape->last_level, 2);
}

TEST(TreeObserverTest, KnowsTheNewestFlushAndCallsEachTreeByAnotherNumber) {
  TreeObserver observer(10);
  const int one = 1;
  const int other = 2;
  const NewFile flushed = FileOf(&one, 0, false);
  EXPECT_EQ(observer.Observe(flushed).flushed_keys, 0u);
  observer.CountKeys(flushed, 1'000);
  observer.CountKeys(FileOf(&one, 1, true), 9'000);
  EXPECT_EQ(observer.Observe(FileOf(&one, 1, true)).flushed_keys, 1'000u);
  EXPECT_EQ(observer.Observe(FileOf(&other, 0, false)).flushed_keys, 0u);
  EXPECT_EQ(observer.Observe(flushed).number, observer.Observe(flushed).number);
  EXPECT_NE(observer.Observe(flushed).number, observer.Observe(FileOf(&other, 0, false)).number);
}

TEST(TreeObserverTest, RemembersABoundedNumberOfTrees) {
  TreeObserver observer(10);
  std::vector<char> databases(3 * TreeObserver::kMaxTrees);
  observer.Observe(FileOf(&databases[0], 6, true));
  for (const char& database : databases) {
    observer.Observe(FileOf(&database, 6, true));
    EXPECT_TRUE(observer.Observe(FileOf(&databases[0], 0, false)).shape) << "in use";
  }
  EXPECT_FALSE(observer.Observe(FileOf(&databases[1], 0, false)).shape) << "forgotten";
}

}  // namespace
}  // namespace winnow::filter
