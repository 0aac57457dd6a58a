// "did you mean ...?"
#ifndef WINNOW_TOOLS_FLAGS_NEAREST_NAME_H_
#define WINNOW_TOOLS_FLAGS_NEAREST_NAME_H_

#include <span>
#include <string>
#include <string_view>

namespace winnow::cli {

// The candidate that `word` was most likely meant to be, a view into `candidates`; empty if none
// is near.
std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates);

// "; did you mean NAME?" for the nearest candidate, to stand behind an error message; empty if none
// is near.
std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates);

}  // namespace winnow::cli

#endif  // WINNOW_TOOLS_FLAGS_NEAREST_NAME_H_
