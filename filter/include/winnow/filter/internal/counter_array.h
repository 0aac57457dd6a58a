// An array of 4-bit counters that stick at their top. Internal.

#ifndef WINNOW_FILTER_INTERNAL_COUNTER_ARRAY_H_
#define WINNOW_FILTER_INTERNAL_COUNTER_ARRAY_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/statusor.h"

namespace winnow::filter::internal {

// Counter i is bits 4 (i % 16) to 4 (i % 16) + 3 of word i / 16. A counter that has reached 15
// stands for "15 or more", is never changed again, and so never gets below what it counts.
class CounterArray {
 public:
  static constexpr uint32_t kSaturated = 15;

  // All counters zero. ResourceExhausted if there is no such memory.
  static absl::StatusOr<CounterArray> Create(uint64_t num_counters);

  uint32_t Get(uint64_t i) const {
    return static_cast<uint32_t>(words_[i >> 4] >> ((i & 15) * 4) & 15);
  }
  void Increment(uint64_t i) {
    if (Get(i) != kSaturated) words_[i >> 4] += uint64_t{1} << ((i & 15) * 4);
  }
  // False if the counter was zero, which it stays.
  bool Decrement(uint64_t i) {
    const uint32_t count = Get(i);
    if (count == 0) return false;
    if (count != kSaturated) words_[i >> 4] -= uint64_t{1} << ((i & 15) * 4);
    return true;
  }
  // Takes back a Decrement that returned true.
  void UndoDecrement(uint64_t i) { Increment(i); }

  uint64_t num_counters() const { return num_counters_; }
  uint64_t num_words() const { return NumWords(num_counters_); }
  uint64_t word(uint64_t i) const { return words_[i]; }
  void set_word(uint64_t i, uint64_t value) { words_[i] = value; }
  static uint64_t NumWords(uint64_t num_counters) { return (num_counters + 15) / 16; }

  // Linear, as all that follow; `other` has as many counters.
  uint64_t CountNonZero() const;
  void Clear();
  void AddCounters(const CounterArray& other);  // each counter's sum, at most 15
  void TakeMaximum(const CounterArray& other);
  void TakeMinimum(const CounterArray& other);

 private:
  CounterArray(std::unique_ptr<uint64_t[]> words, uint64_t num_counters)
      : words_(std::move(words)), num_counters_(num_counters) {}

  template <typename Combine>
  void CombineWith(const CounterArray& other, Combine combine);

  std::unique_ptr<uint64_t[]> words_;
  uint64_t num_counters_;
};

}  // namespace winnow::filter::internal

#endif  // WINNOW_FILTER_INTERNAL_COUNTER_ARRAY_H_
