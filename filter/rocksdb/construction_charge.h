// Charges the memory that building a filter takes to the block cache, where the table options ask
// for that (BlockBasedTableOptions::cache_usage_options, kFilterConstruction): data blocks then
// make room for it. As RocksDB does for its own filters, in entries of 256 KiB that hold nothing.

#ifndef WINNOW_FILTER_ROCKSDB_CONSTRUCTION_CHARGE_H_
#define WINNOW_FILTER_ROCKSDB_CONSTRUCTION_CHARGE_H_

#include <rocksdb/cache.h>
#include <rocksdb/table.h>
#if __has_include(<rocksdb/advanced_cache.h>)
#include <rocksdb/advanced_cache.h>  // class Cache, since RocksDB 8.0
#endif

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace winnow::filter::internal {

// For one thread.
class ConstructionCharge {
 public:
  static constexpr uint64_t kEntryBytes = 256 << 10;

  explicit ConstructionCharge(std::shared_ptr<ROCKSDB_NAMESPACE::Cache> cache)
      : cache_(std::move(cache)) {}
  ConstructionCharge(const ConstructionCharge&) = delete;
  ConstructionCharge& operator=(const ConstructionCharge&) = delete;
  ~ConstructionCharge() { Set(0); }

  // Charges `bytes`, rounded up to entries, in place of what was charged. A cache that takes no
  // more (strict_capacity_limit) is left as it is: the filter is built all the same.
  void Set(uint64_t bytes);
  // What Set was last asked for, in whole entries: until there is more it need not be called again.
  uint64_t asked_bytes() const { return asked_bytes_; }

 private:
  const std::shared_ptr<ROCKSDB_NAMESPACE::Cache> cache_;
  std::vector<ROCKSDB_NAMESPACE::Cache::Handle*> entries_;
  uint64_t asked_bytes_ = 0;
};

// Null if `options` do not ask for it, or have no cache.
std::unique_ptr<ConstructionCharge> ChargeThatIsAskedFor(
    const ROCKSDB_NAMESPACE::BlockBasedTableOptions& options);

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_CONSTRUCTION_CHARGE_H_
