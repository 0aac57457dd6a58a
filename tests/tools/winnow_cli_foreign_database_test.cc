// The winnow program before databases that it could not have written.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/log/log_format.h"
#include "tests/tools/winnow_cli_shell.h"
#include "winnow/db.h"

namespace winnow {
namespace {

class ReverseComparator : public Comparator {
 public:
  std::string_view Name() const override { return "test.reverse"; }
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  bool EqualKeysHaveEqualBytes() const override { return true; }
};

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(WinnowCliForeignDatabase, AnotherComparatorIsRefusedAndNamed) {
  const ScratchShell shell;
  const ReverseComparator reverse;
  Options options;
  options.comparator = &reverse;
  auto db = DB::Open(options, shell.directory() + "/db");
  ASSERT_TRUE(db.ok()) << db.status();
  ASSERT_TRUE((*db)->Put(WriteOptions(), "k", "v").ok());
  ASSERT_TRUE((*db)->Flush().ok());
  ASSERT_TRUE((*db)->Close().ok());

  for (const char* command :
       {"get k --db=db", "put k w --db=db", "scan --db=db", "verify --db=db", "sst --db=db"}) {
    const ShellResult result = shell.Run(std::string("winnow ") + command);
    EXPECT_EQ(result.exit_code, 3) << command;
    EXPECT_NE(result.output.find("test.reverse"), std::string::npos) << result.output;
  }
}

TEST(WinnowCliForeignDatabase, ANewerFormatIsRefusedByEveryCommandAndLeftAsItIs) {
  const ScratchShell shell;
  ASSERT_EQ(shell.Run("winnow put --db=db k v; mv db/MANIFEST* manifest").exit_code, 0);
  std::string manifest = ReadWhole(shell.directory() + "/manifest");
  ASSERT_GE(manifest.size(), kLogFileHeaderBytes);
  const absl::StatusOr<LogIdentity> identity =
      DecodeLogFileHeader(std::string_view(manifest).substr(0, kLogFileHeaderBytes));
  ASSERT_TRUE(identity.ok()) << identity.status();
  constexpr size_t kVersionOffset = 8;
  constexpr size_t kChecksumOffset = kLogFileHeaderBytes - 8;
  EncodeFixed32(manifest.data() + kVersionOffset, kLogMajorVersion + 1);
  EncodeFixed64(manifest.data() + kChecksumOffset,
                Checksum(std::string_view(manifest).substr(0, kChecksumOffset),
                         ChecksumSeed(identity->number, 0)));
  std::ofstream(shell.directory() + "/manifest", std::ios::binary) << manifest;
  ASSERT_EQ(
      shell.Run("name=$(cut -d' ' -f1 db/CURRENT); cp manifest db/$name; cp -r db copy").exit_code,
      0);

  for (const char* command : {"get k --db=db", "put k w --db=db", "scan --db=db", "verify --db=db",
                              "compact --db=db", "manifest --db=db", "stats --db=db"}) {
    const ShellResult result = shell.Run(std::string("winnow ") + command);
    EXPECT_EQ(result.exit_code, 3) << command << ": " << result.output;
    EXPECT_NE(result.output.find("version 2"), std::string::npos) << result.output;
  }
  EXPECT_EQ(shell.Run("diff -r -x LOCK db copy").output, "");
}

}  // namespace
}  // namespace winnow
