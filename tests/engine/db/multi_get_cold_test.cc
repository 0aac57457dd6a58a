// A batch whose blocks lie on a slow disk has them fetched side by side.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <mutex>
#include <thread>

#include "absl/strings/str_format.h"
#include "engine/base/status.h"
#include "engine/file_system/forwarding_file_system.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

// Reads of tables take a millisecond once it is told so; notes what was read and what prefetched.
class SlowDisk final : public ForwardingFileSystem {
 public:
  explicit SlowDisk(FileSystem* target) : ForwardingFileSystem(target) {}

  using Range = std::pair<uint64_t, size_t>;

  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    WINNOW_ASSIGN_OR_RETURN(auto file, ForwardingFileSystem::OpenRandomAccess(path));
    if (!path.ends_with(".sst")) return file;
    return std::make_unique<File>(std::move(file), this);
  }

  std::atomic<bool> is_slow{false};
  std::mutex mutex;
  std::vector<Range> reads;       // while it is slow
  std::vector<Range> prefetches;  // in their order

 private:
  class File final : public RandomAccessFile {
   public:
    File(std::unique_ptr<RandomAccessFile> file, SlowDisk* disk)
        : file_(std::move(file)), disk_(*disk) {}
    absl::StatusOr<size_t> Read(uint64_t offset, size_t length, char* buffer) const override {
      if (disk_.is_slow) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        const std::lock_guard<std::mutex> lock(disk_.mutex);
        disk_.reads.emplace_back(offset, length);
      }
      return file_->Read(offset, length, buffer);
    }
    uint64_t size() const override { return file_->size(); }
    void Prefetch(uint64_t offset, size_t length) const override {
      const std::lock_guard<std::mutex> lock(disk_.mutex);
      disk_.prefetches.emplace_back(offset, length);
    }

   private:
    const std::unique_ptr<RandomAccessFile> file_;
    SlowDisk& disk_;
  };
};

std::string ColdKey(int number) { return absl::StrFormat("key%06d", number); }

TEST(MultiGetCold, TheBlocksAfterOneThatWaitedArePrefetchedExactly) {
  constexpr int kKeys = 2000;
  const auto memory = NewMemoryFileSystem();
  SlowDisk disk(memory.get());
  Options options = MemoryDb::Quiet();
  options.file_system = &disk;
  options.block_bytes = 512;
  const auto db = OpenOrFail(options, "/db");
  const std::string value(100, 'v');
  for (int i = 0; i < kKeys; i++) ASSERT_TRUE(db->Put({}, ColdKey(i), value).ok());
  ASSERT_TRUE(db->Flush().ok());

  std::vector<std::string> keys;
  for (int i = 0; i < 20; i++) keys.push_back(ColdKey(i * 100));  // in blocks of their own
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(keys.size());
  std::vector<absl::Status> statuses(keys.size());
  disk.is_slow = true;
  db->MultiGet({}, views, values, statuses);
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_TRUE(statuses[i].ok()) << statuses[i];
    EXPECT_EQ(values[i].view(), value);
  }
  // The first is waited for; the others are on their way while it, and each other, is.
  ASSERT_EQ(disk.reads.size(), 20u);
  EXPECT_EQ(disk.prefetches, std::vector(disk.reads.begin() + 1, disk.reads.end()));

  // In the cache now: nothing is left to be fetched.
  disk.prefetches.clear();
  db->MultiGet({}, views, values, statuses);
  EXPECT_EQ(disk.reads.size(), 20u);
  EXPECT_TRUE(disk.prefetches.empty());
}

}  // namespace
}  // namespace winnow
