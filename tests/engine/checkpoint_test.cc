// Copies of a live database: whole, of one moment, and also there after a power failure.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/db_fixture.h"
#include "winnow/backup.h"

namespace winnow {
namespace {

std::string ReadAll(DB& db) {
  std::string text;
  for (ColumnFamily* family : db.ColumnFamilies()) {
    const auto iterator = db.NewIterator(ReadOptions(), family);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      absl::StrAppend(&text, std::string(family->name()), "/", std::string(iterator->key()), "=",
                      std::string(iterator->value()), "\n");
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  }
  return text;
}

// Some of it in tables on two levels, some in the log, in two column families.
void Fill(DB& db, const Options& options) {
  ASSERT_TRUE(db.CreateColumnFamily(options, "second").ok());
  ColumnFamily* const first = db.DefaultColumnFamily();
  ColumnFamily* const second = *db.FindColumnFamily("second");
  for (int i = 0; i < 300; i++) {
    const std::string key = absl::StrCat("key", i);
    ASSERT_TRUE(db.Put(WriteOptions(), key, std::string(50, 'v')).ok());
    ASSERT_TRUE(db.Put(WriteOptions(), second, key, "second").ok());
    if (i == 100) {
      ASSERT_TRUE(db.CompactRange(first, std::nullopt, std::nullopt).ok());
    }
    if (i == 200) {
      ASSERT_TRUE(db.Flush(first).ok());
    }
  }
  ASSERT_TRUE(db.Delete(WriteOptions(), "key7").ok());
}
void Fill(MemoryDb* db) { Fill(**db, db->options()); }

class PosixDirectory {
 public:
  PosixDirectory() {
    std::string name = ::testing::TempDir() + "/winnow_checkpoint_XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~PosixDirectory() { std::filesystem::remove_all(path_); }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

TEST(Checkpoint, HoldsWhatTheDatabaseHeld) {
  MemoryDb db;
  Fill(&db);
  const std::string expected = ReadAll(*db);
  ASSERT_TRUE(db->Checkpoint("/copies/one").ok());
  db.Put("later", "write");
  db.CompactAll();
  const auto copy = OpenOrFail(db.options(), "/copies/one");
  EXPECT_EQ(ReadAll(*copy), expected);
  EXPECT_TRUE(copy->Verify().empty());
  EXPECT_TRUE(copy->Put(WriteOptions(), "its own", "life").ok());
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), "its own", &value)));
}

TEST(Checkpoint, RefusesADirectoryThatIsInUse) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->Checkpoint("/copy").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(db->Checkpoint("/copy")));
  EXPECT_TRUE(OpenOrFail(db.options(), "/copy")->Verify().empty()) << "and leaves it alone";
}

TEST(Checkpoint, WritesWithoutLogAreInIt) {
  MemoryDb db;
  WriteOptions unlogged;
  unlogged.disable_wal = true;
  ASSERT_TRUE(db->Put(unlogged, "key", "value").ok());
  ASSERT_TRUE(db->Checkpoint("/copy").ok());
  std::string value;
  EXPECT_TRUE(OpenOrFail(db.options(), "/copy")->Get(ReadOptions(), "key", &value).ok());
}

TEST(Checkpoint, APowerFailureLeavesAllOrNothing) {
  const auto memory = NewMemoryFileSystem();
  Options options = MemoryDb::Quiet();
  options.file_system = memory.get();
  const auto db = OpenOrFail(options, "/db");
  Fill(*db, options);
  const std::string expected = ReadAll(*db);
  const size_t begin = memory->num_operations();
  ASSERT_TRUE(db->Checkpoint("/copies/one").ok());
  const size_t end = memory->num_operations();
  ASSERT_GT(end, begin + 10);
  size_t whole = 0;
  for (size_t operation = begin; operation <= end; operation++) {
    std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced()};
    for (uint64_t seed = 0; seed < 8; seed++) {
      choices.push_back(CrashChoice::RandomSubset(operation + 1000 * seed));
    }
    for (const CrashChoice& choice : choices) {
      const auto disk = memory->StateAfterCrash(operation, choice);
      Options crashed = options;
      crashed.file_system = disk.get();
      crashed.create_if_missing = false;
      auto copy = DB::Open(crashed, "/copies/one");
      if (copy.ok()) {
        whole++;
        ASSERT_EQ(ReadAll(**copy), expected) << "crash after operation " << operation;
      } else {
        ASSERT_TRUE(absl::IsNotFound(copy.status()) || absl::IsDataLoss(copy.status()))
            << copy.status();
        ASSERT_FALSE(*disk->Exists("/copies/one/CURRENT"))
            << "half a checkpoint: " << copy.status();
        ASSERT_LT(operation, end) << "after it returned the checkpoint must be there";
      }
    }
  }
  EXPECT_GE(whole, 2u);
}

