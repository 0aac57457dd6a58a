// Directories of LevelDB and RocksDB: every call refuses them, says what they are, and changes
// nothing. Once RepairDatabase took LevelDB's manifest away, and Destroy its log.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

// What LevelDB 1.23 writes for two Puts with a compaction between them.
using DirectoryFiles = std::map<std::string, std::string>;
DirectoryFiles LevelDbFiles() {
  const auto bytes = [](const char* hex) { return absl::HexStringToBytes(hex); };
  return {
      {"CURRENT", "MANIFEST-000002\n"},
      {"MANIFEST-000002",
       bytes("56f9b8f81c0001011a6c6576656c64622e4279746577697365436f6d70617261746f72a49c8bbe080001"
             "020309000304040027d9f80f2400010204090003060401070205780b6b657901010000000000000b6b65"
             "790101000000000000")},
      {"000004.log", bytes("684bca1413000102000000000000000100000001026b32027632")},
      {"000005.ldb",
       bytes("000b056b6579010100000000000076616c7565000000000100000000229d8ce4000000000100000000c0"
             "f2a1b00009026c01ffffffffffffff001b00000000010000000092fba48220082d160000000000000000"
             "0000000000000000000000000000000000000000000000000057fb808b247547db")},
      {"LOCK", ""},
      {"LOG", "some text\n"}};
}

class ForeignDatabase : public testing::Test {
 protected:
  ForeignDatabase() {
    options_.file_system = file_system_.get();
    EXPECT_TRUE(file_system_->CreateDirectories(path_).ok());
  }
  void Write(const std::string& name, const std::string& content) {
    ASSERT_TRUE(WriteFileAtomically(*file_system_, path_ + "/" + name, content).ok());
  }
  void WriteAll(const DirectoryFiles& files) {
    for (const auto& [name, content] : files) Write(name, content);
  }
  DirectoryFiles ReadAll() {
    DirectoryFiles files;
    const std::vector<std::string> names = *file_system_->List(path_);
    for (const std::string& name : names) {
      files[name] = *ReadFile(*file_system_, path_ + "/" + name, 1 << 20);
    }
    return files;
  }
  // Every call on the directory is refused alike, and leaves it byte for byte.
  void ExpectRefused(const std::string& engine) {
    const DirectoryFiles before = ReadAll();
    Options reading = options_;
    reading.read_only = true;
    Options existing = options_;
    existing.create_if_missing = false;
    Options salvage = options_;
    salvage.recovery_mode = RecoveryMode::kSalvage;
    const auto own = OpenOrFail(options_, "/own");
    const std::string command = "`winnow import --from=" + engine;
    for (const absl::Status& status :
         {DB::Open(options_, path_).status(), DB::Open(reading, path_).status(),
          DB::Open(existing, path_).status(), DB::Open(salvage, path_).status(),
          RepairDatabase(options_, path_).status(), DB::Destroy(options_, path_),
          DB::ListColumnFamilies(options_, path_).status(), own->BackupTo(path_).status()}) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      EXPECT_TRUE(absl::StrContains(status.message(), command)) << status;
      EXPECT_EQ(ReadAll(), before);
    }
  }

  const std::string path_ = "/db";
  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  Options options_;
};

TEST_F(ForeignDatabase, OfLevelDbIsRefusedAndLeftAsItIs) {
  WriteAll(LevelDbFiles());
  ExpectRefused("leveldb");
}

TEST_F(ForeignDatabase, IsKnownByWhateverIsLeftOfIt) {
  for (const auto& [kept, content] : LevelDbFiles()) {
    if (kept.starts_with("LO")) continue;  // no file that names its maker
    const std::vector<std::string> names = *file_system_->List(path_);
    for (const std::string& name : names) {
      ASSERT_TRUE(file_system_->Remove(path_ + "/" + name).ok());
    }
    Write(kept, content);
    SCOPED_TRACE(kept);
    ExpectRefused("leveldb");
  }
}

TEST_F(ForeignDatabase, OfRocksDbIsToldFromLevelDbs) {
  WriteAll(LevelDbFiles());
  Write("IDENTITY", "9e1f7c7c-4a5b-4b3e-8a5d-1b2c3d4e5f60");
  ExpectRefused("rocksdb");
  ASSERT_TRUE(file_system_->Remove("/db/IDENTITY").ok());
  // The magic number of RocksDB's block-based tables.
  Write("000007.sst", std::string(100, 'x') + absl::HexStringToBytes("f7cff485b741e288"));
  ExpectRefused("rocksdb");
}

TEST_F(ForeignDatabase, IsNoneOfWinnowsHoweverDamaged) {
  auto db = OpenOrFail(options_, path_);
  ASSERT_TRUE(db->Put(WriteOptions(), "k", "v").ok());
  ASSERT_TRUE(db->Flush().ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "l", "w").ok());
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  std::string manifest;
  const std::vector<std::string> names = *file_system_->List(path_);
  for (const std::string& name : names) {
    if (name.starts_with("MANIFEST")) manifest = name;
  }
  // As LevelDB's would be, and beside a table of LevelDB's.
  Write("CURRENT", manifest + "\n");
  Write("000099.ldb", LevelDbFiles()["000005.ldb"]);
  EXPECT_TRUE(absl::IsDataLoss(DB::Open(options_, path_).status()));
  // Not even with a manifest of LevelDB's in its place.
  Write(manifest, LevelDbFiles()["MANIFEST-000002"]);
  const auto report = RepairDatabase(options_, path_);
  ASSERT_TRUE(report.ok()) << report.status();
  db = OpenOrFail(options_, path_);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "k", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "l", &value).ok());
}

TEST_F(ForeignDatabase, IsNoDirectoryOfOtherFiles) {
  Write("MANIFEST-000001", "a text that nobody checks");
  Write("notes.ldb", "not a table");
  Write("CURRENT", "of affairs\n");
  EXPECT_TRUE(absl::IsDataLoss(DB::Open(options_, path_).status()));
}

// A destruction that was interrupted before its last step could not be ended.
TEST_F(ForeignDatabase, OfNobodyIsAnEmptyDirectoryThatDestroyRemoves) {
  EXPECT_TRUE(DB::Destroy(options_, path_).ok());
  EXPECT_FALSE(*file_system_->Exists(path_));
}

}  // namespace
}  // namespace winnow
