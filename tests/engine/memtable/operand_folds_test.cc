// Which of the chains that readers have combined are kept where there is no room for all.
#include "engine/memtable/operand_folds.h"

#include <gtest/gtest.h>

#include <set>
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
}

// Readers of the newest value do not take what one with a snapshot has combined from it, nor does
// it take theirs.
TEST(OperandFolds, EachReaderFindsTheLongestThatItSees) {
  OperandFolds folds(0);
  const auto find = [&](SequenceNumber snapshot) {
    const auto fold = folds.Find("key", snapshot);
    return fold == nullptr ? 0 : fold->num_operands;
  };
  folds.Keep("key", FoldOf(400, 8, /*newest=*/20));
  folds.Keep("key", FoldOf(300, 8, /*newest=*/10));
  folds.Keep("key", FoldOf(500, 8, /*newest=*/30));
  folds.Keep("key", FoldOf(999, 8, /*newest=*/20));
  EXPECT_EQ(find(9), 0U);
  EXPECT_EQ(find(10), 300U);
  EXPECT_EQ(find(19), 300U);
  EXPECT_EQ(find(20), 400U) << "it is the same one";
  EXPECT_EQ(find(29), 400U);
  EXPECT_EQ(find(1000), 500U);
}

// Of many moments those stay from which most operands would have to be walked again.
TEST(OperandFolds, OfOneKeyThereAreAFew) {
  OperandFolds folds(0);
  constexpr SequenceNumber kMoments = 200;
  for (SequenceNumber i = 1; i <= kMoments; i++) {
    const bool is_close = i % 20 != 0;
    folds.Keep("key", FoldOf(i / 20 * 100'000 + (is_close ? i % 20 : 0) + 300, 8, i));
  }
  std::set<uint64_t> lengths;
  for (SequenceNumber i = 1; i <= kMoments; i++) {
    const auto fold = folds.Find("key", i);
    if (fold != nullptr) lengths.insert(fold->num_operands);
  }
  EXPECT_LE(lengths.size(), 16U);
  for (SequenceNumber i = 20; i <= kMoments; i += 20) {
    ASSERT_NE(folds.Find("key", i), nullptr);
    EXPECT_GE(folds.Find("key", i)->num_operands, i / 20 * 100'000);
  }
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
  // One that has become longer does not push its own key out.
  folds.Keep(KeyOfFold(10), FoldOf(3 * length_of(kFit), 80'000, /*newest=*/11));
  EXPECT_NE(folds.Find(KeyOfFold(10), 11), nullptr);
  EXPECT_NE(folds.Find(KeyOfFold(10), 10), nullptr);
  EXPECT_EQ(CountFolds(folds, 11, kFit), kFit - 30);
  EXPECT_EQ(CountFolds(folds, 30, kFit), kFit - 30) << "the shortest go first";
}

// Where there is no room for two of a key, the longer one stays.
TEST(OperandFolds, WithoutRoomALongerOneTakesThePlaceOfAShorter) {
  OperandFolds folds(0);
  for (int i = 0; i < kFit; i++) folds.Keep(KeyOfFold(i), LargeFoldOf(1000, KeyOfFold(i)));
  OperandFold longer = LargeFoldOf(1100, KeyOfFold(7));
  longer.newest = 12;
  folds.Keep(KeyOfFold(7), longer);
  EXPECT_EQ(folds.Find(KeyOfFold(7), 11), nullptr);
  ASSERT_NE(folds.Find(KeyOfFold(7), 12), nullptr);
  OperandFold older = LargeFoldOf(900, KeyOfFold(7));
  older.newest = 8;
  folds.Keep(KeyOfFold(7), older);
  EXPECT_EQ(folds.Find(KeyOfFold(7), 11), nullptr);
  EXPECT_EQ(folds.Find(KeyOfFold(7), 12)->num_operands, 1100U);
  EXPECT_EQ(CountFolds(folds, 0, kFit), kFit - 1);
}

}  // namespace
}  // namespace winnow
