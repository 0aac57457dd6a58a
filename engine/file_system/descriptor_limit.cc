#include "engine/file_system/descriptor_limit.h"

#include <sys/resource.h>

#include <algorithm>

namespace winnow {

uint64_t DescriptorLimit() {
  // More than any database opens, and far from where a sum of limits overflows.
  constexpr uint64_t kUnlimited = uint64_t{1} << 30;
  struct rlimit limit;
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return kUnlimited;
  }
  return std::min<uint64_t>(limit.rlim_cur, kUnlimited);
}

}  // namespace winnow
