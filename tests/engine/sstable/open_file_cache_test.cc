// How many files are open, which are closed first, and what a file must be when it is opened again.
#include "engine/sstable/open_file_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/internal_key.h"
#include "engine/file_system/forwarding_file_system.h"
#include "engine/sstable/sstable_builder.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// Knows which files are open, and may have only so many descriptors.
class CountingFileSystem final : public ForwardingFileSystem {
 public:
  CountingFileSystem() : ForwardingFileSystem(nullptr), memory_(NewMemoryFileSystem()) {}

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    if (num_open_.fetch_add(1) >= descriptors) {
      num_open_--;
      return absl::ResourceExhaustedError(absl::StrCat(path, ": open: Too many open files"));
    }
    const int now = num_open_;
    int most = most_open_;
    while (most < now && !most_open_.compare_exchange_weak(most, now)) {
    }
    num_opened_++;
    auto file = memory_->OpenRandomAccess(path);
    if (!file.ok()) {
      num_open_--;
      return file;
    }
    return std::make_unique<CountedFile>(*std::move(file), this);
  }

  FileSystem& memory() { return *memory_; }
  int num_open() const { return num_open_; }
  int most_open() const { return most_open_; }
  int num_opened() const { return num_opened_; }

  std::atomic<int> descriptors{1 << 20};
  // Called once, by the next read while it reads.
  std::function<void()> during_read;

 private:
  class CountedFile final : public RandomAccessFile {
   public:
    CountedFile(std::unique_ptr<RandomAccessFile> file, CountingFileSystem* files)
        : file_(std::move(file)), files_(*files) {}
    ~CountedFile() override { files_.num_open_--; }
    absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
      if (files_.during_read) std::exchange(files_.during_read, nullptr)();
      return file_->Read(offset, length, buffer);
    }
    uint64_t size() const override { return file_->size(); }

   private:
    const std::unique_ptr<RandomAccessFile> file_;
    CountingFileSystem& files_;
  };

  const std::unique_ptr<FileSystem> memory_;
  std::atomic<int> num_open_{0};
  std::atomic<int> most_open_{0};
  std::atomic<int> num_opened_{0};
};

class OpenFiles : public testing::Test {
 protected:
  static std::string Path(size_t i) { return absl::StrCat("/", i); }
  static char Letter(size_t i) { return static_cast<char>('a' + i % 26); }

  void Write(size_t i, std::string_view bytes) {
    auto file = *files_.memory().Create(Path(i), {});
    ASSERT_TRUE(file->Append(bytes).ok());
    ASSERT_TRUE(file->Close().ok());
  }
  void Open(size_t limit, size_t count) {
    cache_ = std::make_unique<OpenFileCache>(limit);
    for (size_t i = 0; i < count; i++) {
      Write(i, std::string(100, Letter(i)));
      auto file = cache_->Open(&files_, Path(i), 0);
      ASSERT_TRUE(file.ok()) << file.status();
      tables_.push_back(*std::move(file));
    }
  }
  absl::Status Read(size_t i) const {
    char bytes[10];
    const auto read = tables_[i]->Read(50, sizeof(bytes), bytes);
    if (!read.ok()) return read.status();
    EXPECT_EQ(std::string_view(bytes, *read), std::string(10, Letter(i)));
    return absl::OkStatus();
  }

  CountingFileSystem files_;
  std::unique_ptr<OpenFileCache> cache_;
  std::vector<std::unique_ptr<RandomAccessFile>> tables_;
};

TEST_F(OpenFiles, AreNeverMoreThanTheLimit) {
  Open(8, 50);
  EXPECT_EQ(cache_->num_open(), 8u);
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; i++) ASSERT_TRUE(Read(random() % 50).ok());
  EXPECT_EQ(files_.most_open(), 8);
  EXPECT_EQ(tables_[7]->size(), 100u);
  tables_.clear();
  EXPECT_EQ(files_.num_open(), 0);
  EXPECT_EQ(cache_->num_open(), 0u);
}

