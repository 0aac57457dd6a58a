#include "tools/flags/nearest_name.h"

#include <algorithm>

#include "filter/base/nearest_name.h"

namespace winnow::cli {
namespace {

// A word longer than this is no mistyped name.
constexpr size_t kMaxNameLength = 64;

}  // namespace

std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates) {
  if (word.size() > kMaxNameLength) return {};
  std::string_view nearest;
  size_t nearest_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const bool begins = word.size() >= 3 && candidate.substr(0, word.size()) == word;
    const size_t distance = begins ? 1 : EditDistance(word, candidate);
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = candidate;
    }
  }
  return nearest;
}

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates) {
  const std::string_view nearest = NearestName(word, candidates);
  if (nearest.empty()) return "";
  return std::string("; did you mean ").append(nearest).append("?");
}

}  // namespace winnow::cli
