// A level-aware policy on trees whose levels do not have the sizes that they ought to have: files
// are built and deleted here as RocksDB would, without RocksDB's timing. In every state the filters
// take no more than uniform ones, and a look-up of an absent key reads less.

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "filter/rocksdb/filter_bits_interface.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kFlushedKeys = 500;
constexpr uint64_t kMaxFileKeys = 2000;
constexpr double kUniformBits = 10;

struct File {
  uint64_t keys = 0;
  std::string contents;
  std::unique_ptr<rocksdb::FilterBitsReader> reader;
  double fpr = 0;
};

// The filters of a tree of random keys: what is merged has the keys of both. RocksDB opens the
// files of a job when all are written, and deletes what they replace after that.
class SimulatedTree {
 public:
  // A tree may be opened by another policy, and by several databases with one log.
  SimulatedTree(PolicyPointer policy, int num_levels, rocksdb::Logger* log = nullptr)
      : policy_(std::move(policy)), num_levels_(num_levels), log_(log) {}

  void Flush() { Replace(0, {}, kFlushedKeys); }

  // Merges all files of level 0, or the first of another, into the next level that is used.
  void Compact(int level, int to_level) {
    const size_t count = level == 0 ? levels_[0].size() : 1;
    ASSERT_GE(levels_[level].size(), count);
    uint64_t keys = 0;
    for (size_t i = 0; i < count; ++i) keys += levels_[level][i].keys;
    // As much of the next level as the keys' share of their own.
    const uint64_t all = KeysOf(level);
    const size_t overlap = (levels_[to_level].size() * keys + all - 1) / all;
    for (size_t i = 0; i < overlap; ++i) keys += levels_[to_level][i].keys;
    std::vector<File> replaced = Take(level, count);
    for (File& file : Take(to_level, overlap)) replaced.push_back(std::move(file));
    Replace(to_level, std::move(replaced), keys);
  }

  void Delete(int level, size_t count) { Take(level, count); }

  void Reopen(PolicyPointer policy) {
    for (auto& [level, files] : levels_) {
      for (File& file : files) file.reader.reset();
    }
    policy_ = std::move(policy);
    for (auto& [level, files] : levels_) {
      for (File& file : files) Open(file);
    }
  }

  uint64_t KeysOf(int level) {
    uint64_t keys = 0;
    for (const File& file : levels_[level]) keys += file.keys;
    return keys;
  }
  size_t FilesOf(int level) { return levels_[level].size(); }
  double BitsPerKeyOf(int level) {
    return 8.0 * static_cast<double>(BytesOf(levels_[level])) / static_cast<double>(KeysOf(level));
  }

  // Against filters of kUniformBits, which are as large as RocksDB lets ours be.
  double MemoryAgainstUniform() {
    uint64_t bytes = 0;
    double uniform_bytes = 0;
    for (const auto& [level, files] : levels_) {
      bytes += BytesOf(files);
      for (const File& file : files) uniform_bytes += UniformBytes(file.keys);
    }
    return static_cast<double>(bytes) / uniform_bytes;
  }
  double NeedlessReads() {
    return Needless([](const File& file) { return file.fpr; });
  }
  double NeedlessReadsOfUniform() {
    static const double fpr = ExpectedFpr(FilterKind::kBloom, kUniformBits, kMaxFileKeys);
    return Needless([](const File&) { return fpr; });
  }

 private:
  static constexpr size_t kFrameBytes = 133;  // FORMAT.md

  static double UniformBytes(uint64_t keys) {
    const double payload = static_cast<double>(keys) * kUniformBits / 8;
    return kFrameBytes + 64 * std::ceil(payload / 64);
  }
  static uint64_t BytesOf(const std::vector<File>& files) {
    uint64_t bytes = 0;
    for (const File& file : files) bytes += file.contents.size();
    return bytes;
  }

  // Each file of level 0 is asked for every key, and one file of each other level.
  template <typename FprOf>
  double Needless(FprOf fpr_of) {
    double sum = 0;
    for (const auto& [level, files] : levels_) {
      const auto level_keys = static_cast<double>(KeysOf(level));
      for (const File& file : files) {
        const double share = level == 0 ? 1 : static_cast<double>(file.keys) / level_keys;
        sum += share * fpr_of(file);
      }
    }
    return sum;
  }

