// Merge operators: what operands make of a value, wherever they lie, and what happens where they
// make none.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/base/coding.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

std::string Number(uint64_t number) {
  std::string bytes;
  PutFixed64(&bytes, number);
  return bytes;
}

Options WithOperator(std::string_view text) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator(text);
  return options;
}

void Merge(MemoryDb& db, std::string_view key, std::string_view operand) {
  const absl::Status status = db->Merge(WriteOptions(), key, operand);
  ASSERT_TRUE(status.ok()) << status.ToString();
}

// Takes operands as append:, does, but neither "bad" nor, as a value, "worse".
class Choosy final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.choosy"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (existing == "worse") return absl::DataLossError("the value is worse");
    if (existing.has_value()) absl::StrAppend(result, std::string(*existing));
    for (const std::string_view operand : operands) {
      if (operand == "bad") return absl::UnknownError("an operand is bad");
      absl::StrAppend(result, "|", std::string(operand));
    }
    return absl::OkStatus();
  }
};

// Every way to read a key, which must agree; the value, "(absent)" or the message of the error.
std::string ReadAll(MemoryDb& db, const std::string& key) {
  const auto text = [](const absl::Status& status, std::string_view value) {
    return status.ok()                ? std::string(value)
           : absl::IsNotFound(status) ? "(absent)"
                                      : std::string(status.message());
  };
  std::string value;
  absl::Status status = db->Get(ReadOptions(), key, &value);
  std::string result = text(status, value);
  EXPECT_TRUE(status.ok() || absl::IsNotFound(status) || absl::IsFailedPrecondition(status));
  PinnedValue pinned;
  status = db->Get(ReadOptions(), key, &pinned);
  EXPECT_EQ(text(status, pinned.view()), result);
  const auto exists = db->Exists(ReadOptions(), key);
  EXPECT_EQ(exists.ok() ? (*exists ? "yes" : "(absent)") : std::string(exists.status().message()),
            status.ok() ? "yes" : result);
  const std::string_view keys[] = {key, key};
  PinnedValue values[2];
  absl::Status statuses[2];
  db->MultiGet(ReadOptions(), keys, values, statuses);
  for (int i = 0; i < 2; i++) EXPECT_EQ(text(statuses[i], values[i].view()), result);
  if (result != "(absent)") {
    EXPECT_TRUE(db->MayExist(ReadOptions(), key));
  }
  for (const bool forward : {true, false}) {
    const auto iterator = db->NewIterator(ReadOptions());
    if (forward) {
      iterator->Seek(key);
    } else {
      iterator->SeekForPrev(key);
    }
    const bool found = iterator->Valid() && iterator->key() == key;
    EXPECT_EQ(found                     ? std::string(iterator->value())
              : iterator->status().ok() ? "(absent)"
                                        : std::string(iterator->status().message()),
              result)
        << forward;
  }
  const auto explained = db->Explain(db->DefaultColumnFamily(), key);
  EXPECT_TRUE(explained.ok());
  if (explained.ok() && status.ok()) {
    EXPECT_TRUE(explained->found) << explained->ToString();
  }
  return result;
}

TEST(Merge, BuiltInOperatorsMakeWhatTheirNamesSay) {
  const struct {
    std::string name;
    std::string put;
    std::vector<std::string> operands;
    std::string expected;
    std::string without_put;
  } cases[] = {
      {"uint64_add", Number(5), {Number(7), Number(30)}, Number(42), Number(37)},
      {"uint64_add", Number(~uint64_t{0}), {Number(2)}, Number(1), Number(2)},
      {"int64_add", Number(5), {Number(-7), Number(-1)}, Number(-3), Number(-8)},
      {"max", "m", {"b", "n", "a"}, "n", "n"},
      {"max", "\xff", {"b"}, "\xff", "b"},
      {"min", "m", {"b", "n", "bb"}, "b", "b"},
      {"append:,", "a", {"b", "", "c"}, "a,b,,c", "b,,c"},
      {"append:", "a", {"b", "c"}, "abc", "bc"},
      {"append:--", "", {"b"}, "--b", "b"},
  };
  for (const auto& row : cases) {
    SCOPED_TRACE(row.name);
    MemoryDb db(WithOperator(row.name));
    db.Put("put", row.put);
    db.Put("deleted", row.put);
    db.Delete("deleted");
    for (const std::string& operand : row.operands) {
      for (const char* key : {"put", "deleted", "fresh"}) Merge(db, key, operand);
    }
    const auto check = [&] {
      EXPECT_EQ(ReadAll(db, "put"), row.expected);
      EXPECT_EQ(ReadAll(db, "deleted"), row.without_put);
      EXPECT_EQ(ReadAll(db, "fresh"), row.without_put);
      EXPECT_EQ(ReadAll(db, "missing"), "(absent)");
    };
    check();
    db.Flush();
    check();
    db.CompactAll();
    check();
    db.Reopen();
    check();
    EXPECT_TRUE(VerifyMessages(*db).empty());
  }
}

