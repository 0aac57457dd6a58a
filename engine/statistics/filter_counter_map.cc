// Open addressing with linear probing: a key that is not in the place of its own is in one of those
// behind it, before the first that is free. Nothing is ever taken out of a chain, which would cut
// it: families are erased by rebuilding the whole. Any thread may walk the map under its owner's
// lock, and the owner reads without it (ThreadCounters), so that whatever moves places is done by
// the owner, with the lock held.
#include "engine/statistics/filter_counter_map.h"

#include <utility>

namespace winnow {

FilterCounterTable* FilterCounterMap::FindFurther(uint64_t key) const {
  // Ends, since a quarter of the places is free.
  for (uint64_t i = key;; i++) {
    const Place& place = places_[i & mask_];
    if (place.key == key) return place.table.get();
    if (place.key == kNoKey) return nullptr;
  }
}

FilterCounterMap::Place& FilterCounterMap::FreePlaceFor(uint64_t key, std::vector<Place>* places) {
  const uint64_t mask = places->size() - 1;
  while ((*places)[key & mask].key != kNoKey) key++;
  return (*places)[key & mask];
}

FilterCounterTable& FilterCounterMap::Make(uint32_t family_id, FilterCall call) {
  // Both requests for memory come before the map changes.
  auto table = std::make_unique<FilterCounterTable>();
  // A quarter stays free.
  if ((size_ + 1) * 4 > places_.size() * 3) {
    Rebuild(size_, [](uint32_t) { return false; });
  }
  const uint64_t key = KeyOf(family_id, call);
  Place& place = FreePlaceFor(key, &places_);
  place.key = key;
  place.table = std::move(table);
  size_++;
  return *place.table;
}

void FilterCounterMap::EraseFamilies(absl::FunctionRef<bool(uint32_t family_id)> are_erased) {
  size_t num_kept = 0;
  ForEach([&](uint32_t family_id, FilterCall /*call*/, const FilterCounterTable& /*table*/) {
    num_kept += are_erased(family_id) ? 0 : 1;
  });
  // Asked twice of each family, so that the new places are no more than are needed.
  if (num_kept < size_) Rebuild(num_kept, are_erased);
}

void FilterCounterMap::Rebuild(size_t num_kept,
                               absl::FunctionRef<bool(uint32_t family_id)> are_erased) {
  size_t num_places = kFewestPlaces;
  while ((num_kept + 1) * 4 > num_places * 3) num_places *= 2;
  // The only request for memory. Places move from here on; the tables themselves do not.
  std::vector<Place> places(num_places);
  size_t size = 0;
  for (Place& place : places_) {
    if (place.key == kNoKey || are_erased(static_cast<uint32_t>(place.key / kCalls))) continue;
    FreePlaceFor(place.key, &places) = std::move(place);
    size++;
  }
  places_ = std::move(places);
  mask_ = num_places - 1;
  size_ = size;
}

void FilterCounterMap::Clear() noexcept {
  for (Place& place : places_) place = Place();
  // Takes no memory: there are never fewer.
  places_.resize(kFewestPlaces);
  places_.shrink_to_fit();
  mask_ = kFewestPlaces - 1;
  size_ = 0;
}

void FilterCounterMap::ForEach(
    absl::FunctionRef<void(uint32_t family_id, FilterCall call, const FilterCounterTable& table)>
        visit) const {
  for (const Place& place : places_) {
    if (place.key == kNoKey) continue;
    visit(static_cast<uint32_t>(place.key / kCalls), static_cast<FilterCall>(place.key % kCalls),
          *place.table);
  }
}

}  // namespace winnow
