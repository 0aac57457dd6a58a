// Ingestions behind everything else, in random lives of a database, against a model that knows of
// each key what has been written to it since it was first written, and what was ingested behind
// that.
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/ingest.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

constexpr int kKeys = 1000;
constexpr int kKeysOfRange = 50;  // of each ingestion behind, which there can be one of for each
constexpr int kRanges = kKeys / kKeysOfRange;

std::string KeyAt(int i) { return absl::StrFormat("key%04d", i); }

using Contents = std::map<std::string, std::string>;

class Life {
 public:
  explicit Life(uint64_t seed) : random_(seed), db_(OptionsFor(&random_)) {}

  void Step(int step) {
    const uint64_t choice = Below(100);
    if (choice < 45) {
      WriteBatch batch;
      for (int i = 0; i < 10; i++) {
        const std::string key = AnyKey();
        std::string value = absl::StrCat("written ", step, std::string(Below(300), '.'));
        batch.Put(key, value);
        written_[key] = {true, std::move(value), {}};
      }
      ASSERT_TRUE(db_->Write(WriteOptions(), batch).ok());
    } else if (choice < 55) {
      const std::string key = AnyKey();
      db_.Delete(key);
      written_[key] = {true, std::nullopt, {}};
    } else if (choice < 62) {
      const int begin = static_cast<int>(Below(kKeys));
      const int end = begin + static_cast<int>(Below(50));
      ASSERT_TRUE(db_->DeleteRange(WriteOptions(), KeyAt(begin), KeyAt(end)).ok());
      for (int i = begin; i < end; i++) written_[KeyAt(i)] = {true, std::nullopt, {}};
    } else if (choice < 72) {
      const std::string key = AnyKey();
      ASSERT_TRUE(db_->Merge(WriteOptions(), key, "o").ok());
      written_[key].operands++;
    } else if (choice < 80) {
      IngestBehind(step);
    } else if (choice < 86) {
      db_.Flush();
    } else if (choice < 88) {
      db_.CompactAll();
    } else if (choice == 88) {
      db_.Reopen();
    } else {
      for (int i = 0; i < 20; i++) {
        const std::string key = AnyKey();
        ASSERT_EQ(db_.Get(key), Expected(key).value_or("(absent)")) << key;
      }
    }
  }

  // Also once the option is off, and behind compactions of everything.
  void CheckAll() {
    Contents expected;
    for (int i = 0; i < kKeys; i++) {
      if (const auto value = Expected(KeyAt(i))) expected[KeyAt(i)] = *value;
    }
    for (int round = 0; round < 4; round++) {
      if (round % 2 == 1) db_.CompactAll();
      if (round == 2) {
        db_.options().allow_ingest_behind = false;
        db_.Reopen();
      }
      Contents found;
      const auto iterator = db_->NewIterator(ReadOptions());
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        found.emplace(iterator->key(), iterator->value());
      }
      ASSERT_TRUE(iterator->status().ok()) << iterator->status();
      ASSERT_EQ(found, expected) << "round " << round;
    }
    EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
  }

  int num_behind() const { return num_behind_; }

 private:
  // Since it was first written: what its newest value or deletion left, if there was one, and how
  // many operands have come since.
  struct Written {
    bool has_base = false;
    std::optional<std::string> base;
    int operands = 0;
  };

  static Options OptionsFor(std::mt19937_64* random) {
    Options options = MemoryDb::Quiet();
    options.disable_auto_compactions = false;
    options.allow_ingest_behind = true;
    options.merge_operator = *ParseMergeOperator("append:,");
    options.write_buffer_bytes = 64 << 10;
    options.target_file_bytes = 64 << 10;
    options.level_base_bytes = 64 << 10;
    options.level_size_multiplier = 2;
    options.level0_compaction_trigger = static_cast<int>(1 + (*random)() % 3);
    options.background_threads = static_cast<int>(1 + (*random)() % 3);
    options.row_cache_bytes = (*random)() % 2 == 0 ? 0 : 64 << 10;
    constexpr const char* kStyles[] = {"leveled", "lazy_leveled", "tiered"};
    EXPECT_TRUE(SetOption(&options, "compaction", kStyles[(*random)() % 3]).ok());
    return options;
  }

  void IngestBehind(int step) {
    const int range = static_cast<int>(Below(kRanges));
    const std::string path = "/behind.sst";
    const auto writer = Below(2) == 0 ? db_->NewSstWriter(db_->DefaultColumnFamily(), path)
                                      : SstWriter::Create(db_.options(), path, &db_.file_system());
    ASSERT_TRUE(writer.ok()) << writer.status();
    Contents entries;
    for (int i = 0; i < kKeysOfRange; i++) {
      if (Below(2) == 0) continue;
      const std::string key = KeyAt(range * kKeysOfRange + i);
      entries[key] = absl::StrCat("behind ", step);
      ASSERT_TRUE((*writer)->Put(key, entries[key]).ok());
    }
    if (entries.empty()) return;
    ASSERT_TRUE((*writer)->Finish().ok());
    const bool was_there = has_behind_[static_cast<size_t>(range)];
    const absl::Status ingested =
        db_->Ingest({{path}}, {.move = Below(2) == 0, .behind = true}).status();
    db_.file_system().Remove(path).IgnoreError();
    // Where there is something on the last level already there is no place behind it.
    if (was_there && absl::IsFailedPrecondition(ingested)) return;
    ASSERT_TRUE(ingested.ok()) << ingested;
    has_behind_[static_cast<size_t>(range)] = true;
    num_behind_++;
    for (const auto& [key, value] : entries) behind_.emplace(key, value);
  }

  std::optional<std::string> Expected(const std::string& key) const {
    const auto behind = behind_.find(key);
    std::optional<std::string> value;
    if (behind != behind_.end()) value = behind->second;
    const auto written = written_.find(key);
    if (written == written_.end()) return value;
    if (written->second.has_base) value = written->second.base;
    for (int i = 0; i < written->second.operands; i++) {
      value = value.has_value() ? *value + ",o" : "o";
    }
    return value;
  }

  uint64_t Below(uint64_t bound) { return random_() % bound; }
  std::string AnyKey() { return KeyAt(static_cast<int>(Below(kKeys))); }

  std::mt19937_64 random_;
  MemoryDb db_;
  std::map<std::string, Written> written_;
  Contents behind_;
  std::vector<bool> has_behind_ = std::vector<bool>(kRanges);
  int num_behind_ = 0;
};

TEST(IngestBehindModel, WhatIsBehindShowsWhereNothingElseIs) {
  int num_behind = 0;
  for (const uint64_t seed : Seeds(8)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Life life(seed);
    for (int step = 0; step < 600; step++) {
      life.Step(step);
      if (testing::Test::HasFatalFailure()) return;
    }
    life.CheckAll();
    if (testing::Test::HasFatalFailure()) return;
    num_behind += life.num_behind();
  }
  EXPECT_GT(num_behind, 10);
}

}  // namespace
}  // namespace winnow
