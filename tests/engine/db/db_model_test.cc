// Random operations on a database and on sorted maps, which must agree after each.
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <iterator>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "engine/db/option_checks.h"
#include "tests/support/db_fixture.h"
#include "tests/support/db_model.h"
#include "tests/support/test_clock.h"
#include "tests/support/verify_messages.h"
#include "winnow/ingest.h"
#include "winnow/refilter.h"
#include "winnow/transaction.h"

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

// A transaction's calls for one family.
struct FamilyOfTransaction {
  Transaction* transaction;
  ColumnFamily* family;

  absl::Status Put(std::string_view key, std::string_view value) {
    return transaction->Put(family, key, value);
  }
  absl::Status Merge(std::string_view key, std::string_view operand) {
    return transaction->Merge(family, key, operand);
  }
  absl::Status Delete(std::string_view key) { return transaction->Delete(family, key); }
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

// After it nothing is left of what was written before.
constexpr uint64_t kModelTtlSeconds = 100;

// What may be set while the database is open, in the form in which it is given back. With so large
// a limit fifo drops nothing.
constexpr OptionSetting kModelSettings[] = {{"filter_memory_budget", "64K"},
                                            {"filter_memory_budget", "0"},
                                            {"compaction", "tiered"},
                                            {"compaction", "lazy_leveled"},
                                            {"compaction", "leveled"},
                                            {"compaction", "fifo:1099511627776"},
                                            {"row_cache_bytes", "64K"},
                                            {"row_cache_bytes", "0"},
                                            {"background_threads", "1"},
                                            {"background_threads", "4"},
                                            {"block_bytes", "256"},
                                            {"block_bytes", "16K"},
                                            {"db_write_buffer_bytes", "1M"},
                                            {"db_write_buffer_bytes", "0"},
                                            {"verify_compaction_checksums", "true"}};

// One database, its model, and one seed's random choices. In every fourth all data expires, and
// nothing is merged.
class ModelRun {
 public:
  ModelRun(uint64_t seed, FileSystem* file_system, std::string path, const Comparator* comparator)
      : random_(seed), keys_(&random_), path_(std::move(path)), expires_(seed % 4 == 1) {
    options_.file_system = file_system;
    options_.comparator = comparator;
    options_.background_threads = static_cast<int>(1 + keys_.Below(3));
    options_.block_cache_bytes = keys_.Below(2) == 0 ? 0 : 1 << 20;
    options_.row_cache_bytes = keys_.Below(2) == 0 ? 0 : 64 << 10;
    options_.filter_memory_budget = keys_.Below(3) == 0 ? 64 << 10 : 0;
    options_.optimize_filters_for_hits = keys_.Below(3) == 0;
    options_.clock = &clock_;
    ChooseOptions(&options_);
    if (expires_) {
      options_.ttl_seconds = kModelTtlSeconds;
    } else if (seed % 3 == 0) {
      options_.merge_operator = std::make_shared<UncombinedAppend>();
    } else {
      options_.merge_operator = *ParseMergeOperator("append:+");
    }
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
    if (choice < 590) return CheckKey(keys_.Any());
    if (choice < 600) return Ingest();
    if (choice < 616) return Transact();
    if (choice < 620) return LetExpire();
    if (choice < 680) return CheckMultiGet();
    if (choice < 800) return WalkIterator();
    if (choice < 850) return WalkHeldIterator();
    if (choice < 880) return TakeSnapshot();
    if (choice < 905) return ReleaseSnapshot();
    if (choice < 935) return CheckSnapshot();
    if (choice < 955) return Flush();
    if (choice < 963) return Compact();
    if (choice < 967) return ChangeFilter();
    if (choice < 975) return ChangeOption();
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
  // Under a budget a filter's amount is not to be given.
  void ChooseOptions(ColumnFamilyOptions* options) {
    ChooseFamilyOptions(random_, options);
    if (options_.filter_memory_budget != 0) options->filter = FilterWithoutAmount(options->filter);
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
  static void MergeInModel(ModelFamily* model, const std::string& key, const std::string& operand) {
    const auto existing = model->find(key);
    PutInModel(model, key, existing == model->end() ? operand : existing->second + "+" + operand);
  }
  void Merge() {
    if (expires_) return;
    const std::string family = AnyFamily();
    const std::string key = keys_.Any();
    for (uint64_t left = keys_.Below(20) == 0 ? 200 : 1 + keys_.Below(3); left > 0; left--) {
      const std::string operand = std::to_string(keys_.Below(100));
      ExpectOk(db_->Merge(WriteOptions(), Handle(family), key, operand));
      MergeInModel(&model_.at(family), key, operand);
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
      } else if (kind == 1 && !expires_) {
        batch.Merge(Handle(family), key, "batch");
        MergeInModel(&model_.at(family), key, "batch");
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
  // One of those that tables and transactions can make, to one key.
  template <typename Writer>
  absl::Status WriteTo(Writer* writer, ModelFamily* model, const std::string& key) {
    const uint64_t kind = keys_.Below(4);
    if (kind == 0) {
      model->erase(key);
      return writer->Delete(key);
    }
    const std::string value = keys_.Value();
    if (kind == 1 && !expires_) {
      MergeInModel(model, key, value);
      return writer->Merge(key, value);
    }
    PutInModel(model, key, value);
    return writer->Put(key, value);
  }
  // A table for each of some families, as many keys in each as may be.
  void Ingest() {
    FileSystem* const files =
        options_.file_system != nullptr ? options_.file_system : PosixFileSystem();
    std::vector<IngestFile> tables;
    for (auto& [name, model] : model_) {
      if (keys_.Below(2) == 0) continue;
      std::set<std::string, ModelOrder> chosen(model.key_comp());
      for (uint64_t left = 1 + keys_.Below(40); left > 0; left--) chosen.insert(keys_.Any());
      tables.push_back({path_ + "-table-" + name, Handle(name)});
      files->Remove(tables.back().path).IgnoreError();  // of a copy before
      auto writer = db_->NewSstWriter(tables.back().family, tables.back().path);
      ASSERT_TRUE(writer.ok()) << writer.status();
      for (const std::string& key : chosen) ExpectOk(WriteTo(writer->get(), &model, key));
      ExpectOk((*writer)->Finish().status());
    }
    if (tables.empty()) return;
    IngestOptions how;
    how.move = keys_.Below(2) == 0;
    how.verify = keys_.Below(2) == 0;
    ExpectOk(db_->Ingest(tables, how).status());
  }
  // Of which it sees what it has written itself; some are given up, in part or whole.
  void Transact() {
    TransactionOptions how;
    how.mode = keys_.Below(2) == 0 ? TransactionOptions::Mode::kOptimistic
                                   : TransactionOptions::Mode::kPessimistic;
    how.snapshot_at_begin = keys_.Below(2) == 0;
    const auto begun = db_->BeginTransaction(how);
    ASSERT_TRUE(begun.ok()) << begun.status();
    Transaction& transaction = **begun;
    Families seen = model_;
    Families at_savepoint;
    for (uint64_t left = keys_.Below(10); left > 0; left--) {
      const std::string family = AnyFamily();
      const std::string key = keys_.Any();
      FamilyOfTransaction writer{&transaction, Handle(family)};
      if (keys_.Below(6) == 0) {
        at_savepoint = seen;
        ExpectOk(transaction.SetSavepoint());
      }
      if (keys_.Below(6) == 0) {
        const auto range = AnyRange(seen.at(family));
        if (seen.at(family).key_comp()(range.second, range.first)) continue;
        ExpectOk(transaction.DeleteRange(writer.family, range.first, range.second));
        EraseInModel(&seen.at(family), range);
      } else {
        ExpectOk(WriteTo(&writer, &seen.at(family), key));
      }
      const std::string asked = keys_.Below(2) == 0 ? key : keys_.Any();
      std::string value;
      const absl::Status status = transaction.Get(ReadOptions(), writer.family, asked, &value);
      const auto expected = seen.at(family).find(asked);
      ASSERT_EQ(status.ok(), expected != seen.at(family).end()) << status.ToString();
      if (status.ok()) {
        ASSERT_EQ(value, expected->second);
      }
    }
    if (!at_savepoint.empty() && keys_.Below(2) == 0) {
      ExpectOk(transaction.RollbackToSavepoint());
      seen = at_savepoint;
    }
    if (keys_.Below(5) == 0) return ExpectOk(transaction.Rollback());
    ExpectOk(transaction.Commit());
    model_ = std::move(seen);
  }
  void LetExpire() {
    clock_.AdvanceSeconds(kModelTtlSeconds);
    if (!expires_) return;
    for (auto& [name, model] : model_) model.clear();
    for (ModelSnapshot& held : snapshots_) {
      for (auto& [name, model] : held.families) model.clear();
    }
    for (HeldIterator& held : held_) held.expected.clear();
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
    ChooseOptions(&chosen);
    ColumnFamily* const family = Handle(AnyFamily());
    ExpectOk(db_->SetFilter(family, chosen.filter, chosen.filter_key));
    // Range filters are part of tables, and not refiltered.
    RefilterOptions refilter;
    refilter.filter = chosen.filter.substr(0, chosen.filter.find('+'));
    if (keys_.Below(2) == 0) ExpectOk(db_->Refilter(family, refilter).status());
  }
  void ChangeOption() {
    ColumnFamily* const family = Handle(AnyFamily());
    const OptionSetting& setting = kModelSettings[keys_.Below(std::size(kModelSettings))];
    ExpectOk(db_->SetOption(family, setting.name, setting.text));
    const auto text = db_->GetOption(family, setting.name);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(*text, setting.text);
    if (setting.name != "filter_memory_budget") return;
    ExpectOk(SetOption(&options_, setting.name, setting.text));
    if (options_.filter_memory_budget != 0) options_.filter = FilterWithoutAmount(options_.filter);
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
    ChooseOptions(&family);
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
    if (keys_.Below(2) == 0) ChooseOptions(&options_);
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
  const bool expires_;
  TestClock clock_;
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
