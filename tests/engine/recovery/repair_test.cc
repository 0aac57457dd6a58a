// Repair: a damaged database opens again, with everything that was not in damaged places, and
// nothing is thrown away.
#include "winnow/repair.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/support/damage_database.h"
#include "tests/support/db_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

constexpr char kDirectory[] = "/db";

struct Repaired {
  std::unique_ptr<RecordingFileSystem> disk;
  RepairReport report;
  std::unique_ptr<DB> db;
};

Repaired RepairAndOpen(const Files& files) {
  Repaired repaired;
  repaired.disk = Restore(files);
  const Options options = DamageOptions(repaired.disk.get());
  auto report = RepairDatabase(options, kDirectory);
  EXPECT_TRUE(report.ok()) << report.status();
  if (!report.ok()) return repaired;
  repaired.report = *std::move(report);
  repaired.db = OpenOrFail(options, kDirectory);
  if (repaired.db != nullptr) {
    EXPECT_TRUE(VerifyMessages(*repaired.db).empty());
    EXPECT_TRUE(repaired.db->Put(WriteOptions(), "new", "write").ok());
    EXPECT_TRUE(repaired.db->Delete(WriteOptions(), "new").ok());
  }
  return repaired;
}

std::string Notes(const RepairReport& report) { return absl::StrJoin(report.notes, "\n"); }

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
    const DamageDatabase database = BuildDamageDatabase(end);
    const Repaired repaired = RepairAndOpen(database.files);
    ExpectAllAnswers(repaired, database);
    EXPECT_EQ(Notes(repaired.report), "");
    EXPECT_FALSE(repaired.report.manifest_rebuilt);
    EXPECT_EQ(repaired.report.tables_kept, 4u);
  }
}

TEST(Repair, WithoutCurrentOrManifestAllComesBack) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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

TEST(Repair, AMissingTableCostsWhatItHeld) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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

TEST(Repair, RepairingTwiceChangesNothingMore) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
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

// Tables on two levels with deletions and overwritten values, and what lay in the directory before
// the last of them were written.
struct GrownDatabase {
  Files early;
  Files late;  // of its tables none was replaced since
  Files files;
  std::map<std::string, std::string> contents;
};

void WriteRound(DB& db, int round, std::map<std::string, std::string>* contents) {
  for (int i = 0; i < 100; i++) {
    const std::string key = absl::StrCat("key", 1000 + i * 7 % 100 + round * 40);
    if (i % 5 == round % 5) {
      ASSERT_TRUE(db.Delete(WriteOptions(), key).ok());
      contents->erase(key);
    } else {
      const std::string value = absl::StrCat("round ", round, " ", i);
      ASSERT_TRUE(db.Put(WriteOptions(), key, value).ok());
      (*contents)[key] = value;
    }
  }
  ASSERT_TRUE(db.Flush().ok());
}

GrownDatabase Grow(const Options& given = DamageOptions(nullptr)) {
  GrownDatabase grown;
  const auto disk = std::make_unique<RecordingFileSystem>();
  Options options = given;
  options.file_system = disk.get();
  const auto db = OpenOrFail(options, kDirectory);
  for (int round = 0; round < 8; round++) {
    WriteRound(*db, round, &grown.contents);
    if (round == 2) grown.early = FilesOn(*disk);
    if (round == 4) grown.late = FilesOn(*disk);
    if (round == 3) {
      EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
    }
  }
  EXPECT_TRUE(db->Close().ok());
  grown.files = FilesOn(*disk);
  return grown;
}

std::vector<std::string> NamesOf(const Files& files, const std::string& part) {
  std::vector<std::string> names;
  for (const auto& [name, bytes] : files) {
    if (absl::StrContains(name, part)) names.push_back(name);
  }
  return names;
}

void ExpectContents(const Repaired& repaired, const std::map<std::string, std::string>& contents) {
  ASSERT_NE(repaired.db, nullptr);
  std::map<std::string, std::string> found;
  const auto iterator = repaired.db->NewIterator(ReadOptions());
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    found[std::string(iterator->key())] = std::string(iterator->value());
  }
  EXPECT_TRUE(iterator->status().ok()) << iterator->status();
  EXPECT_EQ(found, contents) << Notes(repaired.report);
}

