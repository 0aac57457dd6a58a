// What may be on disk after a crash, case by case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "engine/file_system/testing/recording_file_system.h"

namespace winnow {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::UnorderedElementsAre;
using Mode = WritableFileOptions::Mode;

constexpr size_t kAll = ~size_t{0};

class CrashStateTest : public testing::Test {
 protected:
  std::unique_ptr<WritableFile> Create(const std::string& path, Mode mode = Mode::kBuffered) {
    WritableFileOptions options;
    options.mode = mode;
    return memory_->Create(path, options).value();
  }

  // A file whose bytes and entry are durable.
  void WriteDurably(const std::string& path, std::string_view data) {
    const auto file = Create(path);
    ASSERT_TRUE(file->Append(data).ok());
    ASSERT_TRUE(file->Sync().ok());
    ASSERT_TRUE(file->Close().ok());
    ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  }

  // "NAME=CONTENT" of everything in the root after a crash now.
  std::vector<std::string> After(const CrashChoice& choice, size_t num_operations = kAll) {
    return Files(*memory_->StateAfterCrash(num_operations, choice));
  }
  static std::vector<std::string> Files(FileSystem& disk) {
    std::vector<std::string> files;
    const std::vector<std::string> names = disk.List("/").value();
    for (const std::string& name : names) {
      const std::string path = "/" + name;
      files.push_back(disk.IsDirectory(path).value()
                          ? name + "/"
                          : name + "=" + ReadFile(disk, path, 1 << 30).value());
    }
    return files;
  }

  // All states that random choices lead to.
  std::set<std::vector<std::string>> RandomStates(int seeds = 300) {
    std::set<std::vector<std::string>> states;
    for (int seed = 0; seed < seeds; seed++) {
      states.insert(After(CrashChoice::RandomSubset(static_cast<uint64_t>(seed))));
    }
    return states;
  }

  std::unique_ptr<RecordingFileSystem> memory_ = std::make_unique<RecordingFileSystem>();
};

TEST_F(CrashStateTest, ASyncedFileWithoutDirectorySyncMayBeGone) {
  const auto file = Create("/file");
  ASSERT_TRUE(file->Append("data").ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre());
  EXPECT_THAT(RandomStates(), UnorderedElementsAre(ElementsAre(), ElementsAre("file=data")));
}

TEST_F(CrashStateTest, ADurableEntryMayNameAnEmptyFile) {
  const auto file = Create("/file");
  ASSERT_TRUE(file->Append("data").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("file="));
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("file=data"));
  EXPECT_THAT(RandomStates(), ElementsAre(ElementsAre("file=data")));
}

TEST_F(CrashStateTest, AKilledProcessLosesOnlyWhatItHadNotHandedOver) {
  const auto buffered = Create("/buffered");
  ASSERT_TRUE(buffered->Append("flushed").ok());
  ASSERT_TRUE(buffered->Flush().ok());
  ASSERT_TRUE(buffered->Append(" and lost").ok());
  EXPECT_THAT(After(CrashChoice::KeepAll()), ElementsAre("buffered=flushed"));
}

TEST_F(CrashStateTest, AnUnclosedLogEndsInZeros) {
  const auto log = Create("/log", Mode::kLog);
  ASSERT_TRUE(log->Append("record").ok());
  const auto killed = memory_->StateAfterCrash(kAll, CrashChoice::KeepAll());
  const std::string content = ReadFile(*killed, "/log", 1 << 20).value();
  EXPECT_EQ(content, "record" + std::string(4096 - 6, '\0'));
  ASSERT_TRUE(log->Close().ok());
  EXPECT_THAT(After(CrashChoice::KeepAll()), ElementsAre("log=record"));
}

TEST_F(CrashStateTest, TheLastAppendMayBeTorn) {
  WriteDurably("/file", "");
  const auto file = Create("/file");
  ASSERT_TRUE(file->Append("whole,").ok());
  ASSERT_TRUE(file->Append("torntorn").ok());
  EXPECT_THAT(After(CrashChoice::TornLastAppend(0)), ElementsAre("file=whole,"));
  EXPECT_THAT(After(CrashChoice::TornLastAppend(0.5)), ElementsAre("file=whole,torn"));
  EXPECT_THAT(After(CrashChoice::TornLastAppend(1)), ElementsAre("file=whole,torntorn"));
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_THAT(After(CrashChoice::TornLastAppend(0)), ElementsAre("file=whole,torntorn"));
}

TEST_F(CrashStateTest, ARenameIsAtomicAndNeedsADirectorySync) {
  WriteDurably("/CURRENT", "old");
  const auto file = Create("/tmp");
  ASSERT_TRUE(file->Append("new").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Close().ok());
  ASSERT_TRUE(memory_->Rename("/tmp", "/CURRENT").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("CURRENT=old"));
  EXPECT_THAT(RandomStates(), UnorderedElementsAre(ElementsAre("CURRENT=old"),
                                                   ElementsAre("CURRENT=old", "tmp=new"),
                                                   ElementsAre("CURRENT=new")));
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_THAT(RandomStates(), ElementsAre(ElementsAre("CURRENT=new")));
}

