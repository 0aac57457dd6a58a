// What the store does about errors of the file system: which of them pass, which are final, and
// what each must not do. error_loops_test goes through all of them.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "engine/log/log_format.h"
#include "engine/sstable/format.h"
#include "tests/support/crash_workload.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

// Writes until the disk is full, with an error hook that makes it so for some files; then there is
// space again, and the database must go on without being reopened.
void CheckHealing(const std::function<bool(const FileOperation&)>& is_full) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> full = true;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "flushed", "1").ok());
  ASSERT_TRUE(db->Flush().ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "in memory", "2").ok());
  memory->set_error_hook([&](const FileOperation& operation) {
    return full && is_full(operation)
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
  std::map<std::string, bool> acknowledged;
  const std::string value(2000, 'v');
  absl::Status refused;
  for (int i = 0; i < 400 && refused.ok(); i++) {
    const std::string key = absl::StrCat("key", i);
    refused = db->Put(WriteOptions(), key, value);
    acknowledged[key] = refused.ok();
    if (i % 40 == 39) refused.Update(db->Flush());
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  std::string found;
  EXPECT_TRUE(db->Get(ReadOptions(), "flushed", &found).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "in memory", &found).ok());
  for (int i = 0; i < 3; i++) {  // refusals and tries while it lasts change nothing
    db->Put(WriteOptions(), "maybe", "x").IgnoreError();
    db->Flush().IgnoreError();
  }
  full = false;
  absl::Status healed = absl::UnknownError("not tried");
  const absl::Time deadline = absl::Now() + absl::Seconds(20);
  while (!healed.ok() && absl::Now() < deadline) {
    healed = db->Put(WriteOptions(), "afterwards", "3");
    healed.Update(db->Flush());
  }
  ASSERT_TRUE(healed.ok()) << healed;
  EXPECT_EQ(*db->GetProperty("winnow.background-error"), "");
  EXPECT_GT(memory->num_operations(), 0u);
  for (const bool reopened : {false, true}) {
    if (reopened) {
      EXPECT_TRUE(db->Close().ok());
      db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
    }
    for (const auto& [key, was_acknowledged] : acknowledged) {
      if (!was_acknowledged) continue;
      EXPECT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key;
    }
    for (const char* key : {"flushed", "in memory", "afterwards"}) {
      EXPECT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key;
    }
  }
}

TEST(CrashErrors, SpaceForTablesReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.path.ends_with(".sst") && operation.kind == Kind::kAppend;
  });
}

TEST(CrashErrors, SpaceForTheLogReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.path.ends_with(".log") && operation.kind == Kind::kAppend;
  });
}

TEST(CrashErrors, SpaceForNewFilesReturns) {
  CheckHealing([](const FileOperation& operation) { return operation.kind == Kind::kCreate; });
}

TEST(CrashErrors, SpaceForTheManifestReturns) {
  CheckHealing([](const FileOperation& operation) {
    return absl::StrContains(operation.path, "MANIFEST") &&
           (operation.kind == Kind::kAppend || operation.kind == Kind::kSync);
  });
}

TEST(CrashErrors, SpaceForAnythingReturns) {
  CheckHealing([](const FileOperation& operation) {
    return operation.kind == Kind::kAppend || operation.kind == Kind::kCreate;
  });
}

TEST(CrashErrors, AFailedSyncOfTheLogIsFinal) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> fails = true;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  memory->set_error_hook([&](const FileOperation& operation) {
    return operation.kind == Kind::kSync && operation.path.ends_with(".log") &&
                   fails.exchange(false)
               ? absl::UnavailableError("injected I/O error")
               : absl::OkStatus();
  });
  WriteOptions synced;
  synced.sync = true;
  EXPECT_TRUE(absl::IsUnavailable(db->Put(synced, "key", "2")));
  EXPECT_FALSE(fails) << "the fault was never met";
  // The next sync would succeed, and prove nothing.
  EXPECT_TRUE(absl::IsFailedPrecondition(db->Put(synced, "key", "3")));
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "before", &value).ok());
  EXPECT_NE(*db->GetProperty("winnow.background-error"), "");
  EXPECT_FALSE(db->Close().ok());
  db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  EXPECT_TRUE(db->Get(ReadOptions(), "before", &value).ok());
}

