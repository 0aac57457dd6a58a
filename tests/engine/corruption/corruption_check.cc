#include "tests/engine/corruption/corruption_check.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "tests/support/verify_messages.h"

namespace winnow {
namespace {

using Outcome = CorruptionOutcome;

bool IsTable(const std::string& name) { return absl::EndsWith(name, ".sst"); }
bool IsFilterFile(const std::string& name) { return absl::EndsWith(name, ".flt"); }

}  // namespace

struct CorruptionCheck::Question {
  const Corruption& corruption;
  RecoveryMode mode;
  uint64_t first_damaged;
  uint64_t last_damaged;
  std::string part;
  bool changes_nothing;
  // The damaged file before and after.
  const std::string& sound;
  const std::string& damaged;
  FileSystem& disk;

  CorruptionVerdict Say(Outcome outcome) const { return {outcome, part, ""}; }
  CorruptionVerdict Wrong(std::string why) const { return {Outcome::kWrong, part, std::move(why)}; }
};

DamageDatabase CorruptionCheck::BuildDatabase(DatabaseEnd end) {
  return BuildRichDamageDatabase(end,
                                 {"bloom:10", "cuckoo:12", "none", "binary_fuse:1%", "ribbon:10"});
}

CorruptionCheck::CorruptionCheck(DatabaseEnd end) : CorruptionCheck(end, BuildDatabase(end)) {}

CorruptionCheck::CorruptionCheck(DatabaseEnd end, DamageDatabase database)
    : end_(end),
      database_(std::move(database)),
      parts_(PartsOf(database_.files)),
      log_(database_.NamesWith(".log").back()) {}

const FilePart& CorruptionCheck::PartAt(const std::string& file, uint64_t offset) const {
  const std::vector<FilePart>& parts = parts_.at(file);
  for (const FilePart& part : parts) {
    if (offset < part.end) return part;
  }
  return parts.back();
}

// Batch i is the log's record i + 1, behind the header and the start record.
bool CorruptionCheck::Overlaps(const Question& question, size_t batch) const {
  const FilePart& record = parts_.at(log_).at(batch + 2);
  return record.begin < question.last_damaged && question.first_damaged < record.end;
}

std::string CorruptionCheck::WhyLossIsWrong(const Question& question,
                                            const std::vector<size_t>& lost,
                                            const std::string& recovery) const {
  const bool is_suffix = database_.logged.size() - lost.front() == lost.size();
  const bool was_told =
      absl::StrContains(recovery, ".log: ") &&
      absl::StrContains(recovery,
                        question.mode == RecoveryMode::kSalvage ? "/lost/" : ".log.damaged");
  const bool all_damaged = std::all_of(lost.begin(), lost.end(),
                                       [&](size_t batch) { return Overlaps(question, batch); });
  if (!was_told) {
    if (end_ == DatabaseEnd::kKilled && is_suffix && all_damaged) return "";
    return absl::StrCat("batch ", lost.front(), " is lost and nobody is told");
  }
  if (question.mode == RecoveryMode::kStrict) return "opened in spite of lost writes";
  if (question.mode == RecoveryMode::kPointInTime && !is_suffix) return "a hole in the history";
  if (question.mode == RecoveryMode::kSalvage && !all_damaged) {
    return "a record was lost that was not damaged";
  }
  return "";
}

CorruptionVerdict CorruptionCheck::CheckLog(const Question& question, DB& db) const {
  std::string problem;
  const Contents found = ReadEverything(db, database_.keys, &problem);
  if (!problem.empty()) return question.Wrong(problem);
  // Each batch put a key of its own: which of them are there?
  std::vector<size_t> lost;
  for (size_t i = 0; i < database_.logged.size(); i++) {
    if (!found.at(0).contains(absl::StrCat("logged", i))) lost.push_back(i);
  }
  if (found.size() != database_.flushed.size()) return question.Wrong("a column family is missing");
  const std::string difference = FirstDifference(found, database_.WithoutThese(lost));
  if (!difference.empty()) return question.Wrong(difference);
  const std::string recovery = *db.GetProperty("winnow.recovery");
  if (lost.empty()) {
    return question.Say(recovery.empty() ? Outcome::kHarmless : Outcome::kLossReported);
  }
  std::string why = WhyLossIsWrong(question, lost, recovery);
  if (!why.empty()) return question.Wrong(std::move(why));
  return question.Say(recovery.empty() ? Outcome::kTornTail : Outcome::kLossReported);
}

bool CorruptionCheck::WasToldAndKept(const Question& question, DB& db) const {
  if (!absl::StartsWith(question.corruption.file, "MANIFEST-")) return false;
  const std::string recovery = *db.GetProperty("winnow.recovery");
  bool all_kept = !recovery.empty();
  for (const std::string& name : database_.NamesWith(".sst")) {
    const std::string path = absl::StrCat("/db/", name);
    all_kept &= question.disk.Exists(path).value_or(false) ||
                question.disk.Exists(path + ".orphan").value_or(false);
  }
  return all_kept;
}

bool CorruptionCheck::ChangesFramesAlone(const Question& question) const {
  const std::string& sound = question.sound;
  const std::string& damaged = question.damaged;
  return sound.size() == damaged.size() &&
         std::ranges::all_of(parts_.at(question.corruption.file), [&](const FilePart& part) {
           const uint64_t bytes = part.end - part.begin;
           return absl::EndsWith(part.name, " frame") ||
                  sound.compare(part.begin, bytes, damaged, part.begin, bytes) == 0;
         });
}

CorruptionVerdict CorruptionCheck::CheckAnswers(const Question& question, DB& db,
                                                bool thorough) const {
  size_t errors = 0;
  std::string why = WhyAnswersAreWrong(db, database_, database_.All(), &errors);
  if (!why.empty() && question.mode == RecoveryMode::kSalvage && WasToldAndKept(question, db)) {
    return question.Say(Outcome::kLossReported);
  }
  if (!why.empty()) return question.Wrong(std::move(why));
  const std::string& file = question.corruption.file;
  const std::vector<std::string> problems = DamageMessages(db);
  const uint64_t damaged_filters = db.GetStatistics().Get(Ticker::kFiltersDamaged);
  if (IsTable(file) || IsFilterFile(file)) {
    if (problems.empty() != question.changes_nothing) {
      return question.Wrong(question.changes_nothing ? problems.front() : "verify finds nothing");
    }
    if (!problems.empty() && !absl::StrContains(problems.front(), file)) {
      return question.Wrong(absl::StrCat("verify blames another file: ", problems.front()));
    }
    // Of a filter whatever is read when the table is opened; the rest Verify alone finds.
    const FilePart& part = PartAt(file, question.first_damaged);
    const bool in_place = question.sound.size() == question.damaged.size();
    const bool in_part = in_place && question.last_damaged <= part.end;
    const bool is_unread = ChangesFramesAlone(question) || file == database_.table_with_filter_file;
    const bool is_of_filter =
        IsFilterFile(file) || (in_part && absl::StrContains(part.name, "filter"));
    const uint64_t expected = question.changes_nothing || is_unread ? 0 : 1;
    if (is_of_filter && (errors > 0 || damaged_filters != expected)) {
      return question.Wrong(absl::StrCat("a damaged filter costs answers: ", errors, " errors, ",
                                         damaged_filters, " filters counted"));
    }
  } else if (!problems.empty()) {
    return question.Wrong(absl::StrCat("verify blames a sound file: ", problems.front()));
  }
  if (thorough) {
    for (ColumnFamily* family : db.ColumnFamilies()) {
      const absl::Status compacted = db.CompactRange(family, std::nullopt, std::nullopt);
      if (!compacted.ok() && !IsClearError(compacted)) {
        return question.Wrong(absl::StrCat("compaction: ", compacted.ToString()));
      }
    }
    size_t errors_later = 0;
    why = WhyAnswersAreWrong(db, database_, database_.All(), &errors_later);
    if (!why.empty()) return question.Wrong(absl::StrCat("after a compaction: ", why));
  }
  if (errors > 0) return question.Say(Outcome::kErrors);
  return question.Say(damaged_filters > 0 ? Outcome::kFilterDegraded : Outcome::kHarmless);
}

CorruptionVerdict CorruptionCheck::Check(const Corruption& corruption, RecoveryMode mode,
                                         bool thorough) const {
  const Files damaged = corruption.Apply(database_.files);
  uint64_t first = 0;
  uint64_t last = 0;
  corruption.DamagedRange(database_.files, &first, &last);
  const auto disk = Restore(damaged);
  const std::string& sound = database_.files.at(corruption.file);
  const Question question = {corruption,
                             mode,
                             first,
                             last,
                             PartAt(corruption.file, first).name,
                             sound == damaged.at(corruption.file),
                             sound,
                             damaged.at(corruption.file),
                             *disk};
  Options options = DamageOptions(disk.get());
  options.recovery_mode = mode;
  const bool is_table = IsTable(corruption.file) || IsFilterFile(corruption.file);
  options.read_only = is_table && !thorough;
  const auto db = DB::Open(options, "/db");
  if (!db.ok()) {
    if (!IsClearError(db.status())) {
      return question.Wrong(absl::StrCat("unclear error: ", db.status().ToString()));
    }
    if (IsFilterFile(corruption.file) || corruption.file == "STATISTICS") {
      return question.Wrong(absl::StrCat("refused for nothing: ", db.status().ToString()));
    }
    const bool is_log = absl::EndsWith(corruption.file, ".log");
    const bool may_refuse =
        mode == RecoveryMode::kStrict ||
        (mode == RecoveryMode::kPointInTime &&
         (end_ == DatabaseEnd::kClosed || absl::StrContains(db.status().message(), "is log")));
    if (is_log && !may_refuse && !absl::IsFailedPrecondition(db.status())) {
      return question.Wrong(absl::StrCat("refused in this mode: ", db.status().ToString()));
    }
    return question.Say(Outcome::kRefused);
  }
  return absl::EndsWith(corruption.file, ".log") ? CheckLog(question, **db)
                                                 : CheckAnswers(question, **db, thorough);
}

}  // namespace winnow
