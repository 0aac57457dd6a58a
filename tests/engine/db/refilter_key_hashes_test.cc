// DB::Refilter by the key hashes that tables have: no data is read, and where they cannot be used
// the keys themselves are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/sstable/key_hashes.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/verify_messages.h"
#include "winnow/event_listener.h"
#include "winnow/ingest.h"
#include "winnow/repair.h"

namespace winnow::refilter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kLargeKeys = 2'000;

std::string LargeValue(int i) { return absl::StrCat(i, std::string(1'000, 'v')); }

// Values of a thousand bytes, in many files of the last level.
void FillWithLarge(MemoryDb& db) {
  for (int i = 0; i < kLargeKeys; i++) db.Put(KeyAt(2 * i), LargeValue(i));
  db.CompactAll();
}

void ExpectLarge(MemoryDb& db) {
  for (int i = 0; i < kLargeKeys; i++) {
    ASSERT_EQ(db.Get(KeyAt(2 * i)), LargeValue(i));
    ASSERT_EQ(db.Get(KeyAt(2 * i + 1)), "(absent)");
  }
}

std::unique_ptr<SstableReader> OpenTable(MemoryDb& db, const std::string& name) {
  const std::string path = absl::StrCat(MemoryDb::kPath, "/", name);
  auto table = SstableReader::Open({}, *db.file_system().OpenRandomAccess(path), path);
  EXPECT_TRUE(table.ok()) << table.status();
  return *std::move(table);
}

size_t TablesWithHashes(MemoryDb& db) {
  size_t count = 0;
  for (const std::string& name : FilesNamed(db, ".sst")) {
    count += OpenTable(db, name)->has_key_hashes() ? 1 : 0;
  }
  return count;
}

uint64_t TableBytes(MemoryDb& db) {
  uint64_t sum = 0;
  for (const auto& [name, bytes] : BytesOf(db, ".sst")) sum += bytes.size();
  return sum;
}

// The reads of data in tables that there are when it is made.
class DataReads {
 public:
  explicit DataReads(MemoryDb& db) : db_(db) {
    for (const std::string& name : FilesNamed(db, ".sst")) {
      data_bytes_[absl::StrCat(MemoryDb::kPath, "/", name)] =
          OpenTable(db, name)->figures().data_bytes;
    }
    db.file_system().set_error_hook([this](const FileOperation& operation) {
      const auto table = data_bytes_.find(operation.path);
      if (operation.kind == FileOperation::Kind::kRead && table != data_bytes_.end()) {
        bytes_.fetch_add(operation.length);
        if (operation.offset < table->second) data_reads_.fetch_add(1);
      }
      return absl::OkStatus();
    });
  }
  ~DataReads() { db_.file_system().set_error_hook(nullptr); }

  uint64_t num() const { return data_reads_.load(); }
  uint64_t bytes() const { return bytes_.load(); }

 private:
  MemoryDb& db_;
  std::map<std::string, uint64_t> data_bytes_;
  std::atomic<uint64_t> data_reads_{0};
  std::atomic<uint64_t> bytes_{0};  // of tables
};

TEST(RefilterKeyHashes, LargeValuesAreNotReadForAnotherFilter) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  const size_t files = FilesNamed(db, ".sst").size();
  ASSERT_GE(files, 10u);
  EXPECT_EQ(TablesWithHashes(db), files);
  const uint64_t table_bytes = TableBytes(db);
  RefilterInfo info;
  {
    const DataReads reads(db);
    info = RefilterOrFail(db, {.filter = kNewFilter});
    EXPECT_EQ(reads.num(), 0u);
    // Opening the tables anew included.
    EXPECT_LT(reads.bytes(), table_bytes / 10);
  }
  EXPECT_EQ(info.files_refiltered, files);
  EXPECT_EQ(FilesWith(*db, kNewFilter), files);
  ExpectLarge(db);
  EXPECT_LT(FalsePositives(*db), 20u);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
  db.Reopen();
  ExpectLarge(db);

  // Through a filter file and back through none: the hashes are the table's.
  const RefilterInfo none = RefilterOrFail(db, {.filter = "none"});
  EXPECT_EQ(none.bytes_read, 0u);
  const RefilterInfo again = RefilterOrFail(db, {.filter = "cuckoo:12"});
  EXPECT_EQ(again.bytes_read, info.bytes_read);
  ExpectLarge(db);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
}

TEST(RefilterKeyHashes, CostsLessThanAThirdOfACompactionsBytes) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  const Statistics before = db->GetStatistics();
  EXPECT_EQ(before.Get(Ticker::kRefilterBytesRead), info.bytes_read);
  // So that the last level is rewritten.
  db.Put(KeyAt(0), LargeValue(0));
  db.Put(KeyAt(2 * kLargeKeys - 2), LargeValue(kLargeKeys - 1));
  db.CompactAll();
  const Statistics after = db->GetStatistics();
  const uint64_t compaction =
      after.Get(Ticker::kCompactionBytesRead) - before.Get(Ticker::kCompactionBytesRead) +
      after.Get(Ticker::kCompactionBytesWritten) - before.Get(Ticker::kCompactionBytesWritten);
  ASSERT_GT(compaction, 2u * kLargeKeys * 1'000);
  const uint64_t refilter = info.bytes_read + info.bytes_written;
  EXPECT_LT(refilter, compaction / 3);
  EXPECT_LT(refilter, compaction / 100);
  RecordProperty("percent_of_compaction", absl::StrCat(100.0 * static_cast<double>(refilter) /
                                                       static_cast<double>(compaction)));
}

// Of a filter file, what is not drawn anew for each.
std::string FilterIn(MemoryDb& db) {
  const auto files = BytesOf(db, ".flt");
  EXPECT_EQ(files.size(), 1u);
  const std::string& bytes = files.begin()->second;
  return bytes.substr(bytes.find("WNWFILTR"),
                      bytes.size() - kBlockTrailerBytes - bytes.find("WNWFILTR"));
}

void DamageKeyHashes(MemoryDb& db, const std::string& name) {
  std::string bytes = BytesOf(db, ".sst").at(name);
  const BlockHandle handle = OpenTable(db, name)->key_hash_layout().handle(0);
  bytes[handle.offset + 20] = static_cast<char>(bytes[handle.offset + 20] ^ 4);
  db.CloseDb();
  Overwrite(db, name, bytes);
  db.Reopen();
}

TEST(RefilterKeyHashes, GiveTheFilterThatTheKeysWouldGive) {
  for (const char* filter_key : {"whole", "prefix:9", "whole+prefix:9"}) {
    SCOPED_TRACE(filter_key);
    Options options = MemoryDb::Quiet();
    options.filter_key = filter_key;
    options.key_hashes_ratio = 1;
    MemoryDb db(options);
    for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), ValueAt(i));
    db.CompactAll();
    {
      const DataReads reads(db);
      RefilterOrFail(db, {.filter = kNewFilter});
      EXPECT_EQ(reads.num(), 0u);
    }
    const std::string by_hashes = FilterIn(db);
    ExpectAllKeys(db);
    EXPECT_THAT(VerifyMessages(*db), IsEmpty());
    RefilterOrFail(db, {.filter = "blocked_bloom:10"});
    DamageKeyHashes(db, FilesNamed(db, ".sst").front());
    const RefilterInfo by_keys = RefilterOrFail(db, {.filter = kNewFilter});
    EXPECT_GT(by_keys.bytes_read, TableBytes(db) * 8 / 10);
    EXPECT_EQ(FilterIn(db), by_hashes);
    ExpectAllKeys(db);
  }
}

