// Readers, writers, flushes, compactions, snapshots, iterators and column families that come and
// go, all at once. What every reader may rely on is checked while it runs; ThreadSanitizer sees the
// rest.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

constexpr int kKeys = 300;

std::string KeyOf(int i) { return absl::StrFormat("key%04d", i); }

// Values are "round" numbers that only grow, padded to fill memtables.
std::string ValueOf(uint64_t round) { return absl::StrCat(round, std::string(100, '.')); }
uint64_t RoundOf(std::string_view value) {
  return std::strtoull(std::string(value).c_str(), nullptr, 10);
}

class DbThreads : public testing::Test {
 protected:
  // Runs each body again and again, in a thread of its own, until the time is over or one fails.
  void RunTogether(std::vector<std::function<void(std::mt19937_64&)>> bodies) {
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(LongTests() ? 60 : 2);
    std::vector<std::thread> threads;
    for (size_t i = 0; i < bodies.size(); i++) {
      threads.emplace_back([&, i] {
        std::mt19937_64 random(i);
        while (std::chrono::steady_clock::now() < deadline && !HasFailure()) bodies[i](random);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  MemoryDb db_{MemoryDb::Busy()};
};

// Each writer writes all keys of a round in one batch: a snapshot, an iterator or a MultiGet that
// shows two rounds at once has seen half a batch.
TEST_F(DbThreads, ReadersSeeWholeBatchesAndNeverGoBack) {
  std::atomic<uint64_t> round{0};
  const auto write_round = [&](std::mt19937_64&) {
    const uint64_t next = round.load() + 1;
    WriteBatch batch;
    for (int i = 0; i < kKeys; i++) batch.Put(KeyOf(i), ValueOf(next));
    WriteOptions write;
    write.sync = next % 8 == 0;
    ASSERT_TRUE(db_->Write(write, batch).ok());
    round.store(next);
  };
  std::mt19937_64 first(0);
  write_round(first);

  const auto get = [&](std::mt19937_64& random) {
    const uint64_t at_least = round.load();
    std::string value;
    ASSERT_TRUE(db_->Get(ReadOptions(), KeyOf(static_cast<int>(random() % kKeys)), &value).ok());
    ASSERT_GE(RoundOf(value), at_least);
  };
  const auto multi_get = [&](std::mt19937_64& random) {
    std::vector<std::string> keys;
    for (int i = 0; i < 40; i++) keys.push_back(KeyOf(static_cast<int>(random() % kKeys)));
    const uint64_t at_least = round.load();
    const std::vector<std::string> values = db_.MultiGet(keys);
    for (const std::string& value : values) {
      ASSERT_EQ(RoundOf(value), RoundOf(values[0])) << "two moments in one MultiGet";
    }
    ASSERT_GE(RoundOf(values[0]), at_least);
  };
  const auto iterate = [&](std::mt19937_64& random) {
    const uint64_t at_least = round.load();
    const auto iterator = db_->NewIterator(ReadOptions());
    const bool forward = random() % 2 == 0;
    int count = 0;
    uint64_t shown = 0;
    forward ? iterator->SeekToFirst() : iterator->SeekToLast();
    for (; iterator->Valid(); forward ? iterator->Next() : iterator->Prev()) {
      if (count++ == 0) shown = RoundOf(iterator->value());
      ASSERT_EQ(RoundOf(iterator->value()), shown) << "two moments in one iterator";
    }
    ASSERT_TRUE(iterator->status().ok());
    ASSERT_EQ(count, kKeys);
    ASSERT_GE(shown, at_least);
  };
  const auto read_snapshot = [&](std::mt19937_64& random) {
    const SnapshotGuard snapshot(*db_);
    const uint64_t shown = RoundOf(db_.Get(KeyOf(0), snapshot.get()));
    for (int i = 0; i < 50; i++) {
      const std::string key = KeyOf(static_cast<int>(random() % kKeys));
      ASSERT_EQ(RoundOf(db_.Get(key, snapshot.get())), shown) << "two moments in one snapshot";
    }
  };
  const auto maintain = [&](std::mt19937_64& random) {
    ColumnFamily* family = db_->DefaultColumnFamily();
    if (random() % 3 == 0) {
      ASSERT_TRUE(db_->Flush(family).ok());
    }
    if (random() % 5 == 0) {
      const std::string begin = KeyOf(static_cast<int>(random() % kKeys));
      ASSERT_TRUE(db_->CompactRange(family, begin, std::nullopt).ok());
    }
    const char* spec = random() % 2 == 0 ? "bloom:10" : "cuckoo:1%";
    ASSERT_TRUE(db_->SetFilter(family, spec, random() % 2 == 0 ? "prefix:5" : "whole").ok());
    const bool other = random() % 2 == 0;
    const OptionSetting settings[] = {{"write_buffer_bytes", other ? "64K" : "256K"},
                                      {"compaction", other ? "tiered" : "leveled"},
                                      {"block_bytes", other ? "512" : "4K"},
                                      {"background_threads", other ? "1" : "3"},
                                      {"db_write_buffer_bytes", other ? "1M" : "0"}};
    ASSERT_TRUE(db_->SetOptions(family, settings).ok());
    ASSERT_EQ(*db_->GetOption(family, "block_bytes"), other ? "512" : "4K");
    db_->GetStatistics();
    ASSERT_TRUE(db_->Explain(family, KeyOf(1)).ok());
  };
  RunTogether({write_round, get, multi_get, iterate, read_snapshot, maintain});
  EXPECT_GT(round.load(), 1u);
  const auto problems = VerifyMessages(*db_);
  EXPECT_TRUE(problems.empty()) << problems[0];
  db_.Reopen();
  for (int i = 0; i < kKeys; i++) ASSERT_EQ(RoundOf(db_.Get(KeyOf(i))), round.load());
}

// Many writers with keys of their own and every kind of write; each sees its writes at once, and
// all of them are there after reopening.
TEST_F(DbThreads, WritersReadTheirOwnWritesAndLoseNone) {
  constexpr int kWriters = 4;
  std::vector<std::vector<std::string>> expected(kWriters, std::vector<std::string>(kKeys));
  const auto key = [](int writer, int i) { return absl::StrCat(KeyOf(i), "-", writer); };
  std::vector<std::function<void(std::mt19937_64&)>> bodies;
  for (int writer = 0; writer < kWriters; writer++) {
    bodies.push_back([&, writer](std::mt19937_64& random) {
      auto& mine = expected[static_cast<size_t>(writer)];
      const int i = static_cast<int>(random() % kKeys);
      WriteOptions write;
      write.sync = random() % 50 == 0;
      if (random() % 4 == 0) {
        ASSERT_TRUE(db_->Delete(write, key(writer, i)).ok());
        mine[static_cast<size_t>(i)].clear();
      } else {
        const std::string value = ValueOf(random()) + std::string(random() % 2000, 'x');
        ASSERT_TRUE(db_->Put(write, key(writer, i), value).ok());
        mine[static_cast<size_t>(i)] = value;
      }
      for (const int asked : {i, static_cast<int>(random() % kKeys)}) {
        const std::string& wanted = mine[static_cast<size_t>(asked)];
        ASSERT_EQ(db_.Get(key(writer, asked)), wanted.empty() ? "(absent)" : wanted);
      }
    });
  }
  RunTogether(bodies);
  for (int pass = 0; pass < 2; pass++) {
    for (int writer = 0; writer < kWriters; writer++) {
      for (int i = 0; i < kKeys; i++) {
        const std::string& wanted = expected[static_cast<size_t>(writer)][static_cast<size_t>(i)];
        ASSERT_EQ(db_.Get(key(writer, i)), wanted.empty() ? "(absent)" : wanted);
      }
    }
    db_.Reopen();
  }
}

// Families are created, filled, changed and dropped while others are written and flushed: the
// manifest stays readable.
TEST_F(DbThreads, FamiliesComeAndGoUnderLoad) {
  std::vector<std::function<void(std::mt19937_64&)>> bodies;
  for (int owner = 0; owner < 2; owner++) {
    bodies.push_back([&, owner](std::mt19937_64& random) {
      const auto created = db_->CreateColumnFamily(MemoryDb::Busy(), absl::StrCat("family", owner));
      ASSERT_TRUE(created.ok()) << created.status().ToString();
      for (int i = 0; i < 200; i++) {
        const std::string value(random() % 1000, 'v');
        ASSERT_TRUE(db_->Put(WriteOptions(), *created, KeyOf(i), value).ok());
      }
      if (random() % 2 == 0) {
        ASSERT_TRUE(db_->Flush(*created).ok());
      }
      std::string value;
      for (int i = 0; i < 200; i++) {
        ASSERT_TRUE(db_->Get(ReadOptions(), *created, KeyOf(i), &value).ok());
      }
      const auto iterator = db_->NewIterator(ReadOptions(), *created);
      iterator->SeekToFirst();
      ASSERT_TRUE(db_->DropColumnFamily(*created).ok());
      int count = 0;
      for (; iterator->Valid(); iterator->Next()) count += iterator->key().starts_with("key");
      ASSERT_EQ(count, 200);
    });
  }
  // These may meet a family that is being dropped: then they are told so.
  bodies.push_back([&](std::mt19937_64& random) {
    for (ColumnFamily* family : db_->ColumnFamilies()) {
      absl::Status status = db_->SetFilter(family, "bloom:9", "");
      if (status.ok() && random() % 4 == 0) status = db_->Flush(family);
      if (status.ok() && random() % 4 == 0) {
        status = db_->CompactRange(family, std::nullopt, std::nullopt);
      }
      if (status.ok()) status = db_->Put(WriteOptions(), family, "from outside", "v");
      if (status.ok()) status = db_->Delete(WriteOptions(), family, "from outside");
      ASSERT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status.ToString();
    }
  });
  bodies.push_back([&](std::mt19937_64& random) {
    db_.Put(KeyOf(static_cast<int>(random() % kKeys)), ValueOf(random()));
    if (random() % 100 == 0) db_.Flush();
  });
  bodies.push_back([&](std::mt19937_64&) {
    for (const std::string& problem : VerifyMessages(*db_)) FAIL() << problem;
    db_->GetStatistics();
  });
  RunTogether(bodies);
  db_.Reopen();
  for (ColumnFamily* family : db_->ColumnFamilies()) {
    const auto iterator = db_->NewIterator(ReadOptions(), family);
    for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    }
    EXPECT_TRUE(iterator->status().ok()) << iterator->status().ToString();
  }
}

// Cancelled half-way or refused at once, the caller gets one answer: what it asked for is gone.
TEST(DbDrop, AnInterruptedCompactRangeIsRefusedLikeEveryLaterCall) {
  MemoryDb db;
  for (int round = 0; round < 10; round++) {
    const auto family = db->CreateColumnFamily(MemoryDb::Quiet(), absl::StrCat("f", round));
    ASSERT_TRUE(family.ok()) << family.status().ToString();
    for (int i = 0; i < 20000; i++) {
      ASSERT_TRUE(db->Put(WriteOptions(), *family, absl::StrCat("key", i), ValueOf(1)).ok());
    }
    ASSERT_TRUE(db->Flush(*family).ok());
    std::atomic<bool> started{false};
    absl::Status compacted;
    std::thread compactor([&] {
      started = true;
      compacted = db->CompactRange(*family, std::nullopt, std::nullopt);
    });
    while (!started) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    ASSERT_TRUE(db->DropColumnFamily(*family).ok());
    compactor.join();
    EXPECT_TRUE(compacted.ok() || absl::IsFailedPrecondition(compacted)) << compacted.ToString();
  }
}

// A writer that had passed its check before Close once went on to lead, and appended to a log that
// Close had freed; a flush could begin a log, and a compaction write files, in a directory that was
// another opener's by then.
TEST(DbClose, CallsBesideItAreDoneOrRefusedAndWhatWasAcknowledgedIsKept) {
  const int rounds = LongTests() ? 1000 : 150;
  for (int round = 0; round < rounds; round++) {
    MemoryDb db{MemoryDb::Busy()};
    std::array<std::atomic<int>, 4> acknowledged{};
    std::atomic<int> started{0};
    const auto refused = [](const absl::Status& status) {
      EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
      return true;
    };
    std::vector<std::thread> threads;
    for (size_t writer = 0; writer < acknowledged.size(); writer++) {
      threads.emplace_back([&, writer] {
        started++;
        for (int i = 0;; i++) {
          const absl::Status status =
              db->Put(WriteOptions(), absl::StrCat("writer", writer, "key", i), ValueOf(1));
          if (!status.ok() && refused(status)) break;
          acknowledged[writer].store(i + 1);
        }
      });
    }
    const std::vector<std::function<absl::Status(int)>> calls = {
        [&](int) { return db->Flush(); },
        [&](int) { return db->CompactRange(std::nullopt, std::nullopt); },
        [&](int i) {
          return db->CreateColumnFamily(ColumnFamilyOptions(), absl::StrCat("f", i)).status();
        },
        [&](int i) { return db->SetFilter(i % 2 == 0 ? "bloom:9" : "cuckoo:1%", ""); },
        [&](int i) { return db->SetOption("background_threads", absl::StrCat(1 + i % 8)); },
        [&](int i) { return db->Checkpoint(absl::StrCat("/copy", i)); },
    };
    for (const auto& call : calls) {
      threads.emplace_back([&] {
        started++;
        for (int i = 0;; i++) {
          const absl::Status status = call(i);
          if (!status.ok() && refused(status)) break;
        }
      });
    }
    while (started.load() < static_cast<int>(threads.size())) std::this_thread::yield();
    for (int i = 0; i < round; i++) std::this_thread::yield();
    EXPECT_TRUE(db->Close().ok());
    for (std::thread& thread : threads) thread.join();
    db.CloseDb();
    db.Reopen();
    for (size_t writer = 0; writer < acknowledged.size(); writer++) {
      for (int i = 0; i < acknowledged[writer].load(); i++) {
        ASSERT_EQ(db.Get(absl::StrCat("writer", writer, "key", i)), ValueOf(1))
            << "round " << round << ", writer " << writer << ", key " << i;
      }
    }
  }
}

}  // namespace
}  // namespace winnow
