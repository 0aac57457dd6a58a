// DB::Refilter and what can be wrong: damaged filter files and tables, full disks; and copies,
// which have the filter files or do without.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/engine/db/refilter_database.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/verify_messages.h"
#include "winnow/backup.h"
#include "winnow/repair.h"

namespace winnow::refilter {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

void FillAndRefilter(MemoryDb& db) {
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
}

TEST(RefilterDamage, MakesAnotherFilterWhereTheTablesOwnIsDamaged) {
  MemoryDb db(SmallFiles());
  for (int i = 0; i < 100; i += 2) db.Put(KeyAt(i), "v");
  db.CompactAll();
  RefilterOrFail(db, {.filter = kNewFilter});
  db.CloseDb();
  auto tables = BytesOf(db, ".sst");
  ASSERT_EQ(tables.size(), 1u);
  std::string& bytes = tables.begin()->second;
  const size_t filter = bytes.find("WNWFILTR");
  ASSERT_NE(filter, std::string::npos);
  bytes[filter + 80] = static_cast<char>(bytes[filter + 80] ^ 1);
  Overwrite(db, tables.begin()->first, bytes);
  db.Reopen();
  const RefilterInfo info = RefilterOrFail(db, {.filter = "blocked_bloom:10"});
  EXPECT_EQ(info.files_refiltered, 1u);
  EXPECT_EQ(info.files_restored, 0u);
  EXPECT_GT(info.bytes_read, 0u);
  for (int i = 0; i < 100; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), 1u);
}

TEST(RefilterDamage, ADamagedFilterFileHidesNothingAndIsReported) {
  MemoryDb db(SmallFiles());
  for (int i = 0; i < 200; i += 2) db.Put(KeyAt(i), "v");
  db.CompactAll();
  RefilterOrFail(db, {.filter = kNewFilter});
  db.CloseDb();
  const auto filters = BytesOf(db, ".flt");
  ASSERT_EQ(filters.size(), 1u);
  const auto& [name, sound] = *filters.begin();
  const auto manifests = BytesOf(db, "");
  std::vector<std::string> damaged_forms = {"", sound.substr(0, sound.size() / 2), sound + "x"};
  for (size_t at = 0; at < sound.size(); at += at < 130 ? 1 : 17) {
    damaged_forms.push_back(sound);
    damaged_forms.back()[at] = static_cast<char>(sound[at] ^ 0x20);
  }
  damaged_forms.push_back("gone");
  for (const std::string& damaged : damaged_forms) {
    // The directory as it was: an opening gives the file up.
    db.CloseDb();
    for (const auto& [file, bytes] : manifests) {
      if (file != "LOCK") Overwrite(db, file, bytes);
    }
    Overwrite(db, name, damaged);
    if (damaged == "gone") {
      ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
    }
    db.options().read_only = true;
    db.Reopen();
    EXPECT_FALSE(VerifyMessages(*db).empty());
    db.options().read_only = false;
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    EXPECT_FALSE(VerifyMessages(*db).empty());
    EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), 1u);
    for (int i = 0; i < 200; i++) ASSERT_EQ(db.Get(KeyAt(i)), i % 2 == 0 ? "v" : "(absent)");
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  }
  RefilterOrFail(db, {});
  EXPECT_EQ(FilesWith(*db, kNewFilter), 1u);
}

