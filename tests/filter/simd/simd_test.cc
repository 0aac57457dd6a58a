// The vector code gives the portable code's bytes and answers.

#include <gtest/gtest.h>

#include "filter/simd/block_add.h"
#include "filter/simd/ribbon_columns.h"
#include "filter/simd/ribbon_trits.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/internal/block_probe.h"

namespace winnow::filter::internal {
namespace {

std::vector<const uint8_t*> BlocksOf(const BlockTable& table, const std::vector<uint64_t>& hashes) {
  std::vector<const uint8_t*> blocks;
  for (const uint64_t hash : hashes) blocks.push_back(table.BlockOf(hash));
  return blocks;
}

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
    if (!kHasAvx512 || probes > kMaxProbesAvx512) continue;
    std::vector<uint8_t> wide(kNumBlocks * kBlockBytes, 0);
    AddToBlocksAvx512({wide.data(), kNumBlocks, probes}, hashes.data(), hashes.size());
    ASSERT_EQ(portable, wide) << probes << " probes";
  }
}

// A key's probes may meet, which matrices alone would take for no probe at all.
TEST_F(SimdTest, FillsBlocksByMatricesWithThePortableBytes) {
  if (!kHasGfni) GTEST_SKIP() << "this processor has no bit matrices";
  const std::vector<uint64_t> hashes = MemberHashes(1, 20'003);
  for (int probes = 1; probes <= kMaxProbesOfRound; ++probes) {
    for (const uint64_t num_blocks : {uint64_t{1}, uint64_t{37}, uint64_t{30'000}}) {
      std::vector<uint8_t> portable(num_blocks * kBlockBytes, 0);
      std::vector<uint8_t> by_matrices(num_blocks * kBlockBytes, 0);
      AddToBlocksPortable({portable.data(), num_blocks, probes}, hashes.data(), hashes.size());
      FillBlocksGfni({by_matrices.data(), num_blocks, probes}, hashes.data(), hashes.size());
      ASSERT_EQ(portable, by_matrices) << probes << " probes, " << num_blocks << " blocks";
    }
  }
}

TEST_F(SimdTest, AnswersAsThePortableCodeDoes) {
  const std::vector<uint64_t> members = MemberHashes(2, 1000);
  std::vector<uint64_t> asked = members;
  // No multiple of the eight that some ways ask at once.
  for (uint64_t i = 0; i < 20'005; ++i) asked.push_back(AbsentHash(2, i));
  for (int probes = 1; probes <= kMaxBlockProbes; ++probes) {
    std::vector<uint8_t> payload(kNumBlocks * kBlockBytes, 0);
    const MutableBlockTable table(payload.data(), kNumBlocks, probes);
    AddToBlocksPortable(table, members.data(), members.size());
    const std::vector<const uint8_t*> blocks = BlocksOf(table, asked);
    std::vector<uint8_t> portable(asked.size());
    std::vector<uint8_t> vectorised(asked.size());
    BlocksContainPortable(blocks.data(), asked.data(), asked.size(), probes, portable.data());
    BlocksContainAvx2(blocks.data(), asked.data(), asked.size(), probes, vectorised.data());
    ASSERT_EQ(portable, vectorised) << probes << " probes";
    const bool has_avx512 = kHasAvx512Vl && probes <= kMaxProbesOfRound;
    if (has_avx512) {
      std::vector<uint8_t> wide(asked.size());
      BlocksContainAvx512(blocks.data(), asked.data(), asked.size(), probes, wide.data());
      ASSERT_EQ(portable, wide) << probes << " probes";
    }
    uint64_t found = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      const uint8_t* const block = table.BlockOf(asked[i]);
      ASSERT_EQ(BlockContainsAvx2(block, asked[i], probes), portable[i] != 0);
      if (has_avx512) {
        ASSERT_EQ(BlockContainsAvx512(block, asked[i], probes), portable[i] != 0);
      }
      ASSERT_EQ(BlockContainsPortable(block, asked[i], probes), portable[i] != 0);
      found += portable[i];
    }
    ASSERT_GE(found, members.size());
    ASSERT_LT(found, asked.size()) << "nothing was refuted";
  }
}

// Asks a block at place `place` of eight, among full ones.
bool OnlyOneOfEightMisses(const uint8_t* block, uint64_t hash, int probes, size_t place) {
  static const std::vector<uint8_t> full(kBlockBytes, 0xff);
  std::vector<const uint8_t*> blocks(8, full.data());
  blocks[place] = block;
  const std::vector<uint64_t> hashes(8, hash);
  std::vector<uint8_t> expected(8, 1);
  expected[place] = 0;
  std::vector<uint8_t> contained(8, 0xaa);
  BlocksContainAvx512(blocks.data(), hashes.data(), 8, probes, contained.data());
  return contained == expected;
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
        if (kHasAvx512Vl && probes <= kMaxProbesOfRound) {
          ASSERT_FALSE(BlockContainsAvx512(block.data(), hash, probes)) << "bit " << bit;
          ASSERT_TRUE(OnlyOneOfEightMisses(block.data(), hash, probes, i % 8)) << "bit " << bit;
        }
        ASSERT_FALSE(BlockContainsPortable(block.data(), hash, probes)) << "bit " << bit;
      }
    }
  }
}

