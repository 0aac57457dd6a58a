// Options::optimize_filters_for_hits beside readers: filters leave and come back under them.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/engine/db/hits_database.h"
#include "tests/support/verify_messages.h"

namespace winnow::optimize_for_hits {
namespace {

TEST(OptimizeForHitsThreads, NoKeyIsMissedWhileFiltersComeAndGo) {
  MemoryDb db(ForHits());
  FillLastLevel(db);
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int t = 0; t < 4; t++) {
    readers.emplace_back([&, t] {
      std::string value;
      for (uint32_t i = static_cast<uint32_t>(t); !stop.load(); i++) {
        const int pair = static_cast<int>(i * 7919U % kPairs);
        EXPECT_TRUE(db->Get(ReadOptions(), KeyAt(2 * pair), &value).ok());
        EXPECT_FALSE(db->Get(ReadOptions(), KeyAt(2 * pair + 1), &value).ok());
      }
    });
  }
  for (int round = 0; round < 6; round++) {
    Ask(*db, round % 2 == 0 ? 100'000 : 10'000, round % 2 == 0 ? 1 : 0);
    Replan(*db);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(VerifyMessages(*db), std::vector<std::string>());
}

}  // namespace
}  // namespace winnow::optimize_for_hits
