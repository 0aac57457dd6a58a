// Tables from outside in a database: what is seen, when, by whom, and what is refused.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/sstable/format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"

namespace winnow {
namespace {

using Entries = std::map<std::string, std::string>;

// Deletions where the value is this.
constexpr char kDeleted[] = "(deleted)";

absl::Status WriteTable(FileSystem* file_system, const std::string& path, const Entries& entries,
                        const ColumnFamilyOptions& options = MemoryDb::Quiet()) {
  auto writer = SstWriter::Create(options, path, file_system);
  if (!writer.ok()) return writer.status();
  for (const auto& [key, value] : entries) {
    const absl::Status added =
        value == kDeleted ? (*writer)->Delete(key) : (*writer)->Put(key, value);
    if (!added.ok()) return added;
  }
  return (*writer)->Finish().status();
}

class DbIngestTest : public ::testing::Test {
 protected:
  explicit DbIngestTest(Options options = MemoryDb::Quiet()) : db_(std::move(options)) {}

  std::string Table(const std::string& name, const Entries& entries) {
    const std::string path = "/" + name;
    const absl::Status written = WriteTable(&db_.file_system(), path, entries, db_.options());
    EXPECT_TRUE(written.ok()) << written.ToString();
    return path;
  }
  IngestInfo Ingest(const std::vector<IngestFile>& files, const IngestOptions& options = {}) {
    auto info = db_->Ingest(files, options);
    EXPECT_TRUE(info.ok()) << info.status().ToString();
    return info.ok() ? *info : IngestInfo();
  }
  absl::StatusCode IngestCode(const std::vector<IngestFile>& files,
                              const IngestOptions& options = {}) {
    return db_->Ingest(files, options).status().code();
  }
  size_t NumTables() { return Tables().size(); }
  // Of the database.
  std::vector<std::string> Tables() {
    std::vector<std::string> tables;
    const std::vector<std::string> names = *db_.file_system().List(MemoryDb::kPath);
    for (const std::string& name : names) {
      if (name.ends_with(".sst")) tables.push_back(absl::StrCat(MemoryDb::kPath, "/", name));
    }
    return tables;
  }
  void ExpectSound() {
    const auto problems = db_->Verify();
    ASSERT_TRUE(problems.ok());
    for (const VerifyProblem& problem : *problems) ADD_FAILURE() << problem.status.ToString();
  }
  bool Exists(const std::string& path) { return *db_.file_system().Exists(path); }

  MemoryDb db_;
};

TEST_F(DbIngestTest, EntriesAreReadByEveryCallAndAfterReopening) {
  const std::string path = Table("t", {{"a", "1"}, {"b", "2"}, {"c", "3"}});
  const IngestInfo info = Ingest({{path}});
  EXPECT_EQ(info.levels, std::vector<int>{6});
  EXPECT_EQ(info.num_entries, 3u);
  EXPECT_GT(info.sequence, 0u);
  EXPECT_FALSE(info.flushed);
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(db_.Get("b"), "2");
    EXPECT_EQ(db_.Get("bb"), "(absent)");
    EXPECT_EQ(db_.MultiGet({"a", "aa", "c"}), (std::vector<std::string>{"1", "(absent)", "3"}));
    EXPECT_TRUE(db_->MayExist(ReadOptions(), "a"));
    EXPECT_TRUE(*db_->Exists(ReadOptions(), "c"));
    std::string keys;
    {
      const auto iterator = db_->NewIterator(ReadOptions());
      for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
        absl::StrAppend(&keys, std::string(iterator->key()));
      }
    }
    EXPECT_EQ(keys, "cba");
    ExpectSound();
    db_.Reopen();
  }
  EXPECT_TRUE(Exists(path)) << "a copy leaves the file where it was";
}

