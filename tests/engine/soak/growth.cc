#include "tests/engine/soak/growth.h"

#include <algorithm>

namespace winnow::soak {

bool GrowsWithoutBound(const std::vector<uint64_t>& samples, uint64_t slack) {
  if (samples.size() < 6) return false;
  const auto third = static_cast<ptrdiff_t>(samples.size() / 3);
  const uint64_t before = *std::max_element(samples.end() - 2 * third, samples.end() - third);
  const uint64_t last = *std::max_element(samples.end() - third, samples.end());
  return last > before + slack && last > before + before / 4;
}

}  // namespace winnow::soak
