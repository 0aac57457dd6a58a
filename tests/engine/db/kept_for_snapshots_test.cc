// What was deleted under a snapshot goes from the deepest level once the snapshot has gone.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "winnow/event_listener.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

constexpr uint64_t kKeys = 4000;

std::string NumberedKey(uint64_t number) { return absl::StrFormat("key%08d", number); }

class CompactionReasons final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind != Event::Kind::kCompactionBegin) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (event.message == "snapshots released") num_released_++;
  }
  int num_released() {
    std::lock_guard<std::mutex> lock(mutex_);
    return num_released_;
  }

 private:
  // Guards what follows; standard mutexes cannot be annotated.
  std::mutex mutex_;
  int num_released_ = 0;
};

class KeptForSnapshotsTest : public testing::Test {
 protected:
  KeptForSnapshotsTest() {
    Options options = MemoryDb::Quiet();
    options.disable_auto_compactions = false;
    options.listeners.push_back(reasons_);
    db_ = std::make_unique<MemoryDb>(options);
  }

  DB& db() { return **db_; }
  void PutAll() {
    for (uint64_t i = 0; i < kKeys; i++) db_->Put(NumberedKey(i), std::string(100, 'v'));
  }
  uint64_t Entries() {
    uint64_t entries = 0;
    for (const LevelStatistics& level : db().GetStatistics().levels) entries += level.num_entries;
    return entries;
  }
  void Wait() { ASSERT_TRUE(db().WaitForBackgroundWork().ok()); }
  // A listener has heard of everything when Close returns, and not before.
  int ReleasedUntilClosed() {
    EXPECT_TRUE(db().Close().ok());
    return reasons_->num_released();
  }

  const std::shared_ptr<CompactionReasons> reasons_ = std::make_shared<CompactionReasons>();
  std::unique_ptr<MemoryDb> db_;
};

TEST_F(KeptForSnapshotsTest, DeletionsGoWhenTheLastOneThatNeedsThemIsReleased) {
  PutAll();
  const Snapshot* before = db().GetSnapshot();
  for (uint64_t i = 0; i < kKeys / 2; i++) db_->Delete(NumberedKey(i));
  const Snapshot* after = db().GetSnapshot();
  db_->CompactAll();
  Wait();
  EXPECT_EQ(Entries(), kKeys + kKeys / 2) << "the snapshots need them";
  EXPECT_EQ(db_->Get(NumberedKey(1), before), std::string(100, 'v'));
  db().ReleaseSnapshot(before);
  Wait();
  EXPECT_EQ(Entries(), kKeys / 2) << "the other one sees nothing of it";
  EXPECT_EQ(db_->Get(NumberedKey(1), after), "(absent)");
  EXPECT_EQ(db_->Get(NumberedKey(kKeys - 1), after), std::string(100, 'v'));
  db().ReleaseSnapshot(after);
  Wait();
  EXPECT_TRUE(db().Verify()->empty());
}

TEST_F(KeptForSnapshotsTest, SoDoesWhatARangeDeletionHides) {
  PutAll();
  const Snapshot* snapshot = db().GetSnapshot();
  ASSERT_TRUE(db().DeleteRange(WriteOptions(), NumberedKey(10), NumberedKey(3000)).ok());
  db_->CompactAll();
  Wait();
  EXPECT_EQ(Entries(), kKeys);
  db().ReleaseSnapshot(snapshot);
  Wait();
  EXPECT_EQ(Entries(), kKeys - 2990);
  EXPECT_EQ(ReleasedUntilClosed(), 1);
}

// Also where the process of the snapshot has ended without releasing it.
TEST_F(KeptForSnapshotsTest, AnOpeningHasNoSnapshots) {
  PutAll();
  db().GetSnapshot();
  for (uint64_t i = 0; i < kKeys / 2; i++) db_->Delete(NumberedKey(i));
  db_->CompactAll();
  Wait();
  EXPECT_EQ(Entries(), kKeys + kKeys / 2);
  db_->Reopen();
  Wait();
  EXPECT_EQ(Entries(), kKeys / 2);
}

TEST_F(KeptForSnapshotsTest, AFewDeletionsStayUntilTheFileIsCompacted) {
  PutAll();
  const Snapshot* snapshot = db().GetSnapshot();
  for (uint64_t i = 0; i < kKeys / 100; i++) db_->Delete(NumberedKey(100 * i));
  db_->CompactAll();
  db().ReleaseSnapshot(snapshot);
  Wait();
  EXPECT_EQ(Entries(), kKeys + kKeys / 100);
  EXPECT_EQ(ReleasedUntilClosed(), 0);
}

class RefusesAll final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.RefusesAll"; }
  absl::Status FullMerge(std::string_view, std::optional<std::string_view>,
                         std::span<const std::string_view>, std::string*) const override {
    return absl::InvalidArgumentError("refused");
  }
};

// A deletion that ends operands of which no value can be made has to stay below them.
TEST_F(KeptForSnapshotsTest, WhatCannotGoIsTriedOnce) {
  db_->options().merge_operator = std::make_shared<const RefusesAll>();
  db_->Reopen();
  for (uint64_t i = 0; i < 100; i++) {
    db_->Delete(NumberedKey(i));
    ASSERT_TRUE(db().Merge(WriteOptions(), NumberedKey(i), "operand").ok());
  }
  const Snapshot* snapshot = db().GetSnapshot();
  db_->Put("key", "value");
  db_->CompactAll();
  const uint64_t before = Entries();
  db().ReleaseSnapshot(snapshot);
  Wait();
  const auto compactions = [&] { return db().GetStatistics().Get(Ticker::kCompactions); };
  const uint64_t tried = compactions();
  for (int i = 0; i < 3; i++) db().ReleaseSnapshot(db().GetSnapshot());
  Wait();
  EXPECT_EQ(compactions(), tried);
  EXPECT_LE(Entries(), before);
  EXPECT_TRUE(absl::StrContains(db_->Get(NumberedKey(7)), "refused"));
  EXPECT_LE(ReleasedUntilClosed(), 1) << "four snapshots have been released";
}

}  // namespace
}  // namespace winnow
