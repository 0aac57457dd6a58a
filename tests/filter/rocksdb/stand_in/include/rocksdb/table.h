#pragma once
#include <map>
#include <memory>

#include "cache.h"

namespace ROCKSDB_NAMESPACE {
#if STAND_IN_VERSION >= 703
struct CacheEntryRoleOptions {
  enum class Decision { kEnabled, kDisabled, kFallback };
  Decision charged = Decision::kFallback;
};
struct CacheUsageOptions {
  CacheEntryRoleOptions options;
  std::map<CacheEntryRole, CacheEntryRoleOptions> options_overrides;
};
#endif

struct BlockBasedTableOptions {
  std::shared_ptr<Cache> block_cache;
#if STAND_IN_VERSION >= 703
  CacheUsageOptions cache_usage_options;
#else
  bool reserve_table_builder_memory = false;
#endif
  bool optimize_filters_for_memory = STAND_IN_VERSION >= 1100;
  bool detect_filter_construct_corruption = false;
};
}  // namespace ROCKSDB_NAMESPACE
