#include "filter/rocksdb/construction_charge.h"

#include <algorithm>
#include <random>

namespace winnow::filter::internal {
namespace {

using ROCKSDB_NAMESPACE::Cache;
using ROCKSDB_NAMESPACE::Slice;

// Sixteen bytes, as all caches of RocksDB's take them, and no key of a block's: those begin with a
// number that is derived from the file.
struct EntryKey {
  uint64_t process;
  uint64_t number;
};

EntryKey NextKey(Cache* cache) {
  // Random, and so unlike the first eight bytes of whatever else is in the cache.
  static const uint64_t process = [] {
    std::random_device device;
    return (uint64_t{device()} << 32) | device();
  }();
  return {process, cache->NewId()};
}

// A template, so that only the form of Insert that this RocksDB has is compiled.
template <typename AnyCache>
typename AnyCache::Handle* InsertEmptyEntry(AnyCache* cache, const Slice& key) {
  typename AnyCache::Handle* handle = nullptr;
  if constexpr (requires { typename AnyCache::ObjectPtr; }) {  // since RocksDB 8.0
    using Helper = typename AnyCache::CacheItemHelper;
    using Role = decltype(Helper::role);
    // Static, as the cache refers to it for as long as there are entries.
    static const Helper helper(Role::kFilterConstruction);
    const auto status =
        cache->Insert(key, nullptr, &helper, ConstructionCharge::kEntryBytes, &handle);
    if (!status.ok()) return nullptr;
  } else {
    const auto status = cache->Insert(
        key, nullptr, ConstructionCharge::kEntryBytes, +[](const Slice&, void*) {}, &handle);
    if (!status.ok()) return nullptr;
  }
  return handle;
}

// The decision on a role: what is said of it, else what is said of all, else no.
template <typename Options>
bool AsksForCharge(const Options& options) {
  if constexpr (requires { options.cache_usage_options; }) {  // since RocksDB 7.3
    const auto& usage = options.cache_usage_options;
    using Role = typename decltype(usage.options_overrides)::key_type;
    using Decision = decltype(usage.options.charged);
    auto decision = usage.options.charged;
    const auto found = usage.options_overrides.find(Role::kFilterConstruction);
    if (found != usage.options_overrides.end() && found->second.charged != Decision::kFallback) {
      decision = found->second.charged;
    }
    return decision == Decision::kEnabled;
  } else {
    return options.reserve_table_builder_memory;
  }
}

}  // namespace

void ConstructionCharge::Set(uint64_t bytes) {
  const uint64_t wanted = (bytes + kEntryBytes - 1) / kEntryBytes;
  // Also where the cache refuses: it is not asked again for each key, but when there is more to
  // charge.
  asked_bytes_ = wanted * kEntryBytes;
  // Erased with the last reference: an empty entry that stayed would take the place of a block.
  while (entries_.size() > wanted) {
    cache_->Release(entries_.back(), /*erase_if_last_ref=*/true);
    entries_.pop_back();
  }
  // All memory first: an entry that could not be noted would stay in the cache for ever.
  if (wanted > entries_.capacity()) {
    entries_.reserve(std::max<size_t>(wanted, 2 * entries_.capacity()));
  }
  while (entries_.size() < wanted) {
    // A key of its own for each entry: an equal one would replace the entry before.
    const EntryKey key = NextKey(cache_.get());
    Cache::Handle* const handle =
        InsertEmptyEntry(cache_.get(), Slice(reinterpret_cast<const char*>(&key), sizeof(key)));
    if (handle == nullptr) return;
    entries_.push_back(handle);
  }
}

std::unique_ptr<ConstructionCharge> ChargeThatIsAskedFor(
    const ROCKSDB_NAMESPACE::BlockBasedTableOptions& options) {
  if (options.block_cache == nullptr || !AsksForCharge(options)) return nullptr;
  return std::make_unique<ConstructionCharge>(options.block_cache);
}

}  // namespace winnow::filter::internal
