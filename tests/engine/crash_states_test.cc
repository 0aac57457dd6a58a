// The store after a crash at every recorded operation, with every kind of choice of what survived.
// WINNOW_LONG_TESTS=1 runs more workloads and more random subsets; WINNOW_SEED chooses one
// workload.
#include <gtest/gtest.h>

#include <cstdio>
#include <functional>

#include "absl/strings/str_cat.h"
#include "tests/engine/crash_workload.h"
#include "tests/engine/db_fixture.h"

namespace winnow {
namespace {

std::vector<CrashChoice> ChoicesAt(const MemoryFileSystem& memory, size_t num_operations) {
  std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll()};
  if (num_operations > 0 &&
      memory.operation(num_operations - 1).kind == FileOperation::Kind::kAppend) {
    for (const double kept : {0.03, 0.5, 0.97}) {
      choices.push_back(CrashChoice::TornLastAppend(kept));
    }
  }
  const uint64_t num_random = LongTests() ? 40 : 3;
  for (uint64_t i = 0; i < num_random; i++) {
    choices.push_back(CrashChoice::RandomSubset(num_operations * 1000 + i));
  }
  return choices;
}

// Recovers and reads everything; the database stays open in `*db`.
std::string Recover(FileSystem* disk, RecoveryMode mode, const std::vector<std::string>& keys,
                    std::unique_ptr<DB>* db, Contents* contents) {
  Options options = CrashOptions(disk);
  options.recovery_mode = mode;
  auto opened = DB::Open(options, kCrashDatabase);
  if (!opened.ok()) return opened.status().ToString();
  *db = *std::move(opened);
  std::string problem;
  *contents = ReadEverything(**db, keys, &problem);
  return problem;
}

std::string RecoverAndClose(FileSystem* disk, RecoveryMode mode,
                            const std::vector<std::string>& keys, Contents* contents) {
  std::unique_ptr<DB> db;
  std::string problem = Recover(disk, mode, keys, &db, contents);
  if (!problem.empty()) return problem;
  const absl::Status closed = db->Close();
  return closed.ok() ? "" : closed.ToString();
}

// Writes on with a recovered database and crashes it again: what it found and what was synced since
// must be there.
std::string WriteAndCrashAgain(MemoryFileSystem& disk, DB& db, const CrashChoice& choice,
                               const std::vector<std::string>& keys, Contents expected) {
  WriteOptions sync;
  sync.sync = true;
  absl::Status status = db.Put(sync, "key1", "after the crash");
  expected[0]["key1"] = "after the crash";
  if (!status.ok()) return status.ToString();
  Contents found;
  const auto crashed = disk.StateAfterCrash(disk.num_operations(), choice);
  std::string problem = RecoverAndClose(crashed.get(), RecoveryMode::kPointInTime, keys, &found);
  return problem.empty() ? FirstDifference(found, expected) : problem;
}

// Everything the store can still do must work on a recovered database.
std::string FlushCompactVerifyClose(MemoryFileSystem& disk, std::unique_ptr<DB> db,
                                    const std::vector<std::string>& keys) {
  std::string problem;
  const Contents before = ReadEverything(*db, keys, &problem);
  if (!problem.empty()) return problem;
  for (ColumnFamily* family : db->ColumnFamilies()) {
    absl::Status status = db->Flush(family);
    status.Update(db->CompactRange(family, std::nullopt, std::nullopt));
    if (!status.ok()) return status.ToString();
  }
  const std::vector<std::string> damage = db->Verify();
  if (!damage.empty()) return damage.front();
  if (absl::Status closed = db->Close(); !closed.ok()) return closed.ToString();
  db.reset();
  const auto crashed =
      disk.StateAfterCrash(disk.num_operations(), CrashChoice::KeepNothingUnsynced());
  Contents after;
  problem = RecoverAndClose(crashed.get(), RecoveryMode::kStrict, keys, &after);
  if (problem.empty() && before.size() != after.size()) problem = "a column family was lost";
  return problem.empty() ? FirstDifference(after, before) : problem;
}

// Recovery itself may crash, anywhere; the next one must find the same.
std::string CrashWhileRecovering(const MemoryFileSystem& disk, size_t operations_of_recovery,
                                 uint64_t seed, const std::vector<std::string>& keys,
                                 const Contents& expected, size_t* states) {
  for (size_t n = 0; n <= operations_of_recovery; n++) {
    for (const CrashChoice& choice :
         {CrashChoice::KeepAll(), CrashChoice::RandomSubset(seed + n)}) {
      const auto crashed = disk.StateAfterCrash(n, choice);
      Contents found;
      std::string problem =
          RecoverAndClose(crashed.get(), RecoveryMode::kPointInTime, keys, &found);
      if (problem.empty() && found.size() != expected.size()) problem = "a column family was lost";
      if (problem.empty()) problem = FirstDifference(found, expected);
      if (!problem.empty()) {
        return absl::StrCat("crashed again after ", n, " operations of recovery, ",
                            choice.ToString(), ": ", problem);
      }
      (*states)++;
    }
  }
  return "";
}

struct Outcome {
  size_t states = 0;
  size_t losses_reported = 0;  // states after which "winnow.recovery" names what was not replayed
  size_t failures = 0;
  std::string first_failure;
};

struct StateCheck {
  const CrashWorkload& workload;
  const MemoryFileSystem& memory;
  size_t num_operations;
  CrashChoice choice;
  uint64_t number;  // of the state: some checks are made for each n-th only
};

// Empty if the store keeps its promises in this state.
std::string WhyStateIsWrong(const StateCheck& check, Outcome* outcome) {
  outcome->states++;
  const std::unique_ptr<MemoryFileSystem> disk =
      check.memory.StateAfterCrash(check.num_operations, check.choice);
  const std::vector<std::string>& keys = check.workload.keys();
  const bool was_created = check.num_operations >= check.workload.created_at();
  if (was_created && !disk->Exists(absl::StrCat(kCrashDatabase, "/CURRENT")).value_or(false)) {
    return "the database is gone";
  }
  std::unique_ptr<DB> db;
  Contents found;
  std::string problem = Recover(disk.get(), RecoveryMode::kPointInTime, keys, &db, &found);
  const size_t operations_of_recovery = disk->num_operations();
  if (problem.empty()) {
    problem = check.workload.history().WhyWrongAfterCrash(
        found, check.num_operations, check.choice.kind == CrashChoice::Kind::kKeepAll);
  }
  const bool loss_was_reported =
      problem.empty() && !db->GetProperty(db->DefaultColumnFamily(), "winnow.recovery")->empty();
  if (problem.empty()) {
    const CrashChoice again = check.number % 2 == 0 ? CrashChoice::KeepNothingUnsynced()
                                                    : CrashChoice::RandomSubset(check.number);
    problem = WriteAndCrashAgain(*disk, *db, again, keys, found);
    outcome->states++;
  }
  if (problem.empty() && check.number % 4 == 0) {
    problem = FlushCompactVerifyClose(*disk, std::move(db), keys);
    outcome->states++;
  }
  if (problem.empty() && ((loss_was_reported && check.number % 3 == 0) ||
                          check.number % (LongTests() ? 5 : 61) == 0)) {
    outcome->losses_reported += loss_was_reported ? 1 : 0;
    problem = CrashWhileRecovering(*disk, operations_of_recovery, check.number, keys, found,
                                   &outcome->states);
  }
  return problem;
}

Outcome CheckEveryState(const CrashWorkload& workload, const MemoryFileSystem& memory,
                        size_t max_failures) {
  Outcome outcome;
  uint64_t number = 0;
  for (size_t n = 0; n <= memory.num_operations() && outcome.failures < max_failures;
       n += kFewerBy) {
    for (const CrashChoice& choice : ChoicesAt(memory, n)) {
      const std::string problem =
          WhyStateIsWrong({workload, memory, n, choice, number++}, &outcome);
      if (problem.empty()) continue;
      outcome.failures++;
      if (outcome.first_failure.empty()) {
        outcome.first_failure = absl::StrCat("after ", n, " operations, the last: ",
                                             n == 0 ? "none" : memory.operation(n - 1).ToString(),
                                             ", ", choice.ToString(), ": ", problem);
      }
    }
  }
  return outcome;
}

TEST(CrashStates, EveryStateIsAPrefixWithAllSyncedWrites) {
  for (const uint64_t seed : Seeds(1)) {
    const auto memory = NewMemoryFileSystem();
    CrashWorkload workload(memory.get(), memory.get(), seed);
    workload.Run();
    ASSERT_TRUE(workload.errors().empty()) << workload.errors().front();
    const Outcome outcome = CheckEveryState(workload, *memory, 5);
    std::printf("seed %llu: %zu operations, %zu states, %zu failures; %zu losses reported\n",
                static_cast<unsigned long long>(seed), memory->num_operations(), outcome.states,
                outcome.failures, outcome.losses_reported);
    ASSERT_EQ(outcome.failures, 0u) << outcome.first_failure;
    EXPECT_GT(outcome.states, 2000u / kFewerBy);
    EXPECT_GT(outcome.losses_reported, 10u / kFewerBy);
  }
}

// A file system that forgets some syncs: the store that runs on it has a planted defect.
class ForgetfulFileSystem : public FileSystem {
 public:
  using Forgets = std::function<bool(const std::string& path)>;
  ForgetfulFileSystem(FileSystem* target, Forgets forgets)
      : target_(*target), forgets_(std::move(forgets)) {}

  absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path, const WritableFileOptions& options) override {
    auto file = target_.Create(path, options);
    if (!file.ok() || !forgets_(path)) return file;
    return std::unique_ptr<WritableFile>(std::make_unique<File>(*std::move(file)));
  }
  absl::Status SyncDirectory(const std::string& directory) override {
    return forgets_(directory) ? absl::OkStatus() : target_.SyncDirectory(directory);
  }
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> OpenRandomAccess(
      const std::string& path) override {
    return target_.OpenRandomAccess(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return target_.Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return target_.Remove(path); }
  absl::Status CreateDirectories(const std::string& path) override {
    return target_.CreateDirectories(path);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    return target_.RemoveDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& directory) override {
    return target_.List(directory);
  }
  absl::StatusOr<bool> Exists(const std::string& path) override { return target_.Exists(path); }
  absl::StatusOr<bool> IsDirectory(const std::string& path) override {
    return target_.IsDirectory(path);
  }
  absl::StatusOr<uint64_t> FileSize(const std::string& path) override {
    return target_.FileSize(path);
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return target_.Lock(path);
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

  FileSystem& target_;
  const Forgets forgets_;
};

TEST(CrashStates, TheCheckerSeesEachForgottenKindOfSync) {
  const std::map<std::string, ForgetfulFileSystem::Forgets> defects = {
      {"log", [](const std::string& path) { return path.ends_with(".log"); }},
      {"table", [](const std::string& path) { return path.ends_with(".sst"); }},
      {"manifest", [](const std::string& path) { return path.find("MANIFEST-") != path.npos; }},
      {"CURRENT", [](const std::string& path) { return path.find("CURRENT") != path.npos; }},
      {"database directory", [](const std::string& path) { return path == kCrashDatabase; }},
      {"parent directory", [](const std::string& path) { return path == "/data"; }},
      {"root directory", [](const std::string& path) { return path == "/"; }},
  };
  for (const auto& [name, forgets] : defects) {
    const auto memory = NewMemoryFileSystem();
    ForgetfulFileSystem forgetful(memory.get(), forgets);
    CrashWorkload workload(memory.get(), &forgetful, 1);
    workload.Run();
    EXPECT_GT(CheckEveryState(workload, *memory, 1).failures, 0u) << name;
  }
}

}  // namespace
}  // namespace winnow