  bool IsLastRun(int level) {
    return std::all_of(levels_.upper_bound(level), levels_.end(),
                       [](const auto& below) { return below.second.empty(); });
  }

  std::vector<File> Take(int level, size_t count) {
    std::vector<File>& files = levels_[level];
    const auto end = files.begin() + static_cast<std::ptrdiff_t>(count);
    std::vector<File> taken(std::make_move_iterator(files.begin()), std::make_move_iterator(end));
    files.erase(files.begin(), end);
    return taken;
  }

  // Taken files are in place until those that replace them are.
  void Replace(int level, std::vector<File> replaced, uint64_t keys) {
    std::vector<File> built;
    while (keys > 0) {
      const uint64_t count = std::min(keys, kMaxFileKeys);
      built.push_back(Build(level, count));
      keys -= count;
    }
    for (File& file : built) {
      Open(file);
      levels_[level].push_back(std::move(file));
    }
  }

  File Build(int level, uint64_t count) {
    const rocksdb::BlockBasedTableOptions options;
    rocksdb::FilterBuildingContext context(options);
    context.compaction_style = rocksdb::kCompactionStyleLevel;
    context.num_levels = num_levels_;
    context.info_log = log_;
    context.column_family_name = "default";
    context.level_at_creation = level;
    context.is_bottommost = IsLastRun(level);
    context.reason = level == 0 ? rocksdb::TableFileCreationReason::kFlush
                                : rocksdb::TableFileCreationReason::kCompaction;
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy_->GetBuilderWithContext(context));
    for (uint64_t i = 0; i < count; ++i) AddKey(*builder, next_key_++);
    std::unique_ptr<const char[]> buffer;
    File file = {count, builder->Finish(&buffer).ToString(), nullptr, 0};
    const size_t payload_bytes = file.contents.size() - kFrameBytes;
    const double bits = 8.0 * static_cast<double>(payload_bytes) / static_cast<double>(count);
    file.fpr = ExpectedFpr(FilterKind::kBloom, bits, count);
    return file;
  }

  static void AddKey(rocksdb::FilterBitsBuilder& builder, uint64_t key) {
    builder.AddKey(rocksdb::Slice(reinterpret_cast<const char*>(&key), sizeof(key)));
  }

  void Open(File& file) { file.reader.reset(policy_->GetFilterBitsReader(file.contents)); }

  PolicyPointer policy_;
  const int num_levels_;
  rocksdb::Logger* const log_;
  uint64_t next_key_ = 0;
  std::map<int, std::vector<File>> levels_;  // oldest file first
};

struct Extremes {
  double most_memory = 0;
  double reads = 0;
  double uniform_reads = 0;

  void Take(SimulatedTree& tree) {
    most_memory = std::max(most_memory, tree.MemoryAgainstUniform());
    reads += tree.NeedlessReads();
    uniform_reads += tree.NeedlessReadsOfUniform();
  }
};

// Levels are compacted when they are larger than that; level 0 at as many flushes.
struct Sizes {
  int base_level;
  int last_level;
  uint64_t level_zero_files;
  uint64_t base_keys;
};

void CompactWhatIsTooLarge(SimulatedTree& tree, const Sizes& sizes) {
  if (tree.FilesOf(0) >= sizes.level_zero_files) tree.Compact(0, sizes.base_level);
  uint64_t limit = sizes.base_keys;
  for (int level = sizes.base_level; level < sizes.last_level; ++level) {
    while (tree.KeysOf(level) > limit) tree.Compact(level, level + 1);
    limit *= 10;
  }
}

constexpr char kLevelAware[] = "bloom:10:level_aware";
constexpr double kMemoryBound = 1.04;

