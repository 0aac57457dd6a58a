// Logs that one column family needs rescue what the others lose with an SSTable, where that can
// only bring back what was there; where it cannot, they are kept.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/recovery/repaired_database.h"
#include "winnow/ingest.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

constexpr int kKeys = 100;

std::string KeyOf(int i) { return absl::StrCat("key", 1000 + i); }

// A database whose first log is needed by the family "small" as long as that is not flushed.
class RepairKeptLogs : public testing::Test {
 protected:
  RepairKeptLogs() {
    EXPECT_TRUE(db_->CreateColumnFamily(db_.options(), "small").ok());
    EXPECT_TRUE(db_->Put(WriteOptions(), *db_->FindColumnFamily("small"), "key", "small").ok());
  }

  void PutAll(const std::string& value) {
    for (int i = 0; i < kKeys; i++) db_.Put(KeyOf(i), value);
  }
  // With a new log, as the next flush begins one.
  void FlushDefault() { EXPECT_TRUE(db_->Flush(db_->DefaultColumnFamily()).ok()); }

  std::vector<std::string> Names(const std::string& end) {
    std::vector<std::string> names = *db_.file_system().List("/db");
    std::erase_if(names, [&](const std::string& name) { return !name.ends_with(end); });
    std::sort(names.begin(), names.end());
    return names;
  }
  void RemoveTables() {
    for (const std::string& name : Names(".sst")) {
      ASSERT_TRUE(db_.file_system().Remove("/db/" + name).ok());
    }
  }
  void Change(const std::string& name, const std::function<void(std::string*)>& change) {
    std::string bytes = *ReadFile(db_.file_system(), "/db/" + name, 1 << 20);
    change(&bytes);
    const auto file = *db_.file_system().Create("/db/" + name, {});
    ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
  }
  // Of a closed database, which it opens again.
  RepairReport Repair() {
    auto report = RepairDatabase(db_.options(), "/db");
    EXPECT_TRUE(report.ok()) << report.status();
    db_.Reopen();
    EXPECT_EQ(GetSmall(), "small");
    EXPECT_TRUE(VerifyMessages(*db_).empty());
    return report.ok() ? *std::move(report) : RepairReport();
  }
  std::string GetSmall() {
    std::string value;
    return db_->Get(ReadOptions(), *db_->FindColumnFamily("small"), "key", &value).ok() ? value
                                                                                        : "(none)";
  }
  int CountWith(const std::string& value) {
    int count = 0;
    for (int i = 0; i < kKeys; i++) count += db_.Get(KeyOf(i)) == value ? 1 : 0;
    return count;
  }
  bool LogIsInLost(const std::string& name) {
    return *db_.file_system().Exists(absl::StrCat("/db/lost/", name));
  }

  MemoryDb db_;
};

TEST_F(RepairKeptLogs, BringBackWhatAMissingTableHeld) {
  PutAll("value");
  FlushDefault();
  db_.Put(KeyOf(3), "newer");
  db_.CloseDb();
  RemoveTables();
  const RepairReport report = Repair();
  EXPECT_EQ(report.tables_lost, 1u);
  EXPECT_EQ(report.entries_replayed, static_cast<uint64_t>(kKeys)) << Notes(report);
  EXPECT_TRUE(absl::StrContains(Notes(report), "replayed once more")) << Notes(report);
  EXPECT_EQ(CountWith("value"), kKeys - 1);
  EXPECT_EQ(db_.Get(KeyOf(3)), "newer");
  const auto again = RepairDatabase((db_.CloseDb(), db_.options()), "/db");
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Notes(*again), "");
}

TEST_F(RepairKeptLogs, BringBackWhatADamagedTableHeld) {
  PutAll("value");
  FlushDefault();
  db_.CloseDb();
  Change(Names(".sst").front(), [](std::string* bytes) { (*bytes)[bytes->size() / 3] ^= 4; });
  const RepairReport report = Repair();
  EXPECT_EQ(report.tables_rewritten + report.tables_lost, 1u);
  EXPECT_EQ(report.entries_replayed, static_cast<uint64_t>(kKeys)) << Notes(report);
  EXPECT_EQ(CountWith("value"), kKeys);
}

// The deletions were dropped at the last level, and are in the logs with what they deleted.
TEST_F(RepairKeptLogs, BringBackNothingThatWasDeletedOrOverwritten) {
  PutAll("old");
  FlushDefault();
  PutAll("new");
  for (int i = 0; i < kKeys; i += 4) db_.Delete(KeyOf(i));
  ASSERT_TRUE(db_->DeleteRange(WriteOptions(), KeyOf(10), KeyOf(20)).ok());
  db_.Put(KeyOf(15), "again");
  db_.CompactAll();
  std::string expected;
  for (int i = 0; i < kKeys; i++) absl::StrAppend(&expected, db_.Get(KeyOf(i)), "\n");
  db_.CloseDb();
  RemoveTables();
  const RepairReport report = Repair();
  EXPECT_GT(report.entries_replayed, 0u) << Notes(report);
  std::string found;
  for (int i = 0; i < kKeys; i++) absl::StrAppend(&found, db_.Get(KeyOf(i)), "\n");
  EXPECT_EQ(found, expected);
}

