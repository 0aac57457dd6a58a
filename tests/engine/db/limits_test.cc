// Each limit that options.h and README.md state: at it all is well, beyond it a clear error, and
// the database goes on. WINNOW_LONG_TESTS=1 also builds a write batch of 2 GiB and a database of a
// million SSTables.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/column_family/column_family_state.h"
#include "engine/sstable/sstable_builder.h"
#include "engine/version/current_file.h"
#include "engine/version/file_names.h"
#include "engine/version/manifest_file.h"
#include "engine/version/version_set.h"
#include "tests/support/db_fixture.h"
#include "tests/support/sstable_metadata.h"
#include "tests/support/verify_messages.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

// Address space without memory behind it, for sizes that must be refused before a byte is read.
class Reserved {
 public:
  explicit Reserved(size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    EXPECT_NE(data_, MAP_FAILED);
  }
  ~Reserved() { munmap(data_, bytes_); }
  std::string_view view() const { return {static_cast<const char*>(data_), bytes_}; }

 private:
  const size_t bytes_;
  void* const data_;
};

void ExpectRefused(const absl::Status& status, std::string_view what) {
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), absl::string_view(what.data(), what.size())))
      << status;
}

TEST(Limits, AKeyOrValueThatIsTooLargeIsRefusedBeforeItIsRead) {
  MemoryDb db;
  const Reserved key(kMaxKeyBytes + 1);
  const Reserved value(kMaxValueBytes + 1);
  ExpectRefused(db->Put(WriteOptions(), key.view(), "value"), "limit of 1048576 bytes");
  ExpectRefused(db->Put(WriteOptions(), "key", value.view()), "limit of 1073741824 bytes");
  ExpectRefused(db->Delete(WriteOptions(), key.view()), "limit of 1048576 bytes");
  db.Put("key", "goes on");
  EXPECT_EQ(db.Get("key"), "goes on");
}

TEST(Limits, ABatchWithOneKeyTooLargeIsRefusedWhole) {
  MemoryDb db;
  WriteBatch batch;
  batch.Put("small", "value");
  batch.Put(std::string(kMaxKeyBytes + 1, 'k'), "value");
  ExpectRefused(db->Write(WriteOptions(), batch), "limit of 1048576 bytes");
  EXPECT_EQ(db.Get("small"), "(absent)");
}

TEST(Limits, AValueOfManyMebibytesIsStoredAndFound) {
  MemoryDb db;
  const std::string value(size_t{40} << 20, 'v');
  db.Put(std::string(kMaxKeyBytes, 'k'), value);
  db.CompactAll();
  db.Reopen();
  EXPECT_TRUE(db.Get(std::string(kMaxKeyBytes, 'k')) == value);
}

TEST(Limits, ABatchIsRefusedAboveTwoGibibytes) {
  if (!LongTests()) GTEST_SKIP() << "takes 4 GiB of memory";
  MemoryDb db;
  WriteBatch batch;
  const std::string value(size_t{256} << 20, 'v');
  for (int i = 0; i < 8; i++) batch.Put(absl::StrCat("key", i), value);
  ASSERT_GT(batch.size_bytes(), kMaxBatchBytes);
  ExpectRefused(db->Write(WriteOptions(), batch), "over the limit");
  db.Put("key", "goes on");
  EXPECT_EQ(db.Get("key0"), "(absent)");
}

TEST(Limits, ColumnFamiliesAreManyButNotWithoutEnd) {
  MemoryDb db;
  ColumnFamilyOptions options = MemoryDb::Quiet();
  options.write_buffer_bytes = size_t{64} << 10;
  std::vector<ColumnFamily*> families;
  while (families.size() + 1 < kMaxColumnFamilies) {
    const auto created = db->CreateColumnFamily(options, absl::StrCat("family", families.size()));
    ASSERT_TRUE(created.ok()) << created.status() << " after " << families.size();
    families.push_back(*created);
  }
  const absl::Status refused = db->CreateColumnFamily(options, "one more").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_TRUE(absl::StrContains(refused.message(), absl::StrCat(kMaxColumnFamilies))) << refused;
  // Those that are there work, and one that goes makes room.
  ASSERT_TRUE(db->Put(WriteOptions(), families.back(), "key", "value").ok());
  ASSERT_TRUE(db->DropColumnFamily(families.front()).ok());
  EXPECT_TRUE(db->CreateColumnFamily(options, "one more").ok());
  db.options().write_buffer_bytes = options.write_buffer_bytes;
  db.Reopen();
  EXPECT_EQ(db->ColumnFamilies().size(), kMaxColumnFamilies);
  std::string value;
  const auto last = db->FindColumnFamily(absl::StrCat("family", families.size() - 1));
  ASSERT_TRUE(last.ok());
  EXPECT_TRUE(db->Get(ReadOptions(), *last, "key", &value).ok());
}

