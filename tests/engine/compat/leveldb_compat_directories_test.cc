// What LevelDB's Open, RepairDB and DestroyDB make of directories that hold no sound database.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "leveldb/db.h"
#include "leveldb/env.h"
#include "tests/engine/compat/leveldb_compat_fixture.h"

namespace leveldb {
namespace {

using LevelDbCompatDirectoriesTest = LevelDbCompatTest;

TEST_F(LevelDbCompatDirectoriesTest, RepairBringsBackADatabaseWithoutItsManifest) {
  Open();
  Put("k", "v");
  db_->CompactRange(nullptr, nullptr);
  db_.reset();
  std::vector<std::string> names;
  ASSERT_TRUE(Env::Default()->GetChildren(path_, &names).ok());
  for (const std::string& name : names) {
    if (name.rfind("MANIFEST", 0) == 0) Env::Default()->RemoveFile(path_ + "/" + name);
  }
  const Status lost = TryOpen();
  EXPECT_TRUE(lost.IsCorruption());
  EXPECT_NE(lost.ToString().find("missing"), std::string::npos) << "LevelDB's word for lost files";
  const Status repaired = RepairDB(path_, options_);
  ASSERT_TRUE(repaired.ok()) << repaired.ToString();
  Open();
  EXPECT_EQ(Get("k"), "v");
}

TEST_F(LevelDbCompatDirectoriesTest, AMissingParentIsNotMadeAndRepairIsNoSuccess) {
  const std::string below = path_ + "/missing/db";
  DB* db = nullptr;
  const Status opened = DB::Open(options_, below, &db);
  EXPECT_TRUE(opened.IsIOError()) << opened.ToString();
  EXPECT_NE(opened.ToString().find("No such file or directory"), std::string::npos);
  EXPECT_FALSE(Env::Default()->FileExists(path_));
  for (const std::string& name : {path_, below}) {
    const Status repaired = RepairDB(name, options_);
    EXPECT_TRUE(repaired.IsIOError()) << repaired.ToString();
    EXPECT_NE(repaired.ToString().find("No such file or directory"), std::string::npos);
    EXPECT_TRUE(DestroyDB(name, options_).ok());
  }
  EnvWrapper wrapper(Env::Default());
  options_.env = &wrapper;
  EXPECT_TRUE(DB::Open(options_, below, &db).IsIOError());
  EXPECT_FALSE(Env::Default()->FileExists(path_));
  Open();
  DB* second = nullptr;
  const Status held = DB::Open(options_, path_, &second);
  EXPECT_EQ(held.ToString().rfind("IO error: lock ", 0), 0U) << held.ToString();
  db_.reset();  // before its Env
}

TEST_F(LevelDbCompatDirectoriesTest, DestroyRemovesAnEmptyDirectory) {
  ASSERT_TRUE(Env::Default()->CreateDir(path_).ok());
  EXPECT_TRUE(DestroyDB(path_, options_).ok());
  EXPECT_FALSE(Env::Default()->FileExists(path_));
}

// LevelDB's programs call RepairDB after a failed Open, and then DestroyDB.
TEST_F(LevelDbCompatDirectoriesTest, ADatabaseOfLevelDbIsRefusedByAllThree) {
  ASSERT_TRUE(Env::Default()->CreateDir(path_).ok());
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "MANIFEST-000002\n", path_ + "/CURRENT").ok());
  ASSERT_TRUE(WriteStringToFile(Env::Default(), "kept", path_ + "/000005.ldb").ok());
  EnvWrapper wrapper(Env::Default());
  for (Env* env : {Env::Default(), static_cast<Env*>(&wrapper)}) {
    options_.env = env;
    for (const Status& status :
         {TryOpen(), RepairDB(path_, options_), DestroyDB(path_, options_)}) {
      EXPECT_TRUE(status.IsIOError()) << status.ToString();
      EXPECT_NE(status.ToString().find("winnow import"), std::string::npos) << status.ToString();
    }
  }
  std::vector<std::string> names;
  EXPECT_TRUE(Env::Default()->GetChildren(path_, &names).ok());
  EXPECT_EQ(names.size(), 4U) << "the two, \".\" and \"..\"";
}

}  // namespace
}  // namespace leveldb
