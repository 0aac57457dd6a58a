#include "tests/engine/errors/error_loops.h"

#include <memory>
#include <optional>
#include <random>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "engine/log/log_format.h"
#include "tests/support/crash_workload.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

const std::set<Kind> kChanges = {
    Kind::kCreate,          Kind::kAppend,        Kind::kFlush,          Kind::kSync,
    Kind::kClose,           Kind::kLink,          Kind::kRename,         Kind::kRemove,
    Kind::kCreateDirectory, Kind::kSyncDirectory, Kind::kRemoveDirectory};
const std::set<Kind> kReads = {Kind::kOpenForReading, Kind::kRead, Kind::kList, Kind::kInspect};
const std::set<Kind> kOpens = {Kind::kCreate, Kind::kOpenForReading, Kind::kList,
                               Kind::kSyncDirectory, Kind::kLock};

// Operations whose failure no caller needs to hear of: files that nobody needs any more are removed
// by the next opening, closing a file that has been read or synced changes nothing, and a table
// that a flush could not write is written again. Reads are tried again, or done without: a filter.
// What background work does is tried again once there is space or a descriptor.
bool MayFailSilently(const std::string& operation, const absl::Status& error) {
  // A log that cannot be created is tried again once the descriptor of a table has been given back,
  // and an older one is synced and closed where there is no room for the marker at its end.
  const bool is_marker =
      absl::StrContains(operation, absl::StrCat(".log: ", kLogRecordHeaderBytes, " bytes"));
  if (absl::IsResourceExhausted(error) && (!absl::StrContains(operation, ".log") || is_marker ||
                                           absl::StartsWith(operation, "create"))) {
    return true;
  }
  return absl::StartsWith(operation, "remove") || absl::StartsWith(operation, "close") ||
         absl::StartsWith(operation, "read") || absl::StartsWith(operation, "open") ||
         absl::StartsWith(operation, "list") || absl::StartsWith(operation, "inspect") ||
         absl::StrContains(operation, ".sst") ||
         absl::StrContains(operation, "STATISTICS");  // no data: what was not saved is counted on
}

// Empty if the database holds what it must, and can do all that it could before.
std::string WhyRecoveredIsWrong(RecordingFileSystem* disk, const CrashWorkload& workload,
                                std::optional<size_t> crashed_after) {
  auto db = DB::Open(CrashOptions(disk), kCrashDatabase);
  if (!db.ok()) return db.status().ToString();
  std::string problem;
  Contents expected = ReadEverything(**db, workload.keys(), &problem);
  if (!problem.empty()) return problem;
  problem = crashed_after.has_value()
                ? workload.history().WhyWrongAfterCrash(expected, *crashed_after, false)
                : workload.history().WhyWrongAfterErrors(expected);
  if (!problem.empty()) return problem;
  absl::Status status = (*db)->Put(WriteOptions(), "key", "on");
  expected[0]["key"] = "on";
  for (ColumnFamily* family : (*db)->ColumnFamilies()) {
    status.Update((*db)->CompactRange(family, std::nullopt, std::nullopt));
  }
  const std::vector<std::string> damage = DamageMessages(**db);
  if (!damage.empty()) return damage.front();
  status.Update((*db)->Close());
  if (!status.ok()) return absl::StrCat("after reopening: ", status.ToString());
  db = DB::Open(CrashOptions(disk), kCrashDatabase);
  if (!db.ok()) return absl::StrCat("the second time: ", db.status().ToString());
  const Contents found = ReadEverything(**db, workload.keys(), &problem);
  return problem.empty() ? FirstDifference(found, expected) : problem;
}

// Checkpoints that were acknowledged open and hold what the database held.
std::string WhyCheckpointsAreWrong(RecordingFileSystem* disk, const CrashWorkload& workload) {
  for (const CheckpointRecord& checkpoint : workload.checkpoints()) {
    if (checkpoint.time.acknowledged == CallTime::kNever) continue;
    Options options = CrashOptions(disk);
    options.create_if_missing = false;
    const auto db = DB::Open(options, checkpoint.directory);
    if (!db.ok()) return db.status().ToString();
    std::string problem;
    const Contents found = ReadEverything(**db, workload.keys(), &problem);
    if (problem.empty() && checkpoint.contents_are_known) {
      problem = FirstDifference(found, checkpoint.contents);
    }
    if (!problem.empty()) return absl::StrCat(checkpoint.directory, ": ", problem);
  }
  return "";
}

std::string WhyRunIsWrong(const CrashWorkload& workload, RecordingFileSystem& memory, size_t seed) {
  if (!workload.wrong_answer().empty()) return workload.wrong_answer();
  // The power fails as well: whatever was acknowledged as synced must be there all the same.
  const size_t end = memory.num_operations();
  for (const CrashChoice& choice :
       {CrashChoice::KeepNothingUnsynced(), CrashChoice::RandomSubset(seed)}) {
    const auto crashed = memory.StateAfterCrash(end, choice);
    std::string why = WhyRecoveredIsWrong(crashed.get(), workload, end);
    if (why.empty()) why = WhyCheckpointsAreWrong(crashed.get(), workload);
    if (!why.empty()) return absl::StrCat(choice.ToString(), ": ", why);
  }
  return WhyRecoveredIsWrong(&memory, workload, std::nullopt);
}

