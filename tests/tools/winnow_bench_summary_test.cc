#include "nlohmann/json.hpp"
#include "tools/winnow_bench/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/report/text_table.h"
#include "tools/winnow_bench/latency.h"
#include "tools/winnow_bench/random.h"
#include "tools/winnow_bench/report_text.h"

namespace winnow::bench {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

BenchmarkResult ResultOf(const char* engine, const char* benchmark, double ops_per_sec) {
  BenchmarkResult result;
  result.engine = engine;
  result.benchmark = benchmark;
  result.ops_per_sec = ops_per_sec;
  result.micros_per_op = 1e6 / ops_per_sec;
  return result;
}

TEST(SummaryTest, MediansAreOfOneBenchmarkAndEngine) {
  const std::vector<BenchmarkResult> results = {
      ResultOf("a", "readrandom", 100), ResultOf("b", "readrandom", 10),
      ResultOf("a", "readrandom", 900), ResultOf("b", "readrandom", 30),
      ResultOf("a", "readrandom", 200), ResultOf("a", "readseq", 7)};
  const std::vector<Summary> summaries = Summarize(results);
  ASSERT_EQ(summaries.size(), 3u);
  EXPECT_EQ(summaries[0].Median(&BenchmarkResult::ops_per_sec), 200);
  EXPECT_EQ(summaries[0].Range(&BenchmarkResult::ops_per_sec), std::make_pair(100.0, 900.0));
  EXPECT_EQ(summaries[1].engine, "b");
  EXPECT_EQ(summaries[1].Median(&BenchmarkResult::ops_per_sec), 20);
  EXPECT_EQ(summaries[2].benchmark, "readseq");
}

TEST(SummaryTest, RatiosAreTheFirstEngineAgainstEachOther) {
  const std::vector<BenchmarkResult> results = {
      ResultOf("a", "readrandom", 100), ResultOf("a", "compact", 1),
      ResultOf("b", "readrandom", 50),  ResultOf("b", "compact", 2),
      ResultOf("c", "readrandom", 400), ResultOf("c", "readseq", 1)};
  const std::vector<Ratio> ratios = Ratios(Summarize(results));
  ASSERT_EQ(ratios.size(), 2u);
  EXPECT_EQ(ratios[0].engine, "a");
  EXPECT_EQ(ratios[0].against, "b");
  EXPECT_EQ(ratios[0].ratio, 2);
  EXPECT_EQ(ratios[1].against, "c");
  EXPECT_EQ(ratios[1].ratio, 0.25);
}

TEST(SummaryTest, TheTableShowsRatiosAndOnlyTheColumnsThatHaveValues) {
  std::vector<BenchmarkResult> results = {ResultOf("a", "readmissing", 3000000),
                                          ResultOf("b", "readmissing", 1000000)};
  results[0].found = 0;
  results[0].counters.filter_checked = 1000;
  results[0].counters.filter_rejected = 990;
  results[0].counters.filter_false_positive = 10;
  BenchConfig config;
  const std::string table = SummaryTable(config, results);
  EXPECT_THAT(table, HasSubstr("3.00x faster"));
  EXPECT_THAT(table, HasSubstr("3,000,000"));
  EXPECT_THAT(table, HasSubstr("1.000%"));
  EXPECT_THAT(table, Not(HasSubstr("p99 us")));
}

TEST(SummaryTest, TheTableShowsTheMedianOfWhatWasWrittenAndKept) {
  std::vector<BenchmarkResult> results(3, ResultOf("a", "fillrandom", 100));
  for (const size_t round : {0, 1, 2}) {
    results[round].write_amplification = 2.25 + static_cast<double>(round % 2);
    results[round].space_bytes = (7 + round % 2) << 20;
    results[round].peak_rss_bytes = (30 + round % 2) << 20;
  }
  std::swap(results[1], results[2]);
  const std::string table = SummaryTable(BenchConfig(), results);
  EXPECT_THAT(table, HasSubstr("2.25         7       30\n")) << "not those of the last round";
}

TEST(ResultTest, EveryFieldSurvivesThePipe) {
  BenchmarkResult result = ResultOf("rocksdb", "readmissing", 123.5);
  result.filter = "rocksdb.bloom:10";
  result.round = 3;
  result.threads = 2;
  result.ops = 17;
  result.p50_micros = 0.5;
  result.p99_micros = 1.5;
  result.p999_micros = 2.5;
  result.max_micros = 3.5;
  result.open_micros = 4.5;
  result.found = 9;
  result.durability = "log, unsynced";
  result.bytes_read = 1;
  result.bytes_written = 2;
  result.read_calls = 3;
  result.peak_rss_bytes = 4;
  result.write_amplification = 5.5;
  result.space_bytes = 6;
  result.counters = {100, 90, 7, 3, 10, std::nullopt};
  result.shape = {1250, 10.0, 0.0095};
  const nlohmann::json json = ToJson(result);
  EXPECT_EQ(ToJson(ResultFromJson(json)), json);
  EXPECT_NEAR(json["filter"]["fpr"].get<double>(), 3.0 / 93, 1e-12);
  for (const auto& [name, value] : json.items()) EXPECT_FALSE(value.is_null()) << name;
  EXPECT_EQ(ToJson(ResultFromJson(ToJson(BenchmarkResult()))), ToJson(BenchmarkResult()));
}

TEST(LatencyHistogramTest, PercentilesAreWithinABucketOfTheTruth) {
  LatencyHistogram even;
  LatencyHistogram odd;
  for (uint64_t nanos = 1; nanos <= 100000; nanos++) (nanos % 2 == 0 ? even : odd).Add(nanos);
  even.Merge(odd);
  EXPECT_EQ(even.count(), 100000u);
  EXPECT_NEAR(even.PercentileMicros(0.5), 50, 50.0 / 32);
  EXPECT_NEAR(even.PercentileMicros(0.99), 99, 99.0 / 32);
  EXPECT_NEAR(even.PercentileMicros(0.999), 99.9, 99.9 / 32);
  EXPECT_LE(even.PercentileMicros(1), 100);
}

TEST(LatencyHistogramTest, TheWholeRangeOfTimesFits) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.PercentileMicros(0.5), 0);
  for (int bit = 0; bit < 64; bit++) histogram.Add(uint64_t{1} << bit);
  histogram.Add(0);
  histogram.Add(UINT64_MAX);
  EXPECT_EQ(histogram.count(), 66u);
  EXPECT_NEAR(histogram.PercentileMicros(1), 18446744073709551.6, 1);
  EXPECT_THAT(histogram.ToString(), HasSubstr("Count: 66 "));
}

TEST(TextTableTest, ColumnsAreAlignedAndEmptyOnesLeftOut) {
  report::TextTable table;
  table.AddColumn("name", report::TextTable::Align::kLeft);
  table.AddColumn("nothing", report::TextTable::Align::kRight);
  table.AddColumn("n", report::TextTable::Align::kRight);
  table.AddRow({"a", "", "1"});
  table.AddRow({"longer", "", "1000"});
  EXPECT_EQ(table.ToString(),
            "name       n\n"
            "------------\n"
            "a          1\n"
            "longer  1000\n");
}

}  // namespace
}  // namespace winnow::bench
