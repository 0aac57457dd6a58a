// What opening leaves behind, in the parts of a database and on disk, without the database around
// it.
#include "engine/db/database_opener.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "engine/version/file_names.h"
#include "tests/support/db_fixture.h"
#include "winnow/memory_file_system.h"
#include "winnow/repair.h"

namespace winnow {
namespace {

// The parts that opening fills.
struct Parts {
  Parts(const Options& given, FileSystem* file_system)
      : options(given),
        versions({file_system, "/db", nullptr}, &mutex),
        logs(file_system, "/db"),
        scheduler(&mutex, &events, &recorder, [] {}),
        live_options(given),
        leader({&live_options, &mutex, &queue, &logs, &versions, &families, &scheduler, &events,
                &recorder}),
        opener({&options, "/db", file_system, &mutex, &queue, &versions, &logs, &families, &leader,
                [](bool) { return absl::OkStatus(); }}) {}

  const Options options;
  EventQueue events{{}};
  Recorder recorder;
  DatabaseMutex mutex;
  VersionSet versions;
  LogSet logs;
  ColumnFamilySet families;
  WriteQueue queue;
  BackgroundScheduler scheduler;
  LiveOptions live_options;
  WriteLeader leader;
  DatabaseOpener opener;
};

class DatabaseOpenerTest : public testing::Test {
 protected:
  bool Exists(const std::string& path) { return *file_system_->Exists(path); }

  const std::unique_ptr<FileSystem> file_system_ = NewMemoryFileSystem();
};

TEST_F(DatabaseOpenerTest, CreatesADatabaseThatCanBeWrittenAtOnce) {
  Parts parts(Options(), file_system_.get());
  ASSERT_TRUE(parts.opener.Open().ok());
  EXPECT_NE(parts.opener.TakeLock(), nullptr);
  EXPECT_TRUE(parts.opener.notes().empty());
  EXPECT_TRUE(Exists(CurrentFileName("/db")));
  EXPECT_TRUE(Exists(LogFileName("/db", parts.logs.current_number())));
  ASSERT_NE(parts.families.default_family(), nullptr);
  EXPECT_EQ(parts.families.default_family()->active_for_insert()->log_number(), Memtable::kNoLog)
      << "nothing has been written that a log must keep";
  EXPECT_EQ(parts.leader.visible_sequence(), 0u);
}

// Whoever makes one finds it again, and the database as well. It stopped every opening.
TEST_F(DatabaseOpenerTest, DirectoriesOfFilesNamesAreLeftAlone) {
  Options options;
  options.file_system = file_system_.get();
  ASSERT_TRUE(OpenOrFail(options, "/db")->Put(WriteOptions(), "key", "value").ok());
  const std::vector<std::string> directories = {LogFileName("/db", 90), SstableFileName("/db", 91),
                                                ManifestFileName("/db", 92)};
  for (const std::string& directory : directories) {
    ASSERT_TRUE(file_system_->CreateDirectories(directory).ok());
  }
  {
    Parts parts(Options(), file_system_.get());
    ASSERT_TRUE(parts.opener.Open().ok());
    ASSERT_EQ(parts.opener.notes().size(), 1u) << "of logs, which are looked for";
    EXPECT_TRUE(absl::StrContains(parts.opener.notes()[0], directories[0]));
    EXPECT_TRUE(parts.opener.losses().empty());
    EXPECT_GT(parts.versions.NewFileNumber(), 92u);
  }
  options.recovery_mode = RecoveryMode::kSalvage;
  ASSERT_TRUE(OpenOrFail(options, "/db")->Close().ok());
  const auto repaired = RepairDatabase(options, "/db");
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  std::string value;
  EXPECT_TRUE(OpenOrFail(options, "/db")->Get(ReadOptions(), "key", &value).ok());
  ASSERT_TRUE(file_system_->Remove(CurrentFileName("/db")).ok());
  EXPECT_TRUE(RepairDatabase(options, "/db").ok());
  EXPECT_TRUE(OpenOrFail(options, "/db")->Get(ReadOptions(), "key", &value).ok());
  for (const std::string& directory : directories) EXPECT_TRUE(Exists(directory)) << directory;
  ASSERT_TRUE(DB::Destroy(options, "/db").ok());
  EXPECT_FALSE(Exists(CurrentFileName("/db")));
  for (const std::string& directory : directories) EXPECT_TRUE(Exists(directory)) << directory;
  // A new database in the same place.
  EXPECT_TRUE(OpenOrFail(options, "/db")->Put(WriteOptions(), "key", "value").ok());
}

TEST_F(DatabaseOpenerTest, ReplaysLogsIntoSstablesAndRemovesOrphans) {
  {
    Options options;
    options.file_system = file_system_.get();
    auto db = *DB::Open(options, "/db");
    for (int i = 0; i < 100; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), db->DefaultColumnFamily(), std::to_string(i), "v").ok());
    }
  }
  const std::string orphan = SstableFileName("/db", 4711);
  { auto file = *file_system_->Create(orphan, {}); }
  Parts parts(Options(), file_system_.get());
  ASSERT_TRUE(parts.opener.Open().ok());
  EXPECT_EQ(parts.leader.visible_sequence(), 100u);
  EXPECT_EQ(parts.families.default_family()->version()->num_files(0), 1u);
  EXPECT_TRUE(parts.families.default_family()->active().empty());
  EXPECT_FALSE(Exists(orphan));
  EXPECT_GT(parts.versions.NewFileNumber(), 4711u) << "an orphan's number is not used again";
}

TEST_F(DatabaseOpenerTest, AReaderTakesNoLockAndWritesNothing) {
  {
    Options options;
    options.file_system = file_system_.get();
    auto db = *DB::Open(options, "/db");
    ASSERT_TRUE(db->Put(WriteOptions(), db->DefaultColumnFamily(), "key", "v").ok());
  }
  const auto before = *file_system_->List("/db");
  Options options;
  options.read_only = true;
  Parts parts(options, file_system_.get());
  ASSERT_TRUE(parts.opener.Open().ok());
  EXPECT_EQ(parts.opener.TakeLock(), nullptr);
  EXPECT_EQ(parts.families.default_family()->active().num_entries(), 1u);
  EXPECT_EQ(*file_system_->List("/db"), before);
}

TEST_F(DatabaseOpenerTest, RefusesWhatTheOptionsForbid) {
  Options options;
  options.create_if_missing = false;
  EXPECT_TRUE(absl::IsNotFound(Parts(options, file_system_.get()).opener.Open()));
  EXPECT_FALSE(Exists("/db"));
  ASSERT_TRUE(Parts(Options(), file_system_.get()).opener.Open().ok());
  options.error_if_exists = true;
  EXPECT_TRUE(absl::IsAlreadyExists(Parts(options, file_system_.get()).opener.Open()));
  Options strange;
  strange.column_families["absent"] = ColumnFamilyOptions();
  EXPECT_TRUE(absl::IsNotFound(Parts(strange, file_system_.get()).opener.Open()));
}

}  // namespace
}  // namespace winnow
