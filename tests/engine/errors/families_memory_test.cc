// What the heap holds of column families, of which a database may have thousands, and of those that
// were dropped: README.md, "Limits".
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/hazard_slot.h"
#include "engine/statistics/recorder.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

constexpr size_t kManyFamilies = 1000;

size_t ResidentBytes() {
  size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

// What one of many families takes now more than before.
class FamilyMemory {
 public:
  // The least of some looks: a background thread holds lists of all families for a moment now and
  // then.
  size_t heap_bytes() const {
    size_t least = AllocatedBytes();
    for (int i = 0; i < 20; i++) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      least = std::min(least, AllocatedBytes());
    }
    return (least - allocated_) / kManyFamilies;
  }
  size_t resident_bytes() const {
    return (std::max(ResidentBytes(), resident_) - resident_) / kManyFamilies;
  }

 private:
  const size_t allocated_ = AllocatedBytes();
  const size_t resident_ = ResidentBytes();
};

std::vector<ColumnFamily*> CreateManyFamilies(
    DB* db, const ColumnFamilyOptions& options = ColumnFamilyOptions()) {
  std::vector<ColumnFamily*> families;
  families.reserve(kManyFamilies);
  for (size_t i = 0; i < kManyFamilies; i++) {
    const auto family = db->CreateColumnFamily(options, absl::StrCat("family", i));
    EXPECT_TRUE(family.ok()) << family.status();
    EXPECT_TRUE(db->Put(WriteOptions(), *family, "key", "value").ok());
    families.push_back(*family);
  }
  return families;
}

// What is there once is there before: views and tables of none.
void CreateAndDropOneFamily(DB* db) {
  const auto family = db->CreateColumnFamily(ColumnFamilyOptions(), "one");
  ASSERT_TRUE(family.ok()) << family.status();
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(*family).ok());
  ASSERT_TRUE(db->DropColumnFamily(*family).ok());
}

void DropFamiliesOf(DB* db) {
  for (ColumnFamily* family : db->ColumnFamilies()) {
    if (family != db->DefaultColumnFamily()) {
      ASSERT_TRUE(db->DropColumnFamily(family).ok());
    }
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
}

// Of one that was dropped its options and a view of its own once stayed, and a place in each list
// that had ever had a memtable or a table of it: 1.3 KiB.
TEST(MemoryOfFamilies, OfOneKeyAndWhatStaysOfThem) {
  const ScratchDirectory directory("families-memory");
  Options options;
  std::unique_ptr<DB> db = OpenOrFail(options, directory.path());
  ASSERT_NE(db, nullptr);
  CreateAndDropOneFamily(db.get());
  const FamilyMemory memory;
  const std::vector<ColumnFamily*> families = CreateManyFamilies(db.get());
  EXPECT_LE(memory.heap_bytes(), 3600u);
  DropFamiliesOf(db.get());
  EXPECT_LE(memory.heap_bytes(), 1024u);

  // The same where each has had a table and a look-up in it.
  for (ColumnFamily* family : CreateManyFamilies(db.get())) {
    ASSERT_TRUE(db->Flush(family).ok());
    std::string value;
    ASSERT_TRUE(db->Get(ReadOptions(), family, "key", &value).ok());
  }
  DropFamiliesOf(db.get());
  EXPECT_LE(memory.heap_bytes(), 2u * 1024u);
  EXPECT_EQ(families.front()->name(), "family0") << "handles stay valid";

  CreateManyFamilies(db.get());
  ASSERT_TRUE(db->Close().ok());
  db.reset();
  db = OpenOrFail(options, directory.path());
  ASSERT_NE(db, nullptr);
  EXPECT_LE(memory.heap_bytes(), 6000u);
  DropFamiliesOf(db.get());
  EXPECT_LE(memory.heap_bytes(), 1024u);
}

// The memtable's filter, which is made for a full one, once lay on the heap with 84 KiB of zeros.
TEST(MemoryOfFamilies, OfOneKeyWhateverTheirWriteBuffers) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "a sanitizer's own allocator keeps more";
#endif
  for (const size_t kibibytes : {4096, 1024, 400, 64, 65536}) {
    const ScratchDirectory directory("families-memory");
    const std::unique_ptr<DB> db = OpenOrFail(Options(), directory.path());
    ASSERT_NE(db, nullptr);
    CreateAndDropOneFamily(db.get());
    const FamilyMemory memory;
    ColumnFamilyOptions options;
    options.write_buffer_bytes = kibibytes << 10;
    CreateManyFamilies(db.get(), options);
    EXPECT_LE(memory.resident_bytes(), 14u << 10) << kibibytes;
  }
}

// A thread's table of each family that it had ever counted for once stayed until the thread ended.
TEST(MemoryOfFamilies, FilterCountersOfFamiliesThatComeAndGo) {
  Recorder recorder;
  const auto count = [&](uint32_t family) {
    for (const FilterCall call : {FilterCall::kGet, FilterCall::kSeek}) {
      recorder.Local().Filters(family, call).At(0, 3)->rejected.Increment();
    }
  };
  count(0);
  const size_t before = AllocatedBytes();
  constexpr uint32_t kLiveAtOnce = 10;
  std::thread another([&] {
    for (uint32_t family = 1; family <= 5000; family++) {
      count(family);
      if (family > kLiveAtOnce) recorder.ForgetFamily(family - kLiveAtOnce);
    }
    EXPECT_LE(AllocatedBytes() - before, 32u << 10);
    EXPECT_EQ(recorder.Sum().filters.size(), 2 * (1 + kLiveAtOnce));
  });
  another.join();
  EXPECT_EQ(recorder.Sum().filters.size(), 2 * (1 + kLiveAtOnce)) << "ended threads count";
}

// A comparator may look up in other families, in the middle of a look-up, and drop them.
TEST(MemoryOfFamilies, FilterCountersStayWhileACallCountsInThem) {
  Recorder recorder;
  const int view = 0;
  const std::atomic<const int*> present{&view};
  HazardGuard outer(HazardSlot::kReadView);
  outer.Announce(present);
  FilterCounterTable& table = recorder.Local().Filters(1, FilterCall::kGet);
  const size_t before = AllocatedBytes();
  recorder.ForgetFamily(1);
  for (uint32_t family = 2; family < 100; family++) {
    const HazardGuard inner(HazardSlot::kReadView);
    recorder.Local().Filters(family, FilterCall::kGet);
    recorder.ForgetFamily(family);
  }
  EXPECT_GT(AllocatedBytes(), before) << "and nothing is freed";
  EXPECT_EQ(&recorder.Local().Filters(1, FilterCall::kGet), &table);
  table.At(0, 3)->rejected.Increment();
  EXPECT_TRUE(recorder.Sum().filters.empty()) << "of dropped families";
}

}  // namespace
}  // namespace winnow
