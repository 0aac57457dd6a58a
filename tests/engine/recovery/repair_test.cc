// Repair: a damaged database opens again, with everything that was not in damaged places, and
// nothing is thrown away.
#include "winnow/repair.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "engine/base/database_mutex.h"
#include "engine/log/log_writer.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"
#include "engine/version/version_set.h"
#include "tests/engine/recovery/repaired_database.h"
#include "tests/support/before_lock.h"
#include "tests/support/damage_database.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_clock.h"

namespace winnow {
namespace {

void ExpectAllAnswers(const Repaired& repaired, const DamageDatabase& database) {
  ASSERT_NE(repaired.db, nullptr);
  size_t errors = 0;
  EXPECT_EQ(WhyAnswersAreWrong(*repaired.db, database, database.All(), &errors), "")
      << Notes(repaired.report);
  EXPECT_EQ(errors, 0u);
}

// Every value found is one that the key once had; the number of keys that are missing.
size_t CountMissing(const Repaired& repaired, const DamageDatabase& database) {
  const Contents all = database.All();
  size_t missing = 0;
  for (ColumnFamily* family : repaired.db->ColumnFamilies()) {
    const auto expected = all.find(family->id());
    EXPECT_NE(expected, all.end());
    if (expected == all.end()) continue;
    for (const auto& [key, value] : expected->second) {
      std::string found;
      const absl::Status got = repaired.db->Get(ReadOptions(), family, key, &found);
      missing += absl::IsNotFound(got) ? 1 : 0;
      EXPECT_TRUE(got.ok() || absl::IsNotFound(got)) << got;
      if (got.ok()) {
        EXPECT_TRUE(found == value || found == database.flushed.at(family->id()).at(key) ||
                    absl::StartsWith(found, "batch "))
            << key << ": " << found;
      }
    }
  }
  return missing;
}

TEST(Repair, ASoundDatabaseKeepsEverything) {
  for (const DatabaseEnd end : {DatabaseEnd::kClosed, DatabaseEnd::kKilled}) {
    const DamageDatabase database = BuildPlainDamageDatabase(end);
    const Repaired repaired = RepairAndOpen(database.files);
    ExpectAllAnswers(repaired, database);
    EXPECT_EQ(Notes(repaired.report), "");
    EXPECT_FALSE(repaired.report.manifest_rebuilt);
    EXPECT_EQ(repaired.report.tables_kept, 4u);
  }
}

TEST(Repair, WithoutCurrentOrManifestAllComesBack) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const std::string manifest = database.NamesWith("MANIFEST-").front();
  for (const std::vector<std::string>& gone :
       {std::vector<std::string>{"CURRENT"}, {manifest}, {"CURRENT", manifest}}) {
    SCOPED_TRACE(absl::StrJoin(gone, ", "));
    Files files = database.files;
    for (const std::string& name : gone) files.erase(name);
    const Repaired repaired = RepairAndOpen(files);
    ExpectAllAnswers(repaired, database);
    EXPECT_EQ(repaired.report.manifest_rebuilt, gone.back() == manifest);
    EXPECT_NE(Notes(repaired.report), "");
  }
}

// Closes it, removes what says how long values live, and opens it again.
void RepairWithoutManifest(MemoryDb& db) {
  ASSERT_TRUE(db->Close().ok());
  db.CloseDb();
  const std::vector<std::string> names = *db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : names) {
    if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST-")) {
      ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
    }
  }
  const auto report = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->manifest_rebuilt);
  db.Reopen();
}

