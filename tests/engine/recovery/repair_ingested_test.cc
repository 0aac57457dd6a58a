// Repair of databases with ingested tables, whose sequence number stands in the manifest alone.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "tests/engine/recovery/repaired_database.h"

namespace winnow {
namespace {

enum class Writer { kOwn, kForeign };

std::string IngestedKey(int i) { return absl::StrFormat("key%04d", i); }

// 400 keys: "old" from a flush, then "new" from an ingestion; and key0000 written once more after
// it.
Files DatabaseWithIngestedTable(Writer by) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  Options options = DamageOptions(disk.get());
  options.disable_auto_compactions = true;
  const auto db = OpenOrFail(options, kDirectory);
  for (int i = 0; i < 400; i++) {
    EXPECT_TRUE(db->Put(WriteOptions(), IngestedKey(i), "old").ok());
  }
  EXPECT_TRUE(db->Flush().ok());
  auto writer = by == Writer::kOwn ? db->NewSstWriter(db->DefaultColumnFamily(), "/t")
                                   : SstWriter::Create(options, "/t", disk.get());
  for (int i = 0; i < 400; i++) EXPECT_TRUE((*writer)->Put(IngestedKey(i), "new").ok());
  EXPECT_TRUE((*writer)->Finish().ok());
  const auto ingested = db->Ingest({{"/t"}}, {.move = true});
  EXPECT_TRUE(ingested.ok()) << ingested.status();
  EXPECT_TRUE(db->Put(WriteOptions(), IngestedKey(0), "newest").ok());
  EXPECT_TRUE(db->Flush().ok());
  EXPECT_TRUE(db->Close().ok());
  return FilesOn(*disk);
}

std::string ValueOf(const Repaired& repaired, int i) {
  std::string value;
  const absl::Status got = repaired.db->Get(ReadOptions(), IngestedKey(i), &value);
  return got.ok() ? value : got.ToString();
}

// The second SSTable in the order of numbers: the first is that of the flush before.
std::string IngestedTable(const Files& files) { return NamesOf(files, ".sst").at(1); }

TEST(RepairIngested, ASoundDatabaseKeepsTheSequence) {
  for (const Writer by : {Writer::kOwn, Writer::kForeign}) {
    const Repaired repaired = RepairAndOpen(DatabaseWithIngestedTable(by));
    EXPECT_EQ(Notes(repaired.report), "");
    EXPECT_EQ(repaired.report.tables_kept, 3u);
    EXPECT_EQ(ValueOf(repaired, 0), "newest");
    EXPECT_EQ(ValueOf(repaired, 1), "new");
  }
}

// What could be read of it is written anew, with the sequence number that the manifest had given
// it: without it the older values would come back.
TEST(RepairIngested, ADamagedTableIsRewrittenWithItsSequence) {
  Files files = DatabaseWithIngestedTable(Writer::kForeign);
  std::string& table = files.at(IngestedTable(files));
  table[200] = static_cast<char>(table[200] ^ 1);  // in the first block
  const Repaired repaired = RepairAndOpen(files);
  EXPECT_EQ(repaired.report.tables_rewritten, 1u) << Notes(repaired.report);
  EXPECT_EQ(ValueOf(repaired, 0), "newest");
  EXPECT_EQ(ValueOf(repaired, 399), "new");
}

TEST(RepairIngested, WithoutAManifestOwnTablesCountAsTheOldest) {
  Files files = DatabaseWithIngestedTable(Writer::kOwn);
  for (const std::string& name : NamesOf(files, "MANIFEST-")) files.erase(name);
  const Repaired repaired = RepairAndOpen(files);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "its entries count as the oldest"))
      << Notes(repaired.report);
  EXPECT_EQ(ValueOf(repaired, 0), "newest");
  EXPECT_EQ(ValueOf(repaired, 1), "old");
}

TEST(RepairIngested, WithoutAManifestForeignTablesArePutAside) {
  Files files = DatabaseWithIngestedTable(Writer::kForeign);
  const std::string name = IngestedTable(files);
  for (const std::string& manifest : NamesOf(files, "MANIFEST-")) files.erase(manifest);
  const Repaired repaired = RepairAndOpen(files);
  EXPECT_TRUE(absl::StrContains(Notes(repaired.report), "`winnow ingest` brings it in"))
      << Notes(repaired.report);
  EXPECT_EQ(ValueOf(repaired, 1), "old");
  const auto again = repaired.db->Ingest({{std::string(kDirectory) + "/lost/" + name}}, {});
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(ValueOf(repaired, 1), "new");
}

