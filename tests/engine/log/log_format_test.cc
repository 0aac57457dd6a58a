// Holds the log format to what FORMAT.md says about it.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "tests/engine/log/log_records.h"
#include "tests/support/annotated_dump.h"

namespace winnow {
namespace {

void RecordHeader(AnnotatedDump* dump, std::string_view type) {
  dump->Field(8, "record: checksum");
  dump->Field(4, "log number, low bits");
  dump->Field(4, "payload length");
  dump->Field(1, type);
}

std::string DumpOfExample(std::string_view bytes) {
  AnnotatedDump dump(bytes);
  dump.Field(8, "magic \"WNNOWLOG\"");
  dump.Field(2, "major version");
  dump.Field(2, "minor version");
  dump.Field(4, "zero");
  dump.Field(8, "log number");
  dump.Field(8, "database identity");
  dump.Field(8, "checksum of bytes 0 to 31");
  RecordHeader(&dump, "type: data");
  dump.Field(5, "payload \"put a\"");
  RecordHeader(&dump, "type: data");
  RecordHeader(&dump, "type: clean close");
  EXPECT_EQ(dump.offset(), bytes.size());
  return dump.text();
}

TEST(LogFormat, TheExampleInFormatMdIsWhatIsWritten) {
  const std::string bytes = LogBytes({"put a", ""}, {12, 0x1122334455667788}, true);
  const std::string document =
      ReadFile(*PosixFileSystem(), WINNOW_SOURCE_DIR "/engine/log/FORMAT.md", 1 << 20).value();
  EXPECT_EQ(LastExampleOf(document), DumpOfExample(bytes));
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