FaultRule PlacedAt(const ErrorLoop& loop, uint64_t first) {
  return loop.rule.From(first, loop.rule.count);
}

// The workload with all of these faults. No run, unless each of them fired.
ErrorLoopOutcome RunWith(const std::vector<ErrorLoop>& placed, uint64_t seed) {
  const auto memory = std::make_unique<RecordingFileSystem>();
  FaultFileSystem faults(memory.get(), seed);
  std::vector<size_t> rules;
  for (const ErrorLoop& loop : placed) rules.push_back(faults.Add(loop.rule));
  CrashWorkload workload(memory.get(), &faults, /*seed=*/1);
  workload.Run();
  faults.Clear();
  ErrorLoopOutcome outcome;
  bool may_be_silent = true;
  std::string where;
  for (size_t i = 0; i < rules.size(); i++) {
    if (faults.fired(rules[i]) == 0) return outcome;
    const std::string operation = faults.first_fired(rules[i]);
    may_be_silent &= MayFailSilently(operation, placed[i].rule.error);
    absl::StrAppend(&where, i == 0 ? placed[0].name : "", " (", operation, ")");
  }
  outcome.runs = 1;
  std::string why;
  if (workload.errors().empty()) {
    outcome.silent = 1;
    if (!may_be_silent) why = "nobody was told";
  }
  if (why.empty()) why = WhyRunIsWrong(workload, *memory, seed);
  if (!why.empty()) {
    outcome.failures = 1;
    outcome.first_failure = absl::StrCat(where, ": ", why);
  }
  return outcome;
}

}  // namespace

void ErrorLoopOutcome::Add(const ErrorLoopOutcome& other) {
  runs += other.runs;
  silent += other.silent;
  failures += other.failures;
  if (first_failure.empty()) first_failure = other.first_failure;
}

std::vector<ErrorLoop> AllErrorLoops() {
  constexpr uint64_t kForEver = FaultRule::kForEver;
  const FaultRule io_error = FaultRule::Error(InjectedIoError());
  const FaultRule full = FaultRule::Error(InjectedFullDisk());
  const FaultRule no_descriptor = FaultRule::Error(InjectedDescriptorLimit());
  FaultRule torn = full;
  torn.effect = FaultRule::Effect::kTornAppend;
  FaultRule dropped = io_error;
  dropped.effect = FaultRule::Effect::kDroppedPages;
  const std::set<Kind> allocates = {
      Kind::kCreate, Kind::kAppend, Kind::kFlush,           Kind::kSync,
      Kind::kClose,  Kind::kRename, Kind::kCreateDirectory, Kind::kSyncDirectory};
  return {{"change, I/O error, once", io_error.On(kChanges).From(0, 1)},
          {"change, I/O error, for ever", io_error.On(kChanges).From(0, kForEver)},
          {"change, disk full, once", full.On(allocates).From(0, 1)},
          {"change, disk full, for a while", full.On(allocates).From(0, 7)},
          {"change, disk full, for ever", full.On(allocates).From(0, kForEver)},
          {"append, torn, disk full, once", torn.On({Kind::kAppend}).From(0, 1)},
          {"append, torn, disk full, for ever", torn.On({Kind::kAppend}).From(0, kForEver)},
          {"sync, pages dropped, once", dropped.On({Kind::kSync}).From(0, 1)},
          {"sync, pages dropped, for ever", dropped.On({Kind::kSync}).From(0, kForEver)},
          {"read, I/O error, once", io_error.On(kReads).From(0, 1)},
          {"read, I/O error, for ever", io_error.On(kReads).From(0, kForEver)},
          {"open, no descriptor, once", no_descriptor.On(kOpens).From(0, 1)},
          {"open, no descriptor, for ever", no_descriptor.On(kOpens).From(0, kForEver)}};
}

ErrorLoopOutcome RunWithFault(const ErrorLoop& loop, size_t first) {
  return RunWith({{absl::StrCat(loop.name, ", operation ", first), PlacedAt(loop, first)}}, first);
}

ErrorLoopOutcome RunWithTwoFaults(uint64_t seed) {
  constexpr uint64_t kOperations = 400;  // the workload has about as many, of some kinds fewer
  std::mt19937_64 random(seed);
  const std::vector<ErrorLoop> loops = AllErrorLoops();
  std::vector<ErrorLoop> placed;
  for (int i = 0; i < 2; i++) {
    const ErrorLoop& loop = loops[random() % loops.size()];
    // One after the other, so that a seed means the same whatever the compiler does first.
    // One after the other: a seed must not mean what the compiler happens to evaluate first.
    const uint64_t number = random();
    placed.push_back({loop.name, PlacedAt(loop, number % (1 + random() % kOperations))});
  }
  placed[0].name = absl::StrCat("seed ", seed, ": ", placed[0].name, " and ", placed[1].name);
  return RunWith(placed, seed);
}

}  // namespace winnow
