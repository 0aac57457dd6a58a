// The block of range tombstones: what is written is read, and nothing else is let through.
#include "engine/sstable/range_tombstone_block.h"

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

#include "engine/base/coding.h"

namespace winnow {
namespace {

using Sequences = std::vector<SequenceNumber>;
using Tombstone = std::tuple<std::string, std::string, SequenceNumber>;

const InternalKeyComparator kBytewise{BytewiseComparator()};

std::string Error(std::string_view contents) {
  std::vector<RangeTombstone> tombstones;
  const char* const error = ReadRangeTombstoneBlock(contents, kBytewise, &tombstones);
  return error == nullptr ? "" : error;
}

std::vector<Tombstone> Read(std::string_view contents) {
  std::vector<RangeTombstone> tombstones;
  EXPECT_EQ(ReadRangeTombstoneBlock(contents, kBytewise, &tombstones), nullptr);
  std::vector<Tombstone> copies;
  for (const RangeTombstone& tombstone : tombstones) {
    copies.emplace_back(tombstone.begin, tombstone.end, tombstone.sequence);
  }
  return copies;
}

// One fragment, its sequence numbers as they are given, differences and all.
std::string Block(std::string_view begin, std::string_view end, const Sequences& numbers) {
  std::string contents;
  PutFixed32(&contents, 1);
  PutLengthPrefixed(&contents, begin);
  PutLengthPrefixed(&contents, end);
  PutVarint64(&contents, numbers.size());
  for (const SequenceNumber number : numbers) PutVarint64(&contents, number);
  return contents;
}

TEST(RangeTombstoneBlock, IsReadAsItWasWritten) {
  RangeTombstoneBlockBuilder builder;
  EXPECT_TRUE(builder.empty());
  builder.Add("", "b", Sequences{9, 4, 1});
  builder.Add("b", "c", Sequences{kMaxSequenceNumber});
  builder.Add(std::string("x\0y", 3), "z", Sequences{7});
  EXPECT_FALSE(builder.empty());
  EXPECT_EQ(builder.num_tombstones(), 5U);
  EXPECT_EQ(builder.first_begin(), "");
  EXPECT_EQ(builder.first_sequence(), 9U);
  EXPECT_EQ(builder.last_end(), "z");
  EXPECT_EQ(builder.smallest_sequence(), 1U);
  EXPECT_EQ(builder.largest_sequence(), kMaxSequenceNumber);
  const std::string contents = builder.Finish();
  EXPECT_EQ(contents.size(), builder.EstimatedBytes());
  const std::vector<Tombstone> expected = {{"", "b", 9},
                                           {"", "b", 4},
                                           {"", "b", 1},
                                           {"b", "c", kMaxSequenceNumber},
                                           {std::string("x\0y", 3), "z", 7}};
  EXPECT_EQ(Read(contents), expected);
}

TEST(RangeTombstoneBlock, EveryCutIsMalformed) {
  RangeTombstoneBlockBuilder builder;
  builder.Add("a", "b", Sequences{300, 2});
  builder.Add("c", "d", Sequences{1});
  const std::string contents = builder.Finish();
  for (size_t length = 0; length < contents.size(); length++) {
    EXPECT_NE(Error(contents.substr(0, length)), "") << length;
  }
  EXPECT_NE(Error(contents + '\0'), "");
}

TEST(RangeTombstoneBlock, NeedsRangesInOrderThatAreNotEmpty) {
  EXPECT_EQ(Error(Block("a", "b", {1})), "");
  EXPECT_NE(Error(Block("b", "a", {1})), "");
  EXPECT_NE(Error(Block("a", "a", {1})), "");
  std::string overlapping;
  PutFixed32(&overlapping, 2);
  overlapping += Block("a", "c", {1}).substr(sizeof(uint32_t));
  overlapping += Block("b", "d", {1}).substr(sizeof(uint32_t));
  EXPECT_EQ(Error(overlapping), "range tombstones out of order");
  std::string none;
  PutFixed32(&none, 0);
  EXPECT_NE(Error(none), "");
}

TEST(RangeTombstoneBlock, NeedsSequenceNumbersThatDescend) {
  EXPECT_EQ(Read(Block("a", "b", {9, 5})), (std::vector<Tombstone>{{"a", "b", 9}, {"a", "b", 4}}));
  EXPECT_NE(Error(Block("a", "b", {})), "");
  EXPECT_NE(Error(Block("a", "b", {0})), "");
  EXPECT_NE(Error(Block("a", "b", {9, 0})), "") << "twice the same";
  EXPECT_NE(Error(Block("a", "b", {9, 9})), "") << "down to 0";
  EXPECT_NE(Error(Block("a", "b", {9, 10})), "");
  EXPECT_NE(Error(Block("a", "b", {kMaxSequenceNumber + 1})), "");
}

// No memory is asked for by a number that the bytes do not bear out.
TEST(RangeTombstoneBlock, BelievesNoCount) {
  std::string contents;
  PutFixed32(&contents, UINT32_MAX);
  contents += Block("a", "b", {1}).substr(sizeof(uint32_t));
  EXPECT_NE(Error(contents), "");
  std::string many;
  PutFixed32(&many, 1);
  PutLengthPrefixed(&many, "a");
  PutLengthPrefixed(&many, "b");
  PutVarint64(&many, uint64_t{1} << 60);
  PutVarint64(&many, 1);
  EXPECT_NE(Error(many), "");
}

}  // namespace
}  // namespace winnow
