// Somebody who knows a filter's hash seed can choose keys that defeat it; under the random seed
// that each database draws, the same keys are like any others. Both sides are shown.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "engine/sstable/sstable_reader.h"
#include "tests/support/db_fixture.h"
#include "winnow/filter/builder.h"
#include "winnow/filter/hash.h"

namespace winnow {
namespace {

constexpr uint64_t kKnownSeed = 0x5eed'a;
constexpr uint64_t kSecretSeed = 0x5ec2e7'b;
constexpr size_t kMembers = 20'000;
constexpr size_t kCrafted = 100'000;

const std::vector<std::string>& Members() {
  static const std::vector<std::string> members = [] {
    std::vector<std::string> keys;
    for (size_t i = 0; i < kMembers; i++) keys.push_back(absl::StrCat("member", i));
    return keys;
  }();
  return members;
}

filter::BuiltFilter BuildFilter(const std::string& spec, uint64_t seed,
                                const std::vector<std::string>& keys) {
  auto builder = filter::FilterBuilder::Create(*filter::ParseFilterSpec(spec), seed);
  EXPECT_TRUE(builder.ok()) << builder.status();
  for (const std::string& key : keys) (*builder)->Add(filter::HashKey(key, seed));
  return (*builder)->Finish();
}

size_t CountMaybe(const filter::FilterReader& reader, uint64_t seed,
                  const std::vector<std::string>& keys) {
  size_t maybe = 0;
  for (const std::string& key : keys) maybe += reader.MayContain(filter::HashKey(key, seed));
  return maybe;
}

// Absent keys that a filter of these members under `seed` takes for present.
std::vector<std::string> CraftFalsePositives(const std::string& spec, uint64_t seed, size_t count) {
  const filter::BuiltFilter built = BuildFilter(spec, seed, Members());
  const auto reader = filter::FilterReader::Open(built.block, nullptr);
  std::vector<std::string> crafted;
  for (uint64_t i = 0; crafted.size() < count; i++) {
    std::string key = absl::StrCat("attack", i);
    if (reader.MayContain(filter::HashKey(key, seed))) crafted.push_back(std::move(key));
  }
  return crafted;
}

// Keys whose hashes under `seed` all begin with six zero bits, and so crowd into a sixty-fourth of
// a filter.
std::vector<std::string> CraftCrowd(uint64_t seed, size_t count, const std::string& name) {
  std::vector<std::string> crafted;
  for (uint64_t i = 0; crafted.size() < count; i++) {
    std::string key = absl::StrCat(name, i);
    if (filter::HashKey(key, seed) >> 58 == 0) crafted.push_back(std::move(key));
  }
  return crafted;
}

// `count` of `n` at rate `p`, where the filter itself is one random draw of many: outside in about
// one run of a million.
void ExpectCraftedNearPromise(size_t count, size_t n, double p) {
  const double expected = static_cast<double>(n) * p;
  const double deviation = std::sqrt(expected * (1 - p) + std::pow(0.04 * expected, 2));
  EXPECT_NEAR(static_cast<double>(count), expected, 5 * deviation) << "of " << n << " at " << p;
}

class Adversary : public testing::TestWithParam<const char*> {};

TEST_P(Adversary, AbsentKeysChosenForOneSeedAreHarmlessUnderAnother) {
  const std::vector<std::string> crafted = CraftFalsePositives(GetParam(), kKnownSeed, kCrafted);
  const filter::BuiltFilter known = BuildFilter(GetParam(), kKnownSeed, Members());
  EXPECT_EQ(CountMaybe(filter::FilterReader::Open(known.block, nullptr), kKnownSeed, crafted),
            kCrafted)
      << "against a known seed every question is a false positive";
  const filter::BuiltFilter secret = BuildFilter(GetParam(), kSecretSeed, Members());
  ExpectCraftedNearPromise(
      CountMaybe(filter::FilterReader::Open(secret.block, nullptr), kSecretSeed, crafted), kCrafted,
      secret.expected_fpr);
}

TEST_P(Adversary, MembersChosenToCrowdUnderOneSeedAreHarmlessUnderAnother) {
  const std::vector<std::string> crowd = CraftCrowd(kKnownSeed, kCrafted, "crowd");
  const std::vector<std::string> asked = CraftCrowd(kKnownSeed, 10'000, "asked");
  const filter::BuiltFilter known = BuildFilter(GetParam(), kKnownSeed, crowd);
  const auto known_reader = filter::FilterReader::Open(known.block, nullptr);
  EXPECT_EQ(CountMaybe(known_reader, kKnownSeed, crowd), kCrafted) << "no key is ever hidden";
  const filter::BuiltFilter secret = BuildFilter(GetParam(), kSecretSeed, crowd);
  EXPECT_FALSE(secret.fell_back);
  const auto secret_reader = filter::FilterReader::Open(secret.block, nullptr);
  EXPECT_EQ(CountMaybe(secret_reader, kSecretSeed, crowd), kCrafted);
  ExpectCraftedNearPromise(CountMaybe(secret_reader, kSecretSeed, asked), asked.size(),
                           secret.expected_fpr);
}

INSTANTIATE_TEST_SUITE_P(Kinds, Adversary,
                         testing::Values("blocked_bloom:1%", "bloom:1%", "cuckoo:1%",
                                         "binary_fuse:1%", "ribbon:1%"));

// The kinds without a second try of their own do suffer under a seed that is known.
TEST(KnownSeed, ACrowdDefeatsABlockedBloomFilter) {
  const std::vector<std::string> crowd = CraftCrowd(kKnownSeed, kCrafted, "crowd");
  const std::vector<std::string> asked = CraftCrowd(kKnownSeed, 10'000, "asked");
  const filter::BuiltFilter built = BuildFilter("blocked_bloom:1%", kKnownSeed, crowd);
  EXPECT_GT(CountMaybe(filter::FilterReader::Open(built.block, nullptr), kKnownSeed, asked),
            9'990u);
}

uint64_t SeedOf(MemoryDb& db) {
  const std::vector<std::string> names = *db.file_system().List(MemoryDb::kPath);
  std::set<uint64_t> seeds;
  for (const std::string& name : names) {
    if (!name.ends_with(".sst")) continue;
    const std::string path = absl::StrCat(MemoryDb::kPath, "/", name);
    const auto table = SstableReader::Open({}, *db.file_system().OpenRandomAccess(path), path);
    EXPECT_TRUE(table.ok()) << table.status();
    seeds.insert((*table)->hash_seed());
  }
  EXPECT_EQ(seeds.size(), 1u);
  return seeds.empty() ? 0 : *seeds.begin();
}

FilterStatistics Asked(MemoryDb& db) {
  FilterStatistics sum;
  for (const FilterStatistics& row : db->GetStatistics().filters) {
    if (row.call != FilterCall::kGet) continue;
    sum.rejected += row.rejected;
    sum.false_positive += row.false_positive;
  }
  return sum;
}

TEST(DatabaseSeed, IsRandomForEachDatabaseAndStays) {
  std::set<uint64_t> seeds = {0};
  for (int i = 0; i < 5; i++) {
    MemoryDb db;
    db.Put("key", "value");
    db.Flush();
    const uint64_t seed = SeedOf(db);
    EXPECT_TRUE(seeds.insert(seed).second) << "seed " << seed << " is 0 or was drawn before";
    db.Reopen();
    db.Put("another key", "value");
    db.CompactAll();
    EXPECT_EQ(SeedOf(db), seed);
  }
}

// The whole path: keys chosen against one seed meet a database that drew its own, and then one
// whose seed has leaked.
TEST(DatabaseSeed, KeepsThePromisedRateAgainstKeysChosenForAnother) {
  Options options = MemoryDb::Quiet();
  options.filter = "blocked_bloom:1%";
  MemoryDb db(options);
  db.Put("a first key", "value");
  db.Put("zz the last key", "value");
  for (const std::string& member : Members()) db.Put(member, "value");
  db.CompactAll();
  const double promised = BuildFilter(options.filter, kKnownSeed, Members()).expected_fpr;

  for (const std::string& key : CraftFalsePositives(options.filter, kKnownSeed, kCrafted)) {
    ASSERT_EQ(db.Get(key), "(absent)");
  }
  const FilterStatistics against_another = Asked(db);
  EXPECT_EQ(against_another.rejected + against_another.false_positive, kCrafted);
  ExpectCraftedNearPromise(against_another.false_positive, kCrafted, promised);

  // Two members more than the attacker counts on: the block is as large, and has more bits set.
  constexpr size_t kLeaked = 2'000;
  for (const std::string& key : CraftFalsePositives(options.filter, SeedOf(db), kLeaked)) {
    ASSERT_EQ(db.Get(key), "(absent)");
  }
  EXPECT_GT(Asked(db).false_positive - against_another.false_positive, kLeaked * 99 / 100);
}

}  // namespace
}  // namespace winnow
