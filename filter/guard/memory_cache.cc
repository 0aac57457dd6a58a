#include "winnow/guard/memory_cache.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "filter/guard/memory_shard.h"
#include "winnow/filter/hash.h"

namespace winnow::guard {
namespace {

using internal::MemoryShard;

constexpr size_t kMaxShards = 4096;

// "For ever" must not overflow.
TimePoint After(TimePoint now, std::chrono::milliseconds ttl) {
  return now + std::min<std::chrono::milliseconds>(ttl, std::chrono::hours(24 * 365 * 1000));
}

// Each call takes one shard's mutex, for as long as a value takes to copy.
class ShardedMemoryCache final : public MemoryCache {
 public:
  explicit ShardedMemoryCache(const MemoryCacheOptions& options)
      : clock_(options.clock != nullptr ? options.clock : Clock::Real()),
        // Who knows the seed could choose keys that crowd in one shard.
        seed_(RandomSource::Real()->Next()) {
    // A power of two, since a shard is chosen by a mask; at most 2^12, since 12 bits of the hash
    // choose it.
    const size_t num_shards = std::bit_ceil(std::clamp<size_t>(options.num_shards, 1, kMaxShards));
    shards_.reserve(num_shards);
    for (size_t i = 0; i < num_shards; ++i) {
      shards_.push_back(std::make_unique<MemoryShard>(options.capacity_bytes / num_shards));
    }
  }

  absl::StatusOr<bool> Get(std::string_view key, std::string* value) override {
    // The key is hashed once, outside the mutex; the shard compares hashes before keys.
    const uint64_t hash = HashOf(key);
    return Guarded([&] { return ShardOf(hash).Get(hash, key, clock_->Now(), value); });
  }
  absl::Status Set(std::string_view key, std::string_view value,
                   std::chrono::milliseconds ttl) override {
    const uint64_t hash = HashOf(key);
    return Guarded([&] {
             ShardOf(hash).Set(hash, key, value, After(clock_->Now(), ttl));
             return true;
           })
        .status();
  }
  absl::Status Remove(std::string_view key) override {
    const uint64_t hash = HashOf(key);
    return Guarded([&] {
             ShardOf(hash).Remove(hash, key);
             return true;
           })
        .status();
  }

  bool HasLocks() const override { return true; }
  absl::StatusOr<bool> TryLock(std::string_view key, std::string_view token,
                               std::chrono::milliseconds ttl) override {
    // The clock is asked before the mutex is taken: it may be the program's.
    const TimePoint now = clock_->Now();
    return Guarded([&] { return ShardOf(HashOf(key)).TryLock(key, token, now, After(now, ttl)); });
  }
  absl::StatusOr<bool> RenewLock(std::string_view key, std::string_view token,
                                 std::chrono::milliseconds ttl) override {
    const TimePoint now = clock_->Now();
    return Guarded(
        [&] { return ShardOf(HashOf(key)).RenewLock(key, token, now, After(now, ttl)); });
  }
  absl::StatusOr<bool> SetAndUnlock(std::string_view key, std::string_view token,
                                    std::string_view value,
                                    std::chrono::milliseconds ttl) override {
    const uint64_t hash = HashOf(key);
    const TimePoint now = clock_->Now();
    return Guarded(
        [&] { return ShardOf(hash).SetAndUnlock(hash, key, token, now, value, After(now, ttl)); });
  }
  absl::StatusOr<bool> Unlock(std::string_view key, std::string_view token) override {
    return Guarded([&] { return ShardOf(HashOf(key)).Unlock(key, token, clock_->Now()); });
  }

  MemoryCacheUsage usage() const override {
    MemoryCacheUsage usage{};
    for (const auto& shard : shards_) shard->AddTo(&usage);
    return usage;
  }

 private:
  uint64_t HashOf(std::string_view key) const { return filter::HashKey(key, seed_); }
  // The buckets within a shard take the low bits.
  MemoryShard& ShardOf(uint64_t hash) const {
    return *shards_[(hash >> 52) & (shards_.size() - 1)];
  }

  // A shard that runs out of memory in the middle of a call is as it was before, but for a lock
  // that may have ended: which only means that a load is not stored.
  template <typename Function>
  static absl::StatusOr<bool> Guarded(Function function) {
    try {
      return function();
    } catch (const std::bad_alloc&) {
      return absl::ResourceExhaustedError("no memory for the cache");
    }
  }

  Clock* const clock_;
  const uint64_t seed_;
  std::vector<std::unique_ptr<MemoryShard>> shards_;
};

}  // namespace

std::unique_ptr<MemoryCache> NewMemoryCache(const MemoryCacheOptions& options) {
  return std::make_unique<ShardedMemoryCache>(options);
}

}  // namespace winnow::guard