TEST(Merge, AChainGoesThroughMemtablesAndEveryLevel) {
  MemoryDb db(WithOperator("append:,"));
  db.Put("key", "0");
  db.CompactAll();
  std::string expected = "0";
  for (int i = 1; i < 6; i++) {
    Merge(db, "key", std::to_string(i));
    Merge(db, absl::StrCat("other", i), "x");
    absl::StrAppend(&expected, ",", i);
    if (i < 5) db.Flush();
    EXPECT_EQ(ReadAll(db, "key"), expected);
  }
  EXPECT_GT(*db->GetProperty("winnow.num-files-at-level0"), "2");
  db.Delete("key");
  EXPECT_EQ(ReadAll(db, "key"), "(absent)");
  db.Flush();
  Merge(db, "key", "new");
  EXPECT_EQ(ReadAll(db, "key"), "new");
  db.CompactAll();
  EXPECT_EQ(ReadAll(db, "key"), "new");
  EXPECT_EQ(ReadAll(db, "other3"), "x");
}

TEST(Merge, SnapshotsSeeTheOperandsOfTheirTime) {
  MemoryDb db(WithOperator("append:,"));
  std::vector<std::pair<const Snapshot*, std::string>> snapshots;
  std::string expected;
  for (int i = 0; i < 12; i++) {
    if (i == 5) {
      db.Delete("key");
      expected.clear();
    } else {
      Merge(db, "key", std::to_string(i));
      absl::StrAppend(&expected, expected.empty() ? "" : ",", i);
    }
    if (i % 2 == 1) snapshots.emplace_back(db->GetSnapshot(), expected);
    if (i == 7) db.Flush();
  }
  const auto check = [&] {
    for (const auto& [snapshot, value] : snapshots) {
      EXPECT_EQ(db.Get("key", snapshot), value.empty() ? "(absent)" : value);
      ReadOptions read;
      read.snapshot = snapshot;
      for (const bool forward : {true, false}) {
        const auto iterator = db->NewIterator(read);
        forward ? iterator->SeekToFirst() : iterator->SeekToLast();
        ASSERT_EQ(iterator->Valid(), !value.empty());
        if (iterator->Valid()) {
          EXPECT_EQ(iterator->value(), value);
        }
      }
    }
    EXPECT_EQ(db.Get("key"), expected);
  };
  check();
  db.Flush();
  check();
  db.CompactAll();
  check();
  db->ReleaseSnapshot(snapshots[2].first);
  snapshots.erase(snapshots.begin() + 2);
  db.CompactAll();
  check();
  for (const auto& [snapshot, value] : snapshots) db->ReleaseSnapshot(snapshot);
}

