// LevelDB's Env on Winnow: the default one, a program's own, and one in memory.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "engine/compat/leveldb/conversions.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/helpers/memenv.h"
#include "tests/engine/compat/leveldb_compat_fixture.h"

namespace leveldb {
namespace {

using LevelDbCompatDatabaseInEnvTest = LevelDbCompatTest;

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

// For a process of its own, as a user whose limit of threads counts.
[[noreturn]] void RunFunctionsWithoutThreads() {
  if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(2);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(3);
  const rlimit none{.rlim_cur = 0, .rlim_max = limit.rlim_max};
  if (::setrlimit(RLIMIT_NPROC, &none) != 0) ::_exit(4);
  static std::atomic<int> num_run{0};
  const auto count = [](void*) { num_run++; };
  Env::Default()->Schedule(count, nullptr);
  Env::Default()->StartThread(count, nullptr);
  if (num_run != 0) ::_exit(5);  // in this thread, or the limit does not count
  if (::setrlimit(RLIMIT_NPROC, &limit) != 0) ::_exit(6);
  Env::Default()->Schedule(count, nullptr);
  for (int i = 0; i < 10'000 && num_run < 3; i++) Env::Default()->SleepForMicroseconds(1000);
  ::_exit(num_run == 3 ? 0 : 7);
}

TEST(LevelDbCompatEnvTest, FunctionsWaitWhereTheSystemHasNoThreadToGive) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become a user who has no other threads";
  // Started anew, so that no earlier test has begun the Env's thread.
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(RunFunctionsWithoutThreads(), testing::ExitedWithCode(0), "");
}

TEST_F(LevelDbCompatDatabaseInEnvTest, ADatabaseLivesInAProgramsOwnEnv) {
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

// Without descriptors, say.
class UnableToList : public EnvWrapper {
 public:
  UnableToList() : EnvWrapper(Env::Default()) {}
  Status GetChildren(const std::string& directory, std::vector<std::string>* names) override {
    if (fails) return Status::IOError(directory, "Too many open files");
    return EnvWrapper::GetChildren(directory, names);
  }
  bool fails = false;
};

TEST_F(LevelDbCompatDatabaseInEnvTest, ADirectoryThatCannotBeListedIsNoDamage) {
  UnableToList env;
  options_.env = &env;
  Open();
  Put("k", "v");
  db_.reset();
  env.fails = true;
  const Status unable = TryOpen();
  EXPECT_TRUE(unable.IsIOError()) << unable.ToString();
  EXPECT_FALSE(DestroyDB(path_, options_).ok());
  env.fails = false;
  Open();
  EXPECT_EQ(Get("k"), "v");
  options_.env = Env::Default();
  Open();
}

TEST_F(LevelDbCompatDatabaseInEnvTest, ADatabaseLivesInMemory) {
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

// Files whose first append fails and whose later ones would not.
class EnvOfFailingFiles : public EnvWrapper {
 public:
  EnvOfFailingFiles() : EnvWrapper(Env::Default()) {}
  Status NewWritableFile(const std::string& /*name*/, WritableFile** result) override {
    *result = new FailingFile(&appends);
    return Status::OK();
  }
  int appends = 0;

 private:
  class FailingFile : public WritableFile {
   public:
    explicit FailingFile(int* appends) : appends_(*appends) {}
    Status Append(const Slice& /*data*/) override {
      return appends_++ == 0 ? Status::IOError("file", "as asked") : Status::OK();
    }
    Status Close() override { return Status::OK(); }
    Status Flush() override { return Status::OK(); }
    Status Sync() override { return Status::OK(); }

   private:
    int& appends_;
  };
};

TEST(LevelDbCompatEnvTest, NothingIsAppendedBehindWhatIsMissing) {
  EnvOfFailingFiles env;
  const std::unique_ptr<winnow::FileSystem> files = WrapEnv(&env);
  const auto file = *files->Create("/file", {});
  const absl::Status first = file->Append("a");
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(file->Append("b"), first);
  EXPECT_EQ(env.appends, 1);
  EXPECT_EQ(file->size(), 0u);
}

}  // namespace
}  // namespace leveldb
