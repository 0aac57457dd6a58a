// Random operations on a database and on sorted maps, which must agree after each.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "tests/support/db_fixture.h"
#include "tests/support/db_model.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Families = std::map<std::string, ModelFamily>;

// As append:+, but its operands stay apart until there is a value.
class UncombinedAppend final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.uncombined-append"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (existing.has_value()) result->append(*existing);
    for (size_t i = 0; i < operands.size(); i++) {
      if (i > 0 || existing.has_value()) result->append("+");
      result->append(operands[i]);
    }
    return absl::OkStatus();
  }
};

struct ModelSnapshot {
  const Snapshot* snapshot;
  Families families;
};

// An iterator that stays open while the database changes under it.
struct HeldIterator {
  std::unique_ptr<Iterator> iterator;
  ModelFamily expected;
};

// One database, its model, and one seed's random choices.
class ModelRun {
 public:
  ModelRun(uint64_t seed, FileSystem* file_system, std::string path, const Comparator* comparator)
      : random_(seed), keys_(&random_), path_(std::move(path)) {
    options_.file_system = file_system;
    options_.comparator = comparator;
    options_.background_threads = static_cast<int>(1 + keys_.Below(3));
    options_.block_cache_bytes = keys_.Below(2) == 0 ? 0 : 1 << 20;
    ChooseFamilyOptions(random_, &options_);
    options_.merge_operator = std::make_shared<UncombinedAppend>();
    if (seed % 3 != 0) options_.merge_operator = *ParseMergeOperator("append:+");
    model_.emplace("default", ModelFamily(ModelOrder{comparator}));
    db_ = OpenOrFail(options_, path_);
  }

  void Run(int num_operations) {
    for (int i = 0; i < num_operations && !testing::Test::HasFailure(); i++) {
      SCOPED_TRACE("operation " + std::to_string(i));
      RunOne(keys_.Below(1000));
    }
    if (testing::Test::HasFailure()) return;
    CheckEverything();
    Reopen();
    CheckEverything();
  }

 private:
  void RunOne(uint64_t choice) {
    if (choice < 300) return Put();
    if (choice < 350) return Delete();
    if (choice < 375) return DeleteRange();
    if (choice < 440) return Merge();
    if (choice < 470) return WriteBatchOfMany();
    if (choice < 620) return CheckKey(keys_.Any());
    if (choice < 680) return CheckMultiGet();
    if (choice < 800) return WalkIterator();
    if (choice < 850) return WalkHeldIterator();
    if (choice < 880) return TakeSnapshot();
    if (choice < 905) return ReleaseSnapshot();
    if (choice < 935) return CheckSnapshot();
    if (choice < 955) return Flush();
    if (choice < 963) return Compact();
    if (choice < 975) return ChangeFilter();
    if (choice < 983) return CreateOrDropFamily();
    if (choice < 988) return Reopen();
    if (choice < 992) return CheckEverything();
    if (choice < 995) return CheckVerify();
    PutMany();
  }

