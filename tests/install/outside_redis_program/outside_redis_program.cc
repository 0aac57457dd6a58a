// Without a server: the filter says maybe, and the guard loads.
#include <cstdio>
#include <string>

#include "winnow/filter/redis/bitmap_filter.h"
#include "winnow/filter/redis/guard_cache.h"
#include "winnow/filter/redis/guard_filter.h"
#include "winnow/guard/cache_guard.h"

int main() {
  using namespace winnow::filter::redis;
  const auto client = Client::Open("unix:///no/such/socket");
  if (!client.ok()) return 1;
  const auto filter = BitmapFilter::Open(client->get(), "users");
  if (!filter.ok() || !(*filter)->MayContain("Tom")) return 1;
  if ((*filter)->counts().unreachable != 1) return 1;
  GuardCache cache(client->get(), "app:");
  const auto key_filter = NewBitmapKeyFilter(filter->get());
  winnow::guard::GuardOptions options;
  options.filter = key_filter.get();
  const auto guard = winnow::guard::CacheGuard::Create(&cache, options);
  if (!guard.ok()) return 1;
  const auto value = (*guard)->Get(
      "key", [](std::string_view) -> absl::StatusOr<std::string> { return "maybe, guarded"; });
  if (!value.ok()) return 1;
  std::puts(value->c_str());
}
