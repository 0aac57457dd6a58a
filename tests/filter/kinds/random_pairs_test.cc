// Random filters of random sizes and settings: what was added is found, asked singly and in
// batches, and what was not is refuted as often as promised. The pairs of adding and asking are
// counted and printed. WINNOW_LONG_TESTS=1: 10^9 of them over all kinds, two minutes;
// WINNOW_SEED chooses others.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/filter/dynamic/application_filters.h"
#include "tests/filter/filter_fixture.h"
#include "winnow/filter/sizing.h"

namespace winnow::filter {
namespace {

// The static kinds with their layouts and auto, and the application filters.
const uint64_t kNumSubjects = BuildableSpecs().size() + 5;

bool IsLong() { return std::getenv("WINNOW_LONG_TESTS") != nullptr; }

uint64_t PairsOfSubject() {
  const uint64_t all = IsLong() ? 1'000'000'000 : 2'000'000;
  return (all + kNumSubjects - 1) / kNumSubjects;
}

uint64_t Seed() {
  const char* text = std::getenv("WINNOW_SEED");
  return text == nullptr ? 4711 : std::strtoull(text, nullptr, 10);
}

// What was asked and answered, over all filters of a subject.
struct Tally {
  uint64_t filters = 0;
  uint64_t pairs = 0;         // keys added, each asked for singly and in a batch
  uint64_t missing = 0;       // answers "no" to them
  uint64_t absent_keys = 0;   // keys that were not added
  uint64_t found_absent = 0;  // answers "maybe" to them
  double expected_found = 0;
  double variance_of_found = 0;

  // Absent keys of `run`, asked of a filter whose theory gives `fpr`.
  template <typename Asker>
  void AskAbsentKeys(uint64_t run, double fpr, Asker contains) {
    constexpr uint64_t kAbsentKeys = 200;
    for (uint64_t i = 0; i < kAbsentKeys; ++i) found_absent += contains(AbsentHash(run, i));
    absent_keys += kAbsentKeys;
    expected_found += fpr * static_cast<double>(kAbsentKeys);
    variance_of_found += fpr * (1 - fpr) * static_cast<double>(kAbsentKeys);
  }
};

// The tallies of all tests that ran, printed when all have.
class TallyOfAll : public testing::Environment {
 public:
  static Tally& Sum() {
    static Tally sum;
    return sum;
  }
  static void Add(const std::string& subject, const Tally& tally) {
    Sum().filters += tally.filters;
    Sum().pairs += tally.pairs;
    Sum().missing += tally.missing;
    Print(subject, tally);
  }
  void TearDown() override {
    Print("all", Sum());
    if (Sum().missing != 0 || Sum().pairs == 0) return;
    // Rule of three (Eypasch et al., BMJ 1995).
    std::cout << "no false negative: at 95 % fewer than one in " << Sum().pairs / 3
              << " pairs; seed " << Seed() << std::endl;
  }

