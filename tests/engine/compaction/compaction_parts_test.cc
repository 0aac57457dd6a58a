// A compaction's range is cut where its bytes are, wherever its files begin and end.
#include "engine/compaction/compaction_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "absl/strings/str_format.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

std::string RowKey(uint64_t i) { return absl::StrFormat("user:%06d", i); }

class CompactionParts : public testing::Test {
 protected:
  CompactionParts() { EXPECT_TRUE(file_system_->CreateDirectories("/db").ok()); }

  // A table of the keys first, first + step, ... below `last`, each with a value of so many bytes.
  void AddTable(int level, uint64_t first, uint64_t last, uint64_t step, size_t value_bytes = 8) {
    const uint64_t number = next_number_++;
    const std::string path = SstableFileName("/db", number);
    SstableBuilderOptions options;
    options.block_bytes = 256;
    options.compression = Compression::kNone;
    const std::string value(value_bytes, 'v');
    SstableBuilder builder(options, *file_system_->Create(path, {}), path);
    for (uint64_t i = first; i < last; i += step) {
      ASSERT_TRUE(builder.Add(MakeInternalKey(RowKey(i), 5, EntryType::kPut), value).ok());
    }
    const auto table = builder.Finish();
    ASSERT_TRUE(table.ok()) << table.status();
    inputs_[static_cast<size_t>(level)].push_back(SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        MetadataOf(number, *table), comparator_));
  }

  Compaction AsCompaction() const {
    Compaction compaction;
    compaction.version = std::make_shared<const Version>(comparator_, inputs_);
    compaction.inputs = inputs_;
    compaction.output_level = kNumLevels - 1;
    return compaction;
  }

  // How many of the keys 0 to `keys` each part has; fails unless each key is in exactly one.
  static std::vector<uint64_t> KeysOf(const std::vector<CompactionPart>& parts, uint64_t keys) {
    std::vector<uint64_t> counts(parts.size());
    for (uint64_t i = 0; i < keys; i++) {
      int holders = 0;
      for (size_t part = 0; part < parts.size(); part++) {
        const std::string key = RowKey(i);
        if (parts[part].begin.has_value() && key < *parts[part].begin) continue;
        if (parts[part].end.has_value() && key >= *parts[part].end) continue;
        counts[part]++;
        holders++;
      }
      EXPECT_EQ(holders, 1) << RowKey(i);
    }
    return counts;
  }

  const InternalKeyComparator comparator_{BytewiseComparator()};
  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> inputs_;
  uint64_t next_number_ = 1;
};

constexpr uint64_t kKeys = 4000;

TEST_F(CompactionParts, FilesThatAllSpanTheRangeAreCutWithin) {
  for (uint64_t i = 0; i < 4; i++) AddTable(0, i, kKeys, 4);
  for (const int most : {2, 3, 4, 7}) {
    SCOPED_TRACE(most);
    const auto counts = KeysOf(SplitIntoParts(AsCompaction(), most, 1), kKeys);
    ASSERT_EQ(counts.size(), static_cast<size_t>(most));
    for (const uint64_t count : counts) {
      EXPECT_NEAR(static_cast<double>(count), kKeys / most, kKeys / 20.0);
    }
  }
}

TEST_F(CompactionParts, BytesDecideAndNotTheNumberOfFiles) {
  AddTable(0, 0, kKeys, 1);
  AddTable(1, kKeys * 3 / 4, kKeys, 2, 200);
  const auto counts = KeysOf(SplitIntoParts(AsCompaction(), 2, 1), kKeys);
  ASSERT_EQ(counts.size(), 2u);
  EXPECT_GT(counts[0], counts[1]);
}

TEST_F(CompactionParts, SmallCompactionsAndSingleKeysStayWhole) {
  AddTable(0, 0, kKeys, 1);
  EXPECT_EQ(SplitIntoParts(AsCompaction(), 8, 1 << 20).size(), 1u);
  EXPECT_EQ(SplitIntoParts(AsCompaction(), 0, 1).size(), 1u);
  inputs_ = {};
  for (uint64_t i = 0; i < 3; i++) AddTable(0, 7, 8, 1);  // one key, three times
  const auto parts = SplitIntoParts(AsCompaction(), 8, 1);
  EXPECT_LE(parts.size(), 2u);
  KeysOf(parts, 10);
}

TEST_F(CompactionParts, AFileThatCannotBeOpenedCountsAtItsEnd) {
  AddTable(1, 0, 1000, 1);
  FileMetadata missing;
  missing.number = 99;
  missing.file_bytes = inputs_[1][0]->metadata().file_bytes / 2;
  missing.smallest = MakeInternalKey(RowKey(2000), 5, EntryType::kPut);
  missing.largest = MakeInternalKey(RowKey(3000), 5, EntryType::kPut);
  inputs_[1].push_back(SstableFile::Open(
      std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
      missing, comparator_));
  const auto parts = SplitIntoParts(AsCompaction(), 2, 1);
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_GE(KeysOf(parts, kKeys)[0], 500u);
}

}  // namespace
}  // namespace winnow
