// Reads through a batch are those of the database once the batch were written.
#include "winnow/indexed_write_batch.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

std::string ReadBatch(IndexedWriteBatch& batch, std::string_view key) {
  std::string value;
  const absl::Status status = batch.Get(ReadOptions(), key, &value);
  return status.ok() ? value : absl::IsNotFound(status) ? "(absent)" : status.ToString();
}

TEST(IndexedWriteBatch, ShowsItsUpdatesOverTheDatabase) {
  MemoryDb db;
  db.Put("kept", "1");
  db.Put("changed", "1");
  db.Put("deleted", "1");
  IndexedWriteBatch batch(*db);
  EXPECT_TRUE(batch.Put("changed", "2").ok());
  EXPECT_TRUE(batch.Put("changed", "3").ok());
  EXPECT_TRUE(batch.Delete("deleted").ok());
  EXPECT_TRUE(batch.Put("new", "1").ok());
  EXPECT_EQ(ReadBatch(batch, "kept"), "1");
  EXPECT_EQ(ReadBatch(batch, "changed"), "3");
  EXPECT_EQ(ReadBatch(batch, "deleted"), "(absent)");
  EXPECT_EQ(ReadBatch(batch, "new"), "1");
  EXPECT_EQ(db.Get("changed"), "1");

  EXPECT_TRUE(db->Write(WriteOptions(), batch.batch()).ok());
  EXPECT_EQ(db.Get("changed"), "3");
  EXPECT_EQ(db.Get("deleted"), "(absent)");
  EXPECT_EQ(db.Get("new"), "1");
}