TEST(Merge, ALongChainInMemoryIsWalkedOnceAndNotWithEachRead) {
  MemoryDb db(WithOperator("uint64_add"));
  db.Put("hot", Number(5));
  for (int i = 0; i < 3000; i++) Merge(db, "hot", Number(1));
  const SnapshotGuard snapshot(*db);
  const auto operands_read = [&] { return db->GetStatistics().Get(Ticker::kMergeOperandsRead); };
  EXPECT_EQ(db.Get("hot"), Number(3005));
  EXPECT_GE(operands_read(), 3000U);
  uint64_t before = operands_read();
  for (int i = 0; i < 100; i++) {
    Merge(db, "hot", Number(1));
    ASSERT_EQ(db.Get("hot"), Number(3006 + static_cast<uint64_t>(i)));
    ASSERT_EQ(db.Get("hot", snapshot.get()), Number(3005));
  }
  EXPECT_LT(operands_read() - before, 100U * 200);
  // Iterators meet the same chain.
  before = operands_read();
  for (int i = 0; i < 100; i++) {
    const auto iterator = db->NewIterator(ReadOptions());
    i % 2 == 0 ? iterator->SeekToFirst() : iterator->SeekToLast();
    ASSERT_TRUE(iterator->Valid());
    ASSERT_EQ(iterator->value(), Number(3105));
    iterator->Next();
    ASSERT_FALSE(iterator->Valid());
  }
  EXPECT_LT(operands_read() - before, 100U * 300);
  db.Delete("hot");
  EXPECT_EQ(ReadAll(db, "hot"), "(absent)");
  Merge(db, "hot", Number(1));
  EXPECT_EQ(ReadAll(db, "hot"), Number(1));
  EXPECT_EQ(db.Get("hot", snapshot.get()), Number(3005));
  db.Flush();
  EXPECT_EQ(ReadAll(db, "hot"), Number(1));
  EXPECT_EQ(db.Get("hot", snapshot.get()), Number(3005));
}

// Not the 257th, and not a list of more than 4 KiB, were.
TEST(Merge, ManyHotKeysAndLongListsAreWalkedOnceToo) {
  constexpr int kHotKeys = 300;
  constexpr int kOperands = 300;
  MemoryDb db(WithOperator("append:,"));
  const auto operands_read = [&] { return db->GetStatistics().Get(Ticker::kMergeOperandsRead); };
  const auto read_all = [&] {
    const uint64_t before = operands_read();
    for (int key = 0; key < kHotKeys; key++) {
      EXPECT_EQ(db.Get(absl::StrCat("hot", key)).size(), 2U * kOperands - 1);
    }
    EXPECT_EQ(db.Get("list").size(), 9U * 1000 - 1);
    return operands_read() - before;
  };
  for (int i = 0; i < kOperands; i++) {
    for (int key = 0; key < kHotKeys; key++) Merge(db, absl::StrCat("hot", key), "x");
  }
  for (int i = 0; i < 1000; i++) Merge(db, "list", absl::StrCat(10'000'000 + i));
  EXPECT_GE(read_all(), uint64_t{kHotKeys} * kOperands);
  EXPECT_LT(read_all(), 2U * kHotKeys);
}

TEST(Merge, FlushesAndCompactionsCombineOperands) {
  MemoryDb db(WithOperator("uint64_add"));
  const auto entries = [&] {
    db.Flush();
    uint64_t sum = 0;
    for (const LevelStatistics& level : db->GetStatistics().levels) sum += level.num_entries;
    return sum;
  };
  for (int i = 0; i < 1000; i++) Merge(db, absl::StrCat("key", i % 10), Number(1));
  EXPECT_EQ(entries(), 10U);
  for (int i = 0; i < 1000; i++) Merge(db, absl::StrCat("key", i % 10), Number(1));
  EXPECT_EQ(entries(), 20U);
  db.CompactAll();
  EXPECT_EQ(entries(), 10U);
  EXPECT_EQ(ReadAll(db, "key3"), Number(200));
}

TEST(Merge, AKeyThatTheOperatorRefusesIsAnErrorAndKeepsItsOperands) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Choosy>();
  MemoryDb db(options);
  db.Put("a", "1");
  Merge(db, "a", "2");
  db.Put("b", "1");
  Merge(db, "b", "2");
  Merge(db, "b", "bad");
  Merge(db, "b", "3");
  db.Put("c", "worse");
  Merge(db, "c", "2");
  Merge(db, "d", "bad");
  db.Put("e", "1");
  const std::string bad = "key 'b': merge operator 'test.choosy' gives no value: an operand is bad";
  const auto check = [&] {
    EXPECT_EQ(ReadAll(db, "a"), "1|2");
    EXPECT_EQ(ReadAll(db, "b"), bad);
    EXPECT_TRUE(absl::StrContains(ReadAll(db, "c"), "the value is worse"));
    EXPECT_TRUE(absl::StrContains(ReadAll(db, "d"), "an operand is bad"));
    EXPECT_EQ(ReadAll(db, "e"), "1");
    EXPECT_EQ(db.MultiGet({"a", "b", "e"})[2], "1") << "errors are each key's own";
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->SeekToFirst();
    EXPECT_EQ(iterator->value(), "1|2");
    iterator->Next();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_EQ(iterator->status().message(), bad);
    iterator->SeekToLast();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "e");
    EXPECT_TRUE(iterator->status().ok());
    iterator->Prev();
    EXPECT_FALSE(iterator->Valid());
    EXPECT_TRUE(absl::IsFailedPrecondition(iterator->status()));
  };
  check();
  db.Flush();
  check();
  db.CompactAll();
  check();
  EXPECT_GT(db->GetStatistics().Get(Ticker::kMergeFailures), 0U);
  // What was kept is merged with what comes: nothing was lost.
  db.Put("b", "new");
  Merge(db, "b", "4");
  db.CompactAll();
  EXPECT_EQ(ReadAll(db, "b"), "new|4");
}

