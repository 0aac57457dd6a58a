// Readers, writers, snapshots, iterators, flushes, compactions, column families that come and go
// and checkpoints, all at once on a few keys; afterwards everything that was seen must fit one
// order of writes.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <latch>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/db/history_check.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

// --- The checker ---

HistoryCall Write(uint64_t begin, uint64_t end, std::map<int, uint64_t> values) {
  return {begin, end, true, std::move(values)};
}
HistoryCall Read(uint64_t begin, uint64_t end, std::map<int, uint64_t> values) {
  return {begin, end, false, std::move(values)};
}

TEST(FindContradiction, AcceptsWhatFitsOneOrder) {
  EXPECT_EQ(FindContradiction({}), std::nullopt);
  // Two writes at once may be in either order, but all reads agree.
  EXPECT_EQ(FindContradiction({Write(1, 10, {{0, 1}}), Write(2, 9, {{0, 2}}), Read(3, 4, {{0, 0}}),
                               Read(5, 6, {{0, 2}}), Read(11, 12, {{0, 1}})}),
            std::nullopt);
  EXPECT_EQ(FindContradiction({Write(1, 2, {{0, 1}, {1, 2}}), Write(3, 4, {{0, 0}}),
                               Read(5, 6, {{0, 0}, {1, 2}})}),
            std::nullopt);
}

TEST(FindContradiction, RefusesAStaleRead) {
  EXPECT_TRUE(
      FindContradiction({Write(1, 2, {{0, 1}}), Write(3, 4, {{0, 2}}), Read(5, 6, {{0, 1}})}));
  EXPECT_TRUE(FindContradiction({Write(1, 2, {{0, 1}}), Read(3, 4, {{0, 0}})}));
}

TEST(FindContradiction, RefusesAValueFromTheFutureOrFromNowhere) {
  EXPECT_TRUE(FindContradiction({Read(1, 2, {{0, 1}}), Write(3, 4, {{0, 1}})}));
  EXPECT_TRUE(FindContradiction({Write(1, 2, {{0, 1}}), Read(3, 4, {{0, 7}})}));
}

TEST(FindContradiction, RefusesHalfABatch) {
  EXPECT_TRUE(FindContradiction({Write(1, 2, {{0, 1}, {1, 2}}), Write(3, 20, {{0, 3}, {1, 4}}),
                                 Read(5, 6, {{0, 3}, {1, 2}})}));
}

TEST(FindContradiction, RefusesTwoReadersThatSawTwoOrders) {
  const std::vector<HistoryCall> writes = {Write(1, 20, {{0, 1}}), Write(2, 19, {{1, 2}})};
  std::vector<HistoryCall> calls = writes;
  calls.push_back(Read(3, 4, {{0, 1}, {1, 0}}));
  EXPECT_EQ(FindContradiction(calls), std::nullopt);
  calls.push_back(Read(5, 6, {{0, 0}, {1, 2}}));
  EXPECT_TRUE(FindContradiction(calls));
}

TEST(FindContradiction, RefusesAReadThatGoesBack) {
  EXPECT_TRUE(
      FindContradiction({Write(1, 20, {{0, 1}}), Write(2, 19, {{0, 2}}), Read(3, 4, {{0, 1}}),
                         Read(5, 6, {{0, 2}}), Read(7, 8, {{0, 1}})}));
}

TEST(FindContradiction, RefusesADeletedKeyThatComesBack) {
  EXPECT_TRUE(
      FindContradiction({Write(1, 2, {{0, 1}}), Write(3, 4, {{0, 0}}), Read(5, 6, {{0, 1}})}));
}

// --- The database ---

constexpr int kSharedKeys = 6;  // the even ones in "default", the others in "second"

// Logs what the threads of one round do.
class Recording {
 public:
  uint64_t Now() { return clock_.fetch_add(1); }
  void Add(HistoryCall call) {
    const std::lock_guard<std::mutex> lock(mutex_);
    calls_.push_back(std::move(call));
  }
  const std::vector<HistoryCall>& calls() const { return calls_; }

