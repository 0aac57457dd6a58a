// Range deletions in a batch that can be read: over the database, over the batch's own earlier
// updates, and under its later ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/counting_comparator.h"
#include "tests/support/db_fixture.h"
#include "tests/support/db_model.h"
#include "winnow/indexed_write_batch.h"

namespace winnow {
namespace {

std::string ReadIn(IndexedWriteBatch& batch, std::string_view key) {
  std::string value;
  const absl::Status status = batch.Get(ReadOptions(), key, &value);
  return status.ok() ? value : absl::IsNotFound(status) ? "(absent)" : status.ToString();
}

// "a=1 b=2 ", and the same backwards, which must agree.
std::string Walk(Iterator& it) {
  std::string forward;
  for (it.SeekToFirst(); it.Valid(); it.Next()) {
    absl::StrAppend(&forward, std::string(it.key()), "=", std::string(it.value()), " ");
  }
  EXPECT_TRUE(it.status().ok()) << it.status().ToString();
  std::string backward;
  for (it.SeekToLast(); it.Valid(); it.Prev()) {
    backward = absl::StrCat(std::string(it.key()), "=", std::string(it.value()), " ", backward);
  }
  EXPECT_TRUE(it.status().ok()) << it.status().ToString();
  EXPECT_EQ(forward, backward);
  return forward;
}
std::string Walk(IndexedWriteBatch& batch) { return Walk(*batch.NewIterator(ReadOptions())); }

TEST(IndexedRangeDeletions, HideTheDatabaseAndWhatTheBatchHadBefore) {
  MemoryDb db;
  for (const std::string_view key : {"a", "b", "c", "d", "e"}) db.Put(key, "base");
  db.Flush();
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Put("c", "own").ok());
  ASSERT_TRUE(batch.Put("bb", "own").ok());
  ASSERT_TRUE(batch.DeleteRange("b", "d").ok());
  EXPECT_EQ(ReadIn(batch, "a"), "base");
  EXPECT_EQ(ReadIn(batch, "b"), "(absent)");
  EXPECT_EQ(ReadIn(batch, "bb"), "(absent)");
  EXPECT_EQ(ReadIn(batch, "c"), "(absent)");
  EXPECT_EQ(ReadIn(batch, "d"), "base") << "the end is not deleted";
  EXPECT_EQ(Walk(batch), "a=base d=base e=base ");
  ASSERT_TRUE(batch.Put("c", "later").ok());
  EXPECT_EQ(ReadIn(batch, "c"), "later");
  EXPECT_EQ(Walk(batch), "a=base c=later d=base e=base ");
  EXPECT_EQ(db.Get("b"), "base");

