// Backups: they share what has not changed, each that is listed is whole, and damage is never
// restored and never backed up.
#include "winnow/backup.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/backup/copies_fixture.h"
#include "tests/support/before_lock.h"
#include "tests/support/fault_file_system.h"

namespace winnow {
namespace {

std::vector<CrashChoice> CrashChoices(size_t operation) {
  std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll(),
                                      CrashChoice::TornLastAppend(0.5)};
  for (uint64_t seed = 0; seed < 6; seed++) {
    choices.push_back(CrashChoice::RandomSubset(operation + 1000 * seed));
  }
  return choices;
}

TEST(Backup, SharesWhatHasNotChanged) {
  const PosixDirectory directory;
  Options options = MemoryDb::Quiet();
  auto db = OpenOrFail(options, directory / "db");
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), absl::StrCat("key", i), std::string(100, 'v')).ok());
  }
  ASSERT_TRUE(db->Flush().ok());
  const auto first = db->BackupTo(directory / "backups");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->new_bytes, first->bytes);
  const std::string expected = ReadAll(*db);
  ASSERT_TRUE(db->Put(WriteOptions(), "another", "value").ok());
  ASSERT_TRUE(db->Flush().ok());
  const auto second = db->BackupTo(directory / "backups");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_LT(second->new_bytes, second->bytes / 10) << "the large table is shared";

  const auto listed = ListBackups(options, directory / "backups");
  ASSERT_TRUE(listed.ok());
  ASSERT_EQ(listed->size(), 2u);
  EXPECT_EQ((*listed)[1].id, second->id);
  EXPECT_EQ((*listed)[0].bytes, first->bytes);
  for (const uint64_t id : {first->id, second->id}) {
    EXPECT_TRUE(VerifyBackup(options, directory / "backups", id)->empty());
  }
  ASSERT_TRUE(RestoreBackup(options, directory / "backups", first->id, directory / "old").ok());
  EXPECT_EQ(ReadAll(*OpenOrFail(options, directory / "old")), expected);
  ASSERT_TRUE(RestoreBackup(options, directory / "backups", 0, directory / "new").ok());
  EXPECT_EQ(ReadAll(*OpenOrFail(options, directory / "new")), ReadAll(*db));
}

TEST(Backup, TheDirectoryOfADatabaseIsNoPlaceForBackups) {
  MemoryDb db;
  db.Put("key", "value");
  const auto refused = db->BackupTo("/db");
  EXPECT_TRUE(absl::IsInvalidArgument(refused.status())) << refused.status();
  db.Reopen();
  EXPECT_EQ(db.Get("key"), "value");
}

TEST(Backup, DamageIsNamedAndNotRestored) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  RecordingFileSystem& files = db.file_system();
  const std::vector<std::string> names = *files.List("/backups/000001");
  ASSERT_GE(names.size(), 5u);
  for (const std::string& name : names) {
    const std::string path = "/backups/000001/" + name;
    const std::string sound = *ReadFile(files, path, 1 << 20);
    std::string damaged = sound;
    damaged[damaged.size() / 2] ^= 4;
    for (const std::string& bytes : {damaged, sound.substr(0, sound.size() - 1)}) {
      const auto file = *files.Create(path, {});
      ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
      const auto problems = VerifyBackup(db.options(), "/backups", 1);
      const absl::Status restored = RestoreBackup(db.options(), "/backups", 1, "/restored");
      EXPECT_TRUE(absl::IsDataLoss(restored)) << name << ": " << restored;
      EXPECT_TRUE(absl::StrContains(restored.message(), path)) << restored;
      EXPECT_FALSE(*files.Exists("/restored/CURRENT"));
      if (name == "BACKUP") {
        EXPECT_TRUE(absl::IsDataLoss(problems.status()));
      } else {
        ASSERT_EQ(problems->size(), 1u) << name;
        EXPECT_EQ(problems->front().path, path);
        EXPECT_TRUE(absl::IsDataLoss(problems->front().status));
        EXPECT_TRUE(absl::StrContains(problems->front().status.message(), path));
      }
    }
    const auto file = *files.Create(path, {});
    ASSERT_TRUE(file->Append(sound).ok() && file->Close().ok());
  }
  EXPECT_TRUE(VerifyBackup(db.options(), "/backups", 1)->empty());
  EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 1, "/restored").ok());
  const std::string missing = "/backups/000001/CURRENT";
  ASSERT_TRUE(files.Remove(missing).ok());
  const auto problems = VerifyBackup(db.options(), "/backups", 1);
  ASSERT_EQ(problems->size(), 1u);
  EXPECT_EQ(problems->front().path, missing);
  EXPECT_FALSE(problems->front().offset.has_value());
  EXPECT_TRUE(absl::IsDataLoss(problems->front().status)) << problems->front().status;
}

