// The pieces of ranges cover what was added and nothing else, each key since it was first added.
#include "engine/transaction/tracked_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

std::string Letter(size_t number) { return std::string(1, static_cast<char>('a' + number)); }

TEST(TrackedRanges, FillTheGapsBetweenEarlierOnes) {
  TrackedRanges ranges{InternalKeyComparator(BytewiseComparator())};
  ranges.Add("c", "e", 1);
  ranges.Add("g", "i", 2);
  ranges.Add("a", "z", 3);
  ranges.Add("d", "h", 4);
  std::string pieces;
  for (const auto& [begin, piece] : ranges.pieces()) {
    absl::StrAppend(&pieces, begin, "-", piece.end, "@", piece.unchanged_since, " ");
  }
  EXPECT_EQ(pieces, "a-c@3 c-e@1 e-g@3 g-i@2 i-z@3 ");
}

TEST(TrackedRanges, AgreeWithAModel) {
  constexpr size_t kLetters = 20;
  for (const uint64_t seed : Seeds(100)) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    std::mt19937_64 random(seed);
    TrackedRanges ranges{InternalKeyComparator(BytewiseComparator())};
    std::array<SequenceNumber, kLetters> since = {};
    const size_t calls = 1 + random() % 12;
    for (SequenceNumber call = 1; call <= calls; call++) {
      const size_t begin = random() % (kLetters - 1);
      const size_t end = begin + 1 + random() % (kLetters - 1 - begin);
      ranges.Add(Letter(begin), Letter(end), call);
      for (size_t i = begin; i < end; i++) since[i] = since[i] == 0 ? call : since[i];
    }
    EXPECT_LT(ranges.pieces().size(), 2 * calls);
    std::array<SequenceNumber, kLetters> found = {};
    for (const auto& [begin, piece] : ranges.pieces()) {
      for (size_t i = 0; i < kLetters; i++) {
        if (begin <= Letter(i) && Letter(i) < piece.end) {
          EXPECT_EQ(found[i], 0U) << "pieces overlap";
          found[i] = piece.unchanged_since;
        }
      }
    }
    EXPECT_EQ(found, since);
    for (size_t i = 0; i < kLetters; i++) {
      EXPECT_EQ(ranges.Contain(Letter(i)), since[i] != 0);
      for (size_t end = i; end < kLetters; end++) {
        const bool any = std::any_of(since.begin() + static_cast<ptrdiff_t>(i),
                                     since.begin() + static_cast<ptrdiff_t>(end),
                                     [](SequenceNumber number) { return number != 0; });
        EXPECT_EQ(ranges.FindAnyOf(Letter(i), Letter(end)) != nullptr, any);
      }
    }
  }
}

}  // namespace
}  // namespace winnow
