// What making an iterator and stepping over versions that are not shown cost, counted in
// comparisons of keys.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/counting_comparator.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

// Keys "a", "b" and "c", of which "b" has many versions, most of them in one table.
class ManyVersions : public testing::Test {
 protected:
  static constexpr int kVersions = 5000;
  static constexpr size_t kFew = 500;

  ManyVersions() {
    Options options = MemoryDb::Quiet();
    options.comparator = &comparator_;
    db_ = std::make_unique<MemoryDb>(options);
    db_->Put("a", "a");
    db_->Put("c", "c");
    db_->Put("b", "first");
    first_ = (*db_)->GetSnapshot();
    for (int i = 1; i < kVersions; i++) {
      db_->Put("b", std::to_string(i));
      held_.push_back((*db_)->GetSnapshot());
      if (i == kVersions / 2) db_->Flush();
    }
    read_.upper_bound = "z";
  }
  ~ManyVersions() override {
    for (const Snapshot* snapshot : held_) (*db_)->ReleaseSnapshot(snapshot);
    (*db_)->ReleaseSnapshot(first_);
    db_.reset();
  }

  const CountingComparator comparator_;
  std::unique_ptr<MemoryDb> db_;
  const Snapshot* first_ = nullptr;
  std::vector<const Snapshot*> held_;
  ReadOptions read_;
};

// Each version was once stepped over.
TEST_F(ManyVersions, AreSoughtPastGoingForward) {
  const auto iterator = (*db_)->NewIterator(read_);
  iterator->Seek("b");
  ASSERT_EQ(iterator->value(), std::to_string(kVersions - 1));
  comparator_.TakeCount();
  iterator->Next();
  EXPECT_EQ(iterator->key(), "c");
  EXPECT_LT(comparator_.TakeCount(), kFew);
}

TEST_F(ManyVersions, AreSoughtPastGoingBackward) {
  const auto iterator = (*db_)->NewIterator(read_);
  iterator->Seek("c");
  comparator_.TakeCount();
  iterator->Prev();
  EXPECT_EQ(iterator->value(), std::to_string(kVersions - 1));
  iterator->Prev();
  EXPECT_EQ(iterator->key(), "a");
  EXPECT_LT(comparator_.TakeCount(), kFew);
}

TEST_F(ManyVersions, TooNewForTheSnapshotAreSoughtPast) {
  read_.snapshot = first_;
  const auto iterator = (*db_)->NewIterator(read_);
  for (const bool forward : {true, false}) {
    iterator->Seek(forward ? "a" : "c");
    comparator_.TakeCount();
    forward ? iterator->Next() : iterator->Prev();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->value(), "first");
    EXPECT_LT(comparator_.TakeCount(), kFew);
  }
}

// Runs of versions and deletions around the length at which steps give way to a seek.
TEST(ManyVersionsOfManyKeys, AreShownAsAModelShowsThem) {
  for (const uint64_t seed : Seeds(6)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemoryDb db;
    std::map<std::string, std::string> model;
    struct Moment {
      const Snapshot* snapshot;
      std::map<std::string, std::string> model;
    };
    std::vector<Moment> moments;
    for (int run = 0; run < 60; run++) {
      const std::string key(1, static_cast<char>('a' + random() % 8));
      for (uint64_t left = random() % 60; left > 0; left--) {
        if (random() % 4 == 0) {
          db.Delete(key);
          model.erase(key);
        } else {
          db.Put(key, model[key] = std::to_string(random() % 1000));
        }
        if (random() % 8 == 0) moments.push_back({db->GetSnapshot(), model});
      }
      if (random() % 10 == 0) db.Flush();
      if (random() % 20 == 0) db.CompactAll();
    }
    for (const Moment& moment : moments) {
      ReadOptions read;
      read.snapshot = moment.snapshot;
      const auto iterator = db->NewIterator(read);
      std::map<std::string, std::string> forward;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        forward.emplace(iterator->key(), iterator->value());
      }
      std::map<std::string, std::string> backward;
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
        backward.emplace(iterator->key(), iterator->value());
      }
      // To and fro: each key is turned round at.
      std::map<std::string, std::string> turning;
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        const std::string key(iterator->key());
        iterator->Prev();
        if (iterator->Valid()) {
          iterator->Next();
        } else {
          iterator->SeekToFirst();
        }
        ASSERT_TRUE(iterator->Valid());
        ASSERT_EQ(iterator->key(), key);
        turning.emplace(key, iterator->value());
      }
      ASSERT_TRUE(iterator->status().ok());
      ASSERT_EQ(forward, moment.model);
      ASSERT_EQ(backward, moment.model);
      ASSERT_EQ(turning, moment.model);
    }
    for (const Moment& moment : moments) db->ReleaseSnapshot(moment.snapshot);
  }
}

