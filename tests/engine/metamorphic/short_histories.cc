#include "tests/engine/metamorphic/short_histories.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "winnow/db.h"
#include "winnow/memory_file_system.h"
#include "winnow/merge_operator.h"

namespace winnow::metamorphic {

namespace {

// Puts and deletions touch one history's keys, the others the whole database: histories that differ
// only in what they write are run together, each on keys of its own. With two keys, kWriteSecond is
// of the other.
enum class Step { kWrite, kSnapshot, kRelease, kFlush, kCompact, kReopen, kWriteSecond };
constexpr std::string_view kStepNames[] = {"write", "snapshot", "release",
                                           "flush", "compact",  "reopen"};
constexpr size_t kMaxProblems = 10;

uint64_t NumSteps(const ShortHistoriesChoice& choice) { return choice.num_keys == 2 ? 7 : 6; }
// What a write does. A range deletion is of its key and those of the history behind it.
enum class Deed { kPut, kDelete, kDeleteRange, kMerge };
constexpr std::string_view kDeedNames[] = {"put", "delete", "delete range", "merge"};
uint64_t NumDeeds(const ShortHistoriesChoice& choice) { return choice.merges ? 4 : 3; }

bool IsWrite(Step step) { return step == Step::kWrite || step == Step::kWriteSecond; }

// By key: those of one history stand side by side.
using Values = std::vector<std::optional<std::string>>;

struct HeldSnapshot {
  const Snapshot* snapshot;
  Values values;
};

// The histories that share one pattern of steps.
class PatternRun {
 public:
  PatternRun(DB* db, std::string first_key, const std::vector<Step>& pattern,
             uint64_t num_histories, const ShortHistoriesChoice& choice,
             ShortHistoriesReport* report)
      : db_(db),
        first_key_(std::move(first_key)),
        pattern_(pattern),
        choice_(choice),
        report_(report),
        values_(num_histories * choice.num_keys) {}

  // Null if the database was lost.
  DB* Run(const std::function<DB*()>& reopen) {
    uint64_t writes = 0;
    for (step_ = 0; step_ < pattern_.size(); step_++) {
      switch (pattern_[step_]) {
        case Step::kWrite:
        case Step::kWriteSecond:
          Write(writes++, pattern_[step_] == Step::kWrite ? 0 : 1);
          break;
        case Step::kSnapshot:
          snapshots_.push_back({db_->GetSnapshot(), values_});
          break;
        case Step::kRelease:
          Release();
          break;
        case Step::kFlush:
          Expect(db_->Flush());
          flushed_ = true;
          break;
        case Step::kCompact:
          Expect(db_->CompactRange(std::nullopt, std::nullopt));
          break;
        default:
          while (!snapshots_.empty()) Release();
          db_ = reopen();
          if (db_ == nullptr) {
            Report(0, "the database does not open");
            return nullptr;
          }
      }
      CheckAll(nullptr, values_);
      for (const HeldSnapshot& held : snapshots_) CheckAll(held.snapshot, held.values);
    }
    while (!snapshots_.empty()) Release();
    report_->histories += values_.size() / choice_.num_keys;
    return db_;
  }

 private:
  // In the order of their numbers.
  std::string Key(size_t i) const {
    return absl::StrCat(first_key_, "-", absl::Dec(i, absl::kZeroPad6));
  }
  // Digit `write` of a history's number decides what it does there.
  Deed DeedOf(size_t key, uint64_t write) const {
    uint64_t digits = key / choice_.num_keys;
    for (; write > 0; write--) digits /= NumDeeds(choice_);
    return static_cast<Deed>(digits % NumDeeds(choice_));
  }

  void Write(uint64_t write, size_t which_key) {
    for (size_t i = which_key; i < values_.size(); i += choice_.num_keys) {
      const Deed deed = DeedOf(i, write);
      if (deed == Deed::kDelete) {
        Expect(db_->Delete(WriteOptions(), Key(i)));
        if (!choice_.wrong_model || !flushed_) values_[i].reset();
      } else if (deed == Deed::kDeleteRange) {
        const size_t end = i - which_key + choice_.num_keys;
        Expect(db_->DeleteRange(WriteOptions(), Key(i), Key(end)));
        for (size_t covered = i; covered < end; covered++) values_[covered].reset();
      } else if (deed == Deed::kMerge) {
        const std::string operand = absl::StrCat("operand of write ", write, " to ", Key(i));
        values_[i] = values_[i].value_or("") + operand;
        Expect(db_->Merge(WriteOptions(), Key(i), operand));
      } else {
        values_[i] = absl::StrCat("value of write ", write, " to ", Key(i));
        Expect(db_->Put(WriteOptions(), Key(i), *values_[i]));
      }
    }
  }

  void Release() {
    if (snapshots_.empty()) return;
    const HeldSnapshot held = choice_.releases_newest ? snapshots_.back() : snapshots_.front();
    if (choice_.releases_newest) {
      snapshots_.pop_back();
    } else {
      snapshots_.pop_front();
    }
    db_->ReleaseSnapshot(held.snapshot);
  }

  void Expect(const absl::Status& status) {
    if (!status.ok()) Report(0, status.ToString());
  }

