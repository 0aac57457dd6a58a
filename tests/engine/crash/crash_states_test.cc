// The store after a crash at every recorded operation, with every kind of choice of what survived.
// WINNOW_LONG_TESTS=1 runs more workloads and more random subsets; WINNOW_SEED chooses one
// workload.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "engine/file_system/forwarding_file_system.h"
#include "tests/engine/crash/crash_check.h"
#include "tests/support/crash_workload.h"
#include "tests/support/db_fixture.h"

namespace winnow {
namespace {

CrashOutcome CheckReference(uint64_t seed, const CrashCheckOptions& options) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  CrashWorkload workload(memory.get(), memory.get(), seed);
  workload.Run();
  return CheckEveryState(workload, *memory, options, absl::StrCat("seed ", seed));
}

TEST(CrashStates, EveryStateIsAPrefixWithAllSyncedWrites) {
  CrashCheckOptions options;
  options.stride = kFewerBy;
  options.num_random = LongTests() ? 40 : 3;
  options.recovery_interval = LongTests() ? 5 : 181;
  for (const uint64_t seed : Seeds(1)) {
    const CrashOutcome outcome = CheckReference(seed, options);
    std::printf("seed %llu: %zu states, %zu failures; %zu losses reported\n",
                static_cast<unsigned long long>(seed), outcome.states, outcome.failures(),
                outcome.losses_reported);
    ASSERT_EQ(outcome.failures(), 0u) << outcome.first_failure;
    EXPECT_GT(outcome.states, 2000u / kFewerBy);
    EXPECT_GT(outcome.losses_reported, 10u / kFewerBy);
  }
}

// A share of what `tools/dev crash` does with all pairs and triples: each operation before and
// after a write and a checkpoint.
TEST(CrashStates, ShortWorkloadsSurviveACrashAfterEachSync) {
  CrashCheckOptions options;
  options.only_after_syncs = true;
  options.num_random = 1;
  CrashOutcome outcome;
  for (size_t i = 0; i < kNumCrashSteps; i += kFewerBy) {
    const auto step = static_cast<CrashStep>(i);
    for (const CrashStep other : {CrashStep::kBatch, CrashStep::kCheckpoint}) {
      for (const auto& steps : {std::array{step, other}, std::array{other, step}}) {
        const auto memory = std::make_unique<RecordingFileSystem>();
        CrashWorkload workload(memory.get(), memory.get(), outcome.workloads);
        workload.RunSteps(steps);
        options.first_operation = workload.steps_began_at();
        outcome.Add(CheckEveryState(workload, *memory, options, DescribeSteps(steps)));
      }
    }
  }
  std::printf("%zu workloads, %zu states, %zu checkpoints\n", outcome.workloads, outcome.states,
              outcome.checkpoints);
  EXPECT_EQ(outcome.failures(), 0u) << outcome.first_failure;
  EXPECT_GT(outcome.checkpoints, 100u / kFewerBy);
}

TEST(CrashStates, ABrokenPromiseIsCalledByItsName) {
  History history;
  const auto write = [&](std::vector<Update> updates, bool synced, size_t operation) {
    history.AddWrite({std::move(updates), synced, {operation - 1, operation}});
  };
  write({{0, "a", "1"}, {0, "b", "1"}}, true, 1);
  write({{0, "b", std::nullopt}}, true, 2);
  write({{0, "c", "3"}, {0, "d", "3"}}, false, 3);
  write({{0, "e", "4"}}, false, 4);
  const auto breach = [&](const std::map<std::string, std::string>& found) {
    EXPECT_NE(history.WhyWrongAfterCrash({{0, found}}, 4, false), "");
    return history.BreachAfterCrash({{0, found}}, 4, false);
  };
  EXPECT_EQ(history.WhyWrongAfterCrash({{0, {{"a", "1"}}}}, 4, false), "");
  EXPECT_EQ(breach({}), Breach::kSyncedWriteLost);
  EXPECT_EQ(breach({{"a", "1"}, {"b", "1"}}), Breach::kResurrectedDelete);
  EXPECT_EQ(breach({{"a", "1"}, {"c", "3"}}), Breach::kTornBatch);
  EXPECT_EQ(breach({{"a", "1"}, {"e", "4"}}), Breach::kHole);
}

TEST(CrashStates, OfFailedWritesOneOfEachOpeningMayBeThere) {
  History history;
  const auto write = [&](const char* key, size_t opening, bool failed, bool was_refused = false) {
    const size_t operation = history.writes().size() + 1;
    const CallTime time = {operation - 1, failed ? CallTime::kNever : operation};
    history.AddWrite({{{0, key, "value"}}, true, time, opening, was_refused});
  };
  write("a", 1, false);
  write("b", 1, true);
  write("c", 1, true);
  write("d", 1, true, true);
  write("e", 2, true);
  write("f", 2, false);
  const auto is_right = [&](const std::string& keys) {
    std::map<std::string, std::string> found;
    for (const char key : keys) found[std::string(1, key)] = "value";
    const bool after_errors = history.WhyWrongAfterErrors({{0, found}}).empty();
    EXPECT_EQ(history.WhyWrongAfterCrash({{0, found}}, 6, true).empty(), after_errors) << keys;
    return after_errors;
  };
  for (const char* const keys : {"af", "abf", "acf", "aef", "abef", "acef"}) {
    EXPECT_TRUE(is_right(keys)) << keys;
  }
  for (const char* const keys : {"abcf", "adf", "adef", "abcef", "ab", "f"}) {
    EXPECT_FALSE(is_right(keys)) << keys;
  }
}

// A file system that forgets some syncs: the store that runs on it has a planted defect.
class ForgetfulFileSystem : public ForwardingFileSystem {
 public:
  using Forgets = std::function<bool(const std::string& path)>;
  ForgetfulFileSystem(FileSystem* target, Forgets forgets)
      : ForwardingFileSystem(target), forgets_(std::move(forgets)) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    auto file = target().Create(path, options);
    if (!file.ok() || !forgets_(path)) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<File>(*std::move(file)));
  }
  absl::Status SyncDirectory(const std::string& directory) override {
    return forgets_(directory) ? absl::OkStatus() : target().SyncDirectory(directory);
  }

 private:
  class File : public WritableFile {
   public:
    explicit File(std::unique_ptr<WritableFile> target) : target_(std::move(target)) {}
    absl::Status Append(std::string_view data) override { return target_->Append(data); }
    absl::Status Flush() override { return target_->Flush(); }
    absl::Status Sync() override { return target_->Flush(); }
    absl::Status Close() override { return target_->Close(); }
    uint64_t size() const override { return target_->size(); }

   private:
    const std::unique_ptr<WritableFile> target_;
  };

  const Forgets forgets_;
};

