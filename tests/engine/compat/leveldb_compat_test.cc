// LevelDB's C++ interface on Winnow: its statuses, its ownership, its properties.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "leveldb/cache.h"
#include "leveldb/comparator.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/helpers/memenv.h"
#include "leveldb/write_batch.h"

namespace leveldb {
namespace {

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

class Backwards : public Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override { return b.compare(a); }
  const char* Name() const override { return "test.backwards"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

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
  const Status status = TryOpen();
  EXPECT_TRUE(status.IsInvalidArgument()) << status.ToString();
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
  for (int level = 0; level < 7; level++) {
    ASSERT_TRUE(db_->GetProperty("leveldb.num-files-at-level" + std::to_string(level), &text));
    files += std::stoi(text);
  }
  EXPECT_GT(files, 0);
  EXPECT_FALSE(db_->GetProperty("leveldb.num-files-at-level7", &text));
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

// Keeps the last byte of each key.
class LastByte : public FilterPolicy {
 public:
  const char* Name() const override { return "test.last-byte"; }
  void CreateFilter(const Slice* keys, int n, std::string* dst) const override {
    for (int i = 0; i < n; i++) dst->push_back(keys[i][keys[i].size() - 1]);
  }
  bool KeyMayMatch(const Slice& key, const Slice& filter) const override {
    asked++;
    return filter.ToString().find(key[key.size() - 1]) != std::string::npos;
  }
  mutable std::atomic<int> asked{0};
};

TEST_F(LevelDbCompatTest, AProgramsOwnFilterPolicyIsAsked) {
  const LastByte policy;
  options_.filter_policy = &policy;
  Open();
  Put("key-a", "1");
  Put("key-c", "2");
  db_->CompactRange(nullptr, nullptr);
  EXPECT_EQ(Get("key-a"), "1");
  const int before = policy.asked;
  EXPECT_EQ(Get("key-b"), "NotFound");
  EXPECT_GT(policy.asked, before);
}

TEST_F(LevelDbCompatTest, TheBloomPolicyServesDatabasesAndOtherPolicies) {
  const std::unique_ptr<const FilterPolicy> bloom(NewBloomFilterPolicy(10));
  const Backwards backwards;
  options_.comparator = &backwards;
  options_.filter_policy = bloom.get();
  Open();
  std::string filter_spec;
  EXPECT_TRUE(db_->GetProperty("winnow.filter", &filter_spec));
  EXPECT_EQ(filter_spec, "blocked_bloom:10");

  std::vector<std::string> keys;
  for (int i = 0; i < 10000; i++) keys.push_back("key" + std::to_string(i));
  const std::vector<Slice> slices(keys.begin(), keys.end());
  std::string filter = "before";
  bloom->CreateFilter(slices.data(), static_cast<int>(slices.size()), &filter);
  ASSERT_EQ(filter.compare(0, 6, "before"), 0) << "a filter is appended";
  const Slice built(filter.data() + 6, filter.size() - 6);
  for (const std::string& key : keys) ASSERT_TRUE(bloom->KeyMayMatch(key, built)) << key;
  int positives = 0;
  for (int i = 0; i < 10000; i++) {
    positives += bloom->KeyMayMatch("absent" + std::to_string(i), built) ? 1 : 0;
  }
  // (1 - e^(-7/10))^7 = 0.0082 of 10,000, and six standard deviations of 9 on each side.
  EXPECT_GT(positives, 28);
  EXPECT_LT(positives, 136);
}

TEST_F(LevelDbCompatTest, ACacheIsSharedByDatabasesAndCountsTheirBlocks) {
  const std::unique_ptr<Cache> cache(NewLRUCache(1 << 20));
  options_.block_cache = cache.get();
  Open();
  for (int i = 0; i < 1000; i++) Put("key" + std::to_string(i), std::string(100, 'v'));
  db_->CompactRange(nullptr, nullptr);
  for (int i = 0; i < 1000; i++) EXPECT_NE(Get("key" + std::to_string(i)), "NotFound");
  EXPECT_GT(cache->TotalCharge(), 0U);
  EXPECT_LE(cache->TotalCharge(), size_t{1} << 20);
  db_.reset();
}

TEST_F(LevelDbCompatTest, AnEntryLivesWhileItsHandleIsHeld) {
  static std::string deleted;
  deleted.clear();
  const auto deleter = [](const Slice& key, void*) { deleted += key.ToString(); };
  std::unique_ptr<Cache> cache(NewLRUCache(2));
  int values[4];
  Cache::Handle* held = cache->Insert("a", &values[0], 1, deleter);
  cache->Release(cache->Insert("b", &values[1], 1, deleter));
  cache->Release(cache->Insert("c", &values[2], 1, deleter));
  EXPECT_EQ(deleted, "b");
  EXPECT_EQ(cache->Value(held), &values[0]);
  EXPECT_EQ(cache->TotalCharge(), 2U);
  cache->Erase("a");
  EXPECT_EQ(cache->Lookup("a"), nullptr);
  EXPECT_EQ(deleted, "b");
  cache->Release(held);
  EXPECT_EQ(deleted, "ba");
  cache->Prune();
  EXPECT_EQ(deleted, "bac");
  const uint64_t first_id = cache->NewId();
  EXPECT_LT(first_id, cache->NewId());
  cache->Release(cache->Insert("d", &values[3], 1, deleter));
  cache.reset();
  EXPECT_EQ(deleted, "bacd");
}

TEST_F(LevelDbCompatTest, RepairBringsBackADatabaseWithoutItsManifest) {
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

TEST_F(LevelDbCompatTest, ADatabaseLivesInAProgramsOwnEnv) {
  CountingEnv env;
  options_.env = &env;
  Open();
  Put("k", "v");
  db_->CompactRange(nullptr, nullptr);
  EXPECT_GT(env.created, 2);
  Open();
  EXPECT_EQ(Get("k"), "v");
  db_.reset();
  env.fail_creation = true;
  const Status status = TryOpen();
  EXPECT_TRUE(status.IsIOError()) << status.ToString();
  options_.env = Env::Default();
  Open();
  EXPECT_EQ(Get("k"), "v");
}

TEST(LevelDbCompatEnvTest, FilesLocksThreadsAndTime) {
  Env* env = Env::Default();
  std::string directory;
  ASSERT_TRUE(env->GetTestDirectory(&directory).ok());
  directory += "/winnow_env_" + std::to_string(getpid());
  ASSERT_TRUE(env->CreateDir(directory).ok());
  EXPECT_TRUE(env->CreateDir(directory).IsIOError()) << "it exists";
  const std::string file = directory + "/file";
  ASSERT_TRUE(WriteStringToFile(env, Slice("zero\0byte", 9), file).ok());
  WritableFile* appended = nullptr;
  ASSERT_TRUE(env->NewAppendableFile(file, &appended).ok());
  EXPECT_TRUE(appended->Append("+").ok() && appended->Sync().ok() && appended->Close().ok());
  delete appended;
  std::string content;
  ASSERT_TRUE(ReadFileToString(env, file, &content).ok());
  EXPECT_EQ(content, std::string("zero\0byte+", 10));
  uint64_t size = 0;
  EXPECT_TRUE(env->GetFileSize(file, &size).ok());
  EXPECT_EQ(size, 10U);
  SequentialFile* sequential = nullptr;
  ASSERT_TRUE(env->NewSequentialFile(file, &sequential).ok());
  char scratch[16];
  Slice piece;
  EXPECT_TRUE(sequential->Skip(5).ok());
  EXPECT_TRUE(sequential->Read(16, &piece, scratch).ok());
  EXPECT_EQ(piece.ToString(), "byte+");
  delete sequential;
  RandomAccessFile* random = nullptr;
  ASSERT_TRUE(env->NewRandomAccessFile(file, &random).ok());
  EXPECT_TRUE(random->Read(5, 4, &piece, scratch).ok());
  EXPECT_EQ(piece.ToString(), "byte");
  delete random;
  EXPECT_TRUE(env->NewSequentialFile(directory + "/none", &sequential).IsNotFound());
  EXPECT_EQ(sequential, nullptr);

  FileLock* lock = nullptr;
  FileLock* second = nullptr;
  ASSERT_TRUE(env->LockFile(directory + "/lock", &lock).ok());
  const Status held = env->LockFile(directory + "/lock", &second);
  EXPECT_EQ(held.ToString().rfind("IO error: lock " + directory, 0), 0U) << held.ToString();
  EXPECT_TRUE(env->UnlockFile(lock).ok());
  EXPECT_TRUE(env->RenameFile(file, directory + "/renamed").ok());
  EXPECT_FALSE(env->FileExists(file));
  std::vector<std::string> children;
  EXPECT_TRUE(env->GetChildren(directory, &children).ok());
  std::sort(children.begin(), children.end());
  EXPECT_EQ(children, (std::vector<std::string>{".", "..", "lock", "renamed"})) << "as readdir";
  for (const char* child : {"lock", "renamed"})
    EXPECT_TRUE(env->DeleteFile(directory + "/" + child).ok());
  EXPECT_TRUE(env->RemoveDir(directory).ok());

  std::atomic<int> ran{0};
  const auto run = [](void* counter) { ++*static_cast<std::atomic<int>*>(counter); };
  const uint64_t before = env->NowMicros();
  env->Schedule(run, &ran);
  env->StartThread(run, &ran);
  while (ran < 2) env->SleepForMicroseconds(100);
  EXPECT_GT(env->NowMicros(), before);
}

// --- Directories ---

TEST_F(LevelDbCompatTest, AMissingParentIsNotMadeAndRepairIsNoSuccess) {
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

TEST_F(LevelDbCompatTest, DestroyRemovesAnEmptyDirectory) {
  ASSERT_TRUE(Env::Default()->CreateDir(path_).ok());
  EXPECT_TRUE(DestroyDB(path_, options_).ok());
  EXPECT_FALSE(Env::Default()->FileExists(path_));
}

// LevelDB's programs call RepairDB after a failed Open, and then DestroyDB.
TEST_F(LevelDbCompatTest, ADatabaseOfLevelDbIsRefusedByAllThree) {
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

// --- NewMemEnv ---

TEST_F(LevelDbCompatTest, ADatabaseLivesInMemory) {
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  options_.env = env.get();
  Open();
  for (int i = 0; i < 1000; i++) Put("key" + std::to_string(i), std::string(100, 'v'));
  db_->CompactRange(nullptr, nullptr);
  Put("last", "in the log");
  DB* second = nullptr;
  EXPECT_TRUE(DB::Open(options_, path_, &second).IsIOError()) << "it is open";
  Open();
  EXPECT_EQ(Get("key7"), std::string(100, 'v'));
  EXPECT_EQ(Get("last"), "in the log");
  EXPECT_FALSE(Env::Default()->FileExists(path_));
  db_.reset();
  EXPECT_TRUE(DestroyDB(path_, options_).ok());
  std::vector<std::string> names;
  EXPECT_TRUE(env->GetChildren(path_, &names).ok());
  EXPECT_TRUE(names.empty());
}

TEST(LevelDbCompatMemEnvTest, FilesBehaveAsLevelDbsDo) {
  const std::unique_ptr<Env> env(NewMemEnv(Env::Default()));
  ASSERT_TRUE(WriteStringToFile(env.get(), "hello world", "/dir/f").ok());
  RandomAccessFile* random = nullptr;
  ASSERT_TRUE(env->NewRandomAccessFile("/dir/f", &random).ok());
  const std::unique_ptr<RandomAccessFile> open(random);
  char scratch[32];
  Slice piece;
  EXPECT_TRUE(open->Read(6, 100, &piece, scratch).ok());
  EXPECT_EQ(piece.ToString(), "world");
  EXPECT_FALSE(open->Read(1000, 5, &piece, scratch).ok());
  ASSERT_TRUE(WriteStringToFile(env.get(), "written over", "/dir/f").ok());
  EXPECT_TRUE(open->Read(0, 7, &piece, scratch).ok());
  EXPECT_EQ(piece.ToString(), "written") << "who has it open sees it";
  WritableFile* appended = nullptr;
  ASSERT_TRUE(env->NewAppendableFile("/dir/f", &appended).ok());
  EXPECT_TRUE(appended->Append("!").ok());
  delete appended;
  uint64_t size = 0;
  EXPECT_TRUE(env->GetFileSize("/dir/f", &size).ok());
  EXPECT_EQ(size, 13U);
  EXPECT_TRUE(env->RenameFile("/dir/f", "/dir/g").ok());
  EXPECT_TRUE(env->RenameFile("/dir/f", "/dir/g").IsIOError());
  std::vector<std::string> names;
  EXPECT_TRUE(env->GetChildren("/dir", &names).ok());
  EXPECT_EQ(names, std::vector<std::string>{"g"});
  EXPECT_TRUE(env->RemoveFile("/dir/g").ok());
  EXPECT_TRUE(env->RemoveFile("/dir/g").IsIOError());
  SequentialFile* sequential = nullptr;
  EXPECT_TRUE(env->NewSequentialFile("/dir/g", &sequential).IsIOError());
  EXPECT_TRUE(open->Read(0, 7, &piece, scratch).ok()) << "removed, and still open";
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
