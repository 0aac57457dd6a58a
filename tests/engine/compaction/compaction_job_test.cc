// A compaction that does not see all entries of its inputs must not install what it has.
#include "engine/compaction/compaction_job.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace winnow
