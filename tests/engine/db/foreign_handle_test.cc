// Column families that a call may not take (another database's, dropped ones, none) and snapshots
// of another database: every call that takes one says so, and harms neither database.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/base/status.h"
#include "tests/support/db_fixture.h"
#include "winnow/indexed_write_batch.h"
#include "winnow/merge_operator.h"

namespace winnow {
namespace {

using NamedStatus = std::pair<std::string, absl::Status>;

Options Mergeable() {
  Options options = MemoryDb::Quiet();
  options.merge_operator = *ParseMergeOperator("append:,");
  return options;
}

// Of Transaction and IndexedWriteBatch alike.
template <typename Writes>
void AddAnswers(std::string_view of, Writes& writes, ColumnFamily* family,
                std::vector<NamedStatus>* answers) {
  const auto add = [&](std::string_view call, absl::Status status) {
    answers->emplace_back(absl::StrCat(ToAbsl(of), ToAbsl(call)), std::move(status));
  };
  const ReadOptions read;
  std::string value;
  PinnedValue pinned;
  add("Put", writes.Put(family, "key", "value"));
  add("Delete", writes.Delete(family, "key"));
  add("Merge", writes.Merge(family, "key", "operand"));
  add("Get", writes.Get(read, family, "key", &value));
  add("Get pinned", writes.Get(read, family, "key", &pinned));
  constexpr std::array<std::string_view, 1> kOneKey = {"key"};
  std::array<absl::Status, 1> statuses;
  writes.MultiGet(read, family, kOneKey, {&pinned, 1}, statuses);
  add("MultiGet", statuses[0]);
  add("NewIterator", writes.NewIterator(read, family)->status());
}

std::vector<NamedStatus> AnswersTo(DB& db, ColumnFamily* family) {
  std::vector<NamedStatus> answers;
  const auto add = [&](std::string_view call, absl::Status status) {
    answers.emplace_back(call, std::move(status));
  };
  const WriteOptions write;
  const ReadOptions read;
  std::string value;
  PinnedValue pinned;
  add("Put", db.Put(write, family, "key", "value"));
  add("Delete", db.Delete(write, family, "key"));
  add("Merge", db.Merge(write, family, "key", "operand"));
  add("DeleteRange", db.DeleteRange(write, family, "a", "z"));
  add("Get", db.Get(read, family, "key", &value));
  add("Get pinned", db.Get(read, family, "key", &pinned));
  constexpr std::array<std::string_view, 1> kOneKey = {"key"};
  std::array<absl::Status, 1> statuses;
  db.MultiGet(read, family, kOneKey, {&pinned, 1}, statuses);
  add("MultiGet", statuses[0]);
  add("Exists", db.Exists(read, family, "key").status());
  add("NewIterator", db.NewIterator(read, family)->status());
  add("SetOption", db.SetOption(family, "block_bytes", "8K"));
  add("GetOption", db.GetOption(family, "block_bytes").status());
  add("SetFilter", db.SetFilter(family, "bloom:9", ""));
  add("Flush", db.Flush(family));
  add("CompactRange", db.CompactRange(family, std::nullopt, std::nullopt));
  add("GetProperty", db.GetProperty(family, "winnow.filter").status());
  const KeyRange range{"a", "z"};
  add("GetApproximateSizes", db.GetApproximateSizes(family, {&range, 1}).status());
  add("Explain", db.Explain(family, "key").status());
  add("ExplainRange", db.ExplainRange(family, "a", "z").status());
  add("Refilter", db.Refilter(family, RefilterOptions()).status());
  add("NewSstWriter", db.NewSstWriter(family, "/new.sst").status());
  for (const auto mode :
       {TransactionOptions::Mode::kOptimistic, TransactionOptions::Mode::kPessimistic}) {
    TransactionOptions options;
    options.mode = mode;
    const auto transaction = *db.BeginTransaction(options);
    AddAnswers("Transaction::", *transaction, family, &answers);
    add("GetForUpdate", transaction->GetForUpdate(read, family, "key", &value));
    EXPECT_TRUE(transaction->Commit().ok()) << "nothing was written";
  }
  IndexedWriteBatch batch(db);
  AddAnswers("IndexedWriteBatch::", batch, family, &answers);
  add("DropColumnFamily", db.DropColumnFamily(family));
  return answers;
}

void ExpectEach(const std::vector<NamedStatus>& answers, absl::StatusCode code) {
  for (const auto& [call, status] : answers)
    EXPECT_EQ(status.code(), code) << call << ": " << status;
}

TEST(ForeignHandle, OfAFamilyIsRefusedByEveryCall) {
  MemoryDb db(Mergeable());
  MemoryDb other(Mergeable());
  ColumnFamily* const own = *db->CreateColumnFamily(Mergeable(), "family");
  ColumnFamily* const foreign = *other->CreateColumnFamily(Mergeable(), "family");
  ASSERT_EQ(own->id(), foreign->id());
  ASSERT_TRUE(other->Put(WriteOptions(), foreign, "key", "value").ok());
  ASSERT_TRUE(other->Flush(foreign).ok());
  ExpectEach(AnswersTo(*db, foreign), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(db->MayExist(ReadOptions(), foreign, "key"));
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), own, "key", &value)));
  EXPECT_TRUE(other->Get(ReadOptions(), foreign, "key", &value).ok());
  EXPECT_EQ(value, "value");
}

