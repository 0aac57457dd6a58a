// The cache guard's filter on a Redis server: one for all processes, and for rebuilds by any of
// them (BitmapFilter::StartRebuild). A Get costs a round trip more.
//
//   auto users = BitmapFilter::Open(client->get(), "users");
//   auto filter = NewBitmapKeyFilter(users->get());
//   options.filter = filter.get();                            // guard::GuardOptions
//
// Only where the guard was built, too (Winnow::redis_guard).

#ifndef WINNOW_FILTER_REDIS_GUARD_FILTER_H_
#define WINNOW_FILTER_REDIS_GUARD_FILTER_H_

#include <memory>

#include "winnow/filter/redis/bitmap_filter.h"
#include "winnow/guard/key_filter.h"

namespace winnow::filter::redis {

// Insertions are noted in Redis, as BitmapFilter::BeginWrite does; the guard's Put adds without a
// note. The filter must live longer.
std::unique_ptr<guard::KeyFilter> NewBitmapKeyFilter(BitmapFilter* filter);

}  // namespace winnow::filter::redis

#endif  // WINNOW_FILTER_REDIS_GUARD_FILTER_H_