TEST(CrashStates, TheCheckerSeesEachForgottenKindOfSync) {
  const std::map<std::string, ForgetfulFileSystem::Forgets> defects = {
      {"log", [](const std::string& path) { return path.ends_with(".log"); }},
      {"table", [](const std::string& path) { return path.ends_with(".sst"); }},
      {"filter", [](const std::string& path) { return path.ends_with(".flt"); }},
      {"manifest", [](const std::string& path) { return path.find("MANIFEST-") != path.npos; }},
      {"CURRENT", [](const std::string& path) { return path.find("CURRENT") != path.npos; }},
      {"database directory", [](const std::string& path) { return path == kCrashDatabase; }},
      {"parent directory", [](const std::string& path) { return path == "/data"; }},
      {"root directory", [](const std::string& path) { return path == "/"; }},
  };
  for (const auto& [name, forgets] : defects) {
    const auto memory = std::make_unique<RecordingFileSystem>();
    ForgetfulFileSystem forgetful(memory.get(), forgets);
    CrashWorkload workload(memory.get(), &forgetful, 1);
    workload.Run();
    CrashCheckOptions options;
    options.max_failures = 1;
    options.stride = kFewerBy;
    // Before that nothing was forgotten.
    size_t first = 0;
    while (first < memory->num_operations() && !forgets(memory->operation(first).path)) first++;
    if (first < memory->num_operations()) options.first_operation = first;
    EXPECT_GT(CheckEveryState(workload, *memory, options, name).failures(), 0u) << name;
  }
}

}  // namespace
}  // namespace winnow
