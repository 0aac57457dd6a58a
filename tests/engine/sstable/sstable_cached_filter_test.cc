// Tables whose filter and index find no room in memory and are blocks of the cache.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <utility>

#include "tests/engine/sstable/sstable_model.h"
#include "winnow/filter_policy.h"

namespace winnow {
namespace {

constexpr size_t kCapacityBytes = size_t{1} << 20;

std::string KeyOf(uint64_t i) { return absl::StrCat("key", i); }

SstableModel Numbers(uint64_t count) {
  SstableModel model;
  for (uint64_t i = 0; i < count; i++) {
    model[MakeInternalKey(KeyOf(i), 5, EntryType::kPut)] = std::string(20, 'v');
  }
  return model;
}

SstableBuilderOptions WithFilter(std::string_view filter) {
  SstableBuilderOptions options;
  options.filter_spec = Spec(filter);
  options.block_bytes = 256;
  return options;
}

// A cache without room for tables, and a table in a file whose reads can be counted.
class CachedFilter : public testing::Test {
 protected:
  void Open(const SstableModel& model, const SstableBuilderOptions& builder) {
    table_.reset();
    reader_options_.cache = &cache_;
    reader_options_.charge_cache = true;
    auto file = std::make_unique<StringFile>(BuildTable(model, builder).bytes);
    file_ = file.get();
    auto opened = SstableReader::Open(reader_options_, std::move(file), "t.sst");
    ASSERT_TRUE(opened.ok()) << opened.status();
    table_ = *std::move(opened);
  }
  FilterAnswer Ask(std::string_view key, const SstableReadOptions& options = {}) {
    const auto hash = table_->filter_key().LookupHash(key, table_->hash_seed());
    return table_->AskFilter(options, hash, key);
  }
  void EmptyCache() {
    const CacheCharge all(&cache_, kCapacityBytes);
    const SstableModel filler = Numbers(20'000);
    SstableReaderOptions options;
    options.cache = &cache_;
    const auto other = OpenSstable(BuildTable(filler, WithFilter("none")).bytes, options);
    ASSERT_TRUE(other.ok());
    for (int round = 0; round < 3; round++) {
      for (const auto& [key, value] : filler) {
        ASSERT_NO_FATAL_FAILURE(ExpectGet(**other, filler, UserKey(key), 9));
      }
    }
  }

  ShardedBlockCache cache_{kCapacityBytes, 0};
  CacheCharge full_{&cache_, ShardedBlockCache::MostForTables(kCapacityBytes)};
  SstableReaderOptions reader_options_;
  StringFile* file_ = nullptr;
  std::unique_ptr<SstableReader> table_;
};

TEST_F(CachedFilter, AnswersAsOneInMemoryDoes) {
  const SstableModel model = Numbers(5'000);
  for (const char* const kind :
       {"blocked_bloom:10", "bloom:10", "cuckoo:1%", "binary_fuse:1%", "ribbon:1%"}) {
    SCOPED_TRACE(kind);
    ASSERT_NO_FATAL_FAILURE(Open(model, WithFilter(kind)));
    EXPECT_TRUE(table_->has_filter());
    EXPECT_NE(table_->filter_kind(), filter::FilterKind::kNone);
    EXPECT_GT(table_->bytes_through_cache(), 5'000u);
    EXPECT_EQ(table_->charged_bytes(), 0u);
    EXPECT_LT(table_->memory_bytes(), 2'000u);
    int passed = 0;
    for (uint64_t i = 0; i < 5'000; i++) {
      ASSERT_EQ(Ask(KeyOf(i)), FilterAnswer::kMaybe) << i;
      passed += Ask(KeyOf(i + 100'000)) == FilterAnswer::kMaybe ? 1 : 0;
    }
    EXPECT_LT(passed, 125) << "1 % of 5,000 are 50";
    EXPECT_TRUE(table_->Verify().empty());
  }
}

TEST_F(CachedFilter, TheIndexIsLoadedAsIfItWereInMemory) {
  std::mt19937_64 random(11);
  for (const size_t threshold : {size_t{1}, size_t{1} << 20}) {
    SstableBuilderOptions options = WithFilter("bloom:10");
    options.index_partition_threshold = threshold;
    options.index_partition_bytes = 200;
    const SstableModel model = RandomModel(random, 400, 5, 30);
    ASSERT_NO_FATAL_FAILURE(Open(model, options));
    ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(*table_, model));
    SstableReadOptions past_the_cache;
    past_the_cache.fill_cache = false;
    for (const auto& [key, value] : model) {
      for (const SequenceNumber snapshot : {Sequence(key), Sequence(key) - 1, SequenceNumber{0}}) {
        ASSERT_NO_FATAL_FAILURE(ExpectGet(*table_, model, UserKey(key), snapshot));
        ASSERT_NO_FATAL_FAILURE(ExpectGet(*table_, model, UserKey(key), snapshot, past_the_cache));
      }
      EXPECT_LE(table_->ApproximateOffsetOf(key), table_->figures().data_bytes);
    }
    table_->EraseCachedBlocks();
    ASSERT_NO_FATAL_FAILURE(ExpectScansEqual(*table_, model, past_the_cache));
  }
}

TEST_F(CachedFilter, IsLoadedAgainWhenItHasLeftTheCacheAndOnlyIfItMayEnterIt) {
  ASSERT_NO_FATAL_FAILURE(Open(Numbers(5'000), WithFilter("bloom:10")));
  ReadCounters counters;
  SstableReadOptions options;
  options.counters = &counters;
  EXPECT_EQ(Ask("absent", options), FilterAnswer::kNo);
  EXPECT_EQ(counters.filter_blocks_read.value(), 0u) << "opening has left it in the cache";
  ASSERT_NO_FATAL_FAILURE(EmptyCache());
  SstableReadOptions past_the_cache = options;
  past_the_cache.fill_cache = false;
  const uint64_t reads = file_->num_reads;
  EXPECT_EQ(Ask("absent", past_the_cache), FilterAnswer::kNotAsked);
  EXPECT_EQ(file_->num_reads, reads) << "a filter that is not kept costs more than it saves";
  EXPECT_EQ(Ask("absent", options), FilterAnswer::kNo);
  EXPECT_EQ(Ask("absent", options), FilterAnswer::kNo);
  EXPECT_EQ(file_->num_reads, reads + 1);
  EXPECT_EQ(counters.filter_blocks_read.value(), 1u);
  EXPECT_EQ(Ask("absent", past_the_cache), FilterAnswer::kNo) << "it is there";
}

TEST_F(CachedFilter, ThatCannotBeReadAgainSaysNothing) {
  const SstableModel model = Numbers(5'000);
  ASSERT_NO_FATAL_FAILURE(Open(model, WithFilter("bloom:10")));
  ASSERT_NO_FATAL_FAILURE(EmptyCache());
  file_->fail_at = file_->num_reads + 1;
  EXPECT_EQ(Ask("absent"), FilterAnswer::kNotAsked);
  EXPECT_EQ(Ask("absent"), FilterAnswer::kNo) << "nothing of a failure is kept";
  ASSERT_NO_FATAL_FAILURE(EmptyCache());
  file_->fail_at = file_->num_reads + 1;
  PointResult result;
  EXPECT_FALSE(table_->Get({}, KeyOf(1), 9, &result).ok()) << "the index is needed";
  ASSERT_NO_FATAL_FAILURE(ExpectGet(*table_, model, KeyOf(1), 9));
}

// A rate of hits needs both sides of the same look-ups.
TEST(BlockCacheCounters, CountMissesOfIndexPartitionsAsTheyDoHits) {
  SstableBuilderOptions builder = WithFilter("none");
  builder.index_partition_threshold = 1;
  builder.index_partition_bytes = 256;
  const SstableModel model = Numbers(1'000);
  ShardedBlockCache cache(kCapacityBytes, 0);
  SstableReaderOptions reader;
  reader.cache = &cache;
  const auto table = OpenSstable(BuildTable(model, builder).bytes, reader);
  ASSERT_TRUE(table.ok()) << table.status();
  ReadCounters counters;
  SstableReadOptions options;
  options.counters = &counters;
  ASSERT_NO_FATAL_FAILURE(ExpectGet(**table, model, KeyOf(500), 9, options));
  EXPECT_EQ(counters.block_cache_misses.value(), 2u);
  EXPECT_EQ(counters.block_cache_hits.value(), 0u);
  ASSERT_NO_FATAL_FAILURE(ExpectGet(**table, model, KeyOf(500), 9, options));
  EXPECT_EQ(counters.block_cache_misses.value(), 2u);
  EXPECT_EQ(counters.block_cache_hits.value(), 2u);
}

TEST_F(CachedFilter, ThatIsTooLargeForTheCacheIsNotUsed) {
  const SstableModel model = Numbers(10'000);
  ASSERT_NO_FATAL_FAILURE(Open(model, WithFilter("bloom:64")));
  EXPECT_TRUE(table_->filter_is_too_large());
  EXPECT_FALSE(table_->has_filter());
  EXPECT_EQ(Ask("absent"), FilterAnswer::kNotAsked);
  EXPECT_EQ(table_->filter_state().code, filter::FilterStateCode::kOk);
  EXPECT_TRUE(table_->Verify().empty());
  ASSERT_NO_FATAL_FAILURE(ExpectGet(*table_, model, KeyOf(7), 9));
}

TEST_F(CachedFilter, StaysInMemoryWhereThereIsRoom) {
  full_ = CacheCharge();
  ASSERT_NO_FATAL_FAILURE(Open(Numbers(5'000), WithFilter("bloom:10")));
  EXPECT_EQ(table_->bytes_through_cache(), 0u);
  EXPECT_GT(table_->charged_bytes(), 6'000u);
  EXPECT_FALSE(table_->filter().always_true());
  EXPECT_EQ(Ask(KeyOf(1)), FilterAnswer::kMaybe);
  EXPECT_EQ(cache_.usage_bytes(), 0u);
}

// Says yes to what it was made from, and keeps it whole.
class KeysOneByOne final : public FilterPolicy {
 public:
  std::string_view Name() const override { return "test.KeysOneByOne"; }
  void CreateFilter(std::span<const std::string_view> keys, std::string* dst) const override {
    for (const std::string_view key : keys) absl::StrAppend(dst, ToAbsl(key), ",");
  }
  bool KeyMayMatch(std::string_view key, std::string_view filter) const override {
    return filter.find(std::string(key) + ",") != std::string_view::npos;
  }
};

TEST_F(CachedFilter, MayBeAUsersOwn) {
  const KeysOneByOne policy;
  reader_options_.filter_policy = &policy;
  SstableBuilderOptions builder;
  builder.filter_policy = &policy;
  ASSERT_NO_FATAL_FAILURE(Open(Numbers(50), builder));
  EXPECT_TRUE(table_->has_policy_filter());
  EXPECT_GT(table_->bytes_through_cache(), 0u);
  for (uint64_t i = 0; i < 50; i++) EXPECT_EQ(Ask(KeyOf(i)), FilterAnswer::kMaybe);
  EXPECT_EQ(Ask("absent"), FilterAnswer::kNo);
}

}  // namespace
}  // namespace winnow