// The filter was made with another seed than the database's: asked with that one it would deny
// nearly every key.
TEST_F(DbIngestTest, FilterIsAskedWithTheFilesOwnSeedAndRejects) {
  Entries entries;
  for (int i = 0; i < 1000; i++) entries[absl::StrFormat("key%05d", 2 * i)] = "v";
  Ingest({{Table("t", entries)}});
  for (const auto& [key, value] : entries) ASSERT_EQ(db_.Get(key), "v") << key;
  for (int i = 0; i < 1000; i++) {
    ASSERT_EQ(db_.Get(absl::StrFormat("key%05d", 2 * i + 1)), "(absent)");
  }
  uint64_t rejected = 0;
  for (const FilterStatistics& row : db_->GetStatistics().filters) rejected += row.rejected;
  EXPECT_GT(rejected, 950u);
}

TEST_F(DbIngestTest, IsNewerThanEverythingBeforeAndOlderThanEverythingAfter) {
  db_.Put("flushed", "old");
  db_.Flush();
  db_.Put("memtable", "old");
  db_.Put("untouched", "old");
  const IngestInfo info = Ingest(
      {{Table("t", {{"flushed", "new"}, {"gone", kDeleted}, {"memtable", "new"}, {"x", "1"}})}});
  EXPECT_TRUE(info.flushed) << "a memtable with keys of the range would hide the file's";
  EXPECT_EQ(info.levels, std::vector<int>{0});
  EXPECT_EQ(db_.Get("flushed"), "new");
  EXPECT_EQ(db_.Get("memtable"), "new");
  EXPECT_EQ(db_.Get("untouched"), "old");
  db_.Put("memtable", "newest");
  EXPECT_EQ(db_.Get("memtable"), "newest");
  db_.Reopen();
  EXPECT_EQ(db_.Get("memtable"), "newest");
  db_.CompactAll();
  EXPECT_EQ(db_.Get("flushed"), "new");
  EXPECT_EQ(db_.Get("memtable"), "newest");
  EXPECT_EQ(db_.Get("x"), "1");
  ExpectSound();
}

TEST_F(DbIngestTest, DeletionsHideWhatWasThere) {
  db_.Put("a", "1");
  db_.Put("b", "1");
  db_.CompactAll();
  Ingest({{Table("t", {{"a", kDeleted}, {"b", "2"}})}});
  EXPECT_EQ(db_.Get("a"), "(absent)");
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "(absent)");
  EXPECT_EQ(db_.Get("b"), "2");
}

TEST_F(DbIngestTest, SnapshotsBeforeSeeNothingAndThoseAfterSeeAll) {
  db_.Put("a", "old");
  {
    const SnapshotGuard before(*db_);
    Ingest({{Table("t", {{"a", "new"}, {"b", "new"}})}});
    const SnapshotGuard after(*db_);
    db_.Put("a", "newest");
    for (int round = 0; round < 2; round++) {
      EXPECT_EQ(db_.Get("a", before.get()), "old");
      EXPECT_EQ(db_.Get("b", before.get()), "(absent)");
      EXPECT_EQ(db_.Get("a", after.get()), "new");
      EXPECT_EQ(db_.Get("b", after.get()), "new");
      EXPECT_EQ(db_.Get("a"), "newest");
      db_.CompactAll();
    }
  }
}

TEST_F(DbIngestTest, IteratorBeforeGoesOnWithoutTheFile) {
  db_.Put("a", "old");
  const auto iterator = db_->NewIterator(ReadOptions());
  Ingest({{Table("t", {{"a", "new"}, {"b", "new"}})}});
  iterator->SeekToFirst();
  ASSERT_TRUE(iterator->Valid());
  EXPECT_EQ(iterator->value(), "old");
  iterator->Next();
  EXPECT_FALSE(iterator->Valid());
}

