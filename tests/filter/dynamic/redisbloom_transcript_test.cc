// What the real module answered, command by command, and the rates that were measured of it: the
// filters here answer the same, false positives and refusals included.

#include <gtest/gtest.h>

#include <cmath>

#include "tests/filter/dynamic/golden_data.h"
#include "tests/filter/dynamic/redisbloom_commands.h"

namespace winnow::filter {
namespace {

using redisbloom::Module;
using redisbloom::ModuleAnswer;
using redisbloom::Words;

// Errors are compared as such, without their texts.
std::string WithoutErrorText(const std::string& wire) {
  const size_t at = wire.find('-');
  const bool is_error = at == 0 || (at != std::string::npos && wire.substr(at - 2, 3) == "\r\n-");
  return is_error ? wire.substr(0, at + 1) : wire;
}

TEST(RedisBloomTranscript, HasTheRepliesThatTheModuleSends) {
  const std::vector<std::string> lines = GoldenLines("redisbloom/wire-2.6.28.txt");
  Module module;
  int num_compared = 0;
  for (size_t i = 1; i + 1 < lines.size() && lines[i] != "== RESP3"; i += 2) {
    const std::optional<ModuleAnswer> answer = module.Run(Split(lines[i].substr(2), ' '));
    if (!answer.has_value()) continue;
    EXPECT_EQ(redisbloom::Wire(*answer), WithoutErrorText(FromPythonBytes(lines[i + 1])))
        << lines[i];
    ++num_compared;
  }
  EXPECT_GE(num_compared, 125);
}

RedisBloomFilter BloomOf(const RedisBloomOptions& options, const std::vector<std::string>& keys) {
  RedisBloomFilter filter = *RedisBloomFilter::Create(options);
  for (const std::string& key : keys) EXPECT_TRUE(filter.Add(key).ok());
  return filter;
}

std::vector<std::string> RecordedKeys(const std::string& prefix, int begin, int end) {
  std::vector<std::string> keys;
  for (int i = begin; i < end; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

TEST(RedisBloomTranscript, AnswersAsTheModuleDid) {
  const std::vector<std::string> lines = GoldenLines("redisbloom/transcript.txt");
  const std::vector<std::string> keys = RecordedKeys("key", 0, 100);
  // What the recorder filled without writing it down.
  const std::vector<RedisBloomFilter> dumped = {
      BloomOf({}, keys), BloomOf({0.01, 100, 0}, keys),
      BloomOf({0.03, 16, 2}, {"", "a", "手机号", "hello", std::string(40, 'x')}),
      BloomOf({0.01, 10, 2}, keys)};
  RedisBloomCuckooFilter wide = *RedisBloomCuckooFilter::Create({.capacity = 64, .bucket_size = 4});
  for (const std::string& key : RecordedKeys("key", 0, 50)) ASSERT_TRUE(wide.Add(key).ok());
  size_t num_dumped = 0;
  int num_info = 0;
  int num_compared = 0;
  Module module;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) {
    const std::string line = lines[i].substr(2);
    const Words words = Split(line, ' ');
    const std::string& golden = lines[i + 1];
    // It removed what it reserved again, and one key in between.
    if (words[0].substr(3) == "RESERVE" && golden == "b'OK'") module.Forget(words[1]);
    if (line == "BF.ADD user Tom" && golden == "1") module.Forget("user");
    if (line == "BF.DEBUG g") module.Put("g", dumped[num_dumped++]);
    if (line == "CF.INFO cf" && ++num_info == 2) module.Put("cf", wide);
    const std::optional<ModuleAnswer> answer = module.Run(words);
    if (!answer.has_value()) continue;
    const std::string ours = redisbloom::Python(*answer);
    if (ours == "(error)") {
      EXPECT_TRUE(golden.find("(error) ") == 1) << line << "\n" << golden;
    } else {
      const size_t error = golden.find("ResponseError(");
      EXPECT_EQ(ours, error == std::string::npos ? golden : golden.substr(0, error + 14) + "]")
          << line;
    }
    ++num_compared;
  }
  EXPECT_EQ(num_dumped, dumped.size());
  EXPECT_GE(num_compared, 85);
}

// As many wrong answers to the same questions, not just about as many.
template <typename Filter>
void ExpectRecordedRate(const Filter& filter, const std::vector<std::string>& fields) {
  uint64_t maybe = 0;
  for (int i = 0; i < 200'000; ++i) maybe += filter.Contains("q" + std::to_string(i)) ? 1 : 0;
  EXPECT_EQ(maybe, static_cast<uint64_t>(std::llround(std::stod(fields[3]) * 200'000)))
      << fields[0] << " with " << fields[1];
  EXPECT_NEAR(filter.ExpectedFpr(), std::stod(fields[3]), 0.05 * std::stod(fields[3]) + 0.001);
}

double NumberAfter(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size()));
}

TEST(RedisBloomTranscript, IsWrongAsOftenAsTheModule) {
  int num_rows = 0;
  for (const std::string& line : GoldenLines("redisbloom/fpr.tsv")) {
    const std::vector<std::string> fields = Split(line, '\t');
    const int num_keys = num_rows++ == 0 ? 0 : std::stoi(fields[1]);
    const double stated = NumberAfter(fields[0], "cap=");
    const uint64_t capacity = stated < 0 ? 0 : static_cast<uint64_t>(stated);
    if (fields[0].rfind("BF", 0) == 0) {
      RedisBloomFilter filter =
          *RedisBloomFilter::Create({NumberAfter(fields[0], "rate="), capacity, 2});
      int num_new = 0;
      for (const std::string& key : RecordedKeys("key", 0, num_keys)) num_new += *filter.Add(key);
      EXPECT_EQ(num_new, NumberAfter(fields[4], "answered-new=")) << line;
      EXPECT_EQ(filter.num_layers(), NumberAfter(fields[4], "layers=")) << line;
      const double bits = static_cast<double>(filter.memory_bytes() * 8) / num_keys;
      EXPECT_NEAR(bits, NumberAfter(fields[4], "bits/key="), 0.0051) << line;
      ExpectRecordedRate(filter, fields);
    } else if (fields[0].rfind("CF", 0) == 0) {
      const auto bucket_size = static_cast<uint16_t>(NumberAfter(fields[0], "bucket="));
      RedisBloomCuckooFilter filter =
          *RedisBloomCuckooFilter::Create({.capacity = capacity, .bucket_size = bucket_size});
      for (const std::string& key : RecordedKeys("key", 0, num_keys)) {
        ASSERT_TRUE(filter.Add(key).ok()) << line;
      }
      EXPECT_EQ(filter.num_tables(), NumberAfter(fields[4], "subfilters=")) << line;
      ExpectRecordedRate(filter, fields);
    }
  }
  EXPECT_EQ(num_rows, 12);
}

}  // namespace
}  // namespace winnow::filter