TEST(Limits, AColumnFamilysNameHasBounds) {
  MemoryDb db;
  const ColumnFamilyOptions options = MemoryDb::Quiet();
  ExpectRefused(db->CreateColumnFamily(options, "").status(), "1 to 255 bytes");
  ExpectRefused(db->CreateColumnFamily(options, std::string(256, 'n')).status(), "1 to 255 bytes");
  EXPECT_TRUE(db->CreateColumnFamily(options, std::string(255, 'n')).ok());
}

TEST(Limits, ThousandsOfTinyTablesAreReadVerifiedAndCompacted) {
  constexpr int kTables = 4000;
  Options options = MemoryDb::Quiet();
  options.write_buffer_bytes = size_t{64} << 10;
  options.level0_slowdown_trigger = options.level0_stop_trigger = 1 << 20;
  MemoryDb db(options);
  const auto key = [](int i) { return absl::StrCat("key", i * 7919 % kTables); };
  for (int i = 0; i < kTables; i++) {
    db.Put(key(i), absl::StrCat(i));
    db.Put("the same", absl::StrCat(i));
    db.Flush();
  }
  const auto check = [&](int tables) {
    ASSERT_EQ(db->GetProperty("winnow.num-files-at-level0").value(), absl::StrCat(tables));
    for (int i = 0; i < kTables; i += 37) EXPECT_EQ(db.Get(key(i)), absl::StrCat(i));
    EXPECT_EQ(db.Get("absent"), "(absent)");
    EXPECT_EQ(db.Get("the same"), absl::StrCat(kTables - 1));
    int entries = 0;
    const auto iterator = db->NewIterator(ReadOptions());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) entries++;
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
    EXPECT_EQ(entries, kTables + 1);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  };
  check(kTables);
  db.Reopen();
  check(kTables);
  db.CompactAll();
  check(0);
}

// Each table once moved to the last level as it was, and stayed there for good.
TEST(Limits, SmallTablesInOrderAreMergedAFewTimesEach) {
  constexpr int kTables = 400;
  MemoryDb db([] {
    Options options = MemoryDb::Quiet();
    options.disable_auto_compactions = false;
    return options;
  }());
  for (const bool ascending : {true, false}) {
    for (int i = 0; i < kTables; i++) {
      db.Put(absl::StrFormat("%d%04d", ascending, ascending ? i : kTables - i),
             std::string(2000, 'v'));
      db.Flush();
    }
  }
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  int tables = 0;
  for (int level = 0; level < kNumLevels; level++) {
    tables += std::stoi(*db->GetProperty(absl::StrCat("winnow.num-files-at-level", level)));
  }
  EXPECT_LE(tables, 30);
  const Statistics statistics = db->GetStatistics();
  EXPECT_LE(statistics.Get(Ticker::kCompactionBytesWritten),
            10 * statistics.Get(Ticker::kFlushBytesWritten));
  db.CompactAll();
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level6"), "1");
}

class ComparisonCounter final : public Comparator {
 public:
  std::string_view Name() const override { return "test.counting"; }
  int Compare(std::string_view a, std::string_view b) const override {
    count_.fetch_add(1, std::memory_order_relaxed);
    return a.compare(b);
  }
  size_t TakeCount() const { return count_.exchange(0); }

 private:
  mutable std::atomic<size_t> count_{0};
};