TEST(NaturalTreeTest, ATreeThatGrowsDownKeepsTheUniformMemoryAndReadsLess) {
  SimulatedTree tree(MakeTestPolicy(kLevelAware), 7);
  const Sizes sizes = {.base_level = 1, .last_level = 6, .level_zero_files = 4, .base_keys = 2000};
  Extremes grown;
  for (int flushes = 0; flushes < 150; ++flushes) {
    tree.Flush();
    CompactWhatIsTooLarge(tree, sizes);
    grown.Take(tree);
  }
  EXPECT_LT(grown.most_memory, kMemoryBound);
  EXPECT_LT(grown.reads * 1.2, grown.uniform_reads);
}

// With level_compaction_dynamic_level_bytes and compactions behind, the upper levels hold many
// times what they ought to, and once got it at their nominal bits: 45 % more memory.
TEST(NaturalTreeTest, UpperLevelsThatAreTooLargeKeepTheUniformMemory) {
  SimulatedTree tree(MakeTestPolicy(kLevelAware), 7);
  const Sizes behind = {
      .base_level = 4, .last_level = 6, .level_zero_files = 20, .base_keys = 10'000};
  Extremes extremes;
  for (int flushes = 0; flushes < 150; ++flushes) {
    tree.Flush();
    CompactWhatIsTooLarge(tree, behind);
    extremes.Take(tree);
  }
  EXPECT_LT(extremes.most_memory, kMemoryBound);
  EXPECT_LT(extremes.reads * 1.5, extremes.uniform_reads);
}

// Where no filter has saved anything new files are uniform, whatever the tree once was.
TEST(NaturalTreeTest, NothingIsSpentThatIsNoLongerSaved) {
  SimulatedTree tree(MakeTestPolicy(kLevelAware), 7);
  const Sizes sizes = {.base_level = 4, .last_level = 6, .level_zero_files = 4, .base_keys = 2000};
  for (int flushes = 0; flushes < 100; ++flushes) {
    tree.Flush();
    CompactWhatIsTooLarge(tree, sizes);
  }
  tree.Flush();
  ASSERT_GT(tree.BitsPerKeyOf(0), 15);
  for (const int level : {0, 4, 5, 6}) tree.Delete(level, tree.FilesOf(level));
  tree.Flush();
  EXPECT_LT(tree.BitsPerKeyOf(0), 13.5) << "of which 2 are the frame";
}

TEST(NaturalTreeTest, WhatIsSavedIsKnownAgainAfterReopening) {
  SimulatedTree tree(MakeTestPolicy(kLevelAware), 7);
  const Sizes sizes = {.base_level = 4, .last_level = 6, .level_zero_files = 4, .base_keys = 2000};
  const auto write = [&](int count) {
    Extremes extremes;
    for (int flushes = 0; flushes < count; ++flushes) {
      tree.Flush();
      CompactWhatIsTooLarge(tree, sizes);
      extremes.Take(tree);
    }
    return extremes;
  };
  write(100);
  tree.Reopen(MakeTestPolicy(kLevelAware));
  // Until the last level is met once more the policy does not know the tree.
  Extremes reopened = write(30);
  EXPECT_LT(reopened.most_memory, kMemoryBound);
  tree.Flush();
  EXPECT_GT(tree.BitsPerKeyOf(0), 15);
}

// Databases that have one log cannot be told apart; together they keep the uniform memory.
TEST(NaturalTreeTest, DatabasesThatAreTakenForOneKeepTheUniformMemory) {
  const PolicyPointer policy = MakeTestPolicy(kLevelAware);
  SimulatedTree deep(policy, 7);
  SimulatedTree small(policy, 7);
  const Sizes sizes = {.base_level = 4, .last_level = 6, .level_zero_files = 4, .base_keys = 2000};
  for (int flushes = 0; flushes < 100; ++flushes) {
    deep.Flush();
    CompactWhatIsTooLarge(deep, sizes);
    if (flushes % 10 != 9) continue;
    small.Flush();
    // Two of eleven keys, at the most, are those of the small one.
    EXPECT_LT(deep.MemoryAgainstUniform() * 10 + small.MemoryAgainstUniform(), 11 * kMemoryBound);
  }
}

}  // namespace
}  // namespace winnow::filter
