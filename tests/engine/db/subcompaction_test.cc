// A compaction out of level 0 is one that a family's writes wait for: it uses every idle thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/table_threads.h"
#include "winnow/memory_file_system.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

// Four tables of level 0, each over the whole range, of 12 MiB each.
void FillLevelZero(DB* db, int keys_per_table) {
  std::mt19937_64 random(1);
  std::string value(16 << 10, 'v');
  for (int table = 0; table < 4; table++) {
    for (int i = 0; i < keys_per_table; i++) {
      value[0] = static_cast<char>('0' + table);
      const std::string key = std::to_string(1000000 + i * 4 + (table + i) % 4);
      ASSERT_TRUE(db->Put({}, key, value).ok());
    }
    ASSERT_TRUE(db->Flush().ok());
  }
}

constexpr int kKeysPerTable = 800;

// How many threads wrote the tables of one compaction out of level 0; -1: entries were lost.
int ThreadsOfCompaction(int background_threads) {
  const auto memory = NewMemoryFileSystem();
  TableThreads file_system(memory.get());
  Options options;
  options.file_system = &file_system;
  options.compression = Compression::kNone;
  options.write_buffer_bytes = 64 << 20;
  options.disable_auto_compactions = true;
  auto db = OpenOrFail(options, "/db");
  FillLevelZero(db.get(), kKeysPerTable);
  EXPECT_TRUE(db->Close().ok());
  db.reset();
  file_system.Forget();
  options.disable_auto_compactions = false;
  options.background_threads = background_threads;
  db = OpenOrFail(options, "/db");
  EXPECT_TRUE(db->WaitForBackgroundWork().ok());
  const int threads = static_cast<int>(file_system.num_threads());
  const auto it = db->NewIterator({});
  int found = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next()) found++;
  EXPECT_TRUE(it->status().ok()) << it->status();
  return found == 4 * kKeysPerTable ? threads : -1;
}

// One thread is kept for flushes.
TEST(Subcompaction, ACompactionOutOfLevelZeroUsesTheIdleThreads) {
  EXPECT_EQ(ThreadsOfCompaction(2), 1);
  EXPECT_EQ(ThreadsOfCompaction(4), 3);
}

// A database whose compactions are cut into three or four parts, beside a model.
class CutIntoParts : public testing::Test {
 protected:
  static constexpr int kKeys = 4000;
  using Entries = std::map<std::string, std::string>;

  CutIntoParts() {
    options_.file_system = &faults_;
    options_.compression = Compression::kNone;
    options_.block_bytes = 1024;
    options_.target_file_bytes = 64 << 10;
    options_.disable_auto_compactions = true;
    options_.background_threads = 4;
    options_.merge_operator = *ParseMergeOperator("append:,");
    db_ = OpenOrFail(options_, "/db");
  }
  static std::string KeyAt(int i) { return absl::StrFormat("%06d", i); }
  void Put(int i, std::string value) {
    ASSERT_TRUE(db_->Put({}, KeyAt(i), value).ok());
    model_[KeyAt(i)] = std::move(value);
  }
  void Merge(int i, const std::string& operand) {
    ASSERT_TRUE(db_->Merge({}, KeyAt(i), operand).ok());
    std::string& value = model_[KeyAt(i)];
    value += (value.empty() ? "" : ",") + operand;
  }
  void DeleteRange(int begin, int end) {
    ASSERT_TRUE(db_->DeleteRange({}, KeyAt(begin), KeyAt(end)).ok());
    model_.erase(model_.lower_bound(KeyAt(begin)), model_.lower_bound(KeyAt(end)));
  }
  // Some of everything, over the whole range of keys.
  void Mix(std::mt19937_64* random) {
    for (int i = 0; i < kKeys; i++) {
      const int key = static_cast<int>((*random)() % kKeys);
      switch ((*random)() % 8) {
        case 0:
          Put(key, "put" + std::string(100, 'p'));
          break;
        case 1:
          DeleteRange(key, key + 1 + static_cast<int>((*random)() % 20));
          break;
        default:
          Merge(key, absl::StrFormat("%d", i));
      }
    }
    ASSERT_TRUE(db_->Flush().ok());
  }
  void CompactInParts() {
    file_system_.Forget();
    ASSERT_TRUE(db_->CompactRange(std::nullopt, std::nullopt).ok());
    EXPECT_GE(file_system_.num_threads(), 3u);  // four, where there is enough for as many
  }
  void ExpectSame(const Entries& model, const Snapshot* snapshot) {
    ReadOptions read;
    read.snapshot = snapshot;
    const auto iterator = db_->NewIterator(read);
    Entries forward;
    Entries backward;
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      forward.emplace(iterator->key(), iterator->value());
    }
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
      backward.emplace(iterator->key(), iterator->value());
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
    ASSERT_EQ(forward, model);
    ASSERT_EQ(backward, model);
    for (int i = 0; i < kKeys; i++) {
      std::string value;
      const absl::Status status = db_->Get(read, KeyAt(i), &value);
      const auto expected = model.find(KeyAt(i));
      ASSERT_EQ(status.ok(), expected != model.end()) << KeyAt(i) << ": " << status;
      if (status.ok()) {
        ASSERT_EQ(value, expected->second) << KeyAt(i);
      }
    }
  }

  size_t NumTables() {
    const std::vector<std::string> names = *memory_->List("/db");
    return static_cast<size_t>(std::count_if(
        names.begin(), names.end(), [](const auto& name) { return name.ends_with(".sst"); }));
  }

  const std::unique_ptr<FileSystem> memory_ = NewMemoryFileSystem();
  TableThreads file_system_{memory_.get()};
  FaultFileSystem faults_{&file_system_, 1};
  Options options_;
  std::unique_ptr<DB> db_;
  Entries model_;
};

