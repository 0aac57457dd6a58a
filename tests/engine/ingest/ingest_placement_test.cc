// Where an ingested table may lie: by random trees of files that exist as metadata only, whose
// compactions run.
#include "engine/ingest/ingest_placement.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/base/database_mutex.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

class IngestPlacementTest : public ::testing::Test {
 protected:
  std::shared_ptr<SstableFile> Add(int level, const std::string& first, const std::string& last,
                                   SequenceNumber sequence = 5) {
    FileMetadata metadata;
    metadata.number = next_number_++;
    metadata.smallest = MakeInternalKey(first, sequence, EntryType::kPut);
    metadata.largest = MakeInternalKey(last, sequence, EntryType::kPut);
    metadata.smallest_sequence = metadata.largest_sequence = sequence;
    levels_[static_cast<size_t>(level)].push_back(SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{files_.get(), "/db", nullptr}), metadata,
        comparator_));
    return levels_[static_cast<size_t>(level)].back();
  }
  void Compact(const std::vector<std::shared_ptr<SstableFile>>& inputs, int output_level) {
    DatabaseLock lock(&mutex_);
    for (const auto& file : inputs) {
      file->being_compacted = true;
      file->compacted_into = output_level;
    }
  }
  int LevelFor(const std::string& first, const std::string& last, int deepest = kNumLevels - 1) {
    DatabaseLock lock(&mutex_);
    return LevelForNewer(Version(comparator_, levels_), {first, last}, deepest);
  }
  absl::StatusCode Behind(const std::string& first, const std::string& last) {
    DatabaseLock lock(&mutex_);
    return CheckRoomBehind(Version(comparator_, levels_), {first, last}).code();
  }

 private:
  const InternalKeyComparator comparator_{BytewiseComparator()};
  const std::unique_ptr<FileSystem> files_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t next_number_ = 1;
  DatabaseMutex mutex_;
};

TEST_F(IngestPlacementTest, GoesAboveTheFirstLevelThatOverlaps) {
  EXPECT_EQ(LevelFor("a", "z"), kNumLevels - 1);
  EXPECT_EQ(LevelFor("a", "z", kNumLevels - 2), kNumLevels - 2);
  Add(3, "m", "n");
  EXPECT_EQ(LevelFor("a", "l"), kNumLevels - 1);
  EXPECT_EQ(LevelFor("n", "z"), 2);
  EXPECT_EQ(LevelFor("a", "z"), 2);
  Add(0, "m", "n");
  EXPECT_EQ(LevelFor("n", "z"), 0);
  EXPECT_EQ(LevelFor("o", "z"), kNumLevels - 1);
}

// A compaction out of two files may write one, over the gap between them: a table that was put
// there meanwhile would overlap it.
TEST_F(IngestPlacementTest, KeepsOutOfWhatACompactionMayCover) {
  const auto low = Add(4, "a", "c");
  const auto high = Add(4, "x", "z");
  EXPECT_EQ(LevelFor("m", "n"), kNumLevels - 1);
  Compact({low, high}, kNumLevels - 1);
  EXPECT_EQ(LevelFor("m", "n"), kNumLevels - 2);
  Compact({low, high}, 5);
  EXPECT_EQ(LevelFor("m", "n"), kNumLevels - 1) << "below the output is room";
  Compact({low, high}, 4);
  EXPECT_EQ(LevelFor("m", "n", 4), 3);
}

TEST_F(IngestPlacementTest, BehindNeedsTheLastLevelFree) {
  Add(2, "a", "z");
  EXPECT_EQ(Behind("m", "n"), absl::StatusCode::kOk);
  Add(kNumLevels - 1, "n", "o");
  EXPECT_EQ(Behind("m", "n"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Behind("p", "q"), absl::StatusCode::kOk);
  const auto low = Add(3, "a", "c");
  const auto high = Add(3, "x", "z");
  Compact({low, high}, kNumLevels - 1);
  EXPECT_EQ(Behind("p", "q"), absl::StatusCode::kFailedPrecondition);
}

TEST_F(IngestPlacementTest, NothingIsOlderThanEntriesWithoutSequence) {
  Add(5, "a", "c", /*sequence=*/0);
  EXPECT_EQ(Behind("b", "b"), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Behind("d", "d"), absl::StatusCode::kOk);
}

TEST_F(IngestPlacementTest, AMemtableIsAskedForKeysAndNotForItsRange) {
  Memtable memtable(InternalKeyComparator{BytewiseComparator()}, MemtableSizes{});
  EXPECT_FALSE(HasKeyIn(memtable, {"a", "z"}));
  memtable.Add(1, EntryType::kPut, "b", "");
  memtable.Add(2, EntryType::kDelete, "y", "");
  EXPECT_TRUE(HasKeyIn(memtable, {"a", "b"}));
  EXPECT_TRUE(HasKeyIn(memtable, {"y", "z"}));
  EXPECT_FALSE(HasKeyIn(memtable, {"c", "x"}));
}

}  // namespace
}  // namespace winnow