TEST(Backup, WhatWasNotFinishedDoesNotCount) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  db.file_system().set_error_hook([](const FileOperation& operation) {
    return absl::StrContains(operation.path, "BACKUP")
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
  EXPECT_TRUE(absl::IsResourceExhausted(db->BackupTo("/backups").status()));
  db.file_system().set_error_hook(nullptr);
  EXPECT_EQ(ListBackups(db.options(), "/backups")->size(), 1u);
  EXPECT_TRUE(absl::IsNotFound(RestoreBackup(db.options(), "/backups", 2, "/restored")));
  EXPECT_EQ(db->BackupTo("/backups")->id, 3u) << "a number is never used twice";
  EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 0, "/restored").ok());
}

// After a power failure each backup that is listed is whole: the first always, the second once
// BackupTo has returned; and what is not listed is in nobody's way.
TEST(Backup, APowerFailureLeavesAllOrNothing) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  Options options = MemoryDb::Quiet();
  options.file_system = memory.get();
  const auto db = OpenOrFail(options, "/db");
  Fill(*db, options);
  const std::string before = ReadAll(*db);
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "later", "write").ok());
  ASSERT_TRUE(db->Flush().ok());
  const std::string after = ReadAll(*db);
  const size_t begin = memory->num_operations();
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  const size_t end = memory->num_operations();
  size_t seconds = 0;
  for (size_t operation = begin; operation <= end; operation++) {
    for (const CrashChoice& choice : CrashChoices(operation)) {
      SCOPED_TRACE(absl::StrCat("after operation ", operation, ", ", choice.ToString()));
      const auto disk = memory->StateAfterCrash(operation, choice);
      Options crashed = options;
      crashed.file_system = disk.get();
      const auto listed = ListBackups(crashed, "/backups");
      ASSERT_TRUE(listed.ok()) << listed.status();
      ASSERT_GE(listed->size(), operation == end ? 2u : 1u);
      for (const BackupInfo& backup : *listed) {
        EXPECT_TRUE(VerifyBackup(crashed, "/backups", backup.id)->empty());
        const std::string path = absl::StrCat("/restored", backup.id);
        ASSERT_TRUE(RestoreBackup(crashed, "/backups", backup.id, path).ok());
        EXPECT_EQ(ReadAll(*OpenOrFail(crashed, path)), backup.id == 1 ? before : after);
      }
      seconds += listed->size() - 1;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(seconds, 5u);
}

TEST(Backup, APowerFailureDuringRestoringLeavesAllOrNothing) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  Options options = MemoryDb::Quiet();
  options.file_system = memory.get();
  {
    const auto db = OpenOrFail(options, "/db");
    Fill(*db, options);
    ASSERT_TRUE(db->BackupTo("/backups").ok());
  }
  const std::string expected = ReadAll(*OpenOrFail(options, "/db"));
  const size_t begin = memory->num_operations();
  ASSERT_TRUE(RestoreBackup(options, "/backups", 0, "/restored").ok());
  const size_t end = memory->num_operations();
  ASSERT_GT(end, begin + 10);
  size_t whole = 0;
  for (size_t operation = begin; operation <= end; operation++) {
    for (const CrashChoice& choice : CrashChoices(operation)) {
      SCOPED_TRACE(absl::StrCat("after operation ", operation, ", ", choice.ToString()));
      const auto disk = memory->StateAfterCrash(operation, choice);
      Options crashed = options;
      crashed.file_system = disk.get();
      crashed.create_if_missing = false;
      const bool exists = disk->Exists("/restored/CURRENT").value_or(false);
      ASSERT_TRUE(exists || operation < end) << "after it returned the database must be there";
      if (!exists) continue;
      const auto restored = OpenOrFail(crashed, "/restored");
      ASSERT_NE(restored, nullptr) << "half a database";
      ASSERT_EQ(ReadAll(*restored), expected);
      whole++;
    }
  }
  EXPECT_GE(whole, 2u);
}