// An error of the disk proves nothing of the file.
TEST(RefilterDamage, AFilterFileThatCannotBeReadNowIsReadByALaterOpening) {
  for (const char* const budget : {"0", "1M"}) {
    const auto memory = NewUnrecordedFileSystem();
    FaultFileSystem faults(memory.get(), 1);
    Options options = SmallFiles();
    options.file_system = &faults;
    options.filter = "blocked_bloom";
    auto db = OpenOrFail(options, "/db");
    for (int i = 0; i < 200; i += 2) ASSERT_TRUE(db->Put(WriteOptions(), KeyAt(i), "v").ok());
    ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
    ASSERT_TRUE(db->SetOption("filter_memory_budget", budget).ok());
    ASSERT_TRUE(db->Refilter({.filter = "ribbon"}).ok());
    options.filter = "ribbon";
    options.filter_memory_budget = *budget == '0' ? 0 : 1 << 20;
    using Kind = FileOperation::Kind;
    const struct {
      const char* what;
      FaultRule rule;
    } errors[] = {
        {"opening it", FaultRule::Error(InjectedIoError()).On({Kind::kOpenForReading}, "*.flt")},
        {"no descriptor",
         FaultRule::Error(InjectedDescriptorLimit()).On({Kind::kOpenForReading}, "*.flt")},
        {"its header", FaultRule::Error(InjectedIoError()).On({Kind::kRead}, "*.flt").From(0, 1)},
        {"its filter", FaultRule::Error(InjectedIoError()).On({Kind::kRead}, "*.flt").From(1)},
        {"a later unit", FaultRule::Error(InjectedIoError()).On({Kind::kRead}, "*.flt").From(2)},
    };
    for (const auto& error : errors) {
      SCOPED_TRACE(absl::StrCat(error.what, " under the budget ", budget));
      db.reset();
      const size_t rule = faults.Add(error.rule);
      db = OpenOrFail(options, "/db");
      const bool is_met = faults.fired(rule) > 0;
      EXPECT_TRUE(is_met || std::string_view(error.what) == "a later unit");
      EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), is_met ? 1u : 0u);
      EXPECT_EQ(FilesWith(*db, "ribbon"), is_met ? 0u : 1u);
      std::string value;
      for (int i = 0; i < 200; i++) {
        ASSERT_EQ(db->Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0);
      }
      db.reset();
      faults.Clear();
      db = OpenOrFail(options, "/db");
      EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
      EXPECT_EQ(FilesWith(*db, "ribbon"), 1u) << "it was given up";
      EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    }
  }
}

TEST(RefilterDamage, AFilterFileOfAnotherTableIsNotAsked) {
  MemoryDb db(SmallFiles());
  FillAndRefilter(db);
  db.CloseDb();
  const auto filters = BytesOf(db, ".flt");
  ASSERT_GE(filters.size(), 2u);
  const auto first = filters.begin();
  const auto second = std::next(first);
  Overwrite(db, first->first, second->second);
  Overwrite(db, second->first, first->second);
  db.Reopen();
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 2u);
  ExpectAllKeys(db);
}

// Whatever stands in the place of a filter file: its table is asked by its own filter, Verify names
// the file, and a repair keeps the table.
TEST(RefilterDamage, WhatIsNoFilterFileOfItsTableIsNamedAndRepaired) {
  MemoryDb other(SmallFiles());
  FillAndRefilter(other);
  const std::string foreign = BytesOf(other, ".flt").begin()->second;
  MemoryDb db(SmallFiles());
  FillAndRefilter(db);
  db.CloseDb();
  const auto filters = BytesOf(db, ".flt");
  ASSERT_GE(filters.size(), 2u);
  const std::string& name = filters.begin()->first;
  const std::string path = absl::StrCat(MemoryDb::kPath, "/", name);
  const auto before = BytesOf(db, "");
  const struct {
    const char* what;
    std::string bytes;  // empty: it is missing
  } kinds[] = {
      {"another table's", std::next(filters.begin())->second},
      {"another database's", foreign},
      {"text", "a filter"},
      {"a table", BytesOf(db, ".sst").begin()->second},
      {"missing", ""},
  };
  for (const auto& kind : kinds) {
    SCOPED_TRACE(kind.what);
    for (const auto& [file, bytes] : before) {
      if (file != "LOCK") Overwrite(db, file, bytes);
    }
    Overwrite(db, name, kind.bytes);
    if (kind.bytes.empty()) {
      ASSERT_TRUE(db.file_system().Remove(path).ok());
    }
    db.options().read_only = true;
    db.Reopen();
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 1u);
    const auto problems = db->Verify();
    ASSERT_TRUE(problems.ok()) << problems.status();
    ASSERT_EQ(problems->size(), 1u);
    EXPECT_EQ(problems->front().path, path);
    EXPECT_TRUE(absl::IsDataLoss(problems->front().status)) << problems->front().status;
    EXPECT_TRUE(absl::StrContains(problems->front().status.message(), name))
        << problems->front().status;
    EXPECT_EQ(FilesWith(*db, kNewFilter), filters.size() - 1);
    EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), 1u);
    ExpectAllKeys(db);
    db.CloseDb();
    db.options().read_only = false;
    const auto repaired = RepairDatabase(db.options(), MemoryDb::kPath);
    ASSERT_TRUE(repaired.ok()) << repaired.status();
    EXPECT_THAT(repaired->notes, Contains(HasSubstr(name)));
    db.Reopen();
    ExpectAllKeys(db);
    EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
    db.CloseDb();
    for (const std::string& left : FilesNamed(db, "")) {
      if (left != "LOCK" && left != "lost" && !before.contains(left)) {
        ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", left)).ok());
      }
    }
  }
}

