// The winnow program before databases that it could not have written.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "engine/base/checksum.h"
#include "engine/base/coding.h"
#include "engine/log/log_format.h"
#include "tests/tools/winnow_cli_shell.h"
#include "winnow/db.h"
#include "winnow/merge_operator.h"

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

// "x" and "y" make "xy", as none of the built-in operators does.
class JoinOperator : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.join"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    result->append(existing.value_or(""));
    for (const std::string_view operand : operands) result->append(operand);
    return absl::OkStatus();
  }
};

// "default" and "users", both with the operator; "plain", which has none.
class OwnMergeOperator : public testing::Test {
 protected:
  OwnMergeOperator() {
    const std::unique_ptr<DB> db = Open();
    const absl::StatusOr<ColumnFamily*> users = db->CreateColumnFamily(WithOperator(), "users");
    EXPECT_TRUE(users.ok() && db->CreateColumnFamily({}, "plain").ok());
    for (ColumnFamily* family : {db->DefaultColumnFamily(), users.value_or(nullptr)}) {
      EXPECT_TRUE(db->Put(WriteOptions(), family, "a", "1").ok());
      EXPECT_TRUE(db->Put(WriteOptions(), family, "m", "2").ok());
      EXPECT_TRUE(db->Flush(family).ok());
      EXPECT_TRUE(db->Merge(WriteOptions(), family, "m", "3").ok());
      EXPECT_TRUE(db->Flush(family).ok());
      EXPECT_TRUE(db->Merge(WriteOptions(), family, "m", "4").ok());
    }
    EXPECT_TRUE(db->Close().ok());
  }

  static Options WithOperator() {
    Options options;
    options.merge_operator = std::make_shared<const JoinOperator>();
    return options;
  }

  std::unique_ptr<DB> Open() {
    Options options = WithOperator();
    const auto names = DB::ListColumnFamilies(options, path_);
    if (names.ok()) options.column_families["users"] = options;
    auto db = DB::Open(options, path_);
    EXPECT_TRUE(db.ok()) << db.status();
    return *std::move(db);
  }

  std::string Read(std::string_view family_name, std::string_view key) {
    const std::unique_ptr<DB> db = Open();
    const absl::StatusOr<ColumnFamily*> family = db->FindColumnFamily(family_name);
    std::string value;
    const absl::Status read = db->Get(ReadOptions(), *family, key, &value);
    return read.ok() ? value : read.ToString();
  }

  const ScratchShell shell_;
  const std::string path_ = shell_.directory() + "/db";
};

TEST_F(OwnMergeOperator, CommandsThatMergeNothingWorkAndLoseNoOperand) {
  ASSERT_EQ(
      shell_.Run("seq 9 | sed 's/$/\tv/' > lines; winnow sst-build lines --out=t.sst").exit_code,
      0);
  for (const char* command : {"get a",
                              "get a --family=users",
                              "put b 5",
                              "put b 5 --family=users",
                              "delete b",
                              "stats",
                              "property winnow.stats",
                              "explain a",
                              "explain m",
                              "families",
                              "sst",
                              "wal",
                              "manifest",
                              "verify",
                              "compact",
                              "compact --family=users",
                              "refilter --filter=ribbon:1%",
                              "load lines",
                              "ingest t.sst --family=users",
                              "put c 6 --set=write_buffer_bytes=1M",
                              "options --set=compression=zstd",
                              "families create more",
                              "families drop more",
                              "table create t f",
                              "table list",
                              "put k v --family=plain",
                              "checkpoint copy",
                              "backup backups",
                              "repair",
                              "verify"}) {
    const ShellResult result = shell_.Run(std::string("winnow ") + command + " --db=db");
    EXPECT_EQ(result.exit_code, 0) << command << ": " << result.output;
  }
  EXPECT_EQ(Read("default", "m"), "234");
  EXPECT_EQ(Read("users", "m"), "234");
  EXPECT_EQ(Read("users", "b"), "5");
}

TEST_F(OwnMergeOperator, KeysWithOperandsAndNewOperandsAreRefusedByItsName) {
  for (const char* command :
       {"get m", "mget m", "scan", "count", "merge m 5", "merge new 5", "merge m 5 --family=users",
        "get a --set=merge_operator=max", "put a 2 --set=merge_operator=max"}) {
    const ShellResult result = shell_.Run(std::string("winnow ") + command + " --db=db");
    EXPECT_EQ(result.exit_code, 3) << command;
    EXPECT_NE(result.output.find("'test.join'"), std::string::npos) << result.output;
  }
  EXPECT_EQ(Read("default", "m"), "234");
  // A family that has none does not get that of another.
  const ShellResult other = shell_.Run("winnow merge k v --db=db --family=plain");
  EXPECT_NE(other.output.find("has no merge operator"), std::string::npos) << other.output;
}

TEST_F(OwnMergeOperator, ALogSetAsideIsWrittenAgainWithItsOperands) {
  const ShellResult result = shell_.Run(
      "cp $(ls db/*.log | tail -1) kept.log; winnow compact --db=db >/dev/null;"
      "winnow replay kept.log --db=db");
  EXPECT_EQ(result.exit_code, 0) << result.output;
  EXPECT_EQ(Read("users", "m"), "2344");
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