// In a table, below a deletion in memory and then below one in a newer table.
TEST(RangeDeletionCost, KeysBelowOneDeletionAreSoughtPast) {
  const CountingComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  db.Put("a", "first");
  db.Put("z", "last");
  for (int i = 0; i < 100'000; i++) db.Put(absl::StrFormat("k%06d", i), "v");
  db.Flush();
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), "b", "y").ok());
  for (const bool flushes : {false, true}) {
    if (flushes) db.Flush();
    SCOPED_TRACE(flushes);
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->Seek("a");
    ASSERT_TRUE(iterator->Valid());
    comparator.TakeCount();
    iterator->Next();
    EXPECT_EQ(iterator->key(), "z");
    EXPECT_LT(comparator.TakeCount(), 500u);
    iterator->Prev();
    EXPECT_EQ(iterator->key(), "a");
    EXPECT_LT(comparator.TakeCount(), 500u);
    iterator->Seek("k050000");
    EXPECT_EQ(iterator->key(), "z");
    EXPECT_LT(comparator.TakeCount(), 500u);
  }
  db.CloseDb();  // before its comparator
}

TEST(RangeDeletionCost, AGetBesideManyDeletionsComparesFewOfThem) {
  const CountingComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  const auto key_at = [](int i) { return absl::StrFormat("%06d", i); };
  constexpr int kDeletions = 50'000;
  for (int i = 0; i < kDeletions; i += 100) db.Put(key_at(i), "v");
  db.Flush();
  for (int i = 0; i < kDeletions; i++) {
    // Each lies between two of the keys, and none of them goes.
    ASSERT_TRUE(db->DeleteRange(WriteOptions(), key_at(i) + "a", key_at(i) + "b").ok());
  }
  for (const bool flushes : {false, true}) {
    if (flushes) db.Flush();
    ASSERT_EQ(db.Get(key_at(0)), "v");  // the index of those in memory is made
    for (int i = 0; i < kDeletions; i += 1000) {
      comparator.TakeCount();
      ASSERT_EQ(db.Get(key_at(i)), "v");
      ASSERT_LT(comparator.TakeCount(), 200u) << flushes << ' ' << i;
    }
  }
  db.CloseDb();  // before its comparator
}

// Every file of a level was once compared with both bounds.
TEST(NewIterator, OfALevelOfManyFilesComparesFewOfThem) {
  const CountingComparator comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  options.target_file_bytes = 64 << 10;
  MemoryDb db(options);
  for (int i = 0; i < 800; i++) db.Put(absl::StrFormat("%04d", i), std::string(16 << 10, 'v'));
  db.CompactAll();
  ASSERT_GE(std::stoi(*db->GetProperty("winnow.num-files-at-level6")), 150);
  ReadOptions read;
  for (const auto& [lower, upper] :
       std::vector<std::pair<std::string, std::string>>{{"0100", "0110"}, {"0000", "0799"}}) {
    read.lower_bound = lower;
    read.upper_bound = upper;
    comparator.TakeCount();
    const auto iterator = db->NewIterator(read);
    EXPECT_LT(comparator.TakeCount(), 40u);
    int found = 0;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) found++;
    EXPECT_EQ(found, std::stoi(upper) - std::stoi(lower));
  }
  db.CloseDb();  // before its comparator
}

// Without a cache, or where it is not to be filled, each seek would read the block anew.
TEST(SeeksInOneBlock, ReadItOnce) {
  for (const bool has_cache : {false, true}) {
    Options options = MemoryDb::Quiet();
    options.block_bytes = 16 << 10;
    if (!has_cache) options.block_cache_bytes = 0;
    MemoryDb db(options);
    for (int i = 0; i < 2000; i++) db.Put(absl::StrFormat("%04d", i), absl::StrCat("value ", i));
    db.CompactAll();
    const auto blocks_read = [&] { return db->GetStatistics().Get(Ticker::kDataBlocksRead); };
    const uint64_t before = blocks_read();
    ReadOptions read;
    read.fill_cache = false;
    auto iterator = db->NewIterator(read);
    for (int i = 100; i < 200; i++) {
      const int at = i % 2 == 0 ? i : 300 - i;
      iterator->Seek(absl::StrFormat("%04d", at));
      ASSERT_TRUE(iterator->Valid()) << iterator->status();
      ASSERT_EQ(iterator->value(), absl::StrCat("value ", at));
      iterator->SeekForPrev(absl::StrFormat("%04dx", at));
      ASSERT_EQ(iterator->value(), absl::StrCat("value ", at));
    }
    iterator->SeekToLast();
    ASSERT_EQ(iterator->key(), "1999");
    iterator->Seek("2000");
    ASSERT_FALSE(iterator->Valid());
    iterator->Seek("0100");
    ASSERT_EQ(iterator->value(), "value 100");
    iterator.reset();  // what it has read is counted by then
    // The first one, the last, and the first again, behind which the end may have been looked at.
    EXPECT_GE(blocks_read() - before, 3u) << has_cache;
    EXPECT_LE(blocks_read() - before, 5u) << has_cache;
  }
}

}  // namespace
}  // namespace winnow
