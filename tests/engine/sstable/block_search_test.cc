// Searches in index and data blocks end where a plain search over the keys ends, whatever the keys
// look like.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "engine/base/coding.h"
#include "engine/base/internal_key.h"
#include "engine/cache/cached_block.h"
#include "engine/sstable/block_directory.h"
#include "engine/sstable/data_block.h"
#include "engine/sstable/data_block_builder.h"
#include "engine/sstable/index_block.h"

namespace winnow {
namespace {

const InternalKeyComparator kOrder{BytewiseComparator()};

std::string BigEndian(uint64_t number) {
  std::string key(8, '\0');
  for (size_t i = 0; i < 8; i++) key[i] = static_cast<char>(number >> (56 - 8 * i));
  return key;
}

using Keys = std::set<std::string>;

struct Shape {
  const char* name;
  std::string (*key)(uint64_t i, std::mt19937_64& random);
};

const Shape kShapes[] = {
    {"Even", [](uint64_t i, std::mt19937_64&) { return BigEndian(i * 1000) + "0000"; }},
    {"Random", [](uint64_t, std::mt19937_64& random) { return BigEndian(random()); }},
    {"Decimal", [](uint64_t i, std::mt19937_64&) { return absl::StrFormat("user:%08d", i * 37); }},
    {"Skewed",
     [](uint64_t, std::mt19937_64& random) { return BigEndian(random() >> (random() % 64)); }},
    {"OneFarAway",
     [](uint64_t i, std::mt19937_64&) { return BigEndian(i == 0 ? ~uint64_t{0} : i); }},
    {"FewHeads",
     [](uint64_t i, std::mt19937_64& random) {
       return absl::StrCat("a", random() % 8, "-common-bytes-", i);
     }},
    {"ShortAndLong",
     [](uint64_t i, std::mt19937_64& random) {
       std::string key = "p";
       for (uint64_t n = random() % 12; n > 0; n--) key += "\x00\x01\xff"[random() % 3];
       return i % 50 == 0 ? key + std::string(200, 'x') : key;
     }},
    {"VeryLong",
     [](uint64_t i, std::mt19937_64& random) {
       return BigEndian(i / 3) + std::string(random() % 400, 'y') + std::to_string(i);
     }},
};

class BlockSearch : public testing::TestWithParam<Shape> {
 protected:
  static Keys MakeKeys(uint64_t count, std::mt19937_64& random) {
    Keys keys;
    for (uint64_t i = 0; i < count; i++) keys.insert(GetParam().key(i, random));
    return keys;
  }
  // The keys, what lies beside them, and what lies outside.
  static std::vector<std::string> Sought(const Keys& keys) {
    std::vector<std::string> sought = {"", std::string(20, '\xff')};
    for (const std::string& key : keys) {
      sought.push_back(key);
      sought.push_back(key + '\0');
      sought.push_back(key.substr(0, key.size() - 1));
      if (!key.empty()) sought.back() += static_cast<char>(key.back() - 1);
      sought.push_back(key.substr(0, key.size() / 2));
    }
    return sought;
  }
};

TEST_P(BlockSearch, IndexFindsTheFirstSeparatorNotBelowTheKey) {
  std::mt19937_64 random(1);
  for (const uint64_t count : {1, 2, 4, 5, 32, 33, 63, 64, 100, 256, 257, 3000}) {
    SCOPED_TRACE(count);
    const Keys keys = MakeKeys(count, random);
    IndexBuilder builder;
    std::vector<std::string> separators;
    for (const std::string& key : keys) {
      separators.push_back(MakeInternalKey(key, separators.size() % 3, EntryType::kPut));
      builder.Add(separators.back(), 100 * separators.size());
    }
    const std::string contents = builder.Encode(0, builder.size(), 0, /*share_prefix=*/true);
    ASSERT_EQ(IndexBlockError(contents, 100 * keys.size()), nullptr);
    const IndexBlock index(contents.data());
    const std::unique_ptr<BlockDirectory> directory = BlockDirectory::Make(index);
    ASSERT_NE(directory, nullptr);
    for (uint32_t entry = 0; entry < index.size(); entry++) {
      ASSERT_EQ(directory->OffsetOf(entry), index.handle(entry).offset);
      ASSERT_EQ(directory->handle(entry), index.handle(entry));
      ASSERT_EQ(directory->separator(entry), separators[entry]);
    }
    ASSERT_EQ(directory->size(), index.size());
    ASSERT_EQ(directory->first_offset(), index.first_offset());
    ASSERT_EQ(directory->end_offset(), index.end_offset());
    for (const std::string& key : Sought(keys)) {
      const BlockDirectory::Place place = directory->FindLine(key);
      for (const uint64_t trailer :
           {uint64_t{0}, PackTrailer(1, kEntryTypeForSeek), ~uint64_t{0}}) {
        std::string internal = key;
        PutFixed64(&internal, trailer);
        const auto expected = std::lower_bound(separators.begin(), separators.end(), internal,
                                               [](const std::string& a, const std::string& b) {
                                                 return kOrder.Compare(a, b) < 0;
                                               }) -
                              separators.begin();
        ASSERT_EQ(index.Find(kOrder, key, trailer), expected);
        ASSERT_EQ(directory->FindInLine(place, key, trailer), expected);
      }
      for (uint32_t entry = 0; entry < index.size(); entry += 1 + index.size() / 16) {
        ASSERT_EQ(directory->StraddlesWith(entry, key), index.StraddlesWith(entry, key));
      }
    }
  }
}

// Two versions of every third key.
TEST_P(BlockSearch, DataBlockFindsTheFirstEntryNotBelowTheKey) {
  std::mt19937_64 random(2);
  for (const uint32_t interval : {1, 2, 16, 1000}) {
    SCOPED_TRACE(interval);
    DataBlockBuilder builder(interval);
    const Keys keys = MakeKeys(200, random);
    std::vector<std::string> entries;
    std::string last;
    for (const std::string& key : keys) {
      for (int version = entries.size() % 3 == 0 ? 2 : 1; version > 0; version--) {
        const size_t shared = static_cast<size_t>(
            std::mismatch(key.begin(),
                          key.begin() + static_cast<ptrdiff_t>(std::min(key.size(), last.size())),
                          last.begin())
                .first -
            key.begin());
        const uint64_t trailer = PackTrailer(static_cast<uint64_t>(10 * version), EntryType::kPut);
        builder.Add(key, shared, trailer, absl::StrCat("value ", entries.size()));
        last = key;
        entries.push_back(key);
        PutFixed64(&entries.back(), trailer);
      }
    }
    std::string contents;
    builder.Finish(&contents);
    ASSERT_EQ(DataBlockError(contents), nullptr);
    contents.append(CachedBlock::kReadablePadding, '\0');
    const DataBlock block(contents.data());
    for (const std::string& key : Sought(keys)) {
      for (const uint64_t sequence : {5, 15, 30}) {
        const uint64_t trailer = PackTrailer(sequence, kEntryTypeForSeek);
        std::string internal = key;
        PutFixed64(&internal, trailer);
        const size_t expected =
            static_cast<size_t>(std::lower_bound(entries.begin(), entries.end(), internal,
                                                 [](const std::string& a, const std::string& b) {
                                                   return kOrder.Compare(a, b) < 0;
                                                 }) -
                                entries.begin());
        const BlockPosition position = block.Seek(kOrder, key, trailer);
        ASSERT_EQ(position.has_entry, expected < entries.size());
        ASSERT_EQ(position.index, expected);
        const bool before = expected > 0 && UserKey(entries[expected - 1]) == key;
        ASSERT_EQ(position.user_key_before, before);
        if (!position.has_entry) continue;
        ASSERT_EQ(position.user_key_equal, UserKey(entries[expected]) == key);
        const BlockEntry entry = block.EntryAt(position.entry);
        ASSERT_EQ(entry.trailer, Trailer(entries[expected]));
        ASSERT_EQ(std::string_view(position.value, entry.value_length),
                  absl::StrCat("value ", expected));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, BlockSearch, testing::ValuesIn(kShapes),
                         [](const auto& test) { return test.param.name; });

TEST(BlockDirectory, TellsWhetherABlockHasMoved) {
  IndexBuilder builder;
  for (uint64_t i = 0; i < 10; i++) {
    builder.Add(MakeInternalKey(BigEndian(i), 0, EntryType::kPut), 100 * (i + 1));
  }
  const std::string contents = builder.Encode(0, builder.size(), 0, /*share_prefix=*/true);
  const std::unique_ptr<BlockDirectory> directory =
      BlockDirectory::Make(IndexBlock(contents.data()));
  ASSERT_NE(directory, nullptr);
  directory->PrefetchBlock(3);  // nothing is known of it yet
  const BlockRef block = CachedBlock::Allocate(100);
  const BlockRef other = CachedBlock::Allocate(100);
  EXPECT_TRUE(directory->Note(3, block->data()));
  EXPECT_FALSE(directory->Note(3, block->data()));
  EXPECT_TRUE(directory->Note(3, other->data()));
  EXPECT_TRUE(directory->Note(4, other->data()));
  directory->PrefetchBlock(3);
  directory->Forget(3);
  EXPECT_TRUE(directory->Note(3, other->data()));
}

// Every third has a trailer, and may go on in the next block.
TEST(BlockDirectory, TellsWhoseKeyGoesOnInTheNextBlock) {
  for (const std::string filling : {"", "0123456789", "\0\0"}) {
    IndexBuilder builder;
    std::vector<std::string> keys;
    for (uint64_t i = 0; i < 40; i++) {
      keys.push_back(absl::StrCat("key", filling, 100 + i));
      builder.Add(MakeInternalKey(keys.back(), i % 3 == 0 ? 7 : 0, EntryType::kDelete),
                  100 * i + 100);
    }
    const std::string contents = builder.Encode(0, builder.size(), 0, /*share_prefix=*/true);
    const auto directory = BlockDirectory::Make(IndexBlock(contents.data()));
    ASSERT_NE(directory, nullptr);
    for (uint32_t i = 0; i < 40; i++) {
      EXPECT_EQ(directory->StraddlesWith(i, keys[i]), i % 3 == 0);
      EXPECT_FALSE(directory->StraddlesWith(i, keys[(i + 1) % 40]));
      EXPECT_FALSE(directory->StraddlesWith(i, keys[i] + '\0'));
      EXPECT_FALSE(directory->StraddlesWith(i, keys[i].substr(0, 3)));
    }
  }
}

// A head, a start and a hint are 16 bytes, their share of the tree two, a length one, and behind
// the heads of these keys there are six.
TEST(BlockDirectory, TakesLessMemoryThanTheIndexBlockOfIt) {
  IndexBuilder builder;
  for (uint64_t i = 0; i < 10000; i++) {
    std::string separator = absl::StrFormat("%016d", i * 12345678901);
    PutFixed64(&separator, 0);  // as nearly all have it
    builder.Add(separator, 100 * (i + 1));
  }
  const std::string contents = builder.Encode(0, builder.size(), 0, /*share_prefix=*/true);
  const auto directory = BlockDirectory::Make(IndexBlock(contents.data()));
  ASSERT_NE(directory, nullptr);
  EXPECT_LT(directory->memory_bytes(), size_t{10000} * 27);
  EXPECT_LT(directory->memory_bytes(), contents.size());
}

TEST(BlockDirectory, IsNotMadeOfWhatItCannotStandFor) {
  IndexBuilder builder;
  const std::string empty = builder.Encode(0, 0, 0, /*share_prefix=*/true);
  EXPECT_EQ(BlockDirectory::Make(IndexBlock(empty.data())), nullptr);
  builder.Add(MakeInternalKey("a", 0, EntryType::kPut), uint64_t{5} << 30);
  const std::string huge = builder.Encode(0, 1, 0, /*share_prefix=*/true);
  EXPECT_EQ(BlockDirectory::Make(IndexBlock(huge.data())), nullptr);
  // Nobody's own, but sound as far as reading it goes.
  IndexBuilder descending;
  descending.Add(MakeInternalKey("b", 0, EntryType::kPut), 100);
  descending.Add(MakeInternalKey("a", 0, EntryType::kPut), 200);
  const std::string disordered = descending.Encode(0, 2, 0, /*share_prefix=*/false);
  ASSERT_EQ(IndexBlockError(disordered, 200), nullptr);
  EXPECT_EQ(BlockDirectory::Make(IndexBlock(disordered.data())), nullptr);
  // In order, but the second is not that of its separator.
  IndexBuilder ascending;
  ascending.Add(MakeInternalKey("a", 0, EntryType::kPut), 100);
  ascending.Add(MakeInternalKey("b", 0, EntryType::kPut), 200);
  std::string strange = ascending.Encode(0, 2, 0, /*share_prefix=*/false);
  EXPECT_NE(BlockDirectory::Make(IndexBlock(strange.data())), nullptr);
  constexpr size_t kSecondHeadAt = 24 + 8;
  EncodeFixed64(&strange[kSecondHeadAt], KeyPrefix64("c"));
  ASSERT_EQ(IndexBlockError(strange, 200), nullptr);
  EXPECT_EQ(BlockDirectory::Make(IndexBlock(strange.data())), nullptr);
}

}  // namespace
}  // namespace winnow
