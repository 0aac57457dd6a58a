// What the tests of LevelDB's C++ interface share.
#ifndef WINNOW_TESTS_ENGINE_COMPAT_LEVELDB_COMPAT_FIXTURE_H_
#define WINNOW_TESTS_ENGINE_COMPAT_LEVELDB_COMPAT_FIXTURE_H_

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>

#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"

namespace leveldb {

class LevelDbCompatTest : public testing::Test {
 protected:
  LevelDbCompatTest() : path_(testing::TempDir() + "winnow_compat_" + std::to_string(getpid())) {
    DestroyDB(path_, Options());
    options_.create_if_missing = true;
  }
  ~LevelDbCompatTest() override {
    db_.reset();
    DestroyDB(path_, Options());
    std::filesystem::remove_all(path_);  // what a repair put aside
  }

  Status TryOpen() {
    db_.reset();
    DB* opened = reinterpret_cast<DB*>(1);
    const Status status = DB::Open(options_, path_, &opened);
    EXPECT_EQ(status.ok(), opened != nullptr);
    db_.reset(opened);
    return status;
  }
  void Open() {
    const Status status = TryOpen();
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  void Put(const std::string& key, const std::string& value) {
    ASSERT_TRUE(db_->Put(WriteOptions(), key, value).ok());
  }
  std::string Get(const std::string& key, const Snapshot* snapshot = nullptr) {
    ReadOptions options;
    options.snapshot = snapshot;
    std::string value;
    const Status status = db_->Get(options, key, &value);
    return status.ok() ? value : status.IsNotFound() ? "NotFound" : status.ToString();
  }

  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
};

class Backwards : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.backwards"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

// Counts what a database does through an Env of the program's own.
class CountingEnv : public EnvWrapper {
 public:
  CountingEnv() : EnvWrapper(Env::Default()) {}
  Status NewWritableFile(const std::string& name, WritableFile** result) override {
    created++;
    return fail_creation ? Status::IOError(name, "as asked")
                         : target()->NewWritableFile(name, result);
  }
  std::atomic<int> created{0};
  std::atomic<bool> fail_creation{false};
};

}  // namespace leveldb

#endif  // WINNOW_TESTS_ENGINE_COMPAT_LEVELDB_COMPAT_FIXTURE_H_
