// LevelDB's C++ interface on Winnow: its statuses, its ownership, its properties.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "leveldb/db.h"
#include "leveldb/write_batch.h"
#include "tests/engine/compat/leveldb_compat_fixture.h"
#include "winnow/options.h"

namespace leveldb {
namespace {

TEST_F(LevelDbCompatTest, OpeningGivesLevelDbsStatuses) {
  options_.create_if_missing = false;
  Status status = TryOpen();
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
  EXPECT_NE(status.ToString().find("does not exist"), std::string::npos);
  options_.create_if_missing = true;
  Open();
  DB* second = nullptr;
  status = DB::Open(options_, path_, &second);
  EXPECT_EQ(status.ToString().rfind("IO error: lock ", 0), 0U) << status.ToString();
  EXPECT_EQ(second, nullptr);
  EXPECT_TRUE(DestroyDB(path_, options_).IsIOError()) << "it is open";
  options_.error_if_exists = true;
  status = TryOpen();
  EXPECT_TRUE(status.IsInvalidArgument());
  EXPECT_NE(status.ToString().find("error_if_exists"), std::string::npos);
}

TEST_F(LevelDbCompatTest, AnotherComparatorIsAnInvalidArgument) {
  const Backwards backwards;
  options_.comparator = &backwards;
  Open();
  Put("a", "1");
  Put("b", "2");
  std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  EXPECT_FALSE(it->Valid());
  it->SeekToFirst();
  EXPECT_EQ(it->key().ToString(), "b");
  it.reset();
  options_.comparator = BytewiseComparator();
  Status status = TryOpen();
  // To the letter: the tests of php-leveldb look for it.
  EXPECT_EQ(status.ToString(),
            "Invalid argument: test.backwards does not match existing comparator : "
            "leveldb.BytewiseComparator");
  ASSERT_TRUE(DestroyDB(path_, options_).ok());
  Open();
  options_.comparator = &backwards;
  status = TryOpen();
  EXPECT_EQ(status.ToString(),
            "Invalid argument: leveldb.BytewiseComparator does not match existing comparator : "
            "test.backwards");
}

// As plyvel's tests expect it where they do not run as root.
TEST_F(LevelDbCompatTest, NoDatabaseInADirectoryThatMayNotBeWrittenToIsAnIOError) {
  options_.create_if_missing = false;
  std::filesystem::create_directory(path_);
  ASSERT_EQ(chmod(path_.c_str(), 0555), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Root may do everything, so the child must not be root.
    if (geteuid() == 0 && seteuid(65534) != 0) _exit(2);
    _exit(TryOpen().IsIOError() ? 0 : 1);
  }
  int status;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

struct BatchRecorder : WriteBatch::Handler {
  void Put(const Slice& key, const Slice& value) override {
    text += "P" + key.ToString() + value.ToString();
  }
  void Delete(const Slice& key) override { text += "D" + key.ToString(); }
  std::string text;
};

TEST_F(LevelDbCompatTest, BatchesSnapshotsAndIterators) {
  Open();
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", "2");
  batch.Delete("a");
  WriteBatch more = batch;
  more.Put("c", "3");
  batch.Append(more);
  batch.Append(batch);
  BatchRecorder recorder;
  EXPECT_TRUE(batch.Iterate(&recorder).ok());
  EXPECT_EQ(recorder.text, "Pa1Pb2DaPa1Pb2DaPc3Pa1Pb2DaPa1Pb2DaPc3");
  EXPECT_GT(batch.ApproximateSize(), more.ApproximateSize());
  ASSERT_TRUE(db_->Write(WriteOptions(), &batch).ok());
  EXPECT_EQ(Get("a"), "NotFound");
  const Snapshot* snapshot = db_->GetSnapshot();
  Put("b", "new");
  EXPECT_EQ(Get("b", snapshot), "2");
  EXPECT_EQ(Get("b"), "new");
  db_->ReleaseSnapshot(snapshot);

  std::unique_ptr<Iterator> it(db_->NewIterator(ReadOptions()));
  it->SeekToLast();
  EXPECT_EQ(it->key().ToString(), "c");
  it->Prev();
  EXPECT_EQ(it->value().ToString(), "new");
  it->Prev();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().ok());
  int cleaned = 0;
  const auto count = [](void* counter, void*) { ++*static_cast<int*>(counter); };
  it->RegisterCleanup(count, &cleaned, nullptr);
  it->RegisterCleanup(count, &cleaned, nullptr);
  it.reset();
  EXPECT_EQ(cleaned, 2);
  it.reset(NewErrorIterator(Status::Corruption("bad")));
  EXPECT_TRUE(it->status().IsCorruption());
}

TEST_F(LevelDbCompatTest, PropertiesSizesAndCompaction) {
  Open();
  const std::string value(1000, 'v');
  for (int i = 1000; i < 3000; i++) Put("key" + std::to_string(i), value);
  db_->CompactRange(nullptr, nullptr);
  int files = 0;
  std::string text;
  for (int level = 0; level < winnow::kNumLevels; level++) {
    ASSERT_TRUE(db_->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &text));
    files += std::stoi(text);
  }
  EXPECT_GT(files, 0);
  EXPECT_FALSE(
      db_->GetProperty("leveldb.num-files-at-level" + std::to_string(winnow::kNumLevels), &text));
  EXPECT_FALSE(db_->GetProperty("leveldb.nothing", &text));
  ASSERT_TRUE(db_->GetProperty("leveldb.stats", &text));
  EXPECT_NE(text.find("Level  Files Size(MB)"), std::string::npos);
  ASSERT_TRUE(db_->GetProperty("leveldb.sstables", &text));
  EXPECT_TRUE(text.starts_with("--- level 0 ---\n")) << text;
  EXPECT_NE(text.find("--- level 6 ---\n"), std::string::npos) << text;
  // One line for each file: " NUMBER:BYTES['FIRST' .. 'LAST']".
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 7 + files) << text;
  EXPECT_NE(text.find("['key1000' .. 'key"), std::string::npos) << text;
  ASSERT_TRUE(db_->GetProperty("leveldb.approximate-memory-usage", &text));
  EXPECT_GT(std::stoull(text), 0U);