class CorruptionTexts final : public EventListener {
 public:
  void OnEvent(const Event& event) override {
    if (event.kind == Event::Kind::kCorruptionFound) {
      texts.emplace_back(event.status.message());
    }
  }
  std::vector<std::string> texts;
};

TEST(RefilterKeyHashes, DamagedOnesGiveWayToTheDataAndVerifyNamesThem) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  const size_t files = FilesNamed(db, ".sst").size();
  const std::string name = FilesNamed(db, ".sst")[1];
  const uint64_t file_bytes = BytesOf(db, ".sst").at(name).size();
  const BlockHandle handle = OpenTable(db, name)->key_hash_layout().handle(0);
  DamageKeyHashes(db, name);
  ExpectLarge(db);
  const std::vector<std::string> found = VerifyMessages(*db);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], HasSubstr(absl::StrCat(name, ": at offset ", handle.offset,
                                               ": key hash block: checksum")));
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(info.files_refiltered, files);
  EXPECT_EQ(info.files_damaged, 0u);
  EXPECT_GT(info.bytes_read, file_bytes * 9 / 10) << "the data of one";
  EXPECT_LT(info.bytes_read, file_bytes * 3) << "and of no other";
  db.Reopen();
  ExpectLarge(db);
  EXPECT_EQ(FilesWith(*db, kNewFilter), files);

  // A compaction writes them anew.
  db.Put(KeyAt(0), LargeValue(0));
  db.Put(KeyAt(2 * kLargeKeys - 2), LargeValue(kLargeKeys - 1));
  db.CompactAll();
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
  EXPECT_EQ(TablesWithHashes(db), FilesNamed(db, ".sst").size());
}

