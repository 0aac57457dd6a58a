// The program behind `tools/dev crash`.
//
//   crash_campaign [--points=N] [--kills=N] [--errors] [--seed=S] [--jobs=J] [--long]
//
// Points: every crash state of the reference workload, then of all pairs and triples of public
// operations, then of random workloads until N states have been checked. Kills: a process that
// writes to a real file system is killed N times. Errors: the reference workload once for each of
// its file operations and each way in which that may fail. Exit codes: 0 all promises were kept, 1
// one was broken, 2 wrong usage.
#include <stdlib.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash/crash_check.h"
#include "tests/engine/crash/kill_campaign.h"
#include "tests/engine/errors/error_loops.h"
#include "tests/support/campaign_options.h"

namespace winnow {
namespace {

struct Arguments {
  uint64_t points;
  uint64_t kills;
  uint64_t seed;
  uint64_t jobs;
  bool errors;
  bool is_long;
};

using Steps = std::vector<CrashStep>;

// All sequences of `length` steps.
std::vector<Steps> AllSteps(size_t length) {
  std::vector<Steps> all = {{}};
  for (size_t i = 0; i < length; i++) {
    std::vector<Steps> longer;
    for (const Steps& steps : all) {
      for (size_t step = 0; step < kNumCrashSteps; step++) {
        longer.push_back(steps);
        longer.back().push_back(static_cast<CrashStep>(step));
      }
    }
    all = std::move(longer);
  }
  return all;
}

CrashOutcome CheckSteps(const Steps& steps, uint64_t seed, const CrashCheckOptions& options) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  CrashWorkload workload(memory.get(), memory.get(), seed);
  workload.RunSteps(steps);
  CrashCheckOptions of_steps = options;
  of_steps.first_operation = workload.steps_began_at();
  return CheckEveryState(workload, *memory, of_steps, DescribeSteps(steps));
}

CrashOutcome CheckReference(uint64_t seed, const CrashCheckOptions& options) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  CrashWorkload workload(memory.get(), memory.get(), seed);
  workload.Run();
  return CheckEveryState(workload, *memory, options, absl::StrCat("reference, seed ", seed));
}

CrashOutcome CheckRandom(uint64_t seed, const CrashCheckOptions& options) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  FaultFileSystem without_links(memory.get(), seed);
  without_links.set_has_links(seed % 2 == 0);  // checkpoints copy where there are none
  CrashWorkload workload(memory.get(), &without_links, seed);
  workload.RunRandomSteps(40);
  return CheckEveryState(workload, *memory, options, absl::StrCat("random workload ", seed));
}

class SimulatedCrashes {
 public:
  explicit SimulatedCrashes(const Arguments& arguments) : arguments_(arguments) {
    std::printf("%-22s %10s %10s %12s %12s %8s %8s %12s %8s\n", "crash states of", "workloads",
                "states", "checkpoints", "synced lost", "holes", "torn", "resurrected", "other");
  }

  CrashOutcome Run() {
    const CrashCheckOptions thorough = {.num_random = arguments_.is_long ? 40u : 3u,
                                        .recovery_interval = arguments_.is_long ? 5u : 61u};
    const CrashCheckOptions after_syncs = {.only_after_syncs = true, .num_random = 1};
    const uint64_t references = arguments_.is_long ? 50 : 1;
    Class("reference", references,
          [&](uint64_t i) { return CheckReference(arguments_.seed + i, thorough); });
    const std::vector<Steps> pairs = AllSteps(2);
    Class("pairs of operations", pairs.size(),
          [&](uint64_t i) { return CheckSteps(pairs[i], arguments_.seed, {.num_random = 1}); });
    const std::vector<Steps> triples = AllSteps(3);
    Class("triples, after syncs", triples.size(),
          [&](uint64_t i) { return CheckSteps(triples[i], arguments_.seed, after_syncs); });
    RandomWorkloads();
    return total_;
  }

 private:
  // Batches of them, until there have been as many states as were asked for.
  void RandomWorkloads() {
    CrashOutcome all;
    uint64_t next = arguments_.seed * 1000003;
    do {
      const uint64_t first = next;
      next += 8;
      all.Add(Check(next - first,
                    [&](uint64_t i) { return CheckRandom(first + i, {.num_random = 3}); }));
    } while (total_.states + all.states < arguments_.points && all.failures() == 0);
    Print("random workloads", all);
    total_.Add(all);
  }

  template <typename CheckOne>
  void Class(const char* name, uint64_t count, const CheckOne& check_one) {
    Progress progress(name, count);
    const CrashOutcome outcome = Check(count, check_one, &progress);
    Print(name, outcome);
    total_.Add(outcome);
  }

  template <typename CheckOne>
  CrashOutcome Check(uint64_t count, const CheckOne& check_one, Progress* progress = nullptr) {
    std::mutex mutex;
    CrashOutcome sum;
    RunInParallel(count, arguments_.jobs, [&](uint64_t i) {
      const CrashOutcome outcome = check_one(i);
      const std::lock_guard lock(mutex);
      sum.Add(outcome);
      if (progress != nullptr) progress->Show(sum.workloads);
    });
    return sum;
  }