  const Range ranges[] = {{"key1000", "key2000"}, {"key2000", "key3000"}, {"x", "y"}};
  uint64_t sizes[3];
  db_->GetApproximateSizes(ranges, 3, sizes);
  EXPECT_GT(sizes[0], 10000U);
  EXPECT_NEAR(static_cast<double>(sizes[0]), static_cast<double>(sizes[1]),
              static_cast<double>(sizes[0]) / 4);
  EXPECT_EQ(sizes[2], 0U);
}

// classic-level does that, and the handle's memory had been freed.
TEST_F(LevelDbCompatTest, AReleasedSnapshotIsReadAt) {
  Open();
  Put("k", "old");
  const Snapshot* snapshot = db_->GetSnapshot();
  Put("k", "new");
  db_->ReleaseSnapshot(snapshot);
  EXPECT_EQ(Get("k", snapshot), "old");
  ReadOptions options;
  options.snapshot = snapshot;
  const std::unique_ptr<Iterator> it(db_->NewIterator(options));
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value().ToString(), "old");
}

TEST_F(LevelDbCompatTest, AnErrorOfCompactRangeStopsLaterWrites) {
  CountingEnv env;
  options_.env = &env;
  Open();
  Put("k", "v");
  env.fail_creation = true;
  db_->CompactRange(nullptr, nullptr);
  std::string error;
  EXPECT_TRUE(db_->GetProperty("winnow.background-error", &error));
  EXPECT_NE(error, "");
  EXPECT_TRUE(db_->Put(WriteOptions(), "l", "w").IsIOError());
  EXPECT_TRUE(db_->Delete(WriteOptions(), "k").IsIOError());
  EXPECT_EQ(Get("k"), "v");
  db_.reset();
  env.fail_creation = false;
  Open();
  Put("l", "w");
  EXPECT_EQ(Get("k"), "v");
  db_.reset();  // before its Env
}

// --- Interfaces for subclasses ---

// As LevelDB's tests have them: a model that writes batches alone.
class CountsBatches : public DB {
 public:
  Status Put(const WriteOptions& options, const Slice& key, const Slice& value) override {
    return DB::Put(options, key, value);
  }
  Status Delete(const WriteOptions& options, const Slice& key) override {
    return DB::Delete(options, key);
  }
  Status Write(const WriteOptions&, WriteBatch* updates) override {
    BatchRecorder recorder;
    const Status status = updates->Iterate(&recorder);
    written += recorder.text;
    return status;
  }
  Status Get(const ReadOptions&, const Slice& key, std::string*) override {
    return Status::NotFound(key);
  }
  Iterator* NewIterator(const ReadOptions&) override { return NewEmptyIterator(); }
  const Snapshot* GetSnapshot() override { return nullptr; }
  void ReleaseSnapshot(const Snapshot*) override {}
  bool GetProperty(const Slice&, std::string*) override { return false; }
  void GetApproximateSizes(const Range*, int, uint64_t*) override {}
  void CompactRange(const Slice*, const Slice*) override {}
  std::string written;
};

TEST(LevelDbCompatSubclassTest, PutAndDeleteAreBatchesOfOne) {
  CountsBatches db;
  EXPECT_TRUE(db.Put(WriteOptions(), "k", "v").ok());
  EXPECT_TRUE(db.Delete(WriteOptions(), "l").ok());
  EXPECT_EQ(db.written, "PkvDl");
}

TEST(LevelDbCompatStatusTest, TextsAndKinds) {
  EXPECT_EQ(Status().ToString(), "OK");
  EXPECT_EQ(Status::NotFound("a", "b").ToString(), "NotFound: a: b");
  EXPECT_EQ(Status::IOError("a").ToString(), "IO error: a");
  EXPECT_EQ(Status::NotSupported("").ToString(), "Not implemented: ");
  const Status status = Status::Corruption("x");
  Status copy = status;
  EXPECT_TRUE(copy.IsCorruption());
  const Status moved = std::move(copy);
  EXPECT_TRUE(moved.IsCorruption() && !moved.ok() && status.IsCorruption());
}

}  // namespace
}  // namespace leveldb