TEST(Repair, WithoutManifestWhatHasExpiredStaysAbsent) {
  TestClock clock;
  Options options = MemoryDb::Quiet();
  options.ttl_seconds = 100;
  options.clock = &clock;
  MemoryDb db(options);
  ColumnFamilyOptions brief = MemoryDb::Quiet();
  brief.ttl_seconds = 10;
  ColumnFamily* family = *db->CreateColumnFamily(brief, "brief");
  ColumnFamily* forever = *db->CreateColumnFamily(MemoryDb::Quiet(), "forever");
  db.options().ttl_seconds = std::nullopt;  // as recorded
  const auto get = [&](std::string_view name) {
    std::string value;
    const absl::Status got = db->Get(ReadOptions(), *db->FindColumnFamily(name), "k", &value);
    return got.ok() ? value : "absent";
  };
  db.Put("k", "v");
  ASSERT_TRUE(db->Put(WriteOptions(), family, "k", "v").ok());
  ASSERT_TRUE(db->Put(WriteOptions(), forever, "k", "v").ok());
  // Without tables nothing would be known of them.
  for (ColumnFamily* each : db->ColumnFamilies()) ASSERT_TRUE(db->Flush(each).ok());
  clock.AdvanceSeconds(50);
  // Something that is there, or the family would be without tables after a repair.
  ASSERT_TRUE(db->Put(WriteOptions(), family, "fresh", "v").ok());
  ASSERT_TRUE(db->Flush(family).ok());
  // The second time the tables are those that the first repair wrote.
  for (int time = 0; time < 2; time++) {
    ASSERT_NO_FATAL_FAILURE(RepairWithoutManifest(db));
    EXPECT_EQ(get("default"), "v");
    EXPECT_EQ(get("brief"), "absent");
    EXPECT_EQ(get("forever"), "v");
  }
  clock.AdvanceSeconds(50);
  EXPECT_EQ(get("default"), "absent");
  EXPECT_EQ(get("forever"), "v");
  // Turned off since: the youngest table says so.
  db.options().ttl_seconds = 0;
  db.Reopen();
  EXPECT_EQ(get("default"), "v");
  db.Put("other", "v");
  db.Flush();
  db.options().ttl_seconds = std::nullopt;
  ASSERT_NO_FATAL_FAILURE(RepairWithoutManifest(db));
  EXPECT_EQ(get("default"), "v");
}

// Until then whoever has the database open goes on writing tables.
TEST(Repair, TablesWrittenBeforeTheLockIsTakenAreKept) {
  const auto disk = NewUnrecordedFileSystem();
  ActingFileSystem acting(disk.get());
  Options options = MemoryDb::Quiet();
  options.file_system = disk.get();
  auto db = OpenOrFail(options, kDirectory);
  ASSERT_TRUE(db->Put(WriteOptions(), "before", "value").ok());
  ASSERT_TRUE(db->Flush().ok());
  acting.before_lock = [&] {
    EXPECT_TRUE(db->Put(WriteOptions(), "meanwhile", "value").ok());
    EXPECT_TRUE(db->Flush().ok());
    EXPECT_TRUE(db->Close().ok());
    db.reset();
  };
  options.file_system = &acting;
  const auto report = RepairDatabase(options, kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Notes(*report), "");
  EXPECT_EQ(report->tables_kept, 2u);
  db = OpenOrFail(options, kDirectory);
  ASSERT_NE(db, nullptr);
  std::string value;
  for (const char* key : {"before", "meanwhile"}) {
    EXPECT_TRUE(db->Get(ReadOptions(), key, &value).ok()) << key;
  }
}

TEST(Repair, AMissingTableCostsWhatItHeld) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  for (const std::string& name : database.NamesWith(".sst")) {
    SCOPED_TRACE(name);
    Files files = database.files;
    files.erase(name);
    EXPECT_FALSE(DB::Open(DamageOptions(Restore(files).get()), kDirectory).ok());
    const Repaired repaired = RepairAndOpen(files);
    ASSERT_NE(repaired.db, nullptr);
    EXPECT_EQ(repaired.report.tables_lost, 1u);
    EXPECT_TRUE(absl::StrContains(Notes(repaired.report), name)) << Notes(repaired.report);
    const size_t missing = CountMissing(repaired, database);
    EXPECT_GT(missing, 0u);
    EXPECT_LE(missing, 30u);
  }
}

