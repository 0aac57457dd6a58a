// Which files range deletions cover: by trees of small tables.
#include "engine/compaction/covered_files.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "engine/base/database_mutex.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "tests/support/counting_comparator.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow::covered_files {
namespace {

// The bytewise order, not known as such, that counts how often it is asked.
std::string KeyOf(uint64_t i) { return absl::StrFormat("%04d", i); }

class CoveredFilesPickerTest : public testing::Test {
 protected:
  CoveredFilesPickerTest() { EXPECT_TRUE(file_system_->CreateDirectories("/db").ok()); }

  // Level 0 is filled from the newest file on.
  std::shared_ptr<SstableFile> AddPuts(int level, uint64_t first, uint64_t last,
                                       SequenceNumber sequence) {
    SstableBuilder builder = NewBuilder();
    for (const uint64_t i : {first, last}) {
      EXPECT_TRUE(builder.Add(MakeInternalKey(KeyOf(i), sequence, EntryType::kPut), "v").ok());
    }
    return Finish(level, &builder);
  }
  std::shared_ptr<SstableFile> AddDeletion(int level, uint64_t begin, uint64_t end,
                                           SequenceNumber sequence) {
    SstableBuilder builder = NewBuilder();
    builder.AddRangeTombstones(KeyOf(begin), KeyOf(end), {&sequence, 1});
    return Finish(level, &builder);
  }
  std::shared_ptr<const Version> NewVersion() const {
    return std::make_shared<const Version>(comparator_, levels_);
  }

  // How many files are picked.
  size_t Pick(const std::shared_ptr<const Version>& version,
              const std::vector<SequenceNumber>& snapshots) {
    DatabaseLock lock(&mutex_);
    counting_.TakeCount();
    const auto compaction = picker_.Pick(version, snapshots);
    comparisons_ = counting_.TakeCount();
    return compaction == nullptr ? 0 : compaction->num_input_files();
  }
  void SetBusy(SstableFile* file, bool is_busy) {
    DatabaseLock lock(&mutex_);
    file->being_compacted = is_busy;
  }

  uint64_t comparisons_ = 0;  // of the last Pick

 private:
  SstableBuilder NewBuilder() {
    const std::string path = SstableFileName("/db", ++last_number_);
    SstableBuilderOptions options;
    options.comparator = comparator_;
    return SstableBuilder(options, *file_system_->Create(path, {}), path);
  }
  std::shared_ptr<SstableFile> Finish(int level, SstableBuilder* builder) {
    const auto summary = builder->Finish();
    EXPECT_TRUE(summary.ok()) << summary.status();
    auto file = SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        MetadataOf(last_number_, *summary), comparator_);
    EXPECT_TRUE(file->open_status().ok()) << file->open_status();
    levels_[static_cast<size_t>(level)].push_back(file);
    return file;
  }

  const CountingComparator counting_;
  const InternalKeyComparator comparator_{&counting_};
  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t last_number_ = 0;
  DatabaseMutex mutex_;
  CoveredFilesPicker picker_;
};

// It is asked several times for each job, with the mutex held.
TEST_F(CoveredFilesPickerTest, ComparesOnceForAVersionAndTheSnapshotsThatSeeLessThanAll) {
  AddDeletion(0, 0, 500, 100);
  for (uint64_t i = 0; i < 10; i++) AddPuts(1, 1000 + 10 * i, 1005 + 10 * i, 10);
  auto version = NewVersion();
  EXPECT_EQ(Pick(version, {}), 0u);
  EXPECT_GT(comparisons_, 0u);
  EXPECT_EQ(Pick(version, {}), 0u);
  EXPECT_EQ(comparisons_, 0u);
  EXPECT_EQ(Pick(version, {100, 101, 200}), 0u);
  EXPECT_EQ(comparisons_, 0u) << "they see all that there is";
  EXPECT_EQ(Pick(version, {50, 200}), 0u);
  EXPECT_GT(comparisons_, 0u);
  EXPECT_EQ(Pick(version, {50}), 0u);
  EXPECT_EQ(comparisons_, 0u);
  version = NewVersion();
  EXPECT_EQ(Pick(version, {50}), 0u);
  EXPECT_GT(comparisons_, 0u);
}

TEST_F(CoveredFilesPickerTest, WhatIsBusyOrSeenBySnapshotsIsPickedLater) {
  AddDeletion(0, 0, 500, 100);
  const auto covered = AddPuts(1, 10, 20, 10);
  AddPuts(1, 490, 510, 10);
  const auto version = NewVersion();
  SetBusy(covered.get(), true);
  EXPECT_EQ(Pick(version, {}), 0u);
  SetBusy(covered.get(), false);
  EXPECT_EQ(Pick(version, {}), 1u);
  EXPECT_EQ(Pick(version, {9, 50}), 0u);
  EXPECT_EQ(Pick(version, {9}), 1u) << "a snapshot from before the file";
  EXPECT_EQ(Pick(version, {99}), 0u);
  EXPECT_EQ(Pick(version, {100}), 1u) << "a snapshot that sees the deletion";
}

}  // namespace
}  // namespace winnow::covered_files
