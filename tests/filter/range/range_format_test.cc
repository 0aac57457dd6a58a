#include "filter/range/range_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "winnow/filter/range_filter.h"

namespace winnow::filter {
namespace {

std::string SmallBlock() {
  auto builder = RangeFilterBuilder::Create(6, 42);
  for (const char* key : {"key:0001", "key:0020", "key:0300", "key:4000"}) builder->Add(key);
  return builder->Finish();
}

FilterState StateOf(std::string_view block) {
  FilterState state;
  const RangeFilterReader reader = RangeFilterReader::Open(block, &state);
  EXPECT_EQ(reader.always_true(), state.code != FilterStateCode::kOk);
  if (state.code != FilterStateCode::kOk) {
    EXPECT_TRUE(reader.MayContain("a", "b")) << "damage hides no key";
    EXPECT_FALSE(state.reason.empty());
  }
  return state;
}

// FORMAT.md says what these bytes mean. They never change.
TEST(RangeFormatTest, TheBytesOfAFilterNeverChange) {
  const std::string block = SmallBlock();
  EXPECT_EQ(block.substr(0, 8), "WNWRANGE");
  EXPECT_EQ(HashKey(block, 0), 0x79dd74e98f2294fa) << "recorded";
  EXPECT_EQ(block.substr(block.size() - 4), "key:");
}

TEST(RangeFormatTest, EveryFlippedBitIsReported) {
  const std::string block = SmallBlock();
  for (size_t bit = 0; bit < block.size() * 8; ++bit) {
    std::string damaged = block;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(StateOf(damaged).code, FilterStateCode::kOk) << "bit " << bit;
  }
}

TEST(RangeFormatTest, EveryLengthButItsOwnIsReported) {
  const std::string block = SmallBlock();
  for (size_t length = 0; length < block.size(); ++length) {
    EXPECT_EQ(StateOf(block.substr(0, length)).code, FilterStateCode::kDamaged) << length;
  }
  EXPECT_EQ(StateOf(block + '\0').code, FilterStateCode::kDamaged);
}

TEST(RangeFormatTest, ANewerVersionIsNotDamage) {
  std::string block = SmallBlock();
  block[16] = 3;
  EXPECT_EQ(StateOf(block).code, FilterStateCode::kUnknownVersion);
}

// Version 1 had longer pieces, which no field said.
TEST(RangeFormatTest, AnEarlierVersionIsNotRead) {
  std::string block = SmallBlock();
  block[16] = 1;
  internal::SealRangeBlock(&block);
  EXPECT_EQ(StateOf(block).code, FilterStateCode::kUnknownVersion);
}

TEST(RangeFormatTest, PiecesLongerThanTheUniverseAreDamage) {
  std::string block = SmallBlock();
  ASSERT_NE(block[73], 0) << "not exact";
  uint64_t universe;
  std::memcpy(&universe, &block[32], sizeof(universe));
  const auto longest = static_cast<char>(std::bit_width(universe) - 1);
  for (const char bits : {char{0}, longest, static_cast<char>(longest + 1), char{63}, char{64},
                          static_cast<char>(255)}) {
    block[73] = bits;
    internal::SealRangeBlock(&block);
    const bool is_sound = static_cast<uint8_t>(bits) <= static_cast<uint8_t>(longest);
    EXPECT_EQ(StateOf(block).code, is_sound ? FilterStateCode::kOk : FilterStateCode::kDamaged)
        << int{static_cast<uint8_t>(bits)};
  }
}

// Whoever can make checksums can write any fields: no bit of them may lead outside the block.
TEST(RangeFormatTest, HostileBytesWithARightChecksumAreHarmless) {
  const std::string block = SmallBlock();
  size_t accepted = 0;
  for (size_t bit = 16 * 8; bit < block.size() * 8; ++bit) {
    std::string hostile = block;
    hostile[bit / 8] = static_cast<char>(hostile[bit / 8] ^ (1 << (bit % 8)));
    internal::SealRangeBlock(&hostile);
    FilterState state;
    const RangeFilterReader reader = RangeFilterReader::Open(hostile, &state);
    if (state.code != FilterStateCode::kOk) continue;
    ++accepted;
    for (const char* lower : {"", "key:0", "key:00019", "key:3", "key:9", "kez"}) {
      reader.MayContain(lower, std::nullopt);
      reader.MayContain(lower, std::string(lower) + "0");
    }
    for (int byte = 1; byte < 255; ++byte) {
      reader.MayContain("key:" + std::string(1 + byte % 8, static_cast<char>(byte)),
                        "key:" + std::string(1 + byte % 7, static_cast<char>(byte + 1)));
    }
  }
  EXPECT_GT(accepted, 0u);
}

}  // namespace
}  // namespace winnow::filter
