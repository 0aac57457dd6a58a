// The order of level 0 where tables are ingested into it: of a key in two of its files the upper
// one has the newer version, whatever the sequence numbers of other keys in them are.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

constexpr int kNumKeys = 3000;
constexpr int kTrigger = 4;

std::string Key(int i) { return absl::StrFormat("k%05d", i); }

// A last level that is large beside level 0, so that level 0 is merged within itself.
Options MergingWithinLevelZero(std::string_view compaction = "leveled") {
  Options options = MemoryDb::Quiet();
  options.level0_compaction_trigger = kTrigger;
  options.compaction = *ParseCompactionStyle(compaction);
  options.background_threads = 2;
  return options;
}

class LevelZeroOrderTest : public ::testing::Test {
 protected:
  explicit LevelZeroOrderTest(std::string_view compaction = "leveled")
      : db_(MergingWithinLevelZero(compaction)) {}

  void FillLastLevel() {
    for (int i = 0; i < kNumKeys; i++) db_.Put(Key(i), std::string(200, 'b'));
    db_.Flush();
    db_.CompactAll();
  }
  void Compacts(bool yes) {
    const absl::Status set = db_->SetOption("disable_auto_compactions", yes ? "false" : "true");
    ASSERT_TRUE(set.ok()) << set;
    if (!yes) return;
    ASSERT_TRUE(db_->WaitForBackgroundWork().ok());
  }
  // A table of the keys from `begin` to before `end`.
  IngestFile Table(int begin, int end, std::string_view value) {
    const std::string path = absl::StrCat("/t", num_tables_++);
    auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), path);
    EXPECT_TRUE(writer.ok()) << writer.status();
    for (int i = begin; i < end; i++) EXPECT_TRUE((*writer)->Put(Key(i), value).ok());
    EXPECT_TRUE((*writer)->Finish().ok());
    return {path};
  }
  // A file over the whole range, of level 0.
  void WideFlush(std::string_view value) {
    db_.Put(Key(0), value);
    db_.Put(Key(500), value);
    db_.Put(Key(kNumKeys - 1), value);
    db_.Flush();
  }
  size_t NumInLevelZero() { return db_->GetStatistics().levels[0].num_files; }
  void ExpectSound() {
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok());
    for (const VerifyProblem& problem : *problems) ADD_FAILURE() << problem.status;
  }
  std::map<std::string, std::string> All() {
    std::map<std::string, std::string> all;
    const auto iterator = db_->NewIterator(ReadOptions());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      all.emplace(iterator->key(), iterator->value());
    }
    EXPECT_TRUE(iterator->status().ok());
    return all;
  }

  MemoryDb db_;
  int num_tables_ = 0;
};

// The memtable has older entries than the ingested table, and no key of its range, so that it is
// flushed later. Meanwhile the table is merged with older files that have those keys.
TEST_F(LevelZeroOrderTest, WhatIsFlushedAfterAnOlderIngestionWasMergedStaysAbove) {
  FillLastLevel();
  WideFlush("old");
  ASSERT_TRUE(
      db_->DeleteRange(WriteOptions(), db_->DefaultColumnFamily(), Key(502), Key(504)).ok());
  db_.Put(Key(501), "old");
  db_.Flush();
  WideFlush("old");
  const Snapshot* const before = db_->GetSnapshot();
  auto transaction = db_->BeginTransaction();
  ASSERT_TRUE(transaction.ok()) << transaction.status();
  std::string value;
  ASSERT_TRUE((*transaction)->GetForUpdate(ReadOptions(), Key(500), &value).ok());
  ASSERT_TRUE((*transaction)->Put(Key(500), "lost update").ok());

  db_.Put(Key(500), "new");
  db_.Delete(Key(501));
  db_.Put(Key(502), "new");
  const auto info = db_->Ingest({Table(1000, 1600, "ingested")}, {});
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_FALSE(info->flushed);
  ASSERT_EQ(info->levels, std::vector<int>{0});
  ASSERT_EQ(NumInLevelZero(), 4u);
  Compacts(true);
  Compacts(false);
  ASSERT_EQ(NumInLevelZero(), 1u) << "they were to be merged within level 0";
  db_.Flush();
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(db_.Get(Key(500)), "new");
    EXPECT_EQ(db_.Get(Key(501)), "(absent)");
    EXPECT_EQ(db_.Get(Key(502)), "new");
    EXPECT_EQ(db_.Get(Key(503)), "(absent)");
    EXPECT_EQ(db_.Get(Key(1000)), "ingested");
    auto all = All();
    EXPECT_EQ(all[Key(500)], "new");
    EXPECT_EQ(all[Key(502)], "new");
    EXPECT_FALSE(all.contains(Key(501)));
    ExpectSound();
    if (round == 0) {
      EXPECT_EQ(db_.Get(Key(500), before), "old");
      EXPECT_TRUE(absl::IsAborted((*transaction)->Commit())) << "its key was written meanwhile";
      transaction->reset();
      db_->ReleaseSnapshot(before);
      db_.Reopen();
    }
  }
}