 private:
  std::atomic<uint64_t> clock_{1};
  // Guards calls_ while threads run.
  std::mutex mutex_;
  std::vector<HistoryCall> calls_;
};

class ConcurrentHistory : public testing::Test {
 protected:
  static Options Busy() {
    Options options = MemoryDb::Busy();
    options.block_cache_bytes = 128 << 10;
    return options;
  }

  void SetUp() override {
    const auto second = db_->CreateColumnFamily(Busy(), "second");
    ASSERT_TRUE(second.ok());
    families_ = {db_->DefaultColumnFamily(), *second};
    // Files in memory answer at once; giving way in the middle of each call lets others in.
    db_.file_system().set_error_hook([](const FileOperation&) {
      std::this_thread::yield();
      return absl::OkStatus();
    });
  }

  // Each round has keys of its own, so that all are absent at its begin.
  std::string KeyText(int key) const { return absl::StrCat("round ", round_, " key ", key); }
  static size_t FamilyIndex(int key) { return static_cast<size_t>(key % 2); }
  static uint64_t NumberIn(std::string_view value) {
    return std::strtoull(std::string(value).c_str(), nullptr, 10);
  }

  void WriteSome(std::mt19937_64& random) {
    HistoryCall call;
    call.is_write = true;
    WriteBatch batch;
    for (uint64_t left = 1 + random() % 4; left > 0; left--) {
      const int key = static_cast<int>(random() % kSharedKeys);
      if (call.values.contains(key)) continue;
      ColumnFamily* family = families_[FamilyIndex(key)];
      if (random() % 8 == 0) {
        call.values[key] = 0;
        batch.Delete(family, KeyText(key));
      } else {
        const uint64_t number = next_number_++;
        call.values[key] = number;
        batch.Put(family, KeyText(key), absl::StrCat(number, std::string(random() % 3000, '.')));
      }
    }
    WriteOptions write;
    write.sync = random() % 20 == 0;
    call.begin = recording_->Now();
    ASSERT_TRUE(db_->Write(write, batch).ok());
    call.end = recording_->Now();
    recording_->Add(std::move(call));
  }

  // Adds what Get shows of a key to a read.
  void See(DB& db, const ReadOptions& read, ColumnFamily* family, int key, HistoryCall* call) {
    std::string value;
    const absl::Status status = db.Get(read, family, KeyText(key), &value);
    ASSERT_TRUE(status.ok() || absl::IsNotFound(status)) << status.ToString();
    const uint64_t number = status.ok() ? NumberIn(value) : 0;
    const auto [seen, first] = call->values.emplace(key, number);
    ASSERT_EQ(seen->second, number) << "a frozen view has changed, key " << key;
  }

  void GetOne(std::mt19937_64& random) {
    HistoryCall call;
    const int key = static_cast<int>(random() % kSharedKeys);
    call.begin = recording_->Now();
    See(*db_, ReadOptions(), families_[FamilyIndex(key)], key, &call);
    call.end = recording_->Now();
    recording_->Add(std::move(call));
  }

