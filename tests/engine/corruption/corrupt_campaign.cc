// The program behind `tools/dev corrupt`.
//
//   corrupt_campaign [--count=N] [--seed=S] [--jobs=J] [--long]
//
// Damages the files of a small database, all that can be enumerated first, then at random until N
// have been tried. Exit codes: 0 always a right answer or a clear error, 1 not, 2 wrong usage.
#include <algorithm>
#include <array>
#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/engine/corruption/corruption_check.h"
#include "tests/support/allocation_hook.h"
#include "tests/support/campaign_options.h"

namespace winnow {
namespace {

// More than any file of the database asks for; a length that was believed would be above it.
constexpr size_t kLargestAllocation = size_t{4} << 20;

const char* ModeName(RecoveryMode mode) {
  return mode == RecoveryMode::kStrict        ? "strict"
         : mode == RecoveryMode::kPointInTime ? "point_in_time"
                                              : "salvage";
}

struct Trial {
  const CorruptionCheck* check;
  const char* database;
  Corruption corruption;
};

class Campaign {
 public:
  Campaign(uint64_t count, uint64_t seed, uint64_t jobs, bool is_long)
      : jobs_(jobs), is_long_(is_long) {
    // Damage that changes nothing is none.
    const auto add = [&](const Database& database, Corruption corruption) {
      const Files& files = database.check.files();
      if (corruption.Apply(files) == files) return;
      trials_.push_back({&database.check, database.name, std::move(corruption)});
    };
    for (const Database& database : databases_) {
      for (Corruption& corruption :
           EnumerateCorruptions(database.check.files(), database.check.parts(), seed, is_long)) {
        add(database, std::move(corruption));
      }
    }
    enumerated_ = trials_.size();
    for (uint64_t i = 0; trials_.size() < count; i++) {
      const Database& database = databases_.at(i % databases_.size());
      add(database,
          RandomCorruption(database.check.files(), database.check.parts(), seed * 1000003 + i));
    }
  }

  bool Run() {
    ResetLargestAllocation();
    std::atomic<uint64_t> done = 0;
    Progress progress("damage", trials_.size());
    RunInParallel(trials_.size(), jobs_, [&](uint64_t i) {
      const Trial& trial = trials_[i];
      for (size_t mode = 0; mode < kRecoveryModes.size(); mode++) {
        if (is_long_ || i % kRecoveryModes.size() == mode)
          Try(trial, kRecoveryModes.at(mode), i % 16 == 0);
      }
      const uint64_t so_far = ++done;
      const std::lock_guard lock(mutex_);
      progress.Show(so_far);
    });
    return Report();
  }

 private:
  struct Database {
    const char* name;
    CorruptionCheck check;
  };
  using Counts = std::array<uint64_t, kNumCorruptionOutcomes>;

  void Try(const Trial& trial, RecoveryMode mode, bool thorough) {
    CorruptionVerdict verdict = trial.check->Check(trial.corruption, mode, thorough);
    const size_t largest = LargestAllocation();
    if (largest > kLargestAllocation) {
      verdict = {CorruptionOutcome::kWrong, verdict.part,
                 absl::StrCat("memory of ", largest, " bytes was asked for")};
    }
    const std::lock_guard lock(mutex_);
    counts_[verdict.part].at(static_cast<size_t>(verdict.outcome))++;
    if (verdict.outcome != CorruptionOutcome::kWrong || failures_.size() >= 10) return;
    failures_.push_back(absl::StrCat(trial.database, ", ", trial.corruption.ToString(), ", ",
                                     ModeName(mode), ": ", verdict.why));
  }

  bool Report() const {
    std::printf("%-24s %9s %9s %9s %9s %9s %9s %9s\n", "damage in", "harmless", "filter", "errors",
                "refused", "reported", "torn end", "WRONG");
    Counts sums = {};
    const auto print = [](const std::string& part, const Counts& counts) {
      std::printf("%-24s", part.c_str());
      for (const uint64_t count : counts) std::printf(" %9" PRIu64, count);
      std::printf("\n");
    };
    uint64_t tried = 0;
    for (const auto& [part, counts] : counts_) {
      print(part, counts);
      for (size_t i = 0; i < counts.size(); i++) sums.at(i) += counts.at(i);
    }
    print("all", sums);
    for (const uint64_t count : sums) tried += count;
    std::printf("%zu kinds of damage enumerated, %zu random; largest allocation %zu bytes\n",
                enumerated_, trials_.size() - enumerated_, LargestAllocation());
    const uint64_t wrong = sums.back();
    std::printf("%s\n", FailureRate(wrong, tried).c_str());
    for (const std::string& failure : failures_) std::printf("failure: %s\n", failure.c_str());
    return wrong == 0;
  }

  const uint64_t jobs_;
  const bool is_long_;
  const std::array<Database, 2> databases_ = {
      Database{"closed database", CorruptionCheck(DatabaseEnd::kClosed)},
      Database{"killed database", CorruptionCheck(DatabaseEnd::kKilled)}};
  std::vector<Trial> trials_;
  size_t enumerated_ = 0;
  // std::mutex, which knows no annotations: guards the two below and the progress bar.
  std::mutex mutex_;
  std::map<std::string, Counts> counts_;
  std::vector<std::string> failures_;
};

int Main(int argc, char** argv) {
  std::map<std::string, uint64_t> numbers = {
      {"count", 50000}, {"seed", 1}, {"jobs", 1}, {"long", 0}};
  if (!ParseNumbers(argc, argv, &numbers)) return 2;
  std::printf("seed %" PRIu64 "\n", numbers["seed"]);
  Campaign campaign(numbers["count"], numbers["seed"], std::max<uint64_t>(numbers["jobs"], 1),
                    numbers["long"] != 0);
  return campaign.Run() ? 0 : 1;
}

}  // namespace
}  // namespace winnow

int main(int argc, char** argv) { return winnow::Main(argc, argv); }
