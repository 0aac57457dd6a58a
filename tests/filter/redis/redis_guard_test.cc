// The cache guard over a real redis-server: many processes, holders of locks that die, servers that
// do not answer or answer nonsense, and a filter that all processes share.

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/filter/redis/fake_server.h"
#include "tests/filter/redis/redis_server.h"
#include "winnow/filter/redis/guard_cache.h"
#include "winnow/filter/redis/guard_filter.h"
#include "winnow/guard/cache_guard.h"

namespace winnow::filter::redis {
namespace {

using guard::CacheGuard;
using guard::GuardOptions;
using guard::Loader;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// What processes count together.
struct SharedNumbers {
  std::atomic<int> waiting{0};
  std::atomic<bool> may_begin{false};
  std::atomic<int> loads{0};
  std::atomic<int> answers{0};

  static SharedNumbers* New() {
    void* const memory = ::mmap(nullptr, sizeof(SharedNumbers), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : new (memory) SharedNumbers;
  }
};

// A guard with a connection of its own, as each process has one.
struct ConnectedGuard {
  ConnectedGuard(const RedisServer& server, const GuardOptions& options)
      : client(server.NewClient()),
        cache(client.get(), "app:"),
        guard(*CacheGuard::Create(&cache, options)) {}

  std::unique_ptr<Client> client;
  GuardCache cache;
  std::unique_ptr<CacheGuard> guard;
};

Loader Returns(const std::string& value) {
  return [value](std::string_view) -> absl::StatusOr<std::string> { return value; };
}

class RedisGuardTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::IsInstalled()) GTEST_SKIP() << "there is no redis-server";
    server_ = std::make_unique<RedisServer>();
    shared_ = SharedNumbers::New();
    ASSERT_NE(shared_, nullptr);
    options_.max_wait = seconds(60);
  }
  void TearDown() override {
    if (shared_ != nullptr) ::munmap(shared_, sizeof(*shared_));
  }

