// Which files a time to live drops unread or has rewritten: by trees of files that exist as
// metadata only.
#include "engine/compaction/expired_files.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/str_format.h"
#include "engine/base/database_mutex.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"

namespace winnow {
namespace {

constexpr uint64_t kTtl = 100;

FileExpiry At(uint64_t now) {
  FileExpiry expiry;
  expiry.write_times.now = now;
  expiry.write_times.ttl_micros = kTtl;
  return expiry;
}

// By the times of keys.
FileExpiry AliveFrom(uint64_t first_alive) {
  FileExpiry expiry;
  expiry.key_times = {.first_alive = first_alive, .lifetime = kTtl};
  return expiry;
}

KeyTimes TimesOf(uint64_t oldest, uint64_t newest, uint64_t marker = 0) {
  KeyTimes times;
  times.Add({TimedKeyKind::kEntry, oldest});
  times.Add({TimedKeyKind::kEntry, newest});
  if (marker != 0) times.Add({TimedKeyKind::kFarMarker, marker});
  return times;
}

struct FileSpec {
  int level;
  uint64_t first;
  uint64_t last;
  uint64_t oldest = 0;
  uint64_t newest = 0;
  uint64_t timeless = 0;
  uint64_t deletions = 0;
  std::optional<KeyTimes> key_times = std::nullopt;
};

class FilesTree {
 public:
  // Files of level 0 in the order of age, the newest first.
  uint64_t Add(const FileSpec& spec) {
    FileMetadata metadata;
    metadata.number = next_number_++;
    metadata.file_bytes = 1000;
    if (spec.newest > 0) {
      metadata.write_times.Add(spec.oldest);
      metadata.write_times.Add(spec.newest);
    }
    metadata.num_deletions = spec.deletions;
    metadata.key_times = spec.key_times;
    metadata.num_entries = metadata.write_times.num_entries + spec.timeless + spec.deletions;
    const auto key = [](uint64_t i) { return absl::StrFormat("%04d", i); };
    metadata.smallest = MakeInternalKey(key(spec.first), 5, EntryType::kPutWithTime);
    metadata.largest = MakeInternalKey(key(spec.last), 5, EntryType::kPutWithTime);
    levels_[static_cast<size_t>(spec.level)].push_back(SstableFile::Open(
        std::make_shared<const SstableStore>(SstableStore{file_system_.get(), "/db", nullptr}),
        metadata, comparator_));
    return metadata.number;
  }
  std::shared_ptr<const Version> version() const {
    return std::make_shared<const Version>(comparator_, levels_);
  }
  std::set<uint64_t> Dropped(uint64_t now, const ColumnFamilyOptions& options = {}) const {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    return Numbers(PickFilesToDrop(version(), options, At(now)), /*drops=*/true);
  }
  std::set<uint64_t> Rewritten(uint64_t now) const {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    return Numbers(PickFileToRewrite(version(), {}, At(now)), /*drops=*/false);
  }
  std::set<uint64_t> DroppedByKeys(uint64_t first_alive) const {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    return Numbers(PickFilesToDrop(version(), {}, AliveFrom(first_alive)), /*drops=*/true);
  }
  std::set<uint64_t> RewrittenByKeys(uint64_t first_alive,
                                     const ColumnFamilyOptions& options = {}) const {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    return Numbers(PickFileToRewrite(version(), options, AliveFrom(first_alive)), /*drops=*/false);
  }
  void MarkExpiredKeysStay(int level, size_t index) {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    levels_[static_cast<size_t>(level)][index]->expired_keys_stay = true;
  }
  void MarkBusy(int level, size_t index) {
    DatabaseMutex mutex;
    DatabaseLock lock(&mutex);
    levels_[static_cast<size_t>(level)][index]->being_compacted = true;
  }

 private:
  static std::set<uint64_t> Numbers(const std::unique_ptr<Compaction>& compaction, bool drops) {
    std::set<uint64_t> numbers;
    if (compaction == nullptr) return numbers;
    EXPECT_EQ(compaction->drops_inputs, drops);
    EXPECT_STREQ(compaction->reason, "expired");
    for (size_t level = 0; level < compaction->inputs.size(); level++) {
      for (const auto& file : compaction->inputs[level]) {
        numbers.insert(file->number());
        EXPECT_TRUE(drops || compaction->output_level == static_cast<int>(level));
      }
    }
    return numbers;
  }