// Blocks of random bits, one more than equations begin in.
struct RandomRibbon {
  static constexpr uint64_t kNumBlocks = 5;

  explicit RandomRibbon(int num_columns) : columns(num_columns) {
    for (uint64_t i = 0; i < kNumBlocks * static_cast<uint64_t>(columns); ++i) {
      words.push_back(Scramble(i));
    }
  }

  RibbonProbe ProbeOf(uint64_t hash) const {
    const uint64_t block = hash % (kNumBlocks - 1);
    return {reinterpret_cast<const uint8_t*>(words.data()) +
                block * static_cast<uint64_t>(columns) * sizeof(uint64_t),
            hash / kNumBlocks % 64, Scramble(hash) | 1, static_cast<uint32_t>(Scramble(~hash)),
            columns};
  }

  int columns;
  std::vector<uint64_t> words;
};

// What the sums are, one bit after the other.
uint32_t SumsOf(const RandomRibbon& ribbon, const RibbonProbe& probe) {
  uint32_t sums = 0;
  const auto* block = reinterpret_cast<const uint64_t*>(probe.block);
  for (int column = 0; column < ribbon.columns; ++column) {
    for (uint64_t i = 0; i < 64; ++i) {
      const uint64_t slot = probe.offset + i;
      const uint64_t word =
          block[slot / 64 * static_cast<uint64_t>(ribbon.columns) + static_cast<uint64_t>(column)];
      sums ^= static_cast<uint32_t>(probe.coefficients >> i & word >> slot % 64 & 1) << column;
    }
  }
  return sums;
}

TEST(RibbonSimdTest, SumsAreThoseOfTheDefinition) {
  for (int columns = 1; columns <= kMaxRibbonColumns; ++columns) {
    const RandomRibbon ribbon(columns);
    for (uint64_t i = 0; i < 300; ++i) {
      RibbonProbe probe = ribbon.ProbeOf(MemberHash(4, i));
      probe.fingerprint = SumsOf(ribbon, probe);
      ASSERT_TRUE(RibbonMatchesPortable(probe)) << columns << " columns";
      ASSERT_TRUE(!kHasPopcnt || RibbonMatchesPopcnt(probe));
      ASSERT_TRUE(!kHasAvx512Popcnt || RibbonMatchesAvx512(probe));
      for (int column = 0; column < columns; ++column) {
        RibbonProbe other = probe;
        other.fingerprint ^= uint32_t{1} << column;
        ASSERT_FALSE(RibbonMatchesPortable(other));
        ASSERT_TRUE(!kHasPopcnt || !RibbonMatchesPopcnt(other));
        ASSERT_TRUE(!kHasAvx512Popcnt || !RibbonMatchesAvx512(other));
      }
    }
  }
}

TEST(RibbonSimdTest, SystemsAreSolvedAlike) {
  constexpr uint64_t kRibbonBlocks = 7;
  std::vector<uint64_t> coefficients(kRibbonBlocks * 64, 0);
  std::vector<uint32_t> fingerprints(kRibbonBlocks * 64, 0);
  for (uint64_t slot = 0; slot + 64 <= coefficients.size(); ++slot) {
    if (slot % 5 == 0) continue;
    coefficients[slot] = MemberHash(5, slot) | 1;
    fingerprints[slot] = static_cast<uint32_t>(MemberHash(6, slot));
  }
  for (int columns = 1; columns <= kMaxRibbonColumns; ++columns) {
    const int narrow = std::max(columns - 2, 0);
    const RibbonSystem system = {
        coefficients.data(), fingerprints.data(), kRibbonBlocks, {3, narrow, columns}};
    const auto bytes =
        ((kRibbonBlocks - 3) * static_cast<size_t>(columns) + 3 * static_cast<size_t>(narrow)) * 8;
    std::vector<uint8_t> portable(bytes, 0);
    std::vector<uint8_t> other(bytes, 0);
    SolveRibbonPortable(system, portable.data());
    if (kHasPopcnt) {
      SolveRibbonPopcnt(system, other.data());
      ASSERT_EQ(portable, other) << columns << " columns";
    }
    if (kHasAvx512Popcnt) {
      SolveRibbonAvx512(system, other.data());
      ASSERT_EQ(portable, other) << columns << " columns";
    }
  }
}

