// "Did you mean ...?" for names that people type: kinds of filters, options, flags, commands.

#ifndef WINNOW_FILTER_BASE_NEAREST_NAME_H_
#define WINNOW_FILTER_BASE_NEAREST_NAME_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace winnow {

// Optimal string alignment: the fewest insertions, deletions, replacements and swaps of
// neighbouring characters, no character edited twice, that lead from `a` to `b` (Damerau, CACM
// 1964). Symmetric. Takes time and memory proportional to the product of the lengths: refuse what
// is too long to be a mistyped name before asking.
size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the least distance from `word`, the first one of several; empty if none is
// within `max_distance`. Borrowed from `candidates`.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates,
                             size_t max_distance = SIZE_MAX);

}  // namespace winnow

#endif  // WINNOW_FILTER_BASE_NEAREST_NAME_H_
