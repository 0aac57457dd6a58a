// Keeps the filters of one database within filter_memory_budget, where they save the most, and out
// of memory where they save next to nothing (optimize_filters_for_hits).
#ifndef WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_H_
#define WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/filter_memory/filter_budget_report.h"
#include "engine/filter_memory/filter_forecast.h"
#include "engine/filter_memory/rate_watch.h"
#include "engine/filter_memory/refilter_planner.h"
#include "engine/filter_memory/tree_filters.h"
#include "engine/sstable/filter_ledger.h"
#include "filter/base/mutex.h"

namespace winnow {

// What look-ups of a level met since the database was opened.
struct LevelOutcomes {
  uint32_t family_id = 0;
  int level = 0;
  uint64_t refutable = 0;  // of what was not there, in files whose filter was asked
  uint64_t false_positives = 0;
  uint64_t true_positives = 0;
};

// Of all levels; and how many of the blocks that they came to were read from files, and how many
// were in the block cache, or remembered not to hold the key.
struct LookupOutcomes {
  std::vector<LevelOutcomes> levels;
  uint64_t blocks_read = 0;
  uint64_t blocks_in_memory = 0;
};

// Thread-safe. Who wants a report waits while units are read from files, until that gives way: the
// lock is held meanwhile, which no look-up and no other work takes.
class FilterBudget {
 public:
  FilterBudget(std::shared_ptr<FilterLedger> ledger, bool optimize_for_hits)
      : ledger_(std::move(ledger)), optimize_for_hits_(optimize_for_hits) {}

  struct DamagedUnit {
    std::string family;
    std::string path;  // of the table, or of its filter file
    std::string reason;
  };
  struct Changes {
    uint64_t units_loaded = 0;
    uint64_t units_dropped = 0;
    std::vector<DamagedUnit> damaged;
    // Loading gave way before all was there: another call goes on with it.
    bool is_unfinished = false;
    std::string alert;              // not empty: the measured rate has left the promised interval
    std::vector<BitsByLevel> bits;  // of new filters, by tree
    // Look-ups have read blocks in vain since the last call: a table may be worth compacting for
    // it.
    bool read_in_vain = false;
    // The one table that is worth refiltering most, for the caller to do when it has time.
    std::optional<PlannedRefilter> refilter;
  };

  // Before the first call of Keep under a limit that came late: what was counted until then was let
  // through by filters that nobody watched.
  void Begin(const LookupOutcomes& counted) ABSL_LOCKS_EXCLUDED(mutex_);

  // Plans anew and makes it so, as far as files can be read. `seconds` have passed since the last
  // call: the caller lets calls follow each other in the order in which trees, counts and seconds
  // were taken. Without a limit everything is loaded. `must_give_way` is asked before each unit is
  // read: true ends the loading.
  Changes Keep(std::span<const FamilyTree> trees, const LookupOutcomes& counted, double seconds,
               absl::FunctionRef<bool()> must_give_way) ABSL_LOCKS_EXCLUDED(mutex_);

  // RefilterPlanner::Note.
  void NoteRefilter(const PlannedRefilter& refilter, const absl::Status& status, bool is_done)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    refilters_.Note(refilter, status, is_done);
  }

