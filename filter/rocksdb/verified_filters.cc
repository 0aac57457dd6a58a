#include "filter/rocksdb/verified_filters.h"

#include "filter/format/block_format.h"
#include "winnow/filter/hash.h"

namespace winnow::filter::internal {
namespace {

// A slot is a hint and guards no other memory. Two loads at once may count as one.
constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr uint64_t kLoadsMask = VerifiedFilters::kLoadsPerCheck - 1;
static_assert((VerifiedFilters::kLoadsPerCheck & kLoadsMask) == 0);

}  // namespace

// The bytes lie elsewhere at each load. What identifies them is both headers, the second with the
// checksum of the payload, and the length: whatever a header says of how the payload is to be read
// (seed, shards, slots) is thereby compared at every load. 0 if there are other headers to compare.
uint64_t FilterIdentity(std::string_view block) {
  constexpr size_t kHeaders = kBlockHeaderBytes + kUnitHeaderBytes;
  if (block.size() < kHeaders || UnitCount(block) != 1) return 0;
  return HashKey(block.substr(0, kHeaders), block.size());
}

FilterReader VerifiedFilters::Open(std::string_view block, FilterState* state) {
  const uint64_t identity = FilterIdentity(block);
  std::atomic<uint64_t>& slot = slots_[identity >> 52];
  static_assert(kSlots == uint64_t{1} << (64 - 52));
  // The lowest bits of an identity give way to the number of loads; all others are compared.
  const uint64_t known = slot.load(kRelaxed);
  if (identity != 0 && (known & ~kLoadsMask) == (identity & ~kLoadsMask) &&
      (known & kLoadsMask) != 0) {
    slot.store(known - 1, kRelaxed);
    return FilterReader::OpenUnchecked(block, state);
  }
  FilterReader reader = FilterReader::Open(block, state);
  if (identity != 0) {
    const bool is_sound = state->code == FilterStateCode::kOk;
    slot.store(is_sound ? identity | kLoadsMask : 0, kRelaxed);
  }
  return reader;
}

}  // namespace winnow::filter::internal
