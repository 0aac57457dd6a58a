// The program behind `tools/dev metamorphic`.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/engine/metamorphic/replay.h"
#include "tests/engine/metamorphic/short_histories.h"
#include "tests/engine/metamorphic/shrink.h"

namespace winnow::metamorphic {
namespace {

constexpr int kExitDifferent = 1;
constexpr int kExitUsage = 2;
constexpr int kMaxTries = 600;
constexpr uint64_t kMaxReports = 5;

struct Settings {
  uint64_t seed = 0;
  uint64_t seeds = 150;
  uint64_t operations = 5000;
  uint64_t option_sets = 2;
  uint64_t jobs = 2;
  bool planted = false;
  bool is_long = false;
};

// A new first seed each day, so that each day's run asks something new.
uint64_t SeedOfToday() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::hours>(now).count()) / 24 *
         1000;
}

bool ParseSettings(int argc, char** argv, Settings* settings) {
  settings->seed = SeedOfToday();
  settings->is_long = std::find(argv + 1, argv + argc, std::string_view("--long")) != argv + argc;
  if (settings->is_long) {
    settings->seeds = 3000;
    settings->option_sets = 4;
  }
  const struct {
    std::string_view prefix;
    uint64_t* number;
  } numbers[] = {{"--seed=", &settings->seed},
                 {"--seeds=", &settings->seeds},
                 {"--operations=", &settings->operations},
                 {"--option-sets=", &settings->option_sets},
                 {"--jobs=", &settings->jobs}};
  for (int i = 1; i < argc; i++) {
    const std::string_view argument = argv[i];
    bool known = argument == "--planted" || argument == "--long";
    settings->planted = settings->planted || argument == "--planted";
    for (const auto& [prefix, number] : numbers) {
      if (!argument.starts_with(prefix)) continue;
      const char* const end = argument.data() + argument.size();
      const auto parsed = std::from_chars(argument.data() + prefix.size(), end, *number);
      known = parsed.ec == std::errc() && parsed.ptr == end;
    }
    if (!known) {
      absl::FPrintF(stderr, "metamorphic: cannot read '%s'\n", std::string(argument));
      return false;
    }
  }
  return settings->option_sets >= 2 && settings->jobs > 0;
}

std::vector<OptionSet> OptionSetsFor(uint64_t seed, uint64_t count) {
  std::vector<OptionSet> option_sets;
  for (uint64_t i = 0; i < count; i++) option_sets.emplace_back(seed * 1000 + i);
  return option_sets;
}

// Runs the seeds on several threads and tells of those whose replays differ.
class Campaign {
 public:
  explicit Campaign(const Settings& settings)
      : settings_(settings),
        mistake_(settings.planted ? PlantedMistake::kLosesSomeDeletes : PlantedMistake::kNone),
        terminal_(isatty(STDERR_FILENO) != 0) {}

