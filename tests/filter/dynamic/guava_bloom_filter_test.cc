// Bytes, sizes, answers and refusals of Guava's BloomFilter, beside what the real library gave.

#include "winnow/filter/guava_bloom_filter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <thread>
#include <type_traits>

#include "tests/filter/dynamic/golden_data.h"
#include "winnow/filter/saved_filter.h"

namespace winnow::filter {
namespace {

using Fill = std::function<void(GuavaBloomFilter*)>;

Fill Keys(int count) {
  return [count](GuavaBloomFilter* filter) {
    for (int i = 0; i < count; ++i) filter->Add("key" + std::to_string(i));
  };
}

// The data sets of GuavaGolden.java, by the names of their files without the strategy.
const std::map<std::string, Fill>& DataSets() {
  static const auto* const sets = new std::map<std::string, Fill>{
      {"utf8_n100_p01", Keys(100)},
      {"bytes_n100_p01", Keys(100)},
      {"utf8_n10000_p001", Keys(10'000)},
      {"unencoded_n100_p01",
       [](GuavaBloomFilter* filter) {
         for (int i = 0; i < 100; ++i) {
           std::u16string text = u"key";
           for (const char digit : std::to_string(i)) text.push_back(static_cast<char16_t>(digit));
           filter->Add(GuavaUnencodedCharsKey(text));
         }
       }},
      {"int_n100_p03",
       [](GuavaBloomFilter* filter) {
         for (int i = 0; i < 100; ++i) filter->Add(GuavaIntegerKey(i));
       }},
      {"long_n100_p03",
       [](GuavaBloomFilter* filter) {
         for (int64_t i = -50; i < 50; ++i) filter->Add(GuavaLongKey(i));
       }},
      {"empty_n0_p03", [](GuavaBloomFilter*) {}},
      {"emptykey_n1_p5", [](GuavaBloomFilter* filter) { filter->Add(""); }},
      {"utf8_cn",
       [](GuavaBloomFilter* filter) {
         for (const char* key : {"手机号", "布隆过滤器", "é", "", "a", "\U0001F600"}) {
           filter->Add(key);
         }
       }},
      {"lens0to40",
       [](GuavaBloomFilter* filter) {
         for (int length = 0; length <= 40; ++length) {
           std::string key;
           for (int i = 0; i < length; ++i) key.push_back(static_cast<char>(i * 7 + length));
           filter->Add(key);
         }
       }},
  };
  return *sets;
}

// One line of vectors.tsv: "m32_NAME", then name=value.
struct Vector {
  std::string file;
  std::string set;
  GuavaStrategy strategy;
  std::map<std::string, std::string> values;

  double number(const std::string& name) const { return std::stod(values.at(name)); }
};

std::vector<Vector> GuavaVectors() {
  std::vector<Vector> vectors;
  for (const std::string& line : GoldenLines("guava/vectors.tsv")) {
    const std::vector<std::string> parts = Split(line, '\t');
    Vector vector;
    vector.file = parts[0];
    vector.set = parts[0].substr(4);
    vector.strategy = parts[0].rfind("m32", 0) == 0 ? GuavaStrategy::kMurmur128Mitz32
                                                    : GuavaStrategy::kMurmur128Mitz64;
    for (size_t i = 1; i < parts.size(); ++i) {
      const size_t equals = parts[i].find('=');
      vector.values[parts[i].substr(0, equals)] = parts[i].substr(equals + 1);
    }
    vectors.push_back(std::move(vector));
  }
  return vectors;
}

GuavaBloomFilter Rebuild(const Vector& vector) {
  absl::StatusOr<GuavaBloomFilter> filter = GuavaBloomFilter::Create(
      static_cast<int64_t>(vector.number("n")), vector.number("p"), vector.strategy);
  EXPECT_TRUE(filter.ok()) << filter.status();
  DataSets().at(vector.set)(&*filter);
  return *std::move(filter);
}

TEST(GuavaBloomFilterTest, WritesTheBytesOfTheRealLibrary) {
  const std::vector<Vector> vectors = GuavaVectors();
  ASSERT_EQ(vectors.size(), 20u);
  for (const Vector& vector : vectors) {
    EXPECT_EQ(ToHex(Rebuild(vector).WriteTo()), ToHex(GoldenFile("guava/" + vector.file + ".bin")))
        << vector.file;
  }
}

TEST(GuavaBloomFilterTest, ReadsTheBytesOfTheRealLibrary) {
  for (const Vector& vector : GuavaVectors()) {
    const std::string bytes = GoldenFile("guava/" + vector.file + ".bin");
    absl::StatusOr<GuavaBloomFilter> filter = GuavaBloomFilter::ReadFrom(bytes);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_EQ(filter->strategy(), vector.strategy);
    EXPECT_EQ(filter->num_bits(), vector.number("bitSize"));
    EXPECT_EQ(filter->num_probes(), vector.number("k"));
    EXPECT_EQ(filter->WriteTo(), bytes);
    // What is in already changes nothing.
    DataSets().at(vector.set)(&*filter);
    EXPECT_EQ(filter->WriteTo(), bytes);
  }
}

TEST(GuavaBloomFilterTest, RateAndCountAreThoseOfTheRealLibrary) {
  for (const Vector& vector : GuavaVectors()) {
    const GuavaBloomFilter filter = Rebuild(vector);
    EXPECT_NEAR(filter.ExpectedFpr(), vector.number("expectedFpp"), 1e-12) << vector.file;
    EXPECT_EQ(filter.ApproximateCount(), vector.number("approxCount")) << vector.file;
  }
}

TEST(GuavaBloomFilterTest, HashesAsTheRealLibrary) {
  const std::vector<std::string> lines = GoldenLines("guava/murmur3_128.tsv");
  ASSERT_EQ(lines.size(), 51u);
  for (const std::string& line : lines) {
    const std::vector<std::string> parts = Split(line, '\t');
    const GuavaHash hash = HashGuavaKey(FromHex(parts[0]));
    EXPECT_EQ(ToHex(GuavaLongKey(static_cast<int64_t>(hash.low)) +
                    GuavaLongKey(static_cast<int64_t>(hash.high))),
              parts[1]);
    EXPECT_EQ(std::to_string(static_cast<int64_t>(hash.low)), parts[2]);
  }
}

TEST(GuavaBloomFilterTest, SizesAreThoseOfTheRealLibrary) {
  const std::vector<std::string> lines = GoldenLines("guava/sizing.tsv");
  ASSERT_GT(lines.size(), 100u);
  for (size_t i = 1; i < lines.size(); ++i) {
    const std::vector<std::string> parts = Split(lines[i], '\t');
    const uint64_t keys = std::stoull(parts[0]);
    const uint64_t bits = GuavaOptimalBits(keys, std::strtod(parts[1].c_str(), nullptr));
    EXPECT_EQ(std::to_string(bits), parts[2]) << lines[i];
    EXPECT_EQ(std::to_string(GuavaOptimalProbes(keys, bits)), parts[3]) << lines[i];
  }
  EXPECT_EQ(GuavaOptimalBits(100, 0.01), 958u);
  EXPECT_EQ(GuavaOptimalBits(55'000'000, 0.03), 401'414'246u);
  EXPECT_EQ(GuavaOptimalBits(1, 0), 1549u);
  // A million keys at the default rate: 0.87 MiB and 5 probes.
  EXPECT_NEAR(static_cast<double>(GuavaOptimalBits(1'000'000, 0.03)) / 8 / 1048576, 0.87, 0.0001);
  EXPECT_EQ(GuavaOptimalProbes(1'000'000, 7'298'440), 5);
  EXPECT_EQ(GuavaOptimalProbes(0, 0), 1);
}

// The lines of errors.txt about create.
TEST(GuavaBloomFilterTest, RefusesAndAcceptsWhatTheRealLibraryDoes) {
  const auto verdict = [](int64_t keys, double fpr) {
    return GuavaBloomFilter::Create(keys, fpr).status().code();
  };
  constexpr absl::StatusCode kRefused = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(verdict(-1, 0.01), kRefused);
  EXPECT_EQ(verdict(100, 0), kRefused);
  EXPECT_EQ(verdict(100, 1), kRefused);
  EXPECT_EQ(verdict(100, -0.5), kRefused);
  EXPECT_EQ(verdict(100, 1.5), kRefused);
  EXPECT_EQ(verdict(100, std::numeric_limits<double>::quiet_NaN()), kRefused);
  EXPECT_EQ(verdict(1, 0.99), kRefused);
  EXPECT_EQ(verdict(1, std::numeric_limits<double>::denorm_min()), kRefused);
  EXPECT_EQ(verdict(std::numeric_limits<int64_t>::max(), 0.01), kRefused);
  EXPECT_EQ(verdict(274'877'906'944, 1e-9), kRefused);
  const absl::StatusOr<GuavaBloomFilter> smallest = GuavaBloomFilter::Create(0, 0.03);
  ASSERT_TRUE(smallest.ok());
  EXPECT_EQ(smallest->num_probes(), 5);
  EXPECT_EQ(smallest->num_bits(), 64u);
  EXPECT_EQ(GuavaBloomFilter::Create(-1).status().message(),
            "GuavaBloomFilter: expected insertions must be at least 0, got -1");
}

// The lines of errors.txt about readFrom, with its verdicts.
TEST(GuavaBloomFilterTest, ReadsAndRefusesTheOddInputsAsTheRealLibraryDoes) {
  int refused = 0;
  int accepted = 0;
  for (const std::string& line : GoldenLines("guava/errors.txt")) {
    if (line.rfind("readFrom(", 0) != 0) continue;
    const std::string digits = line.substr(9, line.find(')') - 9);
    const bool is_accepted = line.find("): ok") != std::string::npos;
    EXPECT_EQ(GuavaBloomFilter::ReadFrom(FromHex(digits)).ok(), is_accepted) << line;
    (is_accepted ? accepted : refused) += 1;
  }
  EXPECT_EQ(refused, 9);
  EXPECT_EQ(accepted, 2);
}

// Six bytes made the real library ask for sixteen gigabytes.
TEST(GuavaBloomFilterTest, HostileLengthsAreRefusedBeforeAnythingIsAllocated) {
  for (const char* head : {"01057fffffff", "010580000000", "0105ffffffff", "010500000002"}) {
    EXPECT_EQ(GuavaBloomFilter::ReadFrom(FromHex(head) + std::string(8, '\1')).status().code(),
              absl::StatusCode::kDataLoss);
  }
  const std::string sound = GoldenFile("guava/m64_utf8_n100_p01.bin");
  for (size_t length = 0; length < sound.size(); ++length) {
    EXPECT_FALSE(GuavaBloomFilter::ReadFrom(sound.substr(0, length)).ok());
  }
}

TEST(GuavaBloomFilterTest, AddTellsWhetherTheKeyWasNew) {
  for (const GuavaStrategy strategy :
       {GuavaStrategy::kMurmur128Mitz32, GuavaStrategy::kMurmur128Mitz64}) {
    GuavaBloomFilter filter = *GuavaBloomFilter::Create(1000, 0.05, strategy);
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key" + std::to_string(i % 2000);
      const bool contained = filter.Contains(key);
      ASSERT_EQ(filter.Add(key), !contained);
      ASSERT_TRUE(filter.Contains(key));
    }
  }
}

TEST(GuavaBloomFilterTest, UnitesOnlyWithItsLike) {
  GuavaBloomFilter filter = *GuavaBloomFilter::Create(100, 0.01);
  GuavaBloomFilter other = *GuavaBloomFilter::Create(100, 0.01);
  filter.Add("a");
  other.Add("b");
  EXPECT_TRUE(filter.Union(other).ok());
  EXPECT_TRUE(filter.Contains("a") && filter.Contains("b"));
  EXPECT_FALSE(filter.Union(filter).ok());
  EXPECT_FALSE(filter.Union(*GuavaBloomFilter::Create(200, 0.01)).ok());
  EXPECT_FALSE(
      filter.Union(*GuavaBloomFilter::Create(100, 0.01, GuavaStrategy::kMurmur128Mitz32)).ok());
  filter.Clear();
  EXPECT_FALSE(filter.Contains("a"));
}

// The rate of an over-full filter is (1 - e^(-k t n / m))^k. The same experiment as the real
// library made, at once, twice, three and four times the expected insertions.
TEST(GuavaBloomFilterTest, OverfillingRaisesTheRateAsTheoryAndTheRealLibraryHaveIt) {
  for (const std::string& line : GoldenLines("guava/overload.tsv")) {
    const std::vector<std::string> parts = Split(line, '\t');
    if (parts[0] == "p") continue;
    constexpr int kKeys = 20'000;
    constexpr int kProbes = 100'000;
    const double times = std::stod(parts[1]);
    GuavaBloomFilter filter = *GuavaBloomFilter::Create(kKeys, std::stod(parts[0]));
    ASSERT_EQ(filter.num_probes(), std::stoi(parts[2]));
    for (int i = 0; i < kKeys * times; ++i) filter.Add("member" + std::to_string(i));
    int found = 0;
    for (int i = 0; i < kProbes; ++i) found += filter.Contains("absent" + std::to_string(i));
    const double measured = static_cast<double>(found) / kProbes;
    const int k = filter.num_probes();
    const double theory =
        std::pow(1 - std::exp(-k * times * kKeys / static_cast<double>(filter.num_bits())), k);
    const double tolerance = 4 * std::sqrt(theory / kProbes) + 0.02 * theory;
    EXPECT_NEAR(measured, theory, tolerance) << line;
    EXPECT_NEAR(measured, std::stod(parts[3]), tolerance + 0.02 * theory) << line;
  }
}

TEST(GuavaBloomFilterTest, ParallelAddsLoseNothing) {
  GuavaBloomFilter parallel = *GuavaBloomFilter::Create(800'000, 0.01);
  GuavaBloomFilter sequential = *GuavaBloomFilter::Create(800'000, 0.01);
  const auto add_share = [](GuavaBloomFilter* filter, int share) {
    for (int i = 0; i < 100'000; ++i) filter->Add(GuavaIntegerKey(share * 100'000 + i));
  };
  std::vector<std::thread> threads;
  for (int share = 0; share < 8; ++share) threads.emplace_back(add_share, &parallel, share);
  for (std::thread& thread : threads) thread.join();
  for (int share = 0; share < 8; ++share) add_share(&sequential, share);
  EXPECT_EQ(parallel.WriteTo(), sequential.WriteTo());
}

TEST(GuavaBloomFilterTest, TheCheckedFormComesBackAndNoticesDamage) {
  for (const Vector& vector : GuavaVectors()) {
    const GuavaBloomFilter filter = Rebuild(vector);
    const std::string saved = filter.Serialize();
    EXPECT_EQ(*KindOfSavedFilter(saved), SavedFilterKind::kGuavaBloom);
    const absl::StatusOr<GuavaBloomFilter> loaded = GuavaBloomFilter::Deserialize(saved);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(loaded->WriteTo(), filter.WriteTo());
    for (size_t i = 0; i < saved.size(); i += 1 + saved.size() / 200) {
      std::string damaged = saved;
      damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
      EXPECT_FALSE(GuavaBloomFilter::Deserialize(damaged).ok());
    }
  }
}

// An integer is not a string: the mistake of handing one to a filter of strings does not compile.
TEST(GuavaBloomFilterTest, OnlyBytesAreKeys) {
  using Add = decltype(&GuavaBloomFilter::Add);
  EXPECT_TRUE((std::is_invocable_v<Add, GuavaBloomFilter&, const char*>));
  EXPECT_FALSE((std::is_invocable_v<Add, GuavaBloomFilter&, int>));
  EXPECT_FALSE((std::is_invocable_v<Add, GuavaBloomFilter&, std::u16string_view>));
}

TEST(GuavaBloomSpecTest, ReadsTheWordsOfTheStrategies) {
  const auto spec = ParseGuavaBloomSpec("bloom:1%:murmur128_mitz_64");
  ASSERT_TRUE(spec.ok() && spec->has_value()) << spec.status();
  EXPECT_EQ((*spec)->strategy, GuavaStrategy::kMurmur128Mitz64);
  EXPECT_EQ((*spec)->fpr, 0.01);
  EXPECT_EQ(ToString((*spec)->spec), "bloom:1%:murmur128_mitz_64");
  const auto bits = ParseGuavaBloomSpec("bloom:9.585:murmur128_mitz_32");
  ASSERT_TRUE(bits.ok() && bits->has_value());
  EXPECT_EQ((*bits)->strategy, GuavaStrategy::kMurmur128Mitz32);
  EXPECT_NEAR((*bits)->fpr, 0.01, 1e-5);
  EXPECT_FALSE(ParseGuavaBloomSpec("bloom:1%")->has_value());
  EXPECT_FALSE(ParseGuavaBloomSpec("murmur128_mitz_64")->has_value());
  EXPECT_FALSE(ParseGuavaBloomSpec("cuckoo:1%:murmur128_mitz_64").ok());
  EXPECT_FALSE(ParseGuavaBloomSpec("bloom:1000:murmur128_mitz_64").ok());
  EXPECT_FALSE(ParseGuavaBloomSpec("bloom:1%:fast:murmur128_mitz_64").ok());
}

}  // namespace
}  // namespace winnow::filter
