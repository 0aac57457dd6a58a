// How much of the file one read takes: what is read ahead, and of whom.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "engine/cache/block_cache.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/engine/sstable/sstable_model.h"

namespace winnow {
namespace {

// A table of many small blocks, of RandomModel(entries, max_length), and the file that it reads.
struct OpenTable {
  OpenTable(uint64_t seed, size_t entries, size_t max_length, ShardedBlockCache* cache = nullptr) {
    std::mt19937_64 random(seed);
    SstableBuilderOptions options;
    options.block_bytes = 300;
    auto owned = std::make_unique<StringFile>(
        BuildTable(RandomModel(random, entries, max_length, 100), options).bytes);
    file = owned.get();
    SstableReaderOptions reader_options;
    reader_options.cache = cache;
    auto opened = SstableReader::Open(reader_options, std::move(owned), "t.sst");
    EXPECT_TRUE(opened.ok()) << opened.status();
    table = *std::move(opened);
  }
  const StringFile* file = nullptr;
  std::unique_ptr<SstableReader> table;
};

// While a compaction uses one piece the disk fetches the next.
TEST(SstableReadahead, WhatIsReadAheadWasAskedForOnePieceEarlier) {
  const OpenTable opened(14, 2000, 5);
  const StringFile& file = *opened.file;
  const auto& table = opened.table;
  const auto walk = [&](size_t readahead_bytes, bool forward) {
    file.reads.clear();
    file.prefetches.clear();
    SstableReadOptions read_options;
    read_options.readahead_bytes = readahead_bytes;
    SstableIterator iterator(*table, read_options);
    forward ? iterator.SeekToFirst() : iterator.SeekToLast();
    while (iterator.Valid()) forward ? iterator.Next() : iterator.Prev();
    EXPECT_TRUE(iterator.status().ok());
  };
  walk(5000, true);
  ASSERT_GT(file.reads.size(), 10u);
  ASSERT_EQ(file.prefetches.size(), file.reads.size() - 1) << "nothing follows the last piece";
  for (size_t i = 1; i < file.reads.size(); i++) {
    EXPECT_EQ(file.prefetches[i - 1].first, file.reads[i - 1].second);
    EXPECT_GE(file.prefetches[i - 1].second, file.reads[i].second);
  }
  walk(5000, false);
  EXPECT_TRUE(file.prefetches.empty());
  walk(0, true);
  EXPECT_TRUE(file.prefetches.empty());
}

// Behind a cache that keeps none of the blocks.
class ShortScans : public testing::Test {
 protected:
  ShortScans() {
    EXPECT_TRUE(opened_.table
                    ->ForEachBlock([this](const SstableBlockInfo& block) {
                      if (block.kind != SstableBlockInfo::Kind::kData) return;
                      first_keys_.push_back(block.first_key);
                    })
                    .ok());
  }

  // From the start of block `first` into each of `blocks` blocks: how many reads that takes.
  size_t ReadsOf(size_t first, size_t blocks) {
    opened_.file->reads.clear();
    SstableIterator iterator(*opened_.table, SstableReadOptions());
    iterator.Seek(first_keys_[first]);
    while (iterator.Valid() && iterator.key() != first_keys_[first + blocks - 1]) iterator.Next();
    EXPECT_TRUE(iterator.Valid()) << iterator.status();
    return opened_.file->reads.size();
  }

  ShardedBlockCache cache_{0, 0};
  const OpenTable opened_{15, 4000, 3, &cache_};
  std::vector<std::string> first_keys_;
};

TEST_F(ShortScans, LearnFromTheOnesBeforeWhenToReadAhead) {
  ASSERT_GT(first_keys_.size(), 500u);
  // The third load is of many blocks.
  EXPECT_EQ(ReadsOf(10, 1), 1u);
  EXPECT_EQ(ReadsOf(20, 2), 2u);
  EXPECT_EQ(ReadsOf(30, 8), 3u);
  EXPECT_EQ(ReadsOf(60, 8), 3u);
  // Two went on behind their second block, and so will the next.
  EXPECT_EQ(ReadsOf(90, 8), 2u);
  EXPECT_EQ(ReadsOf(120, 8), 2u);
  // Until some do not.
  EXPECT_EQ(ReadsOf(150, 2), 2u);
  EXPECT_EQ(ReadsOf(180, 2), 2u);
  EXPECT_EQ(ReadsOf(210, 8), 3u);
  // A seek that ends in its first block says nothing.
  EXPECT_EQ(ReadsOf(240, 8), 2u);
  for (size_t i = 0; i < 10; i++) EXPECT_EQ(ReadsOf(270 + i, 1), 1u);
  EXPECT_EQ(ReadsOf(300, 8), 2u);
}

TEST_F(ShortScans, OfWhichOneReadsNothingItNeedsNot) {
  for (size_t i = 0; i < 10; i++) {
    ASSERT_EQ(ReadsOf(10 + 3 * i, 2), 2u);
    for (const auto& [from, to] : opened_.file->reads) EXPECT_LT(to - from, 1000u);
  }
}

TEST(SstableReadahead, VerifyingReadsDataBlocksInPieces) {
  const OpenTable opened(16, 8000, 4);
  const StringFile& file = *opened.file;
  const auto& table = opened.table;
  ASSERT_GT(table->figures().num_data_blocks, 1000u);
  file.reads.clear();
  EXPECT_TRUE(table->Verify().empty());
  EXPECT_LT(file.reads.size(), 20u);
}

}  // namespace
}  // namespace winnow
