#include "engine/base/number_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>

namespace winnow {
namespace {

std::optional<uint64_t> Parsed(std::string_view text) {
  uint64_t bytes = 0;
  if (!ParseByteCount(text, &bytes)) return std::nullopt;
  return bytes;
}

TEST(NumberText, AByteCountIsANumberWithAUnitOrWithout) {
  EXPECT_EQ(Parsed("5"), 5u);
  EXPECT_EQ(Parsed("5B"), 5u);
  for (const char* text : {"3K", "3k", "3KiB", "3kiB"}) EXPECT_EQ(Parsed(text), 3072u) << text;
  EXPECT_EQ(Parsed("16383TiB"), uint64_t{16383} << 40);
  EXPECT_EQ(Parsed("16777215T"), uint64_t{16777215} << 40);
  for (const char* text : {"", "K", "iB", "5iB", "5 K", "-5", "+5", "5.5K", "5KB", "5Ki", "5KK",
                           "5P", "16777216T", "18446744073709551616"}) {
    EXPECT_EQ(Parsed(text), std::nullopt) << text;
  }
}

TEST(NumberText, AByteCountReadsBackAsItself) {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1500}, uint64_t{1} << 10, uint64_t{3} << 26,
                               uint64_t{1} << 50, UINT64_MAX}) {
    EXPECT_EQ(Parsed(ByteCountText(bytes)), bytes) << ByteCountText(bytes);
  }
}

TEST(NumberText, AShortNumberHasNoExponentWhereItIsLarge) {
  EXPECT_EQ(ShortNumber(21345.4), "21345");
  EXPECT_EQ(ShortNumber(320), "320");
  EXPECT_EQ(ShortNumber(1.234), "1.23");
  EXPECT_EQ(ShortNumber(0.01234), "0.0123");
}

}  // namespace
}  // namespace winnow
