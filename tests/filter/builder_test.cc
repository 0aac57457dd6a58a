#include "winnow/filter/builder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "tests/filter/filter_fixture.h"

namespace winnow::filter {
namespace {

class BuilderTest : public testing::TestWithParam<const char*> {};

TEST_P(BuilderTest, DuplicatesThatFollowEachOtherCountOnce) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 3000; ++i) {
    for (uint64_t copy = 0; copy <= i % 4; ++copy) hashes.push_back(MemberHash(1, i));
  }
  const BuiltFilter built = BuildFrom(GetParam(), hashes);
  EXPECT_EQ(built.num_keys, 3000u);
  EXPECT_EQ(built.block, BuildFrom(GetParam(), MemberHashes(1, 3000)).block);
}

// More copies of one key than its two buckets have slots: nothing may fail or be lost.
TEST_P(BuilderTest, ScatteredDuplicatesAreHarmless) {
  std::vector<uint64_t> hashes;
  for (int round = 0; round < 40; ++round) {
    for (uint64_t i = 0; i < 500; ++i) hashes.push_back(MemberHash(2, i));
  }
  const BuiltFilter built = BuildFrom(GetParam(), hashes);
  EXPECT_FALSE(built.fell_back);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 2, 10'000), 500u);
}

TEST_P(BuilderTest, TwoAlternatingHashesInShardsAreHarmless) {
  FilterBuildLimits limits;
  limits.max_shard_bits = 1 << 12;
  std::vector<uint64_t> hashes;
  for (int i = 0; i < 10'000; ++i) hashes.push_back(i % 2 == 0 ? 5 : ~uint64_t{5});
  const BuiltFilter built = BuildFrom(GetParam(), hashes, limits);
  EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
}

TEST_P(BuilderTest, OrderOfAddingDoesNotMatter) {
  std::vector<uint64_t> hashes = MemberHashes(3, 5000);
  const BuiltFilter forward = BuildFrom(GetParam(), hashes);
  std::reverse(hashes.begin(), hashes.end());
  EXPECT_EQ(BuildFrom(GetParam(), hashes).block, forward.block);
}

// Alone, between added ones and in several pieces; in one shard and in many.
TEST_P(BuilderTest, BorrowedHashesGiveTheSameBlockAndAreNotChanged) {
  const std::vector<uint64_t> hashes = MemberHashes(15, 30'000);
  for (const uint64_t shard_bits : {uint64_t{1} << 17, uint64_t{1} << 23}) {
    FilterBuildLimits limits;
    limits.max_shard_bits = shard_bits;
    const std::string wanted = BuildFrom(GetParam(), hashes, limits).block;
    const std::vector<uint64_t> lent = hashes;
    const std::span<const uint64_t> all(lent);

    auto alone = MakeBuilder(GetParam(), limits);
    alone->AddBorrowed(all);
    EXPECT_EQ(alone->num_added(), lent.size());
    EXPECT_EQ(alone->memory_bytes(), 0u);
    EXPECT_EQ(alone->Finish().block, wanted);

    auto mixed = MakeBuilder(GetParam(), limits);
    mixed->Add(all[0]);
    mixed->AddBorrowed(all.subspan(1, 9'999));
    mixed->AddBorrowed({});
    for (const uint64_t hash : all.subspan(10'000, 10'000)) mixed->Add(hash);
    mixed->AddBorrowed(all.subspan(20'000));
    EXPECT_EQ(mixed->num_added(), lent.size());
    EXPECT_EQ(mixed->Finish().block, wanted);
    EXPECT_EQ(lent, hashes);
  }
}

TEST_P(BuilderTest, BorrowedDuplicatesAreHarmlessAndStay) {
  std::vector<uint64_t> hashes = MemberHashes(16, 10'000);
  hashes.insert(hashes.end(), hashes.begin(), hashes.begin() + 5'000);
  const std::vector<uint64_t> lent = hashes;
  auto builder = MakeBuilder(GetParam());
  builder->AddBorrowed(lent);
  const BuiltFilter built = builder->Finish();
  EXPECT_FALSE(built.fell_back);
  EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
  EXPECT_EQ(lent, hashes);
}

// What Add compares with is the hash before it, however that one came.
TEST_P(BuilderTest, AHashAfterBorrowedOnesIsNotTakenForADuplicate) {
  const std::vector<uint64_t> lent = {1, 2, 3};
  for (const uint64_t after : {0, 1, 3}) {
    auto builder = MakeBuilder(GetParam());
    builder->AddBorrowed(lent);
    builder->Add(after);
    EXPECT_EQ(builder->num_added(), after == 3 ? 3u : 4u);
    const BuiltFilter built = builder->Finish();
    EXPECT_TRUE(OpenSound(built.block).MayContain(after));
  }
}

TEST_P(BuilderTest, SizeIsWhatTheSpecSays) {
  for (const char* amount : {"6", "7.3", "10", "12.5", "20"}) {
    FilterSpec wanted = *ParseFilterSpec(GetParam());
    wanted.bits_per_key = std::stod(amount);
    const std::string spec = ToString(wanted);
    constexpr uint64_t kKeys = 100'000;
    const BuiltFilter built = BuildFrom(spec, MemberHashes(4, kKeys));
    const double bits_per_key = static_cast<double>(built.block.size()) * 8 / kKeys;
    // A binary fuse filter takes as many whole bits for each slot as the budget has room for.
    const double spare = wanted.kind == FilterKind::kBinaryFuse ? 1.13
                         : wanted.kind == FilterKind::kRibbon   ? 0.12
                                                                : 0.03;
    EXPECT_LE(bits_per_key, std::stod(amount) + 0.03) << spec;
    EXPECT_GE(bits_per_key, std::stod(amount) - spare) << spec;
  }
}

// Half of a Bloom filter's bits are set when its probes are right for its size.
TEST_P(BuilderTest, AnAmountThatIsSetLaterReplacesTheSpecs) {
  const std::vector<uint64_t> hashes = MemberHashes(3, 20'000);
  uint64_t previous_bytes = 0;
  for (const double bits : {8.0, 10.0, 12.0}) {
    auto builder = *FilterBuilder::Create(*ParseFilterSpec(GetParam()), 1);
    for (const uint64_t hash : hashes) builder->Add(hash);
    builder->set_bits_per_key(bits);
    const BuiltFilter built = builder->Finish();
    EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
    EXPECT_GT(built.block.size(), previous_bytes);
    EXPECT_NEAR(8.0 * static_cast<double>(built.block.size()) / 20'000, bits, 0.2 * bits);
    previous_bytes = built.block.size();
  }
}

TEST_P(BuilderTest, FillIsWhatTheoryExpects) {
  const BuiltFilter built = BuildFrom(GetParam(), MemberHashes(5, 100'000));
  const FilterInfo info = OpenSound(built.block).Describe();
  const bool is_bloom = info.kind == FilterKind::kBloom || info.kind == FilterKind::kBlockedBloom;
  EXPECT_GT(info.fill, is_bloom ? 0.42 : 0.85);
  EXPECT_LT(info.fill, is_bloom ? 0.52 : 1.05);
  EXPECT_NEAR(info.expected_fpr, built.expected_fpr, built.expected_fpr * 0.001);
}

TEST_P(BuilderTest, EstimatedBytesAreNearTheBlock) {
  auto builder = MakeBuilder(GetParam());
  for (uint64_t i = 0; i < 50'000; ++i) builder->Add(MemberHash(6, i));
  const auto estimate = static_cast<double>(builder->EstimatedBlockBytes());
  const BuiltFilter built = builder->Finish();
  EXPECT_LE(static_cast<double>(built.block.size()), estimate + 300);
  EXPECT_GE(static_cast<double>(built.block.size()), estimate * 0.88 - 300);
}

// Damage between building and writing: another try is made, and its block is sound.
TEST_P(BuilderTest, ADamagedTryIsTriedAgain) {
  int calls = 0;
  FilterBuildLimits limits;
  limits.on_block_built = [&calls](FilterKind, int attempt, std::string* block) {
    ++calls;
    if (attempt == 0) (*block)[block->size() / 2] ^= 0x10;
  };
  auto builder = MakeBuilder(GetParam(), limits);
  builder->set_verify(true);
  const std::vector<uint64_t> hashes = MemberHashes(7, 2000);
  for (const uint64_t hash : hashes) builder->Add(hash);
  const BuiltFilter built = builder->Finish();
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(built.fell_back);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 7, 1000), 100u);
}

// A sound block that lacks a key, as a faulty memory cell between adding and building makes it:
// only asking for every key finds that.
TEST_P(BuilderTest, ATryThatLacksAKeyIsTriedAgain) {
  const std::vector<uint64_t> hashes = MemberHashes(10, 2000);
  const std::string lacking = BuildFrom(GetParam(), {hashes.begin(), hashes.begin() + 1900}).block;
  FilterBuildLimits limits;
  limits.on_block_built = [&lacking](FilterKind, int attempt, std::string* block) {
    if (attempt == 0) *block = lacking;
  };
  auto builder = MakeBuilder(GetParam(), limits);
  builder->set_verify(true);
  for (const uint64_t hash : hashes) builder->Add(hash);
  const BuiltFilter built = builder->Finish();
  EXPECT_FALSE(built.fell_back);
  EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
}

TEST_P(BuilderTest, WithoutVerificationDamageIsNotSeen) {
  FilterBuildLimits limits;
  limits.on_block_built = [](FilterKind, int, std::string* block) { (*block)[70] ^= 1; };
  auto builder = MakeBuilder(GetParam(), limits);
  builder->set_verify(false);
  builder->Add(1);
  FilterState state;
  const BuiltFilter built = builder->Finish();
  EXPECT_TRUE(FilterReader::Open(built.block, &state).MayContain(1));
  EXPECT_EQ(state.code, FilterStateCode::kDamaged);
}

TEST_P(BuilderTest, AfterAllTriesThereIsNoFilterAndItIsSaid) {
  int calls = 0;
  FilterBuildLimits limits;
  limits.max_attempts = 3;
  limits.on_block_built = [&calls](FilterKind, int, std::string* block) {
    ++calls;
    block->back() ^= 1;
  };
  auto builder = MakeBuilder(GetParam(), limits);
  builder->set_verify(true);
  for (uint64_t i = 0; i < 100; ++i) builder->Add(MemberHash(8, i));
  const BuiltFilter built = builder->Finish();
  EXPECT_EQ(calls, 6) << "three tries of the kind, three of the fall-back";
  EXPECT_TRUE(built.fell_back);
  EXPECT_EQ(built.kind, FilterKind::kNone);
  EXPECT_TRUE(built.block.empty());
  EXPECT_EQ(built.expected_fpr, 1);
  EXPECT_EQ(built.num_keys, 100u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, BuilderTest, testing::ValuesIn(AllKindSpecs()));

class FallBackTest : public testing::TestWithParam<const char*> {};

TEST_P(FallBackTest, AKindThatCannotBeBuiltBecomesBlockedBloom) {
  const FilterKind wanted = ParseFilterSpec(GetParam())->kind;
  FilterBuildLimits limits;
  limits.on_block_built = [wanted](FilterKind kind, int, std::string* block) {
    if (kind == wanted) block->back() ^= 1;
  };
  const std::vector<uint64_t> hashes = MemberHashes(9, 5000);
  const BuiltFilter built = BuildFrom(GetParam(), hashes, limits);
  EXPECT_TRUE(built.fell_back);
  EXPECT_EQ(built.kind, FilterKind::kBlockedBloom);
  EXPECT_EQ(built.num_keys, 5000u);
  const FilterReader reader = OpenSound(built.block);
  EXPECT_EQ(reader.kind(), FilterKind::kBlockedBloom);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 9, 10'000), 100u);
}

INSTANTIATE_TEST_SUITE_P(Kinds, FallBackTest,
                         testing::Values("cuckoo:12", "cuckoo:12:semi_sorted", "binary_fuse:12",
                                         "ribbon:12"));

TEST(CuckooTest, CountsEachDistinctHashOnce) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 50'000; ++i) hashes.push_back(MemberHash(10, i % 20'000));
  for (const uint64_t max_shard_bits : {1 << 12, 1 << 30}) {
    FilterBuildLimits limits;
    limits.max_shard_bits = max_shard_bits;
    const BuiltFilter built = BuildFrom("cuckoo:1%", hashes, limits);
    EXPECT_EQ(built.num_keys, 20'000u);
    EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size());
  }
}

TEST(CuckooTest, FillsNinetySevenPerCentOfItsSlots) {
  constexpr uint64_t kKeys = 1'000'000;
  for (const char* spec :
       {"cuckoo:1%", "cuckoo:0.1%", "cuckoo:1%:semi_sorted", "cuckoo:0.001%:semi_sorted"}) {
    const BuiltFilter built = BuildFrom(spec, MemberHashes(14, kKeys));
    const FilterInfo info = OpenSound(built.block).Describe();
    const int slot_bits = info.fingerprint_bits - (info.layout == "semi_sorted" ? 1 : 0);
    EXPECT_LE(static_cast<double>(built.block.size()) * 8 / kKeys, slot_bits / 0.97) << spec;
  }
}

TEST(CuckooTest, AnotherTryUsesAnotherSalt) {
  FilterBuildLimits limits;
  limits.on_block_built = [](FilterKind, int attempt, std::string* block) {
    if (attempt < 2) block->back() ^= 1;
  };
  const std::vector<uint64_t> hashes = MemberHashes(10, 3000);
  const std::string retried = BuildFrom("cuckoo:1%", hashes, limits).block;
  const FilterReader reader = OpenSound(retried);
  EXPECT_NE(reader.Describe().salt, 0u);
  EXPECT_EQ(CountFound(reader, hashes), hashes.size());
  EXPECT_LT(CountFalsePositives(reader, 10, 10'000), 150u);
  EXPECT_EQ(OpenSound(BuildFrom("cuckoo:1%", hashes).block).Describe().salt, 0u);
}

TEST(CuckooTest, StaysFullAtEverySize) {
  for (const uint64_t size : {1'000, 10'000, 100'000, 1'000'000}) {
    const BuiltFilter built = BuildFrom("cuckoo:0.1%", MemberHashes(11, size));
    const FilterInfo info = OpenSound(built.block).Describe();
    EXPECT_GT(info.fill, 0.95) << size;
    EXPECT_EQ(info.fingerprint_bits, 13);
  }
}

TEST(CreateTest, RefusesSpecsThatCannotBeParsed) {
  FilterSpec spec;
  spec.kind = FilterKind::kBloom;
  for (const double bits : {-1.0, 0.1, 65.0, 1e300}) {
    spec.bits_per_key = bits;
    EXPECT_EQ(FilterBuilder::Create(spec, 0).status().code(), absl::StatusCode::kInvalidArgument)
        << bits;
  }
  spec.bits_per_key = 0;
  EXPECT_TRUE(FilterBuilder::Create(spec, 0).ok()) << "no amount means the default";
  spec.kind = static_cast<FilterKind>(200);
  EXPECT_FALSE(FilterBuilder::Create(spec, 0).ok());
}

TEST(CreateTest, LeastAmountsWork) {
  for (const char* spec : {"bloom:1",
                           "blocked_bloom:1",
                           "cuckoo:3",
                           "bloom:50%",
                           "blocked_bloom:50%",
                           "cuckoo:50%",
                           "bloom:64",
                           "blocked_bloom:64",
                           "cuckoo:34",
                           "bloom:0.0001%",
                           "blocked_bloom:0.0001%",
                           "cuckoo:0.0001%",
                           "cuckoo:4:semi_sorted",
                           "cuckoo:50%:semi_sorted",
                           "cuckoo:32:semi_sorted",
                           "cuckoo:0.0001%:semi_sorted",
                           "binary_fuse:2",
                           "binary_fuse:50%",
                           "binary_fuse:34.6",
                           "binary_fuse:0.0001%",
                           "ribbon:1",
                           "ribbon:33",
                           "ribbon:50%",
                           "ribbon:0.0001%"}) {
    const std::vector<uint64_t> hashes = MemberHashes(12, 1000);
    const BuiltFilter built = BuildFrom(spec, hashes);
    EXPECT_FALSE(built.fell_back) << spec;
    const FilterReader reader = OpenSound(built.block);
    EXPECT_EQ(CountFound(reader, hashes), hashes.size()) << spec;
    EXPECT_LT(CountFalsePositives(reader, 12, 10'000), 9'000u) << spec;
  }
}

TEST(ForEachHashTest, VisitsTheHashesBeforeAndAfterFinish) {
  for (const char* spec : AllKindSpecs()) {
    const std::vector<uint64_t> hashes = MemberHashes(14, 20'000);
    const std::set<uint64_t> wanted(hashes.begin(), hashes.end());
    auto builder = MakeBuilder(spec);
    for (const uint64_t hash : hashes) builder->Add(hash);
    std::set<uint64_t> visited;
    builder->ForEachHash([&visited](uint64_t hash) { visited.insert(hash); });
    EXPECT_EQ(visited, wanted) << spec;
    builder->Finish();
    visited.clear();
    builder->ForEachHash([&visited](uint64_t hash) { visited.insert(hash); });
    EXPECT_EQ(visited, wanted) << spec;
  }
}

TEST(CreateTest, NoneGivesNoBlock) {
  const BuiltFilter built = BuildFrom("none", MemberHashes(13, 100));
  EXPECT_TRUE(built.block.empty());
  EXPECT_EQ(built.kind, FilterKind::kNone);
  EXPECT_FALSE(built.fell_back);
}

}  // namespace
}  // namespace winnow::filter