  ColumnFamily* Handle(const std::string& name) {
    auto family = db_->FindColumnFamily(name);
    EXPECT_TRUE(family.ok()) << family.status().ToString();
    return family.ok() ? *family : db_->DefaultColumnFamily();
  }
  std::string AnyFamily() {
    auto family = model_.begin();
    std::advance(family, static_cast<ptrdiff_t>(keys_.Below(model_.size())));
    return family->first;
  }
  static void ExpectOk(const absl::Status& status) {
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  // --- Writing ---
  void Put() {
    const std::string family = AnyFamily();
    const std::string key = keys_.Any();
    const std::string value = keys_.Value();
    WriteOptions write;
    write.sync = keys_.Below(50) == 0;
    // Close flushes what no log holds, so that it survives every reopening here.
    write.disable_wal = !write.sync && keys_.Below(20) == 0;
    ExpectOk(db_->Put(write, Handle(family), key, value));
    PutInModel(&model_.at(family), key, value);
  }
  void Delete() {
    const std::string family = AnyFamily();
    const std::string key = keys_.Any();
    ExpectOk(db_->Delete(WriteOptions(), Handle(family), key));
    model_.at(family).erase(key);
  }
  void MergeInModel(const std::string& family, const std::string& key, const std::string& operand) {
    ModelFamily& model = model_.at(family);
    const auto existing = model.find(key);
    PutInModel(&model, key, existing == model.end() ? operand : existing->second + "+" + operand);
  }
  void Merge() {
    const std::string family = AnyFamily();
    const std::string key = keys_.Any();
    for (uint64_t left = keys_.Below(20) == 0 ? 200 : 1 + keys_.Below(3); left > 0; left--) {
      const std::string operand = std::to_string(keys_.Below(100));
      ExpectOk(db_->Merge(WriteOptions(), Handle(family), key, operand));
      MergeInModel(family, key, operand);
    }
  }
  // Of a few keys mostly; sometimes of any two ends, also inverted and empty ones.
  std::pair<std::string, std::string> AnyRange(const ModelFamily& model) {
    std::pair<std::string, std::string> range(keys_.Any(), keys_.Any());
    if (keys_.Below(8) == 0) return range;
    auto end = model.lower_bound(range.first);
    for (uint64_t left = 1 + keys_.Below(10); left > 0 && end != model.end(); left--) ++end;
    if (end != model.end()) range.second = end->first;
    return range;
  }
  static void EraseInModel(ModelFamily* family, const std::pair<std::string, std::string>& range) {
    family->erase(family->lower_bound(range.first), family->lower_bound(range.second));
  }
  void DeleteRange() {
    const std::string family = AnyFamily();
    const auto range = AnyRange(model_.at(family));
    const absl::Status status =
        db_->DeleteRange(WriteOptions(), Handle(family), range.first, range.second);
    if (model_.at(family).key_comp()(range.second, range.first)) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status.ToString();
      return;
    }
    ExpectOk(status);
    EraseInModel(&model_.at(family), range);
  }
  void WriteBatchOfMany() {
    WriteBatch batch;
    for (uint64_t left = keys_.Below(12); left > 0; left--) {
      const std::string family = AnyFamily();
      const std::string key = keys_.Any();
      const uint64_t kind = keys_.Below(4);
      if (keys_.Below(10) == 0) {
        const auto range = AnyRange(model_.at(family));
        if (model_.at(family).key_comp()(range.second, range.first)) continue;
        batch.DeleteRange(Handle(family), range.first, range.second);
        EraseInModel(&model_.at(family), range);
      } else if (kind == 0) {
        batch.Delete(Handle(family), key);
        model_.at(family).erase(key);
      } else if (kind == 1) {
        batch.Merge(Handle(family), key, "batch");
        MergeInModel(family, key, "batch");
      } else {
        const std::string value = keys_.Value();
        batch.Put(Handle(family), key, value);
        PutInModel(&model_.at(family), key, value);
      }
    }
    ExpectOk(db_->Write(WriteOptions(), batch));
  }
  void PutMany() {
    for (int i = 0; i < 200; i++) Put();
  }

  // --- Reading ---
  void CheckKeyIn(const std::string& family, const ModelFamily& model, const ReadOptions& read,
                  const std::string& key) {
    ColumnFamily* handle = Handle(family);
    const auto expected = model.find(key);
    const bool present = expected != model.end();
    std::string value = "untouched";
    const absl::Status status = db_->Get(read, handle, key, &value);
    ASSERT_EQ(status.code(), present ? absl::StatusCode::kOk : absl::StatusCode::kNotFound)
        << family << " key " << testing::PrintToString(key) << ": " << status.ToString();
    ASSERT_EQ(value, present ? expected->second : "untouched");
    PinnedValue pinned;
    ASSERT_EQ(db_->Get(read, handle, key, &pinned).code(), status.code());
    if (present) {
      ASSERT_EQ(pinned.view(), expected->second);
    }
    const auto exists = db_->Exists(read, handle, key);
    ASSERT_TRUE(exists.ok());
    ASSERT_EQ(*exists, present);
    if (present) {
      ASSERT_TRUE(db_->MayExist(read, handle, key)) << testing::PrintToString(key);
    }
  }
  void CheckKey(const std::string& key) {
    const std::string family = AnyFamily();
    CheckKeyIn(family, model_.at(family), ReadOptions(), key);
  }
  void CheckMultiGet() {
    const std::string family = AnyFamily();
    const ModelFamily& model = model_.at(family);
    std::vector<std::string> keys(keys_.Below(70));
    for (std::string& key : keys) key = keys_.Any();
    std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    db_->MultiGet(ReadOptions(), Handle(family), views, values, statuses);
    for (size_t i = 0; i < keys.size(); i++) {
      const auto expected = model.find(keys[i]);
      if (expected == model.end()) {
        ASSERT_TRUE(absl::IsNotFound(statuses[i])) << testing::PrintToString(keys[i]);
      } else {
        ASSERT_TRUE(statuses[i].ok()) << testing::PrintToString(keys[i]);
        ASSERT_EQ(values[i].view(), expected->second);
      }
    }
  }

