// winnow_bench --replay: the recorded calls are made again, on a copy of the traced database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/shell_command.h"
#include "winnow/db.h"
#include "winnow/write_batch.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;

class ReplayTest : public ::testing::Test {
 protected:
  ReplayTest() {
    std::string name = ::testing::TempDir() + "winnow_replay_XXXXXX";
    directory_ = mkdtemp(name.data());
  }
  ~ReplayTest() override { std::filesystem::remove_all(directory_); }

  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }

  // Of a database with keys 0 to 99, whose copy is where the benchmark looks for it: 40 look-ups by
  // Get and 40 by MultiGet, half of them of keys that are there, 10 seeks, 5 deletions, 6 puts.
  void Record(const TraceOptions& trace, bool in_other_family = false) {
    Options options;
    options.create_if_missing = true;
    const std::unique_ptr<DB> db = *DB::Open(options, PathOf("traced"));
    ColumnFamily* family = db->DefaultColumnFamily();
    if (in_other_family) family = *db->CreateColumnFamily(ColumnFamilyOptions(), "other");
    for (int i = 0; i < 100; i++) Check(db->Put(WriteOptions(), family, KeyAt(i), "v"));
    Check(db->Checkpoint(PathOf("winnow")));
    Check(db->StartTrace(trace, PathOf("calls.trace")));
    std::string value;
    for (int i = 80; i < 120; i++) (void)db->Get(ReadOptions(), family, KeyAt(i), &value);
    for (int i = 80; i < 120; i += 8) {
      std::vector<std::string> keys;
      for (int k = 0; k < 8; k++) keys.push_back(KeyAt(i + k));
      const std::vector<std::string_view> views(keys.begin(), keys.end());
      std::vector<PinnedValue> values(8);
      std::vector<absl::Status> statuses(8);
      db->MultiGet(ReadOptions(), family, views, values, statuses);
    }
    const auto iterator = db->NewIterator(ReadOptions(), family);
    for (int i = 0; i < 10; i++) iterator->Seek(KeyAt(i));
    for (int i = 0; i < 5; i++) Check(db->Delete(WriteOptions(), family, KeyAt(i)));
    for (int i = 200; i < 205; i++) Check(db->Put(WriteOptions(), family, KeyAt(i), "new"));
    Check(db->Put(WriteOptions(), family, "large", std::string(3 << 20, 'x')));
    Check(db->EndTrace().status());
  }

  ShellResult Replay(const std::string& flags) {
    return RunShellCommand(absl::StrCat(WINNOW_BENCH_PROGRAM, " --db=", directory_,
                                        " --engine=winnow --use_existing_db --replay=",
                                        PathOf("calls.trace"), " ", flags, " 2>&1 </dev/null"));
  }

  static std::string KeyAt(int i) { return absl::StrCat("key", 1000 + i); }
  static void Check(const absl::Status& status) { EXPECT_TRUE(status.ok()) << status; }

  std::string directory_;
};

TEST_F(ReplayTest, MakesEachCallOnceWhateverTheThreads) {
  Record({});
  for (const int threads : {1, 3}) {
    const ShellResult replayed = Replay(absl::StrCat("--threads=", threads));
    ASSERT_EQ(replayed.exit_code, 0) << replayed.output;
    EXPECT_THAT(replayed.output, HasSubstr(" 101 operations;")) << replayed.output;
    // The second time five keys are gone: the ten seeks find five.
    EXPECT_THAT(replayed.output, HasSubstr(threads == 1 ? "(50 of 90 found)" : "(45 of 90 found)"));
  }
  Options options;
  options.read_only = true;
  const std::unique_ptr<DB> db = *DB::Open(options, PathOf("winnow"));
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), KeyAt(0), &value)));
  EXPECT_TRUE(db->Get(ReadOptions(), KeyAt(204), &value).ok());
  EXPECT_EQ(value.size(), 3u);
  EXPECT_TRUE(db->Get(ReadOptions(), "large", &value).ok());
  EXPECT_EQ(value.size(), size_t{3} << 20);
}

TEST_F(ReplayTest, GoesRoundForADuration) {
  Record({});
  const ShellResult replayed = Replay("--duration=1 --histogram");
  ASSERT_EQ(replayed.exit_code, 0) << replayed.output;
  EXPECT_THAT(replayed.output, HasSubstr("P99.9"));
}

TEST_F(ReplayTest, SaysWhatItCannotReplay) {
  Record({}, /*in_other_family=*/true);
  const ShellResult other = Replay("");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.output, HasSubstr("no calls of the column family of number 0"));
  const ShellResult chosen = Replay("--replay_family=1");
  EXPECT_EQ(chosen.exit_code, 0);
  // They are made on the default column family of the copy, which is empty.
  EXPECT_THAT(chosen.output, HasSubstr("(0 of 90 found)")) << chosen.output;
  EXPECT_EQ(Replay("--benchmarks=readrandom").exit_code, 2);
  // A key of the first frame, the header, the whole file.
  {
    std::fstream file(PathOf("calls.trace"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('\xff');
  }
  const ShellResult damaged = Replay("--replay_family=1");
  EXPECT_EQ(damaged.exit_code, 1);
  EXPECT_THAT(damaged.output, HasSubstr("calls.trace: at offset 48: "));
  std::filesystem::resize_file(PathOf("calls.trace"), 40);
  const ShellResult cut = Replay("");
  EXPECT_EQ(cut.exit_code, 1);
  EXPECT_THAT(cut.output, HasSubstr("not a trace"));
  std::filesystem::remove(PathOf("calls.trace"));
  const ShellResult missing = Replay("");
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.output, HasSubstr("calls.trace"));
}

TEST_F(ReplayTest, NeedsTheCopy) {
  Record({});
  std::filesystem::remove_all(PathOf("winnow"));
  const ShellResult nothing = Replay("");
  EXPECT_NE(nothing.exit_code, 0) << nothing.output;
}

TEST_F(ReplayTest, RefusesHashes) {
  TraceOptions hashes;
  hashes.hash_keys = true;
  Record(hashes);
  const ShellResult replayed = Replay("");
  EXPECT_EQ(replayed.exit_code, 1);
  EXPECT_THAT(replayed.output, HasSubstr("holds hashes of keys"));
}

}  // namespace
}  // namespace winnow::bench