TEST(ForeignHandle, NoFamilyIsRefusedByEveryCall) {
  MemoryDb db(Mergeable());
  ExpectEach(AnswersTo(*db, nullptr), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(db->MayExist(ReadOptions(), nullptr, "key"));
}

TEST(ForeignHandle, OfADroppedFamilyIsRefusedByEveryCall) {
  MemoryDb db(Mergeable());
  ColumnFamily* const dropped = *db->CreateColumnFamily(Mergeable(), "dropped");
  ASSERT_TRUE(db->DropColumnFamily(dropped).ok());
  ExpectEach(AnswersTo(*db, dropped), absl::StatusCode::kFailedPrecondition);
}

TEST(ForeignHandle, OfATableToIngestIsRefused) {
  MemoryDb db;
  MemoryDb other;
  ColumnFamily* const foreign = *other->CreateColumnFamily(MemoryDb::Quiet(), "family");
  auto writer = *db->NewSstWriter(db->DefaultColumnFamily(), "/new.sst");
  ASSERT_TRUE(writer->Put("key", "value").ok());
  ASSERT_TRUE(writer->Finish().ok());
  for (ColumnFamily* const family : {foreign, other->DefaultColumnFamily()}) {
    const auto ingested = db->Ingest({{.path = "/new.sst", .family = family}}, {});
    EXPECT_TRUE(absl::IsInvalidArgument(ingested.status())) << ingested.status();
  }
  EXPECT_EQ(db.Get("key"), "(absent)");
}

TEST(ForeignHandle, OfASnapshotIsRefusedByTransactionsAndBatches) {
  MemoryDb db;
  MemoryDb other;
  db.Put("key", "value");
  const SnapshotGuard snapshot(*other);
  ReadOptions read;
  read.snapshot = snapshot.get();
  const auto transaction = *db->BeginTransaction();
  IndexedWriteBatch batch(*db);
  std::string value;
  for (const absl::Status& status :
       {transaction->Get(read, "key", &value), transaction->NewIterator(read)->status(),
        transaction->GetForUpdate(read, "key", &value), batch.Get(read, "key", &value),
        batch.NewIterator(read)->status()}) {
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  }
  // Nor is it released there, once or twice.
  const Snapshot* const own = db->GetSnapshot();
  db.Put("key", "later");
  other->ReleaseSnapshot(own);
  db.Flush();
  db.CompactAll();
  EXPECT_EQ(db.Get("key", own), "value");
  db->ReleaseSnapshot(own);
  db->ReleaseSnapshot(own);
}

}  // namespace
}  // namespace winnow
