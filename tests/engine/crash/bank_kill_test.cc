// Accounts, transfers between them by transactions of a process that is killed at random moments: a
// total that stays, and nothing of what was never committed. WINNOW_LONG_TESTS=1: ten times as many
// kills; WINNOW_SEED chooses the moments.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash/kill_test_rows.h"
#include "tests/engine/crash/shared_with_child.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/verify_messages.h"
#include "winnow/transaction.h"

namespace winnow {
namespace {

constexpr uint64_t kAccounts = 16;
constexpr int kTraders = 8;
constexpr int64_t kStart = 100;
// Nobody may ever read them after a kill.
constexpr char kNeverCommitted[] = "never committed";
constexpr char kRolledBack[] = "rolled back";

std::string Account(uint64_t number) { return absl::StrCat("account", number % kAccounts); }
std::string TradesKey(int trader) { return absl::StrCat("trades", trader); }

int64_t NumberAt(Transaction& transaction, const std::string& key, absl::Status* status) {
  std::string value = "0";
  const absl::Status read = transaction.GetForUpdate(ReadOptions(), key, &value);
  if (!absl::IsNotFound(read)) status->Update(read);
  return std::strtoll(value.c_str(), nullptr, 10);
}

// Aborted and DeadlineExceeded are what rivals cause.
absl::Status Transfer(DB& db, const TransactionOptions& options, int trader,
                      std::mt19937_64& random) {
  const auto begun = db.BeginTransaction(options);
  if (!begun.ok()) return begun.status();
  Transaction& transaction = **begun;
  const uint64_t from = random() % kAccounts;
  const uint64_t to = from + 1 + random() % (kAccounts - 1);
  const auto amount = static_cast<int64_t>(random() % 50);
  absl::Status status;
  const int64_t taken = NumberAt(transaction, Account(from), &status) - amount;
  const int64_t given = NumberAt(transaction, Account(to), &status) + amount;
  const int64_t trades = NumberAt(transaction, TradesKey(trader), &status) + 1;
  if (status.ok()) status = transaction.Put(Account(from), absl::StrCat(taken));
  if (status.ok()) status = transaction.Put(Account(to), absl::StrCat(given));
  if (status.ok()) status = transaction.Put(TradesKey(trader), absl::StrCat(trades));
  if (status.ok()) status = transaction.SetSavepoint();
  if (status.ok()) status = transaction.Put(kRolledBack, "");
  if (status.ok()) status = transaction.RollbackToSavepoint();
  if (!status.ok()) return status;
  WriteOptions write;
  write.sync = random() % 16 == 0;
  return transaction.Commit(write);
}

// The process that is killed. Its end by itself is a failure, which its exit code tells.
[[noreturn]] void TradeForEver(const std::string& path, TransactionOptions::Mode mode,
                               uint64_t seed, std::atomic<bool>* has_traded) {
  auto opened = DB::Open(KillTestOptions(), path);
  if (!opened.ok()) _exit(1);
  DB& db = **opened;
  TransactionOptions options;
  options.mode = mode;
  options.snapshot_at_begin = seed % 2 == 0;
  // It holds no lock that the others want, and is never committed.
  const auto open_for_ever = db.BeginTransaction(options);
  if (!open_for_ever.ok() || !(*open_for_ever)->Put(kNeverCommitted, "").ok()) _exit(1);
  TransactionOptions without_wait = options;
  without_wait.lock_timeout = std::chrono::milliseconds(1);
  std::vector<std::thread> threads;
  for (int trader = 0; trader < kTraders; trader++) {
    threads.emplace_back([&, trader] {
      std::mt19937_64 random(seed * kTraders + static_cast<uint64_t>(trader));
      for (;;) {
        const absl::Status status = Transfer(db, without_wait, trader, random);
        const bool is_expected =
            status.ok() || absl::IsAborted(status) || absl::IsDeadlineExceeded(status);
        if (!is_expected) _exit(2);
        if (status.ok()) *has_traded = true;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(3);
}

int64_t StoredNumber(DB& db, const std::string& key) {
  std::string value = "0";
  const absl::Status read = db.Get(ReadOptions(), key, &value);
  EXPECT_TRUE(read.ok() || absl::IsNotFound(read)) << read;
  return std::strtoll(value.c_str(), nullptr, 10);
}

// What all traders have done so far.
int64_t CheckBank(const std::string& path) {
  const auto db = OpenOrFail(KillTestOptions(), path);
  if (db == nullptr) return 0;
  int64_t total = 0;
  for (uint64_t i = 0; i < kAccounts; i++) total += StoredNumber(*db, Account(i));
  EXPECT_EQ(total, static_cast<int64_t>(kAccounts) * kStart);
  std::string value;
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), kNeverCommitted, &value)));
  EXPECT_TRUE(absl::IsNotFound(db->Get(ReadOptions(), kRolledBack, &value)));
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  int64_t trades = 0;
  for (int trader = 0; trader < kTraders; trader++) trades += StoredNumber(*db, TradesKey(trader));
  EXPECT_TRUE(db->Close().ok());
  return trades;
}

void SurvivesKills(TransactionOptions::Mode mode) {
  const ScratchDirectory directory("bank");
  const std::string path = directory.path() + "/db";
  {
    const auto db = OpenOrFail(KillTestOptions(), path);
    for (uint64_t i = 0; i < kAccounts; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), Account(i), absl::StrCat(kStart)).ok());
    }
    ASSERT_TRUE(db->Close().ok());
  }
  const uint64_t seed = Seeds(1).front();
  std::mt19937_64 random(seed);
  const SharedWithChild<std::atomic<bool>> has_traded;
  int64_t trades = 0;
  for (int kill_number = 0; kill_number < (LongTests() ? 100 : 10); kill_number++) {
    const uint64_t child_seed = random();
    *has_traded = false;
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) TradeForEver(path, mode, child_seed, has_traded.get());
    // The others may be killed while they open the database.
    if (kill_number % 2 == 0) WaitForChild([&] { return has_traded->load(); });
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 120));
    kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the traders ended with " << WEXITSTATUS(status);
    const int64_t now = CheckBank(path);
    EXPECT_GE(now, trades) << "a process that is killed loses nothing that it has committed";
    trades = now;
    if (testing::Test::HasFailure()) FAIL() << "WINNOW_SEED=" << seed << ", kill " << kill_number;
  }
  EXPECT_GT(trades, 0);
}

TEST(BankKill, KeepsItsTotalOptimistically) {
  SurvivesKills(TransactionOptions::Mode::kOptimistic);
}
TEST(BankKill, KeepsItsTotalPessimistically) {
  SurvivesKills(TransactionOptions::Mode::kPessimistic);
}

}  // namespace
}  // namespace winnow
