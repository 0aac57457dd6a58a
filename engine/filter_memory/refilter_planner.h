// Which table the database refilters by itself, what came of the last one, and when the next may
// be.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_REFILTER_PLANNER_H_
#define WINNOW_ENGINE_FILTER_MEMORY_REFILTER_PLANNER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "engine/filter_memory/refilter_choice.h"
#include "engine/filter_memory/tree_filters.h"
#include "winnow/filter/spec.h"

namespace winnow {

// One table that is to have another filter, and why.
struct PlannedRefilter {
  uint32_t family_id = 0;
  std::string family;
  uint64_t file_number = 0;
  int level = 0;
  filter::FilterSpec spec;  // the family's
  std::string other_kind;   // that of the table's filter, where it is another; else empty
  double bits_in_memory = 0;
  double bits_per_key = 0;  // that are planned for the new one
  double reads_saved = 0;   // needless ones a second
  double seconds_to_repay = 0;

  // "000123.sst of family 'default', level 3".
  std::string FileText() const;
  // "refiltered 000123.sst of family 'default', level 3, from 10 to 14 bits a key: 320 needless
  // reads a second less, repaid in 4 s".
  std::string ToString() const;
};

// For one thread. A table is refiltered once for what is planned, whatever came of it: another try
// for the same would come to the same. After a failure nothing is chosen for a while, twice as long
// after each further one.
class RefilterPlanner {
 public:
  // `tables` as LookupHistory::TablesOf has them, with all that is left out marked. Nothing: no
  // table is worth it.
  std::optional<PlannedRefilter> Choose(std::span<const FamilyTree> trees,
                                        std::span<const TreeFilter> tables,
                                        const LookupHistory& history, uint64_t budget_bytes);

  // True if Choose is to be asked: it takes some microseconds for each of the filters, and is asked
  // as seldom as makes that a small share of the time. `seconds` have passed since the last call.
  bool IsTime(size_t num_filters, double seconds);

  // What came of one. OK and not done: it gave way to other work, or the table has gone.
  void Note(const PlannedRefilter& refilter, const absl::Status& status, bool is_done);

  // A sentence on the last one that was done, or failed; empty: none was.
  const std::string& last() const { return last_; }

 private:
  struct Tried {
    filter::FilterSpec spec;
    double bits_per_key = 0;
    bool is_damaged = false;  // the table
  };

  std::vector<RefilterCandidate> Candidates(std::span<const FamilyTree> trees,
                                            std::span<const TreeFilter> tables,
                                            const LookupHistory& history,
                                            std::vector<const TreeFilter*>* table_of);
  void Pause();

  std::map<uint64_t, Tried> tried_;  // by table
  double waited_seconds_ = 0;        // since Choose was last asked
  double pause_seconds_ = 0;         // still to come
  int failures_in_a_row_ = 0;
  std::string last_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_REFILTER_PLANNER_H_
