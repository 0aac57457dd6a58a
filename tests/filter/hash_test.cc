#include "winnow/filter/hash.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/filter/filter_fixture.h"
#include "winnow/filter/internal/hash_list.h"
#include "winnow/filter/internal/unit_view.h"

namespace winnow::filter {
namespace {

// Hashes are in files: they must never change. Values of XXH3-64 by its reference program.
TEST(HashTest, ValuesNeverChange) {
  EXPECT_EQ(HashKey("", 0), 0x2d06800538d394c2u);
  EXPECT_EQ(HashKey("a", 0), 0xe6c632b61e964e1fu);
  EXPECT_EQ(HashKey("abc", 0), 0x78af5f94892f3950u);
}

// Pebble a6ce3f886: bytes of 0x80 and above in the tail hashed differently where char is signed.
TEST(HashTest, EveryByteValueAtEveryPositionMatters) {
  for (size_t length = 1; length <= 40; ++length) {
    std::set<uint64_t> hashes;
    for (size_t position = 0; position < length; ++position) {
      for (int byte = 1; byte < 256; ++byte) {
        std::string key(length, '\0');
        key[position] = static_cast<char>(byte);
        hashes.insert(HashKey(key, 7));
      }
    }
    EXPECT_EQ(hashes.size(), length * 255) << "keys of " << length << " bytes collide";
  }
}

TEST(HashTest, SeedChangesEveryLengthOfKey) {
  for (size_t length = 0; length < 300; ++length) {
    EXPECT_NE(HashKey(std::string(length, 'x'), 1), HashKey(std::string(length, 'x'), 2));
  }
}

// Keys of `size` bytes, at addresses of all kinds, or of other sizes where `odd` divides their
// number.
std::vector<std::string_view> ViewsOf(const std::string& text, size_t count, size_t size,
                                      size_t odd) {
  std::vector<std::string_view> keys;
  for (size_t i = 0; i < count; ++i) {
    const size_t own_size = odd != 0 && i % odd == odd - 1 ? size + 1 + i % 3 : size;
    keys.push_back(std::string_view(text).substr(i * 37 % 1000, own_size));
  }
  return keys;
}

TEST(HashTest, ManyAtOnceAreAsOneByOne) {
  std::string text;
  for (uint64_t i = 0; text.size() < 2000; ++i) text.push_back(static_cast<char>(Scramble(i)));
  for (const uint64_t seed : {uint64_t{0}, uint64_t{42}, ~uint64_t{0}, uint64_t{0x80000001}}) {
    for (size_t size = 0; size <= 40; ++size) {
      for (const size_t count : {0, 1, 7, 8, 9, 16, 31, 64, 100}) {
        for (const size_t odd : {0, 1, 3, 8, 20}) {
          const std::vector<std::string_view> keys = ViewsOf(text, count, size, odd);
          std::vector<uint64_t> hashes(count + 1, 0xaa);
          HashKeys(keys.data(), count, seed, hashes.data());
          for (size_t i = 0; i < count; ++i) {
            ASSERT_EQ(hashes[i], HashKey(keys[i], seed))
                << "key " << i << " of " << count << ", " << keys[i].size() << " bytes";
          }
          ASSERT_EQ(hashes[count], 0xaau) << "one hash too far";
        }
      }
    }
  }
}

// RocksDB #3776: the empty key was never added.
TEST(HashTest, TheEmptyKeyIsAKeyInEveryKind) {
  for (const char* spec : AllKindSpecs()) {
    const uint64_t empty = HashKey("", 0x5eed);
    for (const std::vector<uint64_t>& hashes :
         {std::vector<uint64_t>{empty}, {empty, 1, 2}, {1, 2, empty}, {empty, empty}}) {
      const BuiltFilter built = BuildFrom(spec, hashes);
      EXPECT_EQ(CountFound(OpenSound(built.block), hashes), hashes.size()) << spec;
    }
  }
}

// Guava #1119: reduction by modulo from 31 bits made some positions twice as likely.
TEST(HashTest, ReductionIsEvenForSizesThatAreNoPowerOfTwo) {
  constexpr uint64_t kPositions = uint64_t{3} << 29;
  constexpr uint64_t kBins = 96;
  constexpr uint64_t kSamples = 960'000;
  std::vector<uint64_t> bins(kBins, 0);
  for (uint64_t i = 0; i < kSamples; ++i) {
    ++bins[internal::MultiplyHigh(MemberHash(1, i), kPositions) / (kPositions / kBins)];
  }
  double chi_square = 0;
  for (const uint64_t count : bins) {
    const double difference = static_cast<double>(count) - kSamples / kBins;
    chi_square += difference * difference / (kSamples / kBins);
  }
  EXPECT_LT(chi_square, 144.0) << "99.9 % of chi-square with 95 degrees of freedom";
  EXPECT_GT(chi_square, 56.0) << "too even to be random";
}

TEST(RemixTest, IsTheIdentityWithoutSaltAndABijectionWithOne) {
  EXPECT_EQ(internal::Remix(12345, 0), 12345u);
  std::set<uint64_t> values;
  for (uint64_t i = 0; i < 10'000; ++i) values.insert(internal::Remix(i, 99));
  EXPECT_EQ(values.size(), 10'000u);
}

std::multiset<uint64_t> AllOf(const internal::HashList& list) {
  std::multiset<uint64_t> all;
  list.ForEachRun([&all](const uint64_t* run, size_t count) { all.insert(run, run + count); });
  return all;
}

TEST(HashListTest, SplittingPutsEveryHashIntoItsShardAndJoiningBringsAllBack) {
  for (const uint64_t size : {0, 1, 100, 8191, 8192, 8193, 50'000}) {
    for (const uint32_t num_shards : {1u, 2u, 7u, 64u}) {
      internal::HashList list;
      for (uint64_t i = 0; i < size; ++i) list.Append(MemberHash(2, i / 2));
      const std::multiset<uint64_t> expected = AllOf(list);
      ASSERT_EQ(list.size(), size);
      for (int round = 0; round < 2; ++round) {
        {
          internal::ShardedHashes shards(&list, num_shards, 5);
          ASSERT_EQ(shards.num_hashes(), size);
          for (uint32_t shard = 0; shard < num_shards; ++shard) {
            for (const uint64_t hash : AllOf(shards[shard])) {
              ASSERT_EQ(internal::MultiplyHigh(internal::Remix(hash, 5), num_shards), shard);
            }
          }
        }
        ASSERT_EQ(list.size(), size);
        EXPECT_EQ(AllOf(list), expected);
      }
      list.Append(7);
      EXPECT_EQ(AllOf(list).count(7), 1u);
    }
  }
}

TEST(HashListTest, DuplicatesAreRemovedWhateverTheHashesLookLike) {
  for (const uint64_t stride : {uint64_t{1}, uint64_t{1} << 40, uint64_t{0x9e3779b97f4a7c15}}) {
    internal::HashList list;
    for (uint64_t i = 0; i < 30'000; ++i) list.Append((i % 10'000) * stride);
    uint64_t temporary_bytes = 0;
    EXPECT_TRUE(internal::RemoveDuplicates(3000, &list, &temporary_bytes));
    EXPECT_GT(temporary_bytes, 0u);
    const std::multiset<uint64_t> left = AllOf(list);
    EXPECT_EQ(left.size(), 10'000u);
    for (uint64_t i = 0; i < 10'000; ++i) ASSERT_EQ(left.count(i * stride), 1u);
    EXPECT_FALSE(internal::RemoveDuplicates(3000, &list, &temporary_bytes));
  }
}

}  // namespace
}  // namespace winnow::filter
