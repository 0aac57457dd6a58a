// A child made by fork(2) has a copy of its parent's open database: what it does with the copy must
// not reach the parent's files, and must not wait for threads and locks that the child has not.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/child_process.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

void PutMany(DB& db, const std::string& prefix) {
  for (int i = 0; i < 200; i++) {
    ASSERT_TRUE(db.Put(WriteOptions(), absl::StrCat(prefix, i), "value").ok());
  }
}

int CountEntries(DB& db) {
  const auto iterator = db.NewIterator(ReadOptions());
  int num_entries = 0;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) num_entries++;
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  return num_entries;
}

TEST(ForkedChild, DestroyingItsCopyLeavesTheParentWriting) {
  const ScratchDirectory directory("forked-child");
  std::unique_ptr<DB> db = OpenOrFail(Options(), directory.path());
  PutMany(*db, "before");
  EXPECT_EQ(InChild([&] {
              db.reset();
              return 0;
            }),
            0);
  PutMany(*db, "after");
  EXPECT_TRUE(db->Close().ok());
  db = OpenOrFail(Options(), directory.path());
  EXPECT_EQ(CountEntries(*db), 400);
  EXPECT_EQ(*db->GetProperty("winnow.recovery"), "");
}

TEST(ForkedChild, EveryCallIsRefusedAndChangesNothing) {
  const ScratchDirectory directory("forked-child");
  std::unique_ptr<DB> db = OpenOrFail(Options(), directory.path());
  PutMany(*db, "before");
  ASSERT_TRUE(db->Flush().ok());  // there are levels to tell of
  ColumnFamily* const family = db->CreateColumnFamily(ColumnFamilyOptions(), "family").value();
  const Snapshot* const snapshot = db->GetSnapshot();
  const auto refused = [](const absl::Status& status) {
    return absl::IsFailedPrecondition(status) && absl::StrContains(status.message(), "fork");
  };
  const std::vector<std::function<bool()>> calls = {
      [&] { return refused(db->Put(WriteOptions(), "child", "value")); },
      [&] { return refused(db->Delete(WriteOptions(), "before1")); },
      [&] {
        std::string value;
        return refused(db->Get(ReadOptions(), "before1", &value));
      },
      [&] { return refused(db->Exists(ReadOptions(), "before1").status()); },
      [&] { return refused(db->NewIterator(ReadOptions())->status()); },
      [&] { return db->GetSnapshot() == nullptr; },
      [&] {
        db->ReleaseSnapshot(snapshot);
        return true;
      },
      [&] { return refused(db->CreateColumnFamily(ColumnFamilyOptions(), "other").status()); },
      [&] { return refused(db->DropColumnFamily(family)); },
      [&] { return refused(db->FindColumnFamily("family").status()); },
      [&] { return db->ColumnFamilies().empty(); },
      [&] { return refused(db->SetFilter("none", "")); },
      [&] { return refused(db->Flush()); },
      [&] { return refused(db->CompactRange(std::nullopt, std::nullopt)); },
      [&] { return refused(db->WaitForBackgroundWork()); },
      [&] { return refused(db->Checkpoint(directory.path() + "/checkpoint")); },
      [&] { return refused(db->BackupTo(directory.path() + "/backups").status()); },
      [&] { return refused(db->GetProperty("winnow.stats").status()); },
      [&] { return db->GetStatistics().levels.empty(); },
      [&] { return refused(db->Verify().status()); },
      [&] { return refused(db->Close()); },
  };
  EXPECT_EQ(InChild([&] {
              for (size_t i = 0; i < calls.size(); i++) {
                if (!calls[i]()) return static_cast<int>(i) + 1;
              }
              return 0;
            }),
            0);
  PutMany(*db, "after");
  db->ReleaseSnapshot(snapshot);
  EXPECT_TRUE(db->Close().ok());
  db = OpenOrFail(Options(), directory.path());
  EXPECT_EQ(CountEntries(*db), 400);
}

// The parent's iterator reads a table that a compaction has replaced.
TEST(ForkedChild, DestroyingAnIteratorRemovesNoTable) {
  const ScratchDirectory directory("forked-child");
  std::unique_ptr<DB> db = OpenOrFail(MemoryDb::Quiet(), directory.path());
  PutMany(*db, "key");
  ASSERT_TRUE(db->Flush().ok());
  std::unique_ptr<Iterator> iterator = db->NewIterator(ReadOptions());
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  const auto num_tables = [&] {
    int tables = 0;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
      tables += entry.path().extension() == ".sst";
    }
    return tables;
  };
  ASSERT_EQ(num_tables(), 2);
  EXPECT_EQ(InChild([&] {
              iterator.reset();
              return 0;
            }),
            0);
  EXPECT_EQ(num_tables(), 2);
  iterator.reset();
  EXPECT_EQ(num_tables(), 1);
}

// A killed parent's database can be opened again while a child of it lives.
TEST(ForkedChild, DestroyingItsCopyGivesUpItsShareOfTheLock) {
  const ScratchDirectory directory("forked-child");
  int destroyed[2], end_grandchild[2];
  ASSERT_EQ(::pipe(destroyed), 0);
  ASSERT_EQ(::pipe(end_grandchild), 0);
  char byte = 'x';
  const pid_t opener = ::fork();
  if (opener == 0) {
    auto opened = DB::Open(Options(), directory.path());
    if (!opened.ok()) ::_exit(1);
    if (::fork() != 0) ::_exit(0);  // as if killed: without closing
    opened->reset();
    ::close(end_grandchild[1]);
    const bool told = ::write(destroyed[1], &byte, 1) == 1;
    ::_exit(told && ::read(end_grandchild[0], &byte, 1) == 0 ? 0 : 1);
  }
  ::close(destroyed[1]);
  int status = 0;
  EXPECT_EQ(::waitpid(opener, &status, 0), opener);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(::read(destroyed[0], &byte, 1), 1);
  EXPECT_NE(OpenOrFail(Options(), directory.path()), nullptr);
  for (const int end : {destroyed[0], end_grandchild[0], end_grandchild[1]}) ::close(end);
}

}  // namespace
}  // namespace winnow
