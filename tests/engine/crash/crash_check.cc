#include "tests/engine/crash/crash_check.h"

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Kind = FileOperation::Kind;

CrashVerdict Wrong(Breach breach, std::string why) { return {breach, std::move(why)}; }
CrashVerdict Failed(const absl::Status& status) {
  return status.ok() ? CrashVerdict() : Wrong(Breach::kOther, std::string(status.ToString()));
}

CrashVerdict Compare(const Contents& found, const Contents& expected) {
  if (found.size() != expected.size()) return Wrong(Breach::kOther, "a column family was lost");
  std::string why = FirstDifference(found, expected);
  if (why.empty()) return {};
  return Wrong(BreachOfDifference(found, expected), std::move(why));
}

std::vector<CrashChoice> ChoicesAt(const RecordingFileSystem& memory, size_t num_operations,
                                   size_t num_random) {
  std::vector<CrashChoice> choices = {CrashChoice::KeepNothingUnsynced(), CrashChoice::KeepAll()};
  if (num_operations > 0 && memory.operation(num_operations - 1).kind == Kind::kAppend) {
    for (const double kept : {0.03, 0.5, 0.97}) {
      choices.push_back(CrashChoice::TornLastAppend(kept));
    }
  }
  for (uint64_t i = 0; i < num_random; i++) {
    choices.push_back(CrashChoice::RandomSubset(num_operations * 1000 + i));
  }
  return choices;
}

// Recovers and reads everything; the database stays open in `*db`.
CrashVerdict Recover(Options options, const std::string& path, RecoveryMode mode,
                     const std::vector<std::string>& keys, std::unique_ptr<DB>* db,
                     Contents* contents) {
  options.recovery_mode = mode;
  options.create_if_missing = path == kCrashDatabase;
  auto opened = DB::Open(options, path);
  if (!opened.ok()) return Failed(opened.status());
  *db = *std::move(opened);
  // Which hides no key, so that nothing but this tells.
  if ((*db)->GetStatistics().Get(Ticker::kFiltersDamaged) > 0) {
    return Wrong(Breach::kOther, "a filter was named before it was durable");
  }
  std::string problem;
  *contents = ReadEverything(**db, keys, &problem);
  return problem.empty() ? CrashVerdict() : Wrong(Breach::kOther, std::move(problem));
}

CrashVerdict RecoverAndCompare(FileSystem* disk, const std::string& path, RecoveryMode mode,
                               const std::vector<std::string>& keys, const Contents& expected) {
  std::unique_ptr<DB> db;
  Contents found;
  CrashVerdict verdict = Recover(CrashOptions(disk), path, mode, keys, &db, &found);
  if (verdict.ok()) verdict = Failed(db->Close());
  return verdict.ok() ? Compare(found, expected) : verdict;
}

// Writes on with a recovered database and crashes it again: what it found and what was synced since
// must be there.
CrashVerdict WriteAndCrashAgain(RecordingFileSystem& disk, DB& db, const CrashChoice& choice,
                                const std::vector<std::string>& keys, Contents expected) {
  WriteOptions sync;
  sync.sync = true;
  const absl::Status status = db.Put(sync, "key1", "after the crash");
  if (!status.ok()) return Failed(status);
  expected[0]["key1"] = "after the crash";
  const auto crashed = disk.StateAfterCrash(disk.num_operations(), choice);
  return RecoverAndCompare(crashed.get(), kCrashDatabase, RecoveryMode::kPointInTime, keys,
                           expected);
}

