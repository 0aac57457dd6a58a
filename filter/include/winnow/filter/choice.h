// Which kind a spec of "auto" becomes: the quickest to build where files are short-lived, the
// smallest where they live long.
//
//   FilterChoice choice = ChooseFilter(*ParseFilterSpec("auto:8"), {.level = 6, .num_levels = 7},
//   n);
//   // choice.spec is "ribbon:8"; choice.reason says why

#ifndef WINNOW_FILTER_CHOICE_H_
#define WINNOW_FILTER_CHOICE_H_

#include <cstdint>
#include <string>

#include "winnow/filter/spec.h"

namespace winnow::filter {

// Where the file goes that a filter is built for. The defaults mean "not known", which counts as
// long-lived.
struct FilterBuildContext {
  int level = -1;              // of the tree, 0 for freshly flushed files; -1: not known
  int num_levels = 0;          // of the tree; 0: not known
  bool is_bottommost = false;  // no data lies below, whatever the level is
};

struct FilterChoice {
  FilterSpec spec;
  std::string reason;  // one sentence without its full stop, for logs and tools
};

// The spec that a filter of `num_keys` keys is built by. A spec of another kind than kAuto is given
// back as it is. With a wanted rate the smallest kind is the one that takes the fewest bytes for
// it, with bits per key the one of the least rate; where binary_fuse comes within a twentieth of
// ribbon it is taken, since it is quicker to query. Thread-safe; constant time.
FilterChoice ChooseFilter(const FilterSpec& spec, const FilterBuildContext& context,
                          uint64_t num_keys);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_CHOICE_H_
