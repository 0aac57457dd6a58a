// Dropping a column family, and closing the database, in the middle of a compaction, which is of no
// use then: it ends soon, however large the values are and however few of them it writes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <string>
#include <thread>

#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr uint64_t kBytesToCompact = uint64_t{32} << 20;
constexpr uint64_t kWhatIsSoon = uint64_t{4} << 20;

class EndOfCompaction : public testing::Test {
 protected:
  EndOfCompaction() {
    Options options = MemoryDb::Quiet();
    options.write_buffer_bytes = 4 * kBytesToCompact;
    family_ = *db_->CreateColumnFamily(options, "compacted");
  }

  void Put(const std::string& key, std::string_view value) {
    ASSERT_TRUE(db_->Put(WriteOptions(), family_, key, value).ok());
  }
  void Flush() { ASSERT_TRUE(db_->Flush(family_).ok()); }
  // From "k" on, in one table.
  void Fill(uint64_t value_bytes) {
    const std::string value(value_bytes, 'v');
    for (uint64_t i = 0; i * value_bytes < kBytesToCompact; i++) {
      Put(absl::StrFormat("k%06d", i), value);
    }
    Flush();
  }

  // Calls `end` at the compaction's first operation of this kind on a table, and returns how many
  // bytes it moves by further ones from the moment on at which `end` has begun: when calls are
  // refused. `delay`: of each of those.
  uint64_t BytesAfter(FileOperation::Kind kind, const std::function<absl::Status()>& end,
                      std::chrono::milliseconds delay = {}) {
    std::latch is_compacting(1);
    std::latch has_begun(1);
    std::atomic<bool> is_first{true};
    std::atomic<uint64_t> bytes{0};
    db_.file_system().set_error_hook([&](const FileOperation& operation) {
      if (operation.kind != kind || !operation.path.ends_with(".sst")) return absl::OkStatus();
      if (is_first.exchange(false)) {
        is_compacting.count_down();
        has_begun.wait();
      } else {
        bytes += operation.length;
        std::this_thread::sleep_for(delay);
      }
      return absl::OkStatus();
    });
    std::thread compaction(
        [&] { db_->CompactRange(family_, std::nullopt, std::nullopt).IgnoreError(); });
    is_compacting.wait();
    std::thread ending([&] {
      const absl::Status status = end();
      EXPECT_TRUE(status.ok()) << status;
    });
    while (db_->NewIterator(ReadOptions(), family_)->status().ok()) std::this_thread::yield();
    has_begun.count_down();
    ending.join();
    compaction.join();
    db_.file_system().set_error_hook(nullptr);
    return bytes;
  }
  uint64_t BytesAfterDrop(FileOperation::Kind kind) {
    return BytesAfter(kind, [&] { return db_->DropColumnFamily(family_); });
  }

  MemoryDb db_;
  ColumnFamily* family_ = nullptr;
};

// Flags were once looked at for each 1,024 entries.
TEST_F(EndOfCompaction, IsSoonAfterADropWhereValuesAreLarge) {
  Fill(uint64_t{1} << 20);
  Put("k000000a", "overlaps");
  Flush();
  EXPECT_LE(BytesAfterDrop(FileOperation::Kind::kAppend), kWhatIsSoon);
}

// And not at all while there was nothing to write.
TEST_F(EndOfCompaction, IsSoonAfterADropWhereLargeValuesAreDeleted) {
  Put("z", "stays");
  Fill(uint64_t{1} << 20);
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), family_, "k", "y").ok());
  Flush();
  EXPECT_LE(BytesAfterDrop(FileOperation::Kind::kRead), kWhatIsSoon);
}

TEST_F(EndOfCompaction, IsSoonAfterADropWhereSmallValuesAreDeleted) {
  Put("z", "stays");
  Fill(200);
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), family_, "k", "y").ok());
  Flush();
  EXPECT_LE(BytesAfterDrop(FileOperation::Kind::kRead), kWhatIsSoon);
}

// Calls are refused a moment before the compaction is told, which the delay leaves time for.
TEST_F(EndOfCompaction, IsSoonAfterAClose) {
  Fill(uint64_t{1} << 20);
  Put("k000000a", "overlaps");
  Flush();
  const auto close = [&] { return db_->Close(); };
  EXPECT_LE(BytesAfter(FileOperation::Kind::kAppend, close, std::chrono::milliseconds(50)),
            kBytesToCompact / 2);
}

}  // namespace
}  // namespace winnow
