// What a flush writes of its memtables.
#include "engine/compaction/flush_job.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

class FlushJobTest : public testing::Test {
 protected:
  FlushJobTest() {
    EXPECT_TRUE(file_system_->CreateDirectories("/db").ok());
    job_.output.store = {file_system_.get(), "/db", nullptr};
    job_.output.new_file_number = [this] { return next_file_number_++; };
  }

  static void Add(Memtable* memtable, SequenceNumber sequence, EntryType type,
                  const std::string& key) {
    memtable->Add(sequence, type, key, "v" + std::to_string(sequence));
  }
  bool Exists(uint64_t number) { return *file_system_->Exists(SstableFileName("/db", number)); }

  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  const InternalKeyComparator comparator_{BytewiseComparator()};
  Memtable older_{comparator_, {1 << 16, 0}};
  Memtable newer_{comparator_, {1 << 16, 0}};
  uint64_t next_file_number_ = 7;
  FlushJobOptions job_;
};

TEST_F(FlushJobTest, MergesMemtablesAndDropsWhatNobodyCanSee) {
  Add(&older_, 1, EntryType::kPut, "a");
  Add(&older_, 2, EntryType::kPut, "b");
  Add(&newer_, 3, EntryType::kPut, "a");
  Add(&newer_, 4, EntryType::kDelete, "b");
  SstableOutputResult result;
  const std::vector<const Memtable*> memtables = {&older_, &newer_};
  ASSERT_TRUE(RunFlush(memtables, job_, &result).ok());
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files[0].num_entries, 2u) << "the newest version of each key";
  EXPECT_EQ(result.files[0].num_deletions, 1u) << "tombstones hide what lies below";
  EXPECT_EQ(result.files[0].smallest_sequence, 3u);
  EXPECT_EQ(result.files[0].largest_sequence, 4u);
  EXPECT_TRUE(Exists(7));
}

TEST_F(FlushJobTest, KeepsWhatASnapshotSees) {
  Add(&older_, 1, EntryType::kPut, "a");
  Add(&newer_, 3, EntryType::kPut, "a");
  job_.snapshots = {2};
  SstableOutputResult result;
  const std::vector<const Memtable*> memtables = {&older_, &newer_};
  ASSERT_TRUE(RunFlush(memtables, job_, &result).ok());
  EXPECT_EQ(result.files[0].num_entries, 2u);
}

// Notes what it is shown, and drops values of keys that begin with "x".
class NotingCollectors final : public EntryCollectorFactory {
 public:
  uint64_t Now() const override { return 0; }
  bool EveryEntryRemoves() const override { return false; }
  std::unique_ptr<EntryCollector> NewCollector(const Collection& collection) override {
    settled = collection.settled;
    return std::make_unique<Collector>(&shown);
  }
  bool MayPart(std::string_view, std::string_view) const override { return true; }
  std::string_view WalkBoundary(std::string_view user_key) const override { return user_key; }

  SequenceNumber settled = 0;
  std::string shown;

 private:
  class Collector final : public EntryCollector {
   public:
    explicit Collector(std::string* shown) : shown_(*shown) {}
    Decision Decide(std::string_view user_key, SequenceNumber sequence, std::string_view) override {
      absl::StrAppend(&shown_, std::string(user_key), "@", sequence, " ");
      return user_key.starts_with('x') ? Decision::kDelete : Decision::kKeep;
    }

   private:
    std::string& shown_;
  };
};

TEST_F(FlushJobTest, ShowsTheCollectorWhatEverySnapshotSees) {
  Add(&older_, 1, EntryType::kPut, "a");
  Add(&older_, 2, EntryType::kPut, "x1");
  Add(&older_, 3, EntryType::kDelete, "c");
  Add(&newer_, 4, EntryType::kPut, "a");
  Add(&newer_, 5, EntryType::kPut, "x2");
  Add(&newer_, 6, EntryType::kPut, "a");
  Add(&newer_, 7, EntryType::kPut, "x3");
  NotingCollectors collectors;
  job_.collectors = &collectors;
  job_.moment = {.time = 0, .sequence = 7, .first_unflushed = 8};
  job_.version = std::make_shared<Version>(comparator_, std::array<Version::Files, kNumLevels>());
  job_.snapshots = {5};
  SstableOutputResult result;
  const std::vector<const Memtable*> memtables = {&older_, &newer_};
  ASSERT_TRUE(RunFlush(memtables, job_, &result).ok());
  EXPECT_EQ(collectors.shown, "a@4 x1@2 x2@5 ");
  EXPECT_EQ(collectors.settled, 5u);
  EXPECT_EQ(result.entries_collected, 2u);
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files[0].num_entries, 6u);
  EXPECT_EQ(result.files[0].num_deletions, 3u) << "something older may lie below what was dropped";
}

TEST_F(FlushJobTest, LeavesNothingBehindWhenItIsCancelled) {
  for (SequenceNumber i = 1; i <= 5000; i++) {
    Add(&older_, i, EntryType::kPut, std::to_string(i));
  }
  const std::atomic<bool> cancelled{true};
  job_.output.cancelled = {&cancelled};
  SstableOutputResult result;
  const std::vector<const Memtable*> memtables = {&older_};
  EXPECT_TRUE(absl::IsCancelled(RunFlush(memtables, job_, &result)));
  for (const FileMetadata& file : result.files) EXPECT_FALSE(Exists(file.number));
}

}  // namespace
}  // namespace winnow
