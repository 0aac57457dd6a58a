// What a budget of filter memory brings, before anything is changed: DB::PlanFilters.
//
//   absl::StatusOr<winnow::FilterPlans> plans = db->PlanFilters(256 << 20);
//   if (plans.ok()) std::cout << plans->ToTable();
#ifndef WINNOW_FILTER_PLAN_H_
#define WINNOW_FILTER_PLAN_H_

#include <cstdint>
#include <string>
#include <vector>

namespace winnow {

// The filters of one level of one column family.
struct FilterPlanRow {
  std::string column_family;
  int level = 0;
  std::string kind;  // as specs name it; "none" where the family has no filter
  uint64_t num_files = 0;
  uint64_t num_keys = 0;    // filter keys of these files; entries of those without a filter
  double bits_per_key = 0;  // in memory
  uint64_t memory_bytes = 0;
  // Of a look-up of a key that is nowhere: how many blocks of this level it reads in vain, and how
  // many all look-ups at their measured rate do in a second.
  double needless_reads_per_miss = 0;
  double needless_reads_per_second = 0;
};

// What all filters together come to under one budget.
struct FilterPlanSummary {
  uint64_t budget_bytes = 0;  // 0: without one
  uint64_t memory_bytes = 0;
  double needless_reads_per_miss = 0;
  double needless_reads_per_second = 0;
  std::vector<FilterPlanRow> rows;  // by column family and level
};

struct FilterPlans {
  // As filters are in memory at present.
  FilterPlanSummary now;
  // What the budget keeps in memory at once, of filters as they were written.
  FilterPlanSummary at_once;
  // What it comes to once files have been rewritten, by compactions, with the bits that the budget
  // has for their level. Where that repays the reading, files are refiltered before.
  FilterPlanSummary planned;
  // The same for half and double the budget; in place of the half the smallest that works, where
  // that is more.
  FilterPlanSummary at_half;
  FilterPlanSummary at_double;
  // Of absent keys, over all column families; each may meet a file of every level. 0: nothing has
  // been measured, and all families and sorted runs count as looked up equally.
  double lookups_per_second = 0;
  // A sentence on the last file that the database refiltered by itself, and why; empty: none was.
  std::string last_refilter;

  std::string ToTable() const;  // for people
  std::string ToJson() const;
};

}  // namespace winnow

#endif  // WINNOW_FILTER_PLAN_H_
