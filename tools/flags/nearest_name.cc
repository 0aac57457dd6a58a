#include "tools/flags/nearest_name.h"

#include <algorithm>
#include <vector>

namespace winnow::cli {
namespace {

// A word longer than this is no mistyped name.
constexpr size_t kMaxNameLength = 64;

// Optimal string alignment: how many insertions, deletions, replacements and swaps of neighbours
// lead from one word to the other (Damerau, CACM 1964).
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> rows(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); i++) {
    for (size_t j = 0; j <= b.size(); j++) {
      if (i == 0 || j == 0) {
        rows[i][j] = i + j;
        continue;
      }
      const size_t replaced = rows[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      rows[i][j] = std::min({replaced, rows[i - 1][j] + 1, rows[i][j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        rows[i][j] = std::min(rows[i][j], rows[i - 2][j - 2] + 1);
      }
    }
  }
  return rows[a.size()][b.size()];
}

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

std::string DidYouMean(std::string_view word, std::span<const std::string_view> candidates,
                       std::string_view prefix) {
  const std::string_view nearest = NearestName(word, candidates);
  if (nearest.empty()) return "";
  return std::string("; did you mean ").append(prefix).append(nearest).append("?");
}

}  // namespace winnow::cli
