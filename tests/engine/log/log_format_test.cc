// Holds the log format to what FORMAT.md says about it.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "tests/engine/log/log_records.h"

namespace winnow {
namespace {

// Prints fields one a line: offset, bytes in hex, meaning.
class AnnotatedDump {
 public:
  explicit AnnotatedDump(std::string_view bytes) : bytes_(bytes) {}

  void Field(size_t length, std::string_view meaning) {
    char number[16];
    std::snprintf(number, sizeof(number), "%4zu ", offset_);
    text_ += number;
    for (size_t i = 0; i < 8; i++) {
      char hex[8];
      const bool present = i < length && offset_ + i < bytes_.size();
      std::snprintf(hex, sizeof(hex), present ? " %02x" : "   ",
                    present ? static_cast<unsigned char>(bytes_[offset_ + i]) : 0u);
      text_ += hex;
    }
    text_ += "  ";
    text_ += meaning;
    text_ += '\n';
    offset_ += length;
  }
  void RecordHeader(std::string_view type) {
    Field(8, "record: checksum");
    Field(4, "log number, low bits");
    Field(4, "payload length");
    Field(1, type);
  }
  size_t offset() const { return offset_; }
  const std::string& text() const { return text_; }

 private:
  std::string_view bytes_;
  size_t offset_ = 0;
  std::string text_;
};

std::string DumpOfExample(std::string_view bytes) {
  AnnotatedDump dump(bytes);
  dump.Field(8, "magic \"WNNOWLOG\"");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "zero");
  dump.Field(8, "log number");
  dump.Field(8, "checksum of bytes 0 to 23");
  dump.RecordHeader("type: data");
  dump.Field(5, "payload \"put a\"");
  dump.RecordHeader("type: data");
  dump.RecordHeader("type: clean close");
  EXPECT_EQ(dump.offset(), bytes.size());
  return dump.text();
}

TEST(LogFormat, TheExampleInFormatMdIsWhatIsWritten) {
  const std::string bytes = LogBytes({"put a", ""}, 12, true);
  const std::string document =
      ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/log/FORMAT.md", 1 << 20).value();
  const size_t begin = document.rfind("```\n", document.rfind("```") - 1) + 4;
  EXPECT_EQ(document.substr(begin, document.rfind("```") - begin), DumpOfExample(bytes));
}

TEST(LogFormat, TheChecksumSeedIsTheDocumentedOne) {
  const std::string bytes = LogBytes({"put a"}, 12, false);
  const uint64_t offset = kLogFileHeaderBytes;
  const uint64_t seed = (12 ^ (offset * 0x9e3779b97f4a7c15ULL)) + (offset >> 32);
  EXPECT_EQ(DecodeFixed64(bytes.data() + offset),
            Checksum(std::string_view(bytes).substr(offset + 8), seed));
}

TEST(LogFormat, TheMagicNumberIsText) {
  EXPECT_EQ(EncodeLogFileHeader(1).substr(0, 8), "WNNOWLOG");
  EXPECT_EQ(EncodeLogFileHeader(1).size(), kLogFileHeaderBytes);
}

}  // namespace
}  // namespace winnow
