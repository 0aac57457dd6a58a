#include "engine/base/internal_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace winnow {
namespace {

int Sign(int value) { return (value > 0) - (value < 0); }

// Short keys over few byte values, so that prefixes and near-equal keys are frequent.
std::string RandomKey(std::mt19937_64& random) {
  const std::string bytes(
      "\0\x01\x7f\x80\xff"
      "a",
      6);
  std::string key(random() % 12, '\0');
  for (char& byte : key) byte = bytes[random() % bytes.size()];
  return key;
}

TEST(InternalKey, PartsComeBack) {
  for (const std::string user_key : {"", "key", "\x80\xff"}) {
    for (const SequenceNumber sequence :
         {SequenceNumber{0}, SequenceNumber{1}, kMaxSequenceNumber}) {
      for (const EntryType type : {EntryType::kDelete, EntryType::kPut, kEntryTypeForSeek}) {
        const std::string key = MakeInternalKey(user_key, sequence, type);
        ASSERT_TRUE(IsInternalKey(key));
        ASSERT_EQ(UserKey(key), user_key);
        ASSERT_EQ(Sequence(key), sequence);
        ASSERT_EQ(Type(key), type);
        ASSERT_EQ(key.size(), user_key.size() + kTrailerBytes);
      }
    }
  }
}

TEST(InternalKey, FewerThanEightBytesAreNoInternalKey) {
  EXPECT_FALSE(IsInternalKey(""));
  EXPECT_FALSE(IsInternalKey("1234567"));
  EXPECT_TRUE(IsInternalKey("12345678"));
}

TEST(InternalKey, TheLayoutIsUserKeyThenTypeThenSequence) {
  EXPECT_EQ(MakeInternalKey("k", 0x030201, EntryType::kPut),
            std::string("k\x01\x01\x02\x03\0\0\0\0", 9));
}

TEST(InternalKey, NewerVersionsComeFirstAndASeekBeforeThemAll) {
  const InternalKeyComparator comparator(BytewiseComparator());
  const std::vector<std::string> sorted = {
      MakeInternalKey("", 1, EntryType::kPut),
      MakeInternalKey("a", 9, kEntryTypeForSeek),
      MakeInternalKey("a", 9, EntryType::kPut),
      MakeInternalKey("a", 9, EntryType::kDelete),
      MakeInternalKey("a", 8, EntryType::kPut),
      MakeInternalKey("a", 0, EntryType::kDelete),
      MakeInternalKey(std::string("a\0", 2), 1, EntryType::kPut),
      MakeInternalKey("b", 100, EntryType::kPut),
      MakeInternalKey("\xff", 1, EntryType::kPut)};
  for (size_t i = 0; i < sorted.size(); i++) {
    for (size_t j = 0; j < sorted.size(); j++) {
      ASSERT_EQ(Sign(comparator.Compare(sorted[i], sorted[j])), i < j ? -1 : (i > j ? 1 : 0))
          << i << " and " << j;
    }
  }
}

TEST(InternalKey, CompareBytesIsTheOrderOfUnsignedBytes) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  for (int i = 0; i < 200000; i++) {
    const std::string a = RandomKey(random);
    const std::string b = random() % 2 == 0 ? RandomKey(random) : a + RandomKey(random);
    const int expected =
        std::lexicographical_compare_three_way(
            a.begin(), a.end(), b.begin(), b.end(),
            [](char x, char y) { return static_cast<uint8_t>(x) <=> static_cast<uint8_t>(y); }) < 0
            ? -1
            : (a == b ? 0 : 1);
    ASSERT_EQ(Sign(CompareBytes(a, b)), expected);
    ASSERT_EQ(Sign(CompareBytes(b, a)), -expected);
    if (KeyPrefix64(a) != KeyPrefix64(b)) {
      ASSERT_EQ(KeyPrefix64(a) < KeyPrefix64(b) ? -1 : 1, expected);
    }
  }
}

// Eight bytes are compared at once, and once more where that is all.
TEST(InternalKey, CompareBytesLooksBehindAPrefixOfAnyLength) {
  std::mt19937_64 random(1);
  for (size_t length = 0; length < 20; length++) {
    const std::string prefix = std::string("user:\x80\0\xff-http://www.", 20).substr(0, length);
    for (int i = 0; i < 10000; i++) {
      const std::string a = prefix + RandomKey(random);
      const std::string b = prefix + RandomKey(random);
      const int expected = a == b ? 0 : (a < b ? -1 : 1);
      ASSERT_EQ(Sign(CompareBytes(a, b)), expected) << length;
      ASSERT_EQ(Sign(CompareBytes(b, a)), -expected) << length;
    }
  }
}

TEST(InternalKey, SeparatorsAndSuccessorsStayInTheirRange) {
  const uint64_t seed = std::random_device()();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const Comparator* bytewise = BytewiseComparator();
  int shortened = 0;
  for (int i = 0; i < 200000; i++) {
    const std::string start = RandomKey(random);
    const std::string limit = RandomKey(random);
    if (bytewise->Compare(start, limit) < 0) {
      std::string separator = start;
      bytewise->FindShortestSeparator(&separator, limit);
      ASSERT_LE(bytewise->Compare(start, separator), 0);
      ASSERT_LT(bytewise->Compare(separator, limit), 0);
      ASSERT_LE(separator.size(), start.size());
      shortened += separator.size() < start.size();
    }
    std::string successor = start;
    bytewise->FindShortSuccessor(&successor);
    ASSERT_LE(bytewise->Compare(start, successor), 0);
  }
  EXPECT_GT(shortened, 1000);
}

class ReverseComparator final : public Comparator {
 public:
  std::string_view Name() const override { return "test.reverse"; }
  int Compare(std::string_view a, std::string_view b) const override { return CompareBytes(b, a); }
};

TEST(InternalKey, AUserComparatorDecidesBeforeTheSequence) {
  const ReverseComparator reverse;
  const InternalKeyComparator comparator(&reverse);
  EXPECT_FALSE(comparator.is_bytewise());
  EXPECT_EQ(comparator.user(), &reverse);
  EXPECT_LT(comparator.Compare(MakeInternalKey("b", 1, EntryType::kPut),
                               MakeInternalKey("a", 2, EntryType::kPut)),
            0);
  EXPECT_LT(comparator.Compare(MakeInternalKey("b", 2, EntryType::kPut),
                               MakeInternalKey("b", 1, EntryType::kPut)),
            0);
  EXPECT_TRUE(InternalKeyComparator(BytewiseComparator()).is_bytewise());
}

}  // namespace
}  // namespace winnow