// All tables of one ingestion have the same sequence number. A merge that takes some of them, with
// files that are older, lies beneath the others.
class LevelZeroTiesTest : public LevelZeroOrderTest,
                          public ::testing::WithParamInterface<std::string_view> {
 protected:
  LevelZeroTiesTest() : LevelZeroOrderTest(GetParam()) {}
};

TEST_P(LevelZeroTiesTest, APartOfOneIngestionIsMergedWithOlderFiles) {
  FillLastLevel();
  for (int i = 0; i < 3; i++) WideFlush(absl::StrCat("old", i));
  // An older file joins if it is no larger than the newer ones together: the second of these does
  // not join the one that comes to lie above it, and the wide ones join the second.
  const auto info = db_->Ingest({Table(1000, 1600, "ingested"), Table(490, 510, "ingested")}, {});
  ASSERT_TRUE(info.ok()) << info.status();
  ASSERT_EQ(info->levels, std::vector<int>(2, 0));
  for (int round = 0; round < 3; round++) {
    Compacts(true);
    Compacts(false);
    EXPECT_EQ(db_.Get(Key(500)), "ingested");
    EXPECT_EQ(All()[Key(500)], "ingested");
    ExpectSound();
    WideFlush("old");
    EXPECT_TRUE(db_->Ingest({Table(490, 510, "ingested")}, {}).ok());
  }
}

INSTANTIATE_TEST_SUITE_P(Styles, LevelZeroTiesTest, ::testing::Values("leveled", "fifo:1G"));

// Random writes, flushes and ingestions of narrow tables beside compactions: what is read is what a
// map has.
class LevelZeroModelTest : public ::testing::Test {
 protected:
  void Run(uint64_t seed) {
    std::mt19937_64 random(seed);
    constexpr std::string_view kStyles[] = {"leveled", "fifo:1G", "tiered", "lazy_leveled"};
    MemoryDb db(MergingWithinLevelZero(kStyles[random() % 4]));
    std::map<std::string, std::string> model;
    const auto below = [&](int limit) {
      return static_cast<int>(random() % static_cast<uint64_t>(limit));
    };
    for (int i = 0; i < kNumKeys; i++) {
      model[Key(i)] = std::string(100, 'b');
      db.Put(Key(i), model[Key(i)]);
    }
    db.Flush();
    db.CompactAll();
    ASSERT_TRUE(db->SetOption("disable_auto_compactions", "false").ok());
    const auto ingest = [&](int step) {
      std::vector<IngestFile> files;
      for (int begin = below(400); begin < kNumKeys; begin += 1 + below(900)) {
        const std::string path = absl::StrCat("/t", step, "-", begin);
        auto writer = db->NewSstWriter(db->DefaultColumnFamily(), path);
        ASSERT_TRUE(writer.ok());
        const int end = std::min(begin + 1 + below(40), kNumKeys);
        for (; begin < end; begin++) {
          model[Key(begin)] = absl::StrCat("ingested", step);
          ASSERT_TRUE((*writer)->Put(Key(begin), model[Key(begin)]).ok());
        }
        ASSERT_TRUE((*writer)->Finish().ok());
        files.push_back({path});
        if (below(2) == 0) break;
      }
      const auto info = db->Ingest(files, {});
      ASSERT_TRUE(info.ok()) << info.status();
    };
    for (int step = 0; step < 300; step++) {
      const int choice = below(20);
      if (choice < 4) {
        ingest(step);
      } else if (choice < 6) {
        db.Flush();
      } else if (choice < 7) {
        ASSERT_TRUE(db->WaitForBackgroundWork().ok());
      } else if (choice < 8) {
        const int begin = below(kNumKeys);
        const int end = begin + 1 + below(30);
        ASSERT_TRUE(
            db->DeleteRange(WriteOptions(), db->DefaultColumnFamily(), Key(begin), Key(end)).ok());
        model.erase(model.lower_bound(Key(begin)), model.lower_bound(Key(end)));
      } else if (choice < 10) {
        const std::string key = Key(below(kNumKeys));
        db.Delete(key);
        model.erase(key);
      } else {
        const std::string key = Key(below(kNumKeys));
        model[key] = absl::StrCat("put", step);
        db.Put(key, model[key]);
      }
      if (step % 30 != 29) continue;
      Compare(db, model);
      if (HasFailure()) return;
      if (below(4) == 0) db.Reopen();
    }
    Compare(db, model);
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok());
    for (const VerifyProblem& problem : *problems) ADD_FAILURE() << problem.status;
  }

 private:
  static void Compare(MemoryDb& db, const std::map<std::string, std::string>& model) {
    for (int i = 0; i < kNumKeys; i++) {
      const auto expected = model.find(Key(i));
      ASSERT_EQ(db.Get(Key(i)), expected == model.end() ? "(absent)" : expected->second) << Key(i);
    }
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->SeekToFirst();
    for (const auto& [key, value] : model) {
      ASSERT_TRUE(iterator->Valid()) << key;
      ASSERT_EQ(iterator->key(), key);
      ASSERT_EQ(iterator->value(), value) << key;
      iterator->Next();
    }
    ASSERT_FALSE(iterator->Valid());
  }
};

TEST_F(LevelZeroModelTest, ReadsWhatWasWrittenLast) {
  for (const uint64_t seed : Seeds(12)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    Run(seed);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
