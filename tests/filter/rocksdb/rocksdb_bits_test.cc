// The builder and the reader by themselves, without a database.

#include <rocksdb/table.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "filter/rocksdb/bits_builder.h"
#include "filter/rocksdb/bits_reader.h"
#include "filter/rocksdb/filter_contents.h"
#include "tests/filter/rocksdb/rocksdb_fixture.h"
#include "winnow/filter/choice.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/reader.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter::internal {

// Damages what is kept between adding and finishing, as faulty memory would.
class BitsBuilderPeer {
 public:
  static void FlipABitOfTheHashes(BitsBuilder* builder) { builder->checksum_ ^= 1; }
};

namespace {

using rocksdb::Slice;
using rocksdb::Status;

BitsBuilderSettings SettingsFor(const std::string& spec) {
  BitsBuilderSettings settings;
  settings.spec = *ParseFilterSpec(spec);
  settings.hash_seed = 0x5eed;
  return settings;
}

std::string FinishToString(BitsBuilder* builder) {
  std::unique_ptr<const char[]> owner;
  Status status;
  const Slice block = builder->Finish(&owner, &status);
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(builder->MaybePostVerify(block).ok());
  return block.ToString();
}

class BitsTest : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Kinds, BitsTest, testing::ValuesIn(BuildingKinds()), KindOfTest);
INSTANTIATE_TEST_SUITE_P(Layouts, BitsTest, testing::Values("cuckoo:semi_sorted"));

TEST_P(BitsTest, FindsEveryKeyAndRejectsMostOthers) {
  for (const uint64_t count : {1, 2, 3, 10, 1000, 50'000}) {
    BitsBuilder builder(SettingsFor(GetParam()));
    for (uint64_t i = 0; i < count; ++i) builder.AddKey(NumberedKey(2 * i));
    EXPECT_EQ(builder.EstimateEntriesAdded(), count);
    const std::string block = FinishToString(&builder);
    BitsReader reader(block);
    uint64_t false_positives = 0;
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(reader.MayMatch(NumberedKey(2 * i))) << count;
    }
    for (uint64_t i = 0; i < 50'000; ++i)
      false_positives += reader.MayMatch(NumberedKey(2 * i + 1));
    EXPECT_LT(false_positives, 1000u) << count;
  }
}

TEST_P(BitsTest, TheEmptyKeyIsAKey) {
  for (const int position : {0, 1, 2}) {
    BitsBuilder builder(SettingsFor(GetParam()));
    for (int i = 0; i < 3; ++i) builder.AddKey(i == position ? Slice() : Slice(NumberedKey(0)));
    const std::string block = FinishToString(&builder);
    EXPECT_TRUE(BitsReader(block).MayMatch(Slice())) << position;
  }
}

// Partitions share a builder: the last key of one must not make the next one believe it has it.
TEST_P(BitsTest, APartitionBeginsWithNothing) {
  BitsBuilder builder(SettingsFor(GetParam()));
  for (int partition = 0; partition < 3; ++partition) {
    EXPECT_EQ(builder.EstimateEntriesAdded(), 0u);
    builder.AddKey("the same key in each");
    const std::string block = FinishToString(&builder);
    EXPECT_TRUE(BitsReader(block).MayMatch("the same key in each")) << partition;
    EXPECT_FALSE(BitsReader(block).MayMatch("another one")) << partition;
  }
}

TEST_P(BitsTest, AFilterOfNoKeyRejectsEverything) {
  BitsBuilder builder(SettingsFor(GetParam()));
  const std::string block = FinishToString(&builder);
  EXPECT_FALSE(block.empty());
  EXPECT_FALSE(BitsReader(block).MayMatch("key"));
}

TEST_P(BitsTest, BatchesAnswerLikeSingleKeys) {
  BitsBuilder builder(SettingsFor(GetParam()));
  for (uint64_t i = 0; i < 2000; ++i) builder.AddKey(NumberedKey(2 * i));
  const std::string block = FinishToString(&builder);
  BitsReader reader(block);
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 200; ++i) keys.push_back(NumberedKey(i * 7));
  std::vector<Slice> slices(keys.begin(), keys.end());
  std::vector<Slice*> pointers;
  for (Slice& slice : slices) pointers.push_back(&slice);
  for (const int size : {0, 1, 2, 31, 32, 33, 64, 65, 200}) {
    std::array<bool, 200> answers{};
    reader.MayMatch(size, pointers.data(), answers.data());
    for (int i = 0; i < size; ++i) {
      EXPECT_EQ(answers[static_cast<size_t>(i)], reader.MayMatch(*pointers[static_cast<size_t>(i)]))
          << i << " of " << size;
    }
  }
}

