// What the allocator is asked for by things of which a process has thousands. With 1,000 column
// families in 16 MiB they decide whether the bound of Options::ForMemory holds.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/cache/block_cache.h"
#include "engine/sstable/open_file_cache.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/statistics/recorder.h"
#include "engine/version/file_names.h"
#include "engine/version/sstable_file.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/sstable_metadata.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr size_t kMany = 1000;

// Of one of many.
template <typename Make>
size_t BytesOfOne(Make make) {
  make(0);  // what is there once
  const size_t before = AllocatedBytes();
  for (size_t i = 1; i <= kMany; i++) make(i);
  return (AllocatedBytes() - before) / kMany;
}

// Each once had two kilobytes: all that its properties say, and its path three times.
TEST(MemoryOfMany, ATableThatIsOpen) {
  const std::string directory = "/var/lib/a_program/a_database_of_some_name";
  const std::unique_ptr<FileSystem> file_system = NewMemoryFileSystem();
  ASSERT_TRUE(file_system->CreateDirectories(directory).ok());
  const std::string path = SstableFileName(directory, 1);
  SstableBuilderOptions options;
  options.column_family_name = "a_family_of_some_name";
  SstableBuilder builder(options, *file_system->Create(path, {}), path);
  for (int i = 100; i < 150; i++) {
    const std::string key = MakeInternalKey(absl::StrCat("some_key_", i), 5, EntryType::kPut);
    ASSERT_TRUE(builder.Add(key, "value").ok());
  }
  const auto table = builder.Finish();
  ASSERT_TRUE(table.ok()) << table.status();
  const FileMetadata metadata = MetadataOf(1, *table);

  ShardedBlockCache cache(size_t{16} << 20, /*shard_bits=*/0);
  OpenFileCache open_files(2 * kMany);
  const auto store = std::make_shared<const SstableStore>(
      SstableStore{file_system.get(), directory, &cache, &open_files, /*charge_readers=*/true});
  std::vector<std::shared_ptr<SstableFile>> tables(kMany + 1);
  const size_t bytes = BytesOfOne([&](size_t i) {
    tables[i] = SstableFile::Open(store, metadata, InternalKeyComparator(BytewiseComparator()));
  });
  ASSERT_NE(tables[0]->reader(), nullptr) << tables[0]->open_status();
  ASSERT_GT(tables[0]->reader()->charged_bytes(), 0u);
  EXPECT_LE(bytes - tables[0]->reader()->charged_bytes(), 1500u);
}

// A table of seven levels and all kinds was 1,792 bytes, of which two numbers were in use.
TEST(MemoryOfMany, FilterCountersOfAThreadAndAFamily) {
  Recorder recorder;
  const size_t bytes = BytesOfOne([&](size_t i) {
    FilterCounterTable& table =
        recorder.Local().Filters(static_cast<uint32_t>(i), FilterCall::kGet);
    table.At(0, 3)->rejected.Increment();
    table.At(6, 3)->rejected.Increment();
  });
  EXPECT_LE(bytes, 620u);
  EXPECT_EQ(recorder.Sum().filters.size(), 2 * (kMany + 1));
}

// An index of each level was there whether or not it had files: 1,100 bytes.
TEST(MemoryOfMany, AVersionWithoutFiles) {
  std::vector<std::shared_ptr<const Version>> versions(kMany + 1);
  const size_t bytes = BytesOfOne([&](size_t i) {
    versions[i] = std::make_shared<const Version>(InternalKeyComparator(BytewiseComparator()),
                                                  std::array<Version::Files, kNumLevels>());
  });
  EXPECT_LE(bytes, 470u);
}

}  // namespace
}  // namespace winnow
