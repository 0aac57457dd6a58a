// What look-ups count for each file.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/sstable/sstable_builder.h"
#include "engine/version/file_names.h"
#include "engine/version/filter_counter_table.h"
#include "engine/version/version.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow::version_lookup {
namespace {

// Of the keys PREFIX0 and PREFIX9, with a filter.
std::shared_ptr<SstableFile> MakeTable(FileSystem* file_system, uint64_t number,
                                       const std::string& prefix) {
  SstableBuilderOptions options;
  options.filter_spec = *filter::ParseFilterSpec("bloom:20");
  const std::string path = SstableFileName("/db", number);
  SstableBuilder builder(options, *file_system->Create(path, {}), path);
  for (const char* key : {"0", "9"}) {
    EXPECT_TRUE(builder.Add(MakeInternalKey(prefix + key, 1, EntryType::kPut), "v").ok());
  }
  const auto summary = builder.Finish();
  EXPECT_TRUE(summary.ok()) << summary.status();
  auto file = SstableFile::Open(
      std::make_shared<const SstableStore>(SstableStore{file_system, "/db", nullptr}),
      MetadataOf(number, *summary), InternalKeyComparator(BytewiseComparator()));
  EXPECT_TRUE(file->open_status().ok()) << file->open_status();
  return file;
}

// One in 64 is counted, and here one in 64 is of another table than the rest.
TEST(VersionLookup, EachFileIsCreditedWithItsShareWhateverThePattern) {
  constexpr uint64_t kPeriod = 64;
  constexpr uint64_t kLookups = kPeriod * 200;
  const auto file_system = NewMemoryFileSystem();
  ASSERT_TRUE(file_system->CreateDirectories("/db").ok());
  const auto often = MakeTable(file_system.get(), 1, "a");
  const auto seldom = MakeTable(file_system.get(), 2, "b");
  std::array<Version::Files, kNumLevels> levels;
  levels[6] = {often, seldom};
  const Version version(InternalKeyComparator(BytewiseComparator()), levels);
  FilterCounterTable counters;
  LookupContext context;
  context.filter_counters = &counters;
  for (uint64_t i = 1; i <= kLookups; i++) {
    const SstableFile& asked = i % kPeriod == 0 ? *seldom : *often;
    LookupKey key;
    key.user_key = &asked == seldom.get() ? "b5" : "a5";
    key.snapshot = kMaxSequenceNumber;
    key.filter_hash = asked.FilterHash(key.user_key);
    key.filter_key_identity = asked.filter_key_identity();
    PointResult result;
    ASSERT_TRUE(version.Get(key, context, &result).ok());
    ASSERT_FALSE(result.found);
  }
  ASSERT_EQ(counters.At(6, often->filter_kind_index())->rejected.value(), kLookups);
  EXPECT_GT(often->refutable_lookups(), kLookups / 2);
  EXPECT_LT(seldom->refutable_lookups(), kLookups / 8);
}

}  // namespace
}  // namespace winnow::version_lookup
