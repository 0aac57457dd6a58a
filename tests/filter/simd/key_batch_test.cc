// Batches of keys, hashed and asked at once, answer as the keys do one by one.

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <array>
#include <cstring>
#include <string>

#include "filter/simd/block_batch.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/hash.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter {
namespace {

constexpr uint64_t kSeed = 0x5eed;

// A key that no other number has, of 8 bytes or more.
std::string KeyOf(uint64_t number, size_t size) {
  const uint64_t scrambled = Scramble(number);
  std::string key(size, 'k');
  std::memcpy(key.data(), &scrambled, sizeof(scrambled));
  return key;
}

class KeyBatchTest : public testing::TestWithParam<const char*> {
 protected:
  // Half of the keys are in the filter. Every `odd`-th key, if not 0, is one byte longer.
  void AddKeys(size_t size, size_t odd) {
    std::vector<uint64_t> members;
    for (uint64_t number = 0; number < 4000; ++number) {
      keys_.push_back(KeyOf(number, odd != 0 && number % odd == 0 ? size + 1 : size));
      if (Scramble(~number) % 2 == 0) members.push_back(HashKey(keys_.back(), kSeed));
    }
    built_ = BuildFrom(GetParam(), members);
  }

  void ExpectBatchesAsSingles(std::string_view block, size_t count) {
    const FilterReader reader = OpenSound(block);
    size_t refuted = 0;
    for (size_t begin = 0; begin + count <= keys_.size(); begin += count) {
      const std::vector<std::string_view> views(&keys_[begin], &keys_[begin] + count);
      std::vector<uint8_t> answers(count + 1, 0xaa);
      reader.MayContainBatch(views.data(), count, answers.data());
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(answers[i], reader.MayContain(HashKey(views[i], kSeed)) ? 1 : 0)
            << "key " << i << " of " << count << ", " << views[i].size() << " bytes";
        refuted += answers[i] == 0 ? 1 : 0;
      }
      ASSERT_EQ(answers[count], 0xaa) << "one byte too far";
    }
    EXPECT_GT(refuted, 1000u);
  }

  std::vector<std::string> keys_;
  BuiltFilter built_;
};

TEST_P(KeyBatchTest, OfKeysOfOneSize) {
  for (const size_t size : {8, 9, 15, 16, 17, 20, 31, 32, 33}) {
    keys_.clear();
    AddKeys(size, 0);
    for (const size_t count : {1, 5, 8, 13, 32, 64, 71, 300}) {
      ExpectBatchesAsSingles(built_.block, count);
    }
  }
}

TEST_P(KeyBatchTest, OfKeysOfMixedSizes) {
  for (const size_t size : {8, 16, 24}) {
    for (const size_t odd : {2, 5, 23, 61}) {
      keys_.clear();
      AddKeys(size, odd);
      ExpectBatchesAsSingles(built_.block, 32);
      ExpectBatchesAsSingles(built_.block, 130);
    }
  }
}

// Blocks then lie on two cache lines each, which changes how they are sent for.
TEST_P(KeyBatchTest, OfFiltersAtAnyAddress) {
  AddKeys(16, 0);
  for (const size_t offset : {0, 1, 32, 63}) {
    std::vector<char> memory(built_.block.size() + 128);
    const auto past_line = reinterpret_cast<uintptr_t>(memory.data()) % 64;
    char* const copy = memory.data() + (64 - past_line) + offset;
    std::memcpy(copy, built_.block.data(), built_.block.size());
    ExpectBatchesAsSingles({copy, built_.block.size()}, 40);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, KeyBatchTest, testing::ValuesIn(AllKindSpecs()));
INSTANTIATE_TEST_SUITE_P(ManyProbes, KeyBatchTest,
                         testing::Values("blocked_bloom:3", "blocked_bloom:16",
                                         "blocked_bloom:30"));

// More blocks than 32 bits count. The memory costs address space only, but for the blocks in use.
TEST(KeyBatchOfHugeFilterTest, ReachesBlocksBeyondFourBillion) {
  constexpr uint64_t kNumBlocks = (uint64_t{1} << 32) + 12'345;
  constexpr uint64_t kBytes = kNumBlocks * internal::kBlockBytes;
  void* const memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) GTEST_SKIP() << "no room for 256 GiB of addresses";
  for (const uint64_t num_blocks : {uint64_t{UINT32_MAX}, kNumBlocks}) {
    const internal::MutableBlockTable table(static_cast<uint8_t*>(memory), num_blocks, 6);
    internal::UnitView unit;
    unit.payload = static_cast<const uint8_t*>(memory);
    unit.num_slots = num_blocks;
    unit.parameter = 6;
    std::array<std::string, 40> keys;
    std::array<std::string_view, 40> views;
    std::array<uint64_t, 40> hashes{};
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] = KeyOf(num_blocks + i, 16);
      views[i] = keys[i];
      hashes[i] = HashKey(keys[i], kSeed);
      if (i % 3 == 0) internal::AddToBlocks(table, &hashes[i], 1);
    }
    std::array<uint8_t, 40> of_keys{};
    std::array<uint8_t, 40> of_hashes{};
    internal::BlocksContainKeys(unit, kSeed, views.data(), views.size(), of_keys.data());
    internal::BlocksContainHashes(unit, hashes.data(), hashes.size(), of_hashes.data());
    for (size_t i = 0; i < keys.size(); ++i) {
      EXPECT_EQ(of_keys[i], i % 3 == 0 ? 1 : 0) << "key " << i << " of " << num_blocks << " blocks";
      EXPECT_EQ(of_hashes[i], of_keys[i]) << "hash " << i;
    }
  }
  munmap(memory, kBytes);
}

}  // namespace
}  // namespace winnow::filter