  // LookupHistory::Expect. And by name which families' last levels an earlier opening left out:
  // that stands until enough look-ups say otherwise.
  void Expect(std::map<std::string, double> run_rates, std::set<std::string> left_out)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    history_.Expect(std::move(run_rates));
    left_out_before_ = std::move(left_out);
  }

  FilterPlans Plan(std::span<const FamilyTree> trees, uint64_t budget_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // BitsForNewFilters, by the look-ups that were measured.
  std::vector<BitsByLevel> Bits(std::span<const FamilyTree> trees, uint64_t budget_bytes)
      ABSL_LOCKS_EXCLUDED(mutex_) {
    MutexLock lock(&mutex_);
    return BitsForNewFilters(trees, history_, budget_bytes);
  }
  FilterBudgetReport Report(std::span<const FamilyTree> trees) ABSL_LOCKS_EXCLUDED(mutex_);

  uint64_t limit_bytes() const { return ledger_->limit_bytes(); }

 private:
  using LevelKey = std::pair<uint32_t, int>;  // family, level

  // What the filters of a level should have let through since the last call.
  struct LevelRound {
    double lookups = 0;   // of filters of which a part is in memory, by how often each is asked
    double expected = 0;  // those of them that pass
    double unasked = 0;   // look-ups of absent keys in files without such a filter
    bool has_changed = false;
  };

  std::map<LevelKey, LevelRound> RoundsOf(std::span<const FamilyTree> trees,
                                          std::span<const TreeFilter> filters) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Watch(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters,
             std::span<const LevelOutcomes> counted, double seconds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // What look-ups have read in vain since the last call is noted with the tables. False: nothing.
  bool NoteReadsInVain(std::span<const TreeFilter> filters, const LookupOutcomes& counted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // By the filter, of the look-ups since the last call.
  double Passed(const TreeFilter& filter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void RememberPassing(std::span<const TreeFilter> filters, std::span<const size_t> num_resident)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Which families do without the filters of their last level from now on.
  void ChooseLeftOut(std::span<const FamilyTree> trees) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MarkLeftOut(std::span<const FamilyTree> trees, std::vector<TreeFilter>* filters) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // One sentence on each; empty: none is left out.
  std::string LeftOutText(std::span<const FamilyTree> trees) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void WaitForReaders(absl::FunctionRef<bool()> must_give_way);
  void Apply(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters,
             const FilterPlan& plan, absl::FunctionRef<bool()> must_give_way, Changes* changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // By index, the first to load first.
  std::vector<size_t> LoadOrder(std::span<const TreeFilter> filters, const FilterPlan& plan) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Units of one table up to so many, until one of them cannot be had.
  void Load(const FamilyTree& tree, const TreeFilter& filter, size_t wanted,
            absl::FunctionRef<bool()> must_give_way, Changes* changes)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Decide(std::span<const FamilyTree> trees, std::span<const TreeFilter> filters, double before,
              double after, const Changes& changes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::shared_ptr<FilterLedger> ledger_;
  const bool optimize_for_hits_;
  Mutex mutex_;
  LookupHistory history_ ABSL_GUARDED_BY(mutex_);
  std::map<LevelKey, LevelOutcomes> counted_ ABSL_GUARDED_BY(mutex_);  // at the last call
  uint64_t blocks_read_ ABSL_GUARDED_BY(mutex_) = 0;                   // then
  uint64_t blocks_in_memory_ ABSL_GUARDED_BY(mutex_) = 0;
  // For reports: with look-ups that came to files without a filter in memory, all of which pass.
  std::map<LevelKey, RateWatch> watches_ ABSL_GUARDED_BY(mutex_);
  RateWatch watch_ ABSL_GUARDED_BY(mutex_);
  RateWatch filters_watch_ ABSL_GUARDED_BY(mutex_);  // for alerts: without those
  // What each filter let through when the last call ended, by table.
  std::map<uint64_t, double> passing_ ABSL_GUARDED_BY(mutex_);
  std::set<uint32_t> left_out_ ABSL_GUARDED_BY(mutex_);  // family ids
  // Until the first call of Keep, which finds the ids to these names.
  std::set<std::string> left_out_before_ ABSL_GUARDED_BY(mutex_);
  // Tables of which a unit could not be read since loading was last done with all: those that can
  // be read do not wait for them, however slow their errors are.
  std::set<uint64_t> unreadable_ ABSL_GUARDED_BY(mutex_);
  std::string last_decision_ ABSL_GUARDED_BY(mutex_);
  RefilterPlanner refilters_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_FILTER_BUDGET_H_