 private:
  static void Print(const std::string& subject, const Tally& tally) {
    std::cout << subject << ": " << tally.pairs << " pairs in " << tally.filters << " filters, "
              << tally.missing << " missing" << std::endl;
  }
};

const testing::Environment* const kTallyOfAll =
    testing::AddGlobalTestEnvironment(new TallyOfAll);  // NOLINT: GoogleTest owns it

// From 1 to 2^22, in the short mode to 2^16, each order of magnitude as likely as the others.
uint64_t RandomSize(std::mt19937_64& random) {
  return 1 + random() % (uint64_t{1} << (1 + random() % (IsLong() ? 22 : 16)));
}

double RandomBetween(double least, double most, std::mt19937_64& random) {
  return std::uniform_real_distribution<double>(least, most)(random);
}

// From `least` to a half, each order of magnitude as likely as the others.
double RandomRate(double least, std::mt19937_64& random) {
  return std::exp(RandomBetween(std::log(least), std::log(0.5), random));
}

void ExpectRatesOfTheory(const Tally& tally) {
  // The filters differ a little from their means; the small ones by much, but only upwards is
  // wrong.
  EXPECT_LE(static_cast<double>(tally.found_absent),
            1.05 * tally.expected_found + 5 * std::sqrt(tally.variance_of_found) + 20)
      << "of " << tally.absent_keys << " absent keys";
}

class StaticPairsTest : public testing::TestWithParam<std::string> {};

FilterSpec RandomlySized(FilterSpec spec, std::mt19937_64& random) {
  if (random() % 2 == 0) {
    spec.fpr = RandomRate(1e-6, random);
  } else {
    const BitsPerKeyRange range = AllowedBitsPerKey(spec);
    spec.bits_per_key = RandomBetween(range.min, range.max, random);
  }
  return spec;
}

// How many of `hashes` the batches of random lengths say no to.
uint64_t MissingInBatches(const FilterReader& reader, const std::vector<uint64_t>& hashes,
                          std::mt19937_64& random) {
  std::vector<uint8_t> answers(200);
  uint64_t missing = 0;
  for (size_t begin = 0; begin < hashes.size();) {
    const size_t count = std::min<size_t>(1 + random() % answers.size(), hashes.size() - begin);
    reader.MayContainBatch(hashes.data() + begin, count, answers.data());
    missing +=
        count - static_cast<size_t>(std::count(
                    answers.begin(), answers.begin() + static_cast<int64_t>(count), uint8_t{1}));
    begin += count;
  }
  return missing;
}

TEST_P(StaticPairsTest, NoKeyIsMissing) {
  SCOPED_TRACE("seed " + std::to_string(Seed()));
  std::mt19937_64 random(Seed());
  Tally tally;
  while (tally.pairs < PairsOfSubject()) {
    const uint64_t run = random() >> 40;
    const std::vector<uint64_t> hashes = MemberHashes(run, RandomSize(random));
    const std::string spec = ToString(RandomlySized(*ParseFilterSpec(GetParam()), random));
    SCOPED_TRACE("filter " + std::to_string(tally.filters) + ": " + spec + " of " +
                 std::to_string(hashes.size()) + " keys of run " + std::to_string(run));
    FilterBuildLimits limits;
    limits.max_shard_bits = uint64_t{1} << (13 + random() % 13);
    auto builder = MakeBuilder(spec, limits);
    // The builder's own check would hide a key that is missing, behind another try.
    builder->set_verify(false);
    for (const uint64_t hash : hashes) builder->Add(hash);
    const BuiltFilter built = builder->Finish();
    ASSERT_FALSE(built.fell_back);
    const FilterReader reader = OpenSound(built.block);
    ASSERT_FALSE(reader.always_true());
    const uint64_t missing =
        hashes.size() - CountFound(reader, hashes) + MissingInBatches(reader, hashes, random);
    EXPECT_EQ(missing, 0u);
    tally.missing += missing;
    tally.pairs += hashes.size();
    ++tally.filters;
    tally.AskAbsentKeys(run, built.expected_fpr,
                        [&](uint64_t hash) { return reader.MayContain(hash) ? 1 : 0; });
    if (HasFailure()) break;
  }
  TallyOfAll::Add(GetParam(), tally);
  ExpectRatesOfTheory(tally);
}

std::vector<std::string> StaticSubjects() {
  std::vector<std::string> texts;
  for (const FilterSpec& spec : BuildableSpecs()) texts.push_back(ToString(spec));
  return texts;
}

INSTANTIATE_TEST_SUITE_P(Kinds, StaticPairsTest, testing::ValuesIn(StaticSubjects()));

template <typename Filter>
class ApplicationPairsTest : public testing::Test {};
TYPED_TEST_SUITE(ApplicationPairsTest, ApplicationFilters);

// Some of them are removed again, and some filters are saved and loaded before they are asked.
TYPED_TEST(ApplicationPairsTest, NoKeyIsMissing) {
  SCOPED_TRACE("seed " + std::to_string(Seed()));
  std::mt19937_64 random(Seed());
  Tally tally;
  while (tally.pairs < PairsOfSubject()) {
    const uint64_t run = random() >> 40;
    const uint64_t size = RandomSize(random);
    SCOPED_TRACE("filter " + std::to_string(tally.filters) + " of " + std::to_string(size) +
                 " keys of run " + std::to_string(run));
    TypeParam filter = MakeFilter<TypeParam>(size, RandomRate(1e-5, random));
    // Removed before the others are asked, so that what they share with others counts.
    const uint64_t num_removed = kCanRemove<TypeParam> ? size / 4 : 0;
    std::vector<uint64_t> hashes;
    hashes.reserve(size);
    for (uint64_t i = 0; i < size; ++i) {
      // A cuckoo filter may be full a little early; it says so.
      if (AddKeyHash(MemberHash(run, i), &filter)) hashes.push_back(MemberHash(run, i));
    }
    ASSERT_GE(hashes.size(), size - size / 50);
    if constexpr (kCanRemove<TypeParam>) {
      for (uint64_t i = 0; i < num_removed; ++i) ASSERT_TRUE(filter.RemoveHash(hashes[i]));
    }
    hashes.erase(hashes.begin(), hashes.begin() + static_cast<int64_t>(num_removed));
    if (random() % 4 == 0) {
      absl::StatusOr<TypeParam> loaded = TypeParam::Deserialize(filter.Serialize());
      ASSERT_TRUE(loaded.ok()) << loaded.status();
      filter = *std::move(loaded);
    }
    const uint64_t missing = hashes.size() - CountContained(filter, hashes);
    EXPECT_EQ(missing, 0u);
    tally.missing += missing;
    tally.pairs += hashes.size();
    ++tally.filters;
    tally.AskAbsentKeys(run, filter.ExpectedFpr(),
                        [&](uint64_t hash) { return filter.ContainsHash(hash) ? 1 : 0; });
    if (this->HasFailure()) break;
  }
  TallyOfAll::Add(testing::UnitTest::GetInstance()->current_test_info()->type_param(), tally);
  ExpectRatesOfTheory(tally);
}

}  // namespace
}  // namespace winnow::filter
