// What many transactions at once have read and written must fit snapshot isolation: each has read
// one moment, and nobody's write is lost. WINNOW_LONG_TESTS=1 checks more than a million
// operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <optional>
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

// --- The checker ---

// A transaction that committed. Every write is of its own positive number, and every key is read
// before it is written; 0 is what keys hold before the first write.
struct Committed {
  uint64_t number = 0;
  uint64_t snapshot = 0;     // the sequence number that it read at
  uint64_t done_before = 0;  // one that was visible when Commit had returned
  std::map<int, uint64_t> reads;
  std::vector<int> writes;
};

// The bounds that what others have seen sets to a commit's own sequence number.
struct CommitTime {
  uint64_t after = 0;      // it is larger
  uint64_t until = ~0ULL;  // and not larger than this
};

// After Adya, "Weak Consistency", 1999, with start and commit times as Crooks et al., "Seeing is
// Believing", PODC 2017: a transaction reads of each key the newest version that was committed up
// to its snapshot. Who reads version v of a key at s says that v was committed up to s, and the one
// after v, later; who replaces v was committed after v. The history is one of snapshot isolation
// if and only if commit times exist that all of this agrees with.
class HistoryChecker {
 public:
  explicit HistoryChecker(const std::vector<Committed>& history) : history_(history) {}

  // Nothing, or what is wrong.
  std::optional<std::string> FindViolation() {
    for (const Committed& transaction : history_) {
      times_[transaction.number] = {transaction.snapshot, transaction.done_before};
      for (const int key : transaction.writes) {
        const uint64_t replaced = transaction.reads.at(key);
        if (!next_[key].emplace(replaced, transaction.number).second) {
          return absl::StrCat("lost update: ", next_[key][replaced], " and ", transaction.number,
                              " have both replaced version ", replaced, " of key ", key);
        }
        writers_[key].insert({transaction.number, replaced});
      }
    }
    for (const Committed& transaction : history_) {
      for (const auto& [key, version] : transaction.reads) {
        if (!NoteRead(transaction, key, version)) {
          return absl::StrCat(transaction.number, " read version ", version, " of key ", key,
                              ", which nobody has committed");
        }
      }
    }
    return FindContradiction();
  }

 private:
  bool NoteRead(const Committed& transaction, int key, uint64_t version) {
    if (version != 0) {
      if (!writers_[key].contains(version)) return false;
      CommitTime& time = times_[version];
      time.until = std::min(time.until, transaction.snapshot);
    }
    const auto next = next_[key].find(version);
    if (next != next_[key].end()) {
      CommitTime& time = times_[next->second];
      time.after = std::max(time.after, transaction.snapshot);
    }
    return true;
  }

  // A version is committed after the one that it replaces: bounds are handed on in that order.
  std::optional<std::string> FindContradiction() {
    std::map<uint64_t, int> waiting;  // how many versions each transaction replaces
    std::map<uint64_t, std::vector<uint64_t>> later;
    for (const auto& [key, versions] : writers_) {
      for (const auto& [number, replaced] : versions) {
        if (replaced == 0) continue;
        waiting[number]++;
        later[replaced].push_back(number);
      }
    }
    std::vector<uint64_t> ready;
    for (const auto& [number, time] : times_) {
      if (!waiting.contains(number)) ready.push_back(number);
    }
    size_t done = 0;
    while (!ready.empty()) {
      const uint64_t number = ready.back();
      ready.pop_back();
      done++;
      const CommitTime& time = times_[number];
      if (time.after >= time.until) {
        return absl::StrCat(number, " was committed after ", time.after, " and up to ", time.until);
      }
      for (const uint64_t next : later[number]) {
        times_[next].after = std::max(times_[next].after, time.after + 1);
        if (--waiting[next] == 0) ready.push_back(next);
      }
    }
    if (done < times_.size()) return "transactions that replace each other's versions in a circle";
    return std::nullopt;
  }

  const std::vector<Committed>& history_;
  std::map<uint64_t, CommitTime> times_;
  std::map<int, std::map<uint64_t, uint64_t>> next_;     // by key: who replaced a version
  std::map<int, std::map<uint64_t, uint64_t>> writers_;  // by key: version, and which it replaced
};

std::optional<std::string> Check(const std::vector<Committed>& history) {
  return HistoryChecker(history).FindViolation();
}