TEST_F(DbIngestTest, GoesBelowWhatItDoesNotOverlap) {
  db_.Put("a", "1");
  db_.Put("z", "1");
  db_.Flush();
  EXPECT_EQ(Ingest({{Table("t1", {{"m", "1"}})}}).levels, std::vector<int>{0})
      << "level 0 has keys on both sides";
  db_.CompactAll();
  EXPECT_EQ(Ingest({{Table("t2", {{"zz", "1"}})}}).levels, std::vector<int>{6});
  // Both below: over the last level, and beside the first of them.
  EXPECT_EQ(Ingest({{Table("t3", {{"zy", "2"}, {"zz", "2"}})}}).levels, std::vector<int>{5});
  EXPECT_EQ(Ingest({{Table("t4", {{"zz", "3"}})}}).levels, std::vector<int>{4});
  EXPECT_EQ(db_.Get("zz"), "3");
  EXPECT_EQ(db_.Get("zy"), "2");
  db_.CompactAll();
  EXPECT_EQ(db_.Get("zz"), "3");
  EXPECT_EQ(db_.Get("m"), "1");
}

TEST_F(DbIngestTest, SameFileTwiceIsTheNewestAgain) {
  const std::string path = Table("t", {{"a", "file"}, {"b", "file"}});
  Ingest({{path}});
  db_.Put("a", "put");
  EXPECT_EQ(db_.Get("a"), "put");
  Ingest({{path}});
  EXPECT_EQ(db_.Get("a"), "file");
  db_.Reopen();
  EXPECT_EQ(db_.Get("a"), "file");
  db_.CompactAll();
  EXPECT_EQ(db_.Get("a"), "file");
  EXPECT_EQ(db_.Get("b"), "file");
}

TEST_F(DbIngestTest, SeveralFilesOfSeveralFamiliesShareOneSequence) {
  ColumnFamily* other = *db_->CreateColumnFamily(db_.options(), "other");
  const SnapshotGuard before(*db_);
  const IngestInfo info = Ingest({{Table("t1", {{"a", "1"}, {"c", "1"}})},
                                  {Table("t2", {{"b", "2"}}), other},
                                  {Table("t3", {{"d", "3"}})}});
  EXPECT_EQ(info.levels.size(), 3u);
  EXPECT_EQ(info.sequence, before.get()->sequence() + 1);
  EXPECT_EQ(db_.Get("c"), "1");
  EXPECT_EQ(db_.Get("d"), "3");
  std::string value;
  EXPECT_TRUE(db_->Get(ReadOptions(), other, "b", &value).ok());
  EXPECT_EQ(value, "2");
  ReadOptions read;
  read.snapshot = before.get();
  EXPECT_TRUE(absl::IsNotFound(db_->Get(read, other, "b", &value)));
}

TEST_F(DbIngestTest, MoveTakesTheNameAwayOnlyOnSuccess) {
  const std::string good = Table("good", {{"a", "1"}});
  const std::string overlapping = Table("overlapping", {{"a", "2"}});
  EXPECT_EQ(IngestCode({{good}, {overlapping}}, {.move = true}),
            absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Exists(good));
  EXPECT_TRUE(Exists(overlapping));
  Ingest({{good}}, {.move = true});
  EXPECT_FALSE(Exists(good));
  EXPECT_EQ(db_.Get("a"), "1");
  db_.Reopen();
  EXPECT_EQ(db_.Get("a"), "1");
  EXPECT_EQ(IngestCode({{good}}, {.move = true}), absl::StatusCode::kNotFound);
}

// A program that copied the file to where it is need not have synced it.
TEST_F(DbIngestTest, MoveSyncsWhatSomebodyElseHasWritten) {
  const std::string path = Table("t", {{"a", "1"}});
  db_.file_system().set_recording(true);
  Ingest({{path}}, {.move = true});
  bool synced = false;
  bool linked = false;
  for (size_t i = 0; i < db_.file_system().num_operations(); i++) {
    const FileOperation operation = db_.file_system().operation(i);
    if (operation.path != path) continue;
    synced = synced || operation.kind == FileOperation::Kind::kSync;
    if (operation.kind == FileOperation::Kind::kLink) {
      EXPECT_TRUE(synced);
      linked = true;
    }
  }
  EXPECT_TRUE(linked);
}

