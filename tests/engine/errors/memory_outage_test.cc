// Memory runs out again and again, for requests of every size, while threads read, write, flush and
// compact: no call throws and none hangs, nothing that was acknowledged is lost, and once there is
// memory again the database goes on, if need be after it was opened again.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/db_fixture.h"
#include "tests/support/scratch_directory.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

constexpr int kThreads = 4;
constexpr uint64_t kKeysOfThread = 40;

// What a key may hold: what was acknowledged last, or, once the database has been opened again, one
// of the writes since then that were refused.
struct Expected {
  std::string value;  // empty: absent
  std::vector<std::string> perhaps;
};

class MemoryOutage : public testing::Test {
 protected:
  void Open() {
    Options options = MemoryDb::Busy();
    options.create_if_missing = true;
    options.background_threads = 2;
    db_ = OpenOrFail(options, directory_.path() + "/db");
  }

  // One call, whose requests for memory may fail. What it throws, nobody could catch.
  template <typename Calls>
  static absl::Status Call(Calls&& calls) {
    try {
      const AllocationsOfThisThread fail(true);
      return calls();
    } catch (const std::bad_alloc&) {
      ADD_FAILURE() << "a call has thrown std::bad_alloc";
      return absl::InternalError("thrown");
    }
  }

  void Put(const std::string& key, std::string value, Expected* expected) {
    const absl::Status status = Call([&] {
      return value.empty() ? db_->Delete(WriteOptions(), key)
                           : db_->Put(WriteOptions(), key, value);
    });
    if (status.ok()) {
      *expected = {std::move(value), {}};
    } else {
      refused_++;
      expected->perhaps.push_back(std::move(value));
    }
  }

  void Get(const std::string& key, const Expected& expected) {
    std::string value;
    const absl::Status status = Call([&] { return db_->Get(ReadOptions(), key, &value); });
    if (status.ok() || absl::IsNotFound(status)) {
      EXPECT_EQ(status.ok() ? value : "", expected.value) << key;
    } else {
      EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
    }
  }

  absl::Status Scan(bool forward) {
    const std::unique_ptr<Iterator> iterator = db_->NewIterator(ReadOptions());
    int left = 50;
    for (forward ? iterator->SeekToFirst() : iterator->SeekToLast(); iterator->Valid() && left > 0;
         forward ? iterator->Next() : iterator->Prev()) {
      left--;
    }
    return iterator->status();
  }

  absl::Status UseAnotherFamily() {
    auto family = db_->CreateColumnFamily(ColumnFamilyOptions(), "another");
    if (!family.ok()) family = db_->FindColumnFamily("another");
    if (!family.ok()) return family.status();
    db_->Put(WriteOptions(), *family, "key", "value").IgnoreError();
    return db_->DropColumnFamily(*family);
  }

  void Work(int thread, uint64_t seed, int steps) {
    const AllocationsOfThisThread succeed(false);
    std::mt19937_64 random(seed * kThreads + static_cast<uint64_t>(thread));
    for (int step = 0; step < steps; step++) {
      const std::string key = absl::StrCat("t", thread, "k", random() % kKeysOfThread);
      Expected& expected = expected_[static_cast<size_t>(thread)][key];
      const auto what = random() % 100;
      if (what < 60) {
        Put(key, absl::StrCat(key, "@", step, std::string(random() % 2000, 'v')), &expected);
      } else if (what < 65) {
        Put(key, "", &expected);
      } else if (what < 90) {
        Get(key, expected);
      } else if (what < 93) {
        Call([&] { return Scan(what % 2 == 0); }).IgnoreError();
      } else if (what < 95) {
        Call([&] { return db_->Flush(); }).IgnoreError();
      } else if (what < 96) {
        Call([&] { return db_->CompactRange({}, {}); }).IgnoreError();
      } else if (what < 98) {
        Call([&] {
          db_->ReleaseSnapshot(db_->GetSnapshot());
          return db_->GetProperty("winnow.stats").status();
        }).IgnoreError();
      } else {
        Call([&] { return UseAnotherFamily(); }).IgnoreError();
      }
    }
  }

  void ExpectAll(bool reopened) {
    for (auto& keys : expected_) {
      for (auto& [key, expected] : keys) {
        std::string value;
        const absl::Status status = db_->Get(ReadOptions(), key, &value);
        ASSERT_TRUE(status.ok() || absl::IsNotFound(status)) << status;
        if (!status.ok()) value.clear();
        bool explained = value == expected.value;
        for (const std::string& other : expected.perhaps) {
          explained = explained || (reopened && value == other);
        }
        EXPECT_TRUE(explained) << key << " holds '" << value.substr(0, 20) << "' and not '"
                               << expected.value.substr(0, 20) << (reopened ? "', reopened" : "'");
        if (reopened) expected = {value, {}};
      }
    }
  }

  // Either by itself, or the error says that it must be opened again.
  void ExpectGoesOn() {
    absl::Status status;
    for (int tries = 0; tries < 100; tries++) {
      status = db_->Put(WriteOptions(), "goes on", "");
      if (status.ok()) status = db_->WaitForBackgroundWork();
      if (status.ok() || absl::IsFailedPrecondition(status)) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // for the next try of a job
    }
    ADD_FAILURE() << status;
  }

  const AllocationsOfThisThread succeed_{false};
  const ScratchDirectory directory_{"outage"};
  std::unique_ptr<DB> db_;
  std::vector<std::map<std::string, Expected>> expected_{kThreads};
  std::atomic<int> refused_{0};
};

TEST_F(MemoryOutage, NothingIsLostAndNobodyWaitsForEver) {
  for (const uint64_t seed : Seeds(9)) {
    SCOPED_TRACE(absl::StrCat("WINNOW_SEED=", seed));
    Open();
    ASSERT_NE(db_, nullptr);
    // Few fail, or many, or all for a while: what is done about a failure must not need memory.
    const uint32_t one_in = std::array<uint32_t, 3>{1, 20, 400}[seed % 3];
    std::atomic<bool> done{false};
    std::thread outages([&] {
      const AllocationsOfThisThread succeed(false);
      uint64_t failed = 0;
      while (!done) {
        FailAllocationsByChance({}, one_in);
        std::this_thread::sleep_for(std::chrono::milliseconds(one_in == 1 ? 2 : 20));
        StopCountingAllocations(&failed);
        std::this_thread::sleep_for(std::chrono::milliseconds(one_in == 1 ? 4 : 2));
      }
    });
    std::vector<std::thread> threads;
    for (int thread = 0; thread < kThreads; thread++) {
      threads.emplace_back([&, thread] { Work(thread, seed, 500); });
    }
    for (std::thread& thread : threads) thread.join();
    done = true;
    outages.join();
    ExpectGoesOn();
    ExpectAll(/*reopened=*/false);
    db_->Close().IgnoreError();
    Open();
    ASSERT_NE(db_, nullptr);
    ExpectAll(/*reopened=*/true);
    EXPECT_EQ(VerifyMessages(*db_), std::vector<std::string>());
    db_.reset();
    if (HasFailure()) return;
  }
  EXPECT_GT(refused_, 0);
}

}  // namespace
}  // namespace winnow