// Each write once looked for a compaction that would make level 0 smaller, although none was to
// come: with 20,000 tables there, for milliseconds.
TEST(Limits, WithoutAutomaticCompactionsWritesDoNotLookThroughLevelZero) {
  constexpr int kTables = 100;
  const ComparisonCounter comparator;
  Options options = MemoryDb::Quiet();
  options.comparator = &comparator;
  MemoryDb db(options);
  for (int i = 0; i < kTables; i++) {
    db.Put(absl::StrFormat("%06d", i), "value");
    db.Flush();
  }
  comparator.TakeCount();
  for (int i = 0; i < kTables; i++) db.Put(absl::StrFormat("key%06d", i), "value");
  EXPECT_LT(comparator.TakeCount(), 100u * kTables) << "what a memtable of few keys takes";
  EXPECT_EQ(*db->GetProperty("winnow.num-files-at-level0"), absl::StrCat(kTables));
}

// Adds `count` tables of one key each, "tiny0000000" and on, to the last level of a closed
// database.
void AddTinyTables(FileSystem& file_system, const std::string& directory, uint64_t count) {
  const SstableStore store = {&file_system, directory, nullptr};
  DatabaseMutex mutex;
  const auto number = ReadCurrentFile(file_system, directory);
  ASSERT_TRUE(number.ok()) << number.status();
  auto readable =
      VersionSet(store, &mutex).ReadState(ManifestFileName(directory, *number), *number);
  ASSERT_TRUE(readable.ok()) << readable.status();
  VersionEdit* const state = &readable->state;
  SstableBuilderOptions options;
  options.hash_seed = *state->hash_seed;
  options.filter_spec = *filter::ParseFilterSpec(kDefaultFilter);
  options.column_family_name = "default";
  for (uint64_t i = 0; i < count; i++) {
    const uint64_t table_number = (*state->next_file_number)++;
    const std::string path = SstableFileName(directory, table_number);
    SstableBuilder builder(options, *file_system.Create(path, {}), path);
    const std::string key = absl::StrFormat("tiny%07d", i);
    const absl::Status added = builder.Add(
        MakeInternalKey(key, ++*state->last_sequence, EntryType::kPut), absl::StrCat(i));
    ASSERT_TRUE(added.ok()) << added;
    const auto table = builder.Finish();
    ASSERT_TRUE(table.ok()) << table.status();
    state->families[0].added.push_back({kNumLevels - 1, MetadataOf(table_number, *table)});
  }
  const uint64_t manifest_number = (*state->next_file_number)++;
  const absl::Status written = WriteManifest(file_system, directory, manifest_number, *state);
  ASSERT_TRUE(written.ok()) << written;
  ASSERT_TRUE(WriteCurrentFile(file_system, directory, manifest_number).ok());
}

// The next one would be 0, the id of "default".
TEST(Limits, IdsOfFamiliesThatHaveAllBeenUsedNeverBeginAgain) {
  MemoryDb db;
  db.Put("key", "value");
  db.CloseDb();
  const uint64_t number = *ReadCurrentFile(db.file_system(), MemoryDb::kPath);
  DatabaseMutex mutex;
  auto readable = VersionSet({&db.file_system(), MemoryDb::kPath, nullptr}, &mutex)
                      .ReadState(ManifestFileName(MemoryDb::kPath, number), number);
  ASSERT_TRUE(readable.ok()) << readable.status();
  VersionEdit& state = readable->state;
  state.largest_family_id = kFamilyIdLimit - 1;
  const uint64_t next = (*state.next_file_number)++;
  ASSERT_TRUE(WriteManifest(db.file_system(), MemoryDb::kPath, next, state).ok());
  ASSERT_TRUE(WriteCurrentFile(db.file_system(), MemoryDb::kPath, next).ok());
  db.Reopen();
  const absl::Status refused = db->CreateColumnFamily(ColumnFamilyOptions(), "another").status();
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_EQ(db.Get("key"), "value");
  db.Reopen();
  EXPECT_EQ(db.Get("key"), "value");
}

