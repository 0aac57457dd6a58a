#include "tests/engine/soak/growth.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace winnow::soak {

bool GrowsWithoutBound(const std::vector<uint64_t>& samples, uint64_t slack) {
  if (samples.size() < 6) return false;
  const auto third = static_cast<ptrdiff_t>(samples.size() / 3);
  const uint64_t before = *std::max_element(samples.end() - 2 * third, samples.end() - third);
  const uint64_t last = *std::max_element(samples.end() - third, samples.end());
  return last > before + slack && last > before + before / 4;
}

uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  uint64_t total = 0;
  uint64_t resident = 0;
  statm >> total >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t OpenDescriptors() {
  std::error_code error;
  const std::filesystem::directory_iterator descriptors("/proc/self/fd", error);
  if (error) return 0;
  return static_cast<uint64_t>(
      std::distance(std::filesystem::begin(descriptors), std::filesystem::end(descriptors)));
}

}  // namespace winnow::soak
