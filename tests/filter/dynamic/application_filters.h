// The application filters behind one face, so that each test of what all of them promise is written
// once.

#ifndef WINNOW_TESTS_FILTER_DYNAMIC_APPLICATION_FILTERS_H_
#define WINNOW_TESTS_FILTER_DYNAMIC_APPLICATION_FILTERS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "tests/filter/filter_fixture.h"
#include "winnow/filter/blocked_bloom_filter.h"
#include "winnow/filter/bloom_filter.h"
#include "winnow/filter/counting_bloom_filter.h"
#include "winnow/filter/cuckoo_filter.h"
#include "winnow/filter/scalable_bloom_filter.h"

namespace winnow::filter {

using ApplicationFilters = testing::Types<BloomFilter, BlockedBloomFilter, CountingBloomFilter,
                                          ScalableBloomFilter, CuckooFilter>;

template <typename Filter>
Filter MakeFilter(uint64_t capacity, double fpr) {
  absl::StatusOr<Filter> filter = Filter::Create(capacity, fpr);
  EXPECT_TRUE(filter.ok()) << filter.status();
  return *std::move(filter);
}

// False if there was no room.
template <typename Filter>
bool AddKeyHash(uint64_t hash, Filter* filter) {
  using Result = decltype(filter->AddHash(hash));
  if constexpr (std::is_same_v<Result, absl::Status>) {
    return filter->AddHash(hash).ok();
  } else {
    filter->AddHash(hash);
    return true;
  }
}

// The same for a key.
template <typename Filter>
bool AddKey(std::string_view key, Filter* filter) {
  using Result = decltype(filter->Add(key));
  if constexpr (std::is_same_v<Result, absl::Status>) {
    return filter->Add(key).ok();
  } else {
    filter->Add(key);
    return true;
  }
}

template <typename Filter>
inline constexpr bool kCanUnite = !std::is_same_v<Filter, ScalableBloomFilter>;
template <typename Filter>
inline constexpr bool kCanRemove =
    std::is_same_v<Filter, CountingBloomFilter> || std::is_same_v<Filter, CuckooFilter>;

template <typename Filter>
uint64_t CountContained(const Filter& filter, const std::vector<uint64_t>& hashes) {
  uint64_t found = 0;
  for (const uint64_t hash : hashes) found += filter.ContainsHash(hash) ? 1 : 0;
  return found;
}

template <typename Filter>
uint64_t CountAbsentContained(const Filter& filter, uint64_t run, uint64_t probes) {
  uint64_t found = 0;
  for (uint64_t i = 0; i < probes; ++i) found += filter.ContainsHash(AbsentHash(run, i)) ? 1 : 0;
  return found;
}

}  // namespace winnow::filter

#endif  // WINNOW_TESTS_FILTER_DYNAMIC_APPLICATION_FILTERS_H_