// Runs `attempt` again and again, each time with the error at another operation on `prefix`, until
// none is met. Returns how often it failed.
template <typename Attempt>
size_t FailEachOperation(const std::string& prefix, const absl::Status& error,
                         const Attempt& attempt) {
  size_t failures = 0;
  for (uint64_t which = 0;; which++) {
    SCOPED_TRACE(absl::StrCat("operation ", which, ": ", error.ToString()));
    MemoryDb db;
    FaultFileSystem faults(&db.file_system(), 1);
    db.CloseDb();
    db.options().file_system = &faults;
    db.Reopen();
    Fill(&db);
    const size_t rule = faults.Add(FaultRule::Error(error).On({}, prefix + "*").From(which, 1));
    failures += attempt(db, faults) ? 0 : 1;
    db.CloseDb();
    if (faults.fired(rule) == 0 || testing::Test::HasFailure()) return failures;
  }
}

TEST(Backup, AFailureLeavesTheEarlierBackupsAndNoOther) {
  for (const absl::Status& error : {InjectedFullDisk(), InjectedIoError()}) {
    const size_t failures =
        FailEachOperation("/backups/00000[2-9]", error, [](MemoryDb& db, FaultFileSystem& faults) {
          EXPECT_TRUE(db->BackupTo("/backups").ok());
          const std::string before = ReadAll(*db);
          db.Put("later", "write");
          db.Flush();
          const bool made = db->BackupTo("/backups").ok();
          faults.Clear();
          EXPECT_EQ(ListBackups(db.options(), "/backups")->size(), made ? 2u : 1u);
          db.Put("later", "goes on");
          EXPECT_TRUE(db->BackupTo("/backups").ok());
          EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 1, "/old").ok());
          EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/old")), before);
          EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 0, "/new").ok());
          EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/new")), ReadAll(*db));
          return made;
        });
    EXPECT_GT(failures, 10u);
  }
}

TEST(Backup, AFailureOfRestoringLeavesNothingBehind) {
  for (const absl::Status& error : {InjectedFullDisk(), InjectedIoError()}) {
    const size_t failures =
        FailEachOperation("/restored", error, [](MemoryDb& db, FaultFileSystem& faults) {
          EXPECT_TRUE(db->BackupTo("/backups").ok());
          const bool restored = RestoreBackup(db.options(), "/backups", 0, "/restored").ok();
          faults.Clear();
          if (!restored) {
            EXPECT_FALSE(*faults.Exists("/restored/CURRENT"));
            EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 0, "/restored").ok());
          }
          EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/restored")), ReadAll(*db));
          return restored;
        });
    EXPECT_GT(failures, 10u);
  }
}

// A backup of damaged bytes would take the place of an older, sound one.
TEST(Backup, ADamagedTableIsNamedAndNotBackedUp) {
  MemoryDb db;
  Fill(&db);
  RecordingFileSystem& files = db.file_system();
  std::vector<std::string> tables = *files.List("/db");
  std::erase_if(tables, [](const std::string& name) { return !name.ends_with(".sst"); });
  ASSERT_GE(tables.size(), 2u);
  for (const std::string& name : tables) {
    const std::string path = "/db/" + name;
    const std::string sound = *ReadFile(files, path, 1 << 20);
    const auto overwrite = [&](const std::string& bytes) {
      const auto file = *files.Create(path, {});
      ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
    };
    std::string damaged = sound;
    damaged[20] ^= 4;
    overwrite(damaged);
    db.Reopen();
    const absl::Status refused = db->BackupTo("/backups").status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), path)) << refused;
    EXPECT_TRUE(ListBackups(db.options(), "/backups")->empty());
    overwrite(sound);
    db.Reopen();
  }
  EXPECT_TRUE(db->BackupTo("/backups").ok());
}