// Fails the next append to a log as a full disk does.
void FailOneLogAppend(RecordingFileSystem& memory, std::atomic<bool>* fails) {
  memory.set_error_hook([fails](const FileOperation& operation) {
    return operation.kind == Kind::kAppend && operation.path.ends_with(".log") &&
                   fails->exchange(false)
               ? absl::ResourceExhaustedError("injected: no space left on device")
               : absl::OkStatus();
  });
}

// The log that took the place of a failed one once had another number than the one that the
// manifest named, so that the database could not be opened again.
TEST(CrashErrors, AfterAFullDiskTheManifestNamesALogThatExists) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> fails = true;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  FailOneLogAppend(*memory, &fails);
  const size_t begin = memory->num_operations();
  EXPECT_TRUE(absl::IsResourceExhausted(db->Put(WriteOptions(), "refused", "2")));
  WriteOptions synced;
  synced.sync = true;
  ASSERT_TRUE(db->Put(synced, "after", "3").ok());
  const size_t end = memory->num_operations();
  ASSERT_TRUE(db->Close().ok());
  for (size_t n = begin; n <= memory->num_operations(); n++) {
    for (const CrashChoice& choice : {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll()}) {
      const auto crashed = memory->StateAfterCrash(n, choice);
      const auto reopened = OpenOrFail(CrashOptions(crashed.get()), kCrashDatabase);
      ASSERT_NE(reopened, nullptr) << "after " << n << " operations, " << choice.ToString();
      std::string value;
      EXPECT_EQ(reopened->Get(ReadOptions(), "after", &value).ok() || n < end, true) << n;
    }
  }
}

// With nothing to flush the manifest went on naming the log that had been given up; after a clean
// close its missing end was taken for damage, and the log that followed it was not replayed.
TEST(CrashErrors, TheFirstWriteFindsTheDiskFullAndTheNextOnesAreKept) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> fails = true;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  FailOneLogAppend(*memory, &fails);
  EXPECT_TRUE(absl::IsResourceExhausted(db->Put(WriteOptions(), "refused", "1")));
  ASSERT_TRUE(db->Put(WriteOptions(), "after", "2").ok());
  ASSERT_TRUE(db->Close().ok());
  Options strict = CrashOptions(memory.get());
  strict.recovery_mode = RecoveryMode::kStrict;
  db = OpenOrFail(strict, kCrashDatabase);
  ASSERT_NE(db, nullptr);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "after", &value).ok());
  EXPECT_EQ(*db->GetProperty("winnow.recovery"), "");
}

// The flush that follows a switch of memtables ends the older log, which has room for all but its
// marker, and which another family still needs when the database is closed.
TEST(CrashErrors, WithoutRoomForTheEndOfAnOlderLogWritesGoOn) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> full = true;
  std::atomic<int> markers = 0;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  const auto family = db->CreateColumnFamily(CrashOptions(memory.get()), "second");
  ASSERT_TRUE(family.ok()) << family.status();
  memory->set_error_hook([&](const FileOperation& operation) {
    const bool is_marker = operation.kind == Kind::kAppend && operation.path.ends_with(".log") &&
                           operation.data.size() == kLogRecordHeaderBytes;
    if (!is_marker || !full) return absl::OkStatus();
    markers++;
    return absl::ResourceExhaustedError("injected: no space left on device");
  });
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "in the older log", "1").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), "flushed", "2").ok());
  ASSERT_TRUE(db->Flush().ok());
  WriteOptions synced;
  synced.sync = true;
  EXPECT_TRUE(db->Put(synced, "synced", "3").ok());
  EXPECT_EQ(*db->GetProperty("winnow.background-error"), "");
  EXPECT_GT(markers, 0);
  full = false;
  EXPECT_TRUE(db->Close().ok());
  Options strict = CrashOptions(memory.get());
  strict.recovery_mode = RecoveryMode::kStrict;
  db = OpenOrFail(strict, kCrashDatabase);
  ASSERT_NE(db, nullptr);
  EXPECT_EQ(*db->GetProperty("winnow.recovery"), "");
  const auto second = db->FindColumnFamily("second");
  ASSERT_TRUE(second.ok());
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), *second, "in the older log", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "flushed", &value).ok());
  EXPECT_TRUE(db->Get(ReadOptions(), "synced", &value).ok());
}

