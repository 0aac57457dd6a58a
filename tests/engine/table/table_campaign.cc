// The program behind `tools/dev metamorphic --model=table` and `tools/dev crash --model=table`.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_format.h"
#include "tests/engine/table/table_crash_states.h"
#include "tests/engine/table/table_fixture.h"
#include "tests/engine/table/table_histories.h"
#include "tests/support/campaign_options.h"

namespace winnow {
namespace {

struct Settings {
  bool crashes = false;
  uint64_t seed = 1;
  uint64_t seeds = 200;
  uint64_t operations = 10'000;
  uint64_t length = 5;
  uint64_t points = 20'000;
  uint64_t increments = 100'000;
  uint64_t jobs = 2;
};

// The first argument says which campaign, "histories" or "crash".
bool ParseSettings(int argc, char** argv, Settings* settings) {
  const std::string_view campaign = argc > 1 ? argv[1] : "histories";
  if (campaign != "histories" && campaign != "crash") {
    absl::FPrintF(stderr, "table_campaign: histories or crash, not '%s'\n", std::string(campaign));
    return false;
  }
  settings->crashes = campaign == "crash";
  std::map<std::string, uint64_t> numbers = {{"seed", settings->seed},
                                             {"seeds", settings->seeds},
                                             {"operations", settings->operations},
                                             {"length", settings->length},
                                             {"points", settings->points},
                                             {"increments", settings->increments},
                                             {"jobs", settings->jobs}};
  if (!ParseNumbers(argc - 1, argv + 1, &numbers)) return false;
  settings->seed = numbers["seed"];
  settings->seeds = numbers["seeds"];
  settings->operations = numbers["operations"];
  settings->length = numbers["length"];
  settings->points = numbers["points"];
  settings->increments = numbers["increments"];
  settings->jobs = numbers["jobs"];
  return settings->jobs > 0 && settings->length > 0;
}

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Runs so many shares of the work, each in a process of its own; false: one of them failed.
bool InProcesses(uint64_t jobs, const std::function<void(uint64_t job)>& work) {
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (uint64_t job = 0; job < jobs; job++) {
    const pid_t child = fork();
    if (child < 0) return false;
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    work(job);
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  bool is_well = true;
  for (const pid_t child : children) {
    int status = 0;
    is_well = waitpid(child, &status, 0) == child && status == 0 && is_well;
  }
  return is_well;
}

bool RunHistories(const Settings& settings) {
  auto begin = std::chrono::steady_clock::now();
  const bool random_agree = InProcesses(settings.jobs, [&](uint64_t job) {
    for (uint64_t i = job; i < settings.seeds; i += settings.jobs) {
      RunRandomHistory(settings.seed + i, static_cast<int>(settings.operations));
      if (testing::Test::HasFailure()) return;
    }
  });
  absl::PrintF("%d random histories of %d operations, seeds %d to %d: %s (%.0f s)\n",
               settings.seeds, settings.operations, settings.seed,
               settings.seed + settings.seeds - 1, random_agree ? "no difference" : "DIFFERENT",
               SecondsSince(begin));
  begin = std::chrono::steady_clock::now();
  const bool short_agree = InProcesses(3, [&](uint64_t job) {
    const auto max_versions = static_cast<uint32_t>(job + 1);
    const uint64_t num = RunShortHistories(max_versions, static_cast<int>(settings.length));
    absl::PrintF("%d histories of %d writes, VERSIONS => %d\n", num, settings.length, max_versions);
  });
  absl::PrintF("all short histories of a column: %s (%.0f s)\n",
               short_agree ? "no difference" : "DIFFERENT", SecondsSince(begin));
  return random_agree && short_agree;
}

// Eight threads add to one counter and to one each; every addition counts, exactly once.
void CheckIncrements(uint64_t each) {
  constexpr int kThreads = 8;
  MemoryTables tables(MemoryDb::Busy());
  Table* const table = tables.Create({.name = "t", .families = {{.name = "f"}}});
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; thread++) {
    threads.emplace_back([&, thread] {
      for (uint64_t i = 0; i < each; i++) {
        const std::string row = i % 2 == 0 ? "all" : std::to_string(thread);
        if (!tables->Increment({}, table, row, "f", "n", 1).ok()) {
          ADD_FAILURE() << "an increment failed";
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(*tables->Increment({}, table, "all", "f", "n", 0),
            static_cast<int64_t>(kThreads * ((each + 1) / 2)));
  for (int thread = 0; thread < kThreads; thread++) {
    EXPECT_EQ(*tables->Increment({}, table, std::to_string(thread), "f", "n", 0),
              static_cast<int64_t>(each / 2));
  }
}

bool RunCrashes(const Settings& settings) {
  auto begin = std::chrono::steady_clock::now();
  const bool is_whole = InProcesses(settings.jobs, [&](uint64_t job) {
    const uint64_t num_states = CheckTableCrashStates({.seed = settings.seed,
                                                       .min_states = settings.points,
                                                       .num_parts = settings.jobs,
                                                       .part = job});
    absl::PrintF("%d states after a power failure\n", num_states);
  });
  absl::PrintF("rows, batches, schemas, loads: %s (%.0f s)\n",
               is_whole ? "whole or absent in every state" : "BROKEN", SecondsSince(begin));
  begin = std::chrono::steady_clock::now();
  const bool is_exact = InProcesses(1, [&](uint64_t) { CheckIncrements(settings.increments); });
  absl::PrintF("8 threads of %d increments: %s (%.0f s)\n", settings.increments,
               is_exact ? "exact" : "WRONG", SecondsSince(begin));
  return is_whole && is_exact;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) {
  winnow::Settings settings;
  if (!winnow::ParseSettings(argc, argv, &settings)) return 2;
  int one = 1;
  testing::InitGoogleTest(&one, argv);
  const bool is_well =
      settings.crashes ? winnow::RunCrashes(settings) : winnow::RunHistories(settings);
  return is_well ? 0 : 1;
}
