// What one large value takes in memory on its way down: three times its size at most, whichever job
// moves it.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <thread>

#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

constexpr size_t kLargeValueBytes = size_t{64} << 20;
constexpr size_t kSmallThings = size_t{8} << 20;

// Of which codecs save a fifth: both of its forms are large.
std::string ValueThatShrinksALittle() {
  std::string value(kLargeValueBytes, 'v');
  std::mt19937_64 random(1);
  for (size_t page = 0; page < kLargeValueBytes; page += 4096) {
    for (size_t at = page; at < page + 3200; at += sizeof(uint64_t)) {
      const uint64_t bytes = random();
      std::memcpy(value.data() + at, &bytes, sizeof(bytes));
    }
  }
  return value;
}

class LargeValueMemory : public testing::Test {
 protected:
  void Open(Compression compression) {
    Options options = MemoryDb::Quiet();
    options.compression = compression;
    options.write_buffer_bytes = kLargeValueBytes * 5 / 4;
    db_ = OpenOrFail(options, directory_.path() + "/db");
    before_ = HeldBytes();
  }

  void Step(const char* name, const std::function<absl::Status()>& step) {
    ResetMostHeldBytes();
    const absl::Status status = step();
    ASSERT_TRUE(status.ok()) << name << ": " << status;
    EXPECT_LE(MostHeldBytes(), before_ + 3 * kLargeValueBytes + kSmallThings) << name;
  }
  void Put(std::string_view key, std::string_view value) {
    Step("Put", [&] { return db_->Put(WriteOptions(), key, value); });
  }
  void Flush() {
    Step("Flush", [&] { return db_->Flush(); });
  }

  // A memtable is freed by whichever thread was the last to need it, a moment after its flush.
  void AwaitReturn() {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (HeldBytes() > before_ + kSmallThings && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
    }
    EXPECT_LE(HeldBytes(), before_ + kSmallThings);
  }

  uint64_t TableBytes() const {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path() + "/db")) {
      if (entry.path().extension() == ".sst") bytes += entry.file_size();
    }
    return bytes;
  }

  const ScratchDirectory directory_{"large-value-memory"};
  std::unique_ptr<DB> db_;
  size_t before_ = 0;  // held
};

TEST_F(LargeValueMemory, IsThreeTimesItsSizeAtMost) {
  const std::string value = ValueThatShrinksALittle();
  for (const Compression compression :
       {Compression::kNone, Compression::kSnappy, Compression::kLz4, Compression::kZstd}) {
    SCOPED_TRACE(static_cast<int>(compression));
    Open(compression);
    ASSERT_NE(db_, nullptr);
    // Two tables that overlap, so that the compaction has to write what it reads.
    Put("a", "1");
    Put("large", value);
    Put("z", "1");
    Flush();
    AwaitReturn();
    Put("m", "1");
    Flush();
    const bool is_compressed = compression != Compression::kNone;
    EXPECT_EQ(TableBytes() < kLargeValueBytes * 7 / 8, is_compressed);
    Step("CompactRange", [&] { return db_->CompactRange(std::nullopt, std::nullopt); });
    AwaitReturn();
    EXPECT_GT(db_->GetStatistics().Get(Ticker::kCompactionBytesWritten), kLargeValueBytes / 2);
    std::string read;
    ASSERT_TRUE(db_->Get(ReadOptions(), "large", &read).ok());
    EXPECT_TRUE(read == value);
    ASSERT_TRUE(db_->Close().ok());
    db_.reset();
    std::filesystem::remove_all(directory_.path() + "/db");
  }
}

}  // namespace
}  // namespace winnow