// Says what it is asked to while the database combines operands.
class Calling final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.calling"; }
  absl::Status FullMerge(std::string_view, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (on_call) on_call();
    *result = absl::StrCat(std::string(existing.value_or("")), "|", operands.size());
    return absl::OkStatus();
  }
  std::function<void()> on_call;
};

TEST(Merge, AnOperatorsCallsThatWouldWaitForItsFlushAreRefused) {
  const auto calling = std::make_shared<Calling>();
  Options options = MemoryDb::Quiet();
  options.merge_operator = calling;
  MemoryDb db(options);
  db.Put("k", "v");
  Merge(db, "k", "a");
  Merge(db, "k", "b");
  int num_calls = 0;
  calling->on_call = [&] {
    num_calls++;
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Flush(db->DefaultColumnFamily())));
    EXPECT_TRUE(absl::IsFailedPrecondition(db->CompactRange(std::nullopt, std::nullopt)));
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Checkpoint("/checkpoint")));
    EXPECT_TRUE(absl::IsFailedPrecondition(db->BackupTo("/backup").status()));
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Close()));
  };
  db.Flush();
  EXPECT_GT(num_calls, 0);
  calling->on_call = nullptr;
  EXPECT_EQ(db.Get("k"), "v|2");
}

// Throws where it is not told to return.
class Throwing final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.throwing"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (key == "throws") throw std::runtime_error("no such luck");
    if (key == "throws a number") throw 7;
    absl::StrAppend(result, std::string(operands.back()));
    return absl::OkStatus();
  }
  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    throw std::runtime_error("nothing is combined");
  }
  absl::Status CheckOperand(std::string_view operand) const override {
    if (operand == "throw") throw std::runtime_error("not this one");
    return absl::OkStatus();
  }
};

TEST(Merge, WhatAnOperatorThrowsIsAnErrorOfThatKey) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Throwing>();
  MemoryDb db(options);
  const absl::Status refused = db->Merge(WriteOptions(), "key", "throw");
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "not this one")) << refused;
  for (int i = 0; i < 300; i++) {
    for (const char* key : {"fine", "throws", "throws a number"}) {
      Merge(db, key, std::to_string(i));
    }
    if (i == 100 || i == 200) db.Flush();
  }
  for (int round = 0; round < 3; round++) {
    EXPECT_EQ(ReadAll(db, "fine"), "299");
    EXPECT_TRUE(absl::StrContains(ReadAll(db, "throws"), "has thrown \"no such luck\""));
    EXPECT_TRUE(absl::StrContains(ReadAll(db, "throws a number"), "is no std::exception"));
    if (round == 0) db.CompactAll();
    if (round == 1) db.Reopen();
  }
}

// Throws std::bad_alloc for one key.
class TooLarge final : public MergeOperator {
 public:
  std::string_view Name() const override { return "test.too_large"; }
  absl::Status FullMerge(std::string_view key, std::optional<std::string_view> existing,
                         std::span<const std::string_view> operands,
                         std::string* result) const override {
    if (key == "large" && is_large) throw std::bad_alloc();
    result->assign(existing.value_or(""));
    for (const std::string_view operand : operands) result->append(operand);
    return absl::OkStatus();
  }
  bool PartialMerge(std::string_view key, std::span<const std::string_view> operands,
                    std::string* result) const override {
    throw std::bad_alloc();
  }
  std::atomic<bool> is_large{true};
};