  // Runs `body` in a process that ends with it, or with this one; no destructor runs there.
  template <typename Body>
  static pid_t Fork(Body body) {
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() == parent) body();
      ::_exit(0);
    }
    return child;
  }
  // Of the workers, all of whose threads ask for one key at one moment.
  void AskFromThreads(int num_threads) {
    ConnectedGuard own(*server_, options_);
    const Loader load = [&](std::string_view) -> absl::StatusOr<std::string> {
      ++shared_->loads;
      std::this_thread::sleep_for(milliseconds(200));  // so that the others come meanwhile
      return "new";
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&] {
        ++shared_->waiting;
        while (!shared_->may_begin) std::this_thread::sleep_for(milliseconds(1));
        const auto value = own.guard->Get("hot", load);
        if (value.ok() && *value == "new") ++shared_->answers;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  std::unique_ptr<RedisServer> server_;
  SharedNumbers* shared_ = nullptr;
  GuardOptions options_;
};

TEST_F(RedisGuardTest, AnExpiredKeyIsLoadedOnceByAllProcesses) {
  constexpr int kProcesses = 4;
  constexpr int kThreads = 16;
  options_.lock_ttl = seconds(30);
  options_.keep_stale_for = seconds(600);
  {
    GuardOptions short_lived = options_;
    short_lived.ttl = milliseconds(1);
    short_lived.min_jitter = short_lived.max_jitter = milliseconds(0);
    ConnectedGuard own(*server_, short_lived);
    ASSERT_TRUE(own.guard->Put("hot", "old").ok());
    std::this_thread::sleep_for(milliseconds(20));
  }
  std::vector<pid_t> workers;
  for (int i = 0; i < kProcesses; ++i) workers.push_back(Fork([&] { AskFromThreads(kThreads); }));
  while (shared_->waiting < kProcesses * kThreads && ::waitpid(workers[0], nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  shared_->may_begin = true;
  for (const pid_t worker : workers) {
    int status = -1;
    EXPECT_EQ(::waitpid(worker, &status, 0), worker);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(shared_->loads, 1);
  EXPECT_EQ(shared_->answers, kProcesses * kThreads);
}

TEST_F(RedisGuardTest, AfterALoadersDeathTheNextOneLoadsWhenItsLockHasEnded) {
  options_.lock_ttl = seconds(3);
  const pid_t holder = Fork([&] {
    ConnectedGuard own(*server_, options_);
    (void)own.guard->Get("hot", [&](std::string_view) -> absl::StatusOr<std::string> {
      ++shared_->loads;
      for (;;) ::pause();
    });
  });
  while (shared_->loads == 0 && ::waitpid(holder, nullptr, WNOHANG) == 0) {
    std::this_thread::sleep_for(milliseconds(1));
  }
  ASSERT_EQ(shared_->loads, 1);
  // Past the lock's time, were it not renewed.
  std::this_thread::sleep_for(milliseconds(3500));
  ConnectedGuard own(*server_, options_);
  EXPECT_FALSE(own.cache.TryLock("hot", "another", seconds(1)).value());
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);

  const auto asked = steady_clock::now();
  const int64_t left = std::stoll(server_->Cli("PTTL 'app:{:hot}lock'"));
  EXPECT_LE(left, 3000);
  steady_clock::time_point loaded;
  const auto value = own.guard->Get("hot", [&](std::string_view) -> absl::StatusOr<std::string> {
    loaded = steady_clock::now();
    ++shared_->loads;
    return "v";
  });
  EXPECT_EQ(value.value(), "v");
  EXPECT_EQ(shared_->loads, 2);
  EXPECT_GE(loaded - asked, milliseconds(left - 100));  // clocks differ a little
  EXPECT_EQ(own.guard->Get("hot", Returns("not loaded")).value(), "v");
}

// The value is the loader's, within the time-outs of a few commands.
TEST_F(RedisGuardTest, AServerThatIsFrozenCostsTimeOuts) {
  ClientOptions impatient;
  impatient.command_timeout = impatient.connect_timeout = milliseconds(200);
  const auto client = server_->NewClient(impatient);
  GuardCache cache(client.get(), "app:");
  // What it was sent while it was frozen it does when it goes on: it may take a lock for nobody.
  options_.lock_ttl = seconds(1);
  const auto guard = *CacheGuard::Create(&cache, options_);
  ASSERT_EQ(guard->Get("k", Returns("before")).value(), "before");
  server_->Freeze();
  const auto begin = steady_clock::now();
  EXPECT_EQ(guard->Get("k", Returns("loaded")).value(), "loaded");
  EXPECT_LT(steady_clock::now() - begin, seconds(20));
  EXPECT_GE(guard->statistics().cache_errors, 1u);
  server_->Thaw();
  EXPECT_EQ(guard->Get("other", Returns("after")).value(), "after");
}

// A cache that takes locks, and neither stores nor releases: whoever waits for one waits in vain.
class RedisGuardWithoutStoreTest : public RedisGuardTest {
 protected:
  // The loader's value each time, and an error counted, within less than max_wait for all.
  void ExpectLoadsAtOnce(Client* client, std::string_view prefix) {
    options_.max_wait = options_.lock_ttl = seconds(40);
    GuardCache cache(client, prefix);
    const auto guard = *CacheGuard::Create(&cache, options_);
    const auto begin = steady_clock::now();
    for (const std::string value : {"one", "two", "three"}) {
      EXPECT_EQ(guard->Get("k", Returns(value)).value(), value);
      EXPECT_EQ(guard->Get("other", Returns(value)).value(), value);
    }
    EXPECT_LT(steady_clock::now() - begin, options_.max_wait / 2);
    EXPECT_GE(guard->statistics().cache_errors, 6u);
    EXPECT_EQ(guard->statistics().loads, 6u);
  }
};

TEST_F(RedisGuardWithoutStoreTest, AUserWhoMayNotRunScripts) {
  ASSERT_EQ(server_->Cli("ACL SETUSER plain on '>pass' '~*' +@all -@scripting"), "OK");
  const auto client =
      *Client::Open("redis://plain:pass@127.0.0.1:" + std::to_string(server_->port()),
                    RedisServer::PatientOptions());
  ExpectLoadsAtOnce(client.get(), "app:");
}

TEST_F(RedisGuardWithoutStoreTest, AListUnderTheLocksName) {
  for (const char* key : {"k", "other"}) {
    server_->Cli("RPUSH 'app:{:" + std::string(key) + "}lock' a");
  }
  ExpectLoadsAtOnce(server_->NewClient().get(), "app:");
}

TEST_F(RedisGuardWithoutStoreTest, APrefixWithBraces) {
  ExpectLoadsAtOnce(server_->NewClient().get(), "app{1}:");
}

class RedisGuardAnswersTest : public ::testing::TestWithParam<std::string> {};

// A server that says this to every command, whatever it is.
TEST_P(RedisGuardAnswersTest, WhateverAServerSaysTheValueIsTheLoaders) {
  const FakeServer server(
      [](const FakeServer::Words&) -> std::optional<std::string> { return GetParam(); });
  ClientOptions impatient;
  impatient.command_timeout = milliseconds(200);
  const auto client = Client::Open(server.url(), impatient);
  ASSERT_TRUE(client.ok());
  GuardCache cache(client->get());
  GuardOptions options;
  const auto guard = *CacheGuard::Create(&cache, options);
  const auto begin = steady_clock::now();
  for (const std::string value : {"one", "two"}) {
    EXPECT_EQ(guard->Get("k", Returns(value)).value(), value);
  }
  // Less than max_wait: nobody's load is waited for.
  EXPECT_LT(steady_clock::now() - begin, seconds(9));
  EXPECT_EQ(guard->statistics().loads, 2u);
  EXPECT_GE(guard->statistics().cache_errors, 2u);
}

INSTANTIATE_TEST_SUITE_P(
    Answers, RedisGuardAnswersTest,
    ::testing::Values("-LOADING Redis is loading the dataset in memory\r\n",
                      "-OOM command not allowed when used memory > 'maxmemory'.\r\n",
                      "-READONLY You can't write against a read only replica.\r\n", "garbage\r\n",
                      std::string("\0\xff\r\n\r\n", 6), "$5\r\nhello\r\n", ":7\r\n", "*0\r\n",
                      "$100\r\nhalf of it", ""));

class RedisKeyFilterTest : public RedisGuardTest {
 protected:
  void SetUp() override {
    RedisGuardTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    client_ = server_->NewClient();
    users_ = *BitmapFilter::Open(client_.get(), "users");
    ASSERT_TRUE(users_->Create(shape_).ok());
    filter_ = NewBitmapKeyFilter(users_.get());
    options_.filter = filter_.get();
  }

  const RedisBitmapShape shape_ = *RedissonShape(1000, 0.0001);
  std::unique_ptr<Client> client_;
  std::unique_ptr<BitmapFilter> users_;
  std::unique_ptr<guard::KeyFilter> filter_;
};

TEST_F(RedisKeyFilterTest, AllProcessesShareAFilter) {
  ConnectedGuard writer(*server_, options_);
  const auto other_client = server_->NewClient();
  const auto same_users = *BitmapFilter::Open(other_client.get(), "users");
  const auto same_filter = NewBitmapKeyFilter(same_users.get());
  options_.filter = same_filter.get();
  ConnectedGuard reader(*server_, options_);

  EXPECT_TRUE(absl::IsNotFound(reader.guard->Get("Ada", Returns("unseen")).status()));
  EXPECT_EQ(reader.guard->statistics().filtered, 1u);
  {
    const auto intent = writer.guard->BeginInsert("Ada");
    ASSERT_TRUE(intent.ok());
    EXPECT_EQ(users_->GetInfo()->open_writes, 1u);
    // A second one of the same key ends for itself.
    ASSERT_TRUE(writer.guard->BeginInsert("Ada").ok());
    EXPECT_EQ(users_->GetInfo()->open_writes, 1u);
  }
  EXPECT_EQ(users_->GetInfo()->open_writes, 0u);
  EXPECT_EQ(reader.guard->Get("Ada", Returns("row")).value(), "row");
  ASSERT_TRUE(writer.guard->Put("Tom", "cat").ok());
  EXPECT_EQ(reader.guard->Get("Tom", Returns("not loaded")).value(), "cat");
}

TEST_F(RedisKeyFilterTest, ARebuildKeepsKeysWhoseInsertionHasNotEnded) {
  ConnectedGuard own(*server_, options_);
  ASSERT_TRUE(own.guard->BeginInsert("deleted").ok());
  {
    const auto intent = own.guard->BeginInsert("open");
    ASSERT_TRUE(intent.ok());
    auto rebuild = users_->StartRebuild(shape_);
    ASSERT_TRUE(rebuild.ok());
    ASSERT_TRUE((*rebuild)->Finish().ok());  // the scan has found nothing
  }
  EXPECT_FALSE(filter_->MayContain("deleted"));
  EXPECT_TRUE(filter_->MayContain("open"));
  server_->Stop();
  EXPECT_TRUE(filter_->MayContain("deleted"));
  EXPECT_FALSE(own.guard->BeginInsert("more").ok());
  EXPECT_EQ(own.guard->Get("deleted", Returns("row")).value(), "row");
}

}  // namespace
}  // namespace winnow::filter::redis
