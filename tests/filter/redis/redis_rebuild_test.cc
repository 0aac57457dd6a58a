// Rebuilds beside writers and readers, in one process and in eight that are killed at random.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <random>

#include "filter/redis/bitmap_scripts.h"
#include "filter/redis/bitmap_state.h"
#include "tests/filter/redis/redis_server.h"
#include "winnow/filter/redis/bitmap_filter.h"

namespace winnow::filter::redis {
namespace {

using Keys = std::vector<std::string_view>;

class RedisRebuildTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    server_ = RedisServer::StartOrJoinCluster();
    client_ = server_->NewClient();
    filter_ = Open(client_.get());
    ASSERT_TRUE(filter_->Create(*RedissonShape(1000, 0.001)).ok());
  }
  static std::unique_ptr<BitmapFilter> Open(Client* client) {
    return *BitmapFilter::Open(client, "seen");
  }
  std::unique_ptr<BitmapRebuild> Start(const RebuildOptions& options = {}) {
    auto rebuild = filter_->StartRebuild(*RedissonShape(2000, 0.001), options);
    EXPECT_TRUE(rebuild.ok()) << rebuild.status();
    return *std::move(rebuild);
  }
  // The next one, once the lease of the one that runs has ended; null if it does not end.
  std::unique_ptr<BitmapRebuild> StartNext() {
    for (int i = 0; i < 200; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      auto started = filter_->StartRebuild(*RedissonShape(2000, 0.001));
      if (started.ok()) return *std::move(started);
    }
    return nullptr;
  }

  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<BitmapFilter> filter_;
};

TEST_F(RedisRebuildTest, PutsTheNewGenerationInPlaceForReadersOfTheOldOne) {
  auto other_client = server_->NewClient();
  auto other = Open(other_client.get());
  ASSERT_TRUE(filter_->Add(Keys{"kept", "dropped"}).ok());
  ASSERT_TRUE(other->MayContain("dropped"));
  auto rebuild = Start({.expected_insertions = 2000, .fpr = 0.001});
  ASSERT_TRUE(rebuild->Add(Keys{"kept"}).ok());
  ASSERT_TRUE(other->Add(Keys{"added meanwhile"}).ok());
  EXPECT_TRUE(other->MayContain("dropped"));  // the old one serves
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(other->MayContain("kept"));
  EXPECT_TRUE(other->MayContain("added meanwhile"));
  EXPECT_FALSE(other->MayContain("dropped"));
  EXPECT_EQ(filter_->GetInfo()->shape, *RedissonShape(2000, 0.001));
  EXPECT_EQ(filter_->GetInfo()->expected_insertions, 2000u);
  EXPECT_EQ(server_->Cli("HGET '{seen}:config' size"), "28755");
  EXPECT_TRUE(absl::IsAborted(rebuild->Finish()));
}

TEST_F(RedisRebuildTest, KeepsTheKeyOfAWriterThatBeganBeforeItAndDiedAfterItsCommit) {
  // The row becomes visible after the scan has passed it, and nobody says so.
  auto intent = filter_->BeginWrite(Keys{"the row of a dead writer"});
  ASSERT_TRUE(intent.ok());
  auto rebuild = Start();
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(filter_->MayContain("the row of a dead writer"));
  EXPECT_EQ(filter_->GetInfo()->open_writes, 1u);
  // Without a note it would have been lost: what writing to both alone leaves open.
  ASSERT_TRUE(filter_->Add(Keys{"added before, committed after the scan"}).ok());
  rebuild = Start();
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_FALSE(filter_->MayContain("added before, committed after the scan"));
  EXPECT_TRUE(filter_->MayContain("the row of a dead writer"));
}

