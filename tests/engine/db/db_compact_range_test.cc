// CompactRange: which keys it takes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <string_view>
#include <thread>

#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(DbMaintenance, ACompactionOfPartOfTheRangeLeavesTheRestWhereItIs) {
  MemoryDb db;
  for (const char* key : {"a", "b"}) db.Put(key, "1");
  db.CompactAll();
  for (const char* key : {"x", "y"}) db.Put(key, "1");
  db.Flush();
  ASSERT_TRUE(db->CompactRange("a", "c").ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "1");
  ASSERT_TRUE(db->CompactRange("x", std::nullopt).ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "0");
  for (const char* key : {"a", "b", "x", "y"}) EXPECT_EQ(db.Get(key), "1");
}

// Knows keys of eight bytes only, as comparators of numbers do.
class FixedWidthComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "fixed-width"; }
  int Compare(std::string_view a, std::string_view b) const override {
    EXPECT_EQ(a.size(), 8u);
    EXPECT_EQ(b.size(), 8u);
    return a.compare(b);
  }
};

// An end that is open was once compared as the empty key, which such a comparator does not survive.
TEST(DbMaintenance, CompactRangeWithOpenEndsComparesKeysOnly) {
  const FixedWidthComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 100; i++) db.Put(absl::StrFormat("%08d", i), std::to_string(round));
    db.Flush();
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, "00000050").ok());
  ASSERT_TRUE(db->CompactRange("00000050", std::nullopt).ok());
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_EQ(db.Get("00000099"), "2");
  db.CloseDb();  // before its comparator
}

// A Put of 19 seconds was seen: level 0 filled, and nothing but the range's compaction made room.
TEST(DbMaintenance, WritesGoOnBesideACompactRange) {
  Options options = MemoryDb::Quiet();
  options.background_threads = 2;
  options.disable_auto_compactions = false;
  options.level0_compaction_trigger = 2;
  options.level0_slowdown_trigger = options.level0_stop_trigger = 6;
  MemoryDb db(options);
  db.Put("a", "1");
  db.Flush();
  std::promise<void> compacting;
  std::promise<void> written;
  std::shared_future<void> may_end = written.get_future().share();
  std::atomic<std::thread::id> caller{};
  bool writes_waited = false;
  db.file_system().set_error_hook([&](const FileOperation& operation) {
    if (operation.kind != FileOperation::Kind::kCreate || !operation.path.ends_with(".sst") ||
        std::this_thread::get_id() != caller) {
      return absl::OkStatus();
    }
    compacting.set_value();
    writes_waited = may_end.wait_for(std::chrono::seconds(20)) == std::future_status::timeout;
    return absl::OkStatus();
  });
  std::thread compaction([&] {
    caller = std::this_thread::get_id();
    EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  });
  compacting.get_future().wait();
  for (int i = 0; i < 20; i++) {
    db.Put("a", std::to_string(i));
    db.Flush();
  }
  written.set_value();
  compaction.join();
  EXPECT_FALSE(writes_waited);
  EXPECT_EQ(db.Get("a"), "19");
  db.file_system().set_error_hook(nullptr);
}

}  // namespace
}  // namespace winnow
