// What the filters of one column family answered to one thread, by level, kind and part of the key.
#ifndef WINNOW_ENGINE_VERSION_FILTER_COUNTER_TABLE_H_
#define WINNOW_ENGINE_VERSION_FILTER_COUNTER_TABLE_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "engine/base/counter.h"
#include "engine/sstable/sstable_reader.h"
#include "winnow/filter/filter_key.h"
#include "winnow/options.h"

namespace winnow {

inline constexpr size_t kNumFilterKinds = 8;

// Where answers are counted: a kind of filter, and the category of the part that it was asked for.
using FilterPartCategory = filter::FilterKeyExtractor::Part::Category;
inline constexpr size_t kNumFilterSlots =
    kNumFilterKinds * static_cast<size_t>(FilterPartCategory::kCount);
inline size_t FilterSlot(size_t kind, FilterPartCategory part) {
  return static_cast<size_t>(part) * kNumFilterKinds + kind;
}
inline size_t KindOfSlot(size_t slot) { return slot % kNumFilterKinds; }
inline FilterPartCategory PartOfSlot(size_t slot) {
  return static_cast<FilterPartCategory>(slot / kNumFilterKinds);
}

// What the filters of a level answered last. The next answer is mostly the same.
class FilterHistory {
 public:
  void Note(FilterAnswer answer) {
    recent_ = static_cast<uint8_t>(recent_ << 1 | (answer == FilterAnswer::kNo ? 0 : 1));
  }
  // Where answers come at random, half of them no, this holds for one key in sixteen.
  bool ExpectsMaybe() const { return (recent_ & kLastFour) == kLastFour; }

 private:
  static constexpr uint8_t kLastFour = 0xf;
  uint8_t recent_ = 0;  // a bit for each answer, the latest the lowest
};

// A level of a tree mostly has filters of one kind, asked for one part: the slot that is counted
// first on a level has its counters here, all others of the level are in a row that is made when
// there are any. So a table takes some 300 bytes, of which there is one for each thread and family.
class FilterCounterTable {
 public:
  FilterCounterTable() {
    for (std::atomic<uint8_t>& slot : first_slots_) slot.store(kNone, std::memory_order_relaxed);
  }
  ~FilterCounterTable() {
    delete others_.load(std::memory_order_relaxed);
    delete ranges_.load(std::memory_order_relaxed);
  }
  FilterCounterTable(const FilterCounterTable&) = delete;
  FilterCounterTable& operator=(const FilterCounterTable&) = delete;

  // For the owning thread. Null: there is no memory for them, and nothing is counted.
  FilterCounters* At(int level, size_t slot) {
    const auto row = static_cast<size_t>(level);
    if (first_slots_[row].load(std::memory_order_relaxed) == slot) [[likely]]
      return &first_[row];
    return AtOther(row, slot);
  }

  // Of range filters, a row for each level. For the owning thread. Null: there is no memory for
  // them, and nothing is counted.
  using Ranges = std::array<RangeFilterCounters, kNumLevels>;
  Ranges* RangeFilters();
  // Null: nothing has been counted. Any thread may call it.
  const Ranges* range_filters() const { return ranges_.load(std::memory_order_acquire); }

  // For the owning thread alone.
  FilterHistory& history(int level) { return histories_[static_cast<size_t>(level)]; }

  // All that have counted anything, and perhaps others. Any thread may call it.
  void ForEach(
      absl::FunctionRef<void(int level, size_t slot, const FilterCounters& counters)> visit) const;

 private:
  static constexpr uint8_t kNone = 0xff;
  using Row = std::array<FilterCounters, kNumFilterSlots>;
  struct Others {
    ~Others() {
      for (const auto& row : rows) delete row.load(std::memory_order_relaxed);
    }
    std::array<std::atomic<Row*>, kNumLevels> rows{};  // owned
  };

  FilterCounters* AtOther(size_t row, size_t slot);

  // A level's counters are zero before it has a slot: a reader that sees the slot needs no order.
  std::array<std::atomic<uint8_t>, kNumLevels> first_slots_;
  std::atomic<Others*> others_{nullptr};  // owned
  std::atomic<Ranges*> ranges_{nullptr};  // owned
  std::array<FilterCounters, kNumLevels> first_;
  std::array<FilterHistory, kNumLevels> histories_;
};

}  // namespace winnow

#endif  // WINNOW_ENGINE_VERSION_FILTER_COUNTER_TABLE_H_
