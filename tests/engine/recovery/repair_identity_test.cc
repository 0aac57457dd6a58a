// Repair believes what is in files, not their names, their sizes or an old manifest.
#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/recovery/repaired_database.h"

namespace winnow {
namespace {

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
TEST(RepairIdentity, AnOlderManifestPutBackLosesNoTable) {
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

// The log that the old manifest needs is gone, and the family goes on with the next one that is
// there: by its own number, whatever its name. By its name it once counted as one that nothing
// needs.
TEST(RepairIdentity, BesideAnOlderManifestAMisnamedLogIsReplayed) {
  const GrownDatabase grown = Grow();
  Files files = grown.files;
  files.erase(NamesOf(files, "MANIFEST-").front());
  files["CURRENT"] = grown.early.at("CURRENT");
  const std::string manifest = NamesOf(grown.early, "MANIFEST-").front();
  files[manifest] = grown.early.at(manifest);
  const std::string log = NamesOf(files, ".log").back();
  EXPECT_FALSE(grown.early.contains(log));
  files["000777.log"] = files.at(log);
  files.erase(log);
  const Repaired repaired = RepairAndOpen(files);
  ExpectContents(repaired, grown.contents);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "000777.log: is log "))
      << Notes(repaired.report);
}

// A block that one copy has lost is sound in the other.
TEST(RepairIdentity, CopiesOfATableThatAreDamagedInDifferentPlacesAreRepairedTogether) {
  const GrownDatabase grown = Grow();
  for (const std::string& name : NamesOf(grown.files, ".sst")) {
    const std::string& bytes = grown.files.at(name);
    Files files = grown.files;
    files[name][bytes.size() / 4] ^= 1;
    files["009999.sst"] = bytes;
    files["009999.sst"][bytes.size() / 2] ^= 1;
    for (const bool with_manifest : {true, false}) {
      SCOPED_TRACE(absl::StrCat(name, with_manifest ? "" : ", no manifest"));
      if (!with_manifest) {
        for (const std::string& manifest : NamesOf(files, "MANIFEST-")) files.erase(manifest);
      }
      const Repaired repaired = RepairAndOpen(files);
      ExpectContents(repaired, grown.contents);
      EXPECT_EQ(repaired.report.tables_lost, 0u);
    }
  }
}

// Whichever of them has the name that the manifest knows.
TEST(RepairIdentity, ASoundCopyTakesThePlaceOfADamagedTable) {
  const GrownDatabase grown = Grow();
  for (const std::string& name : NamesOf(grown.files, ".sst")) {
    SCOPED_TRACE(name);
    Files files = grown.files;
    files["009999.sst"] = grown.files.at(name);
    files[name][files[name].size() / 4] ^= 1;
    const Repaired repaired = RepairAndOpen(files);
    ExpectContents(repaired, grown.contents);
    EXPECT_EQ(repaired.report.tables_lost, 0u);
    EXPECT_EQ(repaired.report.tables_rewritten, 0u) << Notes(repaired.report);
    EXPECT_NE(Notes(repaired.report).find("009999.sst: is SSTable"), std::string::npos)
        << Notes(repaired.report);
  }
}

TEST(RepairIdentity, AManifestCutAnywhereLosesNoTable) {
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

TEST(RepairIdentity, AManifestOfAnotherDatabaseIsNotBelieved) {
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
TEST(RepairIdentity, TablesOfAnotherDatabaseAreSetAside) {
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

TEST(RepairIdentity, TablesAreKnownByTheirIdentitiesWhateverTheirNames) {
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

// An opening removes what the manifest does not name: not what it names, under another name.
TEST(RepairIdentity, AnOpeningBeforeTheRepairRemovesNoTableUnderAnotherName) {
  const GrownDatabase grown = Grow();
  const GrownDatabase other = Grow();
  for (const std::string& name : NamesOf(grown.files, ".sst")) {
    SCOPED_TRACE(name);
    Files files = grown.files;
    files["009999.sst"] = grown.files.at(name);
    files[name] = other.files.at(NamesOf(other.files, ".sst").front());
    // What a crash leaves is removed all the same.
    files["009998.sst"] = "half a table";
    const auto disk = Restore(files);
    disk->set_recording(false);
    ASSERT_NE(OpenOrFail(DamageOptions(disk.get()), kDirectory), nullptr);
    EXPECT_FALSE(*disk->Exists("/db/009998.sst"));
    EXPECT_FALSE(*disk->Exists("/db/009998.sst.orphan"));
    const auto report = RepairDatabase(DamageOptions(disk.get()), kDirectory);
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->tables_lost, 0u);
    Repaired repaired;
    repaired.report = *report;
    repaired.db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    ExpectContents(repaired, grown.contents);
  }
}

// Once the whole table was lost, though every block of it was sound.
TEST(RepairIdentity, BytesBehindOrBeforeATableOrMissingAtItsEndCostNoBlock) {
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

// The identity stood at the end alone: without a manifest the whole table was lost.
TEST(RepairIdentity, WithoutManifestATableThatLostItsEndIsKnownByItsHeader) {
  const GrownDatabase grown = Grow();
  Files without_manifest = grown.files;
  for (const std::string& name : NamesOf(grown.files, "MANIFEST-")) without_manifest.erase(name);
  for (const std::string& name : NamesOf(grown.files, ".sst")) {
    for (const size_t cut : {129, 137, 300, 700}) {
      SCOPED_TRACE(absl::StrCat(name, " ", cut));
      Files files = without_manifest;
      files[name].resize(files[name].size() - cut);
      const Repaired repaired = RepairAndOpen(files);
      ExpectContents(repaired, grown.contents);
      EXPECT_EQ(repaired.report.tables_lost, 0u);
      if (HasFailure()) return;
    }
  }
}

// The stored table's end was taken for that of the one that it is stored in, and its identity too.
TEST(RepairIdentity, ATableThatIsAValueIsNotTakenForTheOneThatHoldsIt) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  Options options = DamageOptions(disk.get());
  options.compression = Compression::kNone;
  std::map<std::string, std::string> contents;
  {
    const auto db = OpenOrFail(options, kDirectory);
    WriteRound(*db, 0, &contents);
    const Files inner = FilesOn(*disk);
    contents["a"] = "before";
    contents["b"] = inner.at(NamesOf(inner, ".sst").front());
    contents["c"] = "behind";
    for (const char* key : {"a", "b", "c"}) {
      ASSERT_TRUE(db->Put(WriteOptions(), key, contents[key]).ok());
    }
    ASSERT_TRUE(db->Flush().ok());
    ASSERT_TRUE(db->Close().ok());
  }
  const Files whole = FilesOn(*disk);
  ASSERT_EQ(NamesOf(whole, ".sst").size(), 2u);
  const std::string name = NamesOf(whole, ".sst").back();
  for (const size_t cut : {128, 700}) {
    for (const bool with_manifest : {true, false}) {
      SCOPED_TRACE(absl::StrCat(cut, " bytes", with_manifest ? "" : ", no manifest"));
      Files files = whole;
      files[name].resize(files[name].size() - cut);
      if (!with_manifest) {
        for (const std::string& manifest : NamesOf(files, "MANIFEST-")) files.erase(manifest);
      }
      const Repaired repaired = RepairAndOpen(files);
      ExpectContents(repaired, contents);
      EXPECT_EQ(repaired.report.tables_lost, 0u);
    }
  }
}

TEST(RepairIdentity, AHeaderSaysWhichFamilyATableWithoutEndBelongsTo) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  {
    const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    const auto family = db->CreateColumnFamily(DamageOptions(disk.get()), "named");
    ASSERT_TRUE(family.ok());
    ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "value").ok());
    ASSERT_TRUE(db->Flush(*family).ok());
  }
  Files files = FilesOn(*disk);
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  std::string& table = files[NamesOf(files, ".sst").front()];
  table.resize(table.size() - 500);
  const Repaired repaired = RepairAndOpen(files);
  ASSERT_NE(repaired.db, nullptr);
  const auto named = repaired.db->FindColumnFamily("named");
  ASSERT_TRUE(named.ok()) << named.status() << Notes(repaired.report);
  std::string value;
  EXPECT_TRUE(repaired.db->Get(ReadOptions(), *named, "key", &value).ok())
      << Notes(repaired.report);
}

std::unique_ptr<RecordingFileSystem> RestoreUnderOlderManifest(const GrownDatabase& grown) {
  Files files = grown.files;
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  for (const auto& [name, bytes] : grown.late) {
    if (name == "CURRENT" || absl::StartsWith(name, "MANIFEST-")) files[name] = bytes;
  }
  return Restore(files);
}

std::unique_ptr<DB> OpenSalvaging(RecordingFileSystem* disk) {
  Options options = DamageOptions(disk);
  options.recovery_mode = RecoveryMode::kSalvage;
  return OpenOrFail(options, kDirectory);
}

// An opening in mode salvage renames what an old manifest does not know.
TEST(RepairIdentity, TakesBackWhatSalvageMadeOrphans) {
  const GrownDatabase grown = Grow();
  const auto disk = RestoreUnderOlderManifest(grown);
  auto salvaged = OpenSalvaging(disk.get());
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

// Their entries once were newer, by number, than what was written after the salvage.
TEST(RepairIdentity, WhatIsWrittenAfterASalvageIsNewerThanItsOrphans) {
  const GrownDatabase grown = Grow();
  const auto disk = RestoreUnderOlderManifest(grown);
  auto salvaged = OpenSalvaging(disk.get());
  ASSERT_NE(salvaged, nullptr);
  for (const auto& [key, value] : grown.contents) {
    ASSERT_TRUE(salvaged->Put(WriteOptions(), key, "after the salvage").ok());
  }
  ASSERT_TRUE(salvaged->Close().ok());
  salvaged.reset();
  const auto report = RepairDatabase(DamageOptions(disk.get()), kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_GT(report->tables_kept, 1u);
  const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
  for (const auto& [key, value] : grown.contents) {
    std::string found;
    ASSERT_TRUE(db->Get(ReadOptions(), key, &found).ok()) << key << Notes(*report);
    ASSERT_EQ(found, "after the salvage") << key;
  }
}

// Once "filter spec '': unknown kind ''", for every later opening and repair too.
TEST(RepairIdentity, WithoutManifestAndWithoutTablesOfDefaultItOpens) {
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

// Its identity was given to the next family that was created, and replaying the log that was kept
// wrote into that. Options that named it let neither the repair nor an opening succeed.
TEST(RepairIdentity, AFamilyThatOnlyALogKnowsIsMissedAndNoOtherGetsItsIdentity) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  {
    const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    const auto family = db->CreateColumnFamily(DamageOptions(disk.get()), "lost");
    ASSERT_TRUE(family.ok()) << family.status();
    ASSERT_EQ((*family)->id(), 1u);
    ASSERT_TRUE(db->Put(WriteOptions(), *family, "key", "in the log").ok());
    ASSERT_TRUE(db->Put(WriteOptions(), "key", "of default").ok());
  }
  Files files = FilesOn(*disk);
  const std::string log = NamesOf(files, ".log").back();
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  files.erase("CURRENT");
  const auto repaired = Restore(files);
  const Options plain = DamageOptions(repaired.get());
  Options naming = plain;
  naming.column_families["lost"] = plain;

  auto report = RepairDatabase(naming, kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(absl::StrContains(Notes(*report), "'lost', which the options name"))
      << Notes(*report);
  EXPECT_TRUE(absl::StrContains(Notes(*report), "writes to column family 1,")) << Notes(*report);
  EXPECT_TRUE(*repaired->Exists(absl::StrCat("/db/lost/", log)));
  const absl::Status refused = DB::Open(naming, kDirectory).status();
  EXPECT_TRUE(absl::IsNotFound(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), "'lost'")) << refused;
  {
    const auto db = OpenOrFail(plain, kDirectory);
    ASSERT_NE(db, nullptr);
    std::string value;
    EXPECT_TRUE(db->Get(ReadOptions(), "key", &value).ok());
    const auto other = db->CreateColumnFamily(plain, "other");
    ASSERT_TRUE(other.ok()) << other.status();
    EXPECT_EQ((*other)->id(), 2u);
    EXPECT_TRUE(db->Close().ok());
  }
  report = RepairDatabase(plain, kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(Notes(*report), "");

  // The manifest is lost once more, and the log in lost/ is all that knows of the family.
  const std::vector<std::string> names = *repaired->List(kDirectory);
  for (const std::string& name : names) {
    if (absl::StartsWith(name, "MANIFEST-") || absl::EndsWith(name, ".log") || name == "CURRENT") {
      ASSERT_TRUE(repaired->Remove(absl::StrCat(kDirectory, "/", name)).ok());
    }
  }
  report = RepairDatabase(plain, kDirectory);
  ASSERT_TRUE(report.ok()) << report.status();
  const auto db = OpenOrFail(plain, kDirectory);
  ASSERT_NE(db, nullptr);
  const auto next = db->CreateColumnFamily(plain, "next");
  ASSERT_TRUE(next.ok()) << next.status();
  EXPECT_GT((*next)->id(), 1u);
}

TEST(RepairIdentity, AFamilyThatAnOldManifestKnowsAndThatWasMadeAgainIsTheNewOne) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  const Options options = DamageOptions(disk.get());
  Files old;
  {
    const auto db = OpenOrFail(options, kDirectory);
    for (const char* value : {"old", "new"}) {
      const auto family = db->CreateColumnFamily(options, "named");
      ASSERT_TRUE(family.ok()) << family.status();
      ASSERT_TRUE(db->Put(WriteOptions(), *family, value, value).ok());
      ASSERT_TRUE(db->Flush(*family).ok());
      if (!old.empty()) break;
      old = FilesOn(*disk);
      ASSERT_TRUE(db->DropColumnFamily(*family).ok());
    }
  }
  Files files = FilesOn(*disk);
  for (const auto& [name, bytes] : old) {
    if (absl::StartsWith(name, "MANIFEST-") || absl::EndsWith(name, ".sst")) files[name] = bytes;
  }
  const Repaired repaired = RepairAndOpen(files);
  ASSERT_NE(repaired.db, nullptr);
  ASSERT_EQ(repaired.db->ColumnFamilies().size(), 2u);
  const auto named = repaired.db->FindColumnFamily("named");
  ASSERT_TRUE(named.ok()) << named.status();
  std::string value;
  EXPECT_TRUE(repaired.db->Get(ReadOptions(), *named, "new", &value).ok())
      << Notes(repaired.report);
  EXPECT_TRUE(absl::IsNotFound(repaired.db->Get(ReadOptions(), *named, "old", &value)));
}

// Its name, number and checksums are right: it was replayed into this database.
TEST(RepairIdentity, ALogOfAnotherDatabaseIsNotReplayed) {
  const auto database_with = [](const std::string& key) {
    const auto disk = std::make_unique<RecordingFileSystem>();
    const auto db = OpenOrFail(DamageOptions(disk.get()), kDirectory);
    EXPECT_TRUE(db->Put(WriteOptions(), "in a table", "1").ok());
    EXPECT_TRUE(db->Flush().ok());
    EXPECT_TRUE(db->Put(WriteOptions(), key, "in the log").ok());
    return FilesOn(*disk);
  };
  Files files = database_with("ours");
  const Files others = database_with("theirs");
  const std::string log = NamesOf(files, ".log").back();
  ASSERT_EQ(NamesOf(others, ".log").back(), log);
  files[log] = others.at(log);
  for (const bool has_manifest : {true, false}) {
    if (has_manifest) {
      const auto refused = DB::Open(DamageOptions(Restore(files).get()), kDirectory);
      EXPECT_TRUE(absl::IsDataLoss(refused.status())) << refused.status();
      EXPECT_TRUE(absl::StrContains(refused.status().message(), "another database"));
    } else {
      for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
    }
    const Repaired repaired = RepairAndOpen(files);
    ExpectContents(repaired, {{"in a table", "1"}});
    EXPECT_TRUE(repaired.disk->Exists(absl::StrCat("/db/lost/", log)).value_or(false))
        << Notes(repaired.report);
  }
}

// A log that had been flushed long ago comes back, and no manifest says so.
TEST(RepairIdentity, AnOldLogDoesNotHideNewerTables) {
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

}  // namespace
}  // namespace winnow