  // --- Iterating ---
  std::optional<std::string> AnyBound() {
    return keys_.Below(2) == 0 ? std::nullopt : std::optional(keys_.Any());
  }
  void WalkIterator() {
    const std::string family = AnyFamily();
    ReadOptions read;
    read.fill_cache = keys_.Below(2) == 0;
    read.lower_bound = AnyBound();
    read.upper_bound = AnyBound();
    if (keys_.Below(3) == 0) {  // inside one prefix, where filters may serve
      const std::string prefix = keys_.Any().substr(0, 1 + keys_.Below(6));
      read.lower_bound = prefix;
      read.upper_bound = prefix + std::string(1 + keys_.Below(3), '\xff');
    }
    const ModelFamily model = Bounded(model_.at(family), read.lower_bound, read.upper_bound);
    const auto iterator = db_->NewIterator(read, Handle(family));
    Walk(iterator.get(), model);
    if (keys_.Below(20) == 0) {
      held_.push_back({db_->NewIterator(read, Handle(family)), model});
      if (held_.size() > 3) held_.erase(held_.begin());
    }
  }
  void WalkHeldIterator() {
    if (held_.empty()) return;
    HeldIterator& held = held_[keys_.Below(held_.size())];
    Walk(held.iterator.get(), held.expected);
  }
  void Walk(Iterator* iterator, const ModelFamily& model) {
    auto position = Position(iterator, model);
    for (uint64_t step = keys_.Below(30); step > 0; step--) {
      ASSERT_EQ(iterator->Valid(), position != model.end())
          << (position != model.end() ? testing::PrintToString(position->first)
                                      : testing::PrintToString(iterator->key()));
      ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString();
      if (!iterator->Valid()) {
        position = Position(iterator, model);
        continue;
      }
      ASSERT_EQ(iterator->key(), position->first);
      ASSERT_EQ(iterator->value(), position->second);
      if (keys_.Below(10) == 0) {
        position = Position(iterator, model);
      } else if (keys_.Below(3) != 0) {
        iterator->Next();
        ++position;
      } else {
        iterator->Prev();
        position = position == model.begin() ? model.end() : std::prev(position);
      }
    }
  }
  // Seeks both the iterator and the model, in one of the four ways.
  ModelFamily::const_iterator Position(Iterator* iterator, const ModelFamily& model) {
    const std::string key = keys_.Any();
    switch (keys_.Below(4)) {
      case 0:
        iterator->SeekToFirst();
        return model.begin();
      case 1:
        iterator->SeekToLast();
        return model.empty() ? model.end() : std::prev(model.end());
      case 2:
        iterator->Seek(key);
        return model.lower_bound(key);
      default:
        iterator->SeekForPrev(key);
        const auto after = model.upper_bound(key);
        return after == model.begin() ? model.end() : std::prev(after);
    }
  }

  // --- Snapshots ---
  void TakeSnapshot() {
    if (snapshots_.size() < 4) snapshots_.push_back({db_->GetSnapshot(), model_});
  }
  void ReleaseSnapshot() {
    if (snapshots_.empty()) return;
    const size_t index = keys_.Below(snapshots_.size());
    db_->ReleaseSnapshot(snapshots_[index].snapshot);
    snapshots_.erase(snapshots_.begin() + static_cast<ptrdiff_t>(index));
  }
  void CheckSnapshot() {
    if (snapshots_.empty()) return;
    const ModelSnapshot& chosen = snapshots_[keys_.Below(snapshots_.size())];
    const std::string family = AnyFamily();
    if (!chosen.families.contains(family)) return;
    const ModelFamily& model = chosen.families.at(family);
    ReadOptions read;
    read.snapshot = chosen.snapshot;
    for (int i = 0; i < 5; i++) CheckKeyIn(family, model, read, keys_.Any());
    Walk(db_->NewIterator(read, Handle(family)).get(), model);
  }

