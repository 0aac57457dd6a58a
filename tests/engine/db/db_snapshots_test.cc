// Snapshots: what they keep, how they are released.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

TEST(DbSnapshots, KeepEveryVersionThroughFlushesAndCompactions) {
  MemoryDb db;
  std::vector<SnapshotGuard> snapshots;
  for (int i = 0; i < 8; i++) {
    i % 4 == 3 ? db.Delete("key") : db.Put("key", std::to_string(i));
    snapshots.emplace_back(*db);
    if (i % 3 == 0) db.Flush();
  }
  for (int round = 0; round < 3; round++) {
    for (int i = 0; i < 8; i++) {
      const auto at = static_cast<size_t>(i);
      EXPECT_EQ(db.Get("key", snapshots[at].get()), i % 4 == 3 ? "(absent)" : std::to_string(i));
      ReadOptions read;
      read.snapshot = snapshots[at].get();
      const auto iterator = db->NewIterator(read);
      iterator->SeekToFirst();
      EXPECT_EQ(iterator->Valid(), i % 4 != 3);
    }
    db.CompactAll();
  }
  snapshots.clear();
  db->ReleaseSnapshot(nullptr);
  db.CompactAll();
  EXPECT_TRUE(db->GetStatistics().levels.empty()) << "the deleted key leaves nothing behind";
}

// How many versions of "key" the database keeps once everything is compacted.
uint64_t NumVersions(MemoryDb& db) {
  db.CompactAll();
  uint64_t num_entries = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) num_entries += level.num_entries;
  return num_entries;
}

TEST(DbSnapshots, AGuardReleasesItsSnapshotOnceAtTheEndOfItsLife) {
  MemoryDb db;
  db.Put("key", "old");
  {
    const SnapshotGuard guard(*db);
    EXPECT_EQ(guard.get()->sequence(), 1u);
    db.Put("key", "new");
    EXPECT_EQ(NumVersions(db), 2u);
    EXPECT_EQ(db.Get("key", guard.get()), "old");
  }
  EXPECT_EQ(NumVersions(db), 1u) << "nothing holds the old version any more";
}

TEST(DbSnapshots, AGuardThatIsMovedHandsItsSnapshotOn) {
  MemoryDb db;
  db.Put("key", "first");
  SnapshotGuard first(*db);
  db.Put("key", "second");
  SnapshotGuard second(*db);
  db.Put("key", "third");
  SnapshotGuard moved(std::move(first));
  EXPECT_EQ(first.get(),
            nullptr);  // NOLINT(bugprone-use-after-move): what a moved-from guard holds
  EXPECT_EQ(db.Get("key", moved.get()), "first");
  EXPECT_EQ(NumVersions(db), 3u);

  moved = std::move(second);
  EXPECT_EQ(db.Get("key", moved.get()), "second");
  EXPECT_EQ(NumVersions(db), 2u) << "what the guard held before is released";
  SnapshotGuard& itself = moved;
  moved = std::move(itself);
  EXPECT_EQ(db.Get("key", moved.get()), "second");

  moved.Release();
  EXPECT_EQ(moved.get(), nullptr);
  moved.Release();
  EXPECT_EQ(NumVersions(db), 1u);
}

// RocksDB #8608: a snapshot that was released while a compaction ran changed its mind midway.
TEST(DbSnapshots, OneReleasedAtAnyStepOfACompactionChangesNothingForTheOthers) {
  for (int step = 0;; step++) {
    SCOPED_TRACE(step);
    MemoryDb db;
    std::vector<const Snapshot*> snapshots;
    for (int version = 0; version < 3; version++) {
      for (int i = 0; i < 60; i++) {
        const std::string key = absl::StrCat("key", 100 + i);
        (i + version) % 3 == 0 ? db.Delete(key) : db.Put(key, std::string(200, 'a' + version));
      }
      db.Flush();
      snapshots.push_back(db->GetSnapshot());
    }
    int operations = 0;
    db.file_system().set_error_hook([&](const FileOperation& operation) {
      const bool counts =
          operation.path.ends_with(".sst") && (operation.kind == FileOperation::Kind::kRead ||
                                               operation.kind == FileOperation::Kind::kAppend);
      if (counts && operations++ == step) db->ReleaseSnapshot(snapshots[1]);
      return absl::OkStatus();
    });
    db.CompactAll();
    db.file_system().set_error_hook(nullptr);
    for (const int version : {0, 2}) {
      for (int i = 0; i < 60; i++) {
        ASSERT_EQ(db.Get(absl::StrCat("key", 100 + i), snapshots[static_cast<size_t>(version)]),
                  (i + version) % 3 == 0 ? "(absent)" : std::string(200, 'a' + version));
      }
    }
    if (operations <= step) db->ReleaseSnapshot(snapshots[1]);
    db->ReleaseSnapshot(snapshots[0]);
    db->ReleaseSnapshot(snapshots[2]);
    if (operations <= step) {
      EXPECT_GT(step, 5) << "a compaction has so many steps";
      return;
    }
  }
}

TEST(DbSnapshots, ManyAreReleasedInAnyOrderAndTwiceHarmsNothing) {
  MemoryDb db;
  std::vector<const Snapshot*> snapshots;
  for (int i = 0; i < 20'000; i++) {
    if (i % 100 == 0) db.Put("key", std::to_string(i));
    snapshots.push_back(db->GetSnapshot());
  }
  EXPECT_EQ(db.Get("key", snapshots[150]), "100");
  for (size_t i = 0; i < snapshots.size(); i++) {
    db->ReleaseSnapshot(snapshots[i * 7919 % snapshots.size()]);
  }
  db->ReleaseSnapshot(snapshots[0]);
  db->ReleaseSnapshot(nullptr);
  db.CompactAll();
  EXPECT_EQ(db.Get("key"), "19900");
}

// In a list that each release looks through, twice as many would cost four times as much.
TEST(DbSnapshots, AReleaseCostsTheSameHoweverManyThereAre) {
  MemoryDb db;
  std::mt19937 random(1);
  const auto time_of_releases = [&](int count) {
    std::vector<const Snapshot*> snapshots;
    for (int i = 0; i < count; i++) {
      db.Put("key", "value");  // each has a sequence number of its own
      snapshots.push_back(db->GetSnapshot());
    }
    std::shuffle(snapshots.begin(), snapshots.end(), random);
    const auto begin = std::chrono::steady_clock::now();
    for (const Snapshot* snapshot : snapshots) db->ReleaseSnapshot(snapshot);
    return std::chrono::steady_clock::now() - begin;
  };
  // 200 times as many take 200 times the time, and some ten times that as they leave the caches; a
  // walk over all that are there would take 40,000.
  const auto of_few = std::min(time_of_releases(2'000), time_of_releases(2'000));
  EXPECT_LT(time_of_releases(400'000), 15'000 * of_few);
}

}  // namespace
}  // namespace winnow