// The link goes, and the database has the table whatever becomes of the file that it led to.
TEST(DbIngestLinks, MoveOfASymbolicLinkTakesWhatItLeadsTo) {
  const ScratchDirectory scratch("ingest-link");
  const std::string target = scratch.path() + "/v5.sst";
  const std::string link = scratch.path() + "/current.sst";
  const std::string path = scratch.path() + "/db";
  ASSERT_TRUE(WriteTable(nullptr, target, {{"a", "1"}}).ok());
  std::filesystem::create_symlink("v5.sst", link);
  auto db = OpenOrFail(MemoryDb::Quiet(), path);
  ASSERT_NE(db, nullptr);
  const auto info = db->Ingest({{link}}, {.move = true});
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::symlink_status(link)));
  std::filesystem::remove(target);
  db = nullptr;
  db = OpenOrFail(MemoryDb::Quiet(), path);
  ASSERT_NE(db, nullptr);
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "a", &value).ok());
  EXPECT_EQ(value, "1");
}

TEST_F(DbIngestTest, TablesOfADatabaseAreNotMovedAway) {
  Ingest({{Table("t", {{"a", "1"}})}});
  const std::string live = Tables().at(0);
  EXPECT_EQ(IngestCode({{live}}, {.move = true}), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(Exists(live));
  Ingest({{live}});
  EXPECT_EQ(db_.Get("a"), "1");
}

TEST_F(DbIngestTest, WhatIsNoTableOfAWriterIsRefusedWithItsReason) {
  db_.Put("a", "1");
  db_.Flush();
  const std::string own = Tables().at(0);
  const size_t tables = NumTables();
  EXPECT_EQ(IngestCode({{own}}), absl::StatusCode::kInvalidArgument);
  ASSERT_TRUE(WriteFileAtomically(db_.file_system(), "/text", "no table, but bytes").ok());
  EXPECT_EQ(IngestCode({{"/text"}}), absl::StatusCode::kDataLoss);
  EXPECT_EQ(IngestCode({{"/missing"}}), absl::StatusCode::kNotFound);
  // One that may come in, beside one that may not: neither does.
  EXPECT_EQ(IngestCode({{Table("good", {{"x", "1"}})}, {own}}), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(db_.Get("x"), "(absent)");
  EXPECT_EQ(NumTables(), tables);
  const ReverseComparator reverse;
  Options backwards = MemoryDb::Quiet();
  backwards.comparator = &reverse;
  auto writer = SstWriter::Create(backwards, "/reverse", &db_.file_system());
  ASSERT_TRUE(writer.ok() && (*writer)->Put("b", "").ok() && (*writer)->Put("a", "").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(IngestCode({{"/reverse"}}), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DbIngestTest, ATableOfANewerFormatIsRefusedAndStaysWhereItIs) {
  const std::string path = Table("t", {{"a", "1"}});
  std::string bytes = *ReadFile(db_.file_system(), path, 1 << 20);
  bytes[bytes.size() - 16] = static_cast<char>(kTableMajorVersion + 1);
  bytes[bytes.size() - kFooterBytes] ^= 1;  // a checksum that this version does not know
  ASSERT_TRUE(WriteFileAtomically(db_.file_system(), path, bytes).ok());
  const absl::Status refused = db_->Ingest({{path}}, {.move = true}).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.message().find("format 2.0"), absl::string_view::npos) << refused;
  EXPECT_TRUE(Exists(path));
  EXPECT_EQ(NumTables(), 0u);
}

// By an order that calls itself the database's.
TEST_F(DbIngestTest, AnUnsortedTableIsRefusedAndStaysWhereItIs) {
  class FalseComparator final : public Comparator {
   public:
    int Compare(std::string_view a, std::string_view b) const override {
      return BytewiseComparator()->Compare(b, a);
    }
    std::string_view Name() const override { return BytewiseComparator()->Name(); }
    bool EqualKeysHaveEqualBytes() const override { return true; }
  };
  const FalseComparator backwards;
  Options options = MemoryDb::Quiet();
  options.comparator = &backwards;
  auto writer = SstWriter::Create(options, "/unsorted", &db_.file_system());
  ASSERT_TRUE(writer.ok() && (*writer)->Put("b", "").ok() && (*writer)->Put("a", "").ok());
  ASSERT_TRUE((*writer)->Finish().ok());
  EXPECT_EQ(IngestCode({{"/unsorted"}}, {.move = true}), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(Exists("/unsorted"));
  EXPECT_EQ(NumTables(), 0u);
  EXPECT_EQ(db_.Get("a"), "(absent)");
}

// A byte in the middle: its frame is sound, and only who reads the block finds it.
TEST_F(DbIngestTest, DamageIsFoundBeforeAnythingComesIn) {
  Entries entries;
  for (int i = 0; i < 1000; i++) entries[absl::StrFormat("key%05d", i)] = std::string(50, 'v');
  const std::string path = Table("t", entries);
  std::string bytes = *ReadFile(db_.file_system(), path, 1 << 20);
  bytes[bytes.size() / 2] ^= 1;
  ASSERT_TRUE(WriteFileAtomically(db_.file_system(), path, bytes).ok());
  const absl::Status refused = db_->Ingest({{path}}, {.move = true}).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kDataLoss) << refused.ToString();
  EXPECT_NE(refused.message().find(path), std::string::npos) << refused.ToString();
  EXPECT_TRUE(Exists(path));
  EXPECT_EQ(NumTables(), 0u);
  db_.Put("key00001", "goes on");
  EXPECT_EQ(db_.Get("key00001"), "goes on");
}

TEST_F(DbIngestTest, ClosedReadOnlyAndDroppedAreRefused) {
  const std::string path = Table("t", {{"a", "1"}});
  ColumnFamily* dropped = *db_->CreateColumnFamily(db_.options(), "dropped");
  ASSERT_TRUE(db_->DropColumnFamily(dropped).ok());
  EXPECT_EQ(IngestCode({{path, dropped}}), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Ingest({}).sequence, 0u);
  ASSERT_TRUE(db_->Close().ok());
  EXPECT_EQ(IngestCode({{path}}), absl::StatusCode::kFailedPrecondition);
  db_.options().read_only = true;
  db_.CloseDb();
  db_.Reopen();
  EXPECT_EQ(IngestCode({{path}}), absl::StatusCode::kFailedPrecondition);
}

TEST_F(DbIngestTest, CopiesHoldWhatWasIngested) {
  db_.Put("a", "old");
  Ingest({{Table("t", {{"a", "new"}})}});
  ASSERT_TRUE(db_->Checkpoint("/checkpoint").ok());
  ASSERT_TRUE(db_->BackupTo("/backups").ok());
  ASSERT_TRUE(RestoreBackup(db_.options(), "/backups", 0, "/restored").ok());
  for (const char* path : {"/checkpoint", "/restored"}) {
    const auto copy = OpenOrFail(db_.options(), path);
    std::string value;
    EXPECT_TRUE(copy->Get(ReadOptions(), "a", &value).ok());
    EXPECT_EQ(value, "new") << path;
  }
}

TEST_F(DbIngestTest, WriterOfTheDatabaseUsesItsFilterAndSeed) {
  ASSERT_TRUE(db_->SetFilter("cuckoo:12", "").ok());
  auto writer = db_->NewSstWriter(db_->DefaultColumnFamily(), "/t");
  ASSERT_TRUE(writer.ok()) << writer.status();
  ASSERT_TRUE((*writer)->Put("a", "1").ok());
  const auto info = (*writer)->Finish();
  ASSERT_TRUE(info.ok()) << info.status();
  EXPECT_EQ(info->filter_kind, "cuckoo");
  Ingest({{"/t"}}, {.move = true});
  EXPECT_EQ(db_.Get("a"), "1");
  ExpectSound();
}

TEST_F(DbIngestTest, IsCountedAndReported) {
  const std::string path = Table("t", {{"a", "1"}});
  const uint64_t bytes = *db_.file_system().FileSize(path);
  Ingest({{path}});
  const Statistics statistics = db_->GetStatistics();
  EXPECT_EQ(statistics.Get(Ticker::kIngestions), 1u);
  EXPECT_EQ(statistics.Get(Ticker::kFilesIngested), 1u);
  EXPECT_EQ(statistics.Get(Ticker::kBytesIngested), bytes);
}

// With mmap_reads, blocks that are read in place cannot be given another sequence number.
TEST(DbIngestMapped, MappedTablesShowTheRightVersions) {
  const std::string directory = ::testing::TempDir() + "/ingest_mapped";
  Options options = MemoryDb::Quiet();
  options.mmap_reads = true;
  ASSERT_TRUE(DB::Destroy(options, directory).ok());
  PosixFileSystem()->Remove(directory + ".sst").IgnoreError();
  ASSERT_TRUE(WriteTable(nullptr, directory + ".sst", {{"a", "new"}, {"b", "new"}}).ok());
  const auto db = OpenOrFail(options, directory);
  ASSERT_TRUE(db->Put(WriteOptions(), "a", "old").ok());
  const SnapshotGuard before(*db);
  const auto info = db->Ingest({{directory + ".sst"}}, {.move = true});
  ASSERT_TRUE(info.ok()) << info.status();
  std::string value;
  ASSERT_TRUE(db->Get(ReadOptions(), "a", &value).ok());
  EXPECT_EQ(value, "new");
  ReadOptions read;
  read.snapshot = before.get();
  ASSERT_TRUE(db->Get(read, "a", &value).ok());
  EXPECT_EQ(value, "old");
}

class DbIngestBehindTest : public DbIngestTest {
 protected:
  static Options Allowing() {
    Options options = MemoryDb::Quiet();
    options.allow_ingest_behind = true;
    return options;
  }
  DbIngestBehindTest() : DbIngestTest(Allowing()) {}
};

TEST_F(DbIngestBehindTest, ShowsOnlyWhereNothingElseIs) {
  db_.Put("kept", "old");
  db_.Put("deleted", "old");
  db_.Delete("deleted");
  db_.CompactAll();
  db_.Put("memtable", "old");
  const SnapshotGuard before(*db_);
  const IngestInfo info =
      Ingest({{Table("t", {{"deleted", "x"}, {"kept", "x"}, {"memtable", "x"}, {"only", "x"}})}},
             {.behind = true});
  EXPECT_EQ(info.sequence, 0u);
  EXPECT_EQ(info.levels, std::vector<int>{kNumLevels - 1});
  EXPECT_FALSE(info.flushed);
  for (int round = 0; round < 2; round++) {
    EXPECT_EQ(db_.Get("kept"), "old");
    EXPECT_EQ(db_.Get("deleted"), "(absent)") << "the deletion had nothing to hide before";
    EXPECT_EQ(db_.Get("memtable"), "old");
    EXPECT_EQ(db_.Get("only"), "x");
    EXPECT_EQ(db_.Get("only", before.get()), "x");
    db_.CompactAll();
  }
  EXPECT_EQ(IngestCode({{Table("u", {{"kept", "y"}})}}, {.behind = true}),
            absl::StatusCode::kFailedPrecondition)
      << "the last level has keys of its range";
}

TEST_F(DbIngestBehindTest, OtherIngestionsLeaveTheLastLevelFree) {
  EXPECT_EQ(Ingest({{Table("t", {{"a", "new"}})}}).levels, std::vector<int>{6});
  Ingest({{Table("u", {{"a", "oldest"}, {"b", "oldest"}})}}, {.behind = true});
  EXPECT_EQ(db_.Get("a"), "new");
  EXPECT_EQ(db_.Get("b"), "oldest");
}

TEST_F(DbIngestTest, BehindIsRefusedWithoutTheOption) {
  EXPECT_EQ(IngestCode({{Table("t", {{"a", "1"}})}}, {.behind = true}),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(NumTables(), 0u);
}

}  // namespace
}  // namespace winnow