// A table that is sound lies where a replayed operand would count twice.
TEST_F(RepairKeptLogs, AreNotReplayedWhereOperandsWouldCountTwice) {
  db_.options().merge_operator = *ParseMergeOperator("uint64_add");
  db_.Reopen();
  ASSERT_TRUE(db_->Put(WriteOptions(), *db_->FindColumnFamily("small"), "key", "small").ok());
  const std::string one("\1\0\0\0\0\0\0\0", 8);
  ASSERT_TRUE(db_->Merge(WriteOptions(), "counter", one).ok());
  FlushDefault();
  const std::vector<std::string> first_tables = Names(".sst");
  PutAll("value");
  FlushDefault();
  db_.CloseDb();
  const std::vector<std::string> logs = Names(".log");
  ASSERT_GE(logs.size(), 2u);
  std::vector<std::string> tables = Names(".sst");
  ASSERT_TRUE(db_.file_system().Remove("/db/" + tables.back()).ok());
  const RepairReport report = Repair();
  EXPECT_EQ(db_.Get("counter"), one);
  EXPECT_EQ(CountWith("value"), kKeys) << "the log after that of the operand\n" << Notes(report);
  EXPECT_TRUE(LogIsInLost(logs.front())) << Notes(report);
  EXPECT_FALSE(LogIsInLost(logs[1]));
}

TEST_F(RepairKeptLogs, AreKeptWhereSomethingWasWrittenWithoutLogSince) {
  PutAll("value");
  FlushDefault();
  WriteOptions unlogged;
  unlogged.disable_wal = true;
  ASSERT_TRUE(db_->Put(unlogged, KeyOf(1), "without log").ok());
  db_.CompactAll();
  db_.Put("late", "write");
  // Killed: closing would write all memtables to tables.
  Files files;
  for (const std::string& name : Names("")) {
    if (name.ends_with(".sst")) continue;
    files[name] = *ReadFile(db_.file_system(), "/db/" + name, 1 << 20);
  }
  const Repaired repaired = RepairAndOpen(files);
  ASSERT_NE(repaired.db, nullptr);
  EXPECT_EQ(repaired.report.entries_replayed, 0u);
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(repaired.db->Get(ReadOptions(), KeyOf(1), &value)))
      << "it was overwritten";
  EXPECT_TRUE(repaired.db->Get(ReadOptions(), "late", &value).ok());
  EXPECT_TRUE(*repaired.disk->Exists("/db/lost/" + Names(".log").front()))
      << Notes(repaired.report);
}

TEST_F(RepairKeptLogs, AreKeptWhereSomethingWasIngestedSince) {
  PutAll("value");
  FlushDefault();
  const auto writer = *db_->NewSstWriter(db_->DefaultColumnFamily(), "/ingested.sst");
  ASSERT_TRUE(writer->Put(KeyOf(1), "ingested").ok() && writer->Finish().ok());
  ASSERT_TRUE(db_->Ingest({{"/ingested.sst"}}, {}).ok());
  db_.CloseDb();
  const std::vector<std::string> logs = Names(".log");
  ASSERT_TRUE(db_.file_system().Remove("/db/" + Names(".sst").front()).ok());
  const RepairReport report = Repair();
  EXPECT_EQ(report.entries_replayed, 0u);
  EXPECT_EQ(db_.Get(KeyOf(1)), "ingested");
  EXPECT_TRUE(LogIsInLost(logs.front())) << Notes(report);
}

// What stands in the place of the damage may have overwritten what stands before it.
TEST_F(RepairKeptLogs, AreReplayedFromBehindTheirLastDamageOn) {
  PutAll("first");
  FlushDefault();
  for (int i = 0; i < kKeys / 2; i++) db_.Put(KeyOf(i), "second");
  FlushDefault();
  db_.CloseDb();
  const std::vector<std::string> logs = Names(".log");
  ASSERT_GE(logs.size(), 2u);
  // Its small family's entry is the first record.
  Change(logs.front(), [](std::string* bytes) { (*bytes)[1000] ^= 4; });
  RemoveTables();
  const RepairReport report = Repair();
  EXPECT_EQ(CountWith("second"), kKeys / 2) << Notes(report);
  EXPECT_EQ(CountWith("first"), 0);
  EXPECT_TRUE(LogIsInLost(logs.front())) << Notes(report);
}

// The opening would remove the logs, before anybody thinks of a repair.
TEST_F(RepairKeptLogs, AreKeptByAnOpeningThatCannotOpenATable) {
  PutAll("value");
  FlushDefault();
  db_.CloseDb();
  const std::vector<std::string> logs = Names(".log");
  Change(Names(".sst").front(), [](std::string* bytes) { bytes->resize(100); });
  db_.Reopen();
  EXPECT_EQ(GetSmall(), "small");
  EXPECT_FALSE(*db_.file_system().Exists("/db/" + logs.front()));
  EXPECT_TRUE(LogIsInLost(logs.front()));
  db_.Reopen();
  EXPECT_EQ(db_.file_system().List("/db/lost")->size(), logs.size())
      << "those that are newer stay out";
  ASSERT_TRUE(db_->Put(WriteOptions(), "later", "write").ok());
}

}  // namespace
}  // namespace winnow
