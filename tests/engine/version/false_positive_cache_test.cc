// Remembered false positives: what is remembered was added, byte for byte.
#include "engine/version/false_positive_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"

namespace winnow {
namespace {

TEST(FalsePositiveCache, RemembersExactlyFileAndKey) {
  FalsePositiveCache refuted(16);
  EXPECT_FALSE(refuted.Contains(7, 1, "key"));
  refuted.Add(7, 1, "key");
  EXPECT_TRUE(refuted.Contains(7, 1, "key"));
  EXPECT_FALSE(refuted.Contains(8, 1, "key")) << "another file";
  EXPECT_FALSE(refuted.Contains(7, 1, "kex")) << "another key of the same hash";
  EXPECT_FALSE(refuted.Contains(7, 1, "ke"));
  EXPECT_FALSE(refuted.Contains(7, 1, std::string("key\0", 4)));
  EXPECT_FALSE(refuted.Contains(7, 1, ""));
}

TEST(FalsePositiveCache, AnEmptySlotIsNotTheEmptyKeyOfFileZero) {
  FalsePositiveCache refuted(1);
  EXPECT_FALSE(refuted.Contains(1, 0, ""));
  refuted.Add(1, 0, "");
  EXPECT_TRUE(refuted.Contains(1, 0, ""));
  EXPECT_FALSE(refuted.Contains(1, 0, std::string("\0", 1)));
}

TEST(FalsePositiveCache, LongKeysAreNotRemembered) {
  FalsePositiveCache refuted(1);
  const std::string longest(FalsePositiveCache::kMaxKeyBytes, 'k');
  refuted.Add(1, 5, longest);
  EXPECT_TRUE(refuted.Contains(1, 5, longest));
  refuted.Add(1, 5, longest + "k");
  EXPECT_FALSE(refuted.Contains(1, 5, longest + "k"));
  EXPECT_FALSE(refuted.Contains(1, 5, longest + "kk"));
}

TEST(FalsePositiveCache, ANewAnswerReplacesAnOldOneOfItsSlot) {
  FalsePositiveCache refuted(1);
  refuted.Add(1, 5, "old");
  refuted.Add(2, 6, "new");
  EXPECT_TRUE(refuted.Contains(2, 6, "new"));
  EXPECT_FALSE(refuted.Contains(1, 5, "old"));
}

// Writers of one slot at once: a reader must never see a mix of two of their keys.
TEST(FalsePositiveCache, NeverAnswersForAKeyThatNobodyAdded) {
  FalsePositiveCache refuted(2);
  const auto key = [](uint64_t number, char fill) {
    return absl::StrCat(number, std::string(30, fill));
  };
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> hits{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; writer++) {
    threads.emplace_back([&, writer] {
      const char fill = writer == 0 ? 'a' : 'b';
      for (uint64_t i = 0; i < 100000; i++) {
        const uint64_t number = 10 + i % 4;
        refuted.Add(number, number, key(number, fill));
      }
      stop.store(true);
    });
  }
  threads.emplace_back([&] {
    while (!stop.load()) {
      for (uint64_t number = 10; number < 14; number++) {
        for (const char fill : {'a', 'b'}) {
          hits.fetch_add(refuted.Contains(number, number, key(number, fill)) ? 1 : 0);
          EXPECT_FALSE(refuted.Contains(number + 1, number, key(number, fill)));
          std::string mixed = key(number, fill);
          mixed.replace(16, 16, std::string(16, fill == 'a' ? 'b' : 'a'));
          EXPECT_FALSE(refuted.Contains(number, number, mixed));
        }
      }
    }
  });
  for (std::thread& thread : threads) thread.join();
  bool any = hits.load() > 0;
  for (uint64_t number = 10; number < 14; number++) {
    any = any || refuted.Contains(number, number, key(number, 'a')) ||
          refuted.Contains(number, number, key(number, 'b'));
  }
  EXPECT_TRUE(any) << "nothing was ever remembered: the test proves nothing";
}

}  // namespace
}  // namespace winnow
