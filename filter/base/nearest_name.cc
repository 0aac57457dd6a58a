#include "filter/base/nearest_name.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace winnow {

// Dynamic programming over prefixes: row[j] is the distance between the first i characters of `a`
// and the first j of `b`. A swap looks back two rows, so three are kept.
size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  std::vector<size_t> above(b.size() + 1);
  std::vector<size_t> two_above(b.size() + 1);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(two_above, above);
    std::swap(above, row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      // Two neighbours that changed places count once: the commonest slip of fingers.
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_above[j - 2] + 1);
      }
    }
  }
  return row.back();
}

std::string_view NearestName(std::string_view word, std::span<const std::string_view> candidates,
                             size_t max_distance) {
  // max_distance falls to the best distance so far; `found` keeps the first of equals.
  std::string_view nearest;
  bool found = false;
  for (const std::string_view candidate : candidates) {
    const size_t distance = EditDistance(word, candidate);
    if (distance > max_distance || (found && distance == max_distance)) continue;
    found = true;
    nearest = candidate;
    max_distance = distance;
  }
  return nearest;
}

}  // namespace winnow