  void CheckAll(const Snapshot* snapshot, const Values& values) {
    ReadOptions read;
    read.snapshot = snapshot;
    for (size_t i = 0; i < values.size(); i++) CheckPoint(read, i, values[i]);
    read.lower_bound = absl::StrCat(first_key_, "-");
    read.upper_bound = absl::StrCat(first_key_, ".");
    const auto iterator = db_->NewIterator(read);
    std::vector<std::pair<std::string, size_t>> present;
    for (size_t i = 0; i < values.size(); i++) {
      if (values[i].has_value()) present.emplace_back(Key(i), i);
    }
    std::sort(present.begin(), present.end());
    const auto expect_at = [&](const std::pair<std::string, size_t>& entry) {
      report_->reads++;
      if (!iterator->Valid() || iterator->key() != entry.first ||
          iterator->value() != *values[entry.second]) {
        Report(entry.second, "an iterator misses the key or shows another value");
      }
    };
    iterator->SeekToFirst();
    for (size_t i = 0; i < present.size(); i++) {
      expect_at(present[i]);
      if (iterator->Valid()) iterator->Next();
    }
    if (iterator->Valid()) Report(0, "an iterator shows a deleted key");
    iterator->SeekToLast();
    for (size_t i = present.size(); i > 0; i--) {
      expect_at(present[i - 1]);
      if (iterator->Valid()) iterator->Prev();
    }
    if (iterator->Valid()) Report(0, "an iterator shows a deleted key on its way back");
    Expect(iterator->status());
  }

  void CheckPoint(const ReadOptions& read, size_t i, const std::optional<std::string>& wanted) {
    report_->reads++;
    const std::string key = Key(i);
    std::string value;
    const absl::Status status = db_->Get(read, key, &value);
    if (!status.ok() && !absl::IsNotFound(status)) return Report(i, status.ToString());
    if (status.ok() != wanted.has_value() || (status.ok() && value != *wanted)) {
      Report(i, absl::StrCat("Get says ", status.ok() ? value : "absent", ", not ",
                             wanted.value_or("absent")));
    }
    const auto exists = db_->Exists(read, key);
    if (!exists.ok() || *exists != wanted.has_value()) Report(i, "Exists is wrong");
    if (wanted.has_value() && !db_->MayExist(read, key)) {
      Report(i, "MayExist denies a key that is there");
    }
  }

  void Report(size_t key, const std::string& what) {
    if (report_->problems.size() >= kMaxProblems) return;
    std::string history;
    uint64_t writes = 0;
    for (size_t i = 0; i <= step_ && i < pattern_.size(); i++) {
      absl::StrAppend(&history, i == 0 ? "" : ", ");
      if (IsWrite(pattern_[i])) {
        const auto deed = static_cast<size_t>(DeedOf(key, writes++));
        absl::StrAppend(&history, std::string(kDeedNames[deed]),
                        pattern_[i] == Step::kWriteSecond ? " of the second key" : "");
      } else {
        history += kStepNames[static_cast<size_t>(pattern_[i])];
      }
    }
    report_->problems.push_back(absl::StrCat(history, ": ", what));
  }

  DB* db_;
  const std::string first_key_;
  const std::vector<Step>& pattern_;
  const ShortHistoriesChoice& choice_;
  ShortHistoriesReport* const report_;
  Values values_;
  std::deque<HeldSnapshot> snapshots_;
  size_t step_ = 0;
  bool flushed_ = false;
};

}  // namespace

ShortHistoriesReport RunShortHistories(Options options, const ShortHistoriesChoice& choice) {
  // A fresh database now and then: each pattern has keys of its own, beside those of the others.
  constexpr uint64_t kPatternsForEachDatabase = 64;
  ShortHistoriesReport report;
  if (choice.merges) options.merge_operator = *ParseMergeOperator("append:");
  uint64_t num_patterns = 1;
  for (int i = 0; i < choice.length; i++) num_patterns *= NumSteps(choice);
  std::unique_ptr<FileSystem> memory;
  std::unique_ptr<DB> db;
  const auto open = [&]() -> DB* {
    if (db != nullptr && !db->Close().ok()) return nullptr;
    db.reset();
    auto opened = DB::Open(options, "/db");
    if (opened.ok()) db = *std::move(opened);
    return db.get();
  };
  for (uint64_t number = 0; number < num_patterns && report.problems.size() < kMaxProblems;
       number++) {
    if (number % kPatternsForEachDatabase == 0) {
      db.reset();
      memory = NewMemoryFileSystem();
      options.file_system = memory.get();
      if (open() == nullptr) {
        report.problems.emplace_back("the database does not open");
        break;
      }
    }
    std::vector<Step> pattern;
    uint64_t num_histories = 1;
    for (uint64_t rest = number; pattern.size() < static_cast<size_t>(choice.length);
         rest /= NumSteps(choice)) {
      pattern.push_back(static_cast<Step>(rest % NumSteps(choice)));
      if (IsWrite(pattern.back())) num_histories *= NumDeeds(choice);
    }
    const std::string first_key = absl::StrCat("history", number);
    PatternRun run(db.get(), first_key, pattern, num_histories, choice, &report);
    if (run.Run(open) == nullptr) break;
  }
  return report;
}

}  // namespace winnow::metamorphic
