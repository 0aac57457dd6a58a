#include "winnow/filter/reader.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "filter/format/block_format.h"
#include "tests/filter/filter_fixture.h"
#include "tests/filter/joined_blocks.h"
#include "winnow/filter/hash.h"

namespace winnow::filter {
namespace {

class ReaderTest : public testing::TestWithParam<const char*> {
 protected:
  ReaderTest() : members_(MemberHashes(1, 5000)), built_(BuildFrom(GetParam(), members_)) {
    asked_ = members_;
    for (uint64_t i = 0; i < 5000; ++i) asked_.push_back(AbsentHash(1, i));
    const FilterReader reader = OpenSound(built_.block);
    for (const uint64_t hash : asked_) answers_.push_back(reader.MayContain(hash) ? 1 : 0);
  }

  std::vector<uint64_t> members_;
  BuiltFilter built_;
  std::vector<uint64_t> asked_;
  std::vector<uint8_t> answers_;
};

TEST_P(ReaderTest, BatchesOfAllLengthsAnswerAsSingleQueriesDo) {
  const FilterReader reader = OpenSound(built_.block);
  for (const size_t length : {0, 1, 2, 31, 63, 64, 65, 128, 200, 10'000}) {
    std::vector<uint8_t> batch(length + 1, 0xaa);
    const size_t begin = (asked_.size() - length) / 2;
    reader.MayContainBatch(asked_.data() + begin, length, batch.data());
    for (size_t i = 0; i < length; ++i) ASSERT_EQ(batch[i], answers_[begin + i]);
    EXPECT_EQ(batch[length], 0xaa) << "one byte too far";
  }
}

// A filter that does not fit a core's cache may be asked in another way.
TEST(LargeReaderTest, BatchesAnswerAsSingleQueriesDo) {
  // 1, 2, 6 and 7 probes.
  for (const char* const spec : {"bloom:2", "bloom:3", "bloom:9", "bloom:10", "blocked_bloom:10"}) {
    const std::vector<uint64_t> members = MemberHashes(3, 2'500'000);
    const BuiltFilter built = BuildFrom(spec, members);
    const FilterReader reader = OpenSound(built.block);
    std::vector<uint64_t> asked(members.begin(), members.begin() + 5'000);
    for (uint64_t i = 0; i < 5'000; ++i) asked.insert(asked.begin() + 2 * i, AbsentHash(3, i));
    std::vector<uint8_t> batch(asked.size(), 0xaa);
    reader.MayContainBatch(asked.data(), asked.size(), batch.data());
    uint64_t refuted = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(batch[i], reader.MayContain(asked[i]) ? 1 : 0) << spec << ", hash " << i;
      refuted += 1u - batch[i];
    }
    EXPECT_GT(refuted, 2'000u) << spec;
  }
}

// A copy answers alike on members and on misses, wherever in memory it begins.
TEST_P(ReaderTest, AnswersAreTheSameAtEveryAlignment) {
  for (size_t offset = 0; offset < 64; ++offset) {
    const size_t size = built_.block.size();
    // Ends exactly where the block ends, so that a sanitizer sees a load past it.
    const std::unique_ptr<char[]> memory(new char[offset + size]);
    std::memcpy(memory.get() + offset, built_.block.data(), size);
    const FilterReader reader = OpenSound(std::string_view(memory.get() + offset, size));
    for (size_t i = 0; i < asked_.size(); ++i) {
      reader.Prefetch(asked_[i]);
      ASSERT_EQ(reader.MayContain(asked_[i]), answers_[i] != 0) << "offset " << offset;
    }
  }
}

TEST_P(ReaderTest, UncheckedBlocksAnswerAlike) {
  FilterState state;
  const FilterReader reader = FilterReader::OpenUnchecked(built_.block, &state);
  EXPECT_EQ(state.code, FilterStateCode::kOk) << state.reason;
  for (size_t i = 0; i < asked_.size(); ++i) {
    ASSERT_EQ(reader.MayContain(asked_[i]) ? 1 : 0, answers_[i]);
  }
  // No payload byte is read, and every length is compared all the same.
  std::string damaged = built_.block;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  FilterReader::OpenUnchecked(damaged, &state);
  EXPECT_EQ(state.code, FilterStateCode::kOk) << state.reason;
  for (const size_t length : {size_t{0}, size_t{64}, size_t{127}, built_.block.size() - 64}) {
    const std::string_view cut(built_.block.data(), length);
    EXPECT_TRUE(FilterReader::OpenUnchecked(cut, &state).MayContain(AbsentHash(1, 0))) << length;
    EXPECT_EQ(state.code, FilterStateCode::kDamaged) << length;
  }
}

TEST_P(ReaderTest, CopiesOfAReaderAnswerAlike) {
  const FilterReader reader = OpenSound(built_.block);
  FilterReader copy;
  EXPECT_TRUE(copy.always_true());
  copy = reader;
  for (size_t i = 0; i < asked_.size(); ++i) {
    ASSERT_EQ(copy.MayContain(asked_[i]), answers_[i] != 0);
  }
}

TEST_P(ReaderTest, DescribesWhatWasBuilt) {
  const FilterReader reader = OpenSound(built_.block);
  const FilterInfo info = reader.Describe();
  EXPECT_EQ(info.kind, ParseFilterSpec(GetParam())->kind);
  EXPECT_EQ(info.kind, reader.kind());
  const std::vector<std::string> words = ParseFilterSpec(GetParam())->words;
  EXPECT_EQ(info.layout, words.empty() ? "" : words.front());
  EXPECT_EQ(info.hash_seed, 0x5eedu);
  EXPECT_EQ(reader.hash_seed(), 0x5eedu);
  EXPECT_EQ(info.num_keys, 5000u);
  EXPECT_EQ(info.num_bytes, built_.block.size());
  EXPECT_EQ(info.num_units, 1u);
  EXPECT_EQ(info.num_shards, 1u);
  EXPECT_NEAR(info.bits_per_key, 10, 0.4);
  EXPECT_NEAR(info.expected_fpr, built_.expected_fpr, 1e-4);
  EXPECT_TRUE((info.probes > 0) != (info.fingerprint_bits > 0));
}

TEST_P(ReaderTest, RangesAreNeverRefuted) {
  EXPECT_TRUE(OpenSound(built_.block).MayContainRange("a", "b"));
}

TEST_P(ReaderTest, UnitsOfABlockAreAnded) {
  const std::string first = BuildFrom("blocked_bloom:6", members_).block;
  const std::string joined = internal::JoinBlocks({first, built_.block});
  const FilterReader reader = OpenSound(joined);
  const FilterReader first_reader = OpenSound(first);
  uint64_t refuted_by_second_only = 0;
  std::vector<uint8_t> batch(asked_.size());
  reader.MayContainBatch(asked_.data(), asked_.size(), batch.data());
  for (size_t i = 0; i < asked_.size(); ++i) {
    reader.Prefetch(asked_[i]);
    const bool first_answer = first_reader.MayContain(asked_[i]);
    ASSERT_EQ(reader.MayContain(asked_[i]), first_answer && answers_[i] != 0);
    ASSERT_EQ(batch[i] != 0, first_answer && answers_[i] != 0);
    refuted_by_second_only += first_answer && answers_[i] == 0 ? 1 : 0;
  }
  EXPECT_GT(refuted_by_second_only, 0u);
  const FilterInfo info = reader.Describe();
  EXPECT_EQ(info.num_units, 2u);
  EXPECT_NEAR(info.expected_fpr, built_.expected_fpr * first_reader.Describe().expected_fpr, 1e-5);
}

TEST_P(ReaderTest, UnknownUnitsBesideAKnownOneAreSkippedAndNamed) {
  std::string unknown = built_.block;
  unknown[64 + 16] = 99;  // the unit's kind
  const uint64_t checksum = HashKey(std::string_view(unknown).substr(64 + 8), 0);
  std::memcpy(unknown.data() + 64, &checksum, sizeof(checksum));
  for (const auto& blocks : {std::vector<std::string_view>{unknown, built_.block},
                             std::vector<std::string_view>{built_.block, unknown}}) {
    const std::string joined = internal::JoinBlocks(blocks);
    FilterState state;
    const FilterReader reader = FilterReader::Open(joined, &state);
    EXPECT_EQ(state.code, FilterStateCode::kUnknownKind);
    for (size_t i = 0; i < asked_.size(); ++i) {
      ASSERT_EQ(reader.MayContain(asked_[i]), answers_[i] != 0);
    }
    EXPECT_EQ(reader.Describe().num_keys, 5000u);
  }
}

TEST_P(ReaderTest, UnitsOfDifferentSeedsAreDamage) {
  auto builder = FilterBuilder::Create(*ParseFilterSpec(GetParam()), /*hash_seed=*/1);
  for (const uint64_t hash : members_) (*builder)->Add(hash);
  const std::string other = (*builder)->Finish().block;
  const std::string joined = internal::JoinBlocks({built_.block, other});
  FilterState state;
  EXPECT_TRUE(FilterReader::Open(joined, &state).always_true());
  EXPECT_EQ(state.code, FilterStateCode::kDamaged);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderTest, testing::ValuesIn(AllKindSpecs()));

TEST(DefaultReaderTest, SaysMayContainToEverything) {
  const FilterReader reader;
  EXPECT_TRUE(reader.always_true());
  EXPECT_EQ(reader.kind(), FilterKind::kNone);
  EXPECT_EQ(CountFalsePositives(reader, 0, 100), 100u);
  std::vector<uint8_t> answers(3, 0);
  const std::vector<uint64_t> hashes = {1, 2, 3};
  reader.Prefetch(1);
  reader.MayContainBatch(hashes.data(), 3, answers.data());
  EXPECT_EQ(answers, std::vector<uint8_t>(3, 1));
  EXPECT_EQ(reader.Describe().num_keys, 0u);
}

// RocksDB #7726, Guava #1119: more than 2^32 bits. The memory is never written but for the ends,
// so that it costs address space only.
TEST(HugeFilterTest, BlocksBeyondFourBillionBitsAreReached) {
  constexpr uint64_t kNumBlocks = (uint64_t{1} << 24) + 1;
  const uint64_t size = 128 + kNumBlocks * 64;
  void* const memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  char* const bytes = static_cast<char*>(memory);
  std::memset(bytes + size - 64, 0xff, 64);  // the last block: everything is there

  // The header of a small filter, with the counts of the huge one.
  const std::string small = BuildFrom("blocked_bloom:10", {1}).block;
  std::memcpy(bytes, small.data(), 128);
  const uint64_t payload_bytes = kNumBlocks * 64;
  std::memcpy(bytes + 24, &size, 8);
  std::memcpy(bytes + 64 + 8, &payload_bytes, 8);
  std::memcpy(bytes + 64 + 48, &kNumBlocks, 8);
  uint64_t checksum = HashKey(std::string_view(bytes + 64 + 8, size - 64 - 8), 0);
  std::memcpy(bytes + 64, &checksum, 8);
  checksum = HashKey(std::string_view(bytes + 16, 48), 0);
  std::memcpy(bytes + 8, &checksum, 8);

  const FilterReader reader = OpenSound(std::string_view(bytes, size));
  EXPECT_TRUE(reader.MayContain(~uint64_t{0}));
  EXPECT_TRUE(reader.MayContain(~uint64_t{0} - (uint64_t{1} << 39)));
  EXPECT_FALSE(reader.MayContain(~uint64_t{0} - (uint64_t{1} << 41)));
  EXPECT_EQ(CountFalsePositives(reader, 0, 1000), 0u);
  munmap(memory, size);
}

}  // namespace
}  // namespace winnow::filter
