// The file LOG: what is in it, how it is replaced, and that nothing depends on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "engine/events/info_log.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

std::vector<std::string> LogNames(FileSystem& file_system, const std::string& directory) {
  const auto listed = file_system.List(directory);
  EXPECT_TRUE(listed.ok()) << listed.status().ToString();
  std::vector<std::string> names;
  for (const std::string& name : *listed) {
    if (absl::StartsWith(name, "LOG")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string Content(FileSystem& file_system, const std::string& path) {
  const auto content = ReadFile(file_system, path, 1 << 26);
  EXPECT_TRUE(content.ok()) << content.status().ToString();
  return content.value_or("");
}

Options WithLog() {
  Options options = MemoryDb::Quiet();
  options.info_log_bytes = 1 << 20;
  return options;
}

TEST(InfoLogNames, AreParsedAndNothingElseIs) {
  FileType type;
  uint64_t number;
  for (const uint64_t age : {0, 1, 2, 17}) {
    const std::string path = InfoLogFileName("/db", age);
    ASSERT_TRUE(ParseFileName(path.substr(4), &type, &number)) << path;
    EXPECT_EQ(type, FileType::kInfoLog);
    EXPECT_EQ(number, 0u);
  }
  EXPECT_EQ(InfoLogFileName("/db", 2), "/db/LOG.old.2");
  for (const char* name : {"LOG.", "LOG.old.", "LOG.old.1", "LOG.old.x", "LOG.old.2x", "LOGS",
                           "LOG.older", "log", "LOG.old.1700000000000000x"}) {
    EXPECT_FALSE(ParseFileName(name, &type, &number)) << name;
  }
}

TEST(InfoLog, HoldsALineForEachEventAndIsPutAsideAtTheNextOpening) {
  MemoryDb db(WithLog());
  db.Put("a", "1");
  db.Flush();
  db.Reopen();
  db.CloseDb();
  RecordingFileSystem& files = db.file_system();
  const std::string old = Content(files, "/db/LOG.old");
  for (const char* expected : {"file created: /db/", "database opened", "flush of default begins",
                               "flush of default ends", "database closed"}) {
    EXPECT_THAT(old, HasSubstr(expected));
  }
  const std::vector<std::string> lines = absl::StrSplit(old, '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    EXPECT_THAT(line,
                MatchesRegex("[0-9]+-[0-9]+-[0-9]+ [0-9]+:[0-9]+:[0-9]+\\.[0-9]+ [a-z][^\n]+"));
  }
  EXPECT_THAT(Content(files, "/db/LOG"), HasSubstr("database closed"));
  EXPECT_THAT(Content(files, "/db/LOG"), testing::Not(HasSubstr("flush")));
}

TEST(InfoLog, IsReplacedWhenItIsFullAndOnlySoManyAreKept) {
  const auto files = NewUnrecordedFileSystem();
  ASSERT_TRUE(files->CreateDirectories("/db").ok());
  {
    InfoLog log({files.get(), "/db"}, {1000, 3});
    for (int i = 0; i < 100; i++) {
      log.Write(std::chrono::system_clock::now(), absl::StrCat("line ", i, std::string(60, '.')));
    }
  }
  EXPECT_EQ(LogNames(*files, "/db"), (std::vector<std::string>{"LOG", "LOG.old", "LOG.old.2"}));
  for (const std::string& name : LogNames(*files, "/db")) {
    EXPECT_LE(*files->FileSize(absl::StrCat("/db/", name)), 1000u) << name;
  }
  EXPECT_THAT(Content(*files, "/db/LOG"), HasSubstr("line 99."));
  // The three hold the last lines without a gap.
  const std::string all = absl::StrCat(Content(*files, "/db/LOG.old.2"),
                                       Content(*files, "/db/LOG.old"), Content(*files, "/db/LOG"));
  const std::vector<std::string> lines = absl::StrSplit(all, '\n', absl::SkipEmpty());
  for (size_t i = 0; i < lines.size(); i++) {
    EXPECT_THAT(lines[i], HasSubstr(absl::StrCat("line ", 100 - lines.size() + i, ".")));
  }
  { const InfoLog only_one({files.get(), "/db"}, {1000, 1}); }
  EXPECT_EQ(Content(*files, "/db/LOG"), "");
}

TEST(InfoLog, OpenedWithFewerFilesRemovesThoseBeyondThem) {
  const auto files = NewUnrecordedFileSystem();
  ASSERT_TRUE(files->CreateDirectories("/db").ok());
  for (int i = 0; i < 6; i++) {
    const InfoLog of_six({files.get(), "/db"}, {1000, 6});
  }
  ASSERT_EQ(LogNames(*files, "/db").size(), 6u);
  // One is missing between the others, and one is not the store's.
  ASSERT_TRUE(files->Remove("/db/LOG.old.3").ok());
  ASSERT_TRUE(WriteFileAtomically(*files, "/db/LOG.older", "a user's").ok());
  { const InfoLog of_two({files.get(), "/db"}, {1000, 2}); }
  EXPECT_EQ(LogNames(*files, "/db"), (std::vector<std::string>{"LOG", "LOG.old", "LOG.older"}));
}

TEST(InfoLog, WhateverFailsWithItFailsNothingElse) {
  for (const auto kind :
       {FileOperation::Kind::kCreate, FileOperation::Kind::kAppend, FileOperation::Kind::kFlush,
        FileOperation::Kind::kRename, FileOperation::Kind::kInspect, FileOperation::Kind::kClose}) {
    SCOPED_TRACE(static_cast<int>(kind));
    MemoryDb db(WithLog());
    std::atomic<int> failed = 0;
    db.CloseDb();
    db.file_system().set_error_hook([&](const FileOperation& operation) -> absl::Status {
      if (operation.kind != kind || !absl::StartsWith(operation.path, "/db/LOG")) {
        return absl::OkStatus();
      }
      failed++;
      return absl::ResourceExhaustedError("no space left");
    });
    db.Reopen();
    db.Put("a", "1");
    db.Flush();
    db.CompactAll();
    EXPECT_EQ(db.Get("a"), "1");
    EXPECT_TRUE(db->Close().ok());
    db.CloseDb();
    db.file_system().set_error_hook(nullptr);
    EXPECT_GT(failed, 0);
    db.Reopen();
    EXPECT_EQ(db.Get("a"), "1");
  }
}

TEST(InfoLog, IsNotWrittenInMemoryUnlessAskedForNorByReadersNorWhenSwitchedOff) {
  {
    MemoryDb db;
    db.Put("a", "1");
    EXPECT_TRUE(LogNames(db.file_system(), "/db").empty());
  }
  MemoryDb db(WithLog());
  db.options().read_only = true;
  db.Reopen();
  db.CloseDb();
  EXPECT_EQ(LogNames(db.file_system(), "/db"), (std::vector<std::string>{"LOG"}));
  db.options().read_only = false;
  db.options().info_log_bytes = 0;
  db.Reopen();
  EXPECT_EQ(LogNames(db.file_system(), "/db"), (std::vector<std::string>{"LOG"}));
  db.options().info_log_bytes = 100;
  EXPECT_TRUE(absl::IsInvalidArgument(ValidateOptions(db.options())));
}

TEST(InfoLog, CopiesLeaveItBehindAndDestroyRemovesIt) {
  const std::string path = absl::StrCat(testing::TempDir(), "/info_log_test_", getpid());
  const std::string copy = absl::StrCat(path, "_copy");
  const std::string foreign = absl::StrCat(path, "_foreign");
  for (const std::string& directory : {path, copy, foreign}) std::filesystem::remove_all(directory);
  FileSystem& files = *PosixFileSystem();
  for (int i = 0; i < 2; i++) {
    const auto db = OpenOrFail(Options(), path);
    ASSERT_TRUE(db->Put(WriteOptions(), "a", "1").ok());
    if (i == 0) {
      ASSERT_TRUE(db->Checkpoint(copy).ok());
    }
    ASSERT_TRUE(db->Close().ok());
  }
  EXPECT_EQ(LogNames(files, path), (std::vector<std::string>{"LOG", "LOG.old"}));
  EXPECT_TRUE(LogNames(files, copy).empty());
  for (const std::string& directory : {path, copy}) {
    EXPECT_TRUE(DB::Destroy(Options(), directory).ok());
    EXPECT_FALSE(std::filesystem::exists(directory));
  }
  // A LOG alone is no database of ours.
  std::filesystem::create_directory(foreign);
  ASSERT_TRUE(WriteFileAtomically(files, absl::StrCat(foreign, "/LOG"), "of another store").ok());
  EXPECT_TRUE(DB::Destroy(Options(), foreign).ok());
  EXPECT_EQ(LogNames(files, foreign), (std::vector<std::string>{"LOG"}));
  std::filesystem::remove_all(foreign);
}

}  // namespace
}  // namespace winnow
