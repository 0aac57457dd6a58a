// Which of the chains that readers have combined are kept where there is no room for all.
#include "engine/memtable/operand_folds.h"

#include <gtest/gtest.h>

#include <string>

namespace winnow {
namespace {

OperandFold FoldOf(uint64_t num_operands, size_t bytes, SequenceNumber newest = 10) {
  return {newest, /*oldest=*/1, num_operands, std::string(bytes, 'x')};
}

std::string KeyOfFold(int i) { return "key" + std::to_string(i); }

int CountFolds(const OperandFolds& folds, int begin, int end) {
  int count = 0;
  for (int i = begin; i < end; i++) count += folds.Find(KeyOfFold(i), 10) != nullptr ? 1 : 0;
  return count;
}

// So many of these, and no more, fit in a small memtable.
constexpr int kFit = 256;
OperandFold LargeFoldOf(uint64_t num_operands, const std::string& key) {
  return FoldOf(num_operands, 4096 - key.size());
}

TEST(OperandFolds, AFoldIsForThoseWhoSeeAllOfIt) {
  OperandFolds folds(0);
  EXPECT_TRUE(folds.empty());
  folds.Keep("key", FoldOf(300, 8, /*newest=*/10));
  EXPECT_FALSE(folds.empty());
  EXPECT_EQ(folds.Find("key", 9), nullptr);
  EXPECT_EQ(folds.Find("other", 10), nullptr);
  ASSERT_NE(folds.Find("key", 10), nullptr);
  folds.Keep("key", FoldOf(400, 8, /*newest=*/20));
  EXPECT_EQ(folds.Find("key", 10), nullptr);
  folds.Keep("key", FoldOf(300, 8, /*newest=*/10));
  ASSERT_NE(folds.Find("key", 20), nullptr) << "the longer one stays";
  EXPECT_EQ(folds.Find("key", 20)->num_operands, 400U);
}

TEST(OperandFolds, ManySmallOnesOrALargeOneHaveRoom) {
  OperandFolds folds(0);
  for (int i = 0; i < 3000; i++) folds.Keep(KeyOfFold(i), FoldOf(300, 8));
  EXPECT_EQ(CountFolds(folds, 0, 3000), 3000);
  OperandFolds large(0);
  large.Keep(KeyOfFold(0), FoldOf(300, 500'000));
  EXPECT_EQ(CountFolds(large, 0, 1), 1);
  large.Keep(KeyOfFold(1), FoldOf(300, 5'000'000));
  EXPECT_EQ(CountFolds(large, 0, 2), 1);
  OperandFolds of_large_memtable(size_t{1} << 30);
  of_large_memtable.Keep(KeyOfFold(1), FoldOf(300, 5'000'000));
  EXPECT_EQ(CountFolds(of_large_memtable, 1, 2), 1);
}

TEST(OperandFolds, ShortChainsGiveWayToThoseOfTwiceTheLengthAndToNoOthers) {
  OperandFolds folds(0);
  const auto length_of = [](int i) { return static_cast<uint64_t>(1000 + i); };
  for (int i = 0; i < kFit; i++) {
    folds.Keep(KeyOfFold(i), LargeFoldOf(length_of(i), KeyOfFold(i)));
  }
  ASSERT_EQ(CountFolds(folds, 0, kFit), kFit);
  folds.Keep("like", LargeFoldOf(1900, "like"));
  EXPECT_EQ(folds.Find("like", 10), nullptr);
  folds.Keep("long", FoldOf(2 * length_of(9), 40'000));
  EXPECT_NE(folds.Find("long", 10), nullptr);
  EXPECT_EQ(CountFolds(folds, 0, 10), 0);
  EXPECT_EQ(CountFolds(folds, 10, kFit), kFit - 10);
  // Eleven are short enough, and would not be enough.
  folds.Keep("huge", FoldOf(2 * length_of(20), 200'000));
  EXPECT_EQ(folds.Find("huge", 10), nullptr);
  EXPECT_EQ(CountFolds(folds, 10, kFit), kFit - 10);
  // One that has become longer does not push itself out.
  folds.Keep(KeyOfFold(10), FoldOf(3 * length_of(kFit), 80'000, /*newest=*/11));
  EXPECT_NE(folds.Find(KeyOfFold(10), 11), nullptr);
  EXPECT_EQ(CountFolds(folds, 11, kFit), kFit - 29);
  EXPECT_EQ(CountFolds(folds, 29, kFit), kFit - 29) << "the shortest go first";
}

}  // namespace
}  // namespace winnow
