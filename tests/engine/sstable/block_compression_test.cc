// What compressed blocks claim about their size, before memory is taken for it.

#include "engine/sstable/block_compression.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "engine/base/coding.h"

namespace winnow {
namespace {

constexpr Compression kCodecs[] = {Compression::kSnappy, Compression::kLz4, Compression::kZstd};

// The contents that shrink most are still what they claim to be.
TEST(BlockCompression, TheMostRepetitiveContentsComeBack) {
  for (const Compression codec : kCodecs) {
    for (const size_t size : {size_t{100}, size_t{4096}, size_t{1} << 20, size_t{16} << 20}) {
      for (const int zstd_level : {1, 19}) {
        if (zstd_level == 19 && (codec != Compression::kZstd || size > (1 << 20))) continue;
        const std::string contents(size, '\0');
        std::string stored;
        ASSERT_TRUE(CompressBlock(codec, zstd_level, contents, &stored));
        uint64_t length = 0;
        ASSERT_TRUE(UncompressedLength(codec, stored, &length))
            << CompressionName(codec) << " made " << stored.size() << " bytes of " << size;
        ASSERT_EQ(length, size);
        std::string again(size, 'x');
        ASSERT_TRUE(*DecompressBlock(codec, stored, again.data(), length));
        ASSERT_EQ(again, contents);
      }
    }
  }
}

// Large contents have no more room than what pays, which decides as it does for small ones.
TEST(BlockCompression, LargeContentsThatHardlyShrinkComeBackOrStayAsTheyAre) {
  std::mt19937_64 random(1);
  for (const Compression codec : kCodecs) {
    for (const size_t size : {size_t{64} << 10, size_t{3} << 20}) {
      for (const size_t random_percent : {80, 95}) {
        std::string contents(size, 'v');
        for (size_t at = 0; at < size; at++) {
          if (at % 1000 < random_percent * 10) contents[at] = static_cast<char>(random());
        }
        std::string stored;
        const bool pays = CompressBlock(codec, 3, contents, &stored);
        EXPECT_EQ(pays, random_percent == 80) << CompressionName(codec) << " of " << size;
        if (!pays) continue;
        EXPECT_LE(stored.size(), size - size / 8);
        uint64_t length = 0;
        ASSERT_TRUE(UncompressedLength(codec, stored, &length));
        ASSERT_EQ(length, size);
        std::string again(size, 'x');
        ASSERT_TRUE(*DecompressBlock(codec, stored, again.data(), length));
        EXPECT_TRUE(again == contents);
      }
    }
  }
}

// How many of the next `blocks` are worth an attempt, which pays or does not.
size_t CountAttempts(CompressionAttempts* attempts, size_t blocks, bool pays) {
  size_t tried = 0;
  for (size_t i = 0; i < blocks; i++) {
    if (!attempts->IsWorthOne()) continue;
    tried++;
    attempts->Record(pays);
  }
  return tried;
}

TEST(CompressionAttempts, DataThatDoNotCompressAreTriedOnceInSixteenBlocks) {
  CompressionAttempts attempts;
  EXPECT_EQ(CountAttempts(&attempts, 1000, true), 1000u);
  EXPECT_EQ(CountAttempts(&attempts, 15, false), 15u);
  EXPECT_EQ(CountAttempts(&attempts, 1, true), 1u);
  EXPECT_EQ(CountAttempts(&attempts, 16, false), 16u) << "those before were not in a row";
  EXPECT_EQ(CountAttempts(&attempts, 1600, false), 100u);
}

TEST(CompressionAttempts, TheFirstThatPaysBringsAllBack) {
  CompressionAttempts attempts;
  CountAttempts(&attempts, 1000, false);
  EXPECT_GE(CountAttempts(&attempts, 1000, true), 985u);
}

// Found by fuzzing: two thousand bytes that claimed to be a gigabyte had it allocated.
TEST(BlockCompression, AClaimThatSoFewBytesCannotGrowToIsRefused) {
  for (const Compression codec : kCodecs) {
    for (const uint32_t claimed : {uint32_t{1040088911}, uint32_t{1200} << 20, ~uint32_t{0}}) {
      std::string stored(2000, 'a');
      EncodeFixed32(stored.data(), claimed);
      uint64_t length = 0;
      EXPECT_FALSE(UncompressedLength(codec, stored, &length)) << CompressionName(codec);
    }
    uint64_t length = 0;
    EXPECT_FALSE(UncompressedLength(codec, "abc", &length));
  }
}

}  // namespace
}  // namespace winnow
