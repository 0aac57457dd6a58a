// Accounts, transfers between them, and a total that stays, whatever happens to the transactions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "winnow/db.h"

namespace winnow {
namespace {

using Mode = TransactionOptions::Mode;

constexpr int kAccounts = 20;
constexpr int64_t kTotal = kAccounts * 100;
constexpr int kTraders = 8;

std::string Account(uint64_t number) { return absl::StrCat("account", number % kAccounts); }

class Bank {
 public:
  explicit Bank(TransactionOptions options) : options_(options), db_(MemoryDb::Busy()) {
    for (int i = 0; i < kAccounts; i++) db_.Put(Account(static_cast<uint64_t>(i)), "100");
  }

  // Of all threads together until each has tried so often. The database is closed in the middle of
  // it where `closes`.
  void Trade(uint64_t seed, int tries, bool closes) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kTraders; i++) {
      threads.emplace_back([this, seed, tries, i] {
        std::mt19937_64 random(seed * kTraders + i);
        for (int n = 0; n < tries && !closing_.load(); n++) {
          random() % 8 == 0 ? CheckTotal(random) : Transfer(random);
        }
      });
    }
    if (closes) {
      std::this_thread::yield();
      closing_.store(true);
    }
    for (std::thread& thread : threads) thread.join();
    closing_.store(false);
  }

  void Reopen() { db_.Reopen(); }
  int64_t Total() {
    int64_t total = 0;
    for (int i = 0; i < kAccounts; i++) {
      total += std::stoll(db_.Get(Account(static_cast<uint64_t>(i))));
    }
    return total;
  }
  uint64_t Count(Ticker ticker) { return db_->GetStatistics().Get(ticker); }
  std::vector<std::unique_ptr<Transaction>>& left_open() { return left_open_; }

  // Begins a transfer and leaves it so.
  void BeginOnly() {
    auto transaction = *db_->BeginTransaction(options_);
    EXPECT_TRUE(transaction->Put(Account(left_open_.size()), "1000000").ok());
    left_open_.push_back(std::move(transaction));
  }

 private:
  static bool MayFail(const absl::Status& status) {
    return absl::IsAborted(status) || absl::IsDeadlineExceeded(status);
  }

  // A sum of all accounts, as of one moment.
  void CheckTotal(std::mt19937_64& random) {
    const auto transaction = *db_->BeginTransaction();
    int64_t total = 0;
    if (random() % 2 == 0) {
      const auto it = transaction->NewIterator(ReadOptions());
      for (it->SeekToFirst(); it->Valid(); it->Next())
        total += std::stoll(std::string(it->value()));
      ASSERT_TRUE(it->status().ok());
    } else {
      for (int i = 0; i < kAccounts; i++) {
        std::string value;
        ASSERT_TRUE(
            transaction->Get(ReadOptions(), Account(static_cast<uint64_t>(i)), &value).ok());
        total += std::stoll(value);
      }
    }
    ASSERT_EQ(total, kTotal);
  }

  void Transfer(std::mt19937_64& random) {
    const auto transaction = *db_->BeginTransaction(options_);
    const uint64_t from = random();
    const uint64_t to = from + 1 + random() % (kAccounts - 1);
    const auto amount = static_cast<int64_t>(random() % 50);
    if (!Add(*transaction, Account(from), -amount)) return;
    if (random() % 16 == 0) {
      ASSERT_TRUE(transaction->SetSavepoint().ok());
      if (random() % 4 == 0) {
        ASSERT_TRUE(DeletesAllForAMoment(*transaction));
      }
    }
    if (!Add(*transaction, Account(to), amount)) return;
    if (random() % 8 == 0) {
      ASSERT_TRUE(transaction->Rollback().ok());
      return;
    }
    if (random() % 8 == 0) return;  // destroyed
    const absl::Status committed = transaction->Commit();
    ASSERT_TRUE(committed.ok() || MayFail(committed)) << committed.ToString();
  }
  // From then on it rests on all accounts, and will hardly be committed.
  static bool DeletesAllForAMoment(Transaction& transaction) {
    std::string value;
    return transaction.DeleteRange("account", "accounts").ok() &&
           absl::IsNotFound(transaction.Get(ReadOptions(), Account(0), &value)) &&
           transaction.RollbackToSavepoint().ok();
  }
  bool Add(Transaction& transaction, const std::string& account, int64_t amount) {
    std::string value;
    const absl::Status read = transaction.GetForUpdate(ReadOptions(), account, &value);
    EXPECT_TRUE(read.ok() || MayFail(read)) << read.ToString();
    if (!read.ok()) return false;
    const absl::Status put = transaction.Put(account, absl::StrCat(std::stoll(value) + amount));
    EXPECT_TRUE(put.ok()) << put.ToString();
    return put.ok();
  }

  const TransactionOptions options_;
  MemoryDb db_;
  std::atomic<bool> closing_{false};
  std::vector<std::unique_ptr<Transaction>> left_open_;
};

void KeepsItsTotal(Mode mode, bool snapshot_at_begin) {
  TransactionOptions options;
  options.mode = mode;
  options.snapshot_at_begin = snapshot_at_begin;
  options.lock_timeout = std::chrono::seconds(60);
  Bank bank(options);
  for (const uint64_t seed : Seeds(4)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    bank.Trade(seed, kFewerBy > 1 ? 50 : 400, seed % 2 == 0);
    EXPECT_EQ(bank.Total(), kTotal);
    for (int i = 0; i < 3; i++) bank.BeginOnly();
    bank.Reopen();
    bank.left_open().clear();
    EXPECT_EQ(bank.Total(), kTotal);
  }
  bank.Trade(0, 50, false);
  EXPECT_GT(bank.Count(Ticker::kTransactionCommits), 0U);
}

TEST(Bank, KeepsItsTotalOptimistically) { KeepsItsTotal(Mode::kOptimistic, true); }
TEST(Bank, KeepsItsTotalOptimisticallyInThePresent) { KeepsItsTotal(Mode::kOptimistic, false); }
TEST(Bank, KeepsItsTotalPessimistically) { KeepsItsTotal(Mode::kPessimistic, true); }
TEST(Bank, KeepsItsTotalPessimisticallyInThePresent) { KeepsItsTotal(Mode::kPessimistic, false); }

}  // namespace
}  // namespace winnow
