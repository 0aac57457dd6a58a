#include "engine/base/coding.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace winnow {
namespace {

// Numbers around every varint length, and random ones of every magnitude.
std::vector<uint64_t> InterestingNumbers() {
  std::vector<uint64_t> numbers = {0, UINT32_MAX, UINT64_MAX};
  for (int shift = 0; shift < 64; shift++) {
    for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, ~uint64_t{0}}) {
      numbers.push_back((uint64_t{1} << shift) + offset);
    }
  }
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; i++) numbers.push_back(random() >> (random() % 64));
  return numbers;
}

TEST(Coding, FixedWidthIntegersAreLittleEndian) {
  std::string out;
  PutFixed32(&out, 0x04030201);
  PutFixed64(&out, 0x0c0b0a0908070605);
  EXPECT_EQ(out, "\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c");
  EXPECT_EQ(DecodeFixed32(out.data()), 0x04030201u);
  EXPECT_EQ(DecodeFixed64(out.data() + 4), 0x0c0b0a0908070605u);
  std::string_view input = out;
  uint32_t small;
  uint64_t large;
  ASSERT_TRUE(GetFixed32(&input, &small));
  ASSERT_TRUE(GetFixed64(&input, &large));
  EXPECT_EQ(small, 0x04030201u);
  EXPECT_EQ(large, 0x0c0b0a0908070605u);
  EXPECT_FALSE(GetFixed32(&input, &small));
  EXPECT_FALSE(GetFixed64(&input, &large));
}

TEST(Coding, VarintsComeBackAndTakeAByteForEachSevenBits) {
  for (const uint64_t number : InterestingNumbers()) {
    std::string out;
    PutVarint64(&out, number);
    ASSERT_EQ(out.size(), (static_cast<size_t>(std::bit_width(number | 1)) + 6) / 7) << number;
    std::string_view input = out;
    uint64_t decoded;
    ASSERT_TRUE(GetVarint64(&input, &decoded));
    ASSERT_EQ(decoded, number);
    ASSERT_TRUE(input.empty());
    ASSERT_LE(out.size(), number <= UINT32_MAX ? kMaxVarint32Bytes : kMaxVarint64Bytes);
  }
}

// As in files: up to eight bytes are decoded at once where so many can be read.
TEST(Coding, WhatFollowsAVarintIsNotPartOfIt) {
  for (const uint64_t number : InterestingNumbers()) {
    for (const char next : {'\0', '\x7f', '\x80', '\xff'}) {
      std::string out;
      PutVarint64(&out, number);
      const size_t size = out.size();
      out.append(8, next);
      std::string_view input = out;
      uint64_t decoded;
      ASSERT_TRUE(GetVarint64(&input, &decoded));
      ASSERT_EQ(decoded, number);
      ASSERT_EQ(input.size(), out.size() - size);
    }
  }
  for (size_t zeros = 0; zeros < 9; zeros++) {  // longer than it need be
    const std::string out = "\x81" + std::string(zeros, '\x80') + std::string(9, '\0');
    std::string_view input = out;
    uint64_t decoded;
    ASSERT_TRUE(GetVarint64(&input, &decoded));
    ASSERT_EQ(decoded, 1u);
    ASSERT_EQ(input.size(), 8u);
  }
}

TEST(Coding, AVarint32RefusesWhatDoesNotFit) {
  for (const uint64_t number : InterestingNumbers()) {
    std::string out;
    PutVarint64(&out, number);
    std::string_view input = out;
    uint32_t decoded;
    ASSERT_EQ(GetVarint32(&input, &decoded), number <= UINT32_MAX) << number;
    if (number <= UINT32_MAX) {
      ASSERT_EQ(decoded, number);
    } else {
      ASSERT_EQ(input.size(), out.size());
    }
  }
}

TEST(Coding, EveryTruncatedVarintIsRefusedAndLeavesTheInput) {
  for (const uint64_t number : InterestingNumbers()) {
    std::string out;
    PutVarint64(&out, number);
    for (size_t length = 0; length < out.size(); length++) {
      // A buffer of exactly this size, so that a sanitizer sees one byte too many.
      const std::vector<char> exact(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(length));
      std::string_view input(exact.data(), exact.size());
      uint64_t decoded;
      ASSERT_FALSE(GetVarint64(&input, &decoded));
      ASSERT_EQ(input.size(), length);
    }
  }
}

TEST(Coding, AVarintAbove64BitsIsRefused) {
  uint64_t decoded;
  std::string_view eleven_bytes = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  EXPECT_FALSE(GetVarint64(&eleven_bytes, &decoded));
  std::string_view too_large = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02";
  EXPECT_FALSE(GetVarint64(&too_large, &decoded));
  std::string_view largest = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
  ASSERT_TRUE(GetVarint64(&largest, &decoded));
  EXPECT_EQ(decoded, UINT64_MAX);
}

TEST(Coding, LengthPrefixedStringsComeBack) {
  std::string out;
  const std::vector<std::string> strings = {"", "a", std::string(127, 'b'), std::string(128, 'c'),
                                            std::string(70000, '\0')};
  for (const std::string& text : strings) PutLengthPrefixed(&out, text);
  std::string_view input = out;
  for (const std::string& text : strings) {
    std::string_view decoded;
    ASSERT_TRUE(GetLengthPrefixed(&input, &decoded));
    ASSERT_EQ(decoded, text);
  }
  EXPECT_TRUE(input.empty());
}

TEST(Coding, ALengthBeyondTheInputIsRefusedAndLeavesTheInput) {
  for (const uint64_t length : {uint64_t{4}, uint64_t{1} << 32, UINT64_MAX}) {
    std::string out;
    PutVarint64(&out, length);
    out += "abc";
    std::string_view input = out;
    std::string_view decoded = "untouched";
    EXPECT_FALSE(GetLengthPrefixed(&input, &decoded));
    EXPECT_EQ(input, out);
    EXPECT_EQ(decoded, "untouched");
  }
}

}  // namespace
}  // namespace winnow