TEST(Merge, AnOperatorWithoutMemoryForAKeyKeepsNoOtherFromTheDisk) {
  const auto merge_operator = std::make_shared<TooLarge>();
  Options options = MemoryDb::Quiet();
  options.merge_operator = merge_operator;
  MemoryDb db(options);
  for (int round = 0; round < 3; round++) {
    for (const char* key : {"fine", "large"}) Merge(db, key, "v");
    db.Put(absl::StrCat("key", round), "value");
    db.Flush();
    db.Reopen();
  }
  db.CompactAll();
  EXPECT_EQ(ReadAll(db, "fine"), "vvv");
  std::string value;
  EXPECT_TRUE(absl::IsResourceExhausted(db->Get(ReadOptions(), "large", &value)));
  EXPECT_EQ(db.Get("key2"), "value");
  merge_operator->is_large = false;
  EXPECT_EQ(ReadAll(db, "large"), "vvv") << "all its operands are still there";
}

TEST(Merge, WhatCannotBeMergedIsRefusedWhenItIsWritten) {
  MemoryDb none;
  absl::Status status = none->Merge(WriteOptions(), "key", "operand");
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status.ToString();
  EXPECT_TRUE(absl::StrContains(status.message(), "has no merge operator")) << status.ToString();
  MemoryDb db(WithOperator("uint64_add"));
  status = db->Merge(WriteOptions(), "key", "short");
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status.ToString();
  WriteBatch batch;
  batch.Put("innocent", "v");
  batch.Merge("key", "too long for a number");
  EXPECT_TRUE(absl::IsInvalidArgument(db->Write(WriteOptions(), batch)));
  EXPECT_EQ(db.Get("innocent"), "(absent)") << "the whole batch is refused";
  EXPECT_EQ(db.Get("key"), "(absent)");
  // A value of the wrong length is no operand's fault, and shows when somebody reads.
  db.Put("key", "text");
  Merge(db, "key", Number(1));
  EXPECT_TRUE(absl::StrContains(ReadAll(db, "key"), "value of 4 bytes"));
  EXPECT_TRUE(absl::IsInvalidArgument(
      db->Merge(WriteOptions(), std::string(kMaxKeyBytes + 1, 'k'), Number(1))));
}

TEST(Merge, TheOperatorIsRecordedAndAnotherOneRefused) {
  MemoryDb db(WithOperator("uint64_add"));
  Merge(db, "key", Number(1));
  db.options().merge_operator = nullptr;
  db.Reopen();
  EXPECT_EQ(ReadAll(db, "key"), Number(1)) << "a built-in one need not be given again";
  Merge(db, "key", Number(1));
  db.CloseDb();
  db.options().merge_operator = *ParseMergeOperator("max");
  const auto other = DB::Open(db.options(), MemoryDb::kPath);
  EXPECT_TRUE(absl::IsFailedPrecondition(other.status()));
  EXPECT_TRUE(absl::StrContains(other.status().message(), "'uint64_add'"));
  EXPECT_TRUE(absl::StrContains(other.status().message(), "'max'")) << other.status().ToString();
}

TEST(Merge, WithoutItsOperatorADatabaseCanBeReadWhereNothingIsToBeMerged) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Choosy>();
  MemoryDb db(options);
  db.Put("plain", "value");
  Merge(db, "merged", "1");
  Merge(db, "merged", "2");
  db.CloseDb();
  db.options().merge_operator = nullptr;
  const auto refused = DB::Open(db.options(), MemoryDb::kPath);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "'test.choosy'"))
      << refused.status().ToString();
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "give none"));
  db.options().read_only = true;
  db.Reopen();
  EXPECT_EQ(ReadAll(db, "plain"), "value");
  EXPECT_TRUE(absl::StrContains(ReadAll(db, "merged"), "'test.choosy'"));
  db.CloseDb();
  db.options().read_only = false;
  db.options().merge_operator = std::make_shared<Choosy>();
  db.Reopen();
  EXPECT_EQ(ReadAll(db, "merged"), "|1|2");
}