// Everything the store can still do must work on a recovered database.
CrashVerdict FlushCompactVerifyClose(RecordingFileSystem& disk, std::unique_ptr<DB> db,
                                     const std::vector<std::string>& keys) {
  std::string problem;
  const Contents before = ReadEverything(*db, keys, &problem);
  if (!problem.empty()) return Wrong(Breach::kOther, std::move(problem));
  for (ColumnFamily* family : db->ColumnFamilies()) {
    absl::Status status = db->Flush(family);
    status.Update(db->CompactRange(family, std::nullopt, std::nullopt));
    if (!status.ok()) return Failed(status);
  }
  const std::vector<std::string> damage = DamageMessages(*db);
  if (!damage.empty()) return Wrong(Breach::kOther, damage.front());
  if (const absl::Status closed = db->Close(); !closed.ok()) return Failed(closed);
  db.reset();
  const auto crashed =
      disk.StateAfterCrash(disk.num_operations(), CrashChoice::KeepNothingUnsynced());
  return RecoverAndCompare(crashed.get(), kCrashDatabase, RecoveryMode::kStrict, keys, before);
}

// Recovery itself may crash, anywhere; the next one must find the same.
CrashVerdict CrashWhileRecovering(const RecordingFileSystem& disk, size_t operations_of_recovery,
                                  uint64_t seed, const std::vector<std::string>& keys,
                                  const Contents& expected, size_t* states) {
  for (size_t n = 0; n <= operations_of_recovery; n++) {
    for (const CrashChoice& choice :
         {CrashChoice::KeepAll(), CrashChoice::RandomSubset(seed + n)}) {
      const auto crashed = disk.StateAfterCrash(n, choice);
      CrashVerdict verdict = RecoverAndCompare(crashed.get(), kCrashDatabase,
                                               RecoveryMode::kPointInTime, keys, expected);
      (*states)++;
      if (verdict.ok()) continue;
      verdict.why = absl::StrCat("crashed again after ", n, " operations of recovery, ",
                                 choice.ToString(), ": ", verdict.why);
      return verdict;
    }
  }
  return {};
}

struct StateCheck {
  const CrashWorkload& workload;
  const RecordingFileSystem& memory;
  const CrashCheckOptions& options;
  size_t num_operations;
  CrashChoice choice;
  uint64_t number;  // of the state: some checks are made for each n-th only
};

// A copy that had been acknowledged is whole; any other is whole or no database at all.
CrashVerdict CheckCheckpoints(const StateCheck& check, RecordingFileSystem& disk,
                              CrashOutcome* outcome) {
  for (const CheckpointRecord& checkpoint : check.workload.checkpoints()) {
    const bool must_exist = checkpoint.time.MustHaveHappened(check.num_operations);
    const auto exists = disk.Exists(absl::StrCat(checkpoint.directory, "/CURRENT"));
    if (!exists.value_or(false) && !must_exist) continue;
    CrashVerdict verdict = RecoverAndCompare(&disk, checkpoint.directory, RecoveryMode::kStrict,
                                             check.workload.keys(), checkpoint.contents);
    outcome->checkpoints++;
    if (verdict.ok()) continue;
    verdict.why = absl::StrCat(checkpoint.directory, ": ", verdict.why);
    return verdict;
  }
  return {};
}

CrashVerdict CheckRecovered(const StateCheck& check, const Contents& found) {
  const History& history = check.workload.history();
  const bool all_acknowledged = check.choice.kind == CrashChoice::Kind::kKeepAll;
  std::string why = history.WhyWrongAfterCrash(found, check.num_operations, all_acknowledged);
  if (why.empty()) return {};
  return Wrong(history.BreachAfterCrash(found, check.num_operations, all_acknowledged),
               std::move(why));
}

