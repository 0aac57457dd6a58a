#include "filter/rocksdb/bits_reader.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "filter/rocksdb/diagnostics.h"
#include "filter/rocksdb/filter_contents.h"
#include "filter/rocksdb/verified_filters.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {

using ROCKSDB_NAMESPACE::Slice;

namespace {

// Of all policies: they read each other's filters.
constinit VerifiedFilters verified_filters;

}  // namespace

BitsReader::BitsReader(const Slice& contents, LevelAware* level_aware) {
  FilterState state;
  const std::string_view bytes(contents.data(), contents.size());
  // Without a reader of its own, as for a filter that could not be built, the answer is "may
  // contain".
  if (const std::optional<std::string_view> block = FilterBlockIn(bytes); !block) {
    state = {FilterStateCode::kDamaged, "filter block has lost its trailer of zeros"};
  } else if (bytes != kUnbuiltFilter) {
    reader_ = verified_filters.Open(*block, &state);
    const bool is_sound = state.code == FilterStateCode::kOk;
    if (level_aware != nullptr && is_sound) counted_ = level_aware->Opened(*block);
  }
  CountOpenedFilter(state);
}

// The seed is the block's own: the policy that reads it may have another one.
bool BitsReader::MayMatch(const Slice& entry) {
  return reader_.MayContain(HashKey({entry.data(), entry.size()}, reader_.hash_seed()));
}

void BitsReader::MayMatch(int num_keys, Slice** keys, bool* may_match) {
  // Answers of 0 and 1 are bools: written straight into the caller's array.
  static_assert(sizeof(bool) == sizeof(uint8_t));
  constexpr size_t kGroup = 64;
  // Not written before the keys are: that would take as long as to query a few of them.
  union Views {
    Views() {}
    std::string_view of_keys[kGroup];
  } views;
  const auto count = static_cast<size_t>(std::max(num_keys, 0));
  // More keys than RocksDB's MultiGet brings at once go in groups, so that the views have a fixed
  // size and nothing is allocated.
  for (size_t begin = 0; begin < count; begin += kGroup) {
    const size_t size = std::min(kGroup, count - begin);
    for (size_t i = 0; i < size; ++i) {
      const Slice& key = *keys[begin + i];
      views.of_keys[i] = {key.data(), key.size()};
    }
    reader_.MayContainBatch(views.of_keys, size, reinterpret_cast<uint8_t*>(may_match + begin));
  }
}

}  // namespace winnow::filter::internal
