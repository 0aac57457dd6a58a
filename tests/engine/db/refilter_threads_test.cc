// Refilter beside readers, writers, compactions, copies, and a database that closes.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"
#include "tests/support/verify_messages.h"

namespace winnow::refilter_threads {
namespace {

constexpr int kNumReaders = 8;
constexpr int kNumKeys = 4000;
constexpr const char* kFilters[] = {"ribbon:0.1%", "cuckoo:12",        "blocked_bloom:10",
                                    "none",        "binary_fuse:0.4%", "bloom:14"};
constexpr const char* kFilterKeys[] = {"whole", "prefix:7", "whole+prefix:6"};

std::string KeyAt(int i) { return absl::StrCat("key", 100000 + i); }

// One of the ways to look for key `i`, which is there if it is even. Empty: as it should be.
std::string Look(DB& db, int i, int way) {
  const std::string key = KeyAt(i);
  const bool wanted = i % 2 == 0;
  std::string value;
  switch (way) {
    case 0:
      if (db.Get(ReadOptions(), key, &value).ok() == wanted) return "";
      break;
    case 1: {
      const std::string_view keys[] = {key};
      PinnedValue values[1];
      absl::Status statuses[1];
      db.MultiGet(ReadOptions(), db.DefaultColumnFamily(), keys, values, statuses);
      if (statuses[0].ok() == wanted) return "";
      break;
    }
    case 2:
      if (!wanted || db.MayExist(ReadOptions(), db.DefaultColumnFamily(), key)) return "";
      break;
    default: {
      ReadOptions read;
      const std::string upper = key + "~";
      read.lower_bound = key;
      read.upper_bound = upper;
      const auto iterator = db.NewIterator(read);
      iterator->SeekToFirst();
      if (iterator->Valid() == wanted && iterator->status().ok()) return "";
    }
  }
  return absl::StrCat(key, wanted ? " is missed, way " : " is there, way ", way);
}

class Readers {
 public:
  explicit Readers(DB* db) {
    for (int t = 0; t < kNumReaders; t++) {
      threads_.emplace_back([this, db, t] {
        // Unsigned: a fast reader comes round often enough for an int to overflow.
        for (uint32_t round = t; !stop_.load(); round++) {
          const int i = static_cast<int>((round * 7919 + t) % kNumKeys);
          const std::string wrong = Look(*db, i, static_cast<int>(round % 4));
          looks_.fetch_add(1, std::memory_order_relaxed);
          if (!wrong.empty() && num_wrong_.fetch_add(1) == 0) first_wrong_ = wrong;
        }
      });
    }
  }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
    EXPECT_EQ(num_wrong_.load(), 0) << first_wrong_;
    EXPECT_GT(looks_.load(), 0u);
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> num_wrong_{0};
  std::atomic<uint64_t> looks_{0};
  std::string first_wrong_;  // by the first thread that counts one
  std::vector<std::thread> threads_;
};

Options ManyFiles() {
  Options options = MemoryDb::Busy();
  options.target_file_bytes = 64 << 10;
  return options;
}

void Fill(MemoryDb& db) {
  for (int i = 0; i < kNumKeys; i += 2) db.Put(KeyAt(i), std::string(400, 'v'));
  db.Flush();
}

// A refiltering would then take many seconds.
void PaceSlowly(DB& db) {
  const absl::Status set = db.SetOption("background_bytes_per_second", "128K");
  ASSERT_TRUE(set.ok()) << set;
}

TEST(RefilterThreads, EightReadersMissNoKey) {
  MemoryDb db(ManyFiles());
  Fill(db);
  Readers readers(db.get());
  uint64_t refiltered = 0;
  for (uint64_t round = 0; round < 18 / kFewerBy + 3; round++) {
    const auto info = db->Refilter({.filter = kFilters[round % std::size(kFilters)],
                                    .filter_key = kFilterKeys[round % std::size(kFilterKeys)]});
    ASSERT_TRUE(info.ok()) << info.status();
    refiltered += info->files_refiltered;
  }
  readers.Stop();
  EXPECT_GT(refiltered, 0u);
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

TEST(RefilterThreads, WritersCompactionsAndCopiesGoOn) {
  MemoryDb db(ManyFiles());
  Fill(db);
  Readers readers(db.get());
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    // Keys that nobody looks for, and even ones again.
    for (int i = 0; !stop.load(); i++) {
      EXPECT_TRUE(db->Put(WriteOptions(), absl::StrCat("other", i % 5000), "w").ok());
      EXPECT_TRUE(db->Put(WriteOptions(), KeyAt(i * 2 % kNumKeys), std::string(400, 'w')).ok());
    }
  });
  std::thread compactor([&] {
    while (!stop.load()) {
      EXPECT_TRUE(db->CompactRange(std::nullopt, std::nullopt).ok());
    }
  });
  std::thread second([&] {
    for (int i = 0; !stop.load(); i++) {
      const auto info = db->Refilter({.filter = i % 2 == 0 ? "cuckoo:10" : "bloom:8"});
      EXPECT_TRUE(info.ok()) << info.status();
    }
  });
  for (uint64_t round = 0; round < 12 / kFewerBy + 2; round++) {
    const auto info = db->Refilter({.filter = kFilters[round % std::size(kFilters)]});
    ASSERT_TRUE(info.ok()) << info.status();
    const std::string copy = absl::StrCat("/copy", round);
    const absl::Status copied = db->Checkpoint(copy);
    ASSERT_TRUE(copied.ok()) << copied;
    Options options = db.options();
    options.read_only = true;
    const auto opened = OpenOrFail(options, copy);
    EXPECT_EQ(opened->GetStatistics().Get(Ticker::kFiltersDamaged), 0u);
    for (int i = 0; i < kNumKeys; i += 97) EXPECT_EQ(Look(*opened, i, 0), "");
  }
  stop = true;
  writer.join();
  compactor.join();
  second.join();
  readers.Stop();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
  // Nothing is left of the filter files that were replaced.
  db.Reopen();
  size_t filter_files = 0;
  const std::vector<std::string> names = *db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : names) {
    filter_files += name.ends_with(".flt") ? 1 : 0;
  }
  size_t tables = 0;
  for (const LevelStatistics& level : db->GetStatistics().levels) tables += level.num_files;
  EXPECT_LE(filter_files, tables);
}