  InternalKeyComparator comparator_{BytewiseComparator()};
  std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
  std::array<Version::Files, kNumLevels> levels_;
  uint64_t next_number_ = 1;
};

using Numbers = std::set<uint64_t>;

TEST(ExpiredFiles, AFileGoesWhenItsNewestValueHasExpired) {
  FilesTree tree;
  const uint64_t file = tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 10, .newest = 50});
  EXPECT_EQ(tree.Dropped(149), Numbers());
  EXPECT_EQ(tree.Dropped(150), Numbers{file});
  EXPECT_EQ(tree.Dropped(49), Numbers()) << "the clock went back behind the write";
  ColumnFamilyOptions behind;
  behind.allow_ingest_behind = true;
  EXPECT_EQ(tree.Dropped(150, behind), Numbers());
}

TEST(ExpiredFiles, ATimelessValueOrNoValueKeepsAFile) {
  FilesTree tree;
  tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 1, .newest = 2, .timeless = 1});
  tree.Add({.level = 6, .first = 10, .last = 19, .oldest = 0, .newest = 0, .deletions = 3});
  EXPECT_EQ(tree.Dropped(1000), Numbers());
}

TEST(ExpiredFiles, AFileStaysAsLongAsItHidesSomethingOlder) {
  FilesTree tree;
  const uint64_t top =
      tree.Add({.level = 2, .first = 5, .last = 15, .oldest = 1, .newest = 2, .deletions = 7});
  const uint64_t left = tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 1, .newest = 50});
  const uint64_t right = tree.Add({.level = 6, .first = 10, .last = 19, .oldest = 1, .newest = 80});
  EXPECT_EQ(tree.Dropped(149), Numbers());
  EXPECT_EQ(tree.Dropped(150), Numbers{left});
  EXPECT_EQ(tree.Dropped(180), (Numbers{top, left, right})) << "all at once";
}

TEST(ExpiredFiles, AFileThatIsBeingCompactedHoldsBackThoseAboveIt) {
  FilesTree tree;
  tree.Add({.level = 2, .first = 5, .last = 15, .oldest = 1, .newest = 2});
  tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 1, .newest = 2});
  const uint64_t apart = tree.Add({.level = 6, .first = 20, .last = 29, .oldest = 1, .newest = 2});
  tree.MarkBusy(6, 0);
  EXPECT_EQ(tree.Dropped(1000), Numbers{apart});
}

TEST(ExpiredFiles, InLevelZeroOlderFilesCountToo) {
  FilesTree tree;
  const uint64_t newest = tree.Add({.level = 0, .first = 0, .last = 9, .oldest = 1, .newest = 2});
  tree.Add({.level = 0, .first = 5, .last = 15, .oldest = 1, .newest = 900});
  const uint64_t oldest = tree.Add({.level = 0, .first = 12, .last = 19, .oldest = 1, .newest = 2});
  EXPECT_EQ(tree.Dropped(500), Numbers{oldest});
  EXPECT_FALSE(tree.Dropped(500).contains(newest));
}

TEST(ExpiredFiles, HalfOfALongSpanIsWorthRewriting) {
  FilesTree tree;
  const uint64_t file = tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 10, .newest = 90});
  EXPECT_EQ(tree.Rewritten(110), Numbers()) << "the oldest alone";
  EXPECT_EQ(tree.Rewritten(149), Numbers());
  EXPECT_EQ(tree.Rewritten(150), Numbers{file});
}

TEST(ExpiredFiles, AShortSpanIsWaitedFor) {
  FilesTree tree;
  const uint64_t file = tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 10, .newest = 35});
  EXPECT_EQ(tree.Rewritten(134), Numbers());
  EXPECT_EQ(tree.Dropped(135), Numbers{file});
}