TEST_F(OpenFiles, ThatAreReadOftenStayOpen) {
  Open(8, 50);
  for (size_t i = 10; i < 50; i++) {
    ASSERT_TRUE(Read(3).ok());
    ASSERT_TRUE(Read(i).ok());
  }
  const int before = files_.num_opened();
  ASSERT_TRUE(Read(3).ok());
  EXPECT_EQ(files_.num_opened(), before);
}

TEST_F(OpenFiles, GiveUpTheirDescriptorsWhereTheProcessHasNoneLeft) {
  Open(40, 50);
  files_.descriptors = 10;
  for (size_t i = 0; i < 50; i++) ASSERT_TRUE(Read(i).ok());
  EXPECT_EQ(files_.num_open(), 10);
  files_.descriptors = 0;
  absl::Status status;
  for (size_t i = 0; i < 50 && status.ok(); i++) status = Read(i);
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  files_.descriptors = 1;
  for (size_t i = 0; i < 50; i++) ASSERT_TRUE(Read(i).ok());
}

// The coldest one gives its descriptor only when it has been read; another one can at once.
TEST_F(OpenFiles, GiveUpAnIdleOneWhereTheColdestIsBeingRead) {
  Open(2, 3);
  cache_->SetLimit(8);
  files_.descriptors = 2;
  absl::Status beside;
  files_.during_read = [&] { beside = Read(0); };
  ASSERT_TRUE(Read(1).ok());
  EXPECT_TRUE(beside.ok()) << beside;
  EXPECT_EQ(files_.num_opened(), 4);
}

// "Not found" would be taken for the answer of a look-up.
TEST_F(OpenFiles, ThatAreGoneOrShorterAreDataLoss) {
  Open(1, 3);
  ASSERT_TRUE(files_.memory().Remove(Path(0)).ok());
  Write(1, std::string(99, Letter(1)));
  ASSERT_TRUE(Read(2).ok());
  EXPECT_TRUE(absl::IsDataLoss(Read(0))) << Read(0);
  EXPECT_TRUE(absl::StrContains(Read(0).message(), "/0: is gone")) << Read(0);
  EXPECT_TRUE(absl::IsDataLoss(Read(1))) << Read(1);
  EXPECT_TRUE(absl::StrContains(Read(1).message(), "/1: has 99 bytes")) << Read(1);
  EXPECT_TRUE(Read(2).ok());
}

// Sound, of the same size, and wrong.
TEST_F(OpenFiles, ThatAreAnotherTableAreDataLoss) {
  std::vector<SstableSummary> built;
  for (const size_t i : {0, 1}) {
    SstableBuilder builder({}, *files_.memory().Create(Path(i), {}), Path(i));
    ASSERT_TRUE(builder.Add(MakeInternalKey("key", 1, EntryType::kPut), "value").ok());
    built.push_back(*builder.Finish());
  }
  ASSERT_EQ(built[0].file_bytes, built[1].file_bytes);
  Open(1, 0);
  tables_.push_back(*cache_->Open(&files_, Path(0), built[0].file_id));
  tables_.push_back(*cache_->Open(&files_, Path(1), built[1].file_id));
  char byte;
  EXPECT_TRUE(tables_[0]->Read(0, 1, &byte).ok());  // opened again, and still itself
  EXPECT_TRUE(tables_[1]->Read(0, 1, &byte).ok());
  ASSERT_TRUE(files_.memory().Rename(Path(1), Path(0)).ok());
  const absl::Status status = tables_[0]->Read(0, 1, &byte).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "another file")) << status;
}

TEST_F(OpenFiles, AreReadByManyThreadsWhileTheyAreClosed) {
  constexpr size_t kThreads = 4;
  constexpr size_t kLimit = 4;
  Open(kLimit, 20);
  std::vector<std::thread> threads;
  for (size_t thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      std::mt19937_64 random(thread);
      for (int i = 0; i < 3000; i++) ASSERT_TRUE(Read(random() % 20).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Each thread may be reading from one that was taken from the open ones, and be opening another.
  EXPECT_LE(files_.most_open(), static_cast<int>(kLimit + 2 * kThreads));
  EXPECT_EQ(cache_->num_open(), static_cast<size_t>(files_.num_open()));
}

}  // namespace
}  // namespace winnow