TEST_F(CrashStateTest, ARenamedFileThatWasNotSyncedMayBeEmpty) {
  WriteDurably("/CURRENT", "old");
  const auto file = Create("/tmp");
  ASSERT_TRUE(file->Append("new").ok());
  ASSERT_TRUE(file->Close().ok());
  ASSERT_TRUE(memory_->Rename("/tmp", "/CURRENT").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("CURRENT="));
}

TEST_F(CrashStateTest, RemovalsAreUndoneIndependently) {
  WriteDurably("/a", "1");
  WriteDurably("/b", "2");
  ASSERT_TRUE(memory_->Remove("/a").ok());
  ASSERT_TRUE(memory_->Remove("/b").ok());
  EXPECT_THAT(RandomStates(), UnorderedElementsAre(ElementsAre("a=1", "b=2"), ElementsAre("a=1"),
                                                   ElementsAre("b=2"), ElementsAre()));
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("a=1", "b=2"));
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre());
}

TEST_F(CrashStateTest, ANewDirectoryNeedsASyncOfItsParent) {
  ASSERT_TRUE(memory_->CreateDirectories("/db").ok());
  const auto file = Create("/db/file");
  ASSERT_TRUE(file->Append("data").ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(memory_->SyncDirectory("/db").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  const auto disk = memory_->StateAfterCrash(kAll, CrashChoice::KeepNothingUnsynced());
  EXPECT_EQ(ReadFile(*disk, "/db/file", 100).value(), "data");
}

TEST_F(CrashStateTest, ARenameBetweenDirectoriesNeedsBothSynced) {
  ASSERT_TRUE(memory_->CreateDirectories("/from").ok());
  ASSERT_TRUE(memory_->CreateDirectories("/to").ok());
  ASSERT_TRUE(Create("/from/file")->Sync().ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/from").ok());
  ASSERT_TRUE(memory_->Rename("/from/file", "/to/file").ok());
  const auto where = [&] {
    const auto disk = memory_->StateAfterCrash(kAll, CrashChoice::KeepNothingUnsynced());
    return std::make_pair(disk->Exists("/from/file").value(), disk->Exists("/to/file").value());
  };
  EXPECT_EQ(where(), std::make_pair(true, false));
  ASSERT_TRUE(memory_->SyncDirectory("/to").ok());
  EXPECT_EQ(where(), std::make_pair(true, false));
  ASSERT_TRUE(memory_->SyncDirectory("/from").ok());
  EXPECT_EQ(where(), std::make_pair(false, true));
}

TEST_F(CrashStateTest, ATruncationMayBeUndoneUntilTheFileIsSynced) {
  WriteDurably("/file", "old");
  const auto file = Create("/file");
  ASSERT_TRUE(file->Append("new").ok());
  EXPECT_THAT(After(CrashChoice::KeepNothingUnsynced()), ElementsAre("file=old"));
  EXPECT_THAT(RandomStates(), Contains(ElementsAre("file=")));
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_THAT(RandomStates(), ElementsAre(ElementsAre("file=new")));
}

TEST_F(CrashStateTest, PiecesOfUnsyncedDataAreLostIndependentlyAndSyncedOnesNever) {
  WriteDurably("/file", "");
  const auto file = Create("/file", Mode::kBuffered);
  const std::string synced(700, 's');
  ASSERT_TRUE(file->Append(synced).ok());
  ASSERT_TRUE(file->Sync().ok());
  ASSERT_TRUE(file->Append(std::string(5000, 'u')).ok());
  bool hole = false, garbage = false, shorter = false, grown = false;
  for (uint64_t seed = 0; seed < 100; seed++) {
    const auto disk = memory_->StateAfterCrash(kAll, CrashChoice::RandomSubset(seed));
    const std::string content = ReadFile(*disk, "/file", 1 << 20).value();
    ASSERT_EQ(content.substr(0, 700), synced);
    ASSERT_LE(content.size(), 5700u);
    const size_t last_kept = content.rfind(std::string(100, 'u'));
    const size_t lost = content.find_first_not_of('u', 700);
    hole |= last_kept != std::string::npos && lost < last_kept;
    garbage |= content.find_first_not_of(std::string("su\0", 3)) != std::string::npos;
    shorter |= content.size() < 5700;
    grown |= content.size() == 5700 && content.back() == '\0';
  }
  EXPECT_TRUE(hole);
  EXPECT_TRUE(garbage);
  EXPECT_TRUE(shorter);
  EXPECT_TRUE(grown);
}

TEST_F(CrashStateTest, TheSameSeedGivesTheSameState) {
  for (int i = 0; i < 10; i++) {
    const auto file = Create("/" + std::to_string(i));
    ASSERT_TRUE(file->Append(std::string(3000, 'x')).ok());
  }
  EXPECT_EQ(After(CrashChoice::RandomSubset(7)), After(CrashChoice::RandomSubset(7)));
  EXPECT_NE(After(CrashChoice::RandomSubset(7)), After(CrashChoice::RandomSubset(8)));
}

TEST_F(CrashStateTest, EachNumberOfOperationsHasItsState) {
  WriteDurably("/a", "1");
  const size_t before = memory_->num_operations();
  WriteDurably("/b", "2");
  EXPECT_THAT(After(CrashChoice::KeepAll(), before), ElementsAre("a=1"));
  EXPECT_THAT(After(CrashChoice::KeepAll(), before + 1), ElementsAre("a=1", "b="));
  EXPECT_THAT(After(CrashChoice::KeepAll(), 0), ElementsAre());
}

TEST_F(CrashStateTest, ACrashedFileSystemRecordsAndCrashesAgain) {
  WriteDurably("/a", "1");
  const auto first = memory_->StateAfterCrash(kAll, CrashChoice::KeepNothingUnsynced());
  EXPECT_EQ(first->num_operations(), 0u);
  ASSERT_TRUE(WriteFileAtomically(*first, "/b", "2").ok());
  ASSERT_TRUE(first->Remove("/a").ok());
  EXPECT_THAT(Files(*first->StateAfterCrash(kAll, CrashChoice::KeepNothingUnsynced())),
              ElementsAre("a=1", "b=2"));
  EXPECT_THAT(Files(*first->StateAfterCrash(0, CrashChoice::KeepAll())), ElementsAre("a=1"));
}

TEST_F(CrashStateTest, LocksDoNotSurvive) {
  const auto lock = memory_->Lock("/LOCK");
  ASSERT_TRUE(lock.ok());
  EXPECT_TRUE(memory_->StateAfterCrash(kAll, CrashChoice::KeepAll())->Lock("/LOCK").ok());
}

TEST_F(CrashStateTest, WriteFileAtomicallyIsOldOrNewAtEveryCrashAndNewAfterIt) {
  ASSERT_TRUE(WriteFileAtomically(*memory_, "/CURRENT", "old").ok());
  const size_t before = memory_->num_operations();
  ASSERT_TRUE(WriteFileAtomically(*memory_, "/CURRENT", "new").ok());
  const size_t after = memory_->num_operations();
  std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                      CrashChoice::TornLastAppend(0.5)};
  for (uint64_t seed = 0; seed < 50; seed++) choices.push_back(CrashChoice::RandomSubset(seed));
  std::set<std::string> seen;
  for (size_t n = before; n <= after; n++) {
    for (const CrashChoice& choice : choices) {
      const auto disk = memory_->StateAfterCrash(n, choice);
      const std::string content = ReadFile(*disk, "/CURRENT", 100).value();
      EXPECT_TRUE(content == "old" || content == "new") << n << ", " << choice.ToString();
      if (n == after) {
        EXPECT_EQ(content, "new") << choice.ToString();
      } else {
        seen.insert(content);
      }
    }
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST_F(CrashStateTest, ALinkIsDurableAfterASyncOfItsDirectoryAndNamesTheSameBytes) {
  WriteDurably("/a", "one");
  ASSERT_TRUE(memory_->CreateDirectories("/copy").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  ASSERT_TRUE(memory_->Link("/a", "/copy/a").ok());
  EXPECT_EQ(ReadFile(*memory_, "/copy/a", 10).value(), "one");
  EXPECT_TRUE(absl::IsAlreadyExists(memory_->Link("/a", "/copy/a")));
  EXPECT_TRUE(absl::IsNotFound(memory_->Link("/b", "/copy/b")));
  const auto exists = [&](const std::string& path) {
    return memory_->StateAfterCrash(kAll, CrashChoice::KeepNothingUnsynced())->Exists(path).value();
  };
  EXPECT_FALSE(exists("/copy/a"));
  ASSERT_TRUE(memory_->SyncDirectory("/copy").ok());
  EXPECT_TRUE(exists("/copy/a"));
  ASSERT_TRUE(memory_->Rename("/a", "/b").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_TRUE(exists("/copy/a") && exists("/b"));
  EXPECT_FALSE(exists("/a"));
  ASSERT_TRUE(memory_->Remove("/b").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  EXPECT_TRUE(exists("/copy/a"));
  EXPECT_FALSE(exists("/b"));
}

// Bytes that were never synced are lost or kept for all names at once.
TEST_F(CrashStateTest, TwoNamesOfAFileShowTheSameBytesInEveryState) {
  const auto file = Create("/a");
  ASSERT_TRUE(file->Append(std::string(5000, 'x')).ok());
  ASSERT_TRUE(file->Close().ok());
  ASSERT_TRUE(memory_->Link("/a", "/b").ok());
  ASSERT_TRUE(memory_->SyncDirectory("/").ok());
  for (const std::vector<std::string>& files : RandomStates(50)) {
    ASSERT_EQ(files.size(), 2u);
    EXPECT_EQ(files[0].substr(1), files[1].substr(1));
  }
}

}  // namespace
}  // namespace winnow
