// A compaction out of level 0 is one that a family's writes wait for: it uses every idle thread.
#include <gtest/gtest.h>

#include <random>
#include <set>
#include <thread>

#include "engine/file_system/forwarding_file_system.h"
#include "filter/base/mutex.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// Notes which threads create tables.
class TableWriters final : public ForwardingFileSystem {
 public:
  explicit TableWriters(FileSystem* target) : ForwardingFileSystem(target) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    if (path.ends_with(".sst")) {
      MutexLock lock(&mutex_);
      threads_.insert(std::this_thread::get_id());
    }
    return ForwardingFileSystem::Create(path, options);
  }
  size_t num_threads() {
    MutexLock lock(&mutex_);
    return threads_.size();
  }
  void Forget() {
    MutexLock lock(&mutex_);
    threads_.clear();
  }

 private:
  Mutex mutex_;
  std::set<std::thread::id> threads_ ABSL_GUARDED_BY(mutex_);
};

// Four tables of level 0, each over the whole range, of 12 MiB each.
void FillLevelZero(DB* db, int keys_per_table) {
  std::mt19937_64 random(1);
  std::string value(16 << 10, 'v');
  for (int table = 0; table < 4; table++) {
    for (int i = 0; i < keys_per_table; i++) {
      value[0] = static_cast<char>('0' + table);
      const std::string key = std::to_string(1000000 + i * 4 + (table + i) % 4);
      ASSERT_TRUE(db->Put({}, key, value).ok());
    }
    ASSERT_TRUE(db->Flush().ok());
  }
}

constexpr int kKeysPerTable = 800;

// How many threads wrote the tables of one compaction out of level 0; -1: entries were lost.
int ThreadsOfCompaction(int background_threads) {
  const auto memory = NewMemoryFileSystem();
  TableWriters file_system(memory.get());
  Options options;
  options.file_system = &file_system;
  options.compression = Compression::kNone;
  options.write_buffer_bytes = 64 << 20;
  options.disable_auto_compactions = true;
  auto db = OpenOrFail(options, "/db");
  FillLevelZero(db.get(), kKeysPerTable);
  EXPECT_TRUE(db->Close().ok());
  db.reset();
  file_system.Forget();
  options.disable_auto_compactions = false;
  options.background_threads = background_threads;
  db = OpenOrFail(options, "/db");
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  const int threads = static_cast<int>(file_system.num_threads());
  const auto it = db->NewIterator({});
  int found = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) found++;
  EXPECT_TRUE(it->status().ok()) << it->status();
  return found == 4 * kKeysPerTable ? threads : -1;
}

// One thread is kept for flushes.
TEST(Subcompaction, ACompactionOutOfLevelZeroUsesTheIdleThreads) {
  EXPECT_EQ(ThreadsOfCompaction(2), 1);
  EXPECT_EQ(ThreadsOfCompaction(4), 3);
}

}  // namespace
}  // namespace winnow