TEST_P(BitsTest, ApproximateNumEntriesKeepsTheSize) {
  for (const size_t bytes : {512, 4096, 65'536, 1 << 20}) {
    BitsBuilder builder(SettingsFor(GetParam()));
    const size_t count = builder.ApproximateNumEntries(bytes);
    ASSERT_GT(count, 0u) << bytes;
    for (size_t i = 0; i < count; ++i) builder.AddKey(NumberedKey(i));
    const size_t built = FinishToString(&builder).size();
    // Small filters of some kinds take a little more than their bits.
    EXPECT_LE(static_cast<double>(built), 1.1 * static_cast<double>(bytes) + 320) << bytes;
    EXPECT_GE(static_cast<double>(built), 0.7 * static_cast<double>(bytes)) << bytes;
  }
  BitsBuilder builder(SettingsFor(GetParam()));
  EXPECT_EQ(builder.ApproximateNumEntries(0), 0u);
  EXPECT_EQ(builder.ApproximateNumEntries(128), 0u);
}

// The rate of blocked_bloom was given for "auto", whatever it builds.
TEST(BitsEstimateTest, OfAutoIsThatOfTheKindThatItBuilds) {
  constexpr uint64_t kCount = 100'000;
  for (const char* const spec : {"auto:10", "auto:0.5%"}) {
    const BitsBuilderSettings settings = SettingsFor(spec);
    BitsBuilderSettings chosen = settings;
    chosen.spec = ChooseFilter(settings.spec, settings.context, kCount).spec;
    ASSERT_NE(chosen.spec.kind, FilterKind::kBlockedBloom);
    BitsBuilder builder(settings);
    for (uint64_t i = 0; i < kCount; ++i) builder.AddKey(NumberedKey(2 * i));
    const std::string block = FinishToString(&builder);
    const double estimated = builder.EstimatedFpRate(kCount, block.size());
    EXPECT_EQ(estimated, BitsBuilder(chosen).EstimatedFpRate(kCount, block.size())) << spec;
    BitsReader reader(block);
    int false_positives = 0;
    for (uint64_t i = 0; i < kCount; ++i) {
      false_positives += reader.MayMatch(NumberedKey(2 * i + 1)) ? 1 : 0;
    }
    // Six standard deviations, and a quarter for the estimate, which goes by the size alone.
    const double expected = estimated * kCount;
    EXPECT_NEAR(false_positives, expected, 6 * std::sqrt(expected) + expected / 4) << spec;
  }
}

// At the first load: for those that were found sound before, see rocksdb_verified_filters_test.cc.
TEST_P(BitsTest, DamagedFiltersAnswerMayContainAndAreCounted) {
  BitsBuilder builder(SettingsFor(GetParam()));
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(2 * i));
  const std::string block = FinishToString(&builder);
  const FilterPolicyCounters before = GetFilterPolicyCounters();
  uint64_t opened = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    std::string damaged = block;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    BitsReader reader(damaged);
    ++opened;
    for (uint64_t key = 0; key < 500; key += 50) {
      ASSERT_TRUE(reader.MayMatch(NumberedKey(2 * key))) << "byte " << i;
    }
  }
  for (size_t length = 0; length < block.size(); length += 13) {
    ASSERT_TRUE(BitsReader(Slice(block.data(), length)).MayMatch("absent key")) << length;
    ++opened;
  }
  const FilterPolicyCounters after = GetFilterPolicyCounters();
  EXPECT_EQ(after.filters_opened - before.filters_opened, opened);
  EXPECT_EQ(after.filters_not_understood - before.filters_not_understood, opened);
}

