// Column families: made, found, dropped, opened again.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

// Each call without a family is the same call on "default", whatever other families hold.
TEST(DbDefaultFamily, EveryCallWithoutAFamilyIsForDefault) {
  MemoryDb db;
  const auto other = db->CreateColumnFamily(ColumnFamilyOptions(), "other");
  ASSERT_TRUE(other.ok());
  ASSERT_TRUE(db->Put(WriteOptions(), *other, "b", "other's").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "a", "1").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "gone", "1").ok());
  ASSERT_TRUE(db->Delete(WriteOptions(), "gone").ok());
  ASSERT_TRUE(db->SetFilter("bloom:9", "").ok());
  ASSERT_TRUE(db->Flush().ok());

  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &value).ok());
  PinnedValue pinned;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &pinned).ok());
  EXPECT_EQ(pinned.view(), value);
  pinned.Reset();
  EXPECT_EQ(db.MultiGet({"a", "b", "gone"}),
            (std::vector<std::string>{"1", "(absent)", "(absent)"}));
  EXPECT_TRUE(db->MayExist(ReadOptions(), "a"));
  EXPECT_TRUE(*db->Exists(ReadOptions(), "a"));
  EXPECT_FALSE(*db->Exists(ReadOptions(), "b"));
  EXPECT_TRUE(db->Explain("a")->found);
  EXPECT_FALSE(db->Explain("b")->found);
  {
    const auto iterator = db->NewIterator(ReadOptions());
    iterator->SeekToFirst();
    ASSERT_TRUE(iterator->Valid());
    EXPECT_EQ(iterator->key(), "a");
    iterator->Next();
    EXPECT_FALSE(iterator->Valid());
  }
  const KeyRange all = {"", "z"};
  EXPECT_GT(db->GetApproximateSizes({&all, 1})->front(), 0u);
  EXPECT_EQ(db->GetApproximateSizes(*other, {&all, 1})->front(), 0u) << "still in its memtable";
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "bloom:9");
  EXPECT_NE(*db->GetProperty(*other, "winnow.filter"), "bloom:9");
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "1");
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), "0");
}

TEST(DbFamilies, ErrorsOfCreatingFindingAndDropping) {
  MemoryDb db;
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily({}, "").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily({}, std::string(256, 'n')).status()));
  EXPECT_TRUE(db->CreateColumnFamily({}, std::string(255, 'n')).ok());
  EXPECT_TRUE(absl::IsAlreadyExists(db->CreateColumnFamily({}, "default").status()));
  ColumnFamilyOptions bad;
  bad.filter = "nonsense";
  EXPECT_TRUE(absl::IsInvalidArgument(db->CreateColumnFamily(bad, "bad").status()));
  EXPECT_TRUE(absl::IsNotFound(db->FindColumnFamily("bad").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(db->DropColumnFamily(db->DefaultColumnFamily())));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetFilter("nonsense", "whole")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetFilter("", "prefix:0")));
}

// Each call once recorded both, the other's as it had been before, and the later one won.
TEST(DbFamilies, FilterAndFilterKeyThatChangeAtTheSameTimeBothDo) {
  MemoryDb db;
  db.file_system().set_error_hook([](const FileOperation& operation) {
    const bool is_edit = operation.kind == FileOperation::Kind::kSync;
    if (is_edit) std::this_thread::sleep_for(std::chrono::milliseconds(2));  // room for the other
    return absl::OkStatus();
  });
  const std::string filters[] = {"bloom:9", "cuckoo:12"};
  const std::string filter_keys[] = {"prefix:3", "whole"};
  for (size_t round = 0; round < 10; round++) {
    std::barrier together(2);
    std::thread other([&] {
      together.arrive_and_wait();
      EXPECT_TRUE(db->SetFilter(filters[round % 2], "").ok());
    });
    together.arrive_and_wait();
    EXPECT_TRUE(db->SetFilter("", filter_keys[round % 2]).ok());
    other.join();
    ASSERT_EQ(*db->GetProperty("winnow.filter"), filters[round % 2]);
    ASSERT_EQ(*db->GetProperty("winnow.filter-key"), filter_keys[round % 2]);
  }
  db.file_system().set_error_hook(nullptr);
}

TEST(DbFamilies, ADroppedFamilyRefusesCallsLosesItsFilesAndItsNameIsFree) {
  MemoryDb db;
  ColumnFamily* family = *db->CreateColumnFamily({}, "short-lived");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key2", "value").ok());
  const auto iterator = db->NewIterator(ReadOptions(), family);
  ASSERT_TRUE(db->DropColumnFamily(family).ok());
  std::string value;
  WriteBatch batch;
  batch.Put("innocent", "v");
  batch.Put(family, "key", "v");
  for (const absl::Status& status :
       {db->Put(WriteOptions(), family, "key", "v"), db->Write(WriteOptions(), batch),
        db->Get(ReadOptions(), family, "key", &value), db->Flush(family),
        db->DropColumnFamily(family), db->SetFilter(family, "none", ""),
        db->NewIterator(ReadOptions(), family)->status()}) {
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status.ToString();
  }
  EXPECT_EQ(db.Get("innocent"), "(absent)");
  int shown = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) shown++;
  EXPECT_EQ(shown, 2) << "an iterator keeps what it shows";

  ColumnFamily* again = *db->CreateColumnFamily({}, "short-lived");
  EXPECT_NE(again->id(), family->id());
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), again, "key", &value)));
}

TEST(DbFamilies, TheFilesOfADroppedFamilyGoWhenItsLastReaderHas) {
  MemoryDb db;
  ColumnFamily* family = *db->CreateColumnFamily({}, "short-lived");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "key", "value").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  const auto num_tables = [&] {
    int count = 0;
    const auto names = db.file_system().List(MemoryDb::kPath);
    for (const std::string& name : *names) {
      count += name.ends_with(".sst") ? 1 : 0;
    }
    return count;
  };
  auto iterator = db->NewIterator(ReadOptions(), family);
  ASSERT_TRUE(db->DropColumnFamily(family).ok());
  EXPECT_EQ(num_tables(), 1);
  iterator.reset();
  EXPECT_EQ(num_tables(), 0);
}

TEST(DbFamilies, ReopenWithTheirOwnRecordedFiltersAndListInOrder) {
  MemoryDb db;
  ColumnFamilyOptions options;
  options.filter = "cuckoo:2%";
  options.filter_key = "prefix:3";
  ColumnFamily* family = *db->CreateColumnFamily(options, "second");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "abc1", "value").ok());
  ASSERT_TRUE(db->SetFilter("bloom:7", "").ok());
  EXPECT_EQ(*DB::ListColumnFamilies(db.options(), MemoryDb::kPath),
            (std::vector<std::string>{"default", "second"}));
  db.Reopen();
  family = *db->FindColumnFamily("second");
  EXPECT_EQ(*db->GetProperty(family, "winnow.filter"), "cuckoo:2%");
  EXPECT_EQ(*db->GetProperty(family, "winnow.filter-key"), "prefix:3");
  EXPECT_EQ(*db->GetProperty("winnow.filter"), "bloom:7");
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), family, "abc1", &value).ok());
  EXPECT_EQ(db.Get("abc1"), "(absent)") << "families are separate key spaces";
  db.CloseDb();
  db.options().column_families["third"] = {};
  EXPECT_TRUE(absl::IsNotFound(DB::Open(db.options(), MemoryDb::kPath).status()));
}

}  // namespace
}  // namespace winnow
