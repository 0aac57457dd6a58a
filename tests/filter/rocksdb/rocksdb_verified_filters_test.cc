// A filter that RocksDB loads again and again is checked whole at the first load and then at each
// sixteenth, its headers at every load.

#include <algorithm>

#include "filter/format/block_format.h"
#include "filter/rocksdb/bits_builder.h"
#include "filter/rocksdb/bits_reader.h"
#include "filter/rocksdb/filter_contents.h"
#include "filter/rocksdb/verified_filters.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {
namespace {

constexpr size_t kHeaders = kBlockHeaderBytes + kUnitHeaderBytes;

// The block alone, without what makes it RocksDB's.
std::string BlockOfKeys(const std::string& kind, uint64_t first) {
  BitsBuilderSettings settings;
  settings.spec = *ParseFilterSpec(kind);
  settings.hash_seed = 0x5eed;
  BitsBuilder builder(settings);
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(first + i));
  std::unique_ptr<const char[]> owner;
  const rocksdb::Slice contents = builder.Finish(&owner);
  return std::string(*FilterBlockIn({contents.data(), contents.size()}));
}

FilterStateCode StateOf(VerifiedFilters* filters, const std::string& block) {
  FilterState state;
  filters->Open(block, &state);
  return state.code;
}

std::string WithFlippedBit(std::string block, size_t byte) {
  block[byte] = static_cast<char>(block[byte] ^ 0x10);
  return block;
}

class VerifiedFiltersTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, VerifiedFiltersTest, testing::ValuesIn(BuildingKinds()),
                         KindOfTest);

TEST_P(VerifiedFiltersTest, PayloadsAreCheckedOnceInSixteenLoads) {
  VerifiedFilters filters;
  const std::string block = BlockOfKeys(GetParam(), 0);
  ASSERT_EQ(StateOf(&filters, block), FilterStateCode::kOk);
  const std::string damaged = WithFlippedBit(block, kHeaders + 3);
  for (uint64_t load = 1; load < VerifiedFilters::kLoadsPerCheck; ++load) {
    EXPECT_EQ(StateOf(&filters, damaged), FilterStateCode::kOk) << load << ": not looked at";
  }
  EXPECT_EQ(StateOf(&filters, damaged), FilterStateCode::kDamaged);
  EXPECT_EQ(StateOf(&filters, damaged), FilterStateCode::kDamaged) << "it is not believed again";
  EXPECT_EQ(StateOf(&filters, block), FilterStateCode::kOk);
}

TEST_P(VerifiedFiltersTest, HeadersAreCheckedAtEveryLoad) {
  VerifiedFilters filters;
  const std::string block = BlockOfKeys(GetParam(), 0);
  for (size_t byte = 0; byte < kHeaders; ++byte) {
    ASSERT_EQ(StateOf(&filters, block), FilterStateCode::kOk);
    ASSERT_NE(StateOf(&filters, WithFlippedBit(block, byte)), FilterStateCode::kOk) << byte;
  }
  for (const size_t length : {size_t{0}, size_t{63}, kHeaders, block.size() - 1}) {
    ASSERT_EQ(StateOf(&filters, block), FilterStateCode::kOk);
    EXPECT_NE(StateOf(&filters, block.substr(0, length)), FilterStateCode::kOk) << length;
  }
}

TEST_P(VerifiedFiltersTest, AnswersDoNotDependOnTheLoad) {
  VerifiedFilters filters;
  const std::string block = BlockOfKeys(GetParam(), 0);
  FilterState state;
  const FilterReader checked = FilterReader::Open(block, &state);
  for (int load = 0; load < 40; ++load) {
    const FilterReader reader = filters.Open(block, &state);
    for (uint64_t key = 0; key < 1000; ++key) {
      const uint64_t hash = HashKey(NumberedKey(key), reader.hash_seed());
      ASSERT_EQ(reader.MayContain(hash), checked.MayContain(hash)) << load;
    }
  }
}

// What a reader of RocksDB's sees: the damage of a loaded filter is counted at the latest after
// sixteen loads, and the filter then rejects nothing.
TEST(VerifiedFiltersInReadersTest, DamageIsCountedAtTheLatestAfterSixteenLoads) {
  const std::string block = BlockOfKeys("blocked_bloom:10", 7'000);
  const auto contents = [](const std::string& bytes) { return bytes + std::string(kZeroProbes); };
  ASSERT_FALSE(BitsReader(contents(block)).MayMatch("absent key"));
  // No key of the filter's is found in this one.
  std::string damaged = block;
  std::fill(damaged.begin() + kHeaders, damaged.end(), '\0');
  const uint64_t before = GetFilterPolicyCounters().filters_not_understood;
  uint64_t loads = 0;
  bool is_open = false;
  while (!is_open && loads < 100) {
    const std::string bytes = contents(damaged);
    is_open = BitsReader(bytes).MayMatch(NumberedKey(7'000));
    ++loads;
  }
  EXPECT_EQ(loads, VerifiedFilters::kLoadsPerCheck);
  EXPECT_EQ(GetFilterPolicyCounters().filters_not_understood, before + 1);
}

}  // namespace
}  // namespace winnow::filter::internal
