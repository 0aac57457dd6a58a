// Which table is worth another filter: what the planner has refiltered in the background.
//
// Under a bound on all bytes each filter would best have so many bits that no byte would save more
// elsewhere. What a table gains on the way from the filter that it has is what its own look-ups
// read less in vain, less the memory that this takes from others at the price of the plan: what
// another byte would save. So a filter that is too large gains, too, by what it leaves to others;
// and the gains of all tables add up to that of the plan.
#ifndef WINNOW_ENGINE_FILTER_MEMORY_REFILTER_CHOICE_H_
#define WINNOW_ENGINE_FILTER_MEMORY_REFILTER_CHOICE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/filter_memory/filter_plan.h"
#include "winnow/filter/spec.h"

namespace winnow {

// A table's filter, or what new tables will take of the budget.
struct RefilterCandidate {
  filter::FilterSpec spec;  // of its column family; the amount plays no part
  double num_keys = 0;
  // Its units, none if it has no filter, those in memory that the present plan has there, and
  // look-ups a second.
  PlannedFilter planned;
  // Of those look-ups a second what has been measured of this table. It alone is a reason to
  // rewrite its filter, whatever is expected.
  double measured_lookups = 0;
  bool may_change = false;
  bool has_other_kind = false;  // than `spec`
  double blocks_to_read = 0;    // of its data, or of its key hashes in blocks of that size
  double block_bytes = 1;
  // The bits per key for which it was refiltered last, or tried to be, with this spec: what it came
  // to is not tried again. 0: it was not.
  double tried_bits = 0;
};

struct RefilterChoice {
  size_t index = 0;  // of the candidate
  double bits_in_memory = 0;
  double bits_per_key = 0;  // to be planned for
  double reads_saved = 0;   // needless ones a second, over all tables
  double blocks = 0;        // to be read and written for it
};

// Whether a filter, or some of its units, is of about the planned size: within that it is not worth
// rewriting, whatever the plan says, so that filters do not follow each wave of look-ups. One of
// few keys is as small as its kind allows.
bool IsAboutAsPlanned(double bytes, double planned_bytes);
// So many times what it costs must be saved, in blocks, while look-ups stay as they are.
inline constexpr double kRefilterRepaid = 2;

// The one that saves the most reads for a block of I/O, if it saves kRefilterRepaid times the I/O
// within `horizon_seconds`. Never one that would leave no room for a unit of each filter. Takes
// O(n log n) for n candidates.
std::optional<RefilterChoice> ChooseRefilter(std::span<const RefilterCandidate> candidates,
                                             uint64_t budget_bytes, double horizon_seconds);

}  // namespace winnow

#endif  // WINNOW_ENGINE_FILTER_MEMORY_REFILTER_CHOICE_H_
