// Which filters were read and found sound before, so that those which RocksDB loads again and again
// are not checked byte by byte each time.

#ifndef WINNOW_FILTER_ROCKSDB_VERIFIED_FILTERS_H_
#define WINNOW_FILTER_ROCKSDB_VERIFIED_FILTERS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "winnow/filter/filter_state.h"
#include "winnow/filter/reader.h"

namespace winnow::filter::internal {

// A number for a filter block, the same at each load of it. 0: its headers do not tell it from
// others.
uint64_t FilterIdentity(std::string_view block);

// Thread-safe, without locks. 32 KiB.
class VerifiedFilters {
 public:
  // A filter is checked whole at its first load and then at each load of this number.
  static constexpr uint64_t kLoadsPerCheck = 16;
  static constexpr size_t kSlots = 4096;

  // FilterReader::Open or, for a block that is known to be sound, OpenUnchecked.
  FilterReader Open(std::string_view block, FilterState* state);

 private:
  // The identity of a sound filter without its low bits, where the loads stand that it is believed
  // for; 0: empty. Filters that meet in a slot displace each other and are checked more often.
  std::array<std::atomic<uint64_t>, kSlots> slots_{};
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_ROCKSDB_VERIFIED_FILTERS_H_