// Once "1 SSTable kept, 0 lost", and the tables that the old manifest did not name were orphans.
TEST(Repair, AnOlderManifestPutBackLosesNoTable) {
  const GrownDatabase grown = Grow();
  for (const bool newest_is_there : {true, false}) {
    SCOPED_TRACE(newest_is_there);
    Files files = grown.files;
    if (!newest_is_there) files.erase(NamesOf(files, "MANIFEST-").front());
    files["CURRENT"] = grown.early.at("CURRENT");
    const std::string manifest = NamesOf(grown.early, "MANIFEST-").front();
    const std::string put_back = newest_is_there ? "MANIFEST-000002.orphan" : manifest;
    files[put_back] = grown.early.at(manifest);
    const Repaired repaired = RepairAndOpen(files);
    ExpectContents(repaired, grown.contents);
    EXPECT_EQ(repaired.report.tables_lost, 0u);
  }
}

TEST(Repair, AManifestCutAnywhereLosesNoTable) {
  const GrownDatabase grown = Grow();
  const std::string manifest = NamesOf(grown.files, "MANIFEST-").front();
  for (size_t length = 0; length < grown.files.at(manifest).size(); length += 23) {
    SCOPED_TRACE(length);
    Files files = grown.files;
    files[manifest].resize(length);
    const Repaired repaired = RepairAndOpen(files);
    ExpectContents(repaired, grown.contents);
    EXPECT_EQ(repaired.report.tables_lost, 0u);
    if (HasFailure()) return;
  }
}

TEST(Repair, AManifestOfAnotherDatabaseIsNotBelieved) {
  const GrownDatabase grown = Grow();
  const GrownDatabase other = Grow();
  Files files = other.files;
  for (const std::string& name : NamesOf(files, ".sst")) files.erase(name);
  for (const auto& [name, bytes] : grown.files) {
    if (absl::EndsWith(name, ".sst") || absl::EndsWith(name, ".log")) files[name] = bytes;
  }
  ExpectContents(RepairAndOpen(files), grown.contents);
}

// A table of another database is sound, and wrong here.
TEST(Repair, TablesOfAnotherDatabaseAreSetAside) {
  const GrownDatabase grown = Grow();
  const GrownDatabase other = Grow();
  const std::string table = NamesOf(other.files, ".sst").back();
  Files files = grown.files;
  files["000900.sst"] = other.files.at(table);
  Repaired repaired = RepairAndOpen(files);
  ExpectContents(repaired, grown.contents);
  EXPECT_EQ(repaired.report.tables_set_aside, 1u);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "000900.sst: belongs to another database"));
  EXPECT_TRUE(repaired.disk->Exists("/db/lost/000900.sst").value_or(false));
}

TEST(Repair, TablesAreKnownByTheirIdentitiesWhateverTheirNames) {
  const GrownDatabase grown = Grow();
  const std::vector<std::string> tables = NamesOf(grown.files, ".sst");
  ASSERT_GE(tables.size(), 3u);
  Files files = grown.files;
  std::swap(files[tables[0]], files[tables[1]]);
  files["000777.sst"] = files[tables[2]];
  files.erase(tables[2]);
  const Repaired repaired = RepairAndOpen(files);
  ExpectContents(repaired, grown.contents);
  EXPECT_EQ(repaired.report.tables_kept, tables.size());
  EXPECT_EQ(repaired.report.tables_lost + repaired.report.tables_rewritten, 0u);
}