  static void Print(const char* name, const CrashOutcome& outcome) {
    const auto count = [&](Breach breach) {
      return outcome.breaches.at(static_cast<size_t>(breach));
    };
    std::printf("%-22s %10zu %10zu %12zu %12zu %8zu %8zu %12zu %8zu\n", name, outcome.workloads,
                outcome.states, outcome.checkpoints, count(Breach::kSyncedWriteLost),
                count(Breach::kHole), count(Breach::kTornBatch), count(Breach::kResurrectedDelete),
                count(Breach::kOther));
    std::fflush(stdout);
  }

  const Arguments arguments_;
  CrashOutcome total_;
};

bool RunSimulated(const Arguments& arguments) {
  const CrashOutcome total = SimulatedCrashes(arguments).Run();
  std::printf("%s\n", FailureRate(total.failures(), total.states).c_str());
  if (total.failures() > 0) std::printf("first failure: %s\n", total.first_failure.c_str());
  return total.failures() == 0;
}

bool RunKills(const Arguments& arguments) {
  std::string directory = (std::filesystem::temp_directory_path() / "winnow-kill-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr) {
    std::perror(directory.c_str());
    return false;
  }
  KillOutcome outcome;
  {
    KillCampaign campaign(WINNOW_KILL_TEST_WRITER, directory, arguments.seed);
    Progress progress("kills", arguments.kills);
    while (campaign.outcome().kills < arguments.kills && campaign.outcome().failures() == 0) {
      campaign.KillOnce();
      progress.Show(campaign.outcome().kills);
    }
    outcome = campaign.outcome();
  }
  std::filesystem::remove_all(directory);
  std::printf("%" PRIu64 " kills: %" PRIu64 " batches acknowledged, %" PRIu64
              " of them synced; lost %" PRIu64 " (synced %" PRIu64 "), holes %" PRIu64
              ", torn batches %" PRIu64 ", resurrected deletes %" PRIu64 ", other %" PRIu64 "\n",
              outcome.kills, outcome.acknowledged, outcome.synced, outcome.lost,
              outcome.synced_lost, outcome.holes, outcome.torn_batches, outcome.resurrected_deletes,
              outcome.other);
  std::printf("%s\n", FailureRate(outcome.failures(), outcome.kills).c_str());
  if (outcome.failures() > 0) std::printf("first failure: %s\n", outcome.first_failure.c_str());
  return outcome.failures() == 0;
}

ErrorLoopOutcome RunPairsOfErrors(const Arguments& arguments) {
  constexpr uint64_t kTries = 50'000;
  Progress progress("two errors", kTries);
  std::mutex mutex;
  ErrorLoopOutcome pairs;
  uint64_t tried = 0;
  RunInParallel(kTries, arguments.jobs * 4, [&](uint64_t i) {
    const ErrorLoopOutcome outcome = RunWithTwoFaults(arguments.seed * kTries + i);
    const std::lock_guard lock(mutex);
    pairs.Add(outcome);
    progress.Show(++tried);
  });
  std::printf("two errors in one run, chosen at random: %s\n",
              FailureRate(pairs.failures, pairs.runs).c_str());
  return pairs;
}

bool RunErrors(const Arguments& arguments) {
  std::printf("%-36s %8s %10s %10s\n", "error loops", "runs", "unnoticed", "failures");
  ErrorLoopOutcome total;
  for (const ErrorLoop& loop : AllErrorLoops()) {
    // Most of a run is waiting: for retries, and for threads.
    const uint64_t threads = arguments.jobs * 4;
    ErrorLoopOutcome of_loop;
    for (size_t first = 0;; first += threads) {
      std::vector<ErrorLoopOutcome> outcomes(threads);
      RunInParallel(threads, threads,
                    [&](uint64_t i) { outcomes[i] = RunWithFault(loop, first + i); });
      for (const ErrorLoopOutcome& outcome : outcomes) of_loop.Add(outcome);
      if (outcomes.back().runs == 0) break;
    }
    // A loop that never met its fault has shown nothing.
    if (of_loop.runs == 0) {
      of_loop.failures++;
      of_loop.first_failure = loop.name + ": the fault was never met";
    }
    std::printf("%-36s %8zu %10zu %10zu\n", loop.name.c_str(), of_loop.runs, of_loop.silent,
                of_loop.failures);
    std::fflush(stdout);
    total.Add(of_loop);
  }
  std::printf("%zu runs, each operation in each loop: %zu failures\n", total.runs, total.failures);
  if (arguments.is_long) total.Add(RunPairsOfErrors(arguments));
  if (total.failures > 0) std::printf("first failure: %s\n", total.first_failure.c_str());
  return total.failures == 0;
}

int Main(int argc, char** argv) {
  std::map<std::string, uint64_t> numbers = {{"points", 0}, {"kills", 0},  {"seed", 1},
                                             {"jobs", 1},   {"errors", 0}, {"long", 0}};
  if (!ParseNumbers(argc, argv, &numbers)) return 2;
  const Arguments arguments = {numbers["points"],      numbers["kills"],
                               numbers["seed"],        std::max<uint64_t>(numbers["jobs"], 1),
                               numbers["errors"] != 0, numbers["long"] != 0};
  std::printf("seed %" PRIu64 "\n", arguments.seed);
  bool kept = true;
  if (arguments.points > 0) kept &= RunSimulated(arguments);
  if (arguments.errors) kept &= RunErrors(arguments);
  if (arguments.kills > 0) kept &= RunKills(arguments);
  return kept ? 0 : 1;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