TEST(SnapshotIsolationChecker, AcceptsWhatIsAllowed) {
  EXPECT_EQ(Check({}), std::nullopt);
  EXPECT_EQ(Check({{1, 0, 5, {{0, 0}}, {0}}, {2, 5, 9, {{0, 1}}, {0}}, {3, 4, 9, {{0, 0}}, {}}}),
            std::nullopt);
  // Write skew.
  EXPECT_EQ(Check({{1, 0, 9, {{0, 0}, {1, 0}}, {0}}, {2, 0, 9, {{0, 0}, {1, 0}}, {1}}}),
            std::nullopt);
}

TEST(SnapshotIsolationChecker, RefusesALostUpdate) {
  EXPECT_TRUE(Check({{1, 0, 9, {{0, 0}}, {0}}, {2, 0, 9, {{0, 0}}, {0}}}));
}

TEST(SnapshotIsolationChecker, RefusesHalfATransaction) {
  EXPECT_TRUE(Check({{1, 0, 9, {{0, 0}, {1, 0}}, {0, 1}}, {2, 5, 9, {{0, 1}, {1, 0}}, {}}}));
}

TEST(SnapshotIsolationChecker, RefusesWhatNobodyCommitted) {
  EXPECT_TRUE(Check({{1, 0, 9, {{0, 7}}, {}}}));
}

TEST(SnapshotIsolationChecker, RefusesTwoMomentsInOtherOrders) {
  // One commits key 0, one key 1; two readers of one moment disagree on who was first.
  const std::vector<Committed> writers = {{1, 0, 9, {{0, 0}}, {0}}, {2, 0, 9, {{1, 0}}, {1}}};
  std::vector<Committed> history = writers;
  history.push_back({3, 5, 9, {{0, 1}, {1, 0}}, {}});
  EXPECT_EQ(Check(history), std::nullopt);
  history.push_back({4, 5, 9, {{0, 0}, {1, 2}}, {}});
  EXPECT_TRUE(Check(history));
}

TEST(SnapshotIsolationChecker, RefusesAStaleSnapshot) {
  EXPECT_TRUE(Check({{1, 0, 3, {{0, 0}}, {0}}, {2, 5, 9, {{0, 0}}, {}}}));
}

// --- Histories ---

constexpr int kKeys = 40;
constexpr int kSessions = 8;

class HistoryRun {
 public:
  HistoryRun(Mode mode, uint64_t seed) : mode_(mode), seed_(seed) {}