// Once the whole table was lost, though every block of it was sound.
TEST(Repair, BytesBehindOrBeforeATableOrMissingAtItsEndCostNoBlock) {
  Options packed = DamageOptions(nullptr);
  packed.compression = Compression::kLz4;
  for (const Options& options : {DamageOptions(nullptr), packed}) {
    const GrownDatabase grown = Grow(options);
    for (const std::string& name : NamesOf(grown.files, ".sst")) {
      for (const int change : {1, 4096, -1, -17, -127, -128, -129, -700}) {
        for (const bool at_front : {false, true}) {
          if (at_front && change < 0) continue;  // takes a block
          SCOPED_TRACE(absl::StrCat(name, " ", change, at_front ? " before" : ""));
          Files files = grown.files;
          std::string& bytes = files[name];
          if (change < 0) {
            bytes.resize(bytes.size() - static_cast<size_t>(-change));
          } else {
            bytes.insert(at_front ? 0 : bytes.size(), static_cast<size_t>(change), '?');
          }
          const Repaired repaired = RepairAndOpen(files);
          ExpectContents(repaired, grown.contents);
          EXPECT_EQ(repaired.report.tables_rewritten, 1u);
          EXPECT_EQ(repaired.report.tables_lost, 0u);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// An opening in mode salvage renames what an old manifest does not know.
TEST(Repair, TakesBackWhatSalvageMadeOrphans) {
  const GrownDatabase grown = Grow();
  Files files = grown.files;
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  for (const auto& [name, bytes] : grown.late) {
    if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST-")) files[name] = bytes;
  }
  const auto disk = Restore(files);
  Options options = DamageOptions(disk.get());
  options.recovery_mode = RecoveryMode::kSalvage;
  auto salvaged = OpenOrFail(options, kDirectory);
  ASSERT_NE(salvaged, nullptr);
  ASSERT_TRUE(salvaged->Close().ok());
  salvaged.reset();
  const std::vector<std::string> names = *disk->List(kDirectory);
  const auto is_orphan = [](const std::string& name) {
    return absl::EndsWith(name, ".sst.orphan");
  };
  ASSERT_GT(std::count_if(names.begin(), names.end(), is_orphan), 1);
  const auto report = RepairDatabase(DamageOptions(disk.get()), kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
  for (const auto& [key, value] : grown.contents) {
    std::string found;
    ASSERT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key << Notes(*report);
    ASSERT_EQ(found, value) << key;
  }
}

// Once "filter spec '': unknown kind ''", for every later opening and repair too.
TEST(Repair, WithoutManifestAndWithoutTablesOfDefaultItOpens) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  {
    const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    ASSERT_TRUE(db->Put(WriteOptions(), "in the log", "1").ok());
    const auto family = db->CreateColumnFamily(DamageOptions(disk.get()), "named");
    ASSERT_TRUE(family.ok());
    ASSERT_TRUE(db->Put(WriteOptions(), *family, "in a table", "2").ok());
    ASSERT_TRUE(db->Flush(*family).ok());
  }
  for (const bool with_tables : {true, false}) {
    Files files = FilesOn(*disk);
    for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
    for (const std::string& name : NamesOf(files, ".sst")) {
      if (!with_tables) files.erase(name);
    }
    const Repaired repaired = RepairAndOpen(files);
    ASSERT_NE(repaired.db, nullptr);
    std::string value;
    EXPECT_TRUE(repaired.db->Get(ReadOptions(), "in the log", &value).ok());
    EXPECT_EQ(repaired.db->ColumnFamilies().size(), with_tables ? 2u : 1u);
  }
}

// A log that had been flushed long ago comes back, and no manifest says so.
TEST(Repair, AnOldLogDoesNotHideNewerTables) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  Files old;
  {
    const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    ASSERT_TRUE(db->Put(WriteOptions(), "key", "old").ok());
    old = FilesOn(*disk);
    ASSERT_TRUE(db->Put(WriteOptions(), "key", "new").ok());
    ASSERT_TRUE(db->Flush().ok());
  }
  Files files = FilesOn(*disk);
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  for (const std::string& name : NamesOf(files, ".log")) files.erase(name);
  const std::string log = NamesOf(old, ".log").front();
  files[log] = old.at(log);
  ExpectContents(RepairAndOpen(files), {{"key", "new"}});
}

TEST(Repair, RefusesWhatIsNotADatabaseOrIsOpen) {
  const DamageDatabase database = BuildDamageDatabase(DatabaseEnd::kClosed);
  const auto disk = Restore(database.files);
  const Options options = DamageOptions(disk.get());
  EXPECT_TRUE(absl::IsNotFound(RepairDatabase(options, "/nowhere").status()));
  const auto db = OpenOrFail(options, kDirectory);
  EXPECT_TRUE(absl::IsFailedPrecondition(RepairDatabase(options, kDirectory).status()));
}

}  // namespace
}  // namespace winnow
