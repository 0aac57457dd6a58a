// Counters: what threads count is in the sums, whoever has ended, and databases do not mix.
#include "engine/statistics/recorder.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace winnow {
namespace {

uint64_t Gets(const Recorder& recorder) {
  return recorder.Sum().tickers[static_cast<size_t>(Ticker::kGets)];
}

TEST(Recorder, AddsUpRunningAndEndedThreads) {
  Recorder recorder;
  for (int round = 0; round < 3; round++) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++) {
      threads.emplace_back([&] {
        for (int count = 0; count < 1000; count++) recorder.Local().Add(Ticker::kGets);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  recorder.Local().Add(Ticker::kGets, 5);
  EXPECT_EQ(Gets(recorder), 12005u);
}

TEST(Recorder, OneThreadCountsForSeveralDatabasesApart) {
  Recorder first;
  {
    Recorder second;
    for (int i = 0; i < 100; i++) {
      first.Local().Add(Ticker::kGets);
      second.Local().Add(Ticker::kGets, 2);
    }
    EXPECT_EQ(Gets(first), 100u);
    EXPECT_EQ(Gets(second), 200u);
  }
  Recorder third;  // perhaps at the address of the second
  EXPECT_EQ(Gets(third), 0u);
  third.Local().Add(Ticker::kGets);
  first.Local().Add(Ticker::kGets);
  EXPECT_EQ(Gets(first), 101u);
  EXPECT_EQ(Gets(third), 1u);
}

TEST(Recorder, SumsMayBeReadWhileThreadsCount) {
  Recorder recorder;
  std::thread counting([&] {
    for (uint32_t i = 0; i < 20000; i++) {
      recorder.Local().Add(Ticker::kGets);
      // The second kind on a level has its counters elsewhere than the first.
      recorder.Local().Filters(i % 50, FilterCall::kGet).At(1, 2 + i / 10000)->rejected.Increment();
    }
  });
  uint64_t last = 0;
  while (last < 20000) {
    const uint64_t now = Gets(recorder);
    ASSERT_GE(now, last);
    last = now;
  }
  counting.join();
  EXPECT_EQ(recorder.Sum().filters.size(), 100u);
}

TEST(Recorder, FilterCountsAreKeptByFamilyLevelKindPartAndCall) {
  Recorder recorder;
  auto count = [&](uint32_t family, FilterCall call, int level, size_t kind,
                   FilterPartCategory part = FilterPartCategory::kWholeKey) -> FilterCounters& {
    return *recorder.Local().Filters(family, call).At(level, FilterSlot(kind, part));
  };
  count(0, FilterCall::kGet, 0, 2).rejected.Add(3);
  count(0, FilterCall::kSeek, 0, 2).true_positive.Add(4);
  count(7, FilterCall::kGet, 6, 3).false_positive.Add(5);
  count(7, FilterCall::kGet, 6, 0).not_asked.Add(6);
  count(7, FilterCall::kGet, 6, 3).false_positive.Add(1);
  count(7, FilterCall::kGet, 6, 3, FilterPartCategory::kSecondComponent).rejected.Add(8);
  count(7, FilterCall::kGet, 6, 7, FilterPartCategory::kLaterComponent).rejected.Add(9);
  const auto filters = recorder.Sum().filters;
  ASSERT_EQ(filters.size(), 6u);
  constexpr auto kWhole = FilterPartCategory::kWholeKey;
  EXPECT_EQ(filters.at({0, 0, 2, kWhole, FilterCall::kGet}).rejected, 3u);
  EXPECT_EQ(filters.at({0, 0, 2, kWhole, FilterCall::kSeek}).true_positive, 4u);
  EXPECT_EQ(filters.at({7, 6, 3, kWhole, FilterCall::kGet}).false_positive, 6u);
  EXPECT_EQ(filters.at({7, 6, 3, kWhole, FilterCall::kGet}).rejected, 0u);
  EXPECT_EQ(filters.at({7, 6, 0, kWhole, FilterCall::kGet}).not_asked, 6u);
  EXPECT_EQ(filters.at({7, 6, 3, FilterPartCategory::kSecondComponent, FilterCall::kGet}).rejected,
            8u);
  EXPECT_EQ(filters.at({7, 6, 7, FilterPartCategory::kLaterComponent, FilterCall::kGet}).rejected,
            9u);
}

TEST(Histogram, PercentilesAreWithinABucketOfTheTruth) {
  for (const double scale : {1.0, 100.0, 1e4, 1e6}) {
    Histogram histogram;
    for (int i = 1; i <= 1000; i++) histogram.AddNanos(static_cast<uint64_t>(scale * i));
    std::array<uint64_t, Histogram::kNumBuckets> counts{};
    histogram.AddTo(&counts);
    const HistogramSummary summary = Histogram::Summarize(counts);
    EXPECT_EQ(summary.samples, 1000u);
    const auto expect_near = [&](double micros, double nanos) {
      EXPECT_NEAR(micros * 1000 / nanos, 1, 0.125) << nanos;
    };
    expect_near(summary.mean_micros, 500 * scale);
    expect_near(summary.p50_micros, 500 * scale);
    expect_near(summary.p99_micros, 990 * scale);
    expect_near(summary.p999_micros, 999 * scale);
    expect_near(summary.max_micros, 1000 * scale);
  }
}

TEST(Histogram, ExtremesAreKept) {
  Histogram histogram;
  histogram.AddNanos(0);
  histogram.AddNanos(UINT64_MAX);
  std::array<uint64_t, Histogram::kNumBuckets> counts{};
  histogram.AddTo(&counts);
  EXPECT_EQ(Histogram::Summarize(counts).samples, 2u);
  EXPECT_EQ(Histogram::Summarize({}).samples, 0u);
}

TEST(SampledTimer, TimesOneCallInSixtyFour) {
  Recorder recorder;
  for (int i = 0; i < 640; i++) SampledTimer timer(recorder.Local(), LatencyHistogram::kGet);
  const auto totals = recorder.Sum();
  EXPECT_EQ(totals.histograms[static_cast<size_t>(LatencyHistogram::kGet)].samples, 10u);
}

TEST(SampledTimer, CallsThatAlternateAreTimedAlike) {
  Recorder recorder;
  for (int i = 0; i < 640; i++) {
    SampledTimer read(recorder.Local(), LatencyHistogram::kGet);
    SampledTimer write(recorder.Local(), LatencyHistogram::kWrite);
  }
  const auto totals = recorder.Sum();
  EXPECT_EQ(totals.histograms[static_cast<size_t>(LatencyHistogram::kGet)].samples, 10u);
  EXPECT_EQ(totals.histograms[static_cast<size_t>(LatencyHistogram::kWrite)].samples, 10u);
}

// What a library has to destroy at a thread's end, which may call the database.
struct LastCall {
  Recorder* recorder;
  ThreadCounters* given_back = nullptr;
  ThreadCounters* of_last_call = nullptr;
  std::atomic<ThreadCounters*> of_another{nullptr};
};

void CountBesideAnother(LastCall* call) {
  std::atomic<bool> done{false};
  std::thread another([&] {
    call->of_another = &call->recorder->Local();
    while (!done) std::this_thread::yield();
  });
  while (call->of_another == nullptr) std::this_thread::yield();
  call->of_last_call = &call->recorder->Local();
  done = true;
  another.join();
}

TEST(Recorder, AThreadThatIsEndingDoesNotCountInWhatItHasGivenBack) {
  Recorder recorder;
  LastCall last = {.recorder = &recorder};
  pthread_key_t key;
  std::thread([&] {
    last.given_back = &recorder.Local();
    // Made later than the key of the library's own, and so destroyed after it.
    ASSERT_EQ(pthread_key_create(
                  &key, [](void* call) { CountBesideAnother(static_cast<LastCall*>(call)); }),
              0);
    ASSERT_EQ(pthread_setspecific(key, &last), 0);
  }).join();
  pthread_key_delete(key);
  EXPECT_EQ(last.of_another.load(), last.given_back) << "or there was nothing to be shared";
  EXPECT_NE(last.of_last_call, nullptr);
  EXPECT_NE(last.of_last_call, last.of_another.load());
}

}  // namespace
}  // namespace winnow