  // Returns how many operations were made.
  uint64_t Run(uint64_t transactions_a_thread) {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < kSessions; i++) {
      threads.emplace_back([this, i, transactions_a_thread] {
        std::mt19937_64 random(seed_ * kSessions + i);
        for (uint64_t n = 1; n <= transactions_a_thread; n++) {
          if (testing::Test::HasFatalFailure()) return;
          One(random, n * kSessions + i, &histories_[i]);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::vector<Committed> all;
    for (const auto& history : histories_) all.insert(all.end(), history.begin(), history.end());
    const std::optional<std::string> violation = Check(all);
    EXPECT_EQ(violation, std::nullopt) << *violation;
    EXPECT_GT(all.size(), transactions_a_thread);
    return operations_.load();
  }

 private:
  static std::string Key(int key) { return absl::StrCat("key", key); }

  void One(std::mt19937_64& random, uint64_t number, std::vector<Committed>* history) {
    TransactionOptions options;
    options.mode = mode_;
    options.lock_timeout = std::chrono::seconds(60);
    const auto transaction = *db_->BeginTransaction(options);
    Committed committed;
    committed.number = number;
    committed.snapshot = transaction->snapshot()->sequence();
    const bool only_reads = random() % 4 == 0;
    const uint64_t steps = 1 + random() % 8;
    for (uint64_t i = 0; i < steps; i++) {
      const int key = static_cast<int>(random() % kKeys);
      operations_.fetch_add(1, std::memory_order_relaxed);
      if (!Read(*transaction, random, key, &committed)) return;
      if (only_reads || random() % 2 == 0) continue;
      if (random() % 16 == 0) {
        if (!RewriteStretch(*transaction, random, &committed)) return;
      } else if (!Write(*transaction, key, &committed)) {
        return;
      }
    }
    if (random() % 10 == 0) return;  // rolled back: nobody may ever read of it
    const absl::Status status = transaction->Commit();
    ASSERT_TRUE(status.ok() || absl::IsAborted(status)) << status.ToString();
    if (!status.ok()) return;
    const SnapshotGuard now(*db_);
    committed.done_before = now.get()->sequence();
    // Who writes nothing commits at no time.
    if (committed.writes.empty()) committed.done_before = ~0ULL;
    history->push_back(std::move(committed));
  }

  static bool Contains(const std::vector<int>& keys, int key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  }

  // False, here and below: aborted.
  bool Write(Transaction& transaction, int key, Committed* committed) {
    operations_.fetch_add(1, std::memory_order_relaxed);
    const absl::Status put = transaction.Put(Key(key), absl::StrCat(committed->number));
    EXPECT_TRUE(put.ok() || absl::IsAborted(put)) << put.ToString();
    if (put.ok() && !Contains(committed->writes, key)) committed->writes.push_back(key);
    return put.ok();
  }

  // Reads neighbouring keys, deletes them as a range and writes them anew.
  bool RewriteStretch(Transaction& transaction, std::mt19937_64& random, Committed* committed) {
    constexpr int kStretch = 4;
    // Of two digits, and the same first one: in the order of their bytes.
    const int begin = static_cast<int>(10 * (1 + random() % 3) + random() % (10 - kStretch));
    const int end = begin + kStretch;
    for (int key = begin; key < end; key++) {
      operations_.fetch_add(1, std::memory_order_relaxed);
      if (!Read(transaction, random, key, committed)) return false;
    }
    operations_.fetch_add(1, std::memory_order_relaxed);
    const absl::Status deleted = transaction.DeleteRange(Key(begin), Key(end));
    EXPECT_TRUE(deleted.ok()) << deleted.ToString();
    std::string value;
    EXPECT_TRUE(absl::IsNotFound(transaction.Get(ReadOptions(), Key(end - 1), &value)));
    const auto it = transaction.NewIterator(ReadOptions());
    it->Seek(Key(begin));
    EXPECT_TRUE(!it->Valid() || it->key() >= Key(end));
    for (int key = begin; key < end; key++) {
      if (!Write(transaction, key, committed)) return false;
    }
    return true;
  }

  bool Read(Transaction& transaction, std::mt19937_64& random, int key, Committed* committed) {
    std::string value = "0";
    absl::Status status;
    switch (random() % 3) {
      case 0:
        status = transaction.Get(ReadOptions(), Key(key), &value);
        break;
      case 1:
        status = transaction.GetForUpdate(ReadOptions(), Key(key), &value);
        break;
      default: {
        const auto it = transaction.NewIterator(ReadOptions());
        it->Seek(Key(key));
        status = it->status();
        if (it->Valid() && it->key() == Key(key)) value = std::string(it->value());
        break;
      }
    }
    if (absl::IsAborted(status)) return false;
    EXPECT_TRUE(status.ok() || absl::IsNotFound(status)) << status.ToString();
    const uint64_t version = std::stoull(value);
    if (Contains(committed->writes, key)) {
      EXPECT_EQ(version, committed->number) << "its own write is not seen";
    } else {
      EXPECT_EQ(committed->reads.emplace(key, version).first->second, version)
          << "two reads of a key differ";
    }
    return true;
  }

  const Mode mode_;
  const uint64_t seed_;
  MemoryDb db_{MemoryDb::Busy()};
  std::vector<Committed> histories_[kSessions];
  std::atomic<uint64_t> operations_{0};
};

class TransactionHistory : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(Modes, TransactionHistory,
                         testing::Values(Mode::kOptimistic, Mode::kPessimistic),
                         [](const auto& kind) {
                           return kind.param == Mode::kOptimistic ? "Optimistic" : "Pessimistic";
                         });

TEST_P(TransactionHistory, FitsSnapshotIsolation) {
  uint64_t operations = 0;
  for (const uint64_t seed : Seeds(3)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    operations += HistoryRun(GetParam(), seed).Run(LongTests() ? 3000 : 500 / kFewerBy);
    if (HasFailure()) return;
  }
  RecordProperty("operations", static_cast<int>(operations));
  if (LongTests()) {
    EXPECT_GT(operations, 1'000'000U);
  }
}

}  // namespace
}  // namespace winnow
