// What CheckVersionOrder finds in trees whose files lie where none should.
#include "engine/version/version_order.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow::version_order {
namespace {

struct Entry {
  std::string key;
  SequenceNumber sequence;
};
struct Tombstone {
  std::string begin;
  std::string end;
  SequenceNumber sequence;
};

class VersionOrderTest : public ::testing::Test {
 protected:
  VersionOrderTest() { EXPECT_TRUE(files_->CreateDirectories("/db").ok()); }

  // At the end of its level: in level 0 beneath the files that were added before.
  void Add(int level, const std::vector<Entry>& entries,
           const std::vector<Tombstone>& tombstones = {}) {
    const uint64_t number = next_number_++;
    const std::string path = SstableFileName("/db", number);
    SstableBuilder builder(SstableBuilderOptions(), *files_->Create(path, {}), path);
    for (const Entry& entry : entries) {
      const std::string key = MakeInternalKey(entry.key, entry.sequence, EntryType::kPut);
      EXPECT_TRUE(builder.Add(key, "v").ok());
    }
    for (const Tombstone& tombstone : tombstones) {
      builder.AddRangeTombstones(tombstone.begin, tombstone.end, {&tombstone.sequence, 1});
    }
    const auto summary = builder.Finish();
    EXPECT_TRUE(summary.ok()) << summary.status();
    FileMetadata metadata = MetadataOf(number, *summary);
    metadata.num_range_deletions = tombstones.size();
    if (std::exchange(damages_next_, false)) Damage(path);
    levels_[static_cast<size_t>(level)].push_back(SstableFile::Open(store_, metadata, comparator_));
  }
  // The next table is damaged in its first block.
  void DamageNext() { damages_next_ = true; }
  // One line a problem: the file, and what is said of it.
  std::string Problems() const {
    std::string problems;
    SstableReadOptions options;
    options.fill_cache = false;
    CheckVersionOrder(Version(comparator_, levels_), options,
                      [&](const SstableFile& file, const std::string& problem) {
                        absl::StrAppend(&problems, file.number(), " ", problem, "\n");
                      });
    return problems;
  }

  const InternalKeyComparator comparator_{BytewiseComparator()};
  const std::unique_ptr<FileSystem> files_ = NewMemoryFileSystem();
  const std::shared_ptr<const SstableStore> store_ =
      std::make_shared<const SstableStore>(SstableStore{files_.get(), "/db", nullptr});
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t next_number_ = 1;

 private:
  void Damage(const std::string& path) {
    std::string bytes = *ReadFile(*files_, path, 1 << 20);
    // Behind the header, whose size is in it (engine/sstable/FORMAT.md).
    char& byte = bytes[DecodeFixed32(bytes.data() + 20) + 4];
    byte = static_cast<char>(byte ^ 1);
    EXPECT_TRUE(WriteFileAtomically(*files_, path, bytes).ok());
  }

  bool damages_next_ = false;
};

TEST_F(VersionOrderTest, NothingIsFoundWhereWhatLiesAboveIsNewer) {
  EXPECT_EQ(Problems(), "");
  Add(0, {{"b", 30}, {"b", 29}, {"d", 31}}, {{"a", "c", 28}});
  Add(0, {{"a", 20}, {"b", 25}, {"e", 90}}, {{"d", "e", 30}});
  Add(3, {{"a", 9}, {"b", 8}});
  Add(3, {{"c", 50}, {"e", 10}});
  Add(6, {{"a", 0}, {"b", 0}, {"c", 0}, {"e", 0}}, {{"f", "g", 70}});
  EXPECT_EQ(Problems(), "");
}

TEST_F(VersionOrderTest, AnOlderVersionAboveIsFoundOnceForEachFile) {
  Add(0, {{"a", 20}, {"b", 3}, {"c", 3}});
  Add(0, {{"b", 4}, {"c", 4}});
  Add(5, {{"a", 20}, {"b", 5}, {"z", 9}});
  EXPECT_EQ(Problems(),
            "2 has an older version of key 'b' than SSTable 3 below it has\n"
            "1 has an older version of key 'b' than SSTable 3 below it has\n");
}

TEST_F(VersionOrderTest, InLevelZeroAndBetweenDeeperLevels) {
  Add(0, {{"a", 2}});
  Add(0, {{"a", 3}});
  Add(2, {{"m", 2}});
  Add(2, {{"o", 2}});
  Add(4, {{"n", 9}, {"o", 3}});
  EXPECT_EQ(Problems(),
            "1 has an older version of key 'a' than SSTable 2 below it has\n"
            "4 has an older version of key 'o' than SSTable 5 below it has\n");
}

TEST_F(VersionOrderTest, RangeDeletionsOnTheWrongSideOfAnEntry) {
  Add(0, {{"x", 50}}, {{"a", "c", 7}});
  Add(1, {{"b", 8}, {"c", 8}});
  EXPECT_EQ(Problems(), "1 has an older range deletion of key 'b' than SSTable 2 below it has\n");
  levels_ = {};
  Add(0, {{"b", 8}, {"c", 8}});
  Add(6, {{"x", 1}}, {{"a", "c", 9}});
  EXPECT_EQ(Problems(),
            "3 has an older version of the range-deleted key 'b' than SSTable 4 below it has\n");
}

// As a repair leaves it that has replayed a log whose entries had been flushed and compacted.
TEST_F(VersionOrderTest, CopiesAboveDecideBeforeWhatIsBelowThem) {
  Add(0, {{"b", 8}}, {{"a", "d", 7}});
  Add(4, {{"b", 8}, {"c", 6}});
  EXPECT_EQ(Problems(), "");
  // Of c the copy is missing: it has come back below a range deletion that is older.
  Add(5, {{"a", 9}});
  EXPECT_EQ(Problems(), "1 has an older range deletion of key 'a' than SSTable 3 below it has\n");
  levels_ = {};
  Add(0, {{"x", 1}}, {{"a", "d", 7}, {"d", "f", 7}});
  Add(3, {{"b", 6}});
  Add(4, {{"x", 0}}, {{"a", "d", 7}});
  EXPECT_EQ(Problems(), "") << "b is deleted above as it is below";
  levels_ = {};
  Add(0, {{"x", 1}}, {{"a", "d", 9}, {"d", "f", 2}});
  Add(3, {{"b", 6}, {"e", 1}}, {{"a", "c", 3}});
  Add(4, {{"b", 4}});
  EXPECT_EQ(Problems(), "");
}

// That it is damaged is for others to say.
TEST_F(VersionOrderTest, WhatCannotBeReadIsPassedOver) {
  Add(0, {{"a", 2}, {"b", 2}});
  DamageNext();
  Add(0, {{"a", 3}, {"b", 3}});
  Add(6, {{"b", 4}});
  EXPECT_EQ(Problems(), "1 has an older version of key 'b' than SSTable 3 below it has\n");
}

}  // namespace
}  // namespace winnow::version_order