TEST(Checkpoint, AFailureLeavesNothingBehind) {
  size_t failures = 0;
  for (size_t which = 0;; which++) {
    MemoryDb db;
    Fill(&db);
    size_t seen = 0;
    db.file_system().set_error_hook([&](const FileOperation& operation) {
      return absl::StartsWith(operation.path, "/copy") && seen++ == which &&
                     operation.kind != FileOperation::Kind::kRemove
                 ? absl::ResourceExhaustedError("injected: no space left on device")
                 : absl::OkStatus();
    });
    const absl::Status status = db->Checkpoint("/copy");
    db.file_system().set_error_hook(nullptr);
    if (seen <= which) break;
    if (status.ok()) continue;  // closing a file that has been synced
    failures++;
    EXPECT_FALSE(*db.file_system().Exists("/copy/CURRENT"));
    EXPECT_TRUE(db->Put(WriteOptions(), "key", "goes on").ok());
    EXPECT_TRUE(db->Checkpoint("/second try").ok());
  }
  EXPECT_GT(failures, 10u);
}

TEST(Checkpoint, IsOfOneMomentWhileWritesGoOn) {
  const PosixDirectory directory;
  Options options;
  options.background_threads = 2;
  options.write_buffer_bytes = size_t{64} << 10;
  auto db = OpenOrFail(options, directory / "db");
  ColumnFamily* const second = *db->CreateColumnFamily(options, "second");
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; !stop; i++) {
      WriteBatch batch;
      batch.Put("counter", std::to_string(i));
      batch.Put(second, "counter", std::to_string(i));
      batch.Put(absl::StrCat("key", i % 1000), std::string(100, 'v'));
      EXPECT_TRUE(db->Write(WriteOptions(), batch).ok());
    }
  });
  for (int i = 0; i < 10; i++) {
    const std::string copy_path = directory / absl::StrCat("copy", i);
    ASSERT_TRUE(db->Checkpoint(copy_path).ok());
    const auto copy = OpenOrFail(options, copy_path);
    std::string first_counter;
    std::string second_counter;
    const absl::Status got = copy->Get(ReadOptions(), "counter", &first_counter);
    if (absl::IsNotFound(got)) continue;  // before the first write
    ASSERT_TRUE(got.ok());
    ASSERT_TRUE(
        copy->Get(ReadOptions(), *copy->FindColumnFamily("second"), "counter", &second_counter)
            .ok());
    EXPECT_EQ(first_counter, second_counter);
    EXPECT_TRUE(copy->Verify().empty());
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(db->Close().ok());
}

TEST(Backup, SharesWhatHasNotChanged) {
  const PosixDirectory directory;
  Options options = MemoryDb::Quiet();
  auto db = OpenOrFail(options, directory / "db");
  for (int i = 0; i < 2000; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), absl::StrCat("key", i), std::string(100, 'v')).ok());
  }
  ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
  const auto first = db->BackupTo(directory / "backups");
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->new_bytes, first->bytes);
  const std::string expected = ReadAll(*db);
  ASSERT_TRUE(db->Put(WriteOptions(), "another", "value").ok());
  ASSERT_TRUE(db->Flush(db->DefaultColumnFamily()).ok());
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

TEST(Backup, DamageIsNamedAndNotRestored) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->BackupTo("/backups").ok());
  MemoryFileSystem& files = db.file_system();
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
        EXPECT_TRUE(absl::StrContains(problems->front(), path));
      }
    }
    const auto file = *files.Create(path, {});
    ASSERT_TRUE(file->Append(sound).ok() && file->Close().ok());
  }
  EXPECT_TRUE(RestoreBackup(db.options(), "/backups", 1, "/restored").ok());
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

}  // namespace
}  // namespace winnow
