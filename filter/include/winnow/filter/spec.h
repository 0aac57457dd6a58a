// The filter spec: one line of text that says which filter is wanted and how large, the same in
// C++, options files and on the command line.
//
//   kind[:amount][:word...][+range:bits]
//                                blocked_bloom:10     bits per key
//                                cuckoo:0.1%          wanted false-positive rate
//                                bloom                default: 10 bits per key
//                                auto:8               the kind is chosen when a filter is built
//                                cuckoo:1%:semi_sorted
//                                                     buckets a bit a key smaller, slower to query
//                                none                 no filter
//                                blocked_bloom:10+range:12
//                                                     and beside it a range filter of 12 bits a key
//                                                     (range_filter.h), for scans between bounds
//                                ribbon+range:0       none, said aloud: where a spec that says
//                                                     nothing of it would leave one as it is
//
//   absl::StatusOr<FilterSpec> spec = ParseFilterSpec("blocked_bloom:10");

#ifndef WINNOW_FILTER_SPEC_H_
#define WINNOW_FILTER_SPEC_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "winnow/filter/filter_kind.h"

namespace winnow::filter {

inline constexpr double kDefaultBitsPerKey = 10;

// What a spec text says. At most one of the amounts is given; with neither, a kind gets
// kDefaultBitsPerKey.
struct FilterSpec {
  FilterKind kind = FilterKind::kNone;
  double bits_per_key = 0;         // 0: not given
  double fpr = 0;                  // wanted false-positive rate, 0 to 1; 0: not given
  std::vector<std::string> words;  // refinements of a kind: semi_sorted, of cuckoo alone
  // Bits a key of the range filter beside it; 0: there is none. The builder of filters, and what is
  // said of a kind's size and rate, know nothing of it: RangeFilterBuilder builds it.
  double range_bits = 0;

  friend bool operator==(const FilterSpec&, const FilterSpec&) = default;
};

// Reads the text form above. InvalidArgument names the part that is wrong, its range and the
// nearest right form.
absl::StatusOr<FilterSpec> ParseFilterSpec(std::string_view text);

// Is `spec` one that ParseFilterSpec could have returned? For specs that are put together in code.
absl::Status ValidateFilterSpec(const FilterSpec& spec);

// The canonical text; ParseFilterSpec reads it back to an equal spec.
std::string ToString(const FilterSpec& spec);

// The kind's name in specs, "none" for kNone, "auto" for kAuto, "unknown" for a value that this
// version lacks.
std::string_view KindName(FilterKind kind);

// Every name that a spec may begin with, "none" first.
std::vector<std::string> SpecKindNames();

// A spec without amount for everything that can be built: each kind by itself and with each word
// that it takes, and auto.
std::vector<FilterSpec> BuildableSpecs();

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_SPEC_H_