// A column family that is created while the log is broken must not name that log.
TEST(CrashErrors, AColumnFamilyIsCreatedAfterTheLogFailed) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  std::atomic<bool> fails = true;
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "1").ok());
  FailOneLogAppend(*memory, &fails);
  EXPECT_TRUE(absl::IsResourceExhausted(db->Put(WriteOptions(), "refused", "1")));
  const auto family = db->CreateColumnFamily(CrashOptions(memory.get()), "second");
  ASSERT_TRUE(family.ok()) << family.status();
  ASSERT_TRUE(db->Put(WriteOptions(), *family, "after", "2").ok());
  ASSERT_TRUE(db->Close().ok());
  Options strict = CrashOptions(memory.get());
  strict.recovery_mode = RecoveryMode::kStrict;
  db = OpenOrFail(strict, kCrashDatabase);
  ASSERT_NE(db, nullptr);
  const auto second = db->FindColumnFamily("second");
  ASSERT_TRUE(second.ok());
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), *second, "after", &value).ok());
}

TEST(CrashErrors, ADamagedTableIsLeftAloneAndTheRestGoesOn) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  auto db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  ASSERT_TRUE(db->Put(WriteOptions(), "key", std::string(900, 'a')).ok());
  ASSERT_TRUE(db->Flush().ok());
  ASSERT_TRUE(db->Close().ok());
  std::string table;
  const std::vector<std::string> names = *memory->List(kCrashDatabase);
  for (const std::string& name : names) {
    if (absl::EndsWith(name, ".sst")) table = absl::StrCat(kCrashDatabase, "/", name);
  }
  std::string bytes = *ReadFile(*memory, table, 1 << 20);
  bytes[kMinTableHeaderBytes + 20] ^= 1;
  const auto file = *memory->Create(table, {});
  ASSERT_TRUE(file->Append(bytes).ok() && file->Close().ok());

  db = OpenOrFail(CrashOptions(memory.get()), kCrashDatabase);
  for (int i = 0; i < 8; i++) {  // enough files on level 0 for a compaction
    for (const std::string& key : {std::string("a"), absl::StrCat("key", i), std::string("z")}) {
      ASSERT_TRUE(db->Put(WriteOptions(), key, "b").ok());
    }
    const absl::Status flushed = db->Flush();
    ASSERT_TRUE(flushed.ok() || absl::IsDataLoss(flushed)) << flushed;
  }
  const absl::Status waited = db->WaitForBackgroundWork();
  EXPECT_TRUE(absl::IsDataLoss(waited)) << waited;
  EXPECT_TRUE(absl::StrContains(waited.message(), table)) << waited;
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFilesQuarantined), 1u);
  EXPECT_TRUE(db->Put(WriteOptions(), "still", "writing").ok());
  std::string value;
  EXPECT_TRUE(absl::IsDataLoss(db->Get(ReadOptions(), "key", &value)));
  for (int i = 0; i < 8; i++) {
    EXPECT_TRUE(db->Get(ReadOptions(), absl::StrCat("key", i), &value).ok());
  }
  EXPECT_TRUE(*memory->Exists(table));
}

