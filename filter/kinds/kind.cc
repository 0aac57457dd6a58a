#include "filter/kinds/kind.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "filter/kinds/bloom/blocked_bloom.h"
#include "filter/kinds/bloom/bloom.h"
#include "filter/kinds/cuckoo/cuckoo.h"
#include "filter/kinds/cuckoo/semi_sorted_cuckoo.h"
#include "filter/kinds/fuse/binary_fuse.h"
#include "filter/kinds/ribbon/ribbon.h"

namespace winnow::filter::internal {

std::span<const KindOperations* const> AllKinds() {
  static constexpr std::array<const KindOperations*, 6> kKinds = {
      &kBloomOperations,      &kBlockedBloomOperations,
      &kCuckooOperations,     &kSemiSortedCuckooOperations,
      &kBinaryFuseOperations, &kRibbonOperations,
  };
  return kKinds;
}

const KindOperations* FindKind(FilterKind kind) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == kind) return operations;
  }
  return nullptr;
}

const KindOperations* FindKind(std::string_view name) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->name == name) return operations;
  }
  return nullptr;
}

const KindOperations* FindLayout(const UnitHeader& header) {
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == static_cast<FilterKind>(header.kind) &&
        operations->version == header.kind_version) {
      return operations;
    }
  }
  return nullptr;
}

const KindOperations* FindLayout(const FilterSpec& spec) {
  if (spec.words.empty()) return FindKind(spec.kind);
  const std::string_view word = spec.words.front();
  if (spec.words.size() > 1 || word.empty()) return nullptr;
  for (const KindOperations* operations : AllKinds()) {
    if (operations->kind == spec.kind && operations->word == word) return operations;
  }
  return nullptr;
}

uint32_t ShardCount(double num_keys, double bits_per_key, uint64_t max_shard_bits) {
  const double shards = std::ceil(num_keys * bits_per_key / static_cast<double>(max_shard_bits));
  return static_cast<uint32_t>(
      std::clamp(shards, 1.0, static_cast<double>(std::numeric_limits<uint32_t>::max())));
}

uint32_t LargeShardCount(uint64_t num_keys, double bits_per_key, uint64_t max_shard_bits) {
  const uint64_t most = std::max<uint64_t>(1, num_keys / kMinKeysOfShard);
  const uint64_t wanted = ShardCount(static_cast<double>(num_keys), bits_per_key, max_shard_bits);
  return static_cast<uint32_t>(std::min(wanted, most));
}

UnitView MakeUnitView(const KindOperations& operations, const Unit& unit) {
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

double MinBloomBits(double (*expected_fpr)(double bits_per_key, uint64_t num_keys), double fpr) {
  // The rate falls with the bits, but for tiny steps where the number of probes changes.
  double low = 1;
  double high = 64;
  while (high - low > 1e-3) {
    const double middle = (low + high) / 2;
    (expected_fpr(middle, 1'000'000) <= fpr ? high : low) = middle;
  }
  return high;
}

uint64_t CountOnes(std::string_view bytes) {
  uint64_t ones = 0;
  size_t offset = 0;
  for (; offset + sizeof(uint64_t) <= bytes.size(); offset += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data() + offset, sizeof(word));
    ones += static_cast<uint64_t>(std::popcount(word));
  }
  for (; offset < bytes.size(); ++offset) {
    ones += static_cast<uint64_t>(std::popcount(static_cast<uint8_t>(bytes[offset])));
  }
  return ones;
}

}  // namespace winnow::filter::internal
