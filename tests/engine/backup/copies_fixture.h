// What the tests of checkpoints and of backups share.
#ifndef WINNOW_TESTS_ENGINE_BACKUP_COPIES_FIXTURE_H_
#define WINNOW_TESTS_ENGINE_BACKUP_COPIES_FIXTURE_H_

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {

// Everything, a line each.
inline std::string ReadAll(DB& db) {
  std::string text;
  for (ColumnFamily* family : db.ColumnFamilies()) {
    const auto iterator = db.NewIterator(ReadOptions(), family);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      absl::StrAppend(&text, std::string(family->name()), "/", std::string(iterator->key()), "=",
                      std::string(iterator->value()), "\n");
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  }
  return text;
}

// Some of it in tables on two levels, some in the log, in two column families.
inline void Fill(DB& db, const Options& options) {
  ASSERT_TRUE(db.CreateColumnFamily(options, "second").ok());
  ColumnFamily* const first = db.DefaultColumnFamily();
  ColumnFamily* const second = *db.FindColumnFamily("second");
  for (int i = 0; i < 300; i++) {
    const std::string key = absl::StrCat("key", i);
    ASSERT_TRUE(db.Put(WriteOptions(), key, std::string(50, 'v')).ok());
    ASSERT_TRUE(db.Put(WriteOptions(), second, key, "second").ok());
    if (i == 100) {
      ASSERT_TRUE(db.CompactRange(first, std::nullopt, std::nullopt).ok());
    }
    if (i == 200) {
      ASSERT_TRUE(db.Flush(first).ok());
    }
  }
  ASSERT_TRUE(db.Delete(WriteOptions(), "key7").ok());
}
inline void Fill(MemoryDb* db) { Fill(**db, db->options()); }

// A directory of the operating system that goes with its owner.
class PosixDirectory {
 public:
  PosixDirectory() {
    std::string name = ::testing::TempDir() + "/winnow_checkpoint_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~PosixDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace winnow

#endif  // WINNOW_TESTS_ENGINE_BACKUP_COPIES_FIXTURE_H_