TEST(Repair, ADamagedTableKeepsItsOtherBlocks) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  size_t rewritten = 0;
  for (const std::string& name : database.NamesWith(".sst")) {
    for (size_t at = 0; at < database.files.at(name).size(); at += 101) {
      SCOPED_TRACE(absl::StrCat(name, " byte ", at));
      Files files = database.files;
      files[name][at] ^= 0x20;
      const Repaired repaired = RepairAndOpen(files);
      ASSERT_NE(repaired.db, nullptr);
      ASSERT_LE(CountMissing(repaired, database), 30u);
      if (repaired.report.tables_rewritten + repaired.report.tables_lost > 0) {
        EXPECT_TRUE(absl::StrContains(Notes(repaired.report), name)) << Notes(repaired.report);
        const auto kept =
            ReadFile(*repaired.disk, absl::StrCat(kDirectory, "/lost/", name), 1 << 20);
        ASSERT_TRUE(kept.ok()) << kept.status();
        EXPECT_EQ(*kept, files[name]) << "the damaged file itself is not thrown away";
      }
      rewritten += repaired.report.tables_rewritten;
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(rewritten, 10u);
}

TEST(Repair, ADamagedManifestIsRebuiltFromTheTables) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const std::string manifest = database.NamesWith("MANIFEST-").front();
  for (size_t at = 0; at < database.files.at(manifest).size(); at += 17) {
    SCOPED_TRACE(absl::StrCat("byte ", at));
    Files files = database.files;
    files[manifest][at] ^= 0x20;
    const Repaired repaired = RepairAndOpen(files);
    ExpectAllAnswers(repaired, database);
    if (HasFatalFailure()) return;
  }
}

// A manifest whose checksums are right, and which no opening takes: which table is the newer one
// has to come from the entries.
TEST(Repair, AManifestThatHasNoOrderIsRebuiltFromTheTables) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const std::vector<void (*)(FamilyEdit::AddedFile*)> ways = {
      [](FamilyEdit::AddedFile* added) { added->file.epoch_number = 0; },
      [](FamilyEdit::AddedFile* added) {
        *added = {0, added->file}, added->file.epoch_number = 7;
      },
      [](FamilyEdit::AddedFile* added) { added->level = 3; },
      [](FamilyEdit::AddedFile* added) { std::swap(added->file.smallest, added->file.largest); },
  };
  for (size_t way = 0; way < ways.size(); way++) {
    SCOPED_TRACE(absl::StrCat("way ", way));
    const auto disk = Restore(database.files);
    const uint64_t number = *ReadCurrentFile(*disk, kDirectory);
    DatabaseMutex mutex;
    auto readable = [&]() {
      DatabaseLock lock(&mutex);
      return VersionSet({disk.get(), kDirectory, nullptr}, &mutex)
          .ReadState(ManifestFileName(kDirectory, number), number);
    }();
    ASSERT_TRUE(readable.ok()) << readable.status();
    for (FamilyEdit& family : readable->state.families) {
      for (FamilyEdit::AddedFile& added : family.added) ways[way](&added);
    }
    ASSERT_TRUE(WriteManifest(*disk, kDirectory, number, readable->state).ok());
    const absl::Status opened = DB::Open(DamageOptions(disk.get()), kDirectory).status();
    EXPECT_TRUE(absl::IsDataLoss(opened)) << opened;
    Files files = database.files;
    files[absl::StrFormat("MANIFEST-%06d", number)] =
        *ReadFile(*disk, ManifestFileName(kDirectory, number), 1 << 20);
    const Repaired repaired = RepairAndOpen(files);
    ExpectAllAnswers(repaired, database);
    EXPECT_TRUE(repaired.report.manifest_rebuilt);
    EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "does not say which of its SSTables"))
        << Notes(repaired.report);
    if (HasFailure()) return;
  }
}

// A repair once refused these: the log said another number than its name, and no mode took it.
TEST(Repair, ALogUnderAnotherNameIsReplayedAsTheOneItIs) {
  for (const DatabaseEnd end : {DatabaseEnd::kClosed, DatabaseEnd::kKilled}) {
    const DamageDatabase database = BuildPlainDamageDatabase(end);
    const std::string log = database.NamesWith(".log").back();
    Files files = database.files;
    files["000777.log"] = files.at(log);
    files.erase(log);
    const Repaired repaired = RepairAndOpen(files);
    ExpectAllAnswers(repaired, database);
    EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "000777.log: is log "))
        << Notes(repaired.report);
  }
}

TEST(Repair, ACopyOfALogUnderAnotherNameIsNotReplayedTwice) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kKilled);
  const std::string log = database.NamesWith(".log").back();
  Files files = database.files;
  files["000777.log"] = files.at(log);
  const Repaired repaired = RepairAndOpen(files);
  ExpectAllAnswers(repaired, database);
  EXPECT_EQ(*ReadFile(*repaired.disk, "/db/lost/000777.log", 1 << 20), files.at(log));
}