TEST(Merge, EachFamilyHasItsOwnOperator) {
  MemoryDb db(WithOperator("uint64_add"));
  ColumnFamilyOptions texts = MemoryDb::Quiet();
  texts.merge_operator = *ParseMergeOperator("append:,");
  ColumnFamily* family = *db->CreateColumnFamily(texts, "texts");
  ColumnFamily* plain = *db->CreateColumnFamily(ColumnFamilyOptions(), "plain");
  WriteBatch batch;
  batch.Merge("key", Number(3));
  batch.Merge(family, "key", "a");
  batch.Merge(family, "key", "b");
  ASSERT_TRUE(db->Write(WriteOptions(), batch).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Merge(WriteOptions(), plain, "key", "x")));
  db.Reopen();
  family = *db->FindColumnFamily("texts");
  plain = *db->FindColumnFamily("plain");
  std::string value;
  ASSERT_TRUE(db->Get(ReadOptions(), family, "key", &value).ok());
  EXPECT_EQ(value, "a,b");
  EXPECT_EQ(db.Get("key"), Number(3));
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Merge(WriteOptions(), plain, "key", Number(1))))
      << "what the default family is given is not for every other";
}

TEST(Merge, AFilterHoldsKeysThatHaveOperandsAlone) {
  MemoryDb db(WithOperator("append:,"));
  for (int i = 0; i < 2000; i++) Merge(db, absl::StrCat("key", i), "x");
  db.Flush();
  for (int i = 0; i < 2000; i++) ASSERT_EQ(db.Get(absl::StrCat("key", i)), "x");
  const uint64_t blocks = db->GetStatistics().Get(Ticker::kBlockCacheHits) +
                          db->GetStatistics().Get(Ticker::kBlockCacheMisses);
  EXPECT_TRUE(VerifyMessages(*db).empty());
  for (int i = 0; i < 2000; i++) ASSERT_EQ(db.Get(absl::StrCat("none", i)), "(absent)");
  const uint64_t after = db->GetStatistics().Get(Ticker::kBlockCacheHits) +
                         db->GetStatistics().Get(Ticker::kBlockCacheMisses);
  EXPECT_LT(after - blocks, 200U) << "the filter says no to most absent keys";
}