  ASSERT_TRUE(db->Write(WriteOptions(), batch.batch()).ok());
  EXPECT_EQ(Walk(*db->NewIterator(ReadOptions())), "a=base c=later d=base e=base ");
}

TEST(IndexedRangeDeletions, AreSeenByPinnedGetAndMultiGet) {
  MemoryDb db;
  db.Put("a", "base");
  db.Put("b", "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.DeleteRange("b", "c").ok());
  PinnedValue pinned;
  EXPECT_TRUE(absl::IsNotFound(batch.Get(ReadOptions(), "b", &pinned)));
  const std::vector<std::string_view> keys = {"a", "b", "bb"};
  std::vector<PinnedValue> values(3);
  std::vector<absl::Status> statuses(3);
  batch.MultiGet(ReadOptions(), db->DefaultColumnFamily(), keys, values, statuses);
  EXPECT_EQ(values[0].view(), "base");
  EXPECT_TRUE(absl::IsNotFound(statuses[1]));
  EXPECT_TRUE(absl::IsNotFound(statuses[2]));
}

TEST(IndexedRangeDeletions, OperandsAboveThemStartFromNothing) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("append:,");
  MemoryDb db(options);
  db.Put("a", "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Merge("a", "hidden").ok());
  ASSERT_TRUE(batch.DeleteRange("a", "b").ok());
  ASSERT_TRUE(batch.Merge("a", "1").ok());
  ASSERT_TRUE(batch.Merge("a", "2").ok());
  EXPECT_EQ(ReadIn(batch, "a"), "1,2");
  EXPECT_EQ(Walk(batch), "a=1,2 ");
  ASSERT_TRUE(db->Write(WriteOptions(), batch.batch()).ok());
  EXPECT_EQ(db.Get("a"), "1,2");
}

TEST(IndexedRangeDeletions, EmptyOnesDoNothingAndInvertedOnesAreRefused) {
  MemoryDb db;
  MemoryDb other;
  db.Put("b", "base");
  IndexedWriteBatch batch(*db);
  EXPECT_TRUE(batch.DeleteRange("b", "b").ok());
  EXPECT_EQ(batch.batch().num_updates(), 0U);
  constexpr auto kBad = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(batch.DeleteRange("c", "a").code(), kBad);
  EXPECT_EQ(batch.DeleteRange(nullptr, "a", "c").code(), kBad);
  EXPECT_EQ(batch.DeleteRange(other->DefaultColumnFamily(), "a", "c").code(), kBad);
  const std::string too_long(kMaxKeyBytes + 1, 'k');
  EXPECT_EQ(batch.DeleteRange("a", too_long).code(), kBad);
  EXPECT_EQ(batch.DeleteRange(too_long, "z").code(), kBad);
  EXPECT_EQ(batch.batch().num_updates(), 0U);
  EXPECT_EQ(ReadIn(batch, "b"), "base");
}

TEST(IndexedRangeDeletions, FollowTheOrderOfTheComparator) {
  const ReverseComparator reverse;
  Options options = MemoryDb::Quiet();
  options.comparator = &reverse;
  MemoryDb db(options);
  for (const std::string_view key : {"a", "b", "c"}) db.Put(key, "base");
  IndexedWriteBatch batch(*db);
  EXPECT_EQ(batch.DeleteRange("a", "c").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(batch.DeleteRange("c", "a").ok());
  EXPECT_EQ(Walk(batch), "a=base ");
  ASSERT_TRUE(batch.Put("b", "own").ok());
  EXPECT_EQ(Walk(batch), "b=own a=base ");
}

TEST(IndexedRangeDeletions, KeysThatCompareEqualAreCovered) {
  MemoryDb db(CaseBlindOptions());
  db.Put("Key", "base");
  db.Put("other", "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.DeleteRange("KEY", "key0").ok());
  EXPECT_EQ(ReadIn(batch, "kEY"), "(absent)");
  EXPECT_EQ(Walk(batch), "other=base ");
}

TEST(IndexedRangeDeletions, GoWithTheSavepoint) {
  MemoryDb db;
  for (const std::string_view key : {"a", "b", "c"}) db.Put(key, "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.DeleteRange("a", "b").ok());
  ASSERT_TRUE(batch.SetSavepoint().ok());
  ASSERT_TRUE(batch.DeleteRange("b", "c").ok());
  const auto held = batch.NewIterator(ReadOptions());
  held->SeekToFirst();
  EXPECT_EQ(held->key(), "c");
  ASSERT_TRUE(batch.RollbackToSavepoint().ok());
  held->Next();
  EXPECT_EQ(held->status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Walk(batch), "b=base c=base ");
  ASSERT_TRUE(batch.DeleteRange("c", "d").ok());
  EXPECT_EQ(Walk(batch), "b=base ");
  batch.Clear();
  EXPECT_EQ(Walk(batch), "a=base b=base c=base ");
}

TEST(IndexedRangeDeletions, AnIteratorShowsNoneThatCameLater) {
  MemoryDb db;
  for (const std::string_view key : {"a", "b", "c"}) db.Put(key, "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Put("b", "own").ok());
  ASSERT_TRUE(batch.DeleteRange("a", "aa").ok());
  const auto held = batch.NewIterator(ReadOptions());
  for (int i = 0; i < 100; i++) ASSERT_TRUE(batch.DeleteRange("b", absl::StrCat("d", i)).ok());
  EXPECT_EQ(Walk(*held), "b=own c=base ");
  EXPECT_EQ(Walk(batch), "");
}

TEST(IndexedRangeDeletions, EachFamilyHasItsOwn) {
  MemoryDb db;
  ColumnFamily* const other = *db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  db.Put("a", "base");
  ASSERT_TRUE(db->Put(WriteOptions(), other, "a", "base").ok());
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.DeleteRange(other, "a", "b").ok());
  EXPECT_EQ(ReadIn(batch, "a"), "base");
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(batch.Get(ReadOptions(), other, "a", &value)));
}

// --- What it costs ---

std::string Numbered(int number) { return absl::StrFormat("%08d", number); }

class CountedBatch {
 public:
  CountedBatch() {
    Options options = MemoryDb::Quiet();
    options.comparator = &comparator_;
    db_ = std::make_unique<MemoryDb>(options);
  }

  MemoryDb& db() { return *db_; }
  uint64_t TakeCompared() { return comparator_.TakeCount(); }

 private:
  const CountingComparator comparator_;
  std::unique_ptr<MemoryDb> db_;
};

// Reads come between the deletions, so that the index is not made once and for all.
TEST(IndexedRangeDeletions, ManyOfThemCostAReadTheirLogarithm) {
  CountedBatch counted;
  counted.db().Put(Numbered(1), "base");
  IndexedWriteBatch batch(*counted.db());
  constexpr int kMany = 20'000;
  uint64_t most_compared = 0;
  uint64_t all_compared = 0;
  for (int i = 0; i < kMany; i++) {
    // In an order that is not that of the keys.
    const int at = i * 7919 % kMany;
    ASSERT_TRUE(batch.DeleteRange(Numbered(10 * at), Numbered(10 * at + 5)).ok());
    EXPECT_EQ(ReadIn(batch, Numbered(10 * at + 4)), "(absent)");
    all_compared += counted.TakeCompared();
    EXPECT_EQ(ReadIn(batch, Numbered(10 * at + 7)), "(absent)");
    most_compared = std::max(most_compared, counted.TakeCompared());
  }
  // Of 20,000 bounds: 15 runs, each of at most 16 steps, and what the database asks.
  EXPECT_LT(most_compared, 600U);
  // To index them: about n log² n, where n² would be 400,000,000.
  EXPECT_LT(all_compared, 40'000'000U);
}

TEST(IndexedRangeDeletions, AreJumpedOverByIterators) {
  CountedBatch counted;
  constexpr int kKeys = 10'000;
  for (int i = 0; i < kKeys; i++) counted.db().Put(Numbered(i), "base");
  IndexedWriteBatch batch(*counted.db());
  ASSERT_TRUE(batch.DeleteRange(Numbered(10), Numbered(5000)).ok());
  ASSERT_TRUE(batch.DeleteRange(Numbered(4000), Numbered(kKeys - 10)).ok());
  const auto it = batch.NewIterator(ReadOptions());
  it->Seek(Numbered(9));
  counted.TakeCompared();
  it->Next();
  EXPECT_EQ(it->key(), Numbered(kKeys - 10));
  it->Prev();
  EXPECT_EQ(it->key(), Numbered(9));
  it->SeekForPrev(Numbered(4500));
  EXPECT_EQ(it->key(), Numbered(9));
  EXPECT_LT(counted.TakeCompared(), 1000U);
}

// --- Against a model, under other orders ---

class OrderedBesideModel {
 public:
  OrderedBesideModel(const Comparator& comparator, uint64_t seed)
      : random_(seed), model_(ModelOrder{&comparator}) {
    Options options = MemoryDb::Quiet();
    options.comparator = &comparator;
    options.filter = "none";
    options.memtable_filter_ratio = 0;
    db_ = std::make_unique<MemoryDb>(options);
    for (int i = 0; i < 40; i++) {
      const std::string key = AnyKey();
      PutInModel(&model_, key, absl::StrCat("base", i));
      db_->Put(key, absl::StrCat("base", i));
      if (i == 20) db_->Flush();
    }
    batch_ = std::make_unique<IndexedWriteBatch>(**db_);
  }

  void Run() {
    for (int step = 0; step < 120 && !testing::Test::HasFailure(); step++) {
      Change(step);
      Check();
    }
    ASSERT_TRUE((*db_)->Write(WriteOptions(), batch_->batch()).ok());
    CheckIterator(*(*db_)->NewIterator(ReadOptions()), model_);
  }

 private:
  std::string AnyKey() {
    std::string key;
    for (uint64_t left = 1 + random_() % 2; left > 0; left--) key += "abcABC"[random_() % 6];
    return key;
  }

  void Change(int step) {
    const std::string key = AnyKey();
    switch (random_() % 5) {
      case 0:
      case 1:
        PutInModel(&model_, key, absl::StrCat("own", step));
        ASSERT_TRUE(batch_->Put(key, absl::StrCat("own", step)).ok());
        return;
      case 2:
        model_.erase(key);
        ASSERT_TRUE(batch_->Delete(key).ok());
        return;
      case 3: {
        std::string begin = key;
        std::string end = AnyKey();
        if (model_.key_comp()(end, begin)) std::swap(begin, end);
        model_.erase(model_.lower_bound(begin), model_.lower_bound(end));
        ASSERT_TRUE(batch_->DeleteRange(begin, end).ok());
        return;
      }
      default:
        if (savepoint_.has_value()) {
          model_ = *savepoint_;
          savepoint_.reset();
          ASSERT_TRUE(batch_->RollbackToSavepoint().ok());
        } else {
          savepoint_ = model_;
          ASSERT_TRUE(batch_->SetSavepoint().ok());
        }
    }
  }

  void Check() {
    const std::string key = AnyKey();
    const auto expected = model_.find(key);
    EXPECT_EQ(ReadIn(*batch_, key), expected == model_.end() ? "(absent)" : expected->second);
    ReadOptions options;
    if (random_() % 2 == 0) options.lower_bound = AnyKey();
    if (random_() % 2 == 0) options.upper_bound = AnyKey();
    CheckIterator(*batch_->NewIterator(options, (*db_)->DefaultColumnFamily()),
                  Bounded(model_, options.lower_bound, options.upper_bound));
  }

  void CheckIterator(Iterator& it, const ModelFamily& shown) {
    it.SeekToFirst();
    for (auto at = shown.begin(); at != shown.end(); ++at, it.Next()) {
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.value(), at->second);
    }
    EXPECT_FALSE(it.Valid());
    it.SeekToLast();
    for (auto at = shown.rbegin(); at != shown.rend(); ++at, it.Prev()) {
      ASSERT_TRUE(it.Valid());
      EXPECT_EQ(it.value(), at->second);
    }
    EXPECT_FALSE(it.Valid());
    const std::string key = AnyKey();
    it.Seek(key);
    const auto behind = shown.lower_bound(key);
    ASSERT_EQ(it.Valid(), behind != shown.end());
    if (it.Valid()) {
      EXPECT_EQ(it.value(), behind->second);
    }
    it.SeekForPrev(key);
    const auto end = shown.upper_bound(key);
    ASSERT_EQ(it.Valid(), end != shown.begin());
    if (it.Valid()) {
      EXPECT_EQ(it.value(), std::prev(end)->second);
    }
  }

  std::mt19937_64 random_;
  ModelFamily model_;
  std::optional<ModelFamily> savepoint_;
  std::unique_ptr<MemoryDb> db_;
  std::unique_ptr<IndexedWriteBatch> batch_;
};

TEST(IndexedRangeDeletions, AnswerAsAModelDoesUnderEveryOrder) {
  const ReverseComparator reverse;
  const CaseBlindComparator case_blind;
  for (const Comparator* comparator :
       {BytewiseComparator(), static_cast<const Comparator*>(&reverse),
        static_cast<const Comparator*>(&case_blind)}) {
    for (const uint64_t seed : Seeds(20)) {
      SCOPED_TRACE(absl::StrCat("seed ", seed));
      OrderedBesideModel(*comparator, seed).Run();
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace winnow
