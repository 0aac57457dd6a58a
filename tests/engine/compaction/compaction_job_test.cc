// A compaction that does not see all entries of its inputs must not install what it has.
#include "engine/compaction/compaction_job.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "absl/strings/str_format.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr uint64_t kInputNumber = 5;
constexpr uint64_t kOutputNumber = 6;

class CompactionJob : public testing::Test {
 protected:
  CompactionJob() { EXPECT_TRUE(file_system_->CreateDirectories("/db").ok()); }

  // A table of one key, of which the manifest says that it has `stated_entries`.
  absl::Status Compact(uint64_t stated_entries) {
    const SstableStore store = {file_system_.get(), "/db", nullptr};
    const std::string path = SstableFileName("/db", kInputNumber);
    SstableBuilder builder(SstableBuilderOptions(), *file_system_->Create(path, {}), path);
    EXPECT_TRUE(builder.Add(MakeInternalKey("key", 3, EntryType::kPut), "value").ok());
    const auto summary = builder.Finish();
    EXPECT_TRUE(summary.ok());
    FileMetadata metadata = MetadataOf(kInputNumber, *summary);
    metadata.num_entries = stated_entries;
    const InternalKeyComparator comparator(BytewiseComparator());
    std::array<Version::Files, kNumLevels> levels;
    levels[1] = {
        SstableFile::Open(std::make_shared<const SstableStore>(store), metadata, comparator)};

    Compaction compaction;
    compaction.version = std::make_shared<const Version>(comparator, levels);
    compaction.inputs[1] = levels[1];
    compaction.output_level = 2;
    CompactionJobOptions options;
    options.output.store = store;
    options.output.new_file_number = [] { return kOutputNumber; };
    CompactionJobResult result;
    return RunCompaction(compaction, options, &result);
  }
  bool OutputExists() { return *file_system_->Exists(SstableFileName("/db", kOutputNumber)); }

  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
};

TEST_F(CompactionJob, WritesWhatItsInputsHold) {
  const absl::Status status = Compact(1);
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_TRUE(OutputExists());
}

TEST_F(CompactionJob, EntriesThatAreMissingAreDataLossAndNoOutputIsLeft) {
  const absl::Status status = Compact(2);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_FALSE(OutputExists());
}

// Borders of the next level lie up to 50 keys apart; a table of the target size has about 180.
TEST(TablesOfACompaction, EndWhereTablesOfTheNextLevelDo) {
  constexpr uint64_t kKeys = 3000;
  constexpr uint64_t kTargetBytes = 20'000;
  const auto key_of = [](uint64_t i) { return absl::StrFormat("%06d", i); };
  const auto file_system = NewMemoryFileSystem();
  ASSERT_TRUE(file_system->CreateDirectories("/db").ok());
  const auto store =
      std::make_shared<const SstableStore>(SstableStore{file_system.get(), "/db", nullptr});
  const InternalKeyComparator comparator(BytewiseComparator());
  const std::string path = SstableFileName("/db", 1);
  SstableBuilder builder(SstableBuilderOptions(), *file_system->Create(path, {}), path);
  for (uint64_t i = 0; i < kKeys; i++) {
    const std::string key = MakeInternalKey(key_of(i), 3, EntryType::kPut);
    ASSERT_TRUE(builder.Add(key, std::string(100, 'v')).ok());
  }
  std::array<Version::Files, kNumLevels> levels;
  levels[1] = {SstableFile::Open(store, MetadataOf(1, *builder.Finish()), comparator)};
  std::mt19937_64 random(7);
  for (uint64_t first = 0; first < kKeys;) {
    FileMetadata below;
    below.number = 100 + first;
    below.file_bytes = 1;
    below.smallest = MakeInternalKey(key_of(first), 2, EntryType::kPut);
    first += 1 + random() % 50;
    below.largest = MakeInternalKey(key_of(first - 1), 2, EntryType::kPut);
    levels[3].push_back(SstableFile::Open(store, below, comparator));
  }
  Compaction compaction;
  compaction.version = std::make_shared<const Version>(comparator, levels);
  compaction.inputs[1] = levels[1];
  compaction.output_level = 2;
  CompactionJobOptions options;
  options.output.store = *store;
  options.output.target_file_bytes = kTargetBytes;
  options.output.next_run = levels[3];
  uint64_t next_number = 10;
  options.output.new_file_number = [&] { return next_number++; };
  CompactionJobResult result;
  const absl::Status status = RunCompaction(compaction, options, &result);
  ASSERT_TRUE(status.ok()) << status;
  ASSERT_GT(result.output.files.size(), 10u);
  for (const auto& below : levels[3]) {
    size_t overlapping = 0;
    for (const FileMetadata& output : result.output.files) {
      overlapping += UserKey(output.smallest) <= below->largest_user_key() &&
                     UserKey(output.largest) >= below->smallest_user_key();
    }
    EXPECT_EQ(overlapping, 1u) << below->smallest_user_key();
  }
  result.output.files.pop_back();
  for (const FileMetadata& output : result.output.files) {
    EXPECT_GT(output.file_bytes, kTargetBytes / 4);
    EXPECT_LT(output.file_bytes, kTargetBytes + 2000);
  }
}

}  // namespace
}  // namespace winnow