// Made file by file: at the least size of a file, 64 KiB, writing as many would take 64 GB.
TEST(Limits, AMillionTinyTablesAreOpenedReadVerifiedWrittenToAndCompacted) {
  const uint64_t tables = LongTests() ? 1'000'000 : 10'000;
  MemoryDb db;
  db.Put("first", "value");
  db.CloseDb();
  AddTinyTables(db.file_system(), MemoryDb::kPath, tables);
  db.Reopen();
  const auto check = [&] {
    for (uint64_t i = 0; i < tables; i += 997) {
      EXPECT_EQ(db.Get(absl::StrFormat("tiny%07d", i)), absl::StrCat(i));
      EXPECT_EQ(db.Get(absl::StrFormat("tiny%07d?", i)), "(absent)");
    }
    EXPECT_EQ(db.Get("first"), "value");
    uint64_t entries = 0;
    const auto iterator = db->NewIterator(ReadOptions());
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) entries++;
    EXPECT_TRUE(iterator->status().ok()) << iterator->status();
    EXPECT_EQ(entries, tables + 1);
  };
  const auto num_tables = [&] {
    const auto property = absl::StrCat("winnow.num-files-at-level", kNumLevels - 1);
    return db->GetProperty(property).value();
  };
  EXPECT_EQ(num_tables(), absl::StrCat(tables));
  check();
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  for (int i = 0; i < 10; i++) {
    db.Put("first", "overwritten");
    db.Put("first", "value");
    db.Flush();
  }
  check();
  db.CompactAll();
  EXPECT_EQ(num_tables(), "1");
  check();
  db.Reopen();
  check();
}

// Lowers the number of files that this process may have open.
class FewFileDescriptors {
 public:
  explicit FewFileDescriptors(rlim_t most) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit fewer = {most, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &fewer), 0);
  }
  ~FewFileDescriptors() { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before_), 0); }

 private:
  rlimit before_{};
};

// Each table once kept its file open for as long as it lived.
TEST(Limits, TablesNeedNoMoreDescriptorsThanTheProcessHas) {
  std::string pattern = (std::filesystem::temp_directory_path() / "winnow-limits-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  const FewFileDescriptors few(40);
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 0;
  auto db = OpenOrFail(options, pattern + "/db");
  for (int i = 0; i < 50; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), absl::StrFormat("key%03d", i), absl::StrCat(i)).ok());
    const absl::Status status = db->Flush();
    ASSERT_TRUE(status.ok()) << status;
  }
  for (const bool reopen : {false, true}) {
    if (reopen) {
      EXPECT_TRUE(db->Close().ok());
      db.reset();
      db = OpenOrFail(options, pattern + "/db");
    }
    std::string value;
    for (int i = 0; i < 50; i++) {
      ASSERT_TRUE(db->Get(ReadOptions(), absl::StrFormat("key%03d", i), &value).ok());
      EXPECT_EQ(value, absl::StrCat(i));
    }
    const std::string open = db->GetProperty("winnow.num-open-files").value();
    EXPECT_LE(std::stoi(open), 20);
    EXPECT_GE(std::stoi(open), 1);
  }
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  EXPECT_TRUE(db->Close().ok());
  db.reset();
  // Without a manifest all tables are merged.
  for (const auto& entry : std::filesystem::directory_iterator(pattern + "/db")) {
    const std::string name = entry.path().filename().string();
    if (name == "CURRENT" || name.starts_with("MANIFEST")) std::filesystem::remove(entry);
  }
  const auto report = RepairDatabase(options, pattern + "/db");
  ASSERT_TRUE(report.ok()) << report.status();
  db = OpenOrFail(options, pattern + "/db");
  std::string value;
  EXPECT_TRUE(db->Get(ReadOptions(), "key049", &value).ok());
  EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  EXPECT_TRUE(db->Close().ok());
  std::filesystem::remove_all(pattern);
}

// The rest of the program: takes what descriptors there are.
class DescriptorHoard {
 public:
  ~DescriptorHoard() {
    for (const int descriptor : taken_) close(descriptor);
  }
  void TakeAll() {
    for (int descriptor; (descriptor = open("/dev/null", O_RDONLY)) >= 0;) {
      taken_.push_back(descriptor);
    }
  }

 private:
  std::vector<int> taken_;
};

class Descriptors : public testing::Test {
 protected:
  Descriptors() {
    options_.write_buffer_bytes = size_t{64} << 10;
    options_.block_cache_bytes = 0;
    EXPECT_NE(mkdtemp(directory_.data()), nullptr);
    db_ = OpenOrFail(options_, directory_ + "/db");
  }
  ~Descriptors() override { std::filesystem::remove_all(directory_); }

