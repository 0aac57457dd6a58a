// The filter counters of one thread, by column family and kind of call.
#ifndef WINNOW_ENGINE_STATISTICS_FILTER_COUNTER_MAP_H_
#define WINNOW_ENGINE_STATISTICS_FILTER_COUNTER_MAP_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/function_ref.h"
#include "engine/version/filter_counter_table.h"
#include "winnow/statistics.h"

namespace winnow {

// Every look-up asks it. Ids of families are given one after the other, so that each of those of
// one time mostly has a place of its own: a mask and a comparison find it.
class FilterCounterMap {
 public:
  FilterCounterMap() : places_(kFewestPlaces) {}

  // Null: there is none yet.
  FilterCounterTable* Find(uint32_t family_id, FilterCall call) const {
    const uint64_t key = KeyOf(family_id, call);
    const Place& place = places_[key & mask_];
    if (place.key == key) [[likely]]
      return place.table.get();
    return FindFurther(key);
  }
  // Of those that Find does not find. Out of memory: nothing has changed.
  FilterCounterTable& Make(uint32_t family_id, FilterCall call);
  // Frees the tables of some families. Out of memory: nothing has changed.
  void EraseFamilies(absl::FunctionRef<bool(uint32_t family_id)> are_erased);
  void Clear() noexcept;
  void ForEach(
      absl::FunctionRef<void(uint32_t family_id, FilterCall call, const FilterCounterTable& table)>
          visit) const;
  size_t size() const { return size_; }

 private:
  static constexpr uint64_t kNoKey = ~uint64_t{0};
  static constexpr uint64_t kCalls = static_cast<uint64_t>(FilterCall::kCount);
  static constexpr size_t kFewestPlaces = 8;  // a power of two, as all numbers of places
  // Or the tables of one kind of call, of which most threads make no other, would share few places.
  static_assert(kCalls % 2 == 1);

  // A table has a place of its own in memory: references to it stay right when places move.
  struct Place {
    uint64_t key = kNoKey;
    std::unique_ptr<FilterCounterTable> table;
  };

  static uint64_t KeyOf(uint32_t family_id, FilterCall call) {
    return family_id * kCalls + static_cast<uint64_t>(call);
  }
  FilterCounterTable* FindFurther(uint64_t key) const;
  static Place& FreePlaceFor(uint64_t key, std::vector<Place>* places);
  // Moves those to be kept to as many places as they need and one more.
  void Rebuild(size_t num_kept, absl::FunctionRef<bool(uint32_t family_id)> are_erased);

  // One after the other from where the key's mask says; there is always one without a table.
  std::vector<Place> places_;
  uint64_t mask_ = kFewestPlaces - 1;
  size_t size_ = 0;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_STATISTICS_FILTER_COUNTER_MAP_H_