  void GetSeveral(std::mt19937_64& random) {
    const size_t family = random() % 2;
    std::vector<std::string> keys;
    for (int key = static_cast<int>(family); key < kSharedKeys; key += 2)
      keys.push_back(KeyText(key));
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    std::vector<PinnedValue> values(keys.size());
    std::vector<absl::Status> statuses(keys.size());
    HistoryCall call;
    call.begin = recording_->Now();
    db_->MultiGet(ReadOptions(), families_[family], views, values, statuses);
    call.end = recording_->Now();
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_TRUE(statuses[i].ok() || absl::IsNotFound(statuses[i])) << statuses[i].ToString();
      call.values[static_cast<int>(family + 2 * i)] =
          statuses[i].ok() ? NumberIn(values[i].view()) : 0;
    }
    recording_->Add(std::move(call));
  }

  void ReadSnapshot(std::mt19937_64& random) {
    HistoryCall call;
    call.begin = recording_->Now();
    const SnapshotGuard snapshot(*db_);
    call.end = recording_->Now();
    ReadOptions read;
    read.snapshot = snapshot.get();
    for (int pass = 0; pass < 2; pass++) {  // the second must show the same
      for (int i = 0; i < kSharedKeys; i++) {
        const int key = static_cast<int>(random() % kSharedKeys);
        See(*db_, read, families_[FamilyIndex(key)], key, &call);
      }
    }
    recording_->Add(std::move(call));
  }

  void Iterate(std::mt19937_64& random) {
    const size_t family = random() % 2;
    ReadOptions read;
    read.lower_bound = KeyText(0);
    read.upper_bound = KeyText(9);
    HistoryCall call;
    call.begin = recording_->Now();
    const auto iterator = db_->NewIterator(read, families_[family]);
    call.end = recording_->Now();
    for (int key = static_cast<int>(family); key < kSharedKeys; key += 2) call.values[key] = 0;
    const bool forward = random() % 2 == 0;
    forward ? iterator->SeekToFirst() : iterator->SeekToLast();
    for (; iterator->Valid(); forward ? iterator->Next() : iterator->Prev()) {
      call.values[iterator->key().back() - '0'] = NumberIn(iterator->value());
    }
    ASSERT_TRUE(iterator->status().ok()) << iterator->status().ToString();
    recording_->Add(std::move(call));
  }

  void Checkpoint() {
    const std::string path = absl::StrCat("/checkpoint", checkpoints_++);
    HistoryCall call;
    call.begin = recording_->Now();
    const absl::Status made = db_->Checkpoint(path);
    call.end = recording_->Now();
    ASSERT_TRUE(made.ok()) << made.ToString();
    Options options = Busy();
    options.file_system = &db_.file_system();
    options.read_only = true;
    const auto copy = OpenOrFail(options, path);
    ASSERT_NE(copy, nullptr);
    for (int key = 0; key < kSharedKeys; key++) {
      const auto family = copy->FindColumnFamily(FamilyIndex(key) == 0 ? "default" : "second");
      ASSERT_TRUE(family.ok());
      See(*copy, ReadOptions(), *family, key, &call);
    }
    recording_->Add(std::move(call));
    ASSERT_TRUE(copy->Close().ok());
    ASSERT_TRUE(DB::Destroy(options, path).ok());
  }

  void Maintain(std::mt19937_64& random) {
    ColumnFamily* family = families_[random() % 2];
    switch (random() % 8) {
      case 0:
        Checkpoint();
        break;
      case 1: {
        const auto passing = db_->CreateColumnFamily(Busy(), "passing");
        ASSERT_TRUE(passing.ok()) << passing.status().ToString();
        ASSERT_TRUE(db_->Put(WriteOptions(), *passing, "a", std::string(1000, 'v')).ok());
        ASSERT_TRUE(db_->DropColumnFamily(*passing).ok());
        break;
      }
      case 2:
        ASSERT_TRUE(db_->SetFilter(family, random() % 2 == 0 ? "bloom:10" : "ribbon:1%",
                                   random() % 2 == 0 ? "whole" : "prefix:7")
                        .ok());
        break;
      case 3:
      case 4:
        ASSERT_TRUE(db_->CompactRange(family, std::nullopt, std::nullopt).ok());
        break;
      default:
        ASSERT_TRUE(db_->Flush(family).ok());
    }
  }

  void RunRound() {
    recording_ = std::make_unique<Recording>();
    using Body = std::function<void(std::mt19937_64&)>;
    const Body writer = [this](std::mt19937_64& random) { WriteSome(random); };
    const Body reader = [this](std::mt19937_64& random) {
      random() % 2 == 0 ? GetOne(random) : GetSeveral(random);
    };
    // What a thread has written, it sees at once.
    const Body both = [this](std::mt19937_64& random) {
      WriteSome(random);
      GetSeveral(random);
    };
    const Body viewer = [this](std::mt19937_64& random) {
      random() % 2 == 0 ? ReadSnapshot(random) : Iterate(random);
    };
    const Body maintainer = [this](std::mt19937_64& random) { Maintain(random); };
    std::vector<std::thread> threads;
    std::latch start(6);
    const std::vector<std::pair<Body, int>> bodies = {{writer, 30}, {writer, 30}, {both, 20},
                                                      {reader, 40}, {viewer, 30}, {maintainer, 5}};
    for (const auto& [body, times] : bodies) {
      const uint64_t seed = static_cast<uint64_t>(round_) * 100 + threads.size();
      threads.emplace_back([&body = body, &times = times, &start, seed] {
        std::mt19937_64 random(seed);
        start.arrive_and_wait();
        for (int i = 0; i < times && !HasFatalFailure(); i++) body(random);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  MemoryDb db_{Busy()};
  std::vector<ColumnFamily*> families_;
  std::unique_ptr<Recording> recording_;
  int round_ = 0;
  std::atomic<int> checkpoints_{0};
  std::atomic<uint64_t> next_number_{1};
};

TEST_F(ConcurrentHistory, EverythingSeenFitsOneOrderOfWrites) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(LongTests() ? 120 : 3);
  uint64_t overlapping = 0;
  size_t calls = 0;
  while (std::chrono::steady_clock::now() < deadline && !HasFailure()) {
    RunRound();
    const std::vector<HistoryCall>& history = recording_->calls();
    const auto contradiction = FindContradiction(history);
    ASSERT_FALSE(contradiction.has_value()) << "round " << round_ << ": " << *contradiction;
    calls += history.size();
    for (const HistoryCall& a : history) {
      for (const HistoryCall& b : history) {
        overlapping += a.begin < b.begin && b.begin < a.end ? 1 : 0;
      }
    }
    round_++;
  }
  EXPECT_GT(round_, 0);
  EXPECT_GT(calls, 100u);
  EXPECT_GT(overlapping, calls / 10) << "hardly anything ran at the same time";
  EXPECT_TRUE(VerifyMessages(*db_).empty());
  RecordProperty("rounds", round_);
  RecordProperty("overlapping", static_cast<int>(overlapping));
}

// A value that one read did not see: that of another write of the same key.
struct WrongValue {
  size_t read;
  int key;
  uint64_t number;
};

std::vector<WrongValue> WrongValues(const std::vector<HistoryCall>& history) {
  std::vector<WrongValue> found;
  for (size_t i = 0; i < history.size(); i++) {
    if (history[i].is_write) continue;
    for (const auto& [key, seen] : history[i].values) {
      for (const HistoryCall& write : history) {
        if (!write.is_write) continue;
        const auto written = write.values.find(key);
        if (written == write.values.end() || written->second == 0) continue;
        if (written->second != seen) found.push_back({i, key, written->second});
      }
    }
  }
  return found;
}

// The checker has something to hold on to in such histories: values that a read did not see are
// noticed nearly always.
TEST_F(ConcurrentHistory, AHistoryWithOneWrongValueIsRefused) {
  int changed = 0;
  int refused = 0;
  for (round_ = 0; round_ < 3; round_++) {
    RunRound();
    const std::vector<HistoryCall>& sound = recording_->calls();
    ASSERT_EQ(FindContradiction(sound), std::nullopt);
    const std::vector<WrongValue> choices = WrongValues(sound);
    ASSERT_FALSE(choices.empty());
    std::mt19937_64 random(1);
    for (int trial = 0; trial < 40; trial++) {
      const WrongValue& choice = choices[random() % choices.size()];
      std::vector<HistoryCall> wrong = sound;
      wrong[choice.read].values[choice.key] = choice.number;
      changed++;
      refused += FindContradiction(wrong).has_value() ? 1 : 0;
    }
  }
  EXPECT_GE(refused * 2, changed) << refused << " of " << changed;
  RecordProperty("refused", refused);
}

}  // namespace
}  // namespace winnow