// The filter goes while a row is written, and another process makes it again from the database.
TEST_F(RedisRebuildTest, KeepsTheKeyOfAWriterThatOutlivedTheFilter) {
  auto other_client = server_->NewClient();
  auto other = Open(other_client.get());
  for (const bool is_removed : {true, false}) {
    const std::chrono::milliseconds ttl = std::chrono::seconds(is_removed ? 3600 : 1);
    ASSERT_TRUE(filter_->Remove().ok());
    ASSERT_TRUE(filter_->Create(*RedissonShape(1000, 0.001), {.ttl = ttl}).ok());
    const std::string key = is_removed ? "of the removed" : "of the expired";
    const auto intent = filter_->BeginWrite(Keys{key});
    ASSERT_TRUE(intent.ok()) << intent.status();
    if (is_removed) {
      ASSERT_TRUE(other->Remove().ok());
    }
    for (int i = 0; i < 1000 && server_->Cli("EXISTS seen") != "0"; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ASSERT_TRUE(other->Create(*RedissonShape(1000, 0.001), {.is_complete = false}).ok());
    EXPECT_EQ(server_->Cli("TTL '{seen}:winnow:writes'"), "-1");
    auto rebuild = other->StartRebuild(*RedissonShape(2000, 0.001));
    ASSERT_TRUE(rebuild.ok()) << rebuild.status();
    ASSERT_TRUE((*rebuild)->Finish().ok());  // its scan saw no row
    EXPECT_TRUE(other->MayContain(key));     // committed, and its writer died
    EXPECT_FALSE(other->MayContain("absent"));
  }
}

TEST_F(RedisRebuildTest, KeepsTheKeyOfAWriterThatEndsWhileItRuns) {
  auto intent = filter_->BeginWrite(Keys{"slow"});
  auto rebuild = Start();
  ASSERT_TRUE(filter_->EndWrite(*std::move(intent)).ok());
  EXPECT_EQ(filter_->GetInfo()->open_writes, 0u);
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(filter_->MayContain("slow"));
}

TEST_F(RedisRebuildTest, NotesOfManyKeysAreTakenBackAndOldOnesRemoved) {
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("key" + std::string(1, '\0') + std::to_string(i));
  const Keys keys(names.begin(), names.end());
  auto intent = filter_->BeginWrite(keys);
  ASSERT_TRUE(intent.ok());
  EXPECT_GT(filter_->GetInfo()->open_writes, 1u);
  auto rebuild = Start();
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_THAT(filter_->MayContain(keys), ::testing::Each(true));
  ASSERT_TRUE(filter_->EndWrite(*std::move(intent)).ok());
  EXPECT_EQ(filter_->GetInfo()->open_writes, 0u);
  ASSERT_TRUE(filter_->BeginWrite(Keys{"of long ago"}).ok());
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  rebuild = Start({.max_write_time = std::chrono::milliseconds(0)});
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_TRUE(filter_->MayContain("of long ago"));
  EXPECT_EQ(filter_->GetInfo()->open_writes, 0u);
}

// Two workers of one server, which had written something before it started them.
TEST_F(RedisRebuildTest, WritersInForkedProcessesHaveNotesOfTheirOwn) {
  ASSERT_TRUE(filter_->EndWrite(*filter_->BeginWrite(Keys{"before"})).ok());
  constexpr int kWorkers = 3;
  for (int i = 0; i < kWorkers; ++i) {
    const pid_t worker = ::fork();
    if (worker == 0) {
      auto client = Client::Open(server_->url(), RedisServer::PatientOptions());
      const std::string key = "of worker " + std::to_string(i);
      ::_exit(Open(client->get())->BeginWrite(Keys{key}).ok() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(worker, &status, 0), worker);
    ASSERT_EQ(status, 0);
  }
  EXPECT_EQ(filter_->GetInfo()->open_writes, static_cast<uint64_t>(kWorkers));
}

TEST_F(RedisRebuildTest, OneAtATimeAndTheNextClearsUpAfterADeadOne) {
  auto dead = Start({.lease = std::chrono::milliseconds(300)});
  ASSERT_TRUE(dead->Add(Keys{"of the dead one"}).ok());
  EXPECT_TRUE(absl::IsUnavailable(filter_->StartRebuild(*RedissonShape(10, 0.01)).status()));
  const std::unique_ptr<BitmapRebuild> next = StartNext();
  ASSERT_NE(next, nullptr);
  EXPECT_EQ(next->fencing_token(), dead->fencing_token() + 1);
  EXPECT_TRUE(absl::IsAborted(dead->Add(Keys{"late"})));
  EXPECT_TRUE(absl::IsAborted(dead->Renew()));
  EXPECT_TRUE(absl::IsAborted(dead->Finish()));
  EXPECT_TRUE(dead->Abandon().ok());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_FALSE(filter_->MayContain("late"));
  EXPECT_FALSE(filter_->MayContain("of the dead one"));
  EXPECT_EQ(server_->Cli("--raw KEYS '*winnow:*'"), "");
}

TEST_F(RedisRebuildTest, WhatALostOneUploadsLeavesItsSuccessorsBitsAlone) {
  RedisBitmap rows = *RedisBitmap::Create(*RedissonShape(2000, 0.001));
  rows.Add("row");
  const auto lost = Start({.lease = std::chrono::milliseconds(300)});
  const std::unique_ptr<BitmapRebuild> next = StartNext();
  ASSERT_NE(next, nullptr);
  server_->Cli("SET '{seen}:winnow:upload' 'pieces of the next one'");
  EXPECT_TRUE(absl::IsAborted(lost->AddAll(rows)));
  EXPECT_TRUE(absl::IsAborted(lost->AddAll(*RedisBitmap::Create(rows.shape()))));
  EXPECT_EQ(server_->Cli("GET '{seen}:winnow:upload'"), "pieces of the next one");
  ASSERT_TRUE(next->AddAll(rows).ok());
  ASSERT_TRUE(next->Finish().ok());
  EXPECT_TRUE(filter_->MayContain("row"));
  EXPECT_FALSE(filter_->MayContain("absent"));
}

TEST_F(RedisRebuildTest, ALeaseIsNeverLongerThanTheServerCanTell) {
  const auto rebuild = filter_->StartRebuild(*RedissonShape(2000, 0.001),
                                             {.lease = std::chrono::milliseconds::max()});
  ASSERT_TRUE(rebuild.ok()) << rebuild.status();
  EXPECT_GT(std::stoll(server_->Cli("PTTL '{seen}:winnow:rebuild'")), 0);
  ASSERT_TRUE((*rebuild)->Renew().ok());
  EXPECT_TRUE((*rebuild)->Finish().ok());
}

TEST_F(RedisRebuildTest, NotesOfLongKeysComeInRepliesThatAreNotTooLong) {
  ClientOptions options = RedisServer::PatientOptions();
  options.max_reply_bytes = 2 << 20;
  auto client = server_->NewClient(options);
  auto filter = Open(client.get());
  const std::string long_key(60'000, 'k');
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(filter->BeginWrite(Keys{long_key + std::to_string(i)}).ok());
  }
  auto rebuild = filter->StartRebuild(*RedissonShape(2000, 0.001));
  ASSERT_TRUE(rebuild.ok()) << rebuild.status();
  const absl::Status finished = (*rebuild)->Finish();
  ASSERT_TRUE(finished.ok()) << finished;
  EXPECT_TRUE(filter->MayContain(long_key + "99"));
}

// Its end came while it was rebuilt: all that it has is gone, but the rebuild.
TEST_F(RedisRebuildTest, AFilterThatHasExpiredComesBackWithATimeToLiveOrNotAtAll) {
  for (const bool has_ttl : {false, true}) {
    ASSERT_TRUE(filter_->Remove().ok());
    ASSERT_TRUE(filter_->Create(*RedissonShape(1000, 0.001), {.ttl = std::chrono::hours(1)}).ok());
    RebuildOptions options;
    if (has_ttl) options.ttl = std::chrono::hours(1);
    auto rebuild = Start(options);
    ASSERT_EQ(server_->Cli("DEL seen '{seen}:winnow' '{seen}:config'"), "3");
    const absl::Status finished = rebuild->Finish();
    EXPECT_TRUE(has_ttl ? finished.ok() : absl::IsAborted(finished)) << finished;
    EXPECT_EQ(server_->Cli("EXISTS seen"), has_ttl ? "1" : "0");
    EXPECT_EQ(server_->Cli("EXISTS '{seen}:winnow:next'"), "0");
    if (has_ttl) {
      EXPECT_GT(std::stoll(server_->Cli("TTL seen")), 0);
      EXPECT_EQ(Start()->fencing_token(), rebuild->fencing_token() + 1);
    }
  }
}

TEST_F(RedisRebuildTest, WhatAnotherProgramPutsUnderItsNameStays) {
  auto rebuild = Start();
  server_->Cli("DEL seen");
  server_->Cli("RPUSH seen element");
  const absl::Status finished = rebuild->Finish();
  EXPECT_TRUE(absl::IsFailedPrecondition(finished)) << finished;
  EXPECT_THAT(finished.message(), ::testing::HasSubstr("a key of type list"));
  EXPECT_EQ(server_->Cli("LRANGE seen 0 -1"), "element");
  // Nothing is there of the filter but a string that it never was.
  server_->Cli("DEL seen '{seen}:winnow' '{seen}:config'");
  server_->Cli("SET seen text");
  EXPECT_TRUE(absl::IsFailedPrecondition(rebuild->Finish()));
  EXPECT_EQ(server_->Cli("GET seen"), "text");
}

// Pieces that come after an eviction would leave zeros where the first ones were.
TEST_F(RedisRebuildTest, AnUploadThatWasEvictedGivesUpTheRebuild) {
  const std::string upload = "'{seen}:winnow:upload'";
  for (const bool is_evicted_before_the_end : {true, false}) {
    auto rebuild = Start();
    const std::string token = server_->Cli("HGET '{seen}:winnow:rebuild' token");
    const auto run = [&](const Script& script, const std::vector<std::string>& arguments) {
      Request request;
      request.BeginScript(script, BitmapKeys("seen", RedisBitmapRule::kRedisson),
                          2 + arguments.size());
      request.Append(token);
      request.Append("60000");
      for (const std::string& argument : arguments) request.Append(argument);
      return *WordOf(*client_->ExecuteOne("seen", request));
    };
    EXPECT_EQ(run(UploadScript(), {"0", "of an attempt before"}), "ok");
    EXPECT_EQ(run(UploadScript(), {"0", "abc"}), "ok");
    EXPECT_EQ(run(UploadScript(), {"3", "def"}), "ok");
    EXPECT_EQ(server_->Cli("GET " + upload), "abcdef");
    EXPECT_NE(server_->Cli("PTTL " + upload), "-1");
    server_->Cli("DEL " + upload);
    EXPECT_EQ(
        is_evicted_before_the_end ? run(UploadScript(), {"6", "ghi"}) : run(UniteScript(), {"6"}),
        "lost");
    EXPECT_TRUE(absl::IsAborted(rebuild->Finish()));
  }
}

TEST_F(RedisRebuildTest, AGenerationWhoseBitsWereEvictedIsNotCommitted) {
  auto rebuild = Start();
  ASSERT_TRUE(rebuild->Add(Keys{"row"}).ok());
  server_->Cli("DEL '{seen}:winnow:next'");
  // A writer must not make it again with its own key only.
  ASSERT_TRUE(filter_->Add(Keys{"another"}).ok());
  EXPECT_TRUE(absl::IsAborted(rebuild->Finish()));
  EXPECT_TRUE(filter_->MayContain("another"));
}

TEST_F(RedisRebuildTest, AFilterThatIsNotCompleteSaysMaybeUntilItsFirstRebuild) {
  ASSERT_TRUE(filter_->Remove().ok());
  EXPECT_TRUE(absl::IsNotFound(filter_->StartRebuild(*RedissonShape(10, 0.01)).status()));
  ASSERT_TRUE(filter_->Create(*RedissonShape(1000, 0.001), {.is_complete = false}).ok());
  // Redisson's programs would say "no" of every row, if they took it for a filter.
  EXPECT_EQ(server_->Cli("EXISTS '{seen}:config'"), "0");
  EXPECT_EQ(filter_->GetInfo()->shape, *RedissonShape(1000, 0.001));
  EXPECT_FALSE(filter_->GetInfo()->is_complete);
  EXPECT_TRUE(filter_->MayContain("a row of before"));
  EXPECT_EQ(filter_->counts().missing, 1u);
  ASSERT_TRUE(filter_->Add(Keys{"new"}).ok());
  auto abandoned = Start();
  ASSERT_TRUE(abandoned->Abandon().ok());
  auto rebuild = Start();
  ASSERT_TRUE(filter_->Add(Keys{"newer"}).ok());
  ASSERT_TRUE(rebuild->Add(Keys{"a row of before", "new"}).ok());
  ASSERT_TRUE(rebuild->Finish().ok());
  EXPECT_THAT(filter_->MayContain(Keys{"a row of before", "new", "newer"}), ::testing::Each(true));
  EXPECT_FALSE(filter_->MayContain("never"));
  EXPECT_EQ(server_->Cli("HGET '{seen}:config' size"), "28755");
}

// ---- Eight processes, killed at random -------------------------------------------------------

// A cluster and a program with checks in it take ten times as long.
bool RunsManyOperations() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
  return false;
#else
  return std::getenv("WINNOW_REDIS_CLUSTER") == nullptr;
#endif
}

constexpr uint32_t kNumRows = 4000;

// The database: rows that processes commit and delete, in memory that they share. A row's number
// counts its changes; it is there while that is odd.
struct Database {
  std::atomic<uint32_t> rows[kNumRows];
  std::atomic<uint64_t> operations;
  std::atomic<uint64_t> rebuilds;
  std::atomic<uint64_t> missed;  // false negatives
  std::atomic<uint64_t> negatives;
  std::atomic<bool> stopped;
};

std::string RowKey(uint32_t row) { return "row" + std::to_string(row); }

// Adds, commits and ends; sometimes dies in between, or deletes.
void WriteSome(BitmapFilter* filter, Database* database, std::mt19937* random) {
  std::vector<uint32_t> rows;
  std::vector<std::string> names;
  for (int i = 0; i < 4; ++i) {
    const uint32_t row = (*random)() % kNumRows;
    if (database->rows[row].load() % 2 != 0) {
      // Only some are deleted: those make scans miss what comes back later.
      uint32_t there = database->rows[row].load();
      if (there % 2 != 0) database->rows[row].compare_exchange_strong(there, there + 1);
    } else {
      rows.push_back(row);
      names.push_back(RowKey(row));
    }
  }
  database->operations += 4;
  if (rows.empty()) return;
  auto intent = filter->BeginWrite(std::vector<std::string_view>(names.begin(), names.end()));
  if (!intent.ok()) return;
  if ((*random)() % 4 == 0)
    std::this_thread::sleep_for(std::chrono::microseconds((*random)() % 3000));
  for (const uint32_t row : rows) {
    uint32_t absent = database->rows[row].load();
    if (absent % 2 == 0) database->rows[row].compare_exchange_strong(absent, absent + 1);
  }
  if ((*random)() % 50 == 0) ::_exit(0);  // after the commit
  if (!filter->EndWrite(*std::move(intent)).ok()) return;
}

// A row that was there before the question and still is must not be said to be absent.
void ReadSome(BitmapFilter* filter, Database* database, std::mt19937* random) {
  std::vector<uint32_t> rows;
  std::vector<uint32_t> before;
  std::vector<std::string> names;
  for (int i = 0; i < 20; ++i) {
    rows.push_back((*random)() % kNumRows);
    before.push_back(database->rows[rows.back()].load());
    names.push_back(RowKey(rows.back()));
  }
  const std::vector<bool> answers =
      filter->MayContain(std::vector<std::string_view>(names.begin(), names.end()));
  for (size_t i = 0; i < rows.size(); ++i) {
    if (answers[i]) continue;
    ++database->negatives;
    const bool was_there = before[i] % 2 != 0 && database->rows[rows[i]].load() == before[i];
    if (was_there) ++database->missed;
  }
  database->operations += rows.size();
}

void RebuildOnce(BitmapFilter* filter, Database* database, std::mt19937* random) {
  // Of ever other sizes, so that offsets of one generation are wrong in another.
  auto rebuild = filter->StartRebuild(*RedissonShape(kNumRows + (*random)() % 4000, 0.001),
                                      {.lease = std::chrono::milliseconds(500)});
  if (!rebuild.ok()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return;
  }
  std::vector<std::string> names;
  for (uint32_t row = 0; row < kNumRows; ++row) {
    if (database->rows[row].load() % 2 != 0) names.push_back(RowKey(row));
    if (names.size() < 200 && row + 1 < kNumRows) continue;
    if (!(*rebuild)->Add(std::vector<std::string_view>(names.begin(), names.end())).ok()) return;
    names.clear();
    if ((*random)() % 400 == 0) ::_exit(0);
  }
  if ((*rebuild)->Finish().ok()) ++database->rebuilds;
}

[[noreturn]] void RunProcess(const std::string& url, int role, uint32_t seed, Database* database) {
  auto client = Client::Open(url, RedisServer::PatientOptions());
  auto filter = BitmapFilter::Open(client->get(), "seen");
  std::mt19937 random(seed);
  while (!database->stopped) {
    if (role < 3) WriteSome(filter->get(), database, &random);
    if (role >= 3 && role < 6) ReadSome(filter->get(), database, &random);
    if (role >= 6) RebuildOnce(filter->get(), database, &random);
  }
  ::_exit(0);
}

TEST_F(RedisRebuildTest, NoCommittedRowIsEverMissedHoweverProcessesDie) {
  const bool is_long = std::getenv("WINNOW_LONG_TESTS") != nullptr;
  const bool has_many = is_long || RunsManyOperations();
  const uint64_t wanted = has_many ? 1'000'000 : 40'000;
  const uint64_t wanted_rebuilds = has_many ? 50 : 3;
  void* shared =
      ::mmap(nullptr, sizeof(Database), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto* database = new (shared) Database();
  constexpr int kProcesses = 8;
  pid_t processes[kProcesses];
  uint32_t seed = 1;
  const auto launch = [&](int i) {
    const pid_t parent = ::getpid();
    processes[i] = ::fork();
    if (processes[i] != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    RunProcess(server_->url(), i, seed, database);
  };
  for (int i = 0; i < kProcesses; ++i, ++seed) launch(i);
  std::mt19937 random(7);
  uint64_t killed = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(is_long ? 60 : 8);
  while ((database->operations < wanted || database->rebuilds < wanted_rebuilds) &&
         database->missed == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 60));
    const int victim = static_cast<int>(random() % kProcesses);
    ::kill(processes[victim], SIGKILL);
    ::waitpid(processes[victim], nullptr, 0);
    ++killed;
    launch(victim);
    ++seed;
  }
  database->stopped = true;
  for (const pid_t process : processes) ::waitpid(process, nullptr, 0);
  EXPECT_EQ(database->missed, 0u);
  EXPECT_GE(database->operations, wanted);
  EXPECT_GE(database->rebuilds, wanted_rebuilds);
  EXPECT_GT(database->negatives, 0u);  // it does answer
  std::printf("%llu operations, %llu rebuilds, %llu kills, %llu answers of no\n",
              static_cast<unsigned long long>(database->operations),
              static_cast<unsigned long long>(database->rebuilds),
              static_cast<unsigned long long>(killed),
              static_cast<unsigned long long>(database->negatives));
  ::munmap(shared, sizeof(Database));
}

}  // namespace
}  // namespace winnow::filter::redis
