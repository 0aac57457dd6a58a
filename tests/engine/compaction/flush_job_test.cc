// What a flush writes of its memtables.
#include "engine/compaction/flush_job.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "winnow/filter/hash.h"
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
    memtable->Add(sequence, type, key, "v" + std::to_string(sequence), filter::HashKey(key, 0));
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