// What every later backup would share.
TEST(Backup, AFileThatIsDamagedInTheLastBackupIsCopiedAnew) {
  for (const bool is_cut : {false, true}) {
    SCOPED_TRACE(is_cut);
    MemoryDb db;
    Fill(&db);
    RecordingFileSystem& files = db.file_system();
    ASSERT_TRUE(db->BackupTo("/backups").ok());
    const std::string expected = ReadAll(*db);
    uint64_t damaged_bytes = 0;
    const std::vector<std::string> names = *files.List("/backups/000001");
    for (const std::string& name : names) {
      if (!name.ends_with(".sst")) continue;
      const std::string path = "/backups/000001/" + name;
      std::string bytes = *ReadFile(files, path, 1 << 20);
      damaged_bytes += bytes.size();
      if (is_cut) {
        bytes.resize(100);
      } else {
        bytes[bytes.size() / 2] ^= 4;
      }
      const auto file = *files.Create(path, {});
      ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());
    }
    const auto second = db->BackupTo("/backups");
    ASSERT_TRUE(second.ok()) << second.status();
    EXPECT_GE(second->new_bytes, damaged_bytes);
    EXPECT_FALSE(VerifyBackup(db.options(), "/backups", 1)->empty());
    EXPECT_TRUE(VerifyBackup(db.options(), "/backups", 2)->empty());
    ASSERT_TRUE(RestoreBackup(db.options(), "/backups", 0, "/restored").ok());
    EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/restored")), expected);
  }
}

TEST(Backup, ADamagedListHidesNoOtherBackup) {
  MemoryDb db;
  Fill(&db);
  for (int i = 0; i < 3; i++) ASSERT_TRUE(db->BackupTo("/backups").ok());
  const auto file = *db.file_system().Create("/backups/000002/BACKUP", {});
  ASSERT_TRUE(file->Append("no list").ok() && file->Close().ok());
  const auto listed = ListBackups(db.options(), "/backups");
  ASSERT_TRUE(listed.ok()) << listed.status();
  ASSERT_EQ(listed->size(), 3u);
  for (const BackupInfo& backup : *listed) {
    EXPECT_EQ(backup.id, static_cast<uint64_t>(&backup - listed->data()) + 1);
    EXPECT_EQ(backup.status.ok(), backup.id != 2) << backup.status;
    EXPECT_EQ(backup.num_files > 0, backup.id != 2);
  }
  EXPECT_TRUE(absl::StrContains((*listed)[1].status.message(), "/backups/000002/BACKUP"));
}

// Of two that restore to one directory one fails, and what the other has written stays.
TEST(Backup, TwoRestoresToOneDirectoryDoNotMix) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  const std::string expected = ReadAll(*db);
  ActingFileSystem acting(&db.file_system());
  Options options = db.options();
  options.file_system = &acting;
  const auto restore = [&](const Options& with) {
    return RestoreBackup(with, "/backups", 1, "/restored");
  };
  absl::Status other;
  acting.before_lock = [&] { other = restore(db.options()); };  // whole before this one begins
  const absl::Status late = restore(options);
  EXPECT_TRUE(other.ok()) << other;
  EXPECT_TRUE(absl::IsAlreadyExists(late)) << late;
  EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/restored")), expected);
  ASSERT_TRUE(DB::Destroy(db.options(), "/restored").ok());
  acting.before_create = [&] { other = restore(db.options()); };  // in the midst of this one
  const absl::Status first = restore(options);
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsAlreadyExists(other)) << other;
  EXPECT_EQ(ReadAll(*OpenOrFail(db.options(), "/restored")), expected);
}

}  // namespace
}  // namespace winnow