TEST(Merge, TablesFromOutsideBringOperands) {
  MemoryDb db(WithOperator("append:,"));
  db.Put("a", "1");
  db.CompactAll();
  auto writer = db->NewSstWriter(db->DefaultColumnFamily(), "/outside.sst");
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE((*writer)->Merge("a", "2").ok());
  ASSERT_TRUE((*writer)->Merge("b", "3").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  auto ingested = db->Ingest({{.path = "/outside.sst"}}, {});
  ASSERT_TRUE(ingested.ok()) << ingested.status().ToString();
  Merge(db, "b", "4");
  EXPECT_EQ(ReadAll(db, "a"), "1,2");
  EXPECT_EQ(ReadAll(db, "b"), "3,4");
  db.CompactAll();
  EXPECT_EQ(ReadAll(db, "a"), "1,2");
  EXPECT_EQ(ReadAll(db, "b"), "3,4");
  Options options = WithOperator("append:;");
  options.file_system = &db.file_system();
  const auto other = OpenOrFail(options, "/other");
  ingested = other->Ingest({{.path = "/outside.sst"}}, {});
  EXPECT_TRUE(absl::IsFailedPrecondition(ingested.status()));
  EXPECT_TRUE(absl::StrContains(ingested.status().message(), "'append:,'"));
  EXPECT_TRUE(absl::StrContains(ingested.status().message(), "'append:;'"));
}

TEST(Merge, ARepairFindsTheOperatorsNameInTheTables) {
  Options options = MemoryDb::Quiet();
  options.merge_operator = std::make_shared<Choosy>();
  MemoryDb db(options);
  db.Put("key", "1");
  db.Flush();
  Merge(db, "key", "2");
  db.Flush();
  Merge(db, "key", "3");
  db.CloseDb();
  FileSystem& files = db.file_system();
  const std::vector<std::string> names = *files.List(MemoryDb::kPath);
  for (const std::string& name : names) {
    if (name == "CURRENT" || name.starts_with("MANIFEST-")) {
      ASSERT_TRUE(files.Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
    }
  }
  // It does without the operator, which an opening needs.
  db.options().merge_operator = nullptr;
  const auto repaired = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(repaired.ok()) << repaired.status().ToString();
  const auto refused = DB::Open(db.options(), MemoryDb::kPath);
  EXPECT_TRUE(absl::IsFailedPrecondition(refused.status()));
  EXPECT_TRUE(absl::StrContains(refused.status().message(), "'test.choosy'"))
      << refused.status().ToString();
  db.options().merge_operator = std::make_shared<Choosy>();
  db.Reopen();
  EXPECT_EQ(ReadAll(db, "key"), "1|2|3");
  EXPECT_TRUE(VerifyMessages(*db).empty());
}

TEST(Merge, ACheckpointAndABackupHaveTheOperator) {
  MemoryDb db(WithOperator("append:,"));
  Merge(db, "key", "a");
  db.Flush();
  Merge(db, "key", "b");
  ASSERT_TRUE(db->Checkpoint("/copy").ok());
  Options options = MemoryDb::Quiet();
  options.file_system = &db.file_system();
  const auto copy = OpenOrFail(options, "/copy");
  ASSERT_TRUE(copy->Merge(WriteOptions(), "key", "c").ok());
  std::string value;
  ASSERT_TRUE(copy->Get(ReadOptions(), "key", &value).ok());
  EXPECT_EQ(value, "a,b,c");
}

TEST(Merge, NamesOfBuiltInOperatorsAreCheckedAsText) {
  Options options;
  EXPECT_TRUE(SetOption(&options, "merge_operator", "append: and ").ok());
  EXPECT_EQ(options.merge_operator->Name(), "append: and ");
  EXPECT_TRUE(SetOption(&options, "merge_operator", "none").ok());
  EXPECT_EQ(options.merge_operator, nullptr);
  const absl::Status status = SetOption(&options, "merge_operator", "append");
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_TRUE(absl::StrContains(status.message(), "uint64_add")) << status.ToString();
  EXPECT_FALSE(SetOption(&options, "merge_operator", "append:" + std::string(65, 'x')).ok());
}

// Spaces at the end do not matter: keys of different lengths are one key.
class SpaceBlindComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.space-blind"; }
  int Compare(std::string_view a, std::string_view b) const override {
    return Trimmed(a).compare(Trimmed(b));
  }

 private:
  static std::string_view Trimmed(std::string_view key) {
    return key.substr(0, key.find_last_not_of(' ') + 1);
  }
};

// Two operands of a key that was put later with other bytes, which a snapshot needs.
void ExpectOneKey(const Options& options, std::string_view operand, std::string_view merged,
                  std::string_view first_key, std::string_view newest_key) {
  for (const bool in_two_tables : {false, true}) {
    MemoryDb db(options);
    Merge(db, first_key, operand);
    if (in_two_tables) db.Flush();
    Merge(db, first_key, operand);
    const Snapshot* const snapshot = db->GetSnapshot();
    db.Put(newest_key, "newest");
    for (const bool compacted : {false, true}) {
      SCOPED_TRACE(compacted ? "compacted" : "flushed");
      if (compacted) {
        db.CompactAll();
      } else {
        db.Flush();
      }
      for (const char* key : {"a", "a  ", "a      "}) {
        EXPECT_EQ(db.Get(key, snapshot), merged) << "'" << key << "'";
        EXPECT_EQ(db.Get(key), "newest") << "'" << key << "'";
      }
      ReadOptions read;
      read.snapshot = snapshot;
      const auto iterator = db->NewIterator(read);
      iterator->SeekToFirst();
      ASSERT_TRUE(iterator->Valid()) << iterator->status();
      EXPECT_EQ(iterator->value(), merged);
      iterator->Next();
      EXPECT_FALSE(iterator->Valid()) << "'" << iterator->key() << "'";
      EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    }
    db->ReleaseSnapshot(snapshot);
  }
}

TEST(MergeOfEqualKeys, OfDifferentLengthsIsOfOneKey) {
  static const SpaceBlindComparator space_blind;
  const struct {
    const char* text;
    std::string operand;
    std::string merged;
  } operators[] = {{"uint64_add", Number(1), Number(2)}, {"append:,", "x", "x,x"}};
  for (const auto& op : operators) {
    SCOPED_TRACE(op.text);
    Options options = WithOperator(op.text);
    options.comparator = &space_blind;
    options.filter = "none";
    options.memtable_filter_ratio = 0;
    ExpectOneKey(options, op.operand, op.merged, "a", "a   ");
    ExpectOneKey(options, op.operand, op.merged, "a   ", "a");
    ExpectOneKey(options, op.operand, op.merged, "a", "a" + std::string(40, ' '));
    ExpectOneKey(options, op.operand, op.merged, "a" + std::string(40, ' '), "a");
  }
}

}  // namespace
}  // namespace winnow
