// Ingestions beside readers, writers, flushes and compactions.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

constexpr int kRounds = 40 / static_cast<int>(kFewerBy);

// Each round gives one key of each family the round's number, by a file for each. Who reads both at
// one snapshot sees one round.
TEST(IngestThreads, SnapshotsSeeAllOfAnIngestionOrNothing) {
  MemoryDb db(MemoryDb::Busy());
  ColumnFamily* const other = *db->CreateColumnFamily(db.options(), "other");
  ColumnFamily* const families[] = {db->DefaultColumnFamily(), other};
  std::atomic<bool> done = false;
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; i++) {
    threads.emplace_back([&] {
      uint64_t last = 0;
      while (!done) {
        const SnapshotGuard snapshot(*db);
        ReadOptions read;
        read.snapshot = snapshot.get();
        std::string values[2] = {"0", "0"};
        for (size_t f : {1u, 0u}) {
          const absl::Status got = db->Get(read, families[f], "round", &values[f]);
          ASSERT_TRUE(got.ok() || absl::IsNotFound(got)) << got;
        }
        ASSERT_EQ(values[0], values[1]);
        const uint64_t round = std::stoull(values[0]);
        ASSERT_GE(round, last) << "a later snapshot sees an earlier ingestion";
        last = round;
      }
    });
  }
  threads.emplace_back([&] {
    for (uint64_t i = 0; !done; i++) {
      // On both sides of the key that is ingested, and now and then in its range.
      const std::string key = absl::StrCat(i % 3 == 0 ? "a" : i % 3 == 1 ? "round0" : "z", i % 500);
      ASSERT_TRUE(db->Put(WriteOptions(), families[i % 2], key, std::string(100, 'v')).ok());
    }
  });
  for (int round = 1; round <= kRounds; round++) {
    std::vector<IngestFile> files;
    for (size_t f = 0; f < 2; f++) {
      files.push_back({absl::StrCat("/t", round, "-", f), families[f]});
      auto writer = db->NewSstWriter(families[f], files.back().path);
      ASSERT_TRUE(writer.ok() && (*writer)->Put("round", std::to_string(round)).ok());
      if (round % 2 == 0) {
        ASSERT_TRUE((*writer)->Put("round01", "in the range of what is written").ok());
      }
      ASSERT_TRUE((*writer)->Finish().ok());
    }
    const auto ingested = db->Ingest(files, {.move = true});
    ASSERT_TRUE(ingested.ok()) << ingested.status();
    if (round % 8 == 0) {
      ASSERT_TRUE(db->CompactRange(other, std::nullopt, std::nullopt).ok());
    }
    EXPECT_EQ(db.Get("round"), std::to_string(round));
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  ASSERT_TRUE(db->WaitForBackgroundWork().ok());
  EXPECT_TRUE(db->Verify()->empty());
  db.Reopen();
  EXPECT_EQ(db.Get("round"), std::to_string(kRounds));
}

// Close leads the write queue when it waits for the last calls, and an ingestion has to lead too.
TEST(IngestThreads, CloseWaitsForOneThatHasBegun) {
  MemoryDb db;
  auto writer = db->NewSstWriter(db->DefaultColumnFamily(), "/table.sst");
  ASSERT_TRUE(writer.ok() && (*writer)->Put("key", "value").ok() && (*writer)->Finish().ok());
  std::atomic<bool> has_begun = false;
  std::atomic<bool> closing = false;
  db.file_system().set_error_hook([&](const FileOperation& operation) -> absl::Status {
    const bool copies = absl::StartsWith(operation.path, "/db/0") &&
                        absl::EndsWith(operation.path, ".sst") && !has_begun.exchange(true);
    if (copies) {
      has_begun.notify_all();
      closing.wait(false);
      // Time to come as far as it can; with less of it the test may see nothing.
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return absl::OkStatus();
  });
  absl::Status ingested;
  std::thread thread([&] { ingested = db->Ingest({{"/table.sst"}}, {}).status(); });
  has_begun.wait(false);
  closing = true;
  closing.notify_all();
  EXPECT_TRUE(db->Close().ok());
  thread.join();
  db.file_system().set_error_hook(nullptr);
  db.Reopen();
  EXPECT_EQ(db.Get("key"), ingested.ok() ? "value" : "(absent)") << ingested;
}

}  // namespace
}  // namespace winnow
