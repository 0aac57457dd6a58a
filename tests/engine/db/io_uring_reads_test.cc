// Options::io_uring_reads: MultiGet answers as without, whatever the files are and become, and says
// what it read that way.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/file_system/read_ring.h"
#include "tests/support/db_fixture.h"
#include "tests/support/open_rings.h"
#include "tests/support/scratch_directory.h"
#include "winnow/statistics.h"

namespace winnow {
namespace {

class IoUringReads : public testing::Test {
 protected:
  static Options Uncached() {
    Options options = MemoryDb::Quiet();
    options.block_cache_bytes = 0;
    options.block_bytes = 512;
    return options;
  }

  static std::string Key(int i) { return absl::StrFormat("key%06d", i); }

  void Fill(DB& db, int from, int to, size_t value_bytes = 100) {
    for (int i = from; i < to; i++) {
      const std::string value = absl::StrCat(Key(i), std::string(value_bytes, 'v'));
      ASSERT_TRUE(db.Put(WriteOptions(), Key(i), value).ok());
    }
    ASSERT_TRUE(db.Flush().ok());
  }

  // Whether io_uring is to be had on this machine at all.
  bool IsHad() const {
    const std::string path = scratch_.path() + "/probe";
    std::ofstream(path) << "probe";
    FILE* const file = fopen(path.c_str(), "r");
    char bytes[2];
    RingRead reads[2];
    for (uint64_t i = 0; i < 2; i++) reads[i] = {fileno(file), i, 1, bytes + i, false};
    const bool had = ReadRings().Read(reads);
    fclose(file);
    return had;
  }

  static uint64_t Together(DB& db) { return db.GetStatistics().Get(Ticker::kBlocksReadTogether); }
  static uint64_t BlocksRead(DB& db) { return db.GetStatistics().Get(Ticker::kDataBlocksRead); }

  struct Answers {
    explicit Answers(const std::vector<std::string>& keys)
        : views(keys.begin(), keys.end()), values(keys.size()), statuses(keys.size()) {}
    std::vector<std::string_view> views;
    std::vector<PinnedValue> values;
    std::vector<absl::Status> statuses;
  };

  static Answers Ask(DB& db, const std::vector<std::string>& keys, const ReadOptions& read = {}) {
    Answers answers(keys);
    db.MultiGet(read, answers.views, answers.values, answers.statuses);
    return answers;
  }

  static void ExpectAsGet(DB& db, const std::vector<std::string>& keys) {
    const Answers answers = Ask(db, keys);
    for (size_t i = 0; i < keys.size(); i++) {
      std::string value;
      const absl::Status status = db.Get(ReadOptions(), keys[i], &value);
      ASSERT_EQ(answers.statuses[i].code(), status.code()) << keys[i] << answers.statuses[i];
      ASSERT_EQ(answers.statuses[i].message(), status.message());
      if (status.ok()) {
        ASSERT_EQ(answers.values[i].view(), value);
      }
    }
  }

  std::vector<std::string> SpreadKeys(int count, int step) const {
    std::vector<std::string> keys;
    for (int i = 0; i < count; i++) keys.push_back(Key(i * step));
    return keys;
  }

  static std::filesystem::path OneTable(const std::string& directory) {
    for (const auto& entry : std::filesystem::directory_iterator(directory)) {
      if (entry.path().extension() == ".sst") return entry.path();
    }
    return {};
  }