TEST(Repair, ACopyOfALogThatHasLostItsEndIsReplayedInItsPlace) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const std::string log = database.NamesWith(".log").back();
  Files files = database.files;
  files["000777.log"] = files.at(log);
  files[log].resize(files[log].size() * 2 / 3);
  const std::string cut = files[log];
  const Repaired repaired = RepairAndOpen(files);
  ExpectAllAnswers(repaired, database);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "there is a copy with more records"))
      << Notes(repaired.report);
  EXPECT_EQ(*ReadFile(*repaired.disk, absl::StrCat("/db/lost/", log), 1 << 20), cut);
}

// The log of a database that has given out more numbers, or a manifest: both have the header of a
// log, with a number that no log of this database has.
TEST(Repair, AForeignFileInTheLogsPlaceCostsNoMoreThanTheLog) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const std::string log = database.NamesWith(".log").back();
  const std::string manifest = database.NamesWith("MANIFEST-").back();
  const auto other = NewUnrecordedFileSystem();
  ASSERT_TRUE(other->CreateDirectories("/db").ok());
  auto writer = *LogWriter::Create(*other, "/db/log", 4711, WritableFileOptions::Mode::kBuffered);
  ASSERT_TRUE(writer->Append("foreign").ok() && writer->CloseCleanly().ok());
  for (const std::string& bytes :
       {*ReadFile(*other, "/db/log", 1 << 20), database.files.at(manifest)}) {
    Files files = database.files;
    files[log] = bytes;
    const auto refused = DB::Open(DamageOptions(Restore(files).get()), kDirectory);
    EXPECT_TRUE(absl::StrContains(refused.status().message(), "winnow repair"));
    const Repaired repaired = RepairAndOpen(files);
    ASSERT_NE(repaired.db, nullptr);
    size_t errors = 0;
    EXPECT_EQ(WhyAnswersAreWrong(*repaired.db, database, database.flushed, &errors), "");
    EXPECT_TRUE(absl::StrContains(Notes(repaired.report), absl::StrCat("/db/lost/", log)))
        << Notes(repaired.report);
    EXPECT_EQ(*ReadFile(*repaired.disk, absl::StrCat("/db/lost/", log), 1 << 20), bytes);
  }
}

TEST(Repair, WhatLiesBehindDamageOfAClosedLogComesBack) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const std::string log = database.NamesWith(".log").back();
  Files files = database.files;
  files[log][files[log].size() / 2] ^= 1;
  for (const bool read_only : {false, true}) {
    Options options = DamageOptions(nullptr);
    const auto disk = Restore(files);
    options.file_system = disk.get();
    options.read_only = read_only;
    const absl::Status refused = DB::Open(options, kDirectory).status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    for (const char* text : {"the database was closed", "winnow repair", "salvage"}) {
      EXPECT_TRUE(absl::StrContains(refused.message(), text)) << refused;
    }
  }
  const Repaired repaired = RepairAndOpen(files);
  ASSERT_NE(repaired.db, nullptr);
  std::string value;
  size_t lost = 0;
  for (size_t i = 0; i < database.logged.size(); i++) {
    lost += repaired.db->Get(ReadOptions(), absl::StrCat("logged", i), &value).ok() ? 0 : 1;
  }
  EXPECT_EQ(lost, 1u);
}

// No flush ends, so that no edit names the second log or a later one.
Files FilesOfAClosedDatabaseInLogs(int num_puts) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  FaultFileSystem faults(memory.get(), 1);
  faults.Add(FaultRule::Error(InjectedFullDisk()).On({FileOperation::Kind::kAppend}, "*.sst"));
  Options options = DamageOptions(&faults);
  options.max_write_buffers = 4;
  auto db = OpenOrFail(options, kDirectory);
  const std::string value(1000, 'v');
  for (int i = 0; i < num_puts; i++) {
    EXPECT_TRUE(db->Put(WriteOptions(), absl::StrCat("key", i), value).ok());
  }
  db->Close().IgnoreError();  // the flushes that failed
  db.reset();
  return FilesOn(*memory);
}

