// A process that writes is killed at random moments; nothing that it was told is lost.
// WINNOW_LONG_TESTS=1: ten times as many kills; WINNOW_SEED chooses the moments.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <random>

#include "tests/engine/db_fixture.h"
#include "tests/engine/kill_test_rows.h"

namespace winnow {
namespace {

class KillTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "winnow-kill-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    if (writer_ > 0) Kill();
    std::filesystem::remove_all(directory_);
  }

  std::string database() const { return directory_ + "/db"; }

  void StartWriter() {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    writer_ = fork();
    ASSERT_GE(writer_, 0);
    if (writer_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      execl(WINNOW_KILL_TEST_WRITER, WINNOW_KILL_TEST_WRITER, database().c_str(),
            static_cast<char*>(nullptr));
      _exit(127);
    }
    close(ends[1]);
    acknowledgements_ = ends[0];
  }

  // False at the end: the writer is dead and the pipe empty.
  bool ReadAcknowledgement() {
    Acknowledgement acknowledgement;
    size_t have = 0;
    while (have < sizeof(acknowledgement)) {
      const ssize_t got = read(acknowledgements_, reinterpret_cast<char*>(&acknowledgement) + have,
                               sizeof(acknowledgement) - have);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      have += static_cast<size_t>(got);
    }
    acknowledged_.at(acknowledgement.thread) = acknowledgement.number;
    num_acknowledged_++;
    return true;
  }

  // Kills the writer and takes in what it had been told.
  void Kill() {
    kill(writer_, SIGKILL);
    while (ReadAcknowledgement()) {
    }
    int status = 0;
    waitpid(writer_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the writer ended by itself: " << status;
    close(acknowledgements_);
    writer_ = -1;
  }

  // Every acknowledged batch is there, each batch is whole, and nothing else is there.
  void CheckFamily(DB& db, ColumnFamily* family, std::array<uint64_t, kWriterThreads>* last) {
    std::map<std::string, std::string> found;
    const auto iterator = db.NewIterator(ReadOptions(), family);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
      found.emplace(iterator->key(), iterator->value());
    }
    ASSERT_TRUE(iterator->status().ok()) << iterator->status();
    std::map<std::string, std::string> expected;
    for (int thread = 0; thread < kWriterThreads; thread++) {
      const auto row = found.find(LastRowKey(thread));
      const uint64_t number = row == found.end() ? 0 : std::stoull(row->second);
      const uint64_t acknowledged = acknowledged_.at(static_cast<size_t>(thread));
      ASSERT_GE(number, acknowledged) << "thread " << thread << " lost acknowledged writes";
      ASSERT_LE(number, acknowledged + 1) << "thread " << thread;
      last->at(static_cast<size_t>(thread)) = number;
      if (number > 0) expected[LastRowKey(thread)] = std::to_string(number);
      for (uint64_t n = number > kKeptRows ? number - kKeptRows + 1 : 1; n <= number; n++) {
        expected[RowKey(thread, n)] = RowValue(thread, n);
      }
    }
    ASSERT_EQ(found, expected);
  }

  void CheckDatabase() {
    auto db = OpenOrFail(KillTestOptions(), database());
    ASSERT_NE(db, nullptr);
    EXPECT_EQ(*db->GetProperty(db->DefaultColumnFamily(), "winnow.recovery"), "");
    std::array<uint64_t, kWriterThreads> last = {};
    CheckFamily(*db, db->DefaultColumnFamily(), &last);
    const auto second = db->FindColumnFamily("second");
    if (second.ok()) {
      std::array<uint64_t, kWriterThreads> last_of_second = {};
      CheckFamily(*db, *second, &last_of_second);
      EXPECT_EQ(last, last_of_second) << "a batch over two column families was torn";
    } else {
      EXPECT_EQ(num_acknowledged_, 0u);
    }
    acknowledged_ = last;
    EXPECT_EQ(db->Verify(), std::vector<std::string>());
    EXPECT_TRUE(db->Close().ok());
  }

  std::string directory_;
  pid_t writer_ = -1;
  int acknowledgements_ = -1;
  std::array<uint64_t, kWriterThreads> acknowledged_ = {};
  uint64_t num_acknowledged_ = 0;
};

TEST_F(KillTest, NothingAcknowledgedIsLost) {
  const uint64_t seed = Seeds(1).front();
  std::mt19937_64 random(seed);
  const int num_kills = LongTests() ? 200 : 20;
  for (int i = 0; i < num_kills && !HasFailure(); i++) {
    StartWriter();
    // None: killed while it opens the database, or before.
    const uint64_t until = random() % 6 == 0 ? 0 : num_acknowledged_ + random() % 3000;
    while (num_acknowledged_ < until) ASSERT_TRUE(ReadAcknowledgement());
    Kill();
    CheckDatabase();
  }
  EXPECT_GT(num_acknowledged_, 1000u);
  std::printf("seed %llu: %d kills, %llu acknowledged batches, none lost\n",
              static_cast<unsigned long long>(seed), num_kills,
              static_cast<unsigned long long>(num_acknowledged_));
}

TEST_F(KillTest, ASecondProcessIsRefusedAndToldWhoHoldsTheDatabase) {
  StartWriter();
  ASSERT_TRUE(ReadAcknowledgement());
  const auto second = DB::Open(KillTestOptions(), database());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_NE(second.status().message().find(std::to_string(writer_)), absl::string_view::npos)
      << second.status();
  const absl::Status destroyed = DB::Destroy(KillTestOptions(), database());
  EXPECT_TRUE(absl::IsFailedPrecondition(destroyed)) << destroyed;
  EXPECT_NE(destroyed.message().find(std::to_string(writer_)), absl::string_view::npos);
  const auto names = DB::ListColumnFamilies(KillTestOptions(), database());
  EXPECT_TRUE(names.ok()) << names.status();
  Kill();
  CheckDatabase();
  EXPECT_TRUE(DB::Destroy(KillTestOptions(), database()).ok());
  EXPECT_FALSE(std::filesystem::exists(database()));
}

}  // namespace
}  // namespace winnow