  uint64_t Run() {
    std::vector<std::thread> threads;
    for (uint64_t job = 0; job < settings_.jobs; job++) {
      threads.emplace_back([this] {
        for (uint64_t i = next_++; i < settings_.seeds && different_ < kMaxReports; i = next_++) {
          RunSeed(settings_.seed + i);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (terminal_) absl::FPrintF(stderr, "\r%20s\r", "");
    return different_;
  }
  uint64_t done() const { return done_; }

 private:
  void RunSeed(uint64_t seed) {
    const std::string directory = (std::filesystem::temp_directory_path() /
                                   absl::StrCat("winnow-metamorphic-", getpid(), "-", seed))
                                      .string();
    const std::vector<Operation> log = GenerateLog(seed, settings_.operations);
    const std::vector<OptionSet> option_sets = OptionSetsFor(seed, settings_.option_sets);
    const auto difference = FindDifference(log, option_sets, directory, mistake_);
    if (difference.has_value()) {
      different_++;
      Report(seed, log, option_sets, *difference, directory);
    }
    done_++;
    if (terminal_) absl::FPrintF(stderr, "\r%d of %d seeds ", done_.load(), settings_.seeds);
  }

  void Report(uint64_t seed, const std::vector<Operation>& log,
              const std::vector<OptionSet>& option_sets, const Difference& difference,
              const std::string& directory) {
    // The two that differ are enough to shrink with.
    const std::vector<OptionSet> pair = {option_sets[difference.option_sets[0]],
                                         option_sets[difference.option_sets[1]]};
    Difference last = difference;
    const std::vector<Operation> shrunk = Shrink(
        log,
        [&](const std::vector<Operation>& candidate) -> std::optional<size_t> {
          const auto found = FindDifference(candidate, pair, directory, mistake_);
          if (!found.has_value()) return std::nullopt;
          last = *found;
          return found->index;
        },
        kMaxTries);
    std::string text = absl::StrFormat(
        "seed %d DIFFERS at operation %d of %d\n  option set A: %s\n  option set B: %s\n"
        "  shrunk to %d operations:\n",
        seed, difference.index, log.size(), pair[0].ToString(), pair[1].ToString(), shrunk.size());
    for (const Operation& operation : shrunk) {
      absl::StrAppend(&text, "    ", operation.ToString(), "\n");
    }
    absl::StrAppend(&text, "  A answers: ", last.answers[0], "\n  B answers: ", last.answers[1],
                    "\n  again: tools/dev metamorphic --seed=", seed,
                    " --seeds=1 --operations=", settings_.operations,
                    " --option-sets=", settings_.option_sets, settings_.planted ? " --planted" : "",
                    "\n");
    const std::lock_guard<std::mutex> lock(print_mutex_);
    absl::PrintF("%s", text);
  }

  const Settings& settings_;
  const PlantedMistake mistake_;
  const bool terminal_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> done_{0};
  std::atomic<uint64_t> different_{0};
  // One report at a time.
  std::mutex print_mutex_;
};

uint64_t RunHistories(bool is_long) {
  uint64_t problems = 0;
  const size_t num_keys = is_long ? 2 : 1;
  for (const bool releases_newest : {false, true}) {
    for (const std::string filter : {"blocked_bloom:10", "none"}) {
      Options options;
      options.disable_auto_compactions = true;
      options.background_threads = 1;
      options.write_buffer_bytes = 64 << 10;
      options.filter = filter;
      options.block_cache_bytes = releases_newest ? 0 : 1 << 20;
      // Filters hold the keys that have only operands, too.
      const ShortHistoriesReport report =
          RunShortHistories(options, {.length = is_long ? 6 : 5,
                                      .num_keys = num_keys,
                                      .merges = filter != "none",
                                      .releases_newest = releases_newest});
      absl::PrintF(
          "short histories of %d key%s, filter %s, %s snapshot released first: %d histories, "
          "%d reads, %d wrong\n",
          num_keys, num_keys == 1 ? "" : "s", filter, releases_newest ? "newest" : "oldest",
          report.histories, report.reads, report.problems.size());
      for (const std::string& problem : report.problems) absl::PrintF("  %s\n", problem);
      problems += report.problems.size();
    }
  }
  return problems;
}

int Main(int argc, char** argv) {
  Settings settings;
  if (!ParseSettings(argc, argv, &settings)) return kExitUsage;
  absl::PrintF("first seed %d, %d seeds, %d operations each, %d option sets\n", settings.seed,
               settings.seeds, settings.operations, settings.option_sets);
  Campaign campaign(settings);
  const uint64_t different = campaign.Run();
  absl::PrintF("%d seeds replayed, %d operations under each of %d option sets: %d differences\n",
               campaign.done(), campaign.done() * settings.operations, settings.option_sets,
               different);
  const uint64_t wrong = RunHistories(settings.is_long);
  if (different > 0 || wrong > 0) return kExitDifferent;
  if (campaign.done() > 0) {
    absl::PrintF("less than %.3g %% of such logs differ (95 %% confidence)\n",
                 std::min(100.0, 300.0 / static_cast<double>(campaign.done())));
  }
  return 0;
}

}  // namespace
}  // namespace winnow::metamorphic

int main(int argc, char** argv) { return winnow::metamorphic::Main(argc, argv); }
