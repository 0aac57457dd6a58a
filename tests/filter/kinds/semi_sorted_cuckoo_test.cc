// Semi-sorted buckets: the code of sorted nibbles is a bijection, and a filter of such buckets
// holds the fingerprints that the filter of plain ones does.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <set>

#include "filter/format/block_format.h"
#include "filter/kinds/cuckoo/semi_sorted_bucket.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {
namespace {

Nibbles PackNibbles(const std::array<uint32_t, 4>& numbers) {
  return static_cast<Nibbles>(numbers[0] | numbers[1] << 4 | numbers[2] << 8 | numbers[3] << 12);
}

constexpr auto kDecoded = SortedNibblesOfCodes();

// All 65,536 tuples: what sorting makes of them is coded and decoded again.
TEST(SortedNibblesTest, EveryTupleComesBackSortedFromItsCode) {
  std::set<uint32_t> codes;
  for (uint32_t tuple = 0; tuple < 65'536; ++tuple) {
    std::array<uint32_t, 4> numbers = {tuple & 15, tuple >> 4 & 15, tuple >> 8 & 15, tuple >> 12};
    std::sort(numbers.begin(), numbers.end());
    const Nibbles sorted = PackNibbles(numbers);
    const uint32_t code = CodeOfSortedNibbles(sorted);
    ASSERT_LT(code, kNumSortedNibbles);
    ASSERT_EQ(kDecoded[code], sorted) << tuple;
    codes.insert(code);
  }
  EXPECT_EQ(codes.size(), kNumSortedNibbles) << "each code is some tuple's";
}

// Ordered by the last number, then by the one before it, and so on, as FORMAT.md says.
TEST(SortedNibblesTest, CodesCountTheSequencesInTheOrderOfTheirLastNumbers) {
  uint32_t expected = 0;
  for (uint32_t d = 0; d < 16; ++d) {
    for (uint32_t c = 0; c <= d; ++c) {
      for (uint32_t b = 0; b <= c; ++b) {
        for (uint32_t a = 0; a <= b; ++a) {
          ASSERT_EQ(CodeOfSortedNibbles(PackNibbles({a, b, c, d})), expected++);
        }
      }
    }
  }
  EXPECT_EQ(expected, 3876u);
}

TEST(SortedNibblesTest, WhatIsNoCodeIsFourZeros) {
  for (uint32_t code = kNumSortedNibbles; code < kDecoded.size(); ++code) {
    EXPECT_EQ(kDecoded[code], 0);
  }
}

// With plain and semi-sorted fingerprints of the same width, the same hashes lie in the same
// buckets: both filters must answer every query alike, false positives included.
TEST(SemiSortedCuckooTest, AnswersAsPlainBucketsOfTheSameFingerprintsDo) {
  for (int width = 4; width <= 32; ++width) {
    constexpr uint64_t kKeys = 3000;
    const std::vector<uint64_t> members = MemberHashes(static_cast<uint64_t>(width), kKeys);
    FilterSpec plain_spec = *ParseFilterSpec("cuckoo");
    FilterSpec semi_sorted_spec = *ParseFilterSpec("cuckoo:semi_sorted");
    plain_spec.bits_per_key = width / 0.973 + 1e-6;
    semi_sorted_spec.bits_per_key = std::max(4.0, (width - 1) / 0.973 + 1e-6);
    const BuiltFilter plain = BuildFrom(ToString(plain_spec), members);
    const BuiltFilter semi_sorted = BuildFrom(ToString(semi_sorted_spec), members);
    const FilterReader plain_reader = OpenSound(plain.block);
    const FilterReader reader = OpenSound(semi_sorted.block);
    ASSERT_EQ(plain_reader.Describe().fingerprint_bits, width);
    ASSERT_EQ(reader.Describe().fingerprint_bits, width);
    ASSERT_EQ(CountFound(reader, members), kKeys) << width;
    // Of 4 bits the least amount has a little room to spare, and so other buckets.
    if (width == 4) continue;
    EXPECT_DOUBLE_EQ(plain.expected_fpr, semi_sorted.expected_fpr);
    EXPECT_DOUBLE_EQ(plain_reader.Describe().fill, reader.Describe().fill);
    EXPECT_LT(semi_sorted.block.size() + kKeys / 8, plain.block.size() + 64);
    for (uint64_t i = 0; i < 50'000; ++i) {
      const uint64_t hash = AbsentHash(static_cast<uint64_t>(width), i);
      ASSERT_EQ(reader.MayContain(hash), plain_reader.MayContain(hash)) << width << " bits";
    }
  }
}

// The payload of a block of one unit, whose checksum is made right again.
void SetPayload(const std::string& payload, std::string* block) {
  constexpr size_t kUnitAt = kBlockHeaderBytes;
  block->replace(kUnitAt + kUnitHeaderBytes, payload.size(), payload);
  const uint64_t checksum = HashKey(std::string_view(*block).substr(kUnitAt + 8), 0);
  std::memcpy(block->data() + kUnitAt, &checksum, sizeof(checksum));
}

// Any payload, codes above 3875 among it, is asked within its bytes, and singles and batches agree.
TEST(SemiSortedCuckooTest, RandomPayloadsAreAskedWithinTheirBytes) {
  constexpr uint32_t kSeed = 2014;
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  std::mt19937_64 random(kSeed);
  for (const char* spec :
       {"cuckoo:4:semi_sorted", "cuckoo:10:semi_sorted", "cuckoo:15.5:semi_sorted",
        "cuckoo:20:semi_sorted", "cuckoo:32:semi_sorted"}) {
    const std::string sound = BuildFrom(spec, MemberHashes(3, 333)).block;
    std::vector<Unit> units;
    ASSERT_EQ(ParseBlock(sound, &units).code, FilterStateCode::kOk);
    for (int round = 0; round < 50; ++round) {
      std::string payload(units[0].payload.size(), '\0');
      for (char& byte : payload) byte = static_cast<char>(round == 0 ? 0xff : random());
      // Memory of exactly the block's size, so that a sanitizer sees a load past it.
      std::string changed = sound;
      SetPayload(payload, &changed);
      const std::unique_ptr<char[]> memory(new char[changed.size()]);
      std::memcpy(memory.get(), changed.data(), changed.size());
      const FilterReader reader = OpenSound({memory.get(), changed.size()});
      std::array<uint64_t, 100> hashes;
      for (uint64_t& hash : hashes) hash = random();
      hashes[0] = 0;
      hashes[1] = ~uint64_t{0};
      std::array<uint8_t, 100> batch;
      reader.MayContainBatch(hashes.data(), hashes.size(), batch.data());
      for (size_t i = 0; i < hashes.size(); ++i) {
        ASSERT_EQ(reader.MayContain(hashes[i]), batch[i] != 0);
      }
      EXPECT_LE(reader.Describe().fill, 1);
    }
  }
}

}  // namespace
}  // namespace winnow::filter::internal