// Expired as a whole, but it hides what has not: it is rewritten to deletions.
TEST(ExpiredFiles, WhatCannotBeDroppedIsRewritten) {
  FilesTree tree;
  const uint64_t top = tree.Add({.level = 2, .first = 0, .last = 9, .oldest = 1, .newest = 2});
  tree.Add({.level = 6, .first = 0, .last = 9, .oldest = 0, .newest = 0, .timeless = 5});
  EXPECT_EQ(tree.Dropped(102), Numbers());
  EXPECT_EQ(tree.Rewritten(102), Numbers{top});
}

TEST(ExpiredFiles, ByTheTimesOfKeysAFileGoesWithoutMarkers) {
  FilesTree tree;
  const auto add = [&](uint64_t first, std::optional<KeyTimes> times) {
    return tree.Add(
        {.level = 6, .first = first, .last = first + 5, .timeless = 2, .key_times = times});
  };
  const uint64_t old = add(0, TimesOf(10, 50));
  add(10, TimesOf(10, 20, 70));
  add(20, std::nullopt);
  add(30, KeyTimes());  // of none: range deletions alone
  EXPECT_EQ(tree.DroppedByKeys(50), Numbers());
  EXPECT_EQ(tree.DroppedByKeys(51), Numbers{old});
  EXPECT_EQ(tree.DroppedByKeys(70), Numbers{old});
  EXPECT_EQ(tree.DroppedByKeys(1000), Numbers{old});
  EXPECT_EQ(tree.DroppedByKeys(0), Numbers());
  EXPECT_EQ(tree.Dropped(100'000), Numbers()) << "they are no write times";
}

// It may hide what lies in others: what of it can go is for a compaction to say.
TEST(ExpiredFiles, ByTheTimesOfKeysAFileWithMarkersIsRewritten) {
  FilesTree tree;
  const uint64_t file = tree.Add(
      {.level = 6, .first = 0, .last = 9, .timeless = 2, .key_times = TimesOf(10, 11, 70)});
  EXPECT_EQ(tree.RewrittenByKeys(70), Numbers());
  EXPECT_EQ(tree.RewrittenByKeys(1000), Numbers{file});
  tree.MarkExpiredKeysStay(6, 0);
  EXPECT_EQ(tree.RewrittenByKeys(1000), Numbers()) << "it was tried";
}

TEST(ExpiredFiles, ByTheTimesOfKeysOnlyTheOldestDataIsRewritten) {
  FilesTree tree;
  const uint64_t file =
      tree.Add({.level = 5, .first = 0, .last = 9, .timeless = 2, .key_times = TimesOf(10, 90)});
  EXPECT_EQ(tree.RewrittenByKeys(50), Numbers());
  EXPECT_EQ(tree.RewrittenByKeys(51), Numbers{file});
  ColumnFamilyOptions behind;
  behind.allow_ingest_behind = true;
  EXPECT_EQ(tree.RewrittenByKeys(51, behind), Numbers());
  tree.MarkExpiredKeysStay(5, 0);
  EXPECT_EQ(tree.RewrittenByKeys(51), Numbers()) << "it was tried";

  FilesTree deep;
  deep.Add({.level = 0, .first = 20, .last = 29, .timeless = 2, .key_times = TimesOf(10, 90)});
  deep.Add({.level = 5, .first = 0, .last = 9, .timeless = 2, .key_times = TimesOf(10, 90)});
  deep.Add({.level = 6, .first = 9, .last = 12, .timeless = 2, .key_times = TimesOf(80, 90)});
  EXPECT_EQ(deep.RewrittenByKeys(60), Numbers()) << "deletions would stay, and be due again";
}

TEST(ExpiredFiles, ByTheTimesOfKeysAShortSpanIsWaitedFor) {
  FilesTree tree;
  const uint64_t file =
      tree.Add({.level = 6, .first = 0, .last = 9, .timeless = 2, .key_times = TimesOf(10, 35)});
  EXPECT_EQ(tree.RewrittenByKeys(35), Numbers());
  EXPECT_EQ(tree.DroppedByKeys(36), Numbers{file});
}

}  // namespace
}  // namespace winnow
