// SSTables without memory to write or to read them: what was acknowledged is there, and what is
// sound is not called damaged.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <thread>

#include "absl/strings/str_cat.h"
#include "engine/sstable/block_compression.h"
#include "engine/sstable/sstable_iterator.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/allocation_hook.h"
#include "winnow/ingest.h"
#include "winnow/memory_file_system.h"

namespace winnow::sstable_memory {
namespace {

constexpr char kPath[] = "/t.sst";
using Entries = std::map<std::string, std::string>;

// Keys that no string holds in itself. Small values, of which several make a block, and some that
// are a block each.
Entries ToWrite() {
  Entries entries;
  for (int i = 100; i < 160; i++) {
    entries[absl::StrCat("a-key-with-a-long-beginning-", i)] =
        std::string(i % 7 == 0 ? 1500 : 100, 'v');
  }
  return entries;
}

Entries EntriesOf(FileSystem& file_system) {
  Entries entries;
  const auto reader = SstableReader::Open({}, *file_system.OpenRandomAccess(kPath), kPath);
  EXPECT_TRUE(reader.ok()) << reader.status();
  if (!reader.ok()) return entries;
  EXPECT_TRUE((*reader)->Verify().empty());
  SstableIterator iterator(**reader, {});
  for (iterator.SeekToFirst(); iterator.Valid(); iterator.Next()) {
    entries[std::string(UserKey(iterator.key()))] = std::string(iterator.value());
  }
  EXPECT_TRUE(iterator.status().ok()) << iterator.status();
  return entries;
}

// A writer once went on after a block, an entry or a separator that it had only half of.
TEST(SstableMemory, AWriterWithoutMemoryLosesAndInventsNothing) {
  const AllocationsOfThisThread spare(/*may_fail=*/false);
  const Entries to_write = ToWrite();
  size_t given_up = 0;
  for (uint64_t fails = 0;; fails++) {
    SCOPED_TRACE(fails);
    const std::unique_ptr<FileSystem> file_system = NewMemoryFileSystem();
    Options options;
    options.compression = Compression::kNone;
    options.block_bytes = 512;
    auto writer = SstWriter::Create(options, kPath, file_system.get());
    ASSERT_TRUE(writer.ok()) << writer.status();
    Entries acknowledged;
    bool was_refused = false;
    bool was_added_after = false;
    CountAllocations({}, fails, /*for_ever=*/false);
    for (const auto& [key, value] : to_write) {
      absl::Status put;
      {
        const AllocationsOfThisThread fail(/*may_fail=*/true);
        put = (*writer)->Put(key, value);
      }
      if (put.ok()) acknowledged[key] = value;
      was_added_after = was_added_after || (was_refused && put.ok());
      was_refused = was_refused || !put.ok();
    }
    absl::StatusOr<SstFileInfo> finished = absl::UnknownError("not yet");
    {
      const AllocationsOfThisThread fail(/*may_fail=*/true);
      finished = (*writer)->Finish();
    }
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    if (finished.ok()) {
      ASSERT_EQ(EntriesOf(*file_system), acknowledged);
      ASSERT_EQ(finished->num_entries, acknowledged.size());
    } else {
      given_up++;
      ASSERT_FALSE(was_added_after) << finished.status();
      ASSERT_FALSE((*writer)->Put("later", "").ok());
      ASSERT_FALSE((*writer)->Finish().ok());
      writer->reset();
      ASSERT_FALSE(*file_system->Exists(kPath));
    }
    if (failed == 0) break;
  }
  EXPECT_GT(given_up, 10u);
}

// A compaction would have set its inputs aside.
TEST(SstableMemory, WithoutMemoryForACodecABlockIsNotDamaged) {
  const AllocationsOfThisThread spare(/*may_fail=*/false);
  const std::string contents(10000, 'c');
  std::string stored;
  ASSERT_TRUE(CompressBlock(Compression::kZstd, 3, contents, &stored));
  std::string again(contents.size(), '\0');
  // A new thread, which has no context yet.
  std::thread([&] {
    CountAllocations({}, 0, /*for_ever=*/true);
    const auto refused = DecompressBlock(Compression::kZstd, stored, again.data(), contents.size());
    uint64_t failed = 0;
    StopCountingAllocations(&failed);
    EXPECT_GT(failed, 0u);
    EXPECT_TRUE(absl::IsResourceExhausted(refused.status())) << refused.status();
    const auto made = DecompressBlock(Compression::kZstd, stored, again.data(), contents.size());
    EXPECT_TRUE(made.ok() && *made) << made.status();
  }).join();
  EXPECT_EQ(again, contents);
}

}  // namespace
}  // namespace winnow::sstable_memory