// Named by no manifest, it is nobody's: removed as what a crash has left.
TEST(RefilterDamage, AFilterFileThatNobodyNamesIsRemoved) {
  MemoryDb db(SmallFiles());
  FillAndRefilter(db);
  db.CloseDb();
  const auto filters = BytesOf(db, ".flt");
  Overwrite(db, "000007.flt", filters.begin()->second);
  Overwrite(db, "999999.flt", "a filter");
  db.options().read_only = true;
  db.Reopen();
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  db.options().read_only = false;
  db.Reopen();
  EXPECT_EQ(BytesOf(db, ".flt"), filters);
  EXPECT_EQ(db->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  ExpectAllKeys(db);
}

TEST(RefilterDamage, CheckpointsAndBackupsHaveTheFilterFiles) {
  MemoryDb db(SmallFiles());
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  const size_t files = FilesNamed(db, ".flt").size();
  ASSERT_TRUE(db->Checkpoint("/copy").ok());
  const auto backup = db->BackupTo("/backups");
  ASSERT_TRUE(backup.ok()) << backup.status();
  const auto second = db->BackupTo("/backups");
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_LT(second->new_bytes, backup->new_bytes / 10);
  const auto verified = VerifyBackup(db.options(), "/backups", 0);
  ASSERT_TRUE(verified.ok());
  EXPECT_TRUE(verified->empty());
  ASSERT_TRUE(RestoreBackup(db.options(), "/backups", 0, "/restored").ok());
  // What the copies are of goes on changing.
  RefilterOrFail(db, {.filter = "cuckoo:12"});
  for (const char* copy : {"/copy", "/restored"}) {
    SCOPED_TRACE(copy);
    EXPECT_EQ(FilesNamed(db, ".flt", copy).size(), files);
    const auto copied = OpenOrFail(db.options(), copy);
    EXPECT_EQ(FilesWith(*copied, kNewFilter), files);
    EXPECT_EQ(VerifyMessages(*copied), std::vector<std::string>());
    std::string value;
    for (int i = 0; i < kNumKeys; i++) {
      ASSERT_EQ(copied->Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0);
    }
  }
}

TEST(RefilterDamage, ADamagedFilterFileMakesNoBackup) {
  MemoryDb db(SmallFiles());
  Fill(db);
  RefilterOrFail(db, {.filter = kNewFilter});
  auto filters = BytesOf(db, ".flt");
  std::string& bytes = filters.begin()->second;
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  Overwrite(db, filters.begin()->first, bytes);
  const auto backup = db->BackupTo("/backups");
  EXPECT_TRUE(absl::IsDataLoss(backup.status())) << backup.status();
  EXPECT_TRUE(absl::StrContains(backup.status().message(), filters.begin()->first));
}

TEST(RefilterDamage, RepairDoesWithoutFilterFiles) {
  MemoryDb db(SmallFiles());
  FillAndRefilter(db);
  db.CloseDb();
  for (const std::string& name : FilesNamed(db, "")) {
    if (name.starts_with("MANIFEST-") || name == "CURRENT") {
      ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", name)).ok());
    }
  }
  const std::vector<std::string> filters = FilesNamed(db, ".flt");
  ASSERT_FALSE(filters.empty());
  const auto repaired = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_THAT(repaired->notes,
              Contains(HasSubstr(filters.front() + ": a filter that no SSTable in use has")));
  db.Reopen();
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  EXPECT_EQ(FilesNamed(db, ".flt"), std::vector<std::string>());
  EXPECT_EQ(FilesNamed(db, ".flt", absl::StrCat(MemoryDb::kPath, "/lost")), filters);
}

TEST(RefilterDamage, RepairSaysWhichFilterFilesItGivesUp) {
  MemoryDb db(SmallFiles());
  FillAndRefilter(db);
  db.CloseDb();
  auto filters = BytesOf(db, ".flt");
  ASSERT_GE(filters.size(), 3u);
  const std::string damaged = filters.begin()->first;
  const std::string gone = filters.rbegin()->first;
  std::string bytes = filters[damaged];
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  Overwrite(db, damaged, bytes);
  ASSERT_TRUE(db.file_system().Remove(absl::StrCat(MemoryDb::kPath, "/", gone)).ok());
  const auto repaired = RepairDatabase(db.options(), MemoryDb::kPath);
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  for (const std::string& name : {damaged, gone}) {
    EXPECT_THAT(repaired->notes,
                Contains(AllOf(HasSubstr(name), HasSubstr(".sst answers with its own filter"))));
  }
  EXPECT_EQ(FilesNamed(db, ".flt", absl::StrCat(MemoryDb::kPath, "/lost")),
            std::vector<std::string>({damaged}));
  EXPECT_THAT(RepairDatabase(db.options(), MemoryDb::kPath)->notes, IsEmpty());
  db.Reopen();
  ExpectAllKeys(db);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  EXPECT_EQ(FilesNamed(db, ".flt").size(), filters.size() - 2);
}

TEST(RefilterDamage, ADamagedTableKeepsItsFilterAndAllOthersGetTheNewOne) {
  MemoryDb db(SmallFiles());
  Fill(db);
  db.CloseDb();
  auto tables = BytesOf(db, ".sst");
  std::string& bytes = tables.begin()->second;
  bytes[bytes.size() / 3] = static_cast<char>(bytes[bytes.size() / 3] ^ 1);
  Overwrite(db, tables.begin()->first, bytes);
  db.Reopen();
  const auto info = db->Refilter({.filter = kNewFilter});
  EXPECT_TRUE(absl::IsDataLoss(info.status())) << info.status();
  EXPECT_TRUE(absl::StrContains(info.status().message(), tables.begin()->first));
  EXPECT_EQ(FilesWith(*db, kNewFilter), tables.size() - 1);
  EXPECT_EQ(FilesWith(*db, "blocked_bloom:10"), 1u);
}

TEST(RefilterDamage, ATableThatCannotBeOpenedIsCountedAndTold) {
  MemoryDb db(SmallFiles());
  Fill(db);
  db.CloseDb();
  const auto tables = BytesOf(db, ".sst");
  const auto& [path, bytes] = *tables.begin();
  Overwrite(db, path, bytes.substr(0, bytes.size() - 1));
  db.Reopen();
  for (int i = 0; i < 2; i++) {
    RefilterInfo last;
    RefilterOptions options;
    options.filter = kNewFilter;
    options.on_progress = [&last](const RefilterInfo& so_far) {
      last = so_far;
      return true;
    };
    const absl::Status status = db->Refilter(options).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_TRUE(absl::StrContains(status.message(), path)) << status;
    EXPECT_EQ(last.files_damaged, 1u);
    EXPECT_EQ(last.files_current, i == 0 ? 0 : tables.size() - 1);
    EXPECT_EQ(FilesWith(*db, kNewFilter), tables.size() - 1);
  }
}

// Back to the tables' own filters, which cost nothing; else what cannot be read would be asked
// again by whoever can.
TEST(RefilterDamage, AFilterFileThatCannotBeReadNowIsTakenAway) {
  for (const char* const filter : {"blocked_bloom:10", "ribbon"}) {
    const auto memory = NewUnrecordedFileSystem();
    FaultFileSystem faults(memory.get(), 1);
    Options options = SmallFiles();
    options.file_system = &faults;
    options.filter = "blocked_bloom:10";
    auto db = OpenOrFail(options, "/db");
    for (int i = 0; i < 200; i += 2) ASSERT_TRUE(db->Put(WriteOptions(), KeyAt(i), "v").ok());
    ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
    ASSERT_TRUE(db->Refilter({.filter = "ribbon"}).ok());
    db.reset();
    options.filter = "ribbon";
    faults.Add(
        FaultRule::Error(InjectedIoError()).On({FileOperation::Kind::kOpenForReading}, "*.flt"));
    db = OpenOrFail(options, "/db");
    EXPECT_EQ(FilesWith(*db, "ribbon"), 0u);
    faults.Clear();
    const auto info = db->Refilter({.filter = filter});
    ASSERT_TRUE(info.ok()) << info.status();
    EXPECT_EQ(info->files_refiltered, 1u);
    db.reset();
    options.filter.clear();
    db = OpenOrFail(options, "/db");
    EXPECT_EQ(FilesWith(*db, filter), 1u);
    EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  }
}

TEST(RefilterDamage, AFullDiskKeepsTheOldFiltersAndLeavesNoFiles) {
  const auto memory = NewUnrecordedFileSystem();
  FaultFileSystem faults(memory.get(), 1);
  Options options = SmallFiles();
  options.file_system = &faults;
  auto db = OpenOrFail(options, "/db");
  for (int i = 0; i < 2000; i += 2) {
    ASSERT_TRUE(db->Put(WriteOptions(), KeyAt(i), ValueAt(i)).ok());
  }
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  // At each append to a filter file and to the manifest in turn.
  for (const char* pattern : {"*.flt", "*/MANIFEST-*"}) {
    for (uint64_t first = 0; first < 3; first++) {
      SCOPED_TRACE(absl::StrCat(pattern, " from ", first));
      const size_t rule = faults.Add(FaultRule::Error(InjectedFullDisk())
                                         .On({FileOperation::Kind::kAppend}, pattern)
                                         .From(first));
      const auto info = db->Refilter({.filter = "cuckoo:12"});
      faults.Clear();
      if (faults.fired(rule) > 0) {
        EXPECT_TRUE(absl::IsResourceExhausted(info.status())) << info.status();
      }
      ASSERT_TRUE(db->Put(WriteOptions(), "after", "1").ok());
      std::string value;
      for (int i = 0; i < 2000; i++) {
        ASSERT_EQ(db->Get(ReadOptions(), KeyAt(i), &value).ok(), i % 2 == 0);
      }
      const auto done = db->Refilter({.filter = "cuckoo:12"});
      ASSERT_TRUE(done.ok()) << done.status();
      EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
      const auto back = db->Refilter({.filter = "blocked_bloom:10"});
      ASSERT_TRUE(back.ok()) << back.status();
      size_t left = 0;
      const std::vector<std::string> names = *memory->List("/db");
      for (const std::string& name : names) left += name.ends_with(".flt") ? 1 : 0;
      EXPECT_EQ(left, 0u);
    }
  }
}

}  // namespace
}  // namespace winnow::refilter