TEST_P(BitsTest, CorruptionBetweenAddingAndFinishingIsReported) {
  BitsBuilderSettings settings = SettingsFor(GetParam());
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(i / 2));
  BitsBuilderPeer::FlipABitOfTheHashes(&builder);
  std::unique_ptr<const char[]> owner;
  Status status;
  const std::string block = builder.Finish(&owner, &status).ToString();
  EXPECT_TRUE(status.IsCorruption()) << status.ToString();
  EXPECT_TRUE(BitsReader(block).MayMatch("anything")) << "even if somebody used it";
  builder.AddKey("next");
  EXPECT_TRUE(BitsReader(FinishToString(&builder)).MayMatch("next"));
}

TEST_P(BitsTest, CorruptionAfterFinishingIsReported) {
  BitsBuilderSettings settings = SettingsFor(GetParam());
  settings.detect_corruption = true;
  BitsBuilder builder(settings);
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(i));
  std::unique_ptr<const char[]> owner;
  Status status;
  std::string block = builder.Finish(&owner, &status).ToString();
  ASSERT_TRUE(status.ok());
  block[block.size() / 2] = static_cast<char>(block[block.size() / 2] ^ 1);
  EXPECT_TRUE(builder.MaybePostVerify(block).IsCorruption());
  EXPECT_TRUE(builder.MaybePostVerify(block).ok()) << "asked twice, the hashes are gone";

  // A sound block of other keys.
  BitsBuilder other(settings);
  for (uint64_t i = 0; i < 500; ++i) other.AddKey(NumberedKey(1000 + i));
  const std::string foreign = FinishToString(&other);
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(i));
  builder.Finish(&owner, &status);
  EXPECT_TRUE(builder.MaybePostVerify(foreign).IsCorruption());
}

TEST_P(BitsTest, AFilterThatCannotBeBuiltAnswersMayContain) {
  BitsBuilderSettings settings = SettingsFor(GetParam());
  settings.limits.max_attempts = 1;
  settings.limits.on_block_built = [](FilterKind, int, std::string* block) { block->clear(); };
  const FilterPolicyCounters before = GetFilterPolicyCounters();
  BitsBuilder builder(settings);
  builder.AddKey("a key");
  std::unique_ptr<const char[]> owner;
  const std::string block = builder.Finish(&owner).ToString();
  EXPECT_EQ(block, kUnbuiltFilter);
  BitsReader reader(block);
  EXPECT_TRUE(reader.MayMatch("a key"));
  EXPECT_TRUE(reader.MayMatch("another"));
  const FilterPolicyCounters after = GetFilterPolicyCounters();
  EXPECT_EQ(after.filters_not_understood, before.filters_not_understood) << "it is understood";
}

std::vector<std::string>& Warnings() {
  static std::vector<std::string> warnings;
  return warnings;
}

TEST(WarningsTest, EachCauseIsWarnedOfOnce) {
  // Tests before this one may have used up a cause; a newer version's block is made only here.
  BitsBuilder builder(SettingsFor("bloom:10"));
  builder.AddKey("key");
  const std::string block = FinishToString(&builder);
  SetFilterPolicyWarningHandler([](const std::string& line) { Warnings().push_back(line); });
  std::string newer = block;  // with its trailer
  newer[16] = 2;              // the format version, and the header's checksum with it
  const uint64_t checksum = XXH3_64bits(newer.data() + 16, 48);
  std::memcpy(newer.data() + 8, &checksum, sizeof(checksum));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(BitsReader(newer).MayMatch("absent"));
  SetFilterPolicyWarningHandler(nullptr);
  ASSERT_EQ(Warnings().size(), 1u);
  EXPECT_NE(Warnings()[0].find("version"), std::string::npos) << Warnings()[0];
}

TEST(AutoTest, ChoosesByTheLevelOfTheFile) {
  const PolicyPointer policy = MakeTestPolicy("auto:10");
  const rocksdb::BlockBasedTableOptions table;
  const auto kind_for = [&](int level, bool is_bottommost) {
    rocksdb::FilterBuildingContext context(table);
    context.num_levels = 7;
    context.level_at_creation = level;
    context.is_bottommost = is_bottommost;
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy->GetBuilderWithContext(context));
    for (uint64_t i = 0; i < 100'000; ++i) builder->AddKey(NumberedKey(i));
    std::unique_ptr<const char[]> owner;
    const Slice block = builder->Finish(&owner);
    return FilterReader::Open(*FilterBlockIn({block.data(), block.size()}), nullptr).kind();
  };
  EXPECT_EQ(kind_for(0, false), FilterKind::kBlockedBloom);
  EXPECT_NE(kind_for(6, true), FilterKind::kBlockedBloom);
}

