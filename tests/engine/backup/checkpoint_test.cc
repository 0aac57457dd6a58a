// Copies of a live database: whole, of one moment, and also there after a power failure.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/file_system/forwarding_file_system.h"
#include "tests/engine/backup/copies_fixture.h"
#include "tests/support/before_lock.h"
#include "tests/support/verify_messages.h"
#include "winnow/backup.h"

namespace winnow {
namespace {

TEST(Checkpoint, HoldsWhatTheDatabaseHeld) {
  MemoryDb db;
  Fill(&db);
  const std::string expected = ReadAll(*db);
  ASSERT_TRUE(db->Checkpoint("/copies/one").ok());
  db.Put("later", "write");
  db.CompactAll();
  const auto copy = OpenOrFail(db.options(), "/copies/one");
  EXPECT_EQ(ReadAll(*copy), expected);
  EXPECT_TRUE(VerifyMessages(*copy).empty());
  EXPECT_TRUE(copy->Put(WriteOptions(), "its own", "life").ok());
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), "its own", &value)));
}

TEST(Checkpoint, RefusesADirectoryThatIsInUse) {
  MemoryDb db;
  Fill(&db);
  ASSERT_TRUE(db->Checkpoint("/copy").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(db->Checkpoint("/copy")));
  EXPECT_TRUE(VerifyMessages(*OpenOrFail(db.options(), "/copy")).empty()) << "and leaves it alone";
}

// Of two that are written to one directory one fails, and what the other has written stays.
TEST(Checkpoint, TwoToOneDirectoryDoNotMix) {
  const auto disk = NewUnrecordedFileSystem();
  ActingFileSystem acting(disk.get());
  Options options = MemoryDb::Quiet();
  options.file_system = &acting;
  const auto db = OpenOrFail(options, "/db");
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "of this one").ok());
  options.file_system = disk.get();
  const auto another = OpenOrFail(options, "/another");
  ASSERT_TRUE(another->Put(WriteOptions(), "key", "of another").ok());
  absl::Status other;
  const auto copy_other = [&] { other = another->Checkpoint("/copy"); };
  acting.before_lock = copy_other;  // whole before this one begins
  const absl::Status late = db->Checkpoint("/copy");
  EXPECT_TRUE(other.ok()) << other;
  EXPECT_TRUE(absl::IsAlreadyExists(late)) << late;
  EXPECT_EQ(ReadAll(*OpenOrFail(options, "/copy")), "default/key=of another\n");
  ASSERT_TRUE(DB::Destroy(options, "/copy").ok());
  acting.before_create = copy_other;  // in the midst of this one
  const absl::Status first = db->Checkpoint("/copy");
  EXPECT_TRUE(first.ok()) << first;
  EXPECT_TRUE(absl::IsAlreadyExists(other)) << other;
  EXPECT_EQ(ReadAll(*OpenOrFail(options, "/copy")), "default/key=of this one\n");
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

// What no log holds is flushed for a copy, whoever goes on writing meanwhile.
TEST(Checkpoint, WritesWithoutLogAreInItBesideThreadsThatWriteMore) {
  MemoryDb db;
  constexpr size_t kThreads = 4;
  constexpr int kMostWrites = 3'000;
  std::array<std::atomic<int>, kThreads> acknowledged{};
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      WriteOptions unlogged;
      unlogged.disable_wal = true;
      for (int i = 0; i < kMostWrites && !stop; i++) {
        const WriteOptions options = i % 7 == 0 ? WriteOptions() : unlogged;
        EXPECT_TRUE(db->Put(options, absl::StrCat(t, "/", i), "value").ok());
        acknowledged[t] = i + 1;
      }
    });
  }
  const auto copy_and_compare = [&](int round) {
    while (acknowledged[0] < 100 * (round + 1)) std::this_thread::yield();
    std::array<int, kThreads> before;
    for (size_t t = 0; t < kThreads; t++) before[t] = acknowledged[t];
    const std::string path = absl::StrCat("/copy", round);
    if (round % 2 == 0) {
      ASSERT_TRUE(db->Checkpoint(path).ok());
    } else {
      ASSERT_TRUE(db->BackupTo("/backups").ok());
      ASSERT_TRUE(RestoreBackup(db.options(), "/backups", /*id=*/0, path).ok());
    }
    const auto copy = OpenOrFail(db.options(), path);
    std::string value;
    for (size_t t = 0; t < kThreads; t++) {
      for (int i = 0; i < before[t]; i++) {
        ASSERT_TRUE(copy->Get(ReadOptions(), absl::StrCat(t, "/", i), &value).ok())
            << path << ": thread " << t << ", write " << i << " of " << before[t];
      }
    }
  };
  for (int round = 0; round < 4 && !testing::Test::HasFatalFailure(); round++) {
    copy_and_compare(round);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Checkpoint, APowerFailureLeavesAllOrNothing) {
  const auto memory = std::make_unique<RecordingFileSystem>();
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

// A file system without room under /copy, where another process takes that directory at the moment
// at which it is free.
class TakenAtOnce final : public ForwardingFileSystem {
 public:
  using ForwardingFileSystem::ForwardingFileSystem;
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    if (absl::StartsWith(path, "/copy/")) {
      return absl::ResourceExhaustedError("injected: no space left on device");
    }
    return ForwardingFileSystem::Create(path, options);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    const absl::Status removed = ForwardingFileSystem::RemoveDirectory(path);
    if (removed.ok()) {
      EXPECT_TRUE(target().CreateDirectories(path).ok());
      EXPECT_TRUE(target().Create(path + "/LOCK", {}).ok());
    }
    return removed;
  }
};

TEST(Checkpoint, AFailureRemovesNoLockOfAnother) {
  const auto disk = NewUnrecordedFileSystem();
  TakenAtOnce taken(disk.get());
  Options options = MemoryDb::Quiet();
  options.file_system = &taken;
  const auto db = OpenOrFail(options, "/db");
  ASSERT_TRUE(db->Put(WriteOptions(), "key", "value").ok());
  EXPECT_TRUE(absl::IsResourceExhausted(db->Checkpoint("/copy")));
  EXPECT_TRUE(*disk->Exists("/copy/LOCK"));
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
    EXPECT_TRUE(VerifyMessages(*copy).empty());
  }
  stop = true;
  writer.join();
  EXPECT_TRUE(db->Close().ok());
}

}  // namespace
}  // namespace winnow
