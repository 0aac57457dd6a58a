#include <cstdio>

#include "winnow/guard/cache_guard.h"
#include "winnow/guard/memory_cache.h"

int main() {
  using namespace winnow::guard;
  const auto cache = NewMemoryCache();
  const auto guard = CacheGuard::Create(cache.get(), {});
  if (!guard.ok()) return 1;
  int loads = 0;
  const Loader load = [&loads](std::string_view) -> absl::StatusOr<std::string> {
    ++loads;
    return "guarded";
  };
  if (!(*guard)->Get("key", load).ok()) return 1;
  const auto again = (*guard)->Get("key", load);
  if (!again.ok() || loads != 1) return 1;
  std::puts(again->c_str());
}
