// What Serialize of every application filter writes: one form, described in
// filter/dynamic/FORMAT.md, that says by itself which filter it holds.

#ifndef WINNOW_FILTER_SAVED_FILTER_H_
#define WINNOW_FILTER_SAVED_FILTER_H_

#include <cstdint>
#include <string_view>

#include "absl/status/statusor.h"

namespace winnow::filter {

// The values are part of the format.
enum class SavedFilterKind : uint8_t {
  kBloom = 1,             // BloomFilter
  kBlockedBloom = 2,      // BlockedBloomFilter
  kCountingBloom = 3,     // CountingBloomFilter
  kScalableBloom = 4,     // ScalableBloomFilter
  kCuckoo = 5,            // CuckooFilter
  kGuavaBloom = 6,        // GuavaBloomFilter
  kRedisBitmap = 7,       // RedisBitmap
  kRedisBloom = 8,        // RedisBloomFilter
  kRedisBloomCuckoo = 9,  // RedisBloomCuckooFilter
};

// "bloom", "blocked_bloom", "counting_bloom", "scalable_bloom", "cuckoo", "guava_bloom",
// "redis_bitmap", "redisbloom", "redisbloom_cuckoo"; "unknown" for any other value.
std::string_view SavedFilterKindName(SavedFilterKind kind);

// Do these bytes begin as Serialize's do? Says nothing about the rest of them. Constant time.
bool LooksLikeSavedFilter(std::string_view bytes);

// Which filter `bytes` hold, after every byte was checked against the checksum: linear time.
// DataLoss: damaged or truncated. Unimplemented: written by a newer version.
absl::StatusOr<SavedFilterKind> KindOfSavedFilter(std::string_view bytes);

}  // namespace winnow::filter

#endif  // WINNOW_FILTER_SAVED_FILTER_H_