// Nothing lies behind the newest log that could tell of it: once all passed for sound.
TEST(Repair, TheNewestLogOfAClosedDatabaseIsMissed) {
  const Files files = FilesOfAClosedDatabaseInLogs(/*num_puts=*/100);
  const std::vector<std::string> logs = NamesOf(files, ".log");
  ASSERT_EQ(logs.size(), 2u);
  Files without = files;
  without.erase(logs.back());
  for (const RecoveryMode mode : {RecoveryMode::kStrict, RecoveryMode::kPointInTime}) {
    const auto disk = Restore(without);
    Options options = DamageOptions(disk.get());
    options.recovery_mode = mode;
    const absl::Status refused = DB::Open(options, kDirectory).status();
    EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), logs.back())) << refused;
    EXPECT_TRUE(absl::StrContains(refused.message(), "winnow repair")) << refused;
  }
  const Repaired repaired = RepairAndOpen(without);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), logs.back())) << Notes(repaired.report);
  EXPECT_EQ(Notes(RepairAndOpen(files).report), "");
}

// By the family that needs it, and not once more as the newest.
TEST(Repair, AMissingLogIsNamedOnce) {
  Files files = FilesOfAClosedDatabaseInLogs(/*num_puts=*/10);
  const std::vector<std::string> logs = NamesOf(files, ".log");
  ASSERT_EQ(logs.size(), 1u);
  files.erase(logs[0]);
  const Repaired repaired = RepairAndOpen(files);
  const std::vector<std::string>& notes = repaired.report.notes;
  EXPECT_EQ(
      std::count_if(notes.begin(), notes.end(),
                    [&](const std::string& note) { return absl::StrContains(note, logs[0]); }),
      1)
      << Notes(repaired.report);
}

// The log behind it says how much it held. Once "nothing to repair: 0 lost".
TEST(Repair, ALogMissingBetweenOthersIsNamed) {
  Files files = FilesOfAClosedDatabaseInLogs(/*num_puts=*/160);
  const std::vector<std::string> logs = NamesOf(files, ".log");
  ASSERT_EQ(logs.size(), 3u);
  files.erase(logs[1]);
  const Repaired repaired = RepairAndOpen(files);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), absl::StrCat(logs[1], ": had ")))
      << Notes(repaired.report);
}

TEST(Repair, RepairingTwiceChangesNothingMore) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  Files files = database.files;
  files[database.NamesWith(".sst").front()][10] ^= 1;
  Repaired repaired = RepairAndOpen(files);
  ASSERT_NE(repaired.db, nullptr);
  const size_t missing = CountMissing(repaired, database);
  repaired.db.reset();
  const Options options = DamageOptions(repaired.disk.get());
  const auto again = RepairDatabase(options, kDirectory);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(Notes(*again), "");
  repaired.db = OpenOrFail(options, kDirectory);
  EXPECT_EQ(CountMissing(repaired, database), missing);
}

// An I/O error that passes, a full disk, no file descriptors: a sound table once counted as lost
// for want of any of them.
TEST(Repair, AnErrorThatPassesCostsNothing) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  Files without_manifest = database.files;
  without_manifest.erase(database.NamesWith("MANIFEST-").front());
  const FaultRule no_descriptor =
      FaultRule::Error(InjectedDescriptorLimit()).On({FileOperation::Kind::kOpenForReading});
  size_t failures = 0;
  for (const Files& files : {database.files, without_manifest}) {
    for (const FaultRule& rule : {FaultRule::Error(InjectedIoError()).From(0, 1),
                                  FaultRule::Error(InjectedFullDisk()).From(0, 1), no_descriptor}) {
      for (uint64_t which = 0;; which += LongTests() ? 1 : 3) {
        SCOPED_TRACE(absl::StrCat("operation ", which, ": ", rule.error.ToString()));
        const auto disk = Restore(files);
        FaultFileSystem faults(disk.get(), 1);
        const size_t added = faults.Add(rule.From(which, rule.count));
        const auto first = RepairDatabase(DamageOptions(&faults), kDirectory);
        if (faults.fired(added) == 0) break;
        faults.Clear();
        failures += first.ok() ? 0 : 1;
        if (!first.ok()) {
          const auto second = RepairDatabase(DamageOptions(disk.get()), kDirectory);
          ASSERT_TRUE(second.ok()) << second.status();
        }
        const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
        ASSERT_NE(db, nullptr);
        size_t errors = 0;
        ASSERT_EQ(WhyAnswersAreWrong(*db, database, database.All(), &errors), "");
        ASSERT_EQ(errors, 0u);
      }
    }
  }
  EXPECT_GT(failures, 50u);
}