  const ScratchDirectory scratch_{"ring"};
  const std::string path_ = scratch_.path() + "/db";
};

TEST_F(IoUringReads, BlocksOfABatchAreReadTogetherAndOnce) {
  const bool is_had = IsHad();
  for (const bool uses_ring : {true, false}) {
    SCOPED_TRACE(uses_ring);
    Options options = Uncached();
    options.io_uring_reads = uses_ring;
    std::filesystem::remove_all(path_);
    const auto db = OpenOrFail(options, path_);
    Fill(*db, 0, 2000);
    std::vector<std::string> keys = SpreadKeys(20, 100);
    for (int i = 0; i < 10; i++) keys.push_back(Key(i * 100 + 1));  // in blocks of the others
    const uint64_t before = BlocksRead(*db);
    const Answers answers = Ask(*db, keys);
    for (size_t i = 0; i < keys.size(); i++) {
      ASSERT_TRUE(answers.statuses[i].ok()) << answers.statuses[i];
      ASSERT_TRUE(answers.values[i].view().starts_with(keys[i]));
    }
    const uint64_t read = BlocksRead(*db) - before;
    EXPECT_GE(read, 20u);
    EXPECT_LT(read, 30u) << "a block that two keys are in is read once";
    EXPECT_EQ(Together(*db), uses_ring && is_had ? read : 0u);
    EXPECT_EQ(OpenRings(), uses_ring && is_had ? 1u : 0u);
    // One block is not worth a ring.
    (void)Ask(*db, {Key(7), Key(8)});
    EXPECT_EQ(Together(*db), uses_ring && is_had ? read : 0u);
    ASSERT_TRUE(db->Close().ok());
  }
  EXPECT_EQ(OpenRings(), 0u) << "they end with their database";
}

TEST_F(IoUringReads, AnswersAreGetsForAllKindsOfTables) {
  for (const uint64_t seed : Seeds(6)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    Options options = MemoryDb::Busy();
    options.compression = random() % 2 == 0 ? Compression::kNone : Compression::kLz4;
    options.block_cache_bytes = random() % 2 == 0 ? 0 : 64 << 10;
    options.max_open_files = random() % 2 == 0 ? 0 : 16;
    options.mmap_reads = random() % 3 == 0;
    std::filesystem::remove_all(path_);
    const auto db = OpenOrFail(options, path_);
    for (int i = 0; i < 6'000; i++) {
      const std::string key = Key(static_cast<int>(2 * (random() % 2'000)));
      // Some are larger than what is read together.
      const size_t bytes = random() % 200 == 0 ? 100'000 : random() % 300;
      if (random() % 8 == 0) {
        ASSERT_TRUE(db->Delete(WriteOptions(), key).ok());
      } else {
        ASSERT_TRUE(db->Put(WriteOptions(), key, std::string(bytes, 'v')).ok());
      }
    }
    for (int batch = 0; batch < 40; batch++) {
      std::vector<std::string> keys(1 + random() % 80);
      for (std::string& key : keys) key = Key(static_cast<int>(random() % 4'100));
      ExpectAsGet(*db, keys);
    }
  }
}

// Damage and a file that has been cut are errors of the keys that lie there, and of no others.
TEST_F(IoUringReads, WhatIsDamagedIsSaidAsGetSaysIt) {
  const auto db = OpenOrFail(Uncached(), path_);
  Fill(*db, 0, 2'000);
  const std::vector<std::string> keys = SpreadKeys(30, 60);
  const std::filesystem::path table = OneTable(path_);
  {
    std::fstream file(table, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(50'000);
    file.write("damage", 6);
  }
  ExpectAsGet(*db, keys);
  const auto failed = [&] {
    size_t count = 0;
    for (const absl::Status& status : Ask(*db, keys).statuses) {
      if (status.ok()) continue;
      count++;
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    }
    return count;
  };
  EXPECT_LE(failed(), 1u);
  std::filesystem::resize_file(table, 100'000);
  ExpectAsGet(*db, keys);
  EXPECT_GT(failed(), 5u);
  EXPECT_LT(failed(), 25u);
}

TEST_F(IoUringReads, PinnedValuesOutliveTheirBatchAndTable) {
  Options options = Uncached();
  options.block_cache_bytes = 32 << 10;
  const auto db = OpenOrFail(options, path_);
  Fill(*db, 0, 2'000, 3'000);
  const std::vector<std::string> keys = SpreadKeys(32, 60);
  const Answers answers = Ask(*db, keys);
  ASSERT_TRUE(db->DeleteRange(WriteOptions(), Key(0), Key(1'999)).ok());
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  for (int i = 0; i < 20; i++) (void)Ask(*db, SpreadKeys(32, 61));
  for (size_t i = 0; i < keys.size(); i++) {
    ASSERT_TRUE(answers.statuses[i].ok()) << answers.statuses[i];
    EXPECT_EQ(answers.values[i].view(), absl::StrCat(keys[i], std::string(3'000, 'v')));
  }
}

// More threads than there are rings, beside a writer whose compactions remove tables, with few open
// files.
TEST_F(IoUringReads, ThreadsReadBesideAWriter) {
  Options options = MemoryDb::Busy();
  options.block_cache_bytes = 0;
  options.max_open_files = 64;
  const auto db = OpenOrFail(options, path_);
  constexpr int kKeys = 3'000;
  Fill(*db, 0, kKeys);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (uint64_t seed = 0; seed < 12; seed++) {
    readers.emplace_back([&, seed] {
      std::mt19937_64 random(seed);
      while (!stop) {
        std::vector<std::string> keys(32);
        for (std::string& key : keys) key = Key(static_cast<int>(random() % kKeys));
        const Answers answers = Ask(*db, keys);
        for (size_t i = 0; i < keys.size(); i++) {
          ASSERT_TRUE(answers.statuses[i].ok()) << answers.statuses[i];
          ASSERT_TRUE(answers.values[i].view().starts_with(keys[i]));
        }
      }
    });
  }
  for (int round = 0; round < 4; round++) Fill(*db, 0, kKeys);
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_LE(OpenRings(), 2u) << "of 64 descriptors no more are for rings";
}

// What a process can do with the descriptors that it has, it can do with rings, too.
TEST_F(IoUringReads, FewDescriptorsAreForTables) {
  Options options = MemoryDb::Busy();
  options.block_cache_bytes = 0;
  const auto db = OpenOrFail(options, path_);
  constexpr int kKeys = 20'000;
  Fill(*db, 0, kKeys);
  ASSERT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
  ASSERT_TRUE(db->Close().ok());
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const int lowest_free = dup(0);
  close(lowest_free);
  const rlimit few = {static_cast<rlim_t>(lowest_free) + 20, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  std::atomic<int> failed{0};
  {
    const auto reader = OpenOrFail(options, path_);
    std::vector<std::thread> threads;
    for (uint64_t seed = 0; seed < 8; seed++) {
      threads.emplace_back([&, seed] {
        std::mt19937_64 random(seed);
        for (int round = 0; round < 100; round++) {
          std::vector<std::string> keys(32);
          for (std::string& key : keys) key = Key(static_cast<int>(random() % kKeys));
          for (const absl::Status& status : Ask(*reader, keys).statuses) failed += !status.ok();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(failed, 0);
}

}  // namespace
}  // namespace winnow