// A refiltering on a thread of its own.
class SlowRefilter {
 public:
  SlowRefilter(DB& db, ColumnFamily* family) {
    PaceSlowly(db);
    thread_ = std::thread([this, &db, family] {
      RefilterOptions refilter_options;
      refilter_options.filter = "cuckoo:12";
      refilter_options.on_progress = [this](const RefilterInfo&) {
        has_progressed_ = true;
        return true;
      };
      has_begun_ = true;
      status_ = db.Refilter(family, refilter_options).status();
      has_progressed_ = true;
    });
  }
  void AwaitBegin() const { Await(has_begun_); }
  void AwaitProgress() const { Await(has_progressed_); }
  absl::Status Join() {
    thread_.join();
    return status_;
  }

 private:
  static void Await(const std::atomic<bool>& flag) {
    while (!flag.load()) std::this_thread::yield();
  }

  std::atomic<bool> has_begun_{false};
  std::atomic<bool> has_progressed_{false};
  absl::Status status_;
  std::thread thread_;
};

TEST(RefilterThreads, ACloseEndsIt) {
  for (int round = 0; round < 4; round++) {
    MemoryDb db(ManyFiles());
    Fill(db);
    ASSERT_TRUE(db->WaitForBackgroundWork().ok());
    SlowRefilter refilter(*db, db->DefaultColumnFamily());
    if (round % 2 == 1) {
      refilter.AwaitBegin();
    } else {
      refilter.AwaitProgress();
    }
    const absl::Status closed = db->Close();
    EXPECT_TRUE(closed.ok()) << closed;
    const absl::Status status = refilter.Join();
    EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status)) << status;
    db.CloseDb();
    db.Reopen();
    for (int i = 0; i < kNumKeys; i++) ASSERT_EQ(Look(*db, i, 0), "");
  }
}

TEST(RefilterThreads, ADropOfTheFamilyEndsIt) {
  MemoryDb db(ManyFiles());
  const auto family = db->CreateColumnFamily(ManyFiles(), "other");
  ASSERT_TRUE(family.ok());
  for (int i = 0; i < kNumKeys; i++) {
    ASSERT_TRUE(db->Put(WriteOptions(), *family, KeyAt(i), std::string(400, 'v')).ok());
  }
  ASSERT_TRUE(db->Flush(*family).ok());
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  SlowRefilter refilter(*db, *family);
  refilter.AwaitProgress();
  EXPECT_TRUE(db->DropColumnFamily(*family).ok());
  const absl::Status status = refilter.Join();
  EXPECT_TRUE(status.ok() || absl::IsFailedPrecondition(status) || absl::IsCancelled(status))
      << status;
  db.Reopen();
  const std::vector<std::string> names = *db.file_system().List(MemoryDb::kPath);
  for (const std::string& name : names) {
    EXPECT_FALSE(name.ends_with(".flt") || name.ends_with(".sst")) << name;
  }
}

}  // namespace
}  // namespace winnow::refilter_threads