// Pebble once noticed the error of one child of an iterator after wrong keys had been shown.
TEST(CrashErrors, AnIteratorThatMeetsAReadErrorShowsNoWrongKey) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  Options options = CrashOptions(memory.get());
  options.disable_auto_compactions = true;
  const auto db = OpenOrFail(options, "/db");
  std::map<std::string, std::string> expected;
  for (int i = 0; i < 240; i++) {
    const std::string key = absl::StrCat("key", i * 7 % 120);
    expected[key] = absl::StrCat("value ", i);
    ASSERT_TRUE(db->Put(WriteOptions(), key, expected[key]).ok());
    if (i % 80 == 79) {
      ASSERT_TRUE(db->Flush().ok());
    }
  }
  size_t failures = 0;
  for (const bool forward : {true, false}) {
    for (int which = 0;; which++) {
      SCOPED_TRACE(absl::StrCat("read ", which));
      int reads = 0;
      memory->set_error_hook([&](const FileOperation& operation) {
        return operation.kind == Kind::kRead && reads++ >= which
                   ? absl::UnavailableError("injected I/O error")
                   : absl::OkStatus();
      });
      const auto iterator = db->NewIterator(ReadOptions());
      std::map<std::string, std::string> shown;
      forward ? iterator->SeekToFirst() : iterator->SeekToLast();
      while (iterator->Valid()) {
        ASSERT_EQ(expected[std::string(iterator->key())], iterator->value()) << iterator->key();
        shown.emplace(iterator->key(), iterator->value());
        // None is passed over: the next one follows the last one shown.
        const auto at = expected.find(std::string(iterator->key()));
        forward ? iterator->Next() : iterator->Prev();
        if (!iterator->Valid()) break;
        ASSERT_EQ(iterator->key(), forward ? std::next(at)->first : std::prev(at)->first);
      }
      memory->set_error_hook(nullptr);
      if (reads <= which) {
        ASSERT_EQ(shown, expected);
        break;
      }
      ASSERT_TRUE(absl::IsUnavailable(iterator->status())) << iterator->status();
      failures++;
    }
  }
  EXPECT_GT(failures, 10u);
}

// Compacts with a read error, and gives how many reads there were and whether it succeeded. A disk
// that fails for good fails all later reads as well.
void CompactWithReadError(int which, bool is_for_good, int* num_reads, bool* succeeded) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  memory->set_recording(false);
  Options options = CrashOptions(memory.get());
  options.disable_auto_compactions = true;
  auto db = OpenOrFail(options, "/db");
  for (int i = 0; i < 240; i++) {
    const std::string key = absl::StrCat("key", i % 120);
    ASSERT_TRUE(db->Put(WriteOptions(), key, absl::StrCat("value ", i)).ok());
    if (i % 80 == 79) {
      ASSERT_TRUE(db->Flush().ok());
    }
  }
  std::atomic<int> reads = 0;
  memory->set_error_hook([&](const FileOperation& operation) {
    if (operation.kind != Kind::kRead) return absl::OkStatus();
    const int read = reads++;
    return read == which || (is_for_good && read > which)
               ? absl::UnavailableError("injected I/O error")
               : absl::OkStatus();
  });
  *succeeded = db->CompactRange(std::nullopt, std::nullopt).ok();
  memory->set_error_hook(nullptr);
  *num_reads = reads;
  if (reads <= which) return;
  for (const bool reopen : {false, true}) {
    if (reopen) {
      db->Close().IgnoreError();
      db = OpenOrFail(options, "/db");
    }
    for (int i = 0; i < 120; i++) {
      std::string value;
      ASSERT_TRUE(db->Get(ReadOptions(), absl::StrCat("key", i), &value).ok()) << which;
      ASSERT_EQ(value, absl::StrCat("value ", 120 + i));
    }
    if (reopen) {  // before that, a filter that could not be read is told as a problem
      ASSERT_EQ(VerifyMessages(*db), std::vector<std::string>());
    }
  }
}

// RocksDB once took a read error for the end of a file, and compaction dropped what came after it.
TEST(CrashErrors, NoReadErrorDuringACompactionDropsData) {
  size_t failures = 0;
  for (const bool is_for_good : {false, true}) {
    int num_reads = 1;
    for (int which = 0; which < num_reads; which++) {
      bool succeeded = false;
      CompactWithReadError(which, is_for_good, &num_reads, &succeeded);
      if (HasFatalFailure()) return;
      failures += which < num_reads && !succeeded ? 1 : 0;
    }
  }
  EXPECT_GT(failures, 3u);
}

}  // namespace
}  // namespace winnow