  absl::Status WriteTable() {
    const absl::Status written = db_->Put(WriteOptions(), absl::StrCat("key", written_++), "value");
    return written.ok() ? db_->Flush() : written;
  }
  bool AllFound() {
    std::string value;
    for (int i = 0; i < written_; i++) {
      const absl::Status status = db_->Get(ReadOptions(), absl::StrCat("key", i), &value);
      EXPECT_TRUE(status.ok()) << i << ": " << status;
      if (!status.ok()) return false;
    }
    return true;
  }

  std::string directory_ =
      (std::filesystem::temp_directory_path() / "winnow-limits-XXXXXX").string();
  Options options_ = MemoryDb::Quiet();
  std::unique_ptr<DB> db_;
  int written_ = 0;
};

// Tables kept their files open, and a new log or table was refused.
TEST_F(Descriptors, OfTablesGoToNewFilesWhenThereAreNoOthers) {
  const FewFileDescriptors few(80);
  while (written_ < 30) ASSERT_TRUE(WriteTable().ok());
  DescriptorHoard hoard;
  hoard.TakeAll();
  while (written_ < 40) {
    const absl::Status status = WriteTable();
    ASSERT_TRUE(status.ok()) << status;
  }
  ASSERT_TRUE(db_->CreateColumnFamily(ColumnFamilyOptions(), "new").ok());
  EXPECT_TRUE(AllFound());
  EXPECT_TRUE(db_->Close().ok());
}

TEST_F(Descriptors, AreFewerThanWritesNeedAndReadsGoOnAndItHeals) {
  {
    const FewFileDescriptors few(60);
    DescriptorHoard hoard;
    while (written_ < 20) ASSERT_TRUE(WriteTable().ok());
    absl::Status status;
    while (written_ < 100 && status.ok()) {
      hoard.TakeAll();
      status = WriteTable();
    }
    EXPECT_LT(written_, 40);
    EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "Too many open files")) << status;
    EXPECT_TRUE(AllFound());
  }
  EXPECT_TRUE(db_->Flush().ok());
  EXPECT_TRUE(db_->Put(WriteOptions(), "key", "goes on").ok());
  EXPECT_TRUE(db_->Close().ok());
  {
    const FewFileDescriptors few(8);
    const absl::Status refused = DB::Open(options_, directory_ + "/db").status();
    EXPECT_TRUE(absl::StrContains(refused.message(), "Too many open files")) << refused;
  }
  db_ = OpenOrFail(options_, directory_ + "/db");
  EXPECT_TRUE(AllFound());
  EXPECT_TRUE(db_->Close().ok());
}

// A reader closed tables, as a writer does, which then removed them.
TEST(Limits, AReaderKeepsWhatTheWriterRemovesOrSaysWhatToDo) {
  const FewFileDescriptors few(64);
  constexpr int kTables = 40;
  Options options = MemoryDb::Quiet();
  options.block_cache_bytes = 0;
  MemoryDb writer(options);
  for (int i = 0; i < kTables; i++) {
    writer.Put(absl::StrFormat("key%03d", i), absl::StrCat(i));
    writer.Flush();
  }
  Options reading = writer.options();
  reading.read_only = true;
  const auto reader = OpenOrFail(reading, MemoryDb::kPath);
  reading.max_open_files = 16;
  const auto bounded = OpenOrFail(reading, MemoryDb::kPath);
  writer.CompactAll();

  std::string value;
  int aborted = 0;
  for (int i = 0; i < kTables; i++) {
    const std::string key = absl::StrFormat("key%03d", i);
    const absl::Status kept = reader->Get(ReadOptions(), key, &value);
    EXPECT_TRUE(kept.ok()) << kept;
    EXPECT_EQ(value, absl::StrCat(i));
    const absl::Status status = bounded->Get(ReadOptions(), key, &value);
    if (status.ok()) continue;
    aborted++;
    EXPECT_TRUE(absl::IsAborted(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "open it again")) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), "max_open_files")) << status;
  }
  EXPECT_GE(aborted, kTables - 16);
}

}  // namespace
}  // namespace winnow