// What RocksDB's own policies make of our filters: they reject nothing.
TEST_P(BitsTest, RocksDbTakesItForAFilterOfZeroProbes) {
  BitsBuilder builder(SettingsFor(GetParam()));
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(2 * i));
  const std::string block = FinishToString(&builder);
  const PolicyPointer policies[] = {PolicyPointer(rocksdb::NewBloomFilterPolicy(10)),
                                    PolicyPointer(rocksdb::NewRibbonFilterPolicy(10))};
  for (const PolicyPointer& policy : policies) {
    EXPECT_STREQ(policy->CompatibilityName(), MakeTestPolicy("none")->CompatibilityName());
    for (const std::string& contents : {block, std::string(kUnbuiltFilter)}) {
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(
          policy->GetFilterBitsReader(contents));
      for (uint64_t i = 0; i < 1000; ++i) ASSERT_TRUE(reader->MayMatch(NumberedKey(i)));
    }
  }
}

// What our policies make of RocksDB's: as much as it does itself.
TEST(BuiltInFiltersTest, AreReadByEveryPolicy) {
  const rocksdb::BlockBasedTableOptions table;
  for (const PolicyPointer& theirs : {PolicyPointer(rocksdb::NewBloomFilterPolicy(10)),
                                      PolicyPointer(rocksdb::NewRibbonFilterPolicy(10))}) {
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        theirs->GetBuilderWithContext(rocksdb::FilterBuildingContext(table)));
    for (uint64_t i = 0; i < 10'000; ++i) builder->AddKey(NumberedKey(2 * i));
    std::unique_ptr<const char[]> owner;
    const Slice contents = builder->Finish(&owner);
    const FilterPolicyCounters before = GetFilterPolicyCounters();
    const std::unique_ptr<rocksdb::FilterBitsReader> reader(
        MakeTestPolicy("ribbon")->GetFilterBitsReader(contents));
    uint64_t false_positives = 0;
    for (uint64_t i = 0; i < 10'000; ++i) {
      ASSERT_TRUE(reader->MayMatch(NumberedKey(2 * i)));
      false_positives += reader->MayMatch(NumberedKey(2 * i + 1));
    }
    EXPECT_LT(false_positives, 300u);
    EXPECT_EQ(GetFilterPolicyCounters().filters_opened, before.filters_opened) << "of ours";
  }
}

// Whichever mark of ours is damaged, RocksDB's readers do not get to see it.
TEST_P(BitsTest, DamagedFiltersAreNotReadAsRocksDbsOwn) {
  BitsBuilder builder(SettingsFor(GetParam()));
  for (uint64_t i = 0; i < 500; ++i) builder.AddKey(NumberedKey(2 * i));
  const std::string block = FinishToString(&builder);
  const PolicyPointer policy = MakeTestPolicy("none");
  for (size_t from_end = 1; from_end <= kZeroProbes.size(); ++from_end) {
    for (const int value : {1, 6, 0xff, 0xfe}) {
      std::string damaged = block;
      damaged[block.size() - from_end] = static_cast<char>(value);
      const std::unique_ptr<rocksdb::FilterBitsReader> reader(policy->GetFilterBitsReader(damaged));
      for (uint64_t i = 0; i < 500; ++i) ASSERT_TRUE(reader->MayMatch(NumberedKey(2 * i)));
    }
  }
}

// Another seed for each policy: nobody can prepare keys for a filter that he has not seen.
TEST(SeedTest, PoliciesDrawTheirOwn) {
  const auto seed_of = [] {
    const PolicyPointer policy = MakeTestPolicy("bloom:10");
    const rocksdb::BlockBasedTableOptions table;
    const std::unique_ptr<rocksdb::FilterBitsBuilder> builder(
        policy->GetBuilderWithContext(rocksdb::FilterBuildingContext(table)));
    builder->AddKey("key");
    std::unique_ptr<const char[]> owner;
    const Slice block = builder->Finish(&owner);
    return FilterReader::Open(*FilterBlockIn({block.data(), block.size()}), nullptr).hash_seed();
  };
  EXPECT_NE(seed_of(), seed_of());
}

}  // namespace
}  // namespace winnow::filter::internal
