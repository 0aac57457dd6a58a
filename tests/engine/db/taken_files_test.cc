// Somebody else removes, replaces or cuts the files of an open database: writes are refused with
// the reason, and nothing is acknowledged that the next opening would not find.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

enum class Taken { kRemoved, kReplaced, kCut };

constexpr Taken kWays[] = {Taken::kRemoved, Taken::kReplaced, Taken::kCut};

std::string NewestLog(FileSystem& file_system, const std::string& directory) {
  std::string newest;
  const std::vector<std::string> names = *file_system.List(directory);
  for (const std::string& name : names) {
    if (name.ends_with(".log")) newest = std::max(newest, absl::StrCat(directory, "/", name));
  }
  return newest;
}

void Take(FileSystem& file_system, const std::string& path, Taken way) {
  if (way != Taken::kCut) {
    ASSERT_TRUE(file_system.Remove(path).ok());
  }
  if (way != Taken::kRemoved) {
    ASSERT_TRUE(file_system.Create(path, {}).ok());
  }
}

const char* TextOf(Taken way) {
  return way == Taken::kRemoved    ? ".log: was removed"
         : way == Taken::kReplaced ? ".log: was replaced"
                                   : ".log: was cut";
}

TEST(TakenFiles, ASyncedWriteIsNotAcknowledgedInALogThatIsGone) {
  for (const Taken way : kWays) {
    MemoryDb db;
    db.Put("before", "1");
    Take(db.file_system(), NewestLog(db.file_system(), db.kPath), way);
    WriteOptions sync;
    sync.sync = true;
    const absl::Status written = db->Put(sync, "key", "value");
    EXPECT_FALSE(written.ok());
    EXPECT_TRUE(absl::StrContains(written.message(), TextOf(way))) << written;
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(WriteOptions(), "later", "value")));
    EXPECT_EQ(db.Get("before"), "1");
    EXPECT_TRUE(absl::StrContains(*db->GetProperty("winnow.background-error"), TextOf(way)));
  }
}

TEST(TakenFiles, AnotherLogIsNotBegunAfterOneThatIsGone) {
  for (const Taken way : kWays) {
    MemoryDb db;
    db.Put("before", "1");
    Take(db.file_system(), NewestLog(db.file_system(), db.kPath), way);
    const absl::Status flushed = db->Flush();
    EXPECT_TRUE(absl::StrContains(flushed.message(), TextOf(way))) << flushed;
    EXPECT_FALSE(db->Put(WriteOptions(), "later", "value").ok());
  }
}

TEST(TakenFiles, CloseSaysThatTheLogIsGone) {
  for (const Taken way : kWays) {
    MemoryDb db;
    db.Put("before", "1");
    Take(db.file_system(), NewestLog(db.file_system(), db.kPath), way);
    const absl::Status closed = db->Close();
    EXPECT_TRUE(absl::IsDataLoss(closed)) << closed;
    EXPECT_TRUE(absl::StrContains(closed.message(), TextOf(way))) << closed;
  }
}

std::string Manifest(FileSystem& file_system, const std::string& directory) {
  const std::vector<std::string> names = *file_system.List(directory);
  for (const std::string& name : names) {
    if (name.starts_with("MANIFEST-")) return absl::StrCat(directory, "/", name);
  }
  return "";
}

TEST(TakenFiles, AManifestThatIsGoneAtTheCloseIsWrittenAnew) {
  for (const Taken way : kWays) {
    for (const bool current : {false, true}) {
      MemoryDb db;
      db.Put("flushed", "1");
      ASSERT_TRUE(db->Flush().ok());
      db.Put("logged", "2");
      Take(db.file_system(),
           current ? absl::StrCat(db.kPath, "/CURRENT") : Manifest(db.file_system(), db.kPath),
           way);
      // The tables of this one may be named where nobody reads.
      db.Put("flushed later", "3");
      ASSERT_TRUE(db->Flush().ok());
      db.Reopen();
      EXPECT_EQ(db.Get("flushed"), "1");
      EXPECT_EQ(db.Get("logged"), "2");
      EXPECT_EQ(db.Get("flushed later"), "3");
    }
  }
}

// For a process that is killed later.
TEST(TakenFiles, TheThreadsWriteAManifestThatIsGoneAnew) {
  FileSystem& posix = *PosixFileSystem();
  const ScratchDirectory scratch("taken");
  const std::string& directory = scratch.path();
  const Options options = MemoryDb::Quiet();
  auto db = OpenOrFail(options, directory);
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  const std::string taken = Manifest(posix, directory);
  ASSERT_TRUE(posix.Remove(taken).ok());
  while (Manifest(posix, directory).empty()) std::this_thread::yield();
  EXPECT_EQ(*db->GetProperty("winnow.background-error"), "");
  ASSERT_TRUE(db->Put(WriteOptions(), "later", "2").ok());
  EXPECT_TRUE(db->Close().ok());
  db = OpenOrFail(options, directory);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "later", &value).ok());
  EXPECT_TRUE(db->Close().ok());
  EXPECT_TRUE(DB::Destroy(options, directory).ok());
}

// Logs become shorter when they are closed, and go when nothing needs them.
TEST(TakenFiles, WhatTheDatabaseDoesItselfIsNoTheft) {
  MemoryDb db(MemoryDb::Busy());
  WriteOptions sync;
  for (int i = 0; i < 500; i++) {
    sync.sync = i % 7 == 0;
    ASSERT_TRUE(db->Put(sync, absl::StrCat("key", i), std::string(1000, 'v')).ok());
    if (i % 100 == 0) db.Flush();
  }
  db.Reopen();
  EXPECT_EQ(*db->GetProperty("winnow.background-error"), "");
}

// On a real directory, where nobody writes and the threads alone notice: a log that was cut would
// end the process at the next write, since it is mapped.
TEST(TakenFiles, TheThreadsNoticeALockOrALogThatIsGone) {
  FileSystem& posix = *PosixFileSystem();
  for (const bool log : {false, true}) {
    const ScratchDirectory scratch("taken");
    const std::string& directory = scratch.path();
    Options options = MemoryDb::Quiet();
    auto db = OpenOrFail(options, directory);
    ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
    const std::string taken = log ? NewestLog(posix, directory) : directory + "/LOCK";
    if (log) {
      ASSERT_EQ(::truncate(taken.c_str(), 100), 0);
    } else {
      ASSERT_TRUE(posix.Remove(taken).ok());
    }
    std::string error;
    while (error.empty()) error = *db->GetProperty("winnow.background-error");
    EXPECT_TRUE(absl::StrContains(error, taken)) << error;
    EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(WriteOptions(), "later", "2")));
    EXPECT_FALSE(db->Close().ok());
    db.reset();
    EXPECT_TRUE(DB::Destroy(options, directory).ok());
  }
}

}  // namespace
}  // namespace winnow
