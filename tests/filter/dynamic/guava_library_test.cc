// The real Guava reads what we write, adds to it, and answers as we do; and the other way round.
// Skipped where there is no JDK or no Guava.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "tests/filter/dynamic/golden_data.h"
#include "winnow/filter/guava_bloom_filter.h"

namespace winnow::filter {
namespace {

namespace fs = std::filesystem;

class GuavaLibraryTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(WINNOW_GUAVA_JAR) || std::system("javac -version >/dev/null 2>&1") != 0) {
      GTEST_SKIP() << "needs a JDK and " << WINNOW_GUAVA_JAR
                   << " (Debian: default-jdk-headless, libguava-java)";
    }
    std::string pattern = (fs::temp_directory_path() / "winnow_guava_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory_ = pattern;
  }
  void TearDown() override {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }

  void Write(const std::string& name, const std::string& bytes) {
    std::ofstream file(directory_ / name, std::ios::binary);
    file << bytes;
    ASSERT_TRUE(file.good());
  }
  std::string Read(const std::string& name) {
    std::ifstream file(directory_ / name, std::ios::binary);
    EXPECT_TRUE(file.good()) << name;
    return std::string(std::istreambuf_iterator<char>(file), {});
  }
  void RunJava() {
    const std::string command = std::string("java -cp ") + WINNOW_GUAVA_JAR + " '" +
                                WINNOW_GUAVA_EXCHANGE + "' '" + directory_.string() + "' 2>&1";
    ASSERT_EQ(std::system(command.c_str()), 0) << command;
  }

  fs::path directory_;
};

std::string RandomKey(std::mt19937_64* random) {
  std::string key;
  for (uint64_t length = (*random)() % 48; length > 0; --length) {
    key.push_back(static_cast<char>((*random)()));
  }
  return key;
}

// One filter that goes to Java and comes back.
struct Exchange {
  std::string name;
  GuavaBloomFilter filter;
  std::vector<std::string> asked;
};

TEST_F(GuavaLibraryTest, FiltersGoThereAndBack) {
  std::mt19937_64 random(20240501);
  std::vector<Exchange> exchanges;
  std::string names;
  std::string created;
  for (const GuavaStrategy strategy :
       {GuavaStrategy::kMurmur128Mitz32, GuavaStrategy::kMurmur128Mitz64}) {
    for (const int64_t keys : {0, 1, 7, 100, 5000}) {
      for (const char* fpr : {"0.3", "0.03", "0.01", "0.0001"}) {
        const std::string name = "f" + std::to_string(exchanges.size());
        Exchange exchange = {name, *GuavaBloomFilter::Create(keys, std::stod(fpr), strategy), {}};
        created += name + " " + std::to_string(keys) + " " + fpr + "\n";
        names += name + "\n";
        std::string asked;
        for (int64_t i = 0; i < keys; i += 2) {
          exchange.asked.push_back(RandomKey(&random));
          exchange.filter.Add(exchange.asked.back());
        }
        Write(name + ".in", exchange.filter.WriteTo());
        std::string added;
        for (int64_t i = 1; i < keys; i += 2) {
          exchange.asked.push_back(RandomKey(&random));
          exchange.filter.Add(exchange.asked.back());
          added += ToHex(exchange.asked.back()) + "\n";
        }
        Write(name + ".keys", added);
        for (int i = 0; i < 1000; ++i) exchange.asked.push_back(RandomKey(&random));
        for (const std::string& key : exchange.asked) asked += ToHex(key) + "\n";
        Write(name + ".asked", asked);
        exchanges.push_back(std::move(exchange));
      }
    }
  }
  Write("create", created);
  Write("exchange", names);
  RunJava();
  if (HasFatalFailure()) return;

  for (const Exchange& exchange : exchanges) {
    EXPECT_EQ(ToHex(Read(exchange.name + ".out")), ToHex(exchange.filter.WriteTo()))
        << exchange.name;
    const std::vector<std::string> answers = Split(Read(exchange.name + ".answers"), '\n');
    ASSERT_EQ(answers.size(), exchange.asked.size());
    for (size_t i = 0; i < answers.size(); ++i) {
      ASSERT_EQ(answers[i] == "true", exchange.filter.Contains(exchange.asked[i]))
          << exchange.name << " " << ToHex(exchange.asked[i]);
    }
    // Java's own create makes the same shape; its strategy is always the 64-bit one.
    const std::string empty = Read(exchange.name + ".created");
    absl::StatusOr<GuavaBloomFilter> shape = GuavaBloomFilter::ReadFrom(empty);
    ASSERT_TRUE(shape.ok()) << shape.status();
    EXPECT_EQ(shape->num_bits(), exchange.filter.num_bits()) << exchange.name;
    EXPECT_EQ(shape->num_probes(), exchange.filter.num_probes()) << exchange.name;
    EXPECT_EQ(shape->strategy(), GuavaStrategy::kMurmur128Mitz64);
  }
}

}  // namespace
}  // namespace winnow::filter
