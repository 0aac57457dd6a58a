#include "filter/kinds/kind.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace winnow::filter::internal {

uint32_t ShardCount(double num_keys, double bits_per_key, uint64_t max_shard_bits) {
  // In floating point, as the product may leave 64 bits; held to what the header has room for.
  const double shards = std::ceil(num_keys * bits_per_key / static_cast<double>(max_shard_bits));
  return static_cast<uint32_t>(
      std::clamp(shards, 1.0, static_cast<double>(std::numeric_limits<uint32_t>::max())));
}

uint32_t LargeShardCount(uint64_t num_keys, double bits_per_key, uint64_t max_shard_bits) {
  // Rounded down, so that the mean shard keeps to kMinKeysOfShard.
  const uint64_t max_shards = std::max<uint64_t>(1, num_keys / kMinKeysOfShard);
  const uint64_t wanted = ShardCount(static_cast<double>(num_keys), bits_per_key, max_shard_bits);
  return static_cast<uint32_t>(std::min(wanted, max_shards));
}

UnitView MakeUnitView(const KindOperations& operations, const Unit& unit) {
  // Copied out of the header once: a query then reads one cache line of the reader and never the
  // block's header. IsConsistent has made sure that the product does not wrap.
  UnitView view;
  view.payload = reinterpret_cast<const uint8_t*>(unit.payload.data());
  view.num_slots = unit.header.slots_per_shard * unit.header.num_shards;
  view.slots_per_shard = unit.header.slots_per_shard;
  view.salt = unit.header.salt;
  view.detail = unit.header.detail;
  view.num_shards = unit.header.num_shards;
  view.parameter = unit.header.parameter;
  if (operations.prepare != nullptr) operations.prepare(&view);
  return view;
}

}  // namespace winnow::filter::internal