// Reported once while open, by whoever comes first.
TEST(RefilterKeyHashes, DamageIsAnEventOfTheRefiltering) {
  Options options = SmallFiles();
  const auto listener = std::make_shared<CorruptionTexts>();
  options.listeners = {listener};
  MemoryDb db(options);
  FillWithLarge(db);
  DamageKeyHashes(db, FilesNamed(db, ".sst").front());
  RefilterOrFail(db, {.filter = kNewFilter});
  db.CloseDb();
  EXPECT_THAT(listener->texts, ElementsAre(HasSubstr("key hash block: checksum")));
}

TEST(RefilterKeyHashes, AnUnreadableBlockGivesWayToTheDataAsWell) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  const std::string name = FilesNamed(db, ".sst").front();
  const BlockHandle handle = OpenTable(db, name)->key_hash_layout().handle(0);
  db.file_system().set_error_hook([&](const FileOperation& operation) -> absl::Status {
    const bool is_it = operation.kind == FileOperation::Kind::kRead &&
                       absl::EndsWith(operation.path, name) && operation.offset < handle.end() &&
                       operation.offset + operation.length > handle.offset;
    return is_it ? absl::UnavailableError("bad sector") : absl::OkStatus();
  });
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  db.file_system().set_error_hook(nullptr);
  EXPECT_EQ(info.files_refiltered, FilesNamed(db, ".sst").size());
  ExpectLarge(db);
}

TEST(RefilterKeyHashes, AnotherFilterKeyNeedsTheKeys) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  const RefilterInfo info = RefilterOrFail(db, {.filter_key = "prefix:8"});
  EXPECT_GT(info.bytes_read, TableBytes(db) * 9 / 10);
  ExpectLarge(db);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
  // The table's own key again, in a filter that it does not have.
  const RefilterInfo back = RefilterOrFail(db, {.filter = kNewFilter, .filter_key = "whole"});
  EXPECT_LT(back.bytes_read, TableBytes(db) / 50);
  ExpectLarge(db);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
}

// Look-ups hash with the database's seed, and an ingested table has its own.
TEST(RefilterKeyHashes, OfAnIngestedTableAreOfAnotherSeed) {
  MemoryDb db(SmallFiles());
  Options outside;
  outside.compression = Compression::kNone;
  auto writer = SstWriter::Create(outside, "/outside.sst", &db.file_system());
  ASSERT_TRUE(writer.ok()) << writer.status();
  for (int i = 0; i < kLargeKeys; i++) {
    ASSERT_TRUE((*writer)->Put(KeyAt(2 * i), LargeValue(i)).ok());
  }
  ASSERT_TRUE((*writer)->Finish().ok());
  ASSERT_TRUE(db->Ingest({{.path = "/outside.sst"}}, {}).ok());
  EXPECT_EQ(TablesWithHashes(db), 1u);
  const RefilterInfo info = RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_GT(info.bytes_read, TableBytes(db) * 9 / 10);
  ExpectLarge(db);
  EXPECT_LT(FalsePositives(*db), 20u);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
}

TEST(RefilterKeyHashes, AnOptionSaysWhichTablesHaveThem) {
  MemoryDb db(SmallFiles());
  Fill(db);
  EXPECT_EQ(TablesWithHashes(db), 0u) << "values of 67 bytes";
  ASSERT_TRUE(db->SetOption("key_hashes_ratio", "1").ok());
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetOption("key_hashes_ratio", "1.01")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetOption("key_hashes_ratio", "-0.1")));
  EXPECT_TRUE(absl::IsInvalidArgument(db->SetOption("key_hashes_ratio", "nan")));
  for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), ValueAt(i));
  db.CompactAll();
  EXPECT_EQ(TablesWithHashes(db), FilesNamed(db, ".sst").size());
  ExpectAllKeys(db);
  EXPECT_THAT(VerifyMessages(*db), IsEmpty());
}

TEST(RefilterKeyHashes, ARepairedTableHasThemAgain) {
  MemoryDb db(SmallFiles());
  FillWithLarge(db);
  db.CloseDb();
  auto tables = BytesOf(db, ".sst");
  auto& [name, bytes] = *tables.begin();
  // The footer is gone, so that the properties have to say where all lies.
  bytes.resize(bytes.size() - 100);
  Overwrite(db, name, bytes);
  const auto report = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(report.ok()) << report.status();
  db.Reopen();
  ExpectLarge(db);
  EXPECT_EQ(TablesWithHashes(db), FilesNamed(db, ".sst").size());
  const DataReads reads(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  EXPECT_EQ(reads.num(), 0u);
}

}  // namespace
}  // namespace winnow::refilter
