#include "engine/version/filter_counter_table.h"

#include <new>

namespace winnow {

// Release, for the reader that finds the table: its counters have been made.
FilterCounters* FilterCounterTable::AtOther(size_t row, size_t slot) {
  std::atomic<uint8_t>& first = first_slots_[row];
  // One thread writes, the owner: load and store need be no exchange.
  if (first.load(std::memory_order_relaxed) == kNone) {
    first.store(static_cast<uint8_t>(slot), std::memory_order_relaxed);
    return &first_[row];
  }
  // Without memory it is tried again with the next count: statistics fail no look-up.
  Others* others = others_.load(std::memory_order_relaxed);
  if (others == nullptr) {
    others = new (std::nothrow) Others();
    if (others == nullptr) return nullptr;
    others_.store(others, std::memory_order_release);
  }
  Row* counters = others->rows[row].load(std::memory_order_relaxed);
  if (counters == nullptr) {
    counters = new (std::nothrow) Row();
    if (counters == nullptr) return nullptr;
    others->rows[row].store(counters, std::memory_order_release);
  }
  return &(*counters)[slot];
}

FilterCounterTable::Ranges* FilterCounterTable::RangeFilters() {
  Ranges* ranges = ranges_.load(std::memory_order_relaxed);
  if (ranges == nullptr) {
    ranges = new (std::nothrow) Ranges();
    // Null again where there was no memory.
    ranges_.store(ranges, std::memory_order_release);
  }
  return ranges;
}

void FilterCounterTable::ForEach(
    absl::FunctionRef<void(int level, size_t slot, const FilterCounters& counters)> visit) const {
  // The owner may count on meanwhile: each number is right for some moment, not all for the same
  // one.
  const Others* const others = others_.load(std::memory_order_acquire);
  for (int level = 0; level < kNumLevels; level++) {
    const auto row = static_cast<size_t>(level);
    const uint8_t first = first_slots_[row].load(std::memory_order_relaxed);
    if (first != kNone) visit(level, first, first_[row]);
    const Row* const counters =
        others == nullptr ? nullptr : others->rows[row].load(std::memory_order_acquire);
    for (size_t slot = 0; counters != nullptr && slot < kNumFilterSlots; slot++) {
      visit(level, slot, (*counters)[slot]);
    }
  }
}

}  // namespace winnow