CrashVerdict CheckState(const StateCheck& check, CrashOutcome* outcome) {
  outcome->states++;
  const std::unique_ptr<RecordingFileSystem> disk =
      check.memory.StateAfterCrash(check.num_operations, check.choice);
  const std::vector<std::string>& keys = check.workload.keys();
  const bool was_created = check.num_operations >= check.workload.created_at();
  if (was_created && !disk->Exists(absl::StrCat(kCrashDatabase, "/CURRENT")).value_or(false)) {
    return Wrong(Breach::kOther, "the database is gone");
  }
  std::unique_ptr<DB> db;
  Contents found;
  // Some under a budget: what was written without one must be right there, and the other way round.
  const Options options =
      check.number % 8 == 0 ? CrashOptionsUnderBudget(disk.get()) : CrashOptions(disk.get());
  CrashVerdict verdict =
      Recover(options, kCrashDatabase, RecoveryMode::kPointInTime, keys, &db, &found);
  const size_t operations_of_recovery = disk->num_operations();
  if (verdict.ok()) verdict = CheckRecovered(check, found);
  if (!verdict.ok()) return verdict;
  const bool loss_was_reported = !db->GetProperty("winnow.recovery")->empty();
  const CrashChoice again = check.number % 2 == 0 ? CrashChoice::KeepNothingUnsynced()
                                                  : CrashChoice::RandomSubset(check.number);
  verdict = WriteAndCrashAgain(*disk, *db, again, keys, found);
  outcome->states++;
  if (verdict.ok() && check.number % 4 == 0) {
    verdict = FlushCompactVerifyClose(*disk, std::move(db), keys);
    outcome->states++;
  }
  if (verdict.ok() && ((loss_was_reported && check.number % 3 == 0) ||
                       check.number % check.options.recovery_interval == 0)) {
    outcome->losses_reported += loss_was_reported ? 1 : 0;
    verdict = CrashWhileRecovering(*disk, operations_of_recovery, check.number, keys, found,
                                   &outcome->states);
  }
  return verdict.ok() ? CheckCheckpoints(check, *disk, outcome) : verdict;
}

bool MakesDurable(Kind kind) { return kind == Kind::kSync || kind == Kind::kSyncDirectory; }

}  // namespace

size_t CrashOutcome::failures() const {
  return std::accumulate(breaches.begin(), breaches.end(), size_t{0});
}

void CrashOutcome::Add(const CrashOutcome& other) {
  workloads += other.workloads;
  states += other.states;
  losses_reported += other.losses_reported;
  checkpoints += other.checkpoints;
  for (size_t i = 0; i < kNumBreaches; i++) breaches.at(i) += other.breaches.at(i);
  if (first_failure.empty()) first_failure = other.first_failure;
}

void CrashOutcome::Fail(const CrashVerdict& verdict, const std::function<std::string()>& where) {
  breaches.at(static_cast<size_t>(verdict.breach))++;
  if (first_failure.empty()) first_failure = absl::StrCat(where(), ": ", verdict.why);
}

CrashOutcome CheckEveryState(const CrashWorkload& workload, const RecordingFileSystem& memory,
                             const CrashCheckOptions& options, const std::string& name) {
  CrashOutcome outcome;
  outcome.workloads = 1;
  if (!workload.errors().empty() || !workload.wrong_answer().empty()) {
    const std::string why =
        workload.errors().empty() ? workload.wrong_answer() : workload.errors().front().ToString();
    outcome.Fail(Wrong(Breach::kOther, why), [&] { return name + ", before any crash"; });
    return outcome;
  }
  uint64_t number = 0;
  for (size_t n = options.first_operation;
       n <= memory.num_operations() && outcome.failures() < options.max_failures;
       n += options.stride) {
    if (options.only_after_syncs && (n == 0 || !MakesDurable(memory.operation(n - 1).kind))) {
      continue;
    }
    for (const CrashChoice& choice : ChoicesAt(memory, n, options.num_random)) {
      const CrashVerdict verdict =
          CheckState({workload, memory, options, n, choice, number++}, &outcome);
      if (verdict.ok()) continue;
      outcome.Fail(verdict, [&] {
        return absl::StrCat(name, ", after ", n, " operations, the last: ",
                            n == 0 ? "none" : memory.operation(n - 1).ToString(), ", ",
                            choice.ToString());
      });
    }
  }
  return outcome;
}

}  // namespace winnow