// All bytes, those that are never written among them; and the bytes by the definition.
TEST(RibbonTritsTest, SumsAreThoseOfTheDefinition) {
  std::vector<uint8_t> trits(400 + kTritPadding);
  for (size_t i = 0; i < trits.size(); ++i) trits[i] = static_cast<uint8_t>(Scramble(i));
  for (uint64_t slot = 0; slot < 1900; ++slot) {
    const uint64_t coefficients = Scramble(~slot) | 1;
    uint32_t sum = 0;
    const uint32_t power[] = {1, 3, 9, 27, 81};
    for (uint64_t i = 0; i < 64; ++i) {
      const uint64_t at = slot + i;
      if (((coefficients >> i) & 1) != 0) sum += trits[at / 5] * power[at % 5] % 256 * 3 / 256;
    }
    ASSERT_EQ(SumOfTritsPortable(trits.data(), slot, coefficients), sum % 3) << slot;
    if (!kHasAvx512Trits) continue;
    ASSERT_EQ(SumOfTritsAvx512(trits.data(), slot, coefficients), sum % 3) << slot;
  }
}

// Each pair of numbers in one place of the rows, and its neighbours others.
TEST(RibbonTritsTest, RowsAreAddedAndNegatedWithoutCarry) {
  const auto row_of = [](const std::vector<uint32_t>& numbers) {
    TernaryRow row;
    for (size_t i = 0; i < numbers.size(); ++i) {
      row.some |= uint64_t{numbers[i] != 0} << i;
      row.twos |= uint64_t{numbers[i] == 2} << i;
    }
    return row;
  };
  const std::vector<uint32_t> a = {0, 0, 0, 1, 1, 1, 2, 2, 2};
  const std::vector<uint32_t> b = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  const TernaryRow sum = row_of({0, 1, 2, 1, 2, 0, 2, 0, 1});
  const TernaryRow negated = row_of({0, 0, 0, 2, 2, 2, 1, 1, 1});
  const TernaryRow added = AddTernary(row_of(a), row_of(b));
  EXPECT_EQ(added.some, sum.some);
  EXPECT_EQ(added.twos, sum.twos);
  EXPECT_EQ(NegateTernaryIf(~uint64_t{0}, row_of(a)).twos, negated.twos);
  EXPECT_EQ(NegateTernaryIf(~uint64_t{0}, row_of(a)).some, negated.some);
  EXPECT_EQ(NegateTernaryIf(0, row_of(a)).twos, row_of(a).twos);
}

// A system of which every seventh slot has no equation.
TEST(RibbonTritsTest, SystemsAreSolvedAlike) {
  constexpr uint64_t kSlots = 1000;
  std::vector<TernaryRow> rows(kSlots);
  std::vector<uint8_t> sums(kSlots, 0);
  for (uint64_t slot = 0; slot + 64 <= kSlots; ++slot) {
    if (slot % 7 == 0) continue;
    const uint64_t twos = MemberHash(7, slot) & ~uint64_t{1};
    rows[slot] = {MemberHash(8, slot) | twos | 1, twos};
    sums[slot] = static_cast<uint8_t>(MemberHash(9, slot) % 3);
  }
  const TernarySystem system = {rows.data(), sums.data(), kSlots};
  std::vector<uint8_t> trits(TritBytes(kSlots) + kTritPadding, 0);
  SolveTernaryPortable(system, kSlots, trits.data());
  for (uint64_t slot = 0; slot + 64 <= kSlots; ++slot) {
    const uint32_t ones = SumOfTritsPortable(trits.data(), slot, rows[slot].some ^ rows[slot].twos);
    const uint32_t twos = SumOfTritsPortable(trits.data(), slot, rows[slot].twos);
    ASSERT_EQ((ones + 2 * twos) % 3, sums[slot]) << slot;
  }
  if (!kHasPopcnt) return;
  std::vector<uint8_t> other(trits.size(), 0);
  SolveTernaryPopcnt(system, kSlots, other.data());
  EXPECT_EQ(trits, other);
}

#elif defined(__aarch64__)

TEST(NeonTest, AnswersAsThePortableCodeDoes) {
  constexpr uint64_t kBlocks = 37;
  const std::vector<uint64_t> members = MemberHashes(2, 1000);
  std::vector<uint64_t> asked = members;
  for (uint64_t i = 0; i < 5'000; ++i) asked.push_back(AbsentHash(2, i));
  for (int probes = 1; probes <= kMaxBlockProbes; ++probes) {
    std::vector<uint8_t> payload(kBlocks * kBlockBytes, 0);
    const MutableBlockTable table(payload.data(), kBlocks, probes);
    AddToBlocks(table, members.data(), members.size());
    const std::vector<const uint8_t*> blocks = BlocksOf(table, asked);
    std::vector<uint8_t> portable(asked.size());
    std::vector<uint8_t> vectorised(asked.size());
    BlocksContainPortable(blocks.data(), asked.data(), asked.size(), probes, portable.data());
    BlocksContainNeon(blocks.data(), asked.data(), asked.size(), probes, vectorised.data());
    ASSERT_EQ(portable, vectorised) << probes << " probes";
    for (size_t i = 0; i < asked.size(); ++i) {
      ASSERT_EQ(BlockContainsNeon(table.BlockOf(asked[i]), asked[i], probes), portable[i] != 0);
    }
  }
}

#endif  // defined(__x86_64__)

}  // namespace
}  // namespace winnow::filter::internal