// Deletions over all parts, and many short ones, some of which end or begin where a part does.
TEST_F(CutIntoParts, RangeDeletionsAndOperandsShowWhatAModelShows) {
  for (const uint64_t seed : Seeds(2)) {
    SCOPED_TRACE("WINNOW_SEED=" + std::to_string(seed));
    std::mt19937_64 random(seed);
    for (int i = 0; i < kKeys; i++) Put(i, "base" + std::string(100, 'b'));
    ASSERT_TRUE(db_->Flush().ok());
    CompactInParts();
    Mix(&random);
    const Snapshot* const before_all_deleted = db_->GetSnapshot();
    const Entries model_before = model_;
    DeleteRange(0, kKeys);
    Mix(&random);
    const Snapshot* const before_most_deleted = db_->GetSnapshot();
    const Entries model_between = model_;
    DeleteRange(50, kKeys - 50);
    Mix(&random);
    CompactInParts();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_before, before_all_deleted));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_between, before_most_deleted));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_, nullptr));
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    EXPECT_TRUE(problems->empty());
    db_->ReleaseSnapshot(before_most_deleted);
    CompactInParts();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_before, before_all_deleted));
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_, nullptr));
    db_->ReleaseSnapshot(before_all_deleted);
    CompactInParts();
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_, nullptr));
  }
}

TEST_F(CutIntoParts, AFullDiskInAnyPartLosesNothingAndLeavesNoTables) {
  std::mt19937_64 random(1);
  for (int i = 0; i < kKeys; i++) Put(i, "base" + std::string(100, 'b'));
  ASSERT_TRUE(db_->Flush().ok());
  Mix(&random);
  const size_t tables = NumTables();
  size_t failures = 0;
  for (uint64_t append = 0; !HasFailure(); append += 3) {
    SCOPED_TRACE(append);
    const size_t rule = faults_.Add(FaultRule::Error(InjectedFullDisk())
                                        .On({FileOperation::Kind::kAppend}, "*.sst")
                                        .From(append, 1));
    const absl::Status status = db_->CompactRange(std::nullopt, std::nullopt);
    const bool has_fired = faults_.fired(rule) > 0;
    faults_.Clear();
    EXPECT_EQ(status.ok(), !has_fired) << status;
    ASSERT_NO_FATAL_FAILURE(ExpectSame(model_, nullptr));
    if (!has_fired) break;
    failures++;
    EXPECT_EQ(NumTables(), tables);
  }
  EXPECT_GT(failures, 5u);
  EXPECT_TRUE(db_->Verify()->empty());
}

}  // namespace
}  // namespace winnow