// What may not be read may be sound, and the rest would be a database without it.
TEST(Repair, AFileThatMayNotBeReadEndsIt) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  for (const char* part : {"CURRENT", "MANIFEST-", ".sst", ".log"}) {
    const std::string name = database.NamesWith(part).front();
    SCOPED_TRACE(name);
    const auto disk = Restore(database.files);
    FaultFileSystem faults(disk.get(), 1);
    faults.Add(FaultRule::Error(absl::PermissionDeniedError("injected: Permission denied"))
                   .On({FileOperation::Kind::kOpenForReading}, absl::StrCat("*/", name)));
    const absl::Status ended = RepairDatabase(DamageOptions(&faults), kDirectory).status();
    EXPECT_TRUE(absl::IsPermissionDenied(ended)) << ended;
    const auto report = RepairDatabase(DamageOptions(disk.get()), kDirectory);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(Notes(*report), "") << "nothing was changed";
  }
}

// Beside it each further try would leave another one.
TEST(Repair, ADiskThatIsFullLeavesNoPartOfALogInLost) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kKilled);
  const std::string log = database.NamesWith(".log").back();
  Files files = database.files;
  files[log][kLogFileHeaderBytes + kLogRecordHeaderBytes] ^= 1;
  const auto disk = Restore(files);
  FaultFileSystem faults(disk.get(), 1);
  const size_t full = faults.Add(
      FaultRule::Error(InjectedFullDisk()).On({FileOperation::Kind::kSync}, "/db/lost/*"));
  EXPECT_TRUE(
      absl::IsResourceExhausted(RepairDatabase(DamageOptions(&faults), kDirectory).status()));
  EXPECT_EQ(faults.fired(full), 1u);
  EXPECT_TRUE(disk->List("/db/lost")->empty());
  faults.Clear();
  const auto report = RepairDatabase(DamageOptions(&faults), kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(*disk->List("/db/lost"), std::vector<std::string>{log}) << Notes(*report);
}

TEST(Repair, ATableWithVeryManyDamagedBlocksGetsABoundedNumberOfNotes) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  Options options = DamageOptions(disk.get());
  options.block_bytes = 256;
  options.compression = Compression::kNone;
  options.write_buffer_bytes = size_t{4} << 20;  // one table
  {
    const auto db = OpenOrFail(options, kDirectory);
    for (int i = 0; i < 4000; i++) {
      ASSERT_TRUE(
          db->Put(WriteOptions(), absl::StrCat("key", 10000 + i), std::string(100, 'v')).ok());
    }
    ASSERT_TRUE(db->Flush().ok());
  }
  Files files = FilesOn(*disk);
  std::string& table = files.at(NamesOf(files, ".sst").front());
  // Filter and index lie behind the data.
  for (size_t at = 300; at < table.size() / 2; at += 200) table[at] ^= 1;
  const Repaired repaired = RepairAndOpen(files);
  EXPECT_EQ(repaired.report.tables_rewritten, 1u);
  EXPECT_GT(repaired.report.notes.size(), 100u);
  EXPECT_LT(repaired.report.notes.size(), 250u);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), " more\n")) << Notes(repaired.report);
}

TEST(Repair, RefusesWhatIsNotADatabaseOrIsOpen) {
  const DamageDatabase database = BuildPlainDamageDatabase(DatabaseEnd::kClosed);
  const auto disk = Restore(database.files);
  const Options options = DamageOptions(disk.get());
  EXPECT_TRUE(absl::IsNotFound(RepairDatabase(options, "/nowhere").status()));
  const auto db = OpenOrFail(options, kDirectory);
  EXPECT_TRUE(absl::IsFailedPrecondition(RepairDatabase(options, kDirectory).status()));
}

}  // namespace
}  // namespace winnow