  // --- Maintenance ---
  void Flush() { ExpectOk(db_->Flush(Handle(AnyFamily()))); }
  void Compact() {
    const std::string begin = keys_.Any();
    const std::string end = keys_.Any();
    std::optional<std::string_view> from;
    std::optional<std::string_view> to;
    if (keys_.Below(2) == 0) from = begin;
    if (keys_.Below(2) == 0) to = end;
    ExpectOk(db_->CompactRange(Handle(AnyFamily()), from, to));
  }
  void ChangeFilter() {
    if (!options_.comparator->EqualKeysHaveEqualBytes()) return;
    ColumnFamilyOptions chosen;
    chosen.comparator = options_.comparator;
    ChooseFamilyOptions(random_, &chosen);
    ExpectOk(db_->SetFilter(Handle(AnyFamily()), chosen.filter, chosen.filter_key));
  }
  void CreateOrDropFamily() {
    const std::string name = "family" + std::to_string(keys_.Below(3));
    if (model_.contains(name)) {
      if (keys_.Below(3) != 0) return;
      ExpectOk(db_->DropColumnFamily(Handle(name)));
      model_.erase(name);
      for (ModelSnapshot& snapshot : snapshots_) snapshot.families.erase(name);
      return;
    }
    ColumnFamilyOptions family = options_;
    ChooseFamilyOptions(random_, &family);
    const auto created = db_->CreateColumnFamily(family, name);
    ASSERT_TRUE(created.ok()) << created.status().ToString();
    model_.emplace(name, ModelFamily(ModelOrder{options_.comparator}));
  }
  void Reopen() {
    held_.clear();
    for (const ModelSnapshot& snapshot : snapshots_) db_->ReleaseSnapshot(snapshot.snapshot);
    snapshots_.clear();
    ExpectOk(db_->Close());
    db_.reset();
    if (keys_.Below(2) == 0) ChooseFamilyOptions(random_, &options_);
    if (keys_.Below(3) == 0) options_.filter.clear();  // as recorded
    db_ = OpenOrFail(options_, path_);
    ASSERT_NE(db_, nullptr);
    ASSERT_EQ(db_->ColumnFamilies().size(), model_.size());
  }
  void CheckVerify() {
    const std::vector<std::string> problems = VerifyMessages(*db_);
    ASSERT_TRUE(problems.empty()) << problems[0];
  }
  void CheckEverything() {
    for (const auto& [name, model] : model_) {
      const auto iterator = db_->NewIterator(ReadOptions(), Handle(name));
      auto expected = model.begin();
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next(), ++expected) {
        ASSERT_NE(expected, model.end()) << testing::PrintToString(iterator->key());
        ASSERT_EQ(iterator->key(), expected->first);
        ASSERT_EQ(iterator->value(), expected->second);
      }
      ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString();
      ASSERT_EQ(expected, model.end()) << testing::PrintToString(expected->first);
      for (const auto& [key, value] : model) CheckKeyIn(name, model, ReadOptions(), key);
    }
    CheckVerify();
  }

  std::mt19937_64 random_;
  KeyMaker keys_;
  const std::string path_;
  Options options_;
  Families model_;
  std::unique_ptr<DB> db_;
  std::vector<ModelSnapshot> snapshots_;
  std::vector<HeldIterator> held_;
};

void RunOnMemory(uint64_t seeds, int num_operations, const Comparator* comparator) {
  for (const uint64_t seed : Seeds(seeds)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    const auto file_system = NewUnrecordedFileSystem();
    ModelRun(seed, file_system.get(), "/db", comparator).Run(num_operations);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(DbModel, AgreesWithSortedMapsInMemory) { RunOnMemory(30, 1500, BytewiseComparator()); }

TEST(DbModel, AgreesOverManyShortLives) { RunOnMemory(60, 150, BytewiseComparator()); }

TEST(DbModel, AgreesUnderAReverseOrder) {
  static const ReverseComparator reverse;
  RunOnMemory(8, 1500, &reverse);
}

TEST(DbModel, AgreesWhereEqualKeysHaveDifferentBytes) {
  static const CaseBlindComparator case_blind;
  RunOnMemory(8, 1500, &case_blind);
}

TEST(DbModel, AgreesOnTheOperatingSystemsFiles) {
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    const std::string path = testing::TempDir() + "/db_model_test_" + std::to_string(getpid());
    std::filesystem::remove_all(path);
    ModelRun(seed, nullptr, path, BytewiseComparator()).Run(800);
    std::filesystem::remove_all(path);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace winnow