TEST(IndexedWriteBatch, RefusesWhatTheDatabaseWouldAndStaysAsItWas) {
  MemoryDb db;
  MemoryDb other;
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Put("key", "value").ok());
  const std::string before(batch.batch().encoded());
  EXPECT_EQ(batch.Put(std::string(kMaxKeyBytes + 1, 'k'), "").code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(batch.Put(nullptr, "key", "value").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(batch.Delete(other->DefaultColumnFamily(), "key").code(),
            absl::StatusCode::kInvalidArgument);
  auto dropped = db->CreateColumnFamily(ColumnFamilyOptions(), "dropped");
  ASSERT_TRUE(dropped.ok());
  ASSERT_TRUE(db->DropColumnFamily(*dropped).ok());
  EXPECT_EQ(batch.Put(*dropped, "key", "value").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(batch.batch().encoded(), before);
  EXPECT_EQ(batch.NewIterator(ReadOptions(), nullptr)->status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(IndexedWriteBatch, SavepointsNest) {
  MemoryDb db;
  IndexedWriteBatch batch(*db);
  EXPECT_EQ(batch.RollbackToSavepoint().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(batch.PopSavepoint().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(batch.Put("a", "1").ok());
  ASSERT_TRUE(batch.SetSavepoint().ok());
  ASSERT_TRUE(batch.Put("a", "2").ok());
  ASSERT_TRUE(batch.SetSavepoint().ok());
  ASSERT_TRUE(batch.Delete("a").ok());
  ASSERT_TRUE(batch.Put("b", "1").ok());
  EXPECT_EQ(ReadBatch(batch, "a"), "(absent)");
  ASSERT_TRUE(batch.RollbackToSavepoint().ok());
  EXPECT_EQ(ReadBatch(batch, "a"), "2");
  EXPECT_EQ(ReadBatch(batch, "b"), "(absent)");
  EXPECT_EQ(batch.batch().num_updates(), 2U);
  ASSERT_TRUE(batch.SetSavepoint().ok());
  ASSERT_TRUE(batch.Put("a", "3").ok());
  ASSERT_TRUE(batch.PopSavepoint().ok());
  EXPECT_EQ(ReadBatch(batch, "a"), "3");
  ASSERT_TRUE(batch.RollbackToSavepoint().ok());
  EXPECT_EQ(ReadBatch(batch, "a"), "1");
  EXPECT_EQ(batch.RollbackToSavepoint().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(IndexedWriteBatch, OperandsAreMergedWithWhatIsBelowThem) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("append:,");
  MemoryDb db(options);
  db.Put("base", "0");
  db.Put("hidden", "0");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Merge("base", "1").ok());
  ASSERT_TRUE(batch.Merge("base", "2").ok());
  ASSERT_TRUE(batch.Delete("hidden").ok());
  ASSERT_TRUE(batch.Merge("hidden", "1").ok());
  ASSERT_TRUE(batch.Merge("new", "1").ok());
  ASSERT_TRUE(batch.Put("put", "0").ok());
  ASSERT_TRUE(batch.Merge("put", "1").ok());
  const std::vector<std::string> names = {"base", "hidden", "new", "put"};
  const std::vector<std::string> expected = {"0,1,2", "1", "1", "0,1"};
  std::vector<std::string_view> keys(names.begin(), names.end());
  std::vector<PinnedValue> values(4);
  std::vector<absl::Status> statuses(4);
  batch.MultiGet(ReadOptions(), db->DefaultColumnFamily(), keys, values, statuses);
  const auto it = batch.NewIterator(ReadOptions());
  it->SeekToFirst();
  for (size_t i = 0; i < names.size(); i++) {
    EXPECT_EQ(ReadBatch(batch, names[i]), expected[i]);
    EXPECT_EQ(values[i].view(), expected[i]);
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->value(), expected[i]);
    it->Next();
  }
  ASSERT_TRUE(db->Write(WriteOptions(), batch.batch()).ok());
  for (size_t i = 0; i < names.size(); i++) EXPECT_EQ(db.Get(names[i]), expected[i]);
  MemoryDb without;
  IndexedWriteBatch refused(*without);
  EXPECT_EQ(refused.Merge("key", "1").code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(refused.batch().num_updates(), 0U);
}

// Also while the iterator stands on an update whose bytes move as the batch grows.
TEST(IndexedWriteBatch, IteratorsShowTheUpdatesOfTheirBeginning) {
  MemoryDb db;
  db.Put("b", "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Put("a", "own").ok());
  const auto it = batch.NewIterator(ReadOptions());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  for (int i = 0; i < 1000; i++) {
    ASSERT_TRUE(batch.Put(absl::StrCat("a", i), std::string(100, 'x')).ok());
  }
  ASSERT_TRUE(batch.Put("a", "later").ok());
  ASSERT_TRUE(batch.Delete("b").ok());
  EXPECT_EQ(it->key(), "a");
  EXPECT_EQ(it->value(), "own");
  it->Next();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key(), "b");
  it->Prev();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "own");
  it->Prev();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(it->status().ok());
}

// An empty key that ends the batch was once taken for one that was added later.
TEST(IndexedWriteBatch, IteratorsMissNoDeletionOfTheEmptyKey) {
  MemoryDb db;
  db.Put("", "value");
  IndexedWriteBatch batch(*db);
  EXPECT_TRUE(batch.Delete("").ok());
  const auto iterator = batch.NewIterator(ReadOptions());
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid()) << iterator->value();
  EXPECT_TRUE(batch.Put("", "later").ok());
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid()) << iterator->value();
}

TEST(IndexedWriteBatch, AnIteratorOfUpdatesThatWereRolledBackSaysSo) {
  MemoryDb db;
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.SetSavepoint().ok());
  ASSERT_TRUE(batch.Put("a", "1").ok());
  ASSERT_TRUE(batch.Put("b", "1").ok());
  const auto it = batch.NewIterator(ReadOptions());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  ASSERT_TRUE(batch.RollbackToSavepoint().ok());
  EXPECT_EQ(it->key(), "a");
  it->Next();
  EXPECT_FALSE(it->Valid());
  EXPECT_EQ(it->status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(IndexedWriteBatch, ARollbackOfNothingLeavesIteratorsAlone) {
  MemoryDb db;
  IndexedWriteBatch batch(*db);
  EXPECT_TRUE(batch.Put("a", "1").ok());
  EXPECT_TRUE(batch.Put("b", "2").ok());
  EXPECT_TRUE(batch.SetSavepoint().ok());
  const auto it = batch.NewIterator(ReadOptions(), db->DefaultColumnFamily());
  it->SeekToFirst();
  EXPECT_TRUE(batch.RollbackToSavepoint().ok());
  it->Next();
  ASSERT_TRUE(it->Valid()) << it->status();
  EXPECT_EQ(it->key(), "b");
  batch.Clear();
  EXPECT_EQ(it->key(), "b") << "its copies stay until it moves";
  EXPECT_EQ(it->value(), "2");
  it->Prev();
  EXPECT_FALSE(it->Valid());
  EXPECT_TRUE(absl::IsFailedPrecondition(it->status()));
}

TEST(IndexedWriteBatch, MultiGetOfTheDefaultFamilyNeedsNoHandle) {
  MemoryDb db;
  db.Put("a", "1");
  IndexedWriteBatch batch(*db);
  EXPECT_TRUE(batch.Put("b", "2").ok());
  const std::vector<std::string_view> keys = {"a", "b", "c"};
  std::vector<PinnedValue> values(3);
  std::vector<absl::Status> statuses(3);
  batch.MultiGet(ReadOptions(), keys, values, statuses);
  EXPECT_EQ(values[0].view(), "1");
  EXPECT_EQ(values[1].view(), "2");
  EXPECT_TRUE(absl::IsNotFound(statuses[2]));
}

TEST(IndexedWriteBatch, KeysThatCompareEqualAreOneKey) {
  MemoryDb db(CaseBlindOptions());
  db.Put("key", "base");
  IndexedWriteBatch batch(*db);
  ASSERT_TRUE(batch.Put("KEY", "own").ok());
  EXPECT_EQ(ReadBatch(batch, "Key"), "own");
  const auto it = batch.NewIterator(ReadOptions());
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->value(), "own");
  it->Next();
  EXPECT_FALSE(it->Valid());
}

// --- Against a model ---

using Model = std::map<std::string, std::string>;

// The part of the model that an iterator with such bounds sees, walked at random.
void CheckWalk(Iterator& it, const Model& model, std::mt19937_64& random) {
  auto at = model.end();
  const auto check = [&] {
    ASSERT_TRUE(it.status().ok()) << it.status().ToString();
    ASSERT_EQ(it.Valid(), at != model.end());
    if (!it.Valid()) return;
    ASSERT_EQ(it.key(), at->first);
    ASSERT_EQ(it.value(), at->second);
  };
  const auto before = [&](Model::const_iterator place) {
    return place == model.begin() ? model.end() : std::prev(place);
  };
  for (int i = 0; i < 40; i++) {
    const std::string key = absl::StrCat(random() % 40);
    switch (random() % 8) {
      case 0:
        it.SeekToFirst();
        at = model.begin();
        break;
      case 1:
        it.SeekToLast();
        at = before(model.end());
        break;
      case 2:
        it.Seek(key);
        at = model.lower_bound(key);
        break;
      case 3:
        it.SeekForPrev(key);
        at = before(model.upper_bound(key));
        break;
      case 4:
      case 5:
        if (at == model.end()) continue;
        it.Next();
        ++at;
        break;
      default:
        if (at == model.end()) continue;
        it.Prev();
        at = before(at);
        break;
    }
    check();
    if (testing::Test::HasFatalFailure()) return;
  }
}

Model Bounded(const Model& model, const ReadOptions& options) {
  Model bounded;
  for (const auto& [key, value] : model) {
    if (options.lower_bound && key < *options.lower_bound) continue;
    if (options.upper_bound && key >= *options.upper_bound) continue;
    bounded.emplace(key, value);
  }
  return bounded;
}

class BatchBesideModel {
 public:
  explicit BatchBesideModel(uint64_t seed) : random_(seed), db_(WithAppend()), batch_(*db_) {
    for (int i = 0; i < 20; i++) {
      const std::string key = absl::StrCat(random_() % 40);
      model_[key] = absl::StrCat("base", i);
      db_.Put(key, model_[key]);
      if (i == 10) db_.Flush();
    }
  }

  void Run() {
    for (int step = 0; step < 300 && !testing::Test::HasFatalFailure(); step++) Step();
    ASSERT_TRUE(db_->Write(WriteOptions(), batch_.batch()).ok());
    const auto it = db_->NewIterator(ReadOptions());
    CheckWalk(*it, model_, random_);
  }

 private:
  static Options WithAppend() {
    Options options = MemoryDb::Quiet();
    options.merge_operator = *ParseMergeOperator("append:,");
    return options;
  }

  void Step() {
    const std::string key = absl::StrCat(random_() % 40);
    switch (random_() % 15) {
      case 13:
      case 14:
        DeleteRange();
        break;
      case 12: {
        std::string& value = model_[key];
        value += value.empty() ? "own" : ",own";
        ASSERT_TRUE(batch_.Merge(key, "own").ok());
        break;
      }
      case 0:
      case 1:
      case 2:
        model_[key] = absl::StrCat("own", random_());
        ASSERT_TRUE(batch_.Put(key, model_[key]).ok());
        break;
      case 3:
      case 4:
        model_.erase(key);
        ASSERT_TRUE(batch_.Delete(key).ok());
        break;
      case 5:
        ASSERT_TRUE(batch_.SetSavepoint().ok());
        savepoints_.push_back(model_);
        break;
      case 6:
        if (savepoints_.empty()) break;
        model_ = savepoints_.back();
        savepoints_.pop_back();
        ASSERT_TRUE(batch_.RollbackToSavepoint().ok());
        held_.reset();
        break;
      case 7: {
        const auto expected = model_.find(key);
        ASSERT_EQ(ReadBatch(batch_, key), expected == model_.end() ? "(absent)" : expected->second);
        break;
      }
      case 8:
        CheckMultiGet();
        break;
      case 9: {  // an iterator that is kept while the batch grows
        held_ = batch_.NewIterator(ReadOptions());
        held_model_ = model_;
        break;
      }
      case 10:
        if (held_ != nullptr) CheckWalk(*held_, held_model_, random_);
        break;
      default: {
        ReadOptions options;
        if (random_() % 2 == 0) options.lower_bound = absl::StrCat(random_() % 40);
        if (random_() % 2 == 0) options.upper_bound = absl::StrCat(random_() % 40);
        const auto it = batch_.NewIterator(options);
        CheckWalk(*it, Bounded(model_, options), random_);
        break;
      }
    }
  }

  // Mostly of few keys, so that there is something left.
  void DeleteRange() {
    std::string begin = absl::StrCat(random_() % 40);
    std::string end = random_() % 4 == 0 ? absl::StrCat(random_() % 40) : begin + "5";
    if (end < begin) std::swap(begin, end);
    model_.erase(model_.lower_bound(begin), model_.lower_bound(end));
    ASSERT_TRUE(batch_.DeleteRange(begin, end).ok());
  }

  void CheckMultiGet() {
    std::vector<std::string> names;
    for (int i = 0; i < 10; i++) names.push_back(absl::StrCat(random_() % 40));
    const std::vector<std::string_view> keys(names.begin(), names.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    batch_.MultiGet(ReadOptions(), db_->DefaultColumnFamily(), keys, values, statuses);
    for (size_t i = 0; i < names.size(); i++) {
      const auto expected = model_.find(names[i]);
      ASSERT_EQ(absl::IsNotFound(statuses[i]), expected == model_.end());
      if (statuses[i].ok()) {
        ASSERT_EQ(values[i].view(), expected->second);
      }
    }
  }

  std::mt19937_64 random_;
  MemoryDb db_;
  IndexedWriteBatch batch_;
  Model model_;
  std::vector<Model> savepoints_;
  std::unique_ptr<Iterator> held_;
  Model held_model_;
};

TEST(IndexedWriteBatch, AnswersAsAModelDoes) {
  for (const uint64_t seed : Seeds(60)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    BatchBesideModel(seed).Run();
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