// What a file says of its column family is where it was written, which may be elsewhere.
enum class WrittenFor { kNone, kDefault, kFamilyOfOtherDatabase };

std::string WriteTable(WrittenFor whom, DB& db, const Options& options) {
  std::unique_ptr<DB> other;
  std::unique_ptr<SstWriter> writer;
  if (whom == WrittenFor::kFamilyOfOtherDatabase) {
    other = OpenOrFail(options, "/other");
    for (const char* name : {"x", "y", "zed"}) {
      EXPECT_TRUE(other->CreateColumnFamily(ColumnFamilyOptions(), name).ok());
    }
    writer = *other->NewSstWriter(*other->FindColumnFamily("zed"), "/t");
  } else if (whom == WrittenFor::kDefault) {
    writer = *db.NewSstWriter(db.DefaultColumnFamily(), "/t");
  } else {
    writer = *SstWriter::Create(options, "/t", options.file_system);
  }
  for (int i = 0; i < 400; i += 2) EXPECT_TRUE(writer->Put(IngestedKey(i), "of users").ok());
  EXPECT_TRUE(writer->Finish().ok());
  return "/t";
}

// "default" has every third key from flushes, and "users" every second from the file.
Files DatabaseWithTwoFamilies(WrittenFor whom) {
  const auto disk = std::make_unique<RecordingFileSystem>();
  Options options = DamageOptions(disk.get());
  options.disable_auto_compactions = true;
  const auto db = OpenOrFail(options, kDirectory);
  ColumnFamily* const users = *db->CreateColumnFamily(ColumnFamilyOptions(), "users");
  for (int i = 0; i < 400; i += 3) {
    EXPECT_TRUE(db->Put(WriteOptions(), IngestedKey(i), "of default").ok());
    if (i == 198) {
      EXPECT_TRUE(db->Flush().ok());
    }
  }
  EXPECT_TRUE(db->Flush().ok());
  const std::string table = WriteTable(whom, *db, options);
  const auto ingested = db->Ingest({{table, users}}, {.move = true});
  EXPECT_TRUE(ingested.ok()) << ingested.status();
  EXPECT_TRUE(db->Put(WriteOptions(), "last", "write").ok());
  EXPECT_TRUE(db->Close().ok());
  return FilesOn(*disk);
}

// Each family has its own, as far as it was not lost.
void ExpectOwnEntries(const Repaired& repaired) {
  ASSERT_NE(repaired.db, nullptr);
  const auto families = DB::ListColumnFamilies(DamageOptions(repaired.disk.get()), kDirectory);
  EXPECT_EQ(*families, std::vector<std::string>({"default", "users"}));
  ColumnFamily* const users = *repaired.db->FindColumnFamily("users");
  std::string value;
  for (int i = 0; i < 400; i++) {
    const absl::Status of_users = repaired.db->Get(ReadOptions(), users, IngestedKey(i), &value);
    EXPECT_EQ(of_users.ok() ? value : "", i % 2 == 0 ? "of users" : "") << i;
    const std::string of_default = ValueOf(repaired, i);
    EXPECT_TRUE(i % 3 == 0 ? of_default != "of users" : absl::StrContains(of_default, "NOT_FOUND"))
        << i << ": " << of_default;
  }
}

TEST(RepairIngested, TheManifestSaysWhichFamilyATableIsOf) {
  for (const WrittenFor whom :
       {WrittenFor::kNone, WrittenFor::kDefault, WrittenFor::kFamilyOfOtherDatabase}) {
    SCOPED_TRACE(static_cast<int>(whom));
    const Files sound = DatabaseWithTwoFamilies(whom);
    const Repaired kept = RepairAndOpen(sound);
    EXPECT_EQ(Notes(kept.report), "");
    ExpectOwnEntries(kept);
    Files files = sound;
    files.erase("CURRENT");
    ExpectOwnEntries(RepairAndOpen(files));
    // Then all tables of the family that the manifest does not name are taken.
    files = sound;
    files.erase(NamesOf(files, ".log").back());
    ExpectOwnEntries(RepairAndOpen(files));
    // What is missing may be in a table that the manifest does not name.
    files = sound;
    files.erase(NamesOf(files, ".sst").front());
    ExpectOwnEntries(RepairAndOpen(files));
  }
}

}  // namespace
}  // namespace winnow
