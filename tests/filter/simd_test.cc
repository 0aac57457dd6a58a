// The vector code gives the portable code's bytes and answers.

#include <gtest/gtest.h>

#include "filter_fixture.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter::internal {
namespace {

#if defined(__x86_64__)

class SimdTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!kHasAvx2) GTEST_SKIP() << "this processor has no AVX2";
  }
};

constexpr uint64_t kNumBlocks = 37;

TEST_F(SimdTest, FillsBlocksWithThePortableBytes) {
  const std::vector<uint64_t> hashes = MemberHashes(1, 1500);
  for (int probes = 1; probes <= kMaxBlockProbes; ++probes) {
    std::vector<uint8_t> portable(kNumBlocks * kBlockBytes, 0);
    std::vector<uint8_t> vectorised(kNumBlocks * kBlockBytes, 0);
    AddToBlocksPortable({portable.data(), kNumBlocks, probes}, hashes.data(), hashes.size());
    AddToBlocksAvx2({vectorised.data(), kNumBlocks, probes}, hashes.data(), hashes.size());
    ASSERT_EQ(portable, vectorised) << probes << " probes";
  }
}

TEST_F(SimdTest, AnswersAsThePortableCodeDoes) {
  const std::vector<uint64_t> members = MemberHashes(2, 1000);
  std::vector<uint64_t> asked = members;
  for (uint64_t i = 0; i < 20'000; ++i) asked.push_back(AbsentHash(2, i));
  for (int probes = 1; probes <= kMaxBlockProbes; ++probes) {
    std::vector<uint8_t> payload(kNumBlocks * kBlockBytes, 0);
    const MutableBlockTable table(payload.data(), kNumBlocks, probes);
    AddToBlocksPortable(table, members.data(), members.size());
    std::vector<uint8_t> portable(asked.size());
    std::vector<uint8_t> vectorised(asked.size());
    BlocksContainPortable(table, asked.data(), asked.size(), portable.data());
    BlocksContainAvx2(table, asked.data(), asked.size(), vectorised.data());
    ASSERT_EQ(portable, vectorised) << probes << " probes";
    uint64_t found = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      const uint8_t* const block = table.BlockOf(asked[i]);
      ASSERT_EQ(BlockContainsAvx2(block, asked[i], probes), portable[i] != 0);
      ASSERT_EQ(BlockContainsPortable(block, asked[i], probes), portable[i] != 0);
      found += portable[i];
    }
    ASSERT_GE(found, members.size());
    ASSERT_LT(found, asked.size()) << "nothing was refuted";
  }
}

// Each of the 512 bits alone: the answer turns on exactly that bit.
TEST_F(SimdTest, MissesASingleClearBitWhereverItIs) {
  for (int probes = 1; probes <= kMaxBlockProbes; ++probes) {
    for (uint64_t i = 0; i < 200; ++i) {
      const uint64_t hash = MemberHash(3, i);
      for (int probe = 0; probe < probes; ++probe) {
        std::vector<uint8_t> block(kBlockBytes, 0xff);
        ASSERT_TRUE(BlockContainsAvx2(block.data(), hash, probes));
        const uint32_t bit = BlockBit(hash, probe);
        block[bit / 8] = static_cast<uint8_t>(block[bit / 8] & ~(1u << (bit % 8)));
        ASSERT_FALSE(BlockContainsAvx2(block.data(), hash, probes)) << "bit " << bit;
        ASSERT_FALSE(BlockContainsPortable(block.data(), hash, probes)) << "bit " << bit;
      }
    }
  }
}

#endif  // defined(__x86_64__)

}  // namespace
}  // namespace winnow::filter::internal
